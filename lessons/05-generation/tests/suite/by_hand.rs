//! The chapter's example on three tokens, with the numbers of the chapter.

use generation::kernels::{apply_rope, attend_row, rms_norm};

/// Compares with numbers that are written with `digits` digits after the point.
#[track_caller]
fn on_paper(found: &[f32], expected: &[f32], digits: i32) {
    fixtures::assert_close(found, expected, 0.51 * 10f32.powi(-digits));
}

/// The row (1, 7, 1, 7) has the root mean square 5.
#[test]
fn the_rows_of_the_chapter_are_normed() {
    for (x, expected) in [
        ([1.0, 7.0, 1.0, 7.0], [0.2, 1.4, 0.2, 1.4]),
        ([7.0, 1.0, -7.0, 1.0], [1.4, 0.2, -1.4, 0.2]),
        ([5.0, 5.0, 5.0, 5.0], [1.0, 1.0, 1.0, 1.0]),
    ] {
        let mut out = [0.0; 4];
        rms_norm(&x, &[1.0; 4], 0.0, &mut out);
        on_paper(&out, &expected, 5);
    }
}

/// Cosines and sines of the two pairs at the positions 0, 1, 2: the first pair turns by an angle with cosine 0.6, the
/// second not at all.
const COS: [[f32; 2]; 3] = [[1.0, 1.0], [0.6, 1.0], [-0.28, 1.0]];
const SIN: [[f32; 2]; 3] = [[0.0, 0.0], [0.8, 0.0], [0.96, 0.0]];

fn turned(head: [f32; 4], position: usize) -> [f32; 4] {
    let mut head = head;
    apply_rope(&mut head, 4, &COS[position], &SIN[position]);
    head
}

const Q: [f32; 4] = [1.0, 0.0, 0.0, 0.0];
const K: [f32; 4] = [5.0, 0.0, 0.0, 1.0];

#[test]
fn one_key_at_three_positions_is_three_keys() {
    on_paper(&turned(K, 0), &[5.0, 0.0, 0.0, 1.0], 5);
    on_paper(&turned(K, 1), &[3.0, 0.0, 4.0, 1.0], 5);
    on_paper(&turned(K, 2), &[-1.4, 0.0, 4.8, 1.0], 5);
    on_paper(&turned(Q, 2), &[-0.28, 0.0, 0.96, 0.0], 5);
    let score = |q: [f32; 4], k: [f32; 4]| q.iter().zip(k).map(|(q, k)| q * k).sum::<f32>();
    let scores = [0, 1, 2].map(|position| score(turned(Q, 2), turned(K, position)));
    on_paper(&scores, &[-1.4, 3.0, 5.0], 5);
}

#[test]
fn each_row_attends_to_the_rows_before_it() {
    let keys: Vec<f32> = (0..3).flat_map(|position| turned(K, position)).collect();
    let values = [[1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 1.0, 2.0]].concat();
    for (position, expected) in [[1.0, 0.0, 0.0, 2.0], [0.27, 0.73, 0.0, 2.0], [0.03, 0.26, 0.71, 2.0]]
        .into_iter()
        .enumerate()
    {
        let (mut scores, mut out) = ([0.0; 3], [0.0; 4]);
        let q = turned(Q, position);
        attend_row(&q, &keys, &values, 4, position + 1, 1, 1, 4, &mut scores, &mut out);
        on_paper(&out, &expected, 2);
    }
}
