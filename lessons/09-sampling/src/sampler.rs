//! One token of one request, from its row of logits.
//!
//! ```text
//! bias, penalties                       logits are changed
//! likeliest token, if that is asked for or nothing else is left
//! temperature                           logits become probabilities
//! top-k, top-p, min-p                   the likeliest few are kept
//! draw                                  one number decides
//! ```
//!
//! The order matters and is that of Hugging Face's `generate`: top-p sees the probabilities that temperature and top-k have left, min-p those that
//! top-p has left. Ties are broken by the lower id everywhere, so that each step has one result.
//!
//! [`crate::full_sort`] does the same in the plainest way and sorts the whole vocabulary. This one gives the same token, always, and does not:
//! 1. With top-k the largest few are selected ([`top_k`]); the rest of the work is on these.
//! 2. With top-p or min-p alone, the largest 64 are selected first, and 1024 where the border was not reached and these may reach it. Where they do not, the
//!    row is flat and most of it stays: then all of it is put in order, without comparing any two ([`order_all`]).
//! 3. With none of the three nothing needs an order: the draw walks through the vocabulary as it stands.

use crate::draw::{num_kept, place_of, sum};
use crate::history::History;
use crate::logprobs::{LogSoftmax, Logprob, likeliest};
use crate::order::{Cards, order_all};
use crate::params::{CheckedParams, SamplingParams};
use crate::random::uniform;
use crate::select::top_k;
use crate::softmax::softmax;
use generation::GenerateError;
use generation::generate::greedy;
use training::TokenId;

/// What was chosen, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// The token.
    pub token: TokenId,
    /// Tokens that could have been drawn; 1 where the likeliest was taken.
    pub num_kept: usize,
    /// The model's own log probability of the token, where logprobs were asked for.
    pub logprob: Option<f32>,
    /// Whether every token was forbidden, so that the model's own likeliest token was taken.
    pub fell_back: bool,
}

/// Scratch for choosing tokens, for any number of requests in turn. It remembers nothing from token to token.
#[derive(Debug, Default)]
pub struct Sampler {
    history: History,
    /// Ids of candidates, the likeliest first.
    kept: Vec<u32>,
    cards: Cards,
    /// `[candidates]`: their logits, or their probabilities before the border is known.
    gathered: Vec<f32>,
    /// `[candidates]`, or `[vocab_size]` where all are candidates: their probabilities.
    probabilities: Vec<f32>,
    logprobs: Vec<Logprob>,
    /// `[vocab_size]`: the model's logits as they were, where logprobs were asked for.
    own_logits: Vec<f32>,
}

/// Candidates that are selected where only their mass is bounded: enough for nearly every distribution of a trained model, and for nearly every other.
const SELECTED: [usize; 2] = [64, 1024];

/// Where top-k keeps more than one in so many tokens, it is cheaper to put all in order.
const SELECTABLE: usize = 16;

impl Sampler {
    /// A sampler without scratch yet.
    pub fn new() -> Sampler {
        Sampler::default()
    }

    /// Chooses the token that follows `prompt` and `output`. `logits` `[vocab_size]` is written on.
    ///
    /// Cost: a few passes over the vocabulary, of which none sorts it by comparisons; allocates only for a larger vocabulary than any before, and where
    /// penalties, logprobs or more logprobs are asked for the first time.
    ///
    /// # Errors
    /// [`GenerateError::NotANumber`], [`GenerateError::NoLogits`].
    ///
    /// # Panics
    /// If prompt, output or bias have a token that `logits` has not: engines check prompts, [`SamplingParams::check`] checks biases.
    pub fn sample(
        &mut self,
        params: &CheckedParams,
        prompt: &[TokenId],
        output: &[TokenId],
        logits: &mut [f32],
    ) -> Result<Sampled, GenerateError> {
        self.reserve(logits.len());
        // The model's own choice: what is left when everything is forbidden. It also finds a logit that is no number.
        let own = greedy(logits)?;
        let own_softmax = self.note_logprobs(params, logits);
        // ANCHOR: order
        add_bias(&params.logit_bias, logits);
        if params.penalizes() {
            self.history.penalize(params, prompt, output, logits);
        }
        let likeliest = match params.changes_logits() {
            true => greedy(logits)?,
            false => own,
        };
        let largest = logits[likeliest.index()];
        let fell_back = largest == f32::NEG_INFINITY;
        let (token, num_kept) = if fell_back {
            self.keep_only(own)
        } else if params.temperature == 0.0 || largest == f32::INFINITY {
            self.keep_only(likeliest)
        } else {
            self.keep(params, logits);
            let position = (prompt.len() + output.len()) as u64;
            self.draw(uniform(params.seed, params.answer, position))
        };
        // ANCHOR_END: order
        Ok(Sampled {
            token,
            num_kept,
            logprob: own_softmax.map(|softmax| softmax.logprob(self.own_logits[token.index()])),
            fell_back,
        })
    }

    /// The likeliest tokens of the last choice, with the model's own log probabilities; as many as were asked for.
    pub fn logprobs(&self) -> &[Logprob] {
        &self.logprobs
    }

    /// What the cuts left in the last choice, with its share of the whole: the likeliest first, or the whole vocabulary in the order of the ids where
    /// nothing was cut. A share of zero is never drawn.
    pub fn candidates(&self) -> impl Iterator<Item = (TokenId, f64)> {
        let mass = sum(&self.probabilities);
        let id = |place: usize| self.kept.get(place).copied().unwrap_or(place as u32);
        (self.probabilities.iter().enumerate()).map(move |(place, p)| (TokenId(id(place)), f64::from(*p) / mass))
    }

