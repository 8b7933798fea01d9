//! Views: a few small numbers instead of a copy.

use lab::story::{Choice, Prediction, Story};
use lab::table::Table;
use layout::layout::Layout;
use layout::view::View;

pub(super) fn tell(story: &mut Story) {
    story.step(
        "A view is two short lists and a number",
        "Shape, strides and an offset say where each element lies. Most changes of shape touch only these. Dense: contiguous in this order.",
    );
    let base = Layout::row_major(&[2, 3]);
    let examples = [
        ("as stored", base.clone()),
        ("transpose(0, 1)", base.transpose(0, 1)),
        ("slice(1, 0..3, 2)", base.slice(1, 0..3, 2)),
        ("select(0, 1)", base.select(0, 1)),
        ("select, broadcast to [2, 3]", base.select(0, 1).broadcast_to(&[2, 3])),
    ];
    let mut table = Table::new(&["6 numbers as", "shape", "strides", "offset", "read in order", "dense"]);
    for (name, layout) in &examples {
        let places: Vec<String> = layout.places().map(|place| place.to_string()).collect();
        table.row([
            name.to_string(),
            format!("{:?}", layout.shape()),
            format!("{:?}", layout.strides()),
            layout.offset().to_string(),
            places.join(" "),
            if layout.is_contiguous() { "yes" } else { "no" }.to_string(),
        ]);
    }
    story.table(&table);

    story.predict(Prediction {
        id: "transpose-bytes",
        question: "A 4096 x 4096 matrix of f32 (64 MiB) is transposed as a view. How many bytes of it are moved?",
        options: &[
            Choice {
                text: "128 MiB: each is read and written",
                answer_to_wrong: Some("That is a copy in transposed order. A view leaves the elements where they are."),
            },
            Choice {
                text: "64 MiB",
                answer_to_wrong: Some(
                    "Swapping in place would read and write them all; a view leaves them where they are.",
                ),
            },
            Choice {
                text: "none",
                answer_to_wrong: None,
            },
        ],
        answer: 2,
        because: "Two strides and two lengths change places. Transposing is free; whoever reads the result pays.",
    });

    let numbers: Vec<u32> = (0..12).collect();
    let permuted = View::row_major(&numbers, &[2, 2, 3]).map(|l| l.permute(&[1, 0, 2]));
    let merged = permuted.reshape(&[12]);
    let split = View::row_major(&numbers, &[4, 3])
        .map(|l| l.slice(1, 0..2, 1))
        .reshape(&[2, 2, 2]);
    story.say("reshape keeps the order of reading. Where strides can say the new shape, nothing moves; where they cannot, it must copy:");
    let mut table = Table::new(&["from", "strides", "to", "copied", "elements"]);
    let row = |table: &mut Table, from: &str, strides: &[usize], to: &str, copied: bool, elements: Vec<u32>| {
        let elements: Vec<String> = elements.iter().map(u32::to_string).collect();
        let copied = if copied { "yes" } else { "no" };
        table.row([from, &format!("{strides:?}"), to, copied, &elements.join(" ")]);
    };
    let elements = merged.view().iter().collect();
    row(
        &mut table,
        "[2, 2, 3] permuted (1, 0, 2)",
        permuted.layout().strides(),
        "[12]",
        merged.was_copied(),
        elements,
    );
    let elements = split.view().iter().collect();
    row(
        &mut table,
        "[4, 3], two columns of three",
        &[3, 1],
        "[2, 2, 2]",
        split.was_copied(),
        elements,
    );
    story.table(&table);
}
