//! Records what the book's interactive figure shows: the blocks, who holds them and in which order the free ones lie, after everything that happens.
//!
//! ```text
//! cargo run -q -p lesson10 --example trace_paged_cache > target/paged-cache.json && mv target/paged-cache.json book/figures/paged-cache.json
//! ```
//!
//! Lesson 08's engine runs over this lesson's cache; a watch around the cache writes down the state after each call. The oracle computes: it reads
//! every position back through the tables, and what it reads is compared. The texts are given, so that they can be read.

use anyhow::{Context, ensure};
use continuous_batching::batch::Batch;
use continuous_batching::cache::KvCache;
use continuous_batching::memory::Admission;
use continuous_batching::oracle::expected::Expected;
use continuous_batching::oracle::{self, Oracle};
use continuous_batching::request::Request;
use continuous_batching::{Delivery, Engine, Memory, SeqId};
use generation::generate::greedy;
use kv_cache::CacheError;
use layout::pool::Pool;
use paged_cache::hash::{Before, BlockHash, Salt};
use paged_cache::{BlockId, PagedCache, Pages, Wish};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use training::{LlamaConfig, TokenId};

/// Positions of a block.
const BLOCK_SIZE: usize = 4;
/// Room for the longest text.
const MAX_SEQ_LEN: usize = 24;

/// The file `book/figures/paged-cache.json`.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
pub struct Trace {
    schema: u32,
    figure: String,
    source: String,
    /// The sentences of the first scenario.
    steps: Vec<Step>,
    block_size: usize,
    /// By token id.
    words: Vec<String>,
    scenarios: Vec<Recorded>,
}

/// A sentence that is read aloud.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Step {
    text: String,
}

/// One scenario, played.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Recorded {
    name: String,
    about: String,
    /// Prompt of each request, in words.
    prompts: Vec<String>,
    frames: Vec<Frame>,
}

/// What there is after something has happened.
#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Frame {
    text: String,
    /// What happened, for the marks above the map.
    kinds: Vec<String>,
    /// Blocks that changed.
    marked: Vec<u32>,
    /// Each block: name of its content if it is published, positions that count, and the tokens that were written into it (-1: none yet).
    blocks: Vec<(Option<String>, usize, Vec<i64>)>,
    /// The free list, the next one to be handed out first.
    free: Vec<u32>,
    /// Free blocks that nobody was promised.
    unpromised: usize,
    /// Each request: where it stands, its blocks, positions that it keeps, blocks that it was promised.
    tables: Vec<(State, Vec<u32>, usize, usize)>,
}

/// Where a request stands.
#[derive(Serialize, Deserialize, PartialEq, Debug, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum State {
    Absent,
    Waiting,
    Running,
    Done,
    Cancelled,
}

/// A request of a scenario.
struct Asks {
    arrives: u64,
    prompt: &'static str,
    answer: &'static str,
    /// Takes over the prompt of request 0.
    sibling: bool,
    /// Cancelled before this step.
    cancelled: &'static [u64],
}

/// Requests that come one after the other.
struct Scenario {
    name: &'static str,
    about: &'static str,
    num_blocks: usize,
    prefix_cache: bool,
    asks: Vec<Asks>,
}

fn asks(arrives: u64, prompt: &'static str, answer: &'static str) -> Asks {
    Asks {
        arrives,
        prompt,
        answer,
        sibling: false,
        cancelled: &[],
    }
}

