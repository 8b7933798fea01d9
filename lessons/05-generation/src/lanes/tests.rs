//! The same bits from every instruction set, and from one piece or several.

use super::*;
use layout::simd::Isa;

/// Numbers between -1 and 1 that look random and are the same each time.
fn numbers(len: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn every_instruction_set_gives_the_same_bits_for_every_width_and_group() {
    for head_dim in (1..=40).chain([48, 63, 64, 65, 80, 96, 128, 144]) {
        for num_queries in [1, 2, 3, 4, 5, 8] {
            for num_keys in [0, 1, 2, 15, 16, 17, 33] {
                let stride = head_dim + 3;
                let q = numbers(num_queries * head_dim, 1);
                let k = numbers(num_keys * stride, 2);
                let v = numbers(num_keys * stride, 3);
                let results: Vec<_> = Isa::available()
                    .into_iter()
                    .map(|isa| {
                        let mut scores = vec![0.0; num_queries * num_keys];
                        dots_on(isa, &q, head_dim, &k, stride, num_keys, 0.3, &mut scores, num_keys);
                        let raw = bits(&scores);
                        if num_keys > 0 {
                            scores.chunks_mut(num_keys).for_each(|s| softmax_on(isa, s));
                        }
                        let mut out = numbers(num_queries * head_dim, 4);
                        add_weighted_on(isa, &scores, num_keys, &v, stride, num_keys, head_dim, &mut out);
                        (raw, bits(&scores), bits(&out))
                    })
                    .collect();
                assert!(
                    results.windows(2).all(|w| w[0] == w[1]),
                    "head_dim {head_dim}, {num_queries} queries, {num_keys} keys"
                );
            }
        }
    }
}

/// The loops of the documentation, with one accumulator for each lane and each output.
#[test]
fn the_simple_loops_give_the_same_bits() {
    for head_dim in (1..=40).chain([64, 100]) {
        let (num_keys, stride) = (19, head_dim + 1);
        let (q, k, v) = (
            numbers(head_dim, 1),
            numbers(num_keys * stride, 2),
            numbers(num_keys * stride, 3),
        );
        let (mut simple_scores, mut simple_out) = (Vec::new(), numbers(head_dim, 4));
        for key in k.chunks(stride) {
            let mut lanes = [0.0f32; LANES];
            for d in 0..head_dim {
                lanes[d % LANES] = q[d].mul_add(key[d], lanes[d % LANES]);
            }
            simple_scores.push(row::fold(lanes) * 0.3);
        }
        for (weight, value) in simple_scores.iter().zip(v.chunks(stride)) {
            for (out, value) in simple_out.iter_mut().zip(value) {
                *out = weight.mul_add(*value, *out);
            }
        }
        let (mut scores, mut out) = (vec![0.0; num_keys], numbers(head_dim, 4));
        dots(&q, head_dim, &k, stride, num_keys, 0.3, &mut scores, num_keys);
        add_weighted(&scores, num_keys, &v, stride, num_keys, head_dim, &mut out);
        assert_eq!(bits(&scores), bits(&simple_scores), "head_dim {head_dim}");
        assert_eq!(bits(&out), bits(&simple_out), "head_dim {head_dim}");
    }
}

/// The products are too small for a float and round to -0, so all sixteen lanes hold -0; only lane 0 has a second
/// element.
#[test]
fn lanes_behind_the_last_element_keep_their_sums() {
    for isa in Isa::available() {
        let mut scores = [1.0];
        dots_on(isa, &[1e-30; 17], 17, &[-1e-30; 17], 17, 1, 1.0, &mut scores, 1);
        assert!(
            scores[0] == 0.0 && scores[0].is_sign_negative(),
            "{isa:?}: {}",
            scores[0]
        );
    }
}

#[test]
fn row_loops_give_the_same_bits_on_every_instruction_set() {
    for len in (0..70).chain([576, 688, 1536]) {
        let (a, b) = (numbers(len, 5), numbers(len, 6));
        let wide: Vec<f32> = a.iter().map(|x| x * 100.0).collect();
        let results: Vec<_> = Isa::available()
            .into_iter()
            .map(|isa| {
                let mut out = vec![0.0; len];
                silu_times_on(isa, &wide, &b, &mut out);
                let mut weights = wide.clone();
                softmax_on(isa, &mut weights);
                (sum_of_squares_on(isa, &a).to_bits(), bits(&out), bits(&weights))
            })
            .collect();
        assert!(results.windows(2).all(|w| w[0] == w[1]), "length {len}");
    }
}

#[test]
fn positions_in_pieces_give_the_bits_of_all_at_once() {
    let (head_dim, num_keys, num_queries) = (48, 37, 3);
    let q = numbers(num_queries * head_dim, 7);
    let k = numbers(num_keys * head_dim, 8);
    let v = numbers(num_keys * head_dim, 9);
    let whole = {
        let mut scores = vec![0.0; num_queries * num_keys];
        dots(&q, head_dim, &k, head_dim, num_keys, 1.0, &mut scores, num_keys);
        let mut out = vec![0.0; num_queries * head_dim];
        add_weighted(&scores, num_keys, &v, head_dim, num_keys, head_dim, &mut out);
        (bits(&scores), bits(&out))
    };
    for piece in [1, 4, 16, 20] {
        let mut scores = vec![0.0; num_queries * num_keys];
        let mut out = vec![0.0; num_queries * head_dim];
        for first in (0..num_keys).step_by(piece) {
            let count = piece.min(num_keys - first);
            dots(
                &q,
                head_dim,
                &k[first * head_dim..],
                head_dim,
                count,
                1.0,
                &mut scores[first..],
                num_keys,
            );
        }
        for first in (0..num_keys).step_by(piece) {
            let count = piece.min(num_keys - first);
            add_weighted(
                &scores[first..],
                num_keys,
                &v[first * head_dim..],
                head_dim,
                count,
                head_dim,
                &mut out,
            );
        }
        assert_eq!((bits(&scores), bits(&out)), whole, "pieces of {piece}");
    }
}

#[test]
fn softmax_survives_scores_beyond_any_exponential() {
    let mut scores = vec![1e30, 1e30, -1e30, f32::NEG_INFINITY];
    softmax(&mut scores);
    assert_eq!(scores, [0.5, 0.5, 0.0, 0.0]);
}

#[test]
#[should_panic(expected = "a shape beyond all memory")]
fn strides_that_wrap_around_are_refused() {
    let (q, keys) = (numbers(32, 1), numbers(64, 2));
    let mut scores = vec![0.0; 3];
    dots(&q, 32, &keys, 1 << (usize::BITS - 1), 3, 1.0, &mut scores, 3);
}

#[test]
fn rows_together_over_spans_give_the_bits_of_each_alone() {
    for (head_dim, group_size) in [(17, 1), (32, 2), (48, 3), (64, 3), (64, 8), (128, 5)] {
        let (stride, num_keys, num_rows) = (head_dim + 1, 70, 4);
        let spans = [(0, 40, 16), (16, 3, 5), (21, 56, 14), (35, 9, 0), (35, 20, 20)];
        let spans = spans.map(|(first, at, len)| Span {
            first,
            start: at * stride,
            len,
        });
        let len = 55;
        let (k, v) = (numbers(num_keys * stride, 8), numbers(num_keys * stride, 9));
        let in_order = |numbers: &[f32]| -> Vec<f32> {
            let of_span = |span: &Span| numbers[span.start..][..span.len * stride].to_vec();
            spans.iter().flat_map(of_span).collect()
        };
        let (k_in_order, v_in_order) = (in_order(&k), in_order(&v));
        let q = numbers(num_rows * group_size * head_dim, 7);
        let rows: Vec<&[f32]> = q.chunks_exact(group_size * head_dim).collect();
        let mut alone = vec![0.0; num_rows * group_size * len];
        for (q, scores) in rows.iter().zip(alone.chunks_exact_mut(group_size * len)) {
            dots(q, head_dim, &k_in_order, stride, len, 0.3, scores, len);
        }
        let mut out_alone = numbers(q.len(), 4);
        add_weighted(&alone, len, &v_in_order, stride, len, head_dim, &mut out_alone);
        for isa in Isa::available() {
            let mut scores = vec![0.0; alone.len()];
            dots_of_rows_on(isa, &rows, head_dim, &k, stride, &spans, 0.3, &mut scores, len);
            assert_eq!(bits(&scores), bits(&alone), "{isa:?}, {head_dim}");
            let mut out = numbers(q.len(), 4);
            add_weighted_of_spans_on(isa, &scores, len, &v, stride, &spans, head_dim, &mut out);
            assert_eq!(bits(&out), bits(&out_alone), "{isa:?}, {head_dim}");
        }
    }
}
