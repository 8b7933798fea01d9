//! Records what the book's interactive figure shows: the blocks, their holders and the free list, after each thing that
//! happens to them.
//!
//! ```text
//! cargo run -q -p lesson10 --example trace_paged_cache > target/paged-cache.json && mv target/paged-cache.json book/figures/paged-cache.json
//! ```
//!
//! Lesson 08's engine runs over this lesson's block manager; [`Watched`] writes a frame after each call of it. The
//! oracle computes: it reads every position back through the tables, and what it reads is compared. The texts are
//! given, so that they can be read. The figure's script makes the sentences.

use anyhow::{Context, ensure};
use continuous_batching::oracle::expected::Expected;
use continuous_batching::oracle::{self, Oracle};
use continuous_batching::{Admission, Delivery, Engine, FirstCome, Memory, Request, SeqId};
use generation::generate::greedy;
use paged_cache::{BlockId, BlockManager, PagedCache, Sharing};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use training::TokenId;

const BLOCK_SIZE: usize = 4;
const MAX_SEQ_LEN: usize = 24;

/// The file `book/figures/paged-cache.json`.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
pub struct Trace {
    schema: u32,
    figure: String,
    source: String,
    block_size: usize,
    /// By token id.
    words: Vec<String>,
    scenarios: Vec<Scenario>,
}

/// One scenario, played.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Scenario {
    name: String,
    about: String,
    /// Prompt of each request.
    prompts: Vec<String>,
    frames: Vec<Frame>,
}

/// The state after something has happened.
#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Frame {
    /// What happened: `start`, `wait`, `join`, `grow`, `write`, `free` or `cancel`; and to which request.
    event: String,
    request: usize,
    /// Each block: short name of its content if it is published, number of written positions, token at each place (-1:
    /// never written).
    blocks: Vec<(Option<String>, usize, Vec<i64>)>,
    /// The free list; the block that is handed out next comes first.
    free: Vec<u32>,
    /// Number of free blocks that no request has reserved.
    available: usize,
    /// Each request: its state, blocks, written positions, blocks that are reserved for it in all.
    tables: Vec<(String, Vec<u32>, usize, usize)>,
    /// Copies that the next pass makes first.
    copies: Vec<(u32, u32)>,
}

/// The block manager, with a frame after each call.
struct Watched {
    blocks: BlockManager,
    written: Vec<[i64; BLOCK_SIZE]>,
    names: BTreeMap<BlockId, String>,
    states: Vec<&'static str>,
    cancelling: bool,
    frames: Vec<Frame>,
    copies: Vec<(u32, u32)>,
}

impl Watched {
    fn show(&mut self, event: &str, request: usize) {
        let blocks = (0..self.blocks.allocator().num_blocks() as u32)
            .map(BlockId)
            .map(|block| {
                let is_published = self.blocks.prefix().is_some_and(|prefix| prefix.is_published(block));
                let name = is_published.then(|| self.names[&block].clone());
                (name, self.blocks.kept_in(block), self.written[block.index()].to_vec())
            });
        let tables = (0..).map(SeqId).zip(&self.states).map(|(id, state)| {
            let table = self.blocks.table(id).cloned().unwrap_or_default();
            let numbers = table.blocks.iter().map(|block| block.0).collect();
            ((*state).to_owned(), numbers, table.len, table.reserved)
        });
        let frame = Frame {
            event: event.into(),
            request,
            blocks: blocks.collect(),
            free: self.blocks.allocator().free_blocks().map(|block| block.0).collect(),
            available: self.blocks.num_available(),
            tables: tables.collect(),
            copies: self.copies.clone(),
        };
        // A request that waits asks again in every step; it is shown once.
        let is_new = |last: &Frame| event != "wait" || (last.event != event && last.free != frame.free);
        if self.frames.last().is_none_or(is_new) {
            self.frames.push(frame);
        }
    }
}

impl Memory<Sharing> for Watched {
    fn max_seq_len(&self) -> usize {
        MAX_SEQ_LEN
    }

    fn admit(&mut self, request: &mut Request<Sharing>) -> Admission {
        let (index, admission) = (request.id.0 as usize, self.blocks.admit(request));
        let mut copies = Vec::new();
        Memory::<Sharing>::take_copies(&mut self.blocks, &mut copies);
        for (from, to) in &copies {
            self.written[*to as usize] = self.written[*from as usize];
        }
        self.copies.extend(copies);
        if admission == Admission::Admitted {
            self.states[index] = "running";
            self.show("join", index);
        } else {
            self.show("wait", index);
        }
        admission
    }