fn scenarios() -> Vec<Scenario> {
    let sibling = |answer| Asks {
        sibling: true,
        ..asks(0, "Give the fox a name :", answer)
    };
    vec![
        Scenario {
            name: "growth",
            about: "Three texts that share nothing; the prefix cache is off.",
            num_blocks: 8,
            prefix_cache: false,
            asks: vec![
                asks(0, "Once upon a time there", "was a fox who sang"),
                asks(0, "The owl", "was very old"),
                asks(4, "In the deep sea lived a", "blue whale"),
            ],
        },
        Scenario {
            name: "shared prefix",
            about: "Four texts that begin alike, and one in which the same words come in another order.",
            num_blocks: 8,
            prefix_cache: true,
            asks: vec![
                asks(
                    0,
                    "You are a kind bear who tells stories about a fox",
                    "Once a fox sang",
                ),
                asks(
                    1,
                    "You are a kind bear who tells stories of the sea",
                    "The sea",
                ),
                asks(
                    5,
                    "You are a kind owl who tells stories about a fox",
                    "A fox",
                ),
                asks(7, "You are a kind bear who tells stories", "Once upon"),
                asks(9, "bear who tells stories You are a kind", "No"),
            ],
        },
        Scenario {
            name: "three answers to one prompt",
            about: "B and C ask what A asks, and take over its blocks.",
            num_blocks: 8,
            prefix_cache: true,
            asks: vec![
                asks(0, "Give the fox a name :", "Rusty the brave fox"),
                sibling("Ember"),
                sibling("Luna of the deep sea"),
            ],
        },
        Scenario {
            name: "eviction",
            about: "Few blocks: whoever needs one takes the one that has been free for the longest time.",
            num_blocks: 6,
            prefix_cache: true,
            asks: vec![
                asks(0, "The cat sat on the old mat and", "sang"),
                asks(
                    1,
                    "In the deep blue sea lived a very old whale who",
                    "sang a lot",
                ),
                asks(4, "A fox", "sang"),
                asks(5, "The cat sat on the old mat and", "slept"),
            ],
        },
        Scenario {
            name: "cancelled",
            about: "B leaves in the middle of its text, D before it has begun.",
            num_blocks: 6,
            prefix_cache: true,
            asks: vec![
                asks(0, "You are a kind bear", "who tells stories about a fox"),
                Asks {
                    cancelled: &[4, 5],
                    ..asks(1, "You are a kind owl who sang", "of the deep blue sea")
                },
                asks(2, "The cat sat on the mat", "and slept"),
                Asks {
                    cancelled: &[3],
                    ..asks(2, "A fox sang", "of the sea")
                },
            ],
        },
    ]
}

/// Records the trace anew.
///
/// # Errors
/// A scenario that the engine refuses, or that leaves something held.
pub fn record() -> anyhow::Result<Trace> {
    let mut words = Words::default();
    let played = scenarios()
        .into_iter()
        .map(|scenario| play(&scenario, &mut words).with_context(|| scenario.name));
    let scenarios = played.collect::<anyhow::Result<Vec<Recorded>>>()?;
    ensure!(words.0.len() < oracle::VOCAB_SIZE, "too many words");
    let sentences = scenarios[0].frames.iter().map(|frame| Step {
        text: frame.text.clone(),
    });
    Ok(Trace {
        schema: 1,
        figure: "paged-cache".into(),
        source: "cargo run -q -p lesson10 --example trace_paged_cache".into(),
        steps: sentences.collect(),
        block_size: BLOCK_SIZE,
        words: words.0,
        scenarios,
    })
}

/// Each word is a token.
#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn tokens(&mut self, text: &str) -> Vec<TokenId> {
        let of_word = |word: &str| {
            let known = self.0.iter().position(|other| other == word);
            let id = known.unwrap_or_else(|| {
                self.0.push(word.into());
                self.0.len() - 1
            });
            TokenId(id as u32)
        };
        text.split(' ').map(of_word).collect()
    }
}

/// Plays one scenario. Request `i` has the number `i`.
fn play(scenario: &Scenario, words: &mut Words) -> anyhow::Result<Recorded> {
    let prompts: Vec<Vec<TokenId>> = (scenario.asks.iter())
        .map(|asks| words.tokens(asks.prompt))
        .collect();
    let answers: Vec<Vec<TokenId>> = (scenario.asks.iter())
        .map(|asks| words.tokens(asks.answer))
        .collect();
    let num_answers: Vec<usize> = answers.iter().map(Vec::len).collect();
    let mut engine = engine(scenario, words.0.clone(), answers);
    let mut step = 0;
    let mut arrived = 0;
    while arrived < prompts.len() || !engine.is_idle() {
        while arrived < prompts.len() && scenario.asks[arrived].arrives <= step {
            let id = engine.submit(&prompts[arrived], num_answers[arrived])?;
            ensure!(id.0 as usize == arrived, "{id} is not {arrived}");
            if scenario.asks[arrived].sibling {
                let parent = Some(SeqId(0));
                let wish = Wish {
                    parent,
                    ..Wish::default()
                };
                engine.memory.cache.pages_mut().wish(id, wish);
            }
            engine.memory.states[arrived] = State::Waiting;
            arrived += 1;
        }
        for (i, asks) in scenario.asks.iter().enumerate() {
            if asks.cancelled.contains(&step) {
                cancel(&mut engine, i);
            }
        }
        engine.step(&mut |_| Delivery::Taken)?;
        engine.check_invariants();
        step += 1;
    }
    let watch = engine.memory;
    ensure!(watch.num_holders() == 0, "somebody kept a block");
    Ok(Recorded {
        name: scenario.name.into(),
        about: scenario.about.into(),
        prompts: (scenario.asks.iter())
            .map(|asks| asks.prompt.into())
            .collect(),
        frames: watch.frames,
    })
}

