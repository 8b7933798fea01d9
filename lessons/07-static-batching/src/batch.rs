//! A batch of sequences as one rectangle of cells.

use crate::error::BatchError;
use crate::padding::{mask, pad, positions};
pub use crate::parts::{Padding, Span};
use generation::GenerateError;
use generation::layer::check_tokens;
use std::ops::Range;
use training::{LlamaConfig, TokenId};

/// The width of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    /// That of its longest prompt: dynamic padding.
    #[default]
    Longest,
    /// A fixed number of cells, as a compiled pass or a bucket needs.
    Exactly(usize),
}

/// How prompts are padded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pad {
    /// Where the padding stands.
    pub side: Padding,
    /// The width that prompts are padded to.
    pub width: Width,
}

/// The token of padding cells. Any id of the vocabulary will do: no row reads what is computed from it.
const FILLER: TokenId = TokenId(0);

/// The input of one pass over a batch: `batch_size` rows of `width` cells.
///
/// Every cell goes through every matrix product, padding too. Only attention skips padding: no keys of it are stored,
/// and it attends to nothing.
// ANCHOR: batch
#[derive(Clone, Debug)]
pub struct PaddedBatch {
    width: usize,
    /// `[batch_size, width]`: the filler where there is no token.
    tokens: Vec<TokenId>,
    /// `[batch_size]`: the columns of each row's tokens.
    spans: Vec<Span>,
    /// `[batch_size, width]`: each token's position in its sequence.
    positions: Vec<Option<usize>>,
    /// `[batch_size]`: the cells whose keys and values go into the row's cache.
    stored: Vec<Range<usize>>,
    /// `[batch_size, width]`: number of positions that each cell attends to; 0 for padding.
    context_len: Vec<usize>,
}
// ANCHOR_END: batch

impl PaddedBatch {
    /// The first pass over some prompts, nothing cached.
    ///
    /// # Errors
    /// No prompt at all, an empty prompt, one that is longer than the model's context or than a fixed width, a token
    /// outside the vocabulary.
    pub fn prefill(config: &LlamaConfig, prompts: &[&[TokenId]], rule: Pad) -> Result<PaddedBatch, BatchError> {
        check_prompts(config, prompts)?;
        let longest = prompts.iter().map(|prompt| prompt.len()).max();
        let longest = longest.ok_or(BatchError::EmptyBatch)?;
        let width = match rule.width {
            Width::Longest => longest,
            Width::Exactly(width) if width < longest => {
                return Err(BatchError::TooNarrow { width, longest });
            }
            Width::Exactly(width) => width,
        };
        let mut batch = PaddedBatch::of_padding(prompts.len(), width);
        pad(prompts, width, rule.side, FILLER, &mut batch.tokens, &mut batch.spans);
        batch.mark(&vec![0; prompts.len()]);
        Ok(batch)
    }

    /// A batch without tokens.
    fn of_padding(batch_size: usize, width: usize) -> PaddedBatch {
        PaddedBatch {
            width,
            tokens: vec![FILLER; batch_size * width],
            spans: vec![Span::default(); batch_size],
            positions: vec![None; batch_size * width],
            stored: vec![0..0; batch_size],
            context_len: vec![0; batch_size * width],
        }
    }

    /// Makes this batch one step of decoding: one cell a row, with the row's newest token, or padding (`None`) if the
    /// row is done. `cached` has the number of positions in the cache of each row. Allocates nothing after a prefill.
    ///
    /// # Panics
    /// If a slice is not `[batch_size]`.
    pub fn set_step(&mut self, next: &[Option<TokenId>], cached: &[usize]) {
        let batch_size = self.batch_size();
        assert!(next.len() == batch_size && cached.len() == batch_size);
        self.width = 1;
        self.tokens.resize(batch_size, FILLER);
        self.positions.resize(batch_size, None);
        self.context_len.resize(batch_size, 0);
        for (row, next) in next.iter().enumerate() {
            self.tokens[row] = next.unwrap_or(FILLER);
            self.spans[row] = Span {
                start: 0,
                len: usize::from(next.is_some()),
            };
        }
        self.mark(cached);
    }

    /// Computes positions and mask from the spans.
    fn mark(&mut self, cached: &[usize]) {
        positions(&self.spans, self.width, cached, &mut self.positions);
        mask(&self.spans, self.width, cached, &mut self.stored, &mut self.context_len);
    }

    /// Number of sequences: rows of the rectangle.
    pub fn batch_size(&self) -> usize {
        self.spans.len()
    }

    /// Number of cells in each row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of all cells: rows of every matrix product but the head's.
    pub fn cells(&self) -> usize {
        self.tokens.len()
    }

    /// Number of cells with a token.
    pub fn useful_cells(&self) -> usize {
        self.spans.iter().map(|span| span.len).sum()
    }

    /// Number of cells of padding.
    pub fn padded_cells(&self) -> usize {
        self.cells() - self.useful_cells()
    }

    /// `[batch_size, width]`: the token of each cell.
    pub fn tokens(&self) -> &[TokenId] {
        &self.tokens
    }

    /// `[batch_size]`: the columns of each row's tokens.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// `[batch_size, width]`: the position of each cell.
    pub fn positions(&self) -> &[Option<usize>] {
        &self.positions
    }

    /// `[batch_size]`: the cells whose keys and values go into each row's cache.
    pub fn stored(&self) -> &[Range<usize>] {
        &self.stored
    }

    /// `[batch_size, width]`: number of positions that each cell attends to.
    pub fn context_len(&self) -> &[usize] {
        &self.context_len
    }

    /// The cell of a row's last token, whose logits choose the next one; the first cell if the row is done.
    pub fn last_cell(&self, row: usize) -> usize {
        let span = self.spans[row];
        row * self.width + span.start + span.len.saturating_sub(1)
    }
}

/// Checks each prompt as lesson 05 does.
fn check_prompts(config: &LlamaConfig, prompts: &[&[TokenId]]) -> Result<(), BatchError> {
    for (index, prompt) in prompts.iter().enumerate() {
        let checked = match prompt.len() {
            0 => Err(GenerateError::EmptyPrompt),
            prompt_tokens if prompt_tokens > config.max_seq_len => Err(GenerateError::PromptTooLong {
                prompt_tokens,
                max_seq_len: config.max_seq_len,
            }),
            _ => check_tokens(config, prompt),
        };
        checked.map_err(|mistake| BatchError::Prompt { index, mistake })?;
    }
    Ok(())
}
