//! The loop over a batch: all rows take each step together, until the longest answer is complete.

use crate::batch::{Pad, PaddedBatch};
use crate::error::BatchError;
use crate::forward::forward;
use crate::state::BatchState;
use generation::generate::greedy;
use generation::{FinishReason, GenerateError, Generation, Limits, Model};
use layout::pool::Pool;
use training::TokenId;

// ANCHOR: run
/// The answers of a batch, and what they cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchRun {
    /// One answer for each prompt, in their order.
    pub generations: Vec<Generation>,
    /// The step with which each answer was complete, counted from 1; 0 for a request of no tokens. All are handed back
    /// after the last step.
    pub done_at: Vec<u64>,
    /// Number of passes: one over the prompts, and one for each further token of the longest answer.
    pub steps: u64,
    /// Number of cells that went through the layers, padding and finished rows included.
    pub rows_computed: u64,
    /// Number of cells with a token of a running row: what single runs would have computed.
    pub rows_useful: u64,
}
// ANCHOR_END: run

/// One sequence of a running batch.
struct Row {
    limits: Limits,
    prompt_tokens: usize,
    answer: Vec<TokenId>,
    finish_reason: Option<FinishReason>,
    done_at: u64,
}

impl Row {
    fn new(limits: Limits, prompt_tokens: usize) -> Row {
        let room = limits.max_seq_len - prompt_tokens;
        let mut row = Row {
            answer: Vec::with_capacity(limits.max_new_tokens.min(room)),
            limits,
            prompt_tokens,
            finish_reason: None,
            done_at: 0,
        };
        row.check_limits();
        row
    }

    fn is_running(&self) -> bool {
        self.finish_reason.is_none()
    }

    /// Number of positions that its cache needs: those of the first pass, which is computed even for a request of no
    /// tokens, and the answer without its last token, which no row reads.
    fn positions(&self, of_first_pass: usize) -> usize {
        let room = self.limits.max_seq_len - self.prompt_tokens;
        let answer = self.limits.max_new_tokens.min(room);
        of_first_pass + answer.saturating_sub(1)
    }

    fn check_limits(&mut self) {
        if self.answer.len() == self.limits.max_new_tokens {
            self.finish_reason = Some(FinishReason::Length);
        } else if self.prompt_tokens + self.answer.len() == self.limits.max_seq_len {
            self.finish_reason = Some(FinishReason::Context);
        }
    }

    /// Chooses the next token; returns it if it belongs to the answer.
    fn take(&mut self, logits: &[f32], step: u64) -> Result<Option<TokenId>, GenerateError> {
        let token = greedy(logits)?;
        self.done_at = step;
        if self.limits.end_of_text.contains(&token) {
            self.finish_reason = Some(FinishReason::Stop);
            return Ok(None);
        }
        self.answer.push(token);
        self.check_limits();
        Ok(Some(token))
    }
}

/// Continues all prompts greedily and together. `max_new_tokens` has one number for each prompt; `on_token(row, token)`
/// gets each answer token as soon as it is known.
///
/// Supersedes [`kv_cache::session::generate`] for many prompts: the same tokens, the same reasons to end. A finished
/// row stays in the batch as padding until the longest answer is complete: no row can leave the batch, and no request
/// can join it.
///
/// Cost: `batch_size · width` cells in the first step, `batch_size` in each further one; steps: those of the longest
/// answer. A step after the first allocates nothing.
///
/// # Errors
/// Those of [`PaddedBatch::prefill`], before anything is computed; [`BatchError::LimitsDoNotMatch`]; logits that are
/// not numbers.
pub fn generate_batch(
    model: &Model,
    state: &mut BatchState,
    pool: &Pool,
    prompts: &[&[TokenId]],
    max_new_tokens: &[usize],
    rule: Pad,
    on_token: &mut dyn FnMut(usize, TokenId),
) -> Result<BatchRun, BatchError> {
    if prompts.len() != max_new_tokens.len() {
        return Err(BatchError::LimitsDoNotMatch {
            prompts: prompts.len(),
            limits: max_new_tokens.len(),
        });
    }
    let mut batch = PaddedBatch::prefill(&model.config.llama, prompts, rule)?;
    let mut rows: Vec<Row> = prompts
        .iter()
        .zip(max_new_tokens)
        .map(|(prompt, max)| Row::new(model.limits(*max), prompt.len()))
        .collect();
    let stored = batch.stored().iter().map(ExactSizeIterator::len);
    let positions = rows.iter().zip(stored).map(|(row, len)| row.positions(len));
    state.prepare(&model.config, positions);
    let caches = &mut state.caches[..rows.len()];
    let (mut next, mut cached) = (vec![None; rows.len()], vec![0; rows.len()]);
    let mut run = BatchRun::default();
    // ANCHOR: steps
    while rows.iter().any(Row::is_running) {
        let (config, weights) = (&model.config, &model.weights);
        let logits = forward(config, weights, &mut state.state, caches, pool, &batch)?;
        run.steps += 1;
        run.rows_computed += batch.cells() as u64;
        for (index, logits) in logits.chunks_exact(config.llama.vocab_size).enumerate() {
            let row = &mut rows[index];
            next[index] = None;
            if row.is_running() {
                run.rows_useful += batch.spans()[index].len as u64;
                let token = row.take(logits, run.steps);
                let token = token.map_err(|mistake| BatchError::Prompt { index, mistake })?;
                token.iter().for_each(|token| on_token(index, *token));
                // A row that just finished gets no cell in the next step.
                next[index] = token.filter(|_| row.is_running());
            }
            cached[index] = caches[index].len();
        }
        batch.set_step(&next, &cached);
    }
    // ANCHOR_END: steps
    for row in rows {
        run.done_at.push(row.done_at);
        run.generations.push(Generation {
            prompt_tokens: row.prompt_tokens,
            tokens: row.answer,
            finish_reason: row.finish_reason.unwrap_or(FinishReason::Length),
        });
    }
    Ok(run)
}