    fn grow(&mut self, id: SeqId, num_tokens: usize) -> bool {
        let before = self.blocks.num_held();
        let grown = Memory::<Sharing>::grow(&mut self.blocks, id, num_tokens);
        if self.blocks.num_held() > before {
            self.show("grow", id.0 as usize);
        }
        grown
    }

    fn note_computed(&mut self, request: &Request<Sharing>) {
        let first = self.blocks.table(request.id).map_or(0, |table| table.len);
        self.blocks.note_computed(request);
        let table = self.blocks.table(request.id).expect("a computed request holds blocks");
        for (position, token) in request.tokens().enumerate().take(table.len).skip(first) {
            let block = table.blocks[position / BLOCK_SIZE];
            self.written[block.index()][position % BLOCK_SIZE] = i64::from(token.0);
        }
        for (block, name) in table.blocks.iter().zip(&table.names) {
            let short = format!("{:02x}{:02x}", name.hash.0[0], name.hash.0[1]);
            self.names.insert(*block, short);
        }
        self.show("write", request.id.0 as usize);
    }

    fn free(&mut self, id: SeqId) -> bool {
        let index = id.0 as usize;
        let held = Memory::<Sharing>::free(&mut self.blocks, id);
        let event = if self.cancelling { "cancel" } else { "free" };
        if held || self.cancelling {
            self.states[index] = if self.cancelling { "cancelled" } else { "done" };
            self.show(event, index);
        }
        held
    }

    fn holds(&self, id: SeqId) -> bool {
        Memory::<Sharing>::holds(&self.blocks, id)
    }

    fn num_holders(&self) -> usize {
        Memory::<Sharing>::num_holders(&self.blocks)
    }

    fn write_table(&self, id: SeqId, table: &mut Vec<u32>) {
        Memory::<Sharing>::write_table(&self.blocks, id, table);
    }

    fn take_copies(&mut self, copies: &mut Vec<(u32, u32)>) {
        copies.append(&mut self.copies);
    }

    fn check_invariants(&self) {
        Memory::<Sharing>::check_invariants(&self.blocks);
    }
}

