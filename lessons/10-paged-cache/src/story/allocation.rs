//! What it costs to take a block: a list against a search (P2).

use lab::chart::Chart;
use lab::ledger;
use lab::number::grouped;
use lab::race::Race;
use lab::story::{Claim, Story, Verdict};
use paged_cache::BlockId;
use paged_cache::allocator::BlockAllocator;
use paged_cache::scan::ScanningAllocator;
use std::time::Duration;

/// Numbers of blocks that are tried; all but a few of them are held.
const SIZES: [usize; 4] = [256, 1024, 4096, 16_384];
/// Number of blocks that are taken and freed in one call.
const TAKEN: usize = 8;
const LIST: &str = "free list";
const SEARCH: &str = "search";

/// An allocator of which all but the last few blocks are held.
fn list(num_blocks: usize) -> BlockAllocator {
    let mut list = BlockAllocator::new(num_blocks);
    list.allocate(num_blocks - 2 * TAKEN, &mut Vec::with_capacity(num_blocks));
    list
}

/// The same one that searches.
fn scan(num_blocks: usize) -> ScanningAllocator {
    let mut scan = ScanningAllocator::new(num_blocks);
    (0..num_blocks - 2 * TAKEN).for_each(|_| {
        scan.allocate();
    });
    scan
}

/// Takes a few blocks and frees them. Returns how many are free afterwards.
fn use_list(list: &mut BlockAllocator, taken: &mut Vec<BlockId>) -> usize {
    list.allocate(TAKEN, taken);
    taken.drain(..).for_each(|block| {
        list.free(block);
    });
    list.num_free()
}

fn use_scan(scan: &mut ScanningAllocator, taken: &mut Vec<BlockId>) -> usize {
    taken.extend((0..TAKEN).filter_map(|_| scan.allocate()));
    let count = taken.len();
    taken.drain(..).for_each(|block| scan.free(block));
    count + TAKEN
}

/// P2: counted, then raced.
pub fn race(story: &mut Story) -> anyhow::Result<()> {
    story.step(
        "Take a block, give it back",
        "The first idea looks through all blocks for a free one. A list through the free blocks has one at hand.",
    );
    // For each number of blocks: entries that the list touches for a block, marks that the search looks at.
    let counts = SIZES.map(|num_blocks| {
        let (mut list, mut scan, mut taken) = (list(num_blocks), scan(num_blocks), Vec::with_capacity(TAKEN));
        let (_, counted) = ledger::measure(|| use_list(&mut list, &mut taken));
        let before = scan.num_looks();
        use_scan(&mut scan, &mut taken);
        [counted.get("blocks_touched"), scan.num_looks() - before].map(|count| count as f64 / TAKEN as f64)
    });
    let row = |(size, [entries, looks]): (&usize, [f64; 2])| {
        [grouped(*size as u64), format!("{entries:.1}"), format!("{looks:.1}")]
    };
    let head = ["blocks", "list: entries touched", "search: marks looked at"];
    story.rows(&head, SIZES.iter().zip(counts).map(row));
    let touched = counts.map(|[entries, _]| entries);
    story.values("touched", touched);
    let mut race = Race::new("allocation", "Take 8 blocks and free them, x: blocks")
        .unit("ns")
        .rounds(7)
        .at_least(Duration::from_millis(4))
        .baseline(SEARCH)
        .check(|a, b| match a == b {
            true => Ok(()),
            false => Err(format!("{a} and {b} blocks free")),
        });
    for num_blocks in SIZES {
        let x = Some(num_blocks as f64);
        let (mut list, mut scan) = (list(num_blocks), scan(num_blocks));
        let (mut ours, mut theirs) = (Vec::with_capacity(TAKEN), Vec::with_capacity(TAKEN));
        race = race
            .entry(SEARCH, x, move || use_scan(&mut scan, &mut theirs))
            .entry(LIST, x, move || use_list(&mut list, &mut ours));
    }
    let race = story.race(race)?;
    story.predict("freeing");
    // Blocks are free as soon as `free` returns: the count after each call says so.
    let (mut full, mut held) = (BlockAllocator::new(64), Vec::new());
    full.allocate(64, &mut held);
    let freed = held.iter().enumerate().all(|(index, block)| {
        full.free(*block);
        full.num_free() == index + 1
    });
    let constant = touched.iter().all(|entries| *entries == touched[0]);
    let ns = |name: &str, size: usize| race.median_at(name, size as f64) / TAKEN as f64;
    let (first, last) = (SIZES[0], SIZES[SIZES.len() - 1]);
    story.claim(Claim {
        id: "P2",
        claimed: "A free list makes allocation O(1) and frees at once when a request ends",
        value: touched[SIZES.len() - 1],
        unit: "entries touched to take a block and free it, with any number of blocks",
        verdict: Verdict::of(constant && freed, constant || freed),
        note: &format!(
            "In time: {:.0} and {:.0} ns at {first} and {last} blocks; the search {:.0} and {:.0} ns. What a request \
             held is free when its release returns.",
            ns(LIST, first),
            ns(LIST, last),
            ns(SEARCH, first),
            ns(SEARCH, last)
        ),
    });
    let chart = Chart::lines("allocation", "The list takes the same time with any number of blocks")
        .x_label("blocks in all")
        .y_label("ns to take 8 blocks and free them")
        .log_x()
        .log_y()
        .note("nearly all blocks held")
        .race(&race, &[SEARCH, LIST]);
    story.chart(&chart)?;
    Ok(())
}
