//! Properties of layouts: a view shows what a copy would hold.

use layout::gemm::{MatMut, MatRef, Write, gemm};
use layout::layout::Layout;
use layout::pool::Pool;
use layout::view::View;
use proptest::prelude::*;

/// A change of layout, with numbers that are fitted to the layout it meets.
#[derive(Clone, Debug)]
enum Change {
    Transpose(usize, usize),
    Slice(usize, usize, usize, usize),
    Select(usize, usize),
    NewAxis(usize),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let any = 0..1000usize;
    let change = prop_oneof![
        (any.clone(), any.clone()).prop_map(|(a, b)| Change::Transpose(a, b)),
        (any.clone(), any.clone(), any.clone(), 1..4usize).prop_map(|(a, b, c, s)| Change::Slice(a, b, c, s)),
        (any.clone(), any.clone()).prop_map(|(a, i)| Change::Select(a, i)),
        (1..4usize).prop_map(Change::NewAxis),
    ];
    prop::collection::vec(change, 0..5)
}

/// Applies a change to the layout and, by definition, to a list of (index, value).
fn apply(layout: &Layout, change: &Change) -> Layout {
    let axes = layout.shape().len();
    match *change {
        Change::Transpose(a, b) if axes > 0 => layout.transpose(a % axes, b % axes),
        Change::Slice(axis, from, to, step) if axes > 0 => {
            let length = layout.shape()[axis % axes];
            let (from, to) = (from % (length + 1), to % (length + 1));
            layout.slice(axis % axes, from.min(to)..from.max(to), step)
        }
        Change::Select(axis, index) if axes > 1 && layout.shape()[axis % axes] > 0 => {
            layout.select(axis % axes, index % layout.shape()[axis % axes])
        }
        Change::NewAxis(length) if axes < 5 => {
            let shape: Vec<usize> = [length].into_iter().chain(layout.shape().iter().copied()).collect();
            layout.broadcast_to(&shape)
        }
        _ => layout.clone(),
    }
}

fn layouts() -> impl Strategy<Value = (Vec<usize>, Layout)> {
    (prop::collection::vec(0..5usize, 1..4), changes()).prop_map(|(shape, changes)| {
        let layout = changes
            .iter()
            .fold(Layout::row_major(&shape), |layout, change| apply(&layout, change));
        (shape, layout)
    })
}

proptest! {
    #[test]
    fn places_are_those_of_the_indices_in_order((_, layout) in layouts()) {
        let mut expected = vec![Vec::new()];
        for &length in layout.shape() {
            expected = expected.iter().flat_map(|index: &Vec<usize>| (0..length).map(|i| [index.as_slice(), &[i]].concat())).collect();
        }
        let expected: Vec<usize> = expected.iter().filter(|_| !layout.is_empty()).map(|index| layout.place(index)).collect();
        prop_assert_eq!(layout.places().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn no_place_lies_behind_the_storage((shape, layout) in layouts()) {
        prop_assert!(layout.storage_len() <= shape.iter().product());
        prop_assert!(layout.places().all(|place| place < layout.storage_len()));
        prop_assert_eq!(layout.places().count(), layout.len());
    }

    #[test]
    fn a_copy_holds_what_the_view_shows((shape, layout) in layouts()) {
        let numbers: Vec<u32> = (0..shape.iter().product::<usize>() as u32).collect();
        let view = View::new(&numbers, layout);
        let shown: Vec<u32> = view.iter().collect();
        prop_assert_eq!(view.to_contiguous(), shown.clone());
        prop_assert_eq!(view.contiguous().into_owned(), shown);
    }

    #[test]
    fn contiguous_means_neighbours_in_order((_, layout) in layouts()) {
        let places: Vec<usize> = layout.places().collect();
        let neighbours = places.windows(2).all(|pair| pair[1] == pair[0] + 1);
        prop_assert_eq!(layout.is_contiguous(), neighbours);
    }

    #[test]
    fn runs_are_neighbours_and_their_lengths_multiply_to_the_whole((_, layout) in layouts()) {
        if !layout.is_empty() {
            prop_assert_eq!(layout.runs().iter().map(|run| run.0).product::<usize>(), layout.len());
            let places: Vec<usize> = layout.places().collect();
            for run in places.chunks(layout.run_len()) {
                prop_assert!(run.windows(2).all(|pair| pair[1] == pair[0] + 1));
            }
        }
    }

    /// A reshape of a permuted view reads the right elements: where strides cannot say it, it copies.
    #[test]
    fn reshape_keeps_the_elements_in_order((shape, layout) in layouts(), seed in 0..1000usize) {
        let numbers: Vec<u32> = (0..shape.iter().product::<usize>() as u32).collect();
        let view = View::new(&numbers, layout);
        let shown: Vec<u32> = view.iter().collect();
        // Some factorization of the number of elements.
        let (mut left, mut target) = (shown.len(), Vec::new());
        for divisor in [2, 3, 2, 5, 3].iter().cycle().skip(seed % 5).take(seed % 7) {
            if left > 0 && left % divisor == 0 {
                target.push(*divisor);
                left /= divisor;
            }
        }
        target.push(left);
        let reshaped = view.reshape(&target);
        prop_assert_eq!(reshaped.view().iter().collect::<Vec<_>>(), shown);
        prop_assert!(!(view.layout().is_contiguous() && reshaped.was_copied()));
    }

    /// A product of sizes that wraps does not pass for a small one: an empty view has no shape of 2^64 elements.
    #[test]
    fn a_shape_whose_sizes_wrap_is_refused(shape in prop::collection::vec(prop_oneof![
        Just(0usize), Just(1), Just(2), Just(usize::MAX), Just(1 << 32), Just(1 << 63),
    ], 1..5)) {
        let product = shape.iter().filter(|&&n| n != 0).try_fold(1usize, |product, &n| product.checked_mul(n));
        let fits = product.is_some_and(|product| product <= isize::MAX as usize);
        let empty = View::<u32>::row_major(&[], &[0]);
        let reshaped = std::panic::catch_unwind(|| empty.reshape(&shape).view().layout().len());
        prop_assert_eq!(reshaped.is_ok(), fits && shape.contains(&0), "{:?}", shape);
    }

    /// gemm's strided factors are views: the product of views is the product of their copies, bit for bit.
    #[test]
    fn the_product_of_views_is_the_product_of_copies(m in 1..20usize, n in 1..40usize, k in 1..30usize, flip_a: bool, flip_b: bool, threads in 1..3usize) {
        let numbers = |n: usize| -> Vec<f32> { (0..n).map(|i| ((i * 29 + 7) % 97) as f32 / 48.0 - 1.0).collect() };
        let (a, b) = (numbers(m * k), numbers(k * n));
        let view = |data, shape: [usize; 2], flip: bool| match flip {
            true => View::row_major(data, &[shape[1], shape[0]]).map(|l| l.transpose(0, 1)),
            false => View::row_major(data, &shape),
        };
        let (a, b) = (view(&a, [m, k], flip_a), view(&b, [k, n], flip_b));
        let pool = Pool::new(threads);
        let (mut by_view, mut by_copy) = (vec![0.0; m * n], vec![0.0; m * n]);
        gemm(&pool, a.matrix(), b.matrix(), &mut MatMut::row_major(&mut by_view, m, n), Write::Overwrite);
        let (a, b) = (a.to_contiguous(), b.to_contiguous());
        gemm(&pool, MatRef::row_major(&a, m, k), MatRef::row_major(&b, k, n), &mut MatMut::row_major(&mut by_copy, m, n), Write::Overwrite);
        prop_assert_eq!(by_view, by_copy);
    }
}
