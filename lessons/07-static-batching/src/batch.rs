//! A batch of sequences as one rectangle of cells.

use crate::error::BatchError;
use crate::padding::{mask, pad, positions};
use generation::GenerateError;
use generation::layer::check_tokens;
use std::ops::Range;
use training::{LlamaConfig, TokenId};

// ANCHOR: padding
/// Where the padding stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Padding {
    /// In front of the prompt: all prompts end in the last column.
    #[default]
    Left,
    /// Behind the prompt: all prompts begin in the first column.
    Right,
}
// ANCHOR_END: padding

/// How wide a batch is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    /// As its longest prompt: dynamic padding.
    #[default]
    Longest,
    /// A fixed number of cells, as a compiled plan or a bucket asks for.
    Exactly(usize),
}

/// The rule by which prompts are padded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pad {
    /// Where the padding stands.
    pub side: Padding,
    /// How much of it there is.
    pub width: Width,
}

// ANCHOR: span
/// Where a row's tokens stand: columns `start` to `start + len`, the end excluded. All other cells of the row are padding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First column with a token.
    pub start: usize,
    /// Columns with a token.
    pub len: usize,
}
// ANCHOR_END: span

/// What stands in the cells of padding. Any id of the vocabulary will do: nothing reads what is computed from it.
const FILLER: TokenId = TokenId(0);

/// The input of one pass over a batch: `batch_size` rows of `width` cells.
///
/// Every cell goes through every matrix product, padding too. What padding is spared is attention: it leaves no keys, and it attends to
/// nothing.
// ANCHOR: batch
#[derive(Clone, Debug)]
pub struct PaddedBatch {
    width: usize,
    /// `[batch_size, width]`: the filler where there is no token.
    tokens: Vec<TokenId>,
    /// `[batch_size]`: where the tokens stand.
    spans: Vec<Span>,
    /// `[batch_size, width]`: each token's position in its sequence.
    positions: Vec<Option<usize>>,
    /// `[batch_size]`: cells whose keys and values the row's cache gets.
    stored: Vec<Range<usize>>,
    /// `[batch_size, width]`: positions that each cell attends to; 0 for padding.
    context_len: Vec<usize>,
}
// ANCHOR_END: batch

impl PaddedBatch {
    /// The first pass over some prompts, nothing cached.
    ///
    /// # Errors
    /// No prompt at all, an empty prompt, one that is longer than the model's context or than a fixed width, a token outside the
    /// vocabulary.
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

    /// A batch that holds no token yet.
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

    /// Makes this batch one step of decoding: one cell a row, with the token that the row goes on with, or padding (`None`) where the row is
    /// done. `cached` tokens of each row are in its cache. Allocates nothing after a prefill.
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

    /// Positions and mask, from the spans.
    fn mark(&mut self, cached: &[usize]) {
        positions(&self.spans, self.width, cached, &mut self.positions);
        mask(&self.spans, self.width, cached, &mut self.stored, &mut self.context_len);
    }

    /// Sequences: rows of the rectangle.
    pub fn batch_size(&self) -> usize {
        self.spans.len()
    }

    /// Cells of each row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// All cells: rows of every matrix product but the head's.
    pub fn cells(&self) -> usize {
        self.tokens.len()
    }

    /// Cells with a token.
    pub fn useful_cells(&self) -> usize {
        self.spans.iter().map(|span| span.len).sum()
    }

    /// Cells without one.
    pub fn padded_cells(&self) -> usize {
        self.cells() - self.useful_cells()
    }

    /// `[batch_size, width]`: the token of each cell.
    pub fn tokens(&self) -> &[TokenId] {
        &self.tokens
    }

    /// `[batch_size]`: where the tokens stand.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// `[batch_size, width]`: the position of each cell.
    pub fn positions(&self) -> &[Option<usize>] {
        &self.positions
    }

    /// `[batch_size]`: cells whose keys and values each row's cache gets.
    pub fn stored(&self) -> &[Range<usize>] {
        &self.stored
    }

    /// `[batch_size, width]`: positions that each cell attends to.
    pub fn context_len(&self) -> &[usize] {
        &self.context_len
    }

    /// The cell of a row's last token, whose logits choose the next one; the first cell where the row is done.
    pub fn last_cell(&self, row: usize) -> usize {
        let span = self.spans[row];
        row * self.width + span.start + span.len.saturating_sub(1)
    }
}

/// Each prompt by itself, as lesson 05 checks it.
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
