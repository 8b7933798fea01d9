//! What the block manager did, counted.

use serde::Serialize;

/// Counts since the manager was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BlockStats {
    /// Number of tokens of admitted requests that were looked up.
    pub prefix_queries: u64,
    /// Number of these tokens whose keys and values were in memory already.
    pub prefix_hits: u64,
    /// Number of prompt tokens that were taken over from a parent.
    pub forked: u64,
    /// Number of blocks copied at a fork.
    pub copies: u64,
    /// Number of published blocks that were handed out anew, so that their content was lost.
    pub evictions: u64,
}

impl BlockStats {
    /// Counts an admission: of `num_tokens` tokens, `num_shared` are in memory already. A child looks nothing up.
    pub(crate) fn admitted(&mut self, num_tokens: usize, num_shared: usize, looks_up: bool, is_child: bool) {
        if is_child {
            self.forked += num_shared as u64;
        } else if looks_up {
            self.prefix_queries += num_tokens as u64;
            self.prefix_hits += num_shared as u64;
        }
    }

    /// Share of the looked-up tokens that were found; 0 where none was looked up.
    pub fn hit_rate(&self) -> f64 {
        match self.prefix_queries {
            0 => 0.0,
            queries => self.prefix_hits as f64 / queries as f64,
        }
    }
}
