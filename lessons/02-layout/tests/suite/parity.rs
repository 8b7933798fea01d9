//! Every fast product gives the bits of the naive one: over shapes, row counts, threads, instruction sets and weight
//! types.

use half::bf16;
use layout::gemm::{MatMut, MatRef, Write, gemm_with};
use layout::ladder::{self, Ladder, Rung};
use layout::packed::PackedMatrix;
use layout::pool::Pool;
use layout::simd::Isa;

/// Numbers between -1 and 1 with a few zeros of both signs, the same for the same seed.
fn random(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5555;
    (0..n)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            match (state >> 33) % 50 {
                0 => 0.0,
                1 => -0.0,
                _ => (state >> 40) as f32 / (1 << 23) as f32 - 1.0,
            }
        })
        .collect()
}

/// The definition: one sum per output, from zero (or from what is there), k ascending, fused.
fn naive(a: MatRef, b: MatRef, c: &mut MatMut, mode: Write) {
    for i in 0..c.rows {
        for j in 0..c.cols {
            let place = i * c.row_stride + j * c.col_stride;
            let start = if mode == Write::Overwrite { 0.0 } else { c.data[place] };
            c.data[place] = (0..a.cols).fold(start, |sum, k| {
                let (a, b) = (
                    a.data[i * a.row_stride + k * a.col_stride],
                    b.data[k * b.row_stride + j * b.col_stride],
                );
                a.mul_add(b, sum)
            });
        }
    }
}

/// c = a b by definition, row-major.
fn definition(a: MatRef, b: MatRef) -> Vec<f32> {
    let mut c = vec![0.0; a.rows * b.cols];
    naive(a, b, &mut MatMut::row_major(&mut c, a.rows, b.cols), Write::Overwrite);
    c
}

/// c = a b by `gemm`, row-major.
fn by_gemm(isa: Isa, threads: usize, a: MatRef, b: MatRef) -> Vec<f32> {
    let mut c = vec![f32::NAN; a.rows * b.cols];
    let mut target = MatMut::row_major(&mut c, a.rows, b.cols);
    gemm_with(isa, &Pool::new(threads), a, b, &mut target, Write::Overwrite);
    c
}

/// y = x Wᵀ by a packed matrix.
fn by_packed(isa: Isa, pool: &Pool, w: &PackedMatrix, x: &[f32], rows: usize, out_features: usize) -> Vec<f32> {
    let mut y = vec![f32::NAN; rows * out_features];
    w.matmul_with(isa, pool, x, rows, &mut y);
    y
}

#[track_caller]
fn assert_same_bits(found: &[f32], expected: &[f32], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert_eq!(f.to_bits(), e.to_bits(), "{what}: number {i} is {f} instead of {e}");
    }
}

/// y = x Wᵀ for 40 rows by definition; a prefix of it is the result for fewer rows.
fn expected_rows(x: &[f32], w: &[f32], out_features: usize, in_features: usize) -> Vec<f32> {
    let w = MatRef::row_major(w, out_features, in_features);
    definition(MatRef::row_major(x, 40, in_features), w.t())
}

/// Rule 5: a row's result does not depend on how many rows there are, on threads, or on the instruction set.
#[track_caller]
fn check_packed(out_features: usize, in_features: usize) {
    let (w, x) = (random(out_features * in_features, 1), random(40 * in_features, 2));
    let narrow: Vec<bf16> = w.iter().map(|&w| bf16::from_f32(w)).collect();
    let widened: Vec<f32> = narrow.iter().map(|w| w.to_f32()).collect();
    let matrices = [
        (
            PackedMatrix::from_f32(&w, out_features, in_features),
            expected_rows(&x, &w, out_features, in_features),
        ),
        (
            PackedMatrix::from_bf16(&narrow, out_features, in_features),
            expected_rows(&x, &widened, out_features, in_features),
        ),
    ];
    for threads in 1..=3 {
        let pool = Pool::new(threads);
        for isa in Isa::available() {
            for (matrix, expected) in &matrices {
                for rows in 0..=40 {
                    let y = by_packed(isa, &pool, matrix, &x[..rows * in_features], rows, out_features);
                    let what = format!(
                        "[{rows}, {in_features}] x [{out_features}, {in_features}]ᵀ, {threads} threads, {isa:?}, {:?}",
                        matrix.dtype()
                    );
                    assert_same_bits(&y, &expected[..rows * out_features], &what);
                }
            }
        }
    }
}

#[test]
fn packed_product_has_the_same_bits_for_any_rows_threads_and_instruction_set() {
    check_packed(100, 70);
    check_packed(257, 129);
}

#[test]
fn packed_product_continues_its_sums_over_blocks_of_k() {
    check_packed(33, 513);
    check_packed(64, 1200);
}

