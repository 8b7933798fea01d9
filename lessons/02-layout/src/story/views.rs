//! Views: a few small numbers instead of a copy.

use lab::story::Story;
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
    story.rows(
        &["6 numbers as", "shape", "strides", "offset", "read in order", "dense"],
        examples.map(|(name, layout)| {
            [
                name.to_string(),
                format!("{:?}", layout.shape()),
                format!("{:?}", layout.strides()),
                layout.offset().to_string(),
                joined(layout.places()),
                yes(layout.is_contiguous()),
            ]
        }),
    );
    story.predict("transpose-bytes");

    let numbers: Vec<u32> = (0..12).collect();
    let permuted = View::row_major(&numbers, &[2, 2, 3]).map(|l| l.permute(&[1, 0, 2]));
    let sliced = View::row_major(&numbers, &[4, 3]).map(|l| l.slice(1, 0..2, 1));
    story.say(
        "reshape keeps the order of reading. Where strides can express the new shape, nothing moves; where they can not, it copies:",
    );
    let reshapes = [
        ("[2, 2, 3], axes 1 0 2", permuted, vec![12]),
        ("[4, 3], 2 columns", sliced, vec![2, 2, 2]),
    ];
    story.rows(
        &["from", "strides", "to", "copied", "elements"],
        reshapes.map(|(from, view, to)| {
            let reshaped = view.reshape(&to);
            [
                from.to_string(),
                format!("{:?}", view.layout().strides()),
                format!("{to:?}"),
                yes(reshaped.was_copied()),
                joined(reshaped.view().iter()),
            ]
        }),
    );
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_string()
}

fn joined(numbers: impl Iterator<Item: ToString>) -> String {
    numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
}
