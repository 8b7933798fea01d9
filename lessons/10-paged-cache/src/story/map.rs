//! The block map: a sign for each block.

use continuous_batching::SeqId;
use paged_cache::{BlockId, BlockManager};

/// Blocks that stand together on the screen.
const GROUP: usize = 4;

/// One line: the letter of the holder, the number of holders where there are several, `°` for a free block whose
/// content can still be found, `·` for one whose content can not be found.
pub fn line(blocks: &BlockManager, holders: &[SeqId]) -> String {
    let mut line = String::new();
    for index in 0..blocks.allocator().num_blocks() {
        if index > 0 && index % GROUP == 0 {
            line.push(' ');
        }
        line.push(sign(blocks, holders, BlockId(index as u32)));
    }
    line
}

fn sign(blocks: &BlockManager, holders: &[SeqId], block: BlockId) -> char {
    let holds = |id: &&SeqId| {
        let table = blocks.table(**id);
        table.is_some_and(|table| table.blocks.contains(&block))
    };
    match blocks.allocator().ref_count(block) {
        0 if blocks.prefix().is_some_and(|p| p.is_published(block)) => '°',
        0 => '·',
        1 => holders.iter().find(holds).map_or('?', |id| letter(*id)),
        count => char::from_digit(count, 10).unwrap_or('+'),
    }
}

/// `A` for the first request.
pub fn letter(id: SeqId) -> char {
    char::from(b'A' + (id.0 % 26) as u8)
}