/// An engine over the oracle and blocks that are watched. It writes the given answers, and compares at each token what the oracle has read.
fn engine(
    scenario: &Scenario,
    words: Vec<String>,
    answers: Vec<Vec<TokenId>>,
) -> Engine<Oracle, Watch> {
    let oracle = Oracle::new(MAX_SEQ_LEN);
    let mut pages = Pages::new(scenario.num_blocks, BLOCK_SIZE, MAX_SEQ_LEN);
    if !scenario.prefix_cache {
        pages = pages.without_prefix_cache();
    }
    let mut watch = Watch {
        cache: PagedCache::new(oracle.config(), pages),
        words,
        written: vec![[-1; BLOCK_SIZE]; scenario.num_blocks],
        names: BTreeMap::new(),
        states: vec![State::Absent; scenario.asks.len()],
        cancelling: false,
        news: News::default(),
        frames: Vec::new(),
    };
    watch.news.say(format!(
        "{} blocks, with room for {BLOCK_SIZE} tokens each. All are on the free list, and block 0 is the next one to be handed out.",
        scenario.num_blocks
    ));
    watch.show();
    Engine::new(oracle, watch, oracle::limits(MAX_SEQ_LEN, 4)).with_choice(Box::new(
        move |request: &Request, logits: &mut [f32]| {
            let mut text = Expected::new(MAX_SEQ_LEN);
            let expected = request.tokens().map(|token| text.push(token)).last();
            assert_eq!(
                Some(greedy(logits)?),
                expected,
                "the cache was read wrongly"
            );
            Ok(answers[request.id.0 as usize][request.output.len()])
        },
    ))
}

fn cancel(engine: &mut Engine<Oracle, Watch>, request: usize) {
    let state = engine.memory.states[request];
    let name = name(request);
    engine.memory.cancelling = true;
    engine.cancel(SeqId(request as u64));
    engine.memory.cancelling = false;
    match state {
        State::Running => return,
        State::Waiting => engine.memory.news.say(format!(
            "{name} is cancelled while it waits. It holds nothing, so nothing comes back."
        )),
        _ => engine.memory.news.say(format!(
            "{name} is cancelled once more. It holds nothing any more: nothing happens."
        )),
    }
    engine.memory.states[request] = State::Cancelled;
    engine.memory.news.kind("cancel");
    engine.memory.show();
}

/// What is to be said of the next frame.
#[derive(Default)]
struct News {
    text: Vec<String>,
    kinds: Vec<String>,
    marked: Vec<u32>,
}

impl News {
    fn say(&mut self, sentence: String) {
        self.text.push(sentence);
    }

    fn kind(&mut self, kind: &str) {
        if !self.kinds.iter().any(|known| known == kind) {
            self.kinds.push(kind.into());
        }
    }

    fn mark(&mut self, blocks: &[BlockId]) {
        self.marked.extend(blocks.iter().map(|block| block.0));
        self.marked.sort_unstable();
        self.marked.dedup();
    }
}

/// The cache, and a note of everything that it does.
struct Watch {
    cache: PagedCache,
    words: Vec<String>,
    /// What was written into each block, by place.
    written: Vec<[i64; BLOCK_SIZE]>,
    /// Under which name each block was published last.
    names: BTreeMap<BlockId, BlockHash>,
    states: Vec<State>,
    cancelling: bool,
    news: News,
    frames: Vec<Frame>,
}

impl Watch {
    fn pages(&self) -> &Pages {
        self.cache.pages()
    }

