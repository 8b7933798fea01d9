//! The cache, watched: the state after each call of the engine, as a frame.

use super::sentences::{News, name, short};
use super::{BLOCK_SIZE, Frame, State};
use continuous_batching::batch::Batch;
use continuous_batching::cache::KvCache;
use continuous_batching::memory::Admission;
use continuous_batching::request::Request;
use continuous_batching::{Memory, SeqId};
use kv_cache::CacheError;
use layout::pool::Pool;
use paged_cache::hash::BlockHash;
use paged_cache::{BlockId, PagedCache, Pages};
use std::collections::BTreeMap;
use training::LlamaConfig;

/// The cache, and a note of everything that it does.
pub(super) struct Watch {
    pub(super) cache: PagedCache,
    pub(super) words: Vec<String>,
    /// What was written into each block, by place.
    pub(super) written: Vec<[i64; BLOCK_SIZE]>,
    /// Under which name each block was published last.
    pub(super) names: BTreeMap<BlockId, BlockHash>,
    pub(super) states: Vec<State>,
    pub(super) cancelling: bool,
    pub(super) news: News,
    pub(super) frames: Vec<Frame>,
}

impl Watch {
    /// A cache in which nothing is held.
    pub(super) fn new(cache: PagedCache, words: Vec<String>, num_requests: usize) -> Watch {
        let num_blocks = cache.pages().allocator().num_blocks();
        Watch {
            cache,
            words,
            written: vec![[-1; BLOCK_SIZE]; num_blocks],
            names: BTreeMap::new(),
            states: vec![State::Absent; num_requests],
            cancelling: false,
            news: News::default(),
            frames: Vec::new(),
        }
    }

    pub(super) fn pages(&self) -> &BlockManager {
        self.cache.pages()
    }

    pub(super) fn blocks_of(&self, id: SeqId) -> Vec<BlockId> {
        self.pages()
            .table(id)
            .map_or_else(Vec::new, |table| table.blocks.clone())
    }

    /// The name of a published block.
    pub(super) fn name_of(&self, block: BlockId) -> Option<String> {
        let prefix = self.pages().prefix()?;
        prefix.is_published(block).then(|| short(&self.names[&block]))
    }

    /// Keeps the news and the state as a frame.
    pub(super) fn show(&mut self) {
        let news = std::mem::take(&mut self.news);
        let pages = self.pages();
        let blocks = (0..pages.allocator().num_blocks() as u32).map(BlockId).map(|block| {
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
            free: pages.allocator().free_blocks().map(|block| block.0).collect(),
            unpromised: pages.num_unpromised(),
            tables: tables.collect(),
        };
        self.frames.push(frame);
    }

    /// The names of all blocks.
    fn all_names(&self) -> Vec<Option<String>> {
        let blocks = 0..self.pages().allocator().num_blocks() as u32;
        blocks.map(|block| self.name_of(BlockId(block))).collect()
    }
}

impl KvCache for Watch {
    fn begin(&mut self, batch: &Batch) -> Result<(), CacheError> {
        let before: Vec<_> = (batch.sequences.iter()).map(|s| self.blocks_of(s.id)).collect();
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
        self.cache.attend(pool, config, layer, batch, qkv, scores, attended);
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
        let promised = (request.prompt.len() + request.max_new_tokens).div_ceil(BLOCK_SIZE);
        let before = self.pages().stats();
        let admission = self.cache.admit(request);
        if admission == Admission::NoRoom {
            self.tell_wait(request, promised);
            return admission;
        }
        self.states[request.id.0 as usize] = State::Running;
        self.tell_joined(request, promised, before);
        self.show();
        admission
    }

    fn release(&mut self, id: SeqId) -> bool {
        let (held, index) = (self.blocks_of(id), id.0 as usize);
        let released = self.cache.release(id);
        if !released {
            return false;
        }
        let (state, why) = match self.cancelling {
            true => (State::Cancelled, "is cancelled in the middle of its text"),
            false => (State::Done, "is done"),
        };
        self.states[index] = state;
        self.tell_left(name(index), why, &held);
        if self.cancelling {
            self.news.kind("cancel");
        }
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
