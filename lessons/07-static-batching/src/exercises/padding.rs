//! Exercises 07.1, 07.2 and 07.5: prompts of different length as rows of one width: where the tokens stand, their
//! positions, and which cells see which. [`crate::batch::PaddedBatch`] holds the results.
//!
//! A batch is a matrix of cells `[batch_size, width]`, row-major: cell `row · width + column`. The cells of a row that
//! the prompt does not fill are padding.
//!
//! ```text
//! width 5            side Left                   side Right
//! prompt a b c       · · a b c   Span 2, 3       a b c · ·   Span 0, 3
//! prompt d e f g h   d e f g h   Span 0, 5       d e f g h   Span 0, 5
//! ```

use crate::parts::{Padding, Span};
use std::ops::Range;
use training::TokenId;

/// Writes each prompt into its row of the batch, the filler into all other cells, and the place of the prompt into
/// `spans`.
///
/// `Padding::Left` puts the padding in front, so that all prompts end in the last column; `Padding::Right` puts it
/// behind. `tokens` may hold an earlier batch, which is overwritten. Shapes: `tokens` `[batch_size, width]`, `spans`
/// `[batch_size]`.
///
/// # Panics
/// If a shape does not fit, or a prompt is longer than `width`.
pub fn pad(
    prompts: &[&[TokenId]],
    width: usize,
    side: Padding,
    filler: TokenId,
    tokens: &mut [TokenId],
    spans: &mut [Span],
) {
    assert_eq!(tokens.len(), prompts.len() * width);
    assert_eq!(spans.len(), prompts.len());
    assert!(prompts.iter().all(|prompt| prompt.len() <= width));
    // ANCHOR: ex_07_1
    tokens.fill(filler);
    for (row, prompt) in prompts.iter().enumerate() {
        let start = match side {
            Padding::Left => width - prompt.len(),
            Padding::Right => 0,
        };
        tokens[row * width + start..][..prompt.len()].copy_from_slice(prompt);
        let len = prompt.len();
        spans[row] = Span { start, len };
    }
    // ANCHOR_END: ex_07_1
}

/// The position of each cell in its own sequence; `None` for padding.
///
/// A position counts the tokens before it, not the cells before it: the first token of a prompt is at position 0 in
/// every column. Earlier passes computed `cached[row]` tokens of the row's sequence. Shapes: `spans`, `cached`
/// `[batch_size]`, `out` `[batch_size, width]`, overwritten.
///
/// # Panics
/// If a shape does not fit.
pub fn positions(spans: &[Span], width: usize, cached: &[usize], out: &mut [Option<usize>]) {
    assert_eq!(cached.len(), spans.len());
    assert_eq!(out.len(), spans.len() * width);
    // ANCHOR: ex_07_2
    out.fill(None);
    for (row, span) in spans.iter().enumerate() {
        // Row `row` owns the cells from row * width on; its tokens begin at column `span.start`.
        let cells = &mut out[row * width + span.start..][..span.len];
        for (i, cell) in cells.iter_mut().enumerate() {
            *cell = Some(cached[row] + i);
        }
    }
    // ANCHOR_END: ex_07_2
}

/// The mask, as ranges: the cells whose keys and values are stored, and the number of positions that each cell attends
/// to.
///
/// `stored[row]` is the range of cells whose keys and values go into the row's cache, behind the `cached[row]`
/// positions that it holds. A cell attends to the first `context_len[cell]` positions of its row's cache: to those
/// before it and to itself. Padding is not stored and attends to nothing: `context_len` 0. It is skipped, never
/// multiplied by zero.
///
/// Shapes: `spans`, `cached`, `stored` `[batch_size]`, `context_len` `[batch_size, width]`; both results are
/// overwritten.
///
/// # Panics
/// If a shape does not fit.
pub fn mask(spans: &[Span], width: usize, cached: &[usize], stored: &mut [Range<usize>], context_len: &mut [usize]) {
    assert!(cached.len() == spans.len() && stored.len() == spans.len());
    assert_eq!(context_len.len(), spans.len() * width);
    // ANCHOR: ex_07_5
    context_len.fill(0);
    for (row, span) in spans.iter().enumerate() {
        //~ fault 07.5
        //~ | let first = row * width;
        //~ | let last = first + width;
        let first = row * width + span.start;
        let last = first + span.len;
        //~ end
        stored[row] = first..last;
        for cell in first..last {
            context_len[cell] = cached[row] + (cell - first) + 1;
        }
    }
    // ANCHOR_END: ex_07_5
}
