//! `cargo bench -p ladder -- allocator`: what blocks cost, as numbers and as memory to attend to.
//!
//! First tables of numbers: taking and giving back a block, with the free list and with a search; the tables of a step;
//! finding the beginning of a text. Then, for each model, attention over lesson 10's blocks takes turns with attention
//! over lesson 08's slots, alone and as a whole decode step, over the same keys and values. Blocks are tried as
//! neighbours and in no order, as after a long time of coming and going. Then criterion, for the history.

use continuous_batching::cache::KvCache;
use continuous_batching::memory::{Admission, Memory};
use continuous_batching::{Request, SeqId};
use criterion::{BenchmarkId, Criterion};
use lab::number::grouped;
use lab::race::RaceResult;
use lab::table::Table;
use ladder::blocks::BlockOrder;
use ladder::passes::Ragged;
use ladder::subject::Subject;
use ladder::table::{self, TARGET_MODEL, TRIAL_MODELS};
use paged_cache::BlockManager;
use paged_cache::allocator::BlockAllocator;
use paged_cache::scan::ScanningAllocator;
use std::cell::RefCell;
use std::hint::black_box;
use std::time::Duration;
use training::TokenId;

/// Blocks of the memories that are allocated from; nine of ten are held.
const NUM_BLOCKS: [usize; 3] = [1024, 16_384, 131_072];
/// Positions of a block.
const BLOCK_SIZES: [usize; 4] = [1, 4, 16, 64];
/// The block size of the tables of numbers.
const USUAL: usize = 16;
/// Sequences of a pass, the positions that their last rows see, and the rows of each.
const SHAPES: [(usize, usize, usize); 3] = [(8, 512, 1), (1, 2048, 1), (1, 512, 512)];
/// From this block size on, attention is to be as fast as over slots, up to five percent.
const TARGET_FROM: usize = 16;

fn main() {
    let Some(mut bench) = ladder::turn::take("allocator") else {
        return;
    };
    let models: &[&str] = match bench.is_trial {
        true => &TRIAL_MODELS,
        false => &["random:15m", TARGET_MODEL],
    };
    if !bench.is_list {
        allocation(bench.is_trial);
        tables_of_a_step(bench.is_trial);
        prefixes(bench.is_trial);
    }
    for model in models {
        let subject = Subject::open(model);
        if !bench.is_list {
            attention(&subject, bench.is_trial);
        }
        history(&mut bench.criterion, &subject);
    }
    bench.criterion.final_summary();
}

/// One block, taken and given back, where nine of ten are held.
fn allocation(is_trial: bool) {
    lab::outln!(
        "{}",
        table::head_of("one block, taken and given back, nine of ten held", is_trial)
    );
    let mut table = Table::new(&["blocks", "ns, free list", "ns, search", "times"]);
    for num_blocks in NUM_BLOCKS {
        let held = num_blocks / 10 * 9;
        let mut list = BlockAllocator::new(num_blocks);
        let mut taken = Vec::with_capacity(num_blocks);
        assert!(list.allocate(held, &mut taken));
        taken.clear();
        let mut search = ScanningAllocator::new(num_blocks);
        for _ in 0..held {
            search.allocate();
        }
        let result = table::race_in_us("allocation", is_trial)
            .entry("list", None, || {
                list.allocate(1, black_box(&mut taken));
                list.free(taken.pop().expect("one is free"));
            })
            .entry("search", None, || {
                let block = search.allocate().expect("one is free");
                search.free(black_box(block));
            })
            .run()
            .expect("nothing is checked here; tests compare the two");
        let of = |name: &str| 1e3 * result.entry(name).map_or(f64::NAN, |entry| entry.median);
        let (list, search) = (of("list"), of("search"));
        table.row([
            grouped(num_blocks as u64),
            format!("{list:.1}"),
            format!("{search:.0}"),
            format!("{:.0}", search / list),
        ]);
    }
    lab::outln!("{table}");
}

/// Sequences of random length in blocks, each of which has one row in a step.
struct Growing {
    blocks: BlockManager,
    requests: Vec<Request>,
    longest: usize,
}

impl Growing {
    const SEQUENCES: usize = 256;

    fn new(with_prefix_cache: bool) -> Growing {
        let (longest, blocks) = (1024, 1024 / USUAL);
        let blocks = BlockManager::new(Growing::SEQUENCES * blocks, USUAL, longest);
        let mut growing = Growing {
            blocks: match with_prefix_cache {
                true => blocks,
                false => blocks.without_prefix_cache(),
            },
            requests: Vec::new(),
            longest,
        };
        growing.begin_texts();
        growing
    }

