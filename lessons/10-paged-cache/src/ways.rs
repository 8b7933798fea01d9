//! One load held in three ways: lengths only, no model.
//!
//! A step is the same for all: waiting texts join, oldest first, while there is room; each running text gets one more
//! token; finished texts end. A text that can not grow waits, and no other joins meanwhile; if no text can grow, the
//! youngest is preempted and begins anew.

use crate::block_manager::BlockManager;
use crate::regions::Regions;
use continuous_batching::memory::{Admission, Memory};
use continuous_batching::request::{Request, SeqId};
use continuous_batching::slots::Slots;
use serde::Serialize;
use static_batching::workload::{Distribution, Lengths, Pace, arrivals};
use std::collections::VecDeque;
use training::TokenId;

/// A text to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Text {
    /// Number of tokens in its prompt.
    pub prompt_tokens: usize,
    /// Tokens that it gets, at least 1.
    pub new_tokens: usize,
}

/// `count` texts with lengths as in Azure's conversation trace, divided by `shorter` and cut at `most` tokens of prompt
/// and of answer. The logarithm of a length is normal; the medians are 757 and 151 tokens. Source: Patel et al. 2024,
/// arXiv:2311.18677.
pub fn conversation(seed: u64, count: usize, shorter: f64, most: (usize, usize)) -> Vec<Text> {
    let of = |mu: f64, sigma, max| Distribution::LogNormal {
        mu: mu - shorter.ln(),
        sigma,
        max,
    };
    let lengths = Lengths::Independent {
        prompt: of(6.63, 0.985, most.0),
        new: of(5.02, 0.86, most.1),
    };
    let texts = arrivals(seed, count, &lengths, &Pace::AtOnce);
    let text = |arrival: &static_batching::workload::Arrival| Text {
        prompt_tokens: arrival.prompt_tokens,
        new_tokens: arrival.new_tokens,
    };
    texts.iter().map(text).collect()
}

/// A way to hold texts. One position for each token that is in memory.
pub trait Way {
    /// Makes room for a text that begins, or changes nothing and says no.
    fn admit(&mut self, id: SeqId, text: Text) -> bool;
    /// Makes room for `len` positions in all, or says no.
    fn grow(&mut self, id: SeqId, len: usize) -> bool;
    /// Gives back all that a text holds.
    fn free(&mut self, id: SeqId);
    /// Number of positions that are held and so lost to other texts.
    fn num_held(&self) -> usize;
    /// Free positions that the text which waits can not use, although they are enough: they lie apart.
    fn unusable(&self, _waits: Text) -> usize {
        0
    }
}

/// What a step held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sample {
    /// Positions with a token in them.
    pub live: usize,
    /// Number of positions that a text holds.
    pub held: usize,
    /// Free positions that are of no use.
    pub lost: usize,
    /// Texts that run.
    pub running: usize,
}

impl Sample {
    /// Share of the held and lost positions that hold a token.
    pub fn usage(&self) -> f64 {
        match self.held + self.lost {
            0 => 1.0,
            room => self.live as f64 / room as f64,
        }
    }
}

/// A run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Each step.
    pub samples: Vec<Sample>,
    /// Number of times that a text was preempted and began anew.
    pub preempted: usize,
}

impl Run {
    /// Mean use over the first `steps` steps. With the number that [`serve`] returns these are the steps in which a
    /// text waited, so that memory was the limit.
    pub fn mean_usage(&self, steps: usize) -> f64 {
        let samples = &self.samples[..steps.min(self.samples.len())];
        samples.iter().map(Sample::usage).sum::<f64>() / samples.len().max(1) as f64
    }

    /// Most texts that ran at once.
    pub fn most_running(&self) -> usize {
        self.samples.iter().map(|s| s.running).max().unwrap_or(0)
    }

    /// Most positions that were held at once.
    pub fn most_held(&self) -> usize {
        self.samples.iter().map(|s| s.held).max().unwrap_or(0)
    }
}

/// A text that runs.
struct Running {
    index: usize,
    /// Number of positions that hold its tokens.
    len: usize,
    left: usize,
}

