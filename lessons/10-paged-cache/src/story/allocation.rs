//! What it costs to take a block: a list against a search.

use lab::chart::Chart;
use lab::ledger;
use lab::race::{Race, RaceResult};
use lab::story::{Claim, Story, Verdict};
use lab::table::Table;
use paged_cache::BlockId;
use paged_cache::allocator::BlockAllocator;
use paged_cache::scan::ScanningAllocator;
use std::time::Duration;

/// Numbers of blocks that are tried; all but a few of them are held.
const SIZES: [usize; 4] = [256, 1024, 4096, 16_384];
/// Blocks that are taken and given back in one call.
const TAKEN: usize = 8;

/// An allocator of which all but the last few blocks are held.
fn list(num_blocks: usize) -> BlockAllocator {
    let mut list = BlockAllocator::new(num_blocks);
    list.allocate(num_blocks - 2 * TAKEN, &mut Vec::with_capacity(num_blocks));
    list
}

/// The same one that searches.
fn scan(num_blocks: usize) -> ScanningAllocator {
    let mut scan = ScanningAllocator::new(num_blocks);
    for _ in 0..num_blocks - 2 * TAKEN {
        scan.allocate();
    }
    scan
}

/// Takes a few blocks and gives them back.
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
        "The first idea looks through all blocks for one that is free. A list that runs through the free blocks themselves has it at hand.",
    );
    let mut table = Table::new(&["blocks", "list: entries touched", "search: marks looked at"]);
    let mut touched = Vec::new();
    for num_blocks in SIZES {
        let (mut list, mut taken) = (list(num_blocks), Vec::with_capacity(TAKEN));
        let (_, counted) = ledger::measure(|| use_list(&mut list, &mut taken));
        let mut scan = scan(num_blocks);
        let before = scan.num_looks();
        use_scan(&mut scan, &mut taken);
        let each = |count: u64| count as f64 / TAKEN as f64;
        let (entries, looks) = (each(counted.get("blocks_touched")), each(scan.num_looks() - before));
        table.row([
            lab::number::grouped(num_blocks as u64),
            format!("{entries:.1}"),
            format!("{looks:.1}"),
        ]);
        touched.push(entries);
    }
    story.table(&table);
    story.values("touched", &touched);
    let mut race = Race::new("allocation", "Take 8 blocks and give them back, x: blocks")
        .unit("ns")
        .rounds(7)
        .at_least(Duration::from_millis(4))
        .baseline("search")
        .check(|a, b| match a == b {
            true => Ok(()),
            false => Err(format!("{a} and {b} blocks free")),
        });
    for num_blocks in SIZES {
        let x = Some(num_blocks as f64);
        let (mut list, mut scan) = (list(num_blocks), scan(num_blocks));
        let (mut ours, mut theirs) = (Vec::with_capacity(TAKEN), Vec::with_capacity(TAKEN));
        race = race
            .entry("search", x, move || use_scan(&mut scan, &mut theirs))
            .entry("free list", x, move || use_list(&mut list, &mut ours));
    }
    let race = story.race(race)?;
    let freed = freed_at_once();
    story.show_as(
        "free after each end",
        freed,
        if freed { "all blocks, at once" } else { "not all" },
    );
    story.predict("freeing");
    claim(story, &race, &touched, freed);
    let points = |name: &str| -> Vec<(f64, f64)> {
        let median = |size: &usize| {
            race.entry_at(name, *size as f64)
                .map(|entry| (*size as f64, entry.median / TAKEN as f64))
        };
        SIZES.iter().filter_map(median).collect()
    };
    let chart = Chart::lines("allocation", "Taking and giving back a block")
        .x_label("blocks in all")
        .y_label("ns a block")
        .log_x()
        .log_y()
        .note("nearly all blocks held; baseline: search")
        .series("search", points("search"))
        .series("free list", points("free list"));
    story.chart(&chart)?;
    Ok(())
}

/// Whether the blocks of each holder are free as soon as it releases them.
fn freed_at_once() -> bool {
    let mut list = BlockAllocator::new(100);
    let mut held: Vec<Vec<BlockId>> = Vec::new();
    for count in 1..=12 {
        let mut taken = Vec::new();
        list.allocate(count, &mut taken);
        held.push(taken);
    }
    held.into_iter().all(|blocks| {
        let (before, count) = (list.num_free(), blocks.len());
        for block in blocks {
            list.free(block);
        }
        list.num_free() == before + count
    })
}

fn claim(story: &mut Story, race: &RaceResult, touched: &[f64], freed: bool) {
    let (first, last) = (SIZES[0] as f64, SIZES[SIZES.len() - 1] as f64);
    let ns = |name: &str, x: f64| {
        race.entry_at(name, x)
            .map_or(f64::NAN, |entry| entry.median / TAKEN as f64)
    };
    let constant = touched.iter().all(|entries| *entries == touched[0]);
    let verdict = match (constant, freed) {
        (true, true) => Verdict::Holds,
        (false, false) => Verdict::NotHere,
        _ => Verdict::Partly,
    };
    let note = format!(
        "{:.1} entries are touched to take a block and give it back, whatever the number of blocks. In time: {:.0} and {:.0} ns at {first} and {last} \
         blocks; the search {:.0} and {:.0} ns. What a request held is free when its release returns.",
        touched[0],
        ns("free list", first),
        ns("free list", last),
        ns("search", first),
        ns("search", last)
    );
    story.claim(Claim {
        id: "P2",
        claimed: "A free list makes allocation O(1) and frees at once when a request ends",
        value: race.ratio_at("free list", "search", last),
        unit: &format!("times faster than a search among {last} blocks"),
        verdict,
        note: &note,
    });
}