#[test]
fn tail_outputs_are_not_dropped_for_any_width() {
    for out_features in 1..=66 {
        let in_features = 5;
        let (w, x) = (random(out_features * in_features, 3), random(40 * in_features, 4));
        let expected = expected_rows(&x, &w, out_features, in_features);
        let matrix = PackedMatrix::from_f32(&w, out_features, in_features);
        for isa in Isa::available() {
            for rows in [1, 4, 7, 15, 40] {
                let x = &x[..rows * in_features];
                let y = by_packed(isa, &Pool::new(1), &matrix, x, rows, out_features);
                let what = format!("{out_features} outputs, {rows} rows, {isa:?}");
                assert_same_bits(&y, &expected[..rows * out_features], &what);
            }
        }
    }
}

#[test]
fn empty_shapes_are_defined() {
    for (out_features, in_features) in [(0, 3), (3, 0), (0, 0)] {
        check_packed(out_features, in_features);
    }
}

#[test]
fn many_rows_are_cut_into_blocks_without_a_seam() {
    let (out_features, in_features, rows) = (70, 600, 450);
    let (w, x) = (random(out_features * in_features, 5), random(rows * in_features, 6));
    let matrix = PackedMatrix::from_f32(&w, out_features, in_features);
    let all = by_packed(Isa::detect(), &Pool::new(2), &matrix, &x, rows, out_features);
    let one = Pool::new(1);
    for (row, (x, y)) in x.chunks(in_features).zip(all.chunks(out_features)).enumerate() {
        let alone = by_packed(Isa::detect(), &one, &matrix, x, 1, out_features);
        assert_same_bits(y, &alone, &format!("row {row}"));
    }
}

#[test]
fn unpacked_rows_are_the_weights() {
    for (out_features, in_features) in [(1, 1), (33, 7), (64, 12), (100, 3)] {
        let w = random(out_features * in_features, 7);
        let narrow: Vec<bf16> = w.iter().map(|&w| bf16::from_f32(w)).collect();
        let (wide, small) = (
            PackedMatrix::from_f32(&w, out_features, in_features),
            PackedMatrix::from_bf16(&narrow, out_features, in_features),
        );
        assert_eq!(wide.bytes(), 2 * small.bytes());
        for i in 0..out_features {
            let range = i * in_features..(i + 1) * in_features;
            let mut row = vec![f32::NAN; in_features];
            wide.row(i, &mut row);
            assert_same_bits(&row, &w[range.clone()], "f32");
            small.row(i, &mut row);
            let widened: Vec<f32> = narrow[range].iter().map(|w| w.to_f32()).collect();
            assert_same_bits(&row, &widened, "bf16");
        }
    }
}

/// The strides of a matrix `[rows, cols]` stored row by row, column by column, or with gaps both ways.
fn strides(kind: usize, rows: usize, cols: usize) -> (usize, usize) {
    [(cols, 1), (1, rows), (2 * cols + 1, 2)][kind]
}

fn matrix(data: &[f32], rows: usize, cols: usize, (row_stride, col_stride): (usize, usize)) -> MatRef<'_> {
    MatRef {
        data,
        rows,
        cols,
        row_stride,
        col_stride,
    }
}

fn matrix_mut(data: &mut [f32], rows: usize, cols: usize, (row_stride, col_stride): (usize, usize)) -> MatMut<'_> {
    MatMut {
        data,
        rows,
        cols,
        row_stride,
        col_stride,
    }
}

#[track_caller]
fn check_gemm(m: usize, n: usize, k: usize) {
    let room = |rows: usize, cols: usize| 2 * rows * cols + 2 * rows + 2 * cols + 2;
    let (a_data, b_data, c_data) = (random(room(m, k), 1), random(room(k, n), 2), random(room(m, n), 3));
    for threads in 1..=3 {
        let pool = Pool::new(threads);
        for kinds in 0..27 {
            let a = matrix(&a_data, m, k, strides(kinds % 3, m, k));
            let b = matrix(&b_data, k, n, strides(kinds / 3 % 3, k, n));
            for mode in [Write::Overwrite, Write::Accumulate] {
                let of_c = strides(kinds / 9, m, n);
                let mut expected = c_data.clone();
                naive(a, b, &mut matrix_mut(&mut expected, m, n, of_c), mode);
                for isa in Isa::available() {
                    let mut found = c_data.clone();
                    gemm_with(isa, &pool, a, b, &mut matrix_mut(&mut found, m, n, of_c), mode);
                    let what =
                        format!("[{m}, {k}] x [{k}, {n}], strides {kinds}, {mode:?}, {threads} threads, {isa:?}");
                    // Whole storage: what lies between the elements of c is left alone.
                    assert_same_bits(&found, &expected, &what);
                }
            }
        }
    }
}

#[test]
fn gemm_has_the_bits_of_the_naive_loops_for_any_strides() {
    for (m, n, k) in [(1, 1, 1), (2, 35, 3), (15, 64, 20), (40, 33, 31), (17, 100, 9)] {
        check_gemm(m, n, k);
    }
}

/// One less, exactly, and one more than every register width and panel, in each of the three directions.
#[test]
fn gemm_drops_no_tail_in_any_direction() {
    let sizes = [1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33];
    for size in sizes {
        for (m, n, k) in [(size, 17, 9), (15, size, 9), (15, 17, size)] {
            let (a, b) = (random(m * k, 8), random(k * n, 9));
            let (a, b) = (MatRef::row_major(&a, m, k), MatRef::row_major(&b, n, k).t());
            let expected = definition(a, b);
            for isa in Isa::available() {
                let what = format!("[{m}, {k}] x [{k}, {n}], {isa:?}");
                assert_same_bits(&by_gemm(isa, 1, a, b), &expected, &what);
            }
        }
    }
}

