//! The ways to run a model: lesson 06's pass over one sequence, and lesson 08's over many, in slots or in lesson 10's
//! blocks.

use crate::blocks::{BlockOrder, free_blocks};
use crate::random;
use crate::subject::Subject;
use continuous_batching::cache::KvCache;
use continuous_batching::memory::Admission;
use continuous_batching::{Batch, BatchSequence, Memory, Request, SeqId, SlotCache, Slots};
use generation::State;
use kv_cache::cache::ContiguousCache;
use paged_cache::{BlockManager, PagedCache};
use training::TokenId;

/// Lesson 06: one sequence and its cache.
pub struct Single<'a> {
    subject: &'a Subject,
    cache: ContiguousCache,
    state: State,
    num_cached: usize,
    tokens: Vec<TokenId>,
}

impl<'a> Single<'a> {
    /// With room for `capacity` positions.
    pub fn new(subject: &'a Subject, capacity: usize) -> Single<'a> {
        let config = &subject.model.config;
        Single {
            subject,
            cache: ContiguousCache::new(&config.llama, capacity),
            state: State::new(config, capacity),
            num_cached: 0,
            tokens: Vec::new(),
        }
    }

    /// The next passes compute `rows` tokens after `num_cached` ones, which are computed now.
    pub fn chunk(&mut self, num_cached: usize, rows: usize) {
        (self.num_cached, self.tokens) = (0, self.subject.tokens(num_cached));
        if num_cached > 0 {
            self.pass();
        }
        (self.num_cached, self.tokens) = (num_cached, self.subject.tokens(rows));
    }

    /// Computes what was put together, again and again at the same positions. Returns the largest logit.
    pub fn pass(&mut self) -> f32 {
        let Subject { model, pool, .. } = self.subject;
        let kept = self.cache.truncate(self.num_cached);
        kept.expect("the cache holds more positions than that");
        let logits = kv_cache::forward::forward(
            &model.config,
            &model.weights,
            &mut self.state,
            &mut self.cache,
            pool,
            &self.tokens,
        );
        largest(logits.expect("the cache has room"))
    }
}

/// Lesson 08: many sequences in one ragged pass, over slots or any other memory.
pub struct Ragged<'a, M = Slots, C = SlotCache> {
    subject: &'a Subject,
    memory: M,
    cache: C,
    state: State,
    batch: Batch,
}

impl<'a> Ragged<'a> {
    /// `num_slots` sequences of `capacity` positions in slots, all of them filled.
    pub fn new(subject: &'a Subject, num_slots: usize, capacity: usize) -> Ragged<'a> {
        let cache = SlotCache::new(&subject.model.config.llama, num_slots, capacity);
        let slots = Slots::new(num_slots, capacity);
        Ragged::over(subject, slots, cache, num_slots, capacity, capacity)
    }
}

impl<'a> Ragged<'a, BlockManager, PagedCache> {
    /// The same in blocks.
    pub fn paged(
        subject: &'a Subject,
        num_sequences: usize,
        capacity: usize,
        block_size: usize,
        order: BlockOrder,
    ) -> Self {
        let num_blocks = num_sequences * capacity.div_ceil(block_size);
        let blocks = free_blocks(num_blocks, block_size, capacity, order);
        let cache = PagedCache::new(&subject.model.config.llama, num_blocks, block_size);
        // A block at a time, as an answer takes them: blocks that are taken together are put in order.
        Ragged::over(subject, blocks, cache, num_sequences, capacity, block_size)
    }
}

impl<'a, M: Memory, C: KvCache> Ragged<'a, M, C> {
    /// `num_sequences` sequences of `capacity` positions, all of them filled with random keys and values, `chunk`
    /// positions at a time: their values do not change the work.
    pub fn over(
        subject: &'a Subject,
        memory: M,
        cache: C,
        num_sequences: usize,
        capacity: usize,
        chunk: usize,
    ) -> Ragged<'a, M, C> {
        let config = &subject.model.config;
        let mut ragged = Ragged {
            subject,
            memory,
            cache,
            state: State::new(config, num_sequences),
            batch: Batch::with_capacity(capacity.max(num_sequences)),
        };
        let tokens = subject.tokens(capacity);
        let width = config.llama.q_size() + 2 * config.llama.kv_size();
        for id in (0..num_sequences as u64).map(SeqId) {
            let mut request = Request::new(id, &tokens[..1], capacity - 1, capacity);
            let admission = ragged.memory.admit(&mut request);
            assert_eq!(admission, Admission::Admitted, "there is room for all");
            let qkv = random(capacity * width, id.0);
            for (index, qkv) in qkv.chunks(chunk * width).enumerate() {
                let first = index * chunk;
                let tokens = &tokens[first..first + qkv.len() / width];
                ragged.batch.clear();
                ragged.put(id, first, tokens);
                ragged.memory.complete(&mut ragged.batch);
                ragged.fill(qkv);
            }
        }
        ragged
    }

    /// Writes these rows into every layer.
    fn fill(&mut self, qkv: &[f32]) {
        for layer in 0..self.subject.model.config.llama.num_layers {
            self.cache.append(layer, &self.batch, qkv);
        }
    }

    /// The next passes compute `rows` tokens of the first sequence, after `num_cached` ones, which are computed now.
    pub fn chunk(&mut self, num_cached: usize, rows: usize) {
        self.batch.clear();
        if num_cached > 0 {
            self.put(SeqId(0), 0, &self.subject.tokens(num_cached));
            self.memory.complete(&mut self.batch);
            self.pass();
            self.batch.clear();
        }
        self.put(SeqId(0), num_cached, &self.subject.tokens(rows));
        self.memory.complete(&mut self.batch);
    }