/// A request: the step before which it arrives, prompt, answer, whether it is a child of request 0, steps before which
/// it is cancelled.
type Asks = (u64, &'static str, &'static str, bool, &'static [u64]);

/// A scenario: its name, what it is about, number of blocks, whether the prefix cache is on, its requests.
type Plan = (&'static str, &'static str, usize, bool, &'static [Asks]);

const PLANS: &[Plan] = &[
    (
        "growth",
        "Three texts that share nothing; the prefix cache is off.",
        8,
        false,
        &[
            (0, "Once upon a time there", "was a fox who sang", false, &[]),
            (0, "The owl", "was very old", false, &[]),
            (4, "In the deep sea lived a", "blue whale", false, &[]),
        ],
    ),
    (
        "shared prefix",
        "Four texts that begin alike, and one in which the same words come in another order.",
        8,
        true,
        &[
            (
                0,
                "You are a kind bear who tells stories about a fox",
                "Once a fox sang",
                false,
                &[],
            ),
            (
                1,
                "You are a kind bear who tells stories of the sea",
                "The sea",
                false,
                &[],
            ),
            (
                5,
                "You are a kind owl who tells stories about a fox",
                "A fox",
                false,
                &[],
            ),
            (7, "You are a kind bear who tells stories", "Once upon", false, &[]),
            (9, "bear who tells stories You are a kind", "No", false, &[]),
        ],
    ),
    (
        "three answers to one prompt",
        "B and C ask what A asks. They share its full blocks and get a copy of the last one.",
        8,
        true,
        &[
            (0, "Give the fox a name :", "Rusty the brave fox", false, &[]),
            (0, "Give the fox a name :", "Ember", true, &[]),
            (0, "Give the fox a name :", "Luna of the deep sea", true, &[]),
        ],
    ),
    (
        "eviction",
        "Few blocks: the block that is handed out next is the one that has been free for the longest time.",
        6,
        true,
        &[
            (0, "The cat sat on the old mat and", "sang", false, &[]),
            (
                1,
                "In the deep blue sea lived a very old whale who",
                "sang a lot",
                false,
                &[],
            ),
            (4, "A fox", "sang", false, &[]),
            (5, "The cat sat on the old mat and", "slept", false, &[]),
        ],
    ),
    (
        "cancelled",
        "B is cancelled in the middle of its text, D before it has begun.",
        6,
        true,
        &[
            (0, "You are a kind bear", "who tells stories about a fox", false, &[]),
            (1, "You are a kind owl who sang", "of the deep blue sea", false, &[4, 5]),
            (2, "The cat sat on the mat", "and slept", false, &[]),
            (2, "A fox sang", "of the sea", false, &[3]),
        ],
    ),
];

/// The tokens of a text: each new word gets the next id.
fn tokens(words: &mut Vec<String>, text: &str) -> Vec<TokenId> {
    let id_of = |word: &str| {
        let known = words.iter().position(|other| other == word);
        TokenId(known.unwrap_or_else(|| {
            words.push(word.into());
            words.len() - 1
        }) as u32)
    };
    text.split(' ').map(id_of).collect()
}

fn play(&(name, about, num_blocks, prefix_cache, asks): &Plan, words: &mut Vec<String>) -> anyhow::Result<Scenario> {
    let prompts: Vec<Vec<TokenId>> = asks.iter().map(|asks| tokens(words, asks.1)).collect();
    let answers: Vec<Vec<TokenId>> = asks.iter().map(|asks| tokens(words, asks.2)).collect();
    let lengths: Vec<usize> = answers.iter().map(Vec::len).collect();
    let mut blocks = BlockManager::new(num_blocks, BLOCK_SIZE, MAX_SEQ_LEN);
    if !prefix_cache {
        blocks = blocks.without_prefix_cache();
    }
    let mut watched = Watched {
        blocks,
        written: vec![[-1; BLOCK_SIZE]; num_blocks],
        names: BTreeMap::new(),
        states: vec!["absent"; asks.len()],
        cancelling: false,
        frames: Vec::new(),
        copies: Vec::new(),
    };
    watched.show("start", 0);
    let cache = PagedCache::new(&oracle::config(MAX_SEQ_LEN), num_blocks, BLOCK_SIZE);
    let oracle = Oracle::new(MAX_SEQ_LEN, cache);
    let mut engine = Engine::with(oracle, watched, FirstCome, oracle::limits(MAX_SEQ_LEN, 4)).with_choice(Box::new(
        move |request: &Request<Sharing>, logits: &mut [f32]| {
            let mut text = Expected::new(MAX_SEQ_LEN);
            let expected = request.tokens().map(|token| text.push(token)).last();
            assert_eq!(Some(greedy(logits)?), expected, "the cache was read wrongly");
            Ok(answers[request.id.0 as usize][request.output.len()])
        },
    ));
    let (mut step, mut arrived) = (0, 0);
    while arrived < asks.len() || !engine.is_idle() {
        while arrived < asks.len() && asks[arrived].0 <= step {
            let sharing = Sharing {
                parent: asks[arrived].3.then_some(SeqId(0)),
                ..Sharing::default()
            };
            engine.submit_with(&prompts[arrived], lengths[arrived], sharing)?;
            engine.memory.states[arrived] = "waiting";
            arrived += 1;
        }
        for (index, _) in asks.iter().enumerate().filter(|(_, asks)| asks.4.contains(&step)) {
            engine.memory.cancelling = true;
            if !engine.cancel(SeqId(index as u64)) {
                engine.memory.show("cancel", index);
            }
            engine.memory.cancelling = false;
        }
        engine.step(&mut |_| Delivery::Taken)?;
        engine.check_invariants();
        step += 1;
    }
    ensure!(engine.memory.num_holders() == 0, "a block is still held");
    Ok(Scenario {
        name: name.into(),
        about: about.into(),
        prompts: asks.iter().map(|asks| asks.1.into()).collect(),
        frames: engine.memory.frames,
    })
}

/// Records the trace anew.
///
/// # Errors
/// A scenario that the engine refuses, or that leaves a block held.
pub fn record() -> anyhow::Result<Trace> {
    let mut words = Vec::new();
    let played = PLANS.iter().map(|plan| play(plan, &mut words).context(plan.0));
    let scenarios = played.collect::<anyhow::Result<Vec<Scenario>>>()?;
    ensure!(words.len() < oracle::VOCAB_SIZE, "too many words");
    Ok(Trace {
        schema: 1,
        figure: "paged-cache".into(),
        source: "cargo run -q -p lesson10 --example trace_paged_cache".into(),
        block_size: BLOCK_SIZE,
        words,
        scenarios,
    })
}

#[allow(dead_code)] // The test that compares the file takes this module without its main.
fn main() -> anyhow::Result<()> {
    // A frame on a line of its own: a change of one frame is a change of one line.
    let text = serde_json::to_string(&record()?)?;
    let text = text
        .replace("{\"event\"", "\n{\"event\"")
        .replace("{\"name\"", "\n{\"name\"");
    lab::outln!("{text}");
    Ok(())
}
