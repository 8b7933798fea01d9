//! `cargo bench -p ladder -- matmul`: lesson 02's matrix product against the machine and against other libraries.
//!
//! First a table: for each number of rows, what is reached of the limit that this machine has for it. The limit is the
//! smaller of two: the peak of its multiply-add units, and the weights' bytes at the memory's bandwidth. Both are
//! measured here, in the same run, and all entries take turns. Then criterion, for the history.

use criterion::{BenchmarkId, Criterion, Throughput};
use lab::race::Race;
use lab::table::Table;
use ladder::{ColdWeights, random};
use layout::company::{by_gemm_crate, by_ndarray};
use layout::gemm::{MatMut, MatRef};
use layout::pool::Pool;
use layout::probe;
use std::cell::RefCell;
use std::time::Duration;

const OUT_FEATURES: usize = 5632;
const IN_FEATURES: usize = 2048;
const ROWS: [usize; 6] = [1, 4, 8, 32, 128, 512];
/// All copies of the weights together: several times the largest cache of a usual machine.
const FOOTPRINT: usize = 256 << 20;

fn main() {
    let Some(bench) = ladder::turn::take("matmul") else {
        return;
    };
    let checking_only = bench.is_trial || bench.is_list;
    let mut criterion = bench.criterion;
    let weights = RefCell::new(ColdWeights::new(OUT_FEATURES, IN_FEATURES, FOOTPRINT));
    if !checking_only {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        limits_and_shares(&weights, 1);
        if cores > 1 {
            limits_and_shares(&weights, cores);
        }
    }
    history(&mut criterion, &weights);
    criterion.final_summary();
}

fn multiply_adds(rows: usize) -> f64 {
    (rows * OUT_FEATURES * IN_FEATURES) as f64
}

fn limits_and_shares(weights: &RefCell<ColdWeights>, threads: usize) {
    let pool = Pool::new(threads);
    let peak = probe::peak_flops(&pool) / 1e9;
    let bandwidth = probe::read_bandwidth(&pool, FOOTPRINT) / 1e9;
    lab::outln!(
        "\n[{OUT_FEATURES}, {IN_FEATURES}] f32 from memory, {threads} thread{}: peak {peak:.0} GFLOP/s, reads {bandwidth:.1} GB/s",
        if threads == 1 { "" } else { "s" }
    );
    let mut table = Table::new(&[
        "rows",
        "GFLOP/s",
        "of peak",
        "of limit",
        "gemm crate",
        "ndarray",
        "/ gemm",
        "/ ndarray",
    ]);
    for rows in ROWS {
        let result = race(weights, &pool, rows);
        let of = |name: &str| result.entry(name).map_or(0.0, |entry| entry.median);
        let limit = peak.min(bandwidth * 2.0 * multiply_adds(rows) / (4 * OUT_FEATURES * IN_FEATURES) as f64);
        let ours = of("packed");
        let company = |name: &str| match of(name) {
            0.0 => ["-".into(), "-".into()],
            speed => [format!("{speed:.1}"), format!("{:.2}", ours / speed)],
        };
        let ([gemm, over_gemm], [ndarray, over_ndarray]) = (company("gemm crate"), company("ndarray"));
        table.row([
            rows.to_string(),
            format!("{ours:.1}"),
            format!("{:.0} %", 100.0 * ours / peak),
            format!("{:.0} %", 100.0 * ours / limit),
            gemm,
            ndarray,
            over_gemm,
            over_ndarray,
        ]);
    }
    lab::outln!("{table}");
}

/// One number of rows, all libraries in turn. `ndarray` always uses all cores, so it only takes part in that race.
fn race(weights: &RefCell<ColdWeights>, pool: &Pool, rows: usize) -> lab::race::RaceResult {
    let threads = pool.num_threads();
    let x = random(rows * IN_FEATURES, 99);
    let x = &x;
    let mut outs = vec![vec![0.0_f32; rows * OUT_FEATURES]; 3].into_iter();
    let mut next_out = || outs.next().expect("three outputs");
    let (mut a, mut b, mut c) = (next_out(), next_out(), next_out());
    let mut race = Race::new("matmul", "matrix product")
        .unit("GFLOP/s")
        .work(2.0 * multiply_adds(rows) / 1e9)
        .rounds(9)
        .at_least(Duration::from_millis(40))
        .baseline("packed")
        .entry("packed", None, move || {
            let mut weights = weights.borrow_mut();
            let turn = weights.turn();
            weights.packed[turn].matmul(pool, x, rows, &mut a);
        })
        .entry("gemm crate", None, move || {
            let mut weights = weights.borrow_mut();
            let turn = weights.turn();
            let w = MatRef::row_major(&weights.plain[turn], OUT_FEATURES, IN_FEATURES).t();
            let out = MatMut::row_major(&mut b, rows, OUT_FEATURES);
            by_gemm_crate(threads, MatRef::row_major(x, rows, IN_FEATURES), w, out);
        });
    if threads > 1 {
        race = race.entry("ndarray", None, move || {
            let mut weights = weights.borrow_mut();
            let turn = weights.turn();
            let w = MatRef::row_major(&weights.plain[turn], OUT_FEATURES, IN_FEATURES).t();
            let out = MatMut::row_major(&mut c, rows, OUT_FEATURES);
            by_ndarray(MatRef::row_major(x, rows, IN_FEATURES), w, out);
        });
    }
    race.run()
        .expect("nothing is checked here; a test of lesson 02 compares the products")
}

fn history(criterion: &mut Criterion, weights: &RefCell<ColdWeights>) {
    let pool = Pool::with_available_threads();
    let mut group = criterion.benchmark_group("matmul");
    group.sample_size(20);
    for rows in [1, 8, 128] {
        let x = random(rows * IN_FEATURES, 99);
        let mut out = vec![0.0; rows * OUT_FEATURES];
        group.throughput(Throughput::Elements((rows * OUT_FEATURES * IN_FEATURES) as u64));
        group.bench_function(BenchmarkId::new("packed", rows), |bencher| {
            bencher.iter(|| {
                let mut weights = weights.borrow_mut();
                let turn = weights.turn();
                weights.packed[turn].matmul(&pool, &x, rows, &mut out);
            });
        });
    }
    group.finish();
}
