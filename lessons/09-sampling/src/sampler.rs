//! One token of a request, from its row of logits.
//!
//! ```text
//! bias, penalties                       change the logits
//! likeliest token                       if the temperature is 0 or every token is forbidden; then nothing is drawn
//! temperature                           turns logits into probabilities
//! top-k, top-p, min-p                   keep the likeliest tokens
//! draw                                  takes one of them
//! ```
//!
//! The order is part of the result and is that of Hugging Face's `generate`: top-p sees the probabilities that
//! temperature and top-k leave, min-p those that top-p leaves. Of equal tokens the lower id comes first in every step,
//! so each step has one result.
//!
//! [`crate::full_sort`] does the same in the simplest way: it sorts the whole vocabulary. The sampler gives the same
//! token without that sort:
//! 1. With top-k, the likeliest tokens are selected ([`top_k`]), and the rest of the work is on these.
//! 2. With top-p or min-p alone, the likeliest 64 are selected first, then 1024 if the border is not among the 64 and
//!    may be among the 1024. If it is further on, the row is flat and most tokens stay: then the whole row is put in
//!    order by a radix sort ([`order_all`]).
//! 3. With none of the three, no order is needed: the draw walks through the vocabulary in the order of the ids.

use crate::draw::{index_at, num_kept, sum};
use crate::exercises::{softmax, top_k, uniform};
use crate::history::History;
use crate::logprobs::{LogSoftmax, Logprob, likeliest};
use crate::order::{Cards, order_all};
use crate::params::{CheckedParams, SamplingParams};
use generation::GenerateError;
use generation::generate::greedy;
use training::TokenId;

/// A chosen token, and how it was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// The chosen token.
    pub token: TokenId,
    /// Number of tokens that could have been drawn; 1 if the likeliest was taken without a draw.
    pub num_kept: usize,
    /// The model's own log probability of the token, if the parameters ask for log probabilities.
    pub logprob: Option<f32>,
    /// Whether every token was forbidden. The token is then the model's own likeliest one.
    pub fell_back: bool,
}

/// Scratch memory for choosing tokens, shared by all requests in turn. No choice depends on an earlier one.
#[derive(Debug, Default)]
pub struct Sampler {
    history: History,
    /// Ids of the candidates, the likeliest first. Empty if the whole vocabulary is kept, in the order of the ids.
    kept: Vec<u32>,
    cards: Cards,
    /// `[candidates]`: logits of the candidates, or their probabilities while the border is searched.
    gathered: Vec<f32>,
    /// `[candidates]`, or `[vocab_size]` if all are candidates: their probabilities.
    probabilities: Vec<f32>,
    logprobs: Vec<Logprob>,
    /// `[vocab_size]`: copy of the model's logits, if the parameters ask for log probabilities.
    own_logits: Vec<f32>,
}

/// Numbers of candidates that are selected in turn for top-p and min-p. The first is enough for nearly every row of a
/// trained model.
const SELECTED: [usize; 2] = [64, 1024];

/// If top-k keeps more than the vocabulary divided by this, putting all tokens in order is cheaper than selecting.
const SELECTABLE: usize = 16;

impl Sampler {
    /// A sampler that has not allocated its scratch memory yet.
    pub fn new() -> Sampler {
        Sampler::default()
    }

    /// Chooses the token that follows `prompt` and `output`, and overwrites `logits` `[vocab_size]`.
    ///
    /// Cost: a few passes over the vocabulary, none of which sorts it by comparisons. It allocates if the vocabulary is
    /// larger than any before, and at the first use of penalties or log probabilities.
    ///
    /// # Errors
    /// [`GenerateError::NotANumber`], [`GenerateError::NoLogits`].
    ///
    /// # Panics
    /// If prompt, output or bias contain a token outside of the vocabulary. The engine checks prompts, and
    /// [`SamplingParams::check`] checks biases.
    pub fn sample(
        &mut self,
        params: &CheckedParams,
        prompt: &[TokenId],
        output: &[TokenId],
        logits: &mut [f32],
    ) -> Result<Sampled, GenerateError> {
        self.reserve(logits.len());
        // The token to take if every token is forbidden. This search also finds a NaN.
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

    /// The likeliest tokens of the last choice with the model's own log probabilities, as many as the parameters asked
    /// for.
    pub fn logprobs(&self) -> &[Logprob] {
        &self.logprobs
    }

    /// The tokens that the cuts of the last choice left, with their shares: the likeliest first, or the vocabulary in
    /// the order of the ids if nothing was cut. A token with a share of zero is never drawn.
    pub fn candidates(&self) -> impl Iterator<Item = (TokenId, f64)> {
        let mass = sum(&self.probabilities);
        (self.probabilities.iter().enumerate()).map(move |(index, p)| (self.candidate(index), f64::from(*p) / mass))
    }

    /// The token of the candidate with this index.
    fn candidate(&self, index: usize) -> TokenId {
        TokenId(self.kept.get(index).copied().unwrap_or(index as u32))
    }

    /// Reserves all that a vocabulary of this size may need, because how much a choice needs depends on its logits.
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

    /// Keeps one token, which is not drawn.
    fn keep_only(&mut self, token: TokenId) -> (TokenId, usize) {
        self.kept.clear();
        self.kept.push(token.0);
        self.probabilities.clear();
        self.probabilities.push(1.0);
        (token, 1)
    }

    /// Notes the log probabilities of the untouched logits, if the parameters ask for them.
    fn note_logprobs(&mut self, params: &SamplingParams, logits: &[f32]) -> Option<LogSoftmax> {
        self.logprobs.clear();
        let count = params.logprobs?;
        let softmax = LogSoftmax::of(logits);
        likeliest(logits, softmax, count, &mut self.kept, &mut self.logprobs);
        self.own_logits.clear();
        self.own_logits.extend_from_slice(logits);
        Some(softmax)
    }

    /// Leaves in `kept` and `probabilities` the tokens that may be drawn.
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

    /// Top-k, then top-p and min-p on the tokens that it leaves.
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
    /// Top-p and min-p on the probabilities of the whole vocabulary: looks for the border among a few of the likeliest
    /// tokens, then among more, then among all, in order.
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

    /// Whether the border may be among the `count` likeliest tokens if it is not among those in `gathered`. No further
    /// token is likelier than the last of them, which bounds what more tokens can add to the sum.
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

    /// The candidate at share `point` of the kept mass, and the number of candidates that could have been drawn.
    fn draw(&self, point: f64) -> (TokenId, usize) {
        let token = self.candidate(index_at(&self.probabilities, point));
        let possible = self.probabilities.iter().filter(|p| **p > 0.0).count();
        (token, possible)
    }
}

/// Adds the biases. A bias of -inf forbids a token, even one with a logit of +inf.
pub(crate) fn add_bias(bias: &[(TokenId, f32)], logits: &mut [f32]) {
    for (token, bias) in bias {
        let logit = &mut logits[token.index()];
        *logit = match *bias {
            f32::NEG_INFINITY => f32::NEG_INFINITY,
            bias => *logit + bias,
        };
    }
}