    fn begin_texts(&mut self) {
        self.requests.clear();
        for id in 0..Growing::SEQUENCES {
            let id = SeqId(id as u64);
            Memory::<()>::free(&mut self.blocks, id);
            // Another first token for each: no two texts begin alike.
            let prompt = vec![TokenId(id.0 as u32 + 1000); 8 + id.0 as usize % 16];
            let mut request = Request::new(id, &prompt, self.longest, self.longest);
            assert_eq!(self.blocks.admit(&mut request), Admission::Admitted);
            self.requests.push(request);
        }
    }

    /// One row of each: a block where one is needed, then the row is noted. Begins anew when the longest text is full.
    fn step(&mut self) {
        if self.requests.iter().any(|request| request.num_tokens() >= self.longest) {
            self.begin_texts();
        }
        for request in &mut self.requests {
            let grown = Memory::<()>::grow(&mut self.blocks, request.id, request.num_tokens());
            assert!(grown, "the blocks are reserved");
            request.num_computed = request.num_tokens();
            self.blocks.note_computed(request);
            request.output.push(TokenId(7));
        }
    }
}

fn tables_of_a_step(is_trial: bool) {
    let what = format!(
        "the tables of a step of {} decoding requests, blocks of {USUAL}",
        Growing::SEQUENCES
    );
    lab::outln!("{}", table::head_of(&what, is_trial));
    let (mut with, mut without) = (Growing::new(true), Growing::new(false));
    let result = table::race_in_us("tables", is_trial)
        .entry("without", None, || without.step())
        .entry("with", None, || with.step())
        .run()
        .expect("nothing is checked here; tests check the tables");
    let mut table = Table::new(&["tables", "µs a step", "ns a sequence"]);
    for (name, id) in [("grow", "without"), ("grow and are published", "with")] {
        let us = result.entry(id).map_or(f64::NAN, |entry| entry.median);
        let each = 1e3 * us / Growing::SEQUENCES as f64;
        table.row([name.to_owned(), table::micros(us), format!("{each:.0}")]);
    }
    lab::outln!("{table}");
}

/// Admission of a prompt of which all blocks but the last are there, or none; and giving it back.
fn prefixes(is_trial: bool) {
    lab::outln!(
        "{}",
        table::head_of("a request is made, admitted, and gives back what it holds", is_trial)
    );
    let mut table = Table::new(&[
        "prompt",
        "µs, all but its end is there",
        "nothing is there",
        "no prefix cache",
    ]);
    for prompt_tokens in [128, 1024] {
        let prompt: Vec<TokenId> = (0..prompt_tokens as u32).map(TokenId).collect();
        let other: Vec<TokenId> = prompt.iter().map(|token| TokenId(token.0 + 1)).collect();
        let new_blocks = || BlockManager::new(4 * prompt_tokens / USUAL, USUAL, 2 * prompt_tokens);
        let (mut hit, mut miss) = (new_blocks(), new_blocks());
        for blocks in [&mut hit, &mut miss] {
            publish(blocks, &prompt);
        }
        let mut off = new_blocks().without_prefix_cache();
        let result = table::race_in_us("prefix", is_trial)
            .entry("hit", None, || come_and_go(&mut hit, &prompt))
            .entry("miss", None, || come_and_go(&mut miss, &other))
            .entry("off", None, || come_and_go(&mut off, &prompt))
            .run()
            .expect("nothing is compared");
        assert!(hit.stats().prefix_hits > 0 && miss.stats().prefix_hits == 0);
        let of = |name: &str| result.entry(name).map_or(f64::NAN, |entry| entry.median);
        let times = ["hit", "miss", "off"].map(|name| table::micros(of(name)));
        let cells = std::iter::once(format!("{prompt_tokens} tokens")).chain(times);
        table.row(cells);
    }
    lab::outln!("{table}");
}

/// Computes a text and leaves its blocks behind, published and free.
fn publish(blocks: &mut BlockManager, prompt: &[TokenId]) {
    let mut request = Request::new(SeqId(0), prompt, 0, prompt.len());
    assert_eq!(blocks.admit(&mut request), Admission::Admitted);
    request.num_computed = prompt.len();
    blocks.note_computed(&request);
    Memory::<()>::free(blocks, request.id);
}

/// Returns the number of tokens that were in memory already.
fn come_and_go(blocks: &mut BlockManager, prompt: &[TokenId]) -> usize {
    let mut request = Request::new(SeqId(1), prompt, 8, 2 * prompt.len());
    assert_eq!(blocks.admit(&mut request), Admission::Admitted);
    Memory::<()>::free(blocks, request.id);
    request.num_computed
}