    fn blocks_of(&self, id: SeqId) -> Vec<BlockId> {
        self.pages()
            .table(id)
            .map_or_else(Vec::new, |table| table.blocks.clone())
    }

    /// The name of a published block.
    fn name_of(&self, block: BlockId) -> Option<String> {
        let prefix = self.pages().prefix()?;
        prefix
            .is_published(block)
            .then(|| short(&self.names[&block]))
    }

    /// Keeps the news and the state as a frame.
    fn show(&mut self) {
        let news = std::mem::take(&mut self.news);
        let pages = self.pages();
        let blocks = (0..pages.allocator().num_blocks() as u32)
            .map(BlockId)
            .map(|block| {
                let written = self.written[block.index()].to_vec();
                (self.name_of(block), pages.kept_in(block), written)
            });
        let tables = self.states.iter().enumerate().map(|(i, state)| {
            let table = pages.table(SeqId(i as u64)).cloned().unwrap_or_default();
            let blocks = table.blocks.iter().map(|block| block.0).collect();
            (*state, blocks, table.len, table.promised)
        });
        let frame = Frame {
            text: news.text.join(" "),
            kinds: news.kinds,
            marked: news.marked,
            blocks: blocks.collect(),
            free: pages
                .allocator()
                .free_blocks()
                .map(|block| block.0)
                .collect(),
            unpromised: pages.num_unpromised(),
            tables: tables.collect(),
        };
        self.frames.push(frame);
    }

    /// What a request that joins has found under its names, and what ended the match.
    fn tell_lookup(&mut self, request: &Request, shared: usize) {
        let Some(prefix) = self.pages().prefix() else {
            return;
        };
        let tokens: Vec<TokenId> = request.tokens().collect();
        let mut before = Before::Nothing(Salt::default());
        let mut said = Vec::new();
        let mut found = 0;
        for tokens in tokens.chunks_exact(BLOCK_SIZE) {
            let hash = prefix.hash(&before, tokens);
            let Some((block, name)) = prefix.find(&hash, &before, tokens) else {
                said.push(format!("{} is not there", short(&hash)));
                break;
            };
            said.push(format!("{} is block {}", short(&hash), block.0));
            found += 1;
            before = Before::Block(name);
        }
        if said.is_empty() {
            return;
        }
        let ends = if found < said.len() && found > 0 {
            ", and that ends the match"
        } else {
            ""
        };
        self.news
            .say(format!("Looked up by name: {}{ends}.", said.join("; ")));
        if shared > 0 {
            let held = listed(&self.blocks_of(request.id));
            let (verb, tokens) = (if shared == 1 { "is" } else { "are" }, shared * BLOCK_SIZE);
            let held = held.replacen('b', "B", 1);
            self.news.say(format!(
                "{held} {verb} pinned, and {tokens} tokens need no computing."
            ));
        }
        if found > shared {
            self.news.say("The last block of the match is not used: the last token has to be computed, or there are no logits.".into());
        }
    }

    /// What a batch's sequences took, copied and pushed out; `before` are their blocks, and the names of all.
    fn tell_taken(&mut self, batch: &Batch, before: &[Vec<BlockId>], names: &[Option<String>]) {
        for (sequence, before) in batch.sequences.iter().zip(before) {
            let who = name(sequence.id.0 as usize);
            let after = self.blocks_of(sequence.id);
            for (from, to) in before.iter().zip(&after).filter(|(from, to)| from != to) {
                self.written[to.index()] = self.written[from.index()];
                self.news.say(format!(
                    "{who} is about to write into block {}, which others read too. It copies it to block {} first.",
                    from.0, to.0
                ));
                self.news.kind("copy on write");
                self.news.mark(&[*from, *to]);
            }
            let taken = &after[before.len()..];
            if !taken.is_empty() {
                let is_first = !self.news.kinds.iter().any(|kind| kind == "allocate");
                let front = if is_first {
                    " from the front of the free list"
                } else {
                    ""
                };
                self.news
                    .say(format!("{who} takes {}{front}.", listed(taken)));
                self.news.kind("allocate");
                self.news.mark(taken);
            }
            for block in after.iter().filter(|block| !before.contains(block)) {
                if let Some(lost) = &names[block.index()] {
                    self.news.say(format!(
                        "Block {} was still known as {lost}: that name is forgotten.",
                        block.0
                    ));
                    self.news.kind("evict");
                }
            }
        }
    }

