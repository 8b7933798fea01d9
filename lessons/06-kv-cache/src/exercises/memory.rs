//! Exercise 06.1: how much memory a cache takes.

/// Bytes of a KV cache: 2 · num_layers · num_kv_heads · head_dim · seq_len · batch_size · bytes_per_value. The 2 counts
/// keys and values.
///
/// Query heads do not count, because queries are not kept. `seq_len` is the number of positions, those of the prompt
/// included; `batch_size` is the number of sequences that are kept at the same time. Source: Kwon et al. 2023,
/// arXiv:2309.06180, section 3.
pub fn kv_bytes(
    num_layers: usize,
    num_kv_heads: usize,
    head_dim: usize,
    seq_len: usize,
    batch_size: usize,
    bytes_per_value: usize,
) -> u64 {
    // ANCHOR: ex_06_1
    // u64 before the product: with 32-bit addresses the product may not fit a usize.
    let factors = [num_layers, num_kv_heads, head_dim, seq_len, batch_size, bytes_per_value];
    2 * factors.map(|factor| factor as u64).iter().product::<u64>()
    // ANCHOR_END: ex_06_1
}
