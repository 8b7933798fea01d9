//! The lesson's claims as counts: multiply-adds, cache lines and bytes. Nothing here looks at a clock. Allocations are
//! counted for a whole process and have a program of their own (`allocations.rs`).

use crate::common::{INNER, OUT, STEPS, converting, numbers};
use half::bf16;
use lab::ledger::measure;
use layout::convert::Conversion;
use layout::gemm::MatRef;
use layout::grid::Counted;
use layout::ladder::{self, Ladder, Rung};
use layout::lines::Cache;
use layout::packed::PackedMatrix;
use layout::pool::Pool;
use std::cell::RefCell;

/// The lesson's question: the work is equal, only the time is not.
#[test]
fn every_rung_does_the_same_multiply_adds() {
    let (m, k, n) = (5, 40, 70);
    let (a, b, pool) = (numbers(m * k), numbers(k * n), Pool::new(2));
    let ladder = Ladder::new(&b, k, n, &pool);
    let mut c = vec![0.0; m * n];
    for rung in Rung::ALL {
        let ((), ledger) = measure(|| ladder.run(rung, &a, m, &mut c));
        assert_eq!(ledger.multiply_adds, (m * k * n) as u64, "{}", rung.name());
    }
}

/// Lines that the cache model fetches for one product; the weights are `[k, n]` of 4 KiB rows, as in real models.
fn lines(product: fn(&Counted, &Counted, &mut [f32]), x: MatRef, w: MatRef) -> u64 {
    let cache = RefCell::new(Cache::default());
    let mut y = vec![0.0; x.rows * w.cols];
    product(&Counted::new(x, &cache, 0), &Counted::new(w, &cache, 1 << 30), &mut y);
    cache.into_inner().lines_fetched()
}

/// T1, one outcome: reading the weights downwards fetches a line for each multiply-add, reading them along their rows
/// one for sixteen.
#[test]
fn naive_fetches_a_line_per_multiply_add_and_reordered_a_sixteenth() {
    let (m, k, n) = (4, 256, 1024);
    let (x, w) = (numbers(m * k), numbers(k * n));
    let (x, w) = (MatRef::row_major(&x, m, k), MatRef::row_major(&w, k, n));
    let work = (m * k * n) as u64;
    let naive = lines(|x, w, y| ladder::naive(x, w, y), x, w);
    let reordered = lines(|x, w, y| ladder::reordered(x, w, y), x, w);
    assert!(naive > work * 9 / 10, "{naive} lines for {work} multiply-adds");
    assert!(reordered < work / 15, "{reordered} lines for {work} multiply-adds");
}

/// T1, the other outcome: seen through a transposed view, the naive loop finds its weights side by side and the
/// reordered one does not.
#[test]
fn a_transposed_view_helps_the_naive_loop_and_hurts_the_reordered_one() {
    let (m, k, n) = (4, 256, 1024);
    let (x, w) = (numbers(m * k), numbers(k * n));
    let x = MatRef::row_major(&x, m, k);
    let (dense, view) = (MatRef::row_major(&w, k, n), MatRef::row_major(&w, n, k).t());
    let naive = |w| lines(|x, w, y| ladder::naive(x, w, y), x, w);
    let reordered = |w| lines(|x, w, y| ladder::reordered(x, w, y), x, w);
    assert!(naive(view) * 10 < naive(dense));
    assert!(reordered(view) > 10 * reordered(dense));
}

/// T1 again: a permutation that leaves rows whole costs nothing, so copying first can only lose.
#[test]
fn a_view_that_keeps_rows_whole_fetches_no_more_lines() {
    let (batch, seq, hidden, n) = (2, 8, 256, 64);
    let (x, w) = (numbers(batch * seq * hidden), numbers(hidden * n));
    let w = MatRef::row_major(&w, hidden, n);
    let dense = MatRef::row_major(&x, seq, hidden);
    let permuted = MatRef {
        row_stride: batch * hidden,
        ..dense
    };
    let naive = |x| lines(|x, w, y| ladder::naive(x, w, y), x, w);
    let reordered = |x| lines(|x, w, y| ladder::reordered(x, w, y), x, w);
    assert_eq!(naive(permuted), naive(dense));
    assert_eq!(reordered(permuted), reordered(dense));
}

