//! Lesson 10's blocks, put into the order that a bench wants.

use crate::random;
use continuous_batching::memory::{Admission, Memory};
use continuous_batching::{Request, SeqId};
use paged_cache::BlockManager;
use training::TokenId;

/// The order in which blocks are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockOrder {
    /// That of their places: a text's blocks are neighbours, as right after the start.
    InARow,
    /// None: as after a long time of requests that come and go.
    Shuffled,
}

/// Free blocks without a prefix cache.
pub fn free_blocks(num_blocks: usize, block_size: usize, max_seq_len: usize, order: BlockOrder) -> BlockManager {
    let mut blocks = BlockManager::new(num_blocks, block_size, max_seq_len).without_prefix_cache();
    if order == BlockOrder::Shuffled {
        shuffle(&mut blocks);
    }
    blocks
}

/// Gives each block to a request of one token, and frees them in a random order, which is then the order of the free
/// list.
fn shuffle(blocks: &mut impl Memory) {
    let mut num_blocks = 0;
    let request = |id: usize| Request::new(SeqId(id as u64), &[TokenId(0)], 0, 1);
    while blocks.admit(&mut request(num_blocks)) == Admission::Admitted {
        num_blocks += 1;
    }
    let keys = random(num_blocks, 5);
    let mut ids: Vec<usize> = (0..num_blocks).collect();
    ids.sort_by(|a, b| keys[*a].total_cmp(&keys[*b]));
    for id in ids {
        assert!(blocks.free(SeqId(id as u64)), "each request holds a block");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many blocks of the free list follow their neighbour.
    fn neighbours(order: BlockOrder) -> usize {
        let blocks = free_blocks(64, 16, 1024, order);
        Memory::<()>::check_invariants(&blocks);
        let free: Vec<_> = blocks.allocator().free_blocks().collect();
        assert_eq!(free.len(), 64, "all are free");
        free.windows(2).filter(|pair| pair[1].0 == pair[0].0 + 1).count()
    }

    #[test]
    fn blocks_come_in_the_order_that_is_asked_for() {
        assert_eq!(neighbours(BlockOrder::InARow), 63);
        assert!(neighbours(BlockOrder::Shuffled) < 10);
    }
}
