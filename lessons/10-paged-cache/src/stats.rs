//! What the cache did, counted.

use serde::Serialize;

/// Counts since the cache was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PageStats {
    /// Tokens of admitted requests that were looked for.
    pub prefix_queries: u64,
    /// Of these, tokens whose keys and values were there already.
    pub prefix_hits: u64,
    /// Tokens of prompts that were taken over from a request with the same prompt.
    pub forked: u64,
    /// Blocks copied before a write.
    pub copies: u64,
    /// Published blocks that lost their content to somebody else's.
    pub evictions: u64,
}

impl PageStats {
    pub(crate) fn admitted(&mut self, num_tokens: usize, num_hits: usize, looked: bool) {
        if looked {
            self.prefix_queries += num_tokens as u64;
            self.prefix_hits += num_hits as u64;
        }
    }

    pub(crate) fn forked(&mut self, num_tokens: usize) {
        self.forked += num_tokens as u64;
    }

    /// Share of the tokens looked for that were found.
    pub fn hit_rate(&self) -> f64 {
        match self.prefix_queries {
            0 => 0.0,
            queries => self.prefix_hits as f64 / queries as f64,
        }
    }
}