/// Blocking brings each line of the weights once for all rows instead of once per row.
#[test]
fn blocked_fetches_the_weights_once_for_all_rows() {
    let (m, k, n) = (16, 64, 1024);
    let (x, w) = (numbers(m * k), numbers(k * n));
    let (x, w) = (MatRef::row_major(&x, m, k), MatRef::row_major(&w, k, n));
    let once = (k * n / 16) as u64;
    let reordered = lines(|x, w, y| ladder::reordered(x, w, y), x, w);
    let blocked = lines(|x, w, y| ladder::blocked(x, w, y), x, w);
    assert!(reordered >= 16 * once, "{reordered}");
    assert!(blocked < 2 * once, "{blocked} lines where {once} hold the weights");
}

/// T2: useful bytes per line fall with the step until each line brings one f32.
#[test]
fn a_step_of_64_bytes_fetches_a_line_for_each_number() {
    for (step, lines_per_16) in [(1, 1), (2, 2), (4, 4), (8, 8), (16, 16), (32, 16), (1024, 16)] {
        let mut cache = Cache::default();
        (0..1600).for_each(|i| cache.read(4 * step * i));
        assert_eq!(cache.lines_fetched(), 100 * lines_per_16, "step of {step} numbers");
    }
}

/// T2, runs: 32 numbers are two whole lines, with or without a gap behind them. What differs is how often the next line
/// is unexpected.
#[test]
fn runs_of_whole_lines_fetch_equal_lines_but_not_equal_runs() {
    let walk = |step: usize| {
        let mut cache = Cache::default();
        (0..64)
            .flat_map(|p| (0..32).map(move |i| 4 * (step * p + i)))
            .for_each(|address| cache.read(address));
        (cache.lines_fetched(), cache.runs_fetched())
    };
    assert_eq!(walk(32), (128, 1));
    assert_eq!(walk(128), (128, 64));
}

/// T3: converting in the loop moves bytes at each step; before the loop, or in registers, it does not.
#[test]
fn converting_in_the_loop_moves_bytes_at_each_step() {
    let [each, once, registers] = converting([Conversion::EachStep, Conversion::OnceBefore, Conversion::InRegisters]);
    let weights = (OUT * INNER) as u64;
    assert_eq!(each.bytes_read - once.bytes_read, STEPS * 2 * weights);
    assert_eq!(each.bytes_written - once.bytes_written, STEPS * 4 * weights);
    assert_eq!(once.bytes_read - registers.bytes_read, STEPS * 2 * weights);
}

#[test]
fn a_product_reads_its_weights_once_for_all_rows() {
    let (out, inner) = (64, 50);
    let w = numbers(out * inner);
    let narrow: Vec<bf16> = w.iter().map(|&w| bf16::from_f32(w)).collect();
    let pool = Pool::new(1);
    for (matrix, width) in [
        (PackedMatrix::from_f32(&w, out, inner), 4),
        (PackedMatrix::from_bf16(&narrow, out, inner), 2),
    ] {
        for rows in [1, 8, 33] {
            let (x, mut y) = (numbers(rows * inner), vec![0.0; rows * out]);
            let ((), ledger) = measure(|| matrix.matmul(&pool, &x, rows, &mut y));
            assert_eq!(ledger.bytes_read, (out * inner * width + rows * inner * 4) as u64);
            assert_eq!(ledger.bytes_written, (rows * out * 4) as u64);
            assert_eq!(ledger.multiply_adds, (rows * out * inner) as u64);
        }
    }
}

/// What the blocked loop's exercise is compared by: each line of the weights once, each number of x once for a block of
/// columns.
#[test]
fn the_cost_of_the_blocked_loop_is_counted() {
    let tasks = layout::costs::tasks();
    let mut ledgers = tasks
        .into_iter()
        .filter(|task| task.exercise == "02.3")
        .map(|mut task| measure(|| (task.work)()).1);
    let fetched = ledgers.next().expect("the first of two");
    assert_eq!(fetched.get("lines_of_b"), 64 * 512 / 16);
    assert_eq!(fetched.get("loads_of_b"), 12 * 64 * 512);
    assert_eq!(fetched.get("loads_of_a"), 12 * 64);
    let run = ledgers.next().expect("the second");
    assert_eq!(run.multiply_adds, 16 * 256 * 1024);
}
