//! Where a number of the cache stands, and where a row of a chunk stands in its text.

use serde::Serialize;

// ANCHOR: kinds
/// Which axis of a layer's keys is the outer one. Values have the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheOrder {
    /// `[positions, num_kv_heads, head_dim]`: the heads of a position are neighbours, as the product writes them.
    PositionMajor,
    /// `[num_kv_heads, positions, head_dim]`: the positions of a head are neighbours, as attention reads them.
    #[default]
    HeadMajor,
}
// ANCHOR_END: kinds

impl CacheOrder {
    /// Both orders.
    pub const ALL: [CacheOrder; 2] = [CacheOrder::PositionMajor, CacheOrder::HeadMajor];

    /// The strides of one layer in this order.
    pub fn strides(self, capacity: usize, num_kv_heads: usize, head_dim: usize) -> Strides {
        let (position, head) = match self {
            CacheOrder::PositionMajor => (num_kv_heads * head_dim, head_dim),
            CacheOrder::HeadMajor => (head_dim, capacity * head_dim),
        };
        Strides { position, head }
    }

    /// The order in words, for tables and charts.
    pub fn name(self) -> &'static str {
        match self {
            CacheOrder::PositionMajor => "[positions, heads, head_dim]",
            CacheOrder::HeadMajor => "[heads, positions, head_dim]",
        }
    }
}

// ANCHOR: strides
/// Steps through one layer of a cache, in numbers. Head `h` of position `p` begins at `p * position + h * head` and
/// takes `head_dim` neighbouring numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strides {
    /// Numbers from one position to the next.
    pub position: usize,
    /// Numbers from one key head to the next.
    pub head: usize,
}
// ANCHOR_END: strides

// ANCHOR: row_place
/// The position of a new row and the number of positions that it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPlace {
    /// Position in the text, counted from 0. The rotary embedding turns by it.
    pub position: usize,
    /// Number of positions that the row sees, itself included: 0 to `context_len - 1`.
    pub context_len: usize,
}
// ANCHOR_END: row_place
