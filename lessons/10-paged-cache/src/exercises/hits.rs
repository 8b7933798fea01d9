//! How much of a match may be used.

/// Of `num_matching` blocks that hold the beginning of a text of `num_tokens` tokens, how many to use.
///
/// The model's answer to a text is the logits of its last row, and a row that is in the cache is not computed. So at
/// least the last token has to be left over: a match that covers the whole text gives back its last block.
pub fn usable_blocks(num_matching: usize, num_tokens: usize, block_size: usize) -> usize {
    // ANCHOR: ex_10_5
    //~ fault 10.5
    //~ | let most = num_tokens / block_size;
    let most = num_tokens.saturating_sub(1) / block_size;
    //~ end
    num_matching.min(most)
    // ANCHOR_END: ex_10_5
}
