//! What a call of each exercise costs, counted: yours beside the reference after a pass.

use crate::dense::Dense;
use crate::exercises::{add_scaled, is_contiguous, pack_panel, permute};
use crate::gemm::MatRef;
use crate::grid::Counted;
use crate::ladder;
use crate::lines::Cache;
use lab::cost::Task;
use std::cell::RefCell;
use std::hint::black_box;

/// One task for each function exercise; the blocked loop has two, for what it fetches is counted in a model and its
/// time is not.
pub fn tasks() -> Vec<Task> {
    vec![permuting(), looking(), fetching(), multiplying(), packing(), adding()]
}

/// Two lists, so two allocations.
fn permuting() -> Task {
    Task::new("02.1", "four axes reversed", || {
        black_box(permute(black_box(&[2, 3, 4, 5]), &[60, 20, 5, 1], &[3, 2, 1, 0]));
    })
}

fn looking() -> Task {
    Task::new("02.2", "four axes looked at", || {
        black_box(is_contiguous(black_box(&[2, 3, 4, 5]), &[60, 20, 5, 1]));
    })
}

/// Loads and lines of both factors, each behind a cache of its own.
fn fetching() -> Task {
    let (m, k, n) = (12, 64, 512);
    let (a, b, mut c) = (vec![1.0; m * k], vec![1.0; k * n], vec![0.0; m * n]);
    let caches = [RefCell::new(Cache::default()), RefCell::new(Cache::default())];
    Task::new(
        "02.3",
        "[12, 64] x [64, 512], blocks of 8 x 512, through a model of a cache",
        move || {
            caches.iter().for_each(|cache| cache.borrow_mut().clear());
            let a = Counted::new(MatRef::row_major(&a, m, k), &caches[0], 0);
            let b = Counted::new(MatRef::row_major(&b, k, n), &caches[1], 0);
            crate::exercises::matmul_blocked(&a, &b, &mut c, 8, 512);
            lab::ledger::count(|ledger| {
                let [of_a, of_b] = [&caches[0], &caches[1]].map(RefCell::borrow);
                ledger.add("loads_of_a", of_a.reads());
                ledger.add("loads_of_b", of_b.reads());
                ledger.add("lines_of_a", of_a.lines_fetched());
                ledger.add("lines_of_b", of_b.lines_fetched());
            });
        },
    )
}

/// The blocked rung of the ladder as it runs.
fn multiplying() -> Task {
    let (m, k, n) = (16, 256, 1024);
    let (a, b, mut c) = (vec![0.5; m * k], vec![0.25; k * n], vec![0.0; m * n]);
    Task::new("02.3", "[16, 256] x [256, 1024]", move || {
        ladder::blocked(&Dense::new(&a, m, k), &Dense::new(&b, k, n), &mut c);
    })
}

fn packing() -> Task {
    let in_features = 256;
    let weights = vec![0.5f32; 40 * in_features];
    let mut panel = vec![0.0f32; 32 * in_features];
    let order: [usize; 32] = std::array::from_fn(|place| place);
    Task::new("02.4", "32 rows of 256, the last 24 missing", move || {
        pack_panel(&weights, in_features, 32, &order, 0.0, &mut panel);
    })
}

fn adding() -> Task {
    let (x, mut sums) = (vec![0.5f32; 1007], vec![0.0f32; 1007]);
    Task::new("02.5", "1007 numbers", move || {
        crate::simd::with_fma(
            #[inline(always)]
            || add_scaled(&mut sums, black_box(1e-6), &x),
        );
    })
}