    /// Room for whatever a vocabulary of this size may need, at once: how much of it a choice needs depends on its logits.
    fn reserve(&mut self, vocab_size: usize) {
        if self.kept.capacity() < vocab_size {
            self.kept.clear();
            self.kept.reserve(vocab_size);
            self.cards.reserve(vocab_size);
            for floats in [&mut self.gathered, &mut self.probabilities] {
                floats.clear();
                floats.reserve(vocab_size);
            }
        }
    }

    /// Nothing is drawn.
    fn keep_only(&mut self, token: TokenId) -> (TokenId, usize) {
        self.kept.clear();
        self.kept.push(token.0);
        self.probabilities.clear();
        self.probabilities.push(1.0);
        (token, 1)
    }

    fn note_logprobs(&mut self, params: &SamplingParams, logits: &[f32]) -> Option<LogSoftmax> {
        self.logprobs.clear();
        let count = params.logprobs?;
        let softmax = LogSoftmax::of(logits);
        likeliest(logits, softmax, count, &mut self.kept, &mut self.logprobs);
        self.own_logits.clear();
        self.own_logits.extend_from_slice(logits);
        Some(softmax)
    }

    /// Leaves in `kept` and `probabilities` what may be drawn. An empty `kept` stands for the whole vocabulary, in the order of the ids.
    fn keep(&mut self, params: &SamplingParams, logits: &[f32]) {
        self.kept.clear();
        if (1..logits.len()).contains(&params.top_k) {
            self.keep_top_k(params, logits);
            return;
        }
        self.probabilities.resize(logits.len(), 0.0);
        softmax(logits, params.temperature, &mut self.probabilities);
        if params.top_p < 1.0 || params.min_p > 0.0 {
            self.keep_nucleus(params, logits);
        }
    }

    /// Top-k, then the others on the few that it leaves.
    fn keep_top_k(&mut self, params: &SamplingParams, logits: &[f32]) {
        if params.top_k < logits.len() / SELECTABLE {
            top_k(logits, params.top_k, &mut self.kept);
        } else {
            order_all(logits, &mut self.kept, &mut self.cards);
            self.kept.truncate(params.top_k);
        }
        self.gathered.clear();
        self.gathered.extend(self.kept.iter().map(|id| logits[*id as usize]));
        self.probabilities.resize(self.kept.len(), 0.0);
        softmax(&self.gathered, params.temperature, &mut self.probabilities);
        let kept = num_kept(&self.probabilities, sum(&self.probabilities), params);
        self.truncate(kept);
    }

    // ANCHOR: nucleus
    /// Top-p and min-p on probabilities of the whole vocabulary: a few of the likeliest, more if the border is not among them, and then all, in order.
    fn keep_nucleus(&mut self, params: &SamplingParams, logits: &[f32]) {
        let mass = sum(&self.probabilities);
        let mut fewer = SELECTED.into_iter().filter(|count| *count < logits.len());
        let mut selected = fewer.next();
        loop {
            match selected {
                Some(count) => top_k(logits, count, &mut self.kept),
                None => order_all(logits, &mut self.kept, &mut self.cards),
            }
            let ids = self.kept.iter();
            self.gathered.clear();
            self.gathered.extend(ids.map(|id| self.probabilities[*id as usize]));
            let kept = num_kept(&self.gathered, mass, params);
            if selected.is_none_or(|count| kept < count) {
                std::mem::swap(&mut self.probabilities, &mut self.gathered);
                self.truncate(kept);
                return;
            }
            selected = fewer.find(|count| self.may_suffice(*count, mass, params));
        }
    }
    // ANCHOR_END: nucleus

    /// Whether so many of the likeliest may reach the border, when those in `gathered` do not: none that follows is likelier than their last.
    fn may_suffice(&self, count: usize, mass: f64, params: &SamplingParams) -> bool {
        let (first, last) = (self.gathered[0], self.gathered[self.gathered.len() - 1]);
        let more = (count - self.gathered.len()) as f64 * f64::from(last);
        let least = params.min_p * first;
        let num_likely = || self.probabilities.iter().filter(|p| **p >= least).count();
        sum(&self.gathered) + more >= f64::from(params.top_p) * mass || params.min_p > 0.0 && num_likely() < count
    }

    fn truncate(&mut self, kept: usize) {
        self.kept.truncate(kept);
        self.probabilities.truncate(kept);
    }

    /// The token at share `point` of the kept mass, and how many could have been drawn.
    fn draw(&self, point: f64) -> (TokenId, usize) {
        let place = place_of(&self.probabilities, point);
        let id = self.kept.get(place).copied().unwrap_or(place as u32);
        let possible = self.probabilities.iter().filter(|p| **p > 0.0).count();
        (TokenId(id), possible)
    }
}

/// Adds the bias of some tokens; -inf forbids a token whatever its logit is.
pub(crate) fn add_bias(bias: &[(TokenId, f32)], logits: &mut [f32]) {
    for (token, bias) in bias {
        let logit = &mut logits[token.index()];
        *logit = match *bias {
            f32::NEG_INFINITY => f32::NEG_INFINITY,
            bias => *logit + bias,
        };
    }
}
