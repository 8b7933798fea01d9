//! Allocations are counted for the whole process, so all that is said about them stands in one test, alone in its
//! process.

#[path = "suite/common.rs"]
mod common;

use common::{STEPS, converting, numbers};
use lab::ledger::measure;
use layout::convert::Conversion;
use layout::gemm::{MatMut, MatRef, Write, gemm};
use layout::layout::Layout;
use layout::packed::PackedMatrix;
use layout::pool::Pool;

#[global_allocator]
static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();

#[test]
fn allocations_are_where_the_lesson_says() {
    products_allocate_nothing_after_the_first_calls();
    only_converting_in_the_loop_allocates_at_each_step();
    a_view_allocates_its_lists_and_nothing_else();
}

fn products_allocate_nothing_after_the_first_calls() {
    let (m, k, n) = (70, 700, 130);
    let (x, w) = (numbers(m * k), numbers(k * n));
    let packed = PackedMatrix::from_f32(&w, n, k);
    let mut y = vec![0.0; m * n];
    for threads in [1, 2] {
        let pool = Pool::new(threads);
        let mut all = |times: usize| {
            for _ in 0..times {
                for rows in [1, 8, 40, m] {
                    packed.matmul(&pool, &x[..rows * k], rows, &mut y[..rows * n]);
                }
                // Row-major, transposed on the left, transposed on the right: forward, and both gradients.
                for (a, b) in [
                    (MatRef::row_major(&x, m, k), MatRef::row_major(&w, k, n)),
                    (MatRef::row_major(&x, k, m).t(), MatRef::row_major(&w, k, n)),
                    (MatRef::row_major(&x, m, k), MatRef::row_major(&w, n, k).t()),
                ] {
                    gemm(&pool, a, b, &mut MatMut::row_major(&mut y, m, n), Write::Overwrite);
                }
            }
        };
        // Which thread takes which part is chance, so a thread may make its scratch late; but it makes it only once.
        let idle_rounds = (0..40).filter(|_| measure(|| all(5)).1.allocations == 0).count();
        assert!(
            idle_rounds >= 36,
            "{threads} threads: {idle_rounds} of 40 rounds without an allocation"
        );
    }
}

fn only_converting_in_the_loop_allocates_at_each_step() {
    let [each, once, registers] = converting([Conversion::EachStep, Conversion::OnceBefore, Conversion::InRegisters]);
    assert_eq!(each.allocations, STEPS);
    assert_eq!(once.allocations, 0);
    assert_eq!(registers.allocations, 0);
}

/// Views move nothing: making one costs a few small lists, whatever the size of the tensor.
fn a_view_allocates_its_lists_and_nothing_else() {
    let layout = Layout::row_major(&[4096, 4096]);
    let (view, ledger) = measure(|| layout.transpose(0, 1));
    assert_eq!(view.strides(), [1, 4096]);
    assert!(ledger.allocated_bytes < 256, "{} bytes", ledger.allocated_bytes);
}