/// Sums of bf16 would lose what is smaller than 1/256 of them: output 0 is larger, and would come out smaller.
#[test]
fn bf16_weights_accumulate_in_f32() {
    let in_features = 257;
    let tiny = bf16::from_f32(1.0 / 512.0);
    let mut weights = vec![tiny; in_features];
    weights[0] = bf16::ONE;
    weights.extend(vec![bf16::ZERO; in_features]);
    weights[in_features] = bf16::from_f32(1.25);
    let in_bf16 = weights[..in_features]
        .iter()
        .fold(bf16::ZERO, |sum, &w| bf16::from_f32(sum.to_f32() + w.to_f32()));
    assert_eq!(in_bf16.to_f32(), 1.0, "a sum kept in bf16 never grows beyond 1");
    let matrix = PackedMatrix::from_bf16(&weights, 2, in_features);
    let mut y = [0.0; 2];
    matrix.matmul(&Pool::new(1), &vec![1.0; in_features], 1, &mut y);
    assert_eq!(y, [1.5, 1.25]);
}

#[test]
fn gemm_of_an_empty_shape_writes_an_empty_sum_or_nothing() {
    for (m, n, k) in [(0, 3, 2), (3, 0, 2), (3, 2, 0)] {
        check_gemm(m, n, k);
    }
}

#[test]
fn gemm_has_no_seam_between_its_blocks() {
    for (m, n, k) in [(3, 40, 1100), (400, 8, 40), (20, 1100, 5), (390, 1030, 2)] {
        let (a, b) = (random(m * k, 1), random(k * n, 2));
        for (a, b) in [
            (MatRef::row_major(&a, m, k), MatRef::row_major(&b, k, n)),
            (MatRef::row_major(&a, k, m).t(), MatRef::row_major(&b, n, k).t()),
        ] {
            let found = by_gemm(Isa::detect(), 2, a, b);
            assert_same_bits(&found, &definition(a, b), &format!("[{m}, {k}] x [{k}, {n}]"));
        }
    }
}

/// Rows 4 KiB apart are copied before they are used.
#[test]
fn gemm_is_right_where_it_copies_crowded_rows() {
    let (m, n, k) = (30, 150, 1024);
    let (a, b) = (random(m * k, 1), random(600 * n, 2));
    let a = MatRef {
        cols: 600,
        ..MatRef::row_major(&a, m, k)
    };
    let b = MatRef::row_major(&b, 600, n);
    assert_same_bits(&by_gemm(Isa::detect(), 1, a, b), &definition(a, b), "crowded rows");
}

#[test]
fn packed_product_equals_gemm() {
    let (rows, out_features, in_features) = (21, 90, 333);
    let (w, x) = (random(out_features * in_features, 1), random(rows * in_features, 2));
    let (isa, matrix) = (Isa::detect(), PackedMatrix::from_f32(&w, out_features, in_features));
    let packed = by_packed(isa, &Pool::new(2), &matrix, &x, rows, out_features);
    let (x, w) = (
        MatRef::row_major(&x, rows, in_features),
        MatRef::row_major(&w, out_features, in_features),
    );
    assert_same_bits(&packed, &by_gemm(isa, 2, x, w.t()), "packed against gemm");
}

#[test]
fn every_rung_of_the_ladder_gives_the_naive_bits() {
    let pool = Pool::new(2);
    for (m, k, n) in [(1, 1, 1), (3, 17, 40), (9, 100, 1030), (33, 70, 65)] {
        let (a, b) = (random(m * k, 1), random(k * n, 2));
        let expected = definition(MatRef::row_major(&a, m, k), MatRef::row_major(&b, k, n));
        let ladder = Ladder::new(&b, k, n, &pool);
        for rung in Rung::ALL {
            let mut found = vec![f32::NAN; m * n];
            ladder.run(rung, &a, m, &mut found);
            assert_same_bits(&found, &expected, &format!("{} [{m}, {k}] x [{k}, {n}]", rung.name()));
        }
    }
}

#[test]
fn the_simple_loops_read_any_strides() {
    let (m, k, n) = (7, 20, 33);
    let (a, b) = (random(m * k, 1), random(k * n, 2));
    let (a_t, b_t) = (MatRef::row_major(&a, k, m).t(), MatRef::row_major(&b, n, k).t());
    let expected = definition(a_t, b_t);
    let mut found = vec![f32::NAN; m * n];
    ladder::naive(&a_t, &b_t, &mut found);
    assert_same_bits(&found, &expected, "naive");
    ladder::reordered(&a_t, &b_t, &mut found);
    assert_same_bits(&found, &expected, "reordered");
    ladder::blocked(&a_t, &b_t, &mut found);
    assert_same_bits(&found, &expected, "blocked");
}