    /// What was written, and which blocks became full by it.
    fn tell_written(&mut self, batch: &Batch, names: &[Option<String>]) {
        let mut said = Vec::new();
        for sequence in &batch.sequences {
            let who = name(sequence.id.0 as usize);
            let table = self.pages().table(sequence.id).expect("it runs").clone();
            let mut touched = Vec::new();
            for row in sequence.rows() {
                let (position, token) = (batch.positions[row], batch.tokens[row]);
                let block = table.blocks[position / BLOCK_SIZE];
                self.written[block.index()][position % BLOCK_SIZE] = i64::from(token.0);
                touched.push(block);
            }
            touched.dedup();
            self.news.mark(&touched);
            let position = batch.positions[sequence.first_row];
            said.push(match sequence.num_rows {
                1 => format!(
                    "{who} writes “{}” at position {position}: block {}, place {}",
                    self.words[batch.tokens[sequence.first_row].index()],
                    touched[0].0,
                    position % BLOCK_SIZE
                ),
                rows => format!("{who} writes {rows} tokens into {}", listed(&touched)),
            });
            for (block, name) in table.blocks.iter().zip(&table.names) {
                self.names.insert(*block, name.hash);
            }
        }
        self.news.text.insert(0, said.join("; ") + ".");
        self.news.kind("write");
        self.tell_published(batch, names);
    }

    fn tell_published(&mut self, batch: &Batch, names: &[Option<String>]) {
        for sequence in &batch.sequences {
            let table = self.pages().table(sequence.id).expect("it runs").clone();
            let first = batch.positions[sequence.first_row] / BLOCK_SIZE;
            for (block, name) in table.blocks.iter().zip(&table.names).skip(first) {
                let name = short(&name.hash);
                match self.name_of(*block) {
                    Some(name) if names[block.index()].is_none() => {
                        let sentence = format!("Block {} is full: published as {name}.", block.0);
                        self.news.say(sentence);
                        self.news.kind("publish");
                    }
                    Some(_) => {}
                    None => self.news.say(format!(
                        "Block {} is full too, but {name} is published already, and that block keeps the name.",
                        block.0
                    )),
                }
            }
        }
    }

    fn all_names(&self) -> Vec<Option<String>> {
        let blocks = 0..self.pages().allocator().num_blocks() as u32;
        blocks.map(|block| self.name_of(BlockId(block))).collect()
    }
}

impl KvCache for Watch {
    fn begin(&mut self, batch: &Batch) -> Result<(), CacheError> {
        let before: Vec<_> = (batch.sequences.iter())
            .map(|s| self.blocks_of(s.id))
            .collect();
        let names = self.all_names();
        self.cache.begin(batch)?;
        self.tell_taken(batch, &before, &names);
        if !self.news.text.is_empty() {
            self.show();
        }
        Ok(())
    }

    fn append(&mut self, layer: usize, batch: &Batch, qkv: &[f32]) {
        self.cache.append(layer, batch, qkv);
    }

    fn attend(
        &self,
        pool: &Pool,
        config: &LlamaConfig,
        layer: usize,
        batch: &Batch,
        qkv: &[f32],
        scores: &mut Vec<f32>,
        attended: &mut [f32],
    ) {
        self.cache
            .attend(pool, config, layer, batch, qkv, scores, attended);
    }

    fn commit(&mut self, batch: &Batch) {
        let names = self.all_names();
        self.cache.commit(batch);
        self.tell_written(batch, &names);
        self.show();
    }
}

impl Memory for Watch {
    fn max_seq_len(&self) -> usize {
        self.cache.max_seq_len()
    }