    /// The next passes compute one row of each of the first `batch_size` sequences, and each row sees `context_len`
    /// positions.
    pub fn rows(&mut self, batch_size: usize, context_len: usize) {
        self.batch.clear();
        for (id, token) in self.subject.tokens(batch_size).into_iter().enumerate() {
            self.put(SeqId(id as u64), context_len - 1, &[token]);
        }
        self.memory.complete(&mut self.batch);
    }

    /// Computes what was put together, again and again at the same positions. Returns the largest logit.
    pub fn pass(&mut self) -> f32 {
        largest(self.logits())
    }

    /// The same; returns the logits. Shape: `[batch_size, vocab_size]`.
    pub fn logits(&mut self) -> &mut [f32] {
        let Subject { model, pool, .. } = self.subject;
        let logits = continuous_batching::forward::forward(
            &model.config,
            &model.weights,
            &mut self.state,
            &mut self.cache,
            pool,
            &self.batch,
        );
        logits.expect("the model knows all tokens and positions")
    }

    /// Only the attention of such a pass, in all layers, with random queries. Returns the sum of the last layer's
    /// outputs.
    pub fn attention(&mut self) -> f32 {
        let (llama, rows) = (&self.subject.model.config.llama, self.batch.num_rows());
        let width = llama.q_size() + 2 * llama.kv_size();
        let State {
            qkv, scores, attended, ..
        } = &mut self.state;
        let (qkv, attended) = (&qkv[..rows * width], &mut attended[..rows * llama.q_size()]);
        for layer in 0..llama.num_layers {
            let Subject { pool, .. } = self.subject;
            self.cache
                .attend(pool, llama, layer, &self.batch, qkv, scores, attended);
        }
        attended.iter().sum()
    }

    /// Random queries for [`Ragged::attention`] of what was put together.
    pub fn ask(&mut self) {
        let config = &self.subject.model.config;
        self.state.reserve(config, self.batch.num_rows());
        let qkv = &mut self.state.qkv;
        let numbers = random(qkv.len(), 77);
        qkv.copy_from_slice(&numbers);
    }

    fn put(&mut self, id: SeqId, num_cached: usize, tokens: &[TokenId]) {
        let has_room = self.memory.grow(id, num_cached + tokens.len());
        assert!(has_room, "there is room for all");
        self.batch.sequences.push(BatchSequence {
            id,
            first_row: self.batch.tokens.len(),
            num_rows: tokens.len(),
            wants_logits: true,
        });
        self.batch.tokens.extend(tokens);
        let positions = num_cached..num_cached + tokens.len();
        self.batch.positions.extend(positions);
    }
}

fn largest(logits: &[f32]) -> f32 {
    logits.iter().copied().fold(f32::NEG_INFINITY, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use generation::Model;
    use generation::roofline::MachineLimits;
    use generation::work::Work;
    use layout::pool::Pool;

    fn stories() -> Subject {
        Subject {
            model: Model::open("stories").unwrap_or_else(|error| panic!("{error}")),
            pool: Pool::new(2),
            limits: MachineLimits {
                flops_per_second: 1.0,
                bytes_per_second: 1.0,
            },
        }
    }

    /// The limit is only as true as the work that it is computed from.
    #[test]
    fn the_work_of_a_pass_is_what_the_ledger_counts() {
        let subject = stories();
        let mut ragged = Ragged::new(&subject, 3, 20);
        let check = |what: &str, work: Work, ragged: &mut Ragged<'_>| {
            let counted = lab::ledger::measure(|| ragged.pass()).1;
            assert_eq!(work.multiply_adds(), counted.multiply_adds, "{what}");
        };
        ragged.rows(3, 20);
        let work = subject.work(std::iter::repeat_n((19, 1), 3));
        check("three rows", work, &mut ragged);
        ragged.chunk(7, 5);
        let work = subject.work(std::iter::once((7, 5)));
        check("a chunk", work, &mut ragged);
    }

    /// Blocks hold what slots hold, so that a race between them is about the same numbers.
    #[test]
    fn attention_over_blocks_gives_what_slots_give() {
        let subject = stories();
        let mut slots = Ragged::new(&subject, 3, 20);
        slots.rows(3, 20);
        slots.ask();
        let (attended, logits) = (slots.attention(), slots.pass());
        for order in [BlockOrder::InARow, BlockOrder::Shuffled] {
            for block_size in [1, 4, 16, 64] {
                let mut blocks = Ragged::paged(&subject, 3, 20, block_size, order);
                blocks.rows(3, 20);
                blocks.ask();
                assert_eq!(blocks.attention(), attended, "{block_size}, {order:?}");
                // Also a second time.
                assert_eq!(blocks.attention(), attended, "{block_size}, {order:?}");
                assert_eq!(blocks.pass(), logits, "{block_size}, {order:?}");
            }
        }
    }

    #[test]
    fn both_passes_give_the_same_logits() {
        let subject = stories();
        let (mut single, mut ragged) = (Single::new(&subject, 20), Ragged::new(&subject, 1, 20));
        for (num_cached, rows) in [(0, 20), (13, 4), (19, 1)] {
            single.chunk(num_cached, rows);
            ragged.chunk(num_cached, rows);
            assert_eq!(single.pass(), ragged.pass(), "{rows} rows after {num_cached}");
            // Again and again at the same positions.
            assert_eq!(single.pass(), ragged.pass(), "{rows} rows after {num_cached}, again");
        }
    }
}
