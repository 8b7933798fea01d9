//! Layouts and products against NumPy's, made by `golden/layout.py`.

use layout::gemm::{MatMut, MatRef, Write, gemm};
use layout::layout::Layout;
use layout::packed::PackedMatrix;
use layout::pool::Pool;
use layout::view::View;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Golden {
    views: Vec<ViewCase>,
    reshapes: Vec<ReshapeCase>,
    products: Vec<Product>,
}

#[derive(Deserialize)]
struct ViewCase {
    from: Vec<usize>,
    changes: Vec<Value>,
    shape: Vec<usize>,
    strides: Vec<usize>,
    offset: usize,
    contiguous: bool,
    elements: Vec<u32>,
}

#[derive(Deserialize)]
struct ReshapeCase {
    from: Vec<usize>,
    changes: Vec<Value>,
    to: Vec<usize>,
    copied: bool,
    elements: Vec<u32>,
}

#[derive(Deserialize)]
struct Product {
    rows: usize,
    inner: usize,
    columns: usize,
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f64>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/layout.json")).expect("layout.json is as layout.py writes it")
}

fn change(layout: Layout, change: &Value) -> Layout {
    let number = |i: usize| change[i].as_u64().expect("a number") as usize;
    let list = || {
        change[1]
            .as_array()
            .expect("a list")
            .iter()
            .map(|v| v.as_u64().expect("a number") as usize)
            .collect::<Vec<_>>()
    };
    match change[0].as_str() {
        Some("permute") => layout.permute(&list()),
        Some("slice") => layout.slice(number(1), number(2)..number(3), number(4)),
        Some("select") => layout.select(number(1), number(2)),
        Some("broadcast") => layout.broadcast_to(&list()),
        other => panic!("layout.py knows no change {other:?}"),
    }
}

#[test]
fn views_are_numpys() {
    for case in golden().views {
        let layout = case.changes.iter().fold(Layout::row_major(&case.from), change);
        let what = format!("{:?} through {:?}", case.from, case.changes);
        assert_eq!(layout.shape(), case.shape, "{what}");
        assert_eq!(layout.is_contiguous(), case.contiguous, "{what}");
        let places: Vec<u32> = layout.places().map(|place| place as u32).collect();
        assert_eq!(places, case.elements, "{what}");
        // The stride of an axis of length 1, or of an empty array, is never used, and NumPy's may be any number.
        let stepped = |strides: &[usize]| -> Vec<usize> {
            strides
                .iter()
                .zip(&case.shape)
                .filter(|(_, n)| **n > 1)
                .map(|(s, _)| *s)
                .collect()
        };
        if !layout.is_empty() {
            assert_eq!(stepped(layout.strides()), stepped(&case.strides), "{what}");
            assert_eq!(layout.offset(), case.offset, "{what}");
        }
    }
}

#[test]
fn reshape_copies_exactly_when_numpy_does() {
    for case in golden().reshapes {
        let numbers: Vec<u32> = (0..case.from.iter().product::<usize>() as u32).collect();
        let layout = case.changes.iter().fold(Layout::row_major(&case.from), change);
        let view = View::new(&numbers, layout);
        let reshaped = view.reshape(&case.to);
        let what = format!("{:?} through {:?} to {:?}", case.from, case.changes, case.to);
        assert_eq!(reshaped.was_copied(), case.copied, "{what}");
        assert_eq!(reshaped.view().iter().collect::<Vec<_>>(), case.elements, "{what}");
    }
}

#[test]
fn products_are_numpys_in_f64() {
    for case in golden().products {
        let (m, k, n) = (case.rows, case.inner, case.columns);
        let pool = Pool::new(2);
        let (a, b) = (MatRef::row_major(&case.a, m, k), MatRef::row_major(&case.b, k, n));
        let mut by_gemm = vec![0.0; m * n];
        gemm(
            &pool,
            a,
            b,
            &mut MatMut::row_major(&mut by_gemm, m, n),
            Write::Overwrite,
        );
        let transposed = View::row_major(&case.b, &[k, n])
            .map(|b| b.transpose(0, 1))
            .to_contiguous();
        let mut by_packed = vec![0.0; m * n];
        PackedMatrix::from_f32(&transposed, n, k).matmul(&pool, &case.a, m, &mut by_packed);
        for (i, exact) in case.c.iter().enumerate() {
            // k roundings of a sum of at most k: far below this.
            assert!(
                (f64::from(by_gemm[i]) - exact).abs() < 1e-5,
                "output {i}: {} against {exact}",
                by_gemm[i]
            );
            assert_eq!(by_gemm[i], by_packed[i], "output {i}");
        }
    }
}
