//! A batch: windows of packed documents, with what each position reads, must predict and may see.

use crate::config::TokenId;
use crate::corpus::Drawn;
use crate::exercises::inputs_and_targets;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The token that ends a document.
pub const END_OF_TEXT: TokenId = TokenId(0);

/// Windows of one length, laid one after the other.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Windows.
    pub batch_size: usize,
    /// Positions of each window.
    pub seq_len: usize,
    /// What each position reads, `[batch_size · seq_len]`.
    pub inputs: Vec<TokenId>,
    /// What each position must predict, `[batch_size · seq_len]`.
    pub targets: Vec<TokenId>,
    /// For positions whose target was drawn at random: all tokens that were equally likely, by position.
    pub spread: BTreeMap<usize, Vec<TokenId>>,
    /// How much each position counts in the loss, `[batch_size · seq_len]`; 1 unless [`Batch::emphasise`] was called.
    pub weights: Vec<f32>,
    /// The first position of its window that each position sees, `[batch_size · seq_len]`.
    pub starts: Rc<[u32]>,
}

impl Batch {
    /// A batch to train on. Each window has `seq_len + 1` tokens, the last of which is only predicted.
    ///
    /// # Panics
    /// When there are no windows or their lengths differ.
    pub fn windows<W: AsRef<[TokenId]>>(windows: &[W]) -> Self {
        let seq_len = windows[0].as_ref().len() - 1;
        let (mut inputs, mut targets, mut starts) = (vec![], vec![], vec![]);
        for window in windows {
            let (read, predict) = inputs_and_targets(window.as_ref());
            assert_eq!(read.len(), seq_len, "windows of one batch have one length");
            inputs.extend_from_slice(read);
            targets.extend_from_slice(predict);
            starts.extend(document_starts(read));
        }
        Self {
            batch_size: windows.len(),
            seq_len,
            spread: BTreeMap::new(),
            weights: vec![1.0; inputs.len()],
            inputs,
            targets,
            starts: starts.into(),
        }
    }

    /// One text in which every token sees all before it; nothing to predict.
    pub fn text(tokens: &[TokenId]) -> Self {
        Self::texts(&[tokens], tokens.len())
    }

    /// Texts in which every token sees all before it, filled up to one length; nothing to predict.
    ///
    /// # Panics
    /// When a text is longer than `seq_len`.
    pub fn texts<W: AsRef<[TokenId]>>(texts: &[W], seq_len: usize) -> Self {
        let mut inputs = Vec::with_capacity(texts.len() * seq_len);
        for (index, text) in texts.iter().enumerate() {
            inputs.extend_from_slice(text.as_ref());
            assert!(
                inputs.len() <= (index + 1) * seq_len,
                "text {index} is longer than {seq_len}"
            );
            inputs.resize((index + 1) * seq_len, END_OF_TEXT);
        }
        Self {
            batch_size: texts.len(),
            seq_len,
            starts: vec![0; inputs.len()].into(),
            inputs,
            targets: Vec::new(),
            weights: Vec::new(),
            spread: BTreeMap::new(),
        }
    }

    /// Takes all words that might have been drawn as targets, in place of the one that was. `drawn` belongs to `window`.
    pub fn spread_over(&mut self, window: usize, drawn: Vec<Drawn>) {
        // The token at place p is the target of position p - 1, and the first one of a window is no target.
        let first = window * self.seq_len;
        let targets = drawn.into_iter().filter(|word| word.position > 0);
        self.spread
            .extend(targets.map(|word| (first + word.position - 1, word.tokens)));
    }

    /// Lets the positions whose target is marked count `weight` times as much. `is_marked` is indexed by token id.
    pub fn emphasise(&mut self, is_marked: &[bool], weight: f32) {
        for (own, target) in self.weights.iter_mut().zip(&self.targets) {
            if is_marked[target.index()] {
                *own = weight;
            }
        }
    }

    /// Tokens that are predicted.
    pub fn num_tokens(&self) -> usize {
        self.inputs.len()
    }
}

/// The first position that each position of a packed window sees: no document looks into the one before it.
///
/// An end-of-text token begins the next document: it sees only itself, and predicts that document's first token.
/// Whether the document's own tokens see it is left to chance (it stands at an even or an odd place), so that the model
/// later takes a prompt with or without it:
/// ```text
/// tokens   a  b  c  <e> d  f  g  <e> h  i        <e> at 3 (odd): not seen; at 7 (odd): not seen
/// starts   0  0  0  3   4  4  4  7   8  8        at an even place the document would start there
/// ```
// ANCHOR: starts
pub fn document_starts(inputs: &[TokenId]) -> Vec<u32> {
    let mut starts = Vec::with_capacity(inputs.len());
    let mut start = 0;
    for (position, &token) in inputs.iter().enumerate() {
        let position = position as u32;
        if token == END_OF_TEXT {
            starts.push(position);
            start = position + position % 2;
        } else {
            starts.push(start);
        }
    }
    starts
}
// ANCHOR_END: starts
