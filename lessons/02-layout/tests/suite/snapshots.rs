//! What the lesson shows and can be counted: views as lists, and cache lines of the three simple loops.

use layout::gemm::MatRef;
use layout::grid::Counted;
use layout::ladder;
use layout::layout::Layout;
use layout::lines::Cache;
use std::cell::RefCell;
use std::fmt::Write;

#[test]
fn views_as_lists() {
    let base = Layout::row_major(&[2, 3]);
    let mut text = String::new();
    for (name, layout) in [
        ("row-major", base.clone()),
        ("transpose(0, 1)", base.transpose(0, 1)),
        ("slice(1, 0..3, 2)", base.slice(1, 0..3, 2)),
        ("select(0, 1)", base.select(0, 1)),
        ("select(0, 1), broadcast", base.select(0, 1).broadcast_to(&[2, 3])),
        ("slice(0, 1..1, 1)", base.slice(0, 1..1, 1)),
    ] {
        let places: Vec<usize> = layout.places().collect();
        let contiguous = if layout.is_contiguous() {
            "contiguous"
        } else {
            "strided"
        };
        writeln!(
            text,
            "{name}: shape {:?}, strides {:?}, offset {}, runs {:?}, {contiguous}, places {places:?}",
            layout.shape(),
            layout.strides(),
            layout.offset(),
            layout.runs()
        )
        .expect("a string takes any text");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn lines_of_the_simple_loops() {
    let (m, k, n) = (8, 256, 512);
    let (x, w) = (vec![1.0; m * k], vec![1.0; k * n]);
    let (x, x_strided) = (MatRef::row_major(&x, m, k), MatRef::row_major(&x, k, m).t());
    let (w, w_transposed) = (MatRef::row_major(&w, k, n), MatRef::row_major(&w, n, k).t());
    let mut text = format!("{} multiply-adds; lines and runs of lines fetched\n", m * k * n);
    for (feed, x, w) in [
        ("as stored", x, w),
        ("x strided", x_strided, w),
        ("w transposed", x, w_transposed),
    ] {
        for rung in ["naive", "reordered", "blocked"] {
            let cache = RefCell::new(Cache::default());
            let (x, w) = (Counted::new(x, &cache, 0), Counted::new(w, &cache, 1 << 30));
            let mut y = vec![0.0; m * n];
            match rung {
                "naive" => ladder::naive(&x, &w, &mut y),
                "reordered" => ladder::reordered(&x, &w, &mut y),
                _ => ladder::blocked(&x, &w, &mut y),
            }
            let cache = cache.into_inner();
            writeln!(
                text,
                "{feed}, {rung}: {} lines, {} runs",
                cache.lines_fetched(),
                cache.runs_fetched()
            )
            .expect("a string takes any text");
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn errors_say_what_was_expected() {
    let text = |work: fn()| {
        let payload = std::panic::catch_unwind(work).expect_err("the shapes do not fit");
        payload.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    let texts = [
        text(|| drop(Layout::row_major(&[2, 3]).permute(&[0]))),
        text(|| drop(Layout::row_major(&[2, 3]).permute(&[0, 0]))),
        text(|| drop(Layout::row_major(&[2, 3]).slice(1, 2..4, 1))),
        text(|| drop(Layout::row_major(&[2, 3]).broadcast_to(&[4, 3]))),
        text(|| drop(Layout::row_major(&[2, 3]).reshape(&[5]))),
        text(|| drop(layout::view::View::row_major(&[1, 2, 3], &[2, 2]))),
    ];
    insta::assert_snapshot!(texts.join("\n"));
}
