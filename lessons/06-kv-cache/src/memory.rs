//! How much memory a cache takes. Functions only; known models stand in [`crate::shapes`].

/// Bytes of a KV cache: 2 · num_layers · num_kv_heads · head_dim · seq_len · batch_size · bytes_per_value. The 2 is for keys and values.
///
/// The number of query heads is no part of it: queries are not kept. `seq_len` counts positions, those of the prompt among them,
/// `batch_size` sequences that are kept at once. Source: the memory analysis of Kwon et al. 2023, arXiv:2309.06180, section 3.
pub fn kv_bytes(
    num_layers: usize,
    num_kv_heads: usize,
    head_dim: usize,
    seq_len: usize,
    batch_size: usize,
    bytes_per_value: usize,
) -> u64 {
    // ANCHOR: ex_06_1
    // As u64 before the product: on a machine with 32-bit addresses it may not fit a usize.
    [
        2,
        num_layers,
        num_kv_heads,
        head_dim,
        seq_len,
        batch_size,
        bytes_per_value,
    ]
    .map(|factor| factor as u64)
    .iter()
    .product()
    // ANCHOR_END: ex_06_1
}
