//! What the oracle answers over a cache without a fault, computed without any cache.

use super::{NUM_KV_HEADS, NUM_LAYERS, mix, token_of, value};
use crate::limits::EngineLimits;
use crate::request::{FinishReason, Request, SeqId, Status};
use training::TokenId;

/// A text as the oracle knows it, in one list for each layer: nothing is shared, recycled or looked up.
pub struct Expected {
    max_seq_len: usize,
    /// What each layer was given for each position.
    hidden: [Vec<u32>; NUM_LAYERS],
}

impl Expected {
    /// An empty text.
    pub fn new(max_seq_len: usize) -> Expected {
        Expected {
            max_seq_len,
            hidden: Default::default(),
        }
    }

    /// Appends a token and returns the one that follows.
    pub fn push(&mut self, token: TokenId) -> TokenId {
        let position = self.hidden[0].len();
        let mut hidden = token.0;
        for (layer, known) in self.hidden.iter_mut().enumerate() {
            // What the layer gets at this position is all that a cache would keep of it.
            known.push(hidden);
            let heads = (0..NUM_KV_HEADS)
                // Heads that ask for a later position get the row's own, as in the oracle.
                .flat_map(|kv_head| (0..self.max_seq_len).map(move |asked| (kv_head, asked.min(position))));
            let read = heads.flat_map(|(kv_head, j)| value(known[j], j, layer, kv_head));
            hidden = mix(hidden, read);
        }
        token_of(hidden)
    }
}

/// The whole answer to a request that runs alone, and why it ends.
///
/// # Panics
/// If the prompt is empty.
pub fn answer(prompt: &[TokenId], max_new_tokens: usize, limits: &EngineLimits) -> (Vec<TokenId>, FinishReason) {
    let max_new_tokens = max_new_tokens.min(limits.max_new_tokens);
    let mut request = Request::new(SeqId(0), prompt, max_new_tokens, limits.max_seq_len);
    if let Some(reason) = request.exhausted(limits.max_seq_len) {
        return (Vec::new(), reason);
    }
    // The prompt gives one token: the one after its last.
    let mut text = Expected::new(limits.max_seq_len);
    let mut next = prompt.iter().map(|token| text.push(*token)).last();
    loop {
        let token = next.expect("a prompt has a token");
        request.accept(token, limits);
        if let Status::Finished(reason) = request.status {
            return (request.output, reason);
        }
        next = Some(text.push(token));
    }
}
