//! Exercise 06.2: write new rows into one layer of the cache.

use crate::place::Strides;

/// Copies the keys and values of each row of `qkv` to the positions from `first_position` on. Queries are not kept: no
/// later row reads them.
///
/// Shapes: `qkv` `[rows, (num_heads + 2 num_kv_heads) head_dim]`; a row holds its queries, then its keys, then its
/// values. Head `h` of position `p` begins at `p * strides.position + h * strides.head`, in `k` and in `v`. Cost:
/// writes 8 · num_kv_heads · head_dim bytes a row, allocates nothing.
///
/// # Panics
/// If `qkv` does not hold whole rows, or a position does not fit into `k` or `v`.
pub fn append_rows(
    qkv: &[f32],
    num_heads: usize,
    num_kv_heads: usize,
    head_dim: usize,
    first_position: usize,
    strides: Strides,
    k: &mut [f32],
    v: &mut [f32],
) {
    let (q_size, kv_size) = (num_heads * head_dim, num_kv_heads * head_dim);
    let width = q_size + 2 * kv_size;
    assert!(qkv.len().is_multiple_of(width), "whole rows of {width}");
    // ANCHOR: ex_06_2
    for (row, qkv) in qkv.chunks_exact(q_size + 2 * kv_size).enumerate() {
        let (keys, values) = qkv[q_size..].split_at(kv_size);
        // One copy for each head: in `[heads, positions, head_dim]` the heads of a position are not neighbours.
        for kv_head in 0..num_kv_heads {
            let place = (first_position + row) * strides.position + kv_head * strides.head;
            let head = kv_head * head_dim..(kv_head + 1) * head_dim;
            k[place..][..head_dim].copy_from_slice(&keys[head.clone()]);
            v[place..][..head_dim].copy_from_slice(&values[head]);
        }
    }
    // ANCHOR_END: ex_06_2
}
