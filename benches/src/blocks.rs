//! Lesson 10's blocks, put into the order that a bench wants.

use crate::random;
use continuous_batching::memory::Admission;
use continuous_batching::{Batch, BatchSequence, Memory, Request, SeqId};
use paged_cache::Pages;
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
pub fn pages(num_blocks: usize, block_size: usize, max_seq_len: usize, order: BlockOrder) -> Pages {
    let mut pages = Pages::new(num_blocks, block_size, max_seq_len).without_prefix_cache();
    if order == BlockOrder::Shuffled {
        shuffle(&mut pages);
    }
    pages
}

/// Gives each block to a request of one token, and takes them back in no order: so they become free in none.
fn shuffle(pages: &mut Pages) {
    let num_blocks = pages.allocator().num_blocks();
    hold_all(pages, num_blocks);
    let keys = random(num_blocks, 5);
    let mut ids: Vec<usize> = (0..num_blocks).collect();
    ids.sort_by(|a, b| keys[*a].total_cmp(&keys[*b]));
    for id in ids {
        assert!(pages.release(SeqId(id as u64)), "each holds a block");
    }
}

fn hold_all(pages: &mut Pages, num_blocks: usize) {
    let mut batch = Batch::with_capacity(num_blocks);
    for row in 0..num_blocks {
        let id = SeqId(row as u64);
        let mut request = Request::new(id, &[TokenId(0)], 0, 1);
        assert_eq!(pages.admit(&mut request), Admission::Admitted);
        put(&mut batch, id, 0, 1);
    }
    let begun = pages.begin(&batch, &mut Vec::new());
    begun.expect("a block for each");
    pages.commit(&batch);
}

/// Rows of a sequence, behind the others of a batch.
pub fn put(batch: &mut Batch, id: SeqId, first_position: usize, rows: usize) {
    batch.sequences.push(BatchSequence {
        id,
        first_row: batch.tokens.len(),
        num_rows: rows,
        wants_logits: true,
    });
    let positions = first_position..first_position + rows;
    batch.tokens.extend(positions.clone().map(|p| TokenId(p as u32 % 1000)));
    batch.positions.extend(positions);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many blocks of the free list follow their neighbour.
    fn neighbours(order: BlockOrder) -> usize {
        let pages = pages(64, 16, 1024, order);
        pages.check_invariants();
        let free: Vec<_> = pages.allocator().free_blocks().collect();
        assert_eq!(free.len(), 64, "all are free");
        free.windows(2).filter(|pair| pair[1].0 == pair[0].0 + 1).count()
    }

    #[test]
    fn blocks_come_in_the_order_that_is_asked_for() {
        assert_eq!(neighbours(BlockOrder::InARow), 63);
        assert!(neighbours(BlockOrder::Shuffled) < 10);
    }
}