/// Both kinds of memory in turn, for each kind of pass and block size.
fn attention(subject: &Subject, is_trial: bool) {
    lab::outln!("{}", table::head(subject, is_trial));
    let mut table = Table::new(&[
        "attention of",
        "block size",
        "µs, slots",
        "neighbours",
        "no order",
        "more, no order",
        "more, whole step",
        "target",
    ]);
    for shape in SHAPES {
        // Prompts over tiny blocks take seconds and say nothing that decoding does not say.
        let is_worth_it = |block_size: &usize| shape.2 == 1 || *block_size >= TARGET_FROM;
        for block_size in BLOCK_SIZES.into_iter().filter(is_worth_it) {
            table.row(attention_row(subject, shape, block_size, is_trial));
        }
    }
    lab::outln!("{table}");
}

/// Puts a pass of some shape together, and returns its name.
fn put_together<M: Memory, C: KvCache>(
    ragged: &mut Ragged<'_, M, C>,
    (batch_size, context_len, rows): (usize, usize, usize),
) -> String {
    let name = match rows {
        1 => {
            ragged.rows(batch_size, context_len);
            format!("{batch_size} decoding at {context_len}")
        }
        _ => {
            ragged.chunk(context_len - rows, rows);
            format!("a prompt of {rows}")
        }
    };
    ragged.ask();
    name
}

fn attention_row(
    subject: &Subject,
    (batch_size, context_len, rows): (usize, usize, usize),
    block_size: usize,
    is_trial: bool,
) -> [String; 8] {
    let context_len = subject.context(context_len);
    let shape = (batch_size, context_len, rows.min(context_len));
    let of_order = |order| {
        let mut ragged = Ragged::paged(subject, batch_size, context_len, block_size, order);
        put_together(&mut ragged, shape);
        RefCell::new(ragged)
    };
    let (neighbours, shuffled) = (of_order(BlockOrder::InARow), of_order(BlockOrder::Shuffled));
    let mut slots = Ragged::new(subject, batch_size, context_len);
    let name = put_together(&mut slots, shape);
    let slots = RefCell::new(slots);
    let attend = table::race_in_us("attention", is_trial)
        .entry("slots", None, || slots.borrow_mut().attention())
        .entry("neighbours", None, || neighbours.borrow_mut().attention())
        .entry("shuffled", None, || shuffled.borrow_mut().attention())
        .check(same)
        .run()
        .expect("the same numbers, wherever they are");
    // How much more time than over slots.
    let more = |race: &RaceResult| race.ratio("slots", "shuffled") - 1.0;
    let step = (rows == 1).then(|| {
        table::race_in_us("step", is_trial)
            .entry("slots", None, || slots.borrow_mut().pass())
            .entry("shuffled", None, || shuffled.borrow_mut().pass())
            .check(same)
            .run()
            .expect("the same logits, wherever the keys are")
    });
    let of = |name: &str| table::micros(attend.entry(name).map_or(f64::NAN, |entry| entry.median));
    [
        name,
        block_size.to_string(),
        of("slots"),
        of("neighbours"),
        of("shuffled"),
        more_percent(more(&attend)),
        step.map_or("-".to_owned(), |step| more_percent(more(&step))),
        match block_size >= TARGET_FROM && !is_trial {
            true => table::target_below(more(&attend), 0.05, "< +5 %"),
            false => "-".to_owned(),
        },
    ]
}

fn same(a: &f32, b: &f32) -> Result<(), String> {
    (a == b).then_some(()).ok_or(format!("{a} and {b}"))
}

/// `+3.1 %`.
fn more_percent(share: f64) -> String {
    format!("{:+.1} %", 100.0 * share)
}

fn history(criterion: &mut Criterion, subject: &Subject) {
    let mut group = criterion.benchmark_group("allocator");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1));
    let (batch_size, context_len, rows) = SHAPES[0];
    let context_len = subject.context(context_len);
    let (shape, name) = ((batch_size, context_len, rows), &subject.model.name);
    let mut slots = Ragged::new(subject, batch_size, context_len);
    put_together(&mut slots, shape);
    let id = BenchmarkId::new("attention, slots", name);
    group.bench_function(id, |bencher| bencher.iter(|| slots.attention()));
    let order = BlockOrder::Shuffled;
    let mut blocks = Ragged::paged(subject, batch_size, context_len, USUAL, order);
    put_together(&mut blocks, shape);
    let id = BenchmarkId::new(format!("attention, blocks of {USUAL}"), name);
    group.bench_function(id, |bencher| bencher.iter(|| blocks.attention()));
    group.finish();
}