    fn admit(&mut self, request: &mut Request) -> Admission {
        let (index, who) = (request.id.0 as usize, name(request.id.0 as usize));
        let promised = (request.prompt.len() + request.max_new_tokens).div_ceil(BLOCK_SIZE);
        let unpromised = self.pages().num_unpromised();
        let hits = self.pages().stats().prefix_hits;
        let forked = self.pages().stats().forked;
        let admission = self.cache.admit(request);
        if admission == Admission::NoRoom {
            let sentence = if unpromised < promised {
                format!(
                    "{who} waits: it may need {}, and {unpromised} are neither held nor promised.",
                    blocks(promised)
                )
            } else {
                format!("{who} waits until A's prompt is computed, to take it over.")
            };
            // It is asked at each step; said once.
            if !self.frames.iter().any(|frame| frame.text == sentence) {
                self.news.say(sentence);
                self.news.kind("wait");
                self.show();
            }
            return admission;
        }
        self.states[index] = State::Running;
        let held = self.blocks_of(request.id);
        self.news.mark(&held);
        let (prompt, new) = (request.prompt.len(), request.max_new_tokens);
        if self.pages().stats().forked > forked {
            self.news.kind("share");
            self.news.say(format!(
                "{who} joins and takes over {} of A. Its last row is computed again, for the logits, and one copy is promised to it.",
                listed(&held)
            ));
        } else {
            self.news.kind("join");
            self.news.say(format!(
                "{who} joins. Its {prompt} tokens of prompt and up to {new} more fit into {}, and so many are promised.",
                blocks(promised)
            ));
            if self.pages().stats().prefix_hits > hits {
                self.news.kind("hit");
                self.news.kind("share");
            }
            self.tell_lookup(request, held.len());
        }
        self.show();
        admission
    }

    fn release(&mut self, id: SeqId) -> bool {
        let held = self.blocks_of(id);
        let released = self.cache.release(id);
        if !released {
            return false;
        }
        let index = id.0 as usize;
        let (state, why) = match self.cancelling {
            true => (State::Cancelled, "is cancelled in the middle of its text"),
            false => (State::Done, "is done"),
        };
        self.states[index] = state;
        let count = |block: &BlockId| self.pages().allocator().ref_count(*block);
        let (freed, kept): (Vec<BlockId>, Vec<BlockId>) =
            held.iter().rev().partition(|block| count(block) == 0);
        let mut sentence = format!("{} {why} and gives back {}.", name(index), listed(&held));
        if !freed.is_empty() {
            let order = if freed.len() > 1 {
                ", the last one first"
            } else {
                ""
            };
            sentence += &format!(
                " To the end of the free list {}: {}{order}.",
                goes(&freed),
                numbers(&freed)
            );
        }
        if !kept.is_empty() {
            sentence += &format!(" Others still hold {}.", listed(&kept));
        }
        self.news.say(sentence);
        self.news.kind("free");
        if self.cancelling {
            self.news.kind("cancel");
        }
        self.news.mark(&held);
        self.show();
        true
    }

    fn holds(&self, id: SeqId) -> bool {
        self.cache.holds(id)
    }

    fn num_holders(&self) -> usize {
        self.cache.num_holders()
    }

    fn check_invariants(&self) {
        self.cache.check_invariants();
    }
}

fn name(request: usize) -> char {
    char::from(b'A' + request as u8)
}

/// The first four digits of a name.
fn short(hash: &BlockHash) -> String {
    format!("{:02x}{:02x}", hash.0[0], hash.0[1])
}

fn blocks(count: usize) -> String {
    format!("{count} block{}", if count == 1 { "" } else { "s" })
}

fn goes(blocks: &[BlockId]) -> &'static str {
    if blocks.len() == 1 { "goes" } else { "go" }
}

/// "2, 1 and 0".
fn numbers(blocks: &[BlockId]) -> String {
    let mut numbers: Vec<String> = blocks.iter().map(|block| block.0.to_string()).collect();
    let last = numbers.pop().unwrap_or_default();
    match numbers.is_empty() {
        true => last,
        false => format!("{} and {last}", numbers.join(", ")),
    }
}

/// "blocks 0 and 1".
fn listed(blocks: &[BlockId]) -> String {
    format!(
        "block{} {}",
        if blocks.len() == 1 { "" } else { "s" },
        numbers(blocks)
    )
}

#[allow(dead_code)] // the test that compares the file takes this module without its main
fn main() -> anyhow::Result<()> {
    // One frame a line: a change of one shows as a change of one.
    let text = serde_json::to_string(&record()?)?;
    let text = text
        .replace("{\"text\"", "\n{\"text\"")
        .replace("{\"name\"", "\n{\"name\"");
    lab::outln!("{text}");
    Ok(())
}