/// Serves all texts; all of them wait from the start. Returns the run, and the number of steps after which no text
/// waited any more.
///
/// # Panics
/// If a text can not be admitted, or can not grow to its end, even alone.
pub fn serve(way: &mut dyn Way, texts: &[Text], max_running: usize) -> (Run, usize) {
    let mut waiting: VecDeque<usize> = (0..texts.len()).collect();
    let (mut running, mut run, mut crowded) = (Vec::<Running>::new(), Run::default(), 0);
    let mut all_move = true;
    while !waiting.is_empty() || !running.is_empty() {
        while (all_move || running.is_empty())
            && running.len() < max_running
            && let Some(index) = waiting.front().copied()
            && way.admit(SeqId(index as u64), texts[index])
        {
            waiting.pop_front();
            let Text {
                prompt_tokens,
                new_tokens,
            } = texts[index];
            running.push(Running {
                index,
                len: prompt_tokens,
                left: new_tokens,
            });
        }
        assert!(!running.is_empty(), "{:?} never fits", texts[waiting[0]]);
        let moved = step(way, &mut running);
        all_move = moved == running.len();
        let waits = waiting.front().map(|index| texts[*index]);
        run.samples.push(Sample {
            live: running.iter().map(|text| text.len).sum(),
            held: way.num_held(),
            lost: waits.map_or(0, |text| way.unusable(text)),
            running: running.len(),
        });
        // Number of steps up to the last one after which a text still waited.
        crowded = if waits.is_some() { run.samples.len() } else { crowded };
        running.retain(|text| {
            if text.left == 0 {
                way.free(SeqId(text.index as u64));
            }
            text.left > 0
        });
        // No text could grow: the one that joined last gives its memory back, and will be the first to join again.
        if moved == 0
            && let Some(youngest) = running.pop()
        {
            // Alone it would come to the same point again.
            assert!(
                !running.is_empty(),
                "{:?} can not grow even alone",
                texts[youngest.index]
            );
            way.free(SeqId(youngest.index as u64));
            waiting.push_front(youngest.index);
            run.preempted += 1;
        }
    }
    (run, crowded)
}

/// One more token for each text that can grow. Returns how many could.
fn step(way: &mut dyn Way, running: &mut [Running]) -> usize {
    let mut moved = 0;
    for text in running {
        if way.grow(SeqId(text.index as u64), text.len + 1) {
            text.len += 1;
            text.left -= 1;
            moved += 1;
        }
    }
    moved
}

/// Any of this workbook's memories is a way: it admits, grows and frees.
fn admit(memory: &mut impl Memory, id: SeqId, text: Text) -> bool {
    let prompt = vec![TokenId(0); text.prompt_tokens];
    let mut request = Request::new(id, &prompt, text.new_tokens, usize::MAX >> 1);
    memory.admit(&mut request) == Admission::Admitted
}

/// Lesson 08: room for the longest text that may come is reserved.
impl Way for Slots {
    fn admit(&mut self, id: SeqId, text: Text) -> bool {
        admit(self, id, text)
    }

    fn grow(&mut self, id: SeqId, len: usize) -> bool {
        Memory::<()>::grow(self, id, len)
    }

    fn free(&mut self, id: SeqId) {
        Memory::<()>::free(self, id);
    }

    fn num_held(&self) -> usize {
        Memory::<()>::num_holders(self) * self.capacity()
    }
}

/// One piece of memory that grows and moves.
impl Way for Regions {
    fn admit(&mut self, id: SeqId, text: Text) -> bool {
        Regions::admit(self, id, text.prompt_tokens)
    }

    fn grow(&mut self, id: SeqId, len: usize) -> bool {
        Regions::grow(self, id, len)
    }

    fn free(&mut self, id: SeqId) {
        Regions::free(self, id);
    }

    fn num_held(&self) -> usize {
        Regions::num_held(self)
    }

    fn unusable(&self, waits: Text) -> usize {
        Regions::unusable(self, waits.prompt_tokens)
    }
}

/// This lesson: blocks.
impl Way for BlockManager {
    fn admit(&mut self, id: SeqId, text: Text) -> bool {
        admit(self, id, text)
    }

    fn grow(&mut self, id: SeqId, len: usize) -> bool {
        Memory::<()>::grow(self, id, len)
    }

    fn free(&mut self, id: SeqId) {
        Memory::<()>::free(self, id);
    }

    fn num_held(&self) -> usize {
        BlockManager::num_held(self) * self.block_size()
    }
}
