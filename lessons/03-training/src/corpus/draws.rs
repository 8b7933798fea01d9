//! What might have stood in place of a drawn word, as tokens: the grammar is a teacher that knows all right answers.
//!
//! A story's friend gets one of the 31 names that the hero does not have. A single story shows one of them, and says
//! nothing of the other 30, nor that the hero's own name is out of the question. To learn that from examples alone, a
//! model must see that a name with an expected share of 1 in 32 does not come: a difference of 0.03 nats, under a noise
//! of 3.4. The grammar knows the 31. With the mean over all of them as target the expected gradient is the same, and
//! the noise is gone. Source of the idea: Hinton, Vinyals and Dean 2015, *Distilling the knowledge in a neural network*,
//! arXiv:1503.02531.

use crate::config::TokenId;
use crate::grammar::Draw;
use crate::tokenizer::Tokenizer;

/// A token for which others were equally likely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// The token's place in its window.
    pub position: usize,
    /// The tokens that were equally likely there; the one that stands there is among them.
    pub tokens: Vec<TokenId>,
}

/// Words that stand before the drawn word in one of its forms: "in the forest", "an owl".
const BEFORE: [&str; 10] = ["a", "an", "the", "in", "on", "by", "under", "near", "behind", "at"];

/// Encodes a document, appends its tokens to `out`, and gives the drawn words among them.
///
/// The text is encoded in pieces, each up to the space in front of a drawn word. Words are encoded apart in any case,
/// so the tokens are those of the whole text (tested).
pub fn encode(tokenizer: &Tokenizer, text: &str, draws: &[Draw], out: &mut Vec<TokenId>) -> Vec<Drawn> {
    let mut drawn = Vec::new();
    let mut done = 0;
    for draw in draws {
        let before = words_before(&draw.forms[draw.taken]);
        let at = draw.at + before.len();
        // The first word of a line has no space before it and is another token.
        let Some(space) = at.checked_sub(1).filter(|&space| text.as_bytes()[space] == b' ') else {
            continue;
        };
        let rivals = draw.forms.iter().filter(|form| words_before(form) == before);
        let tokens: Vec<TokenId> = rivals
            .filter_map(|form| {
                tokenizer
                    .encode(&format!(" {}", &form[before.len()..]))
                    .first()
                    .copied()
            })
            .collect();
        if tokens.len() < 2 {
            continue;
        }
        out.extend(tokenizer.encode(&text[done..space]));
        done = space;
        drawn.push(Drawn {
            position: out.len(),
            tokens,
        });
    }
    out.extend(tokenizer.encode(&text[done..]));
    drawn
}

/// The part of a form that stands before the word itself, with its space: "in the " of "in the forest".
fn words_before(form: &str) -> &str {
    let mut len = 0;
    for word in form.split_inclusive(' ') {
        if !word.ends_with(' ') || !BEFORE.contains(&word.trim_end().to_lowercase().as_str()) {
            break;
        }
        len += word.len();
    }
    &form[..len]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::Grammar;
    use crate::split::Split;

    #[test]
    fn the_tokens_are_those_of_the_whole_text_and_a_drawn_word_is_among_its_rivals() {
        let folder = lab::paths::data_dir().join("stories/tokenizer.json");
        let tokenizer = Tokenizer::load(&folder).unwrap();
        let grammar = Grammar::new();
        let mut num_drawn = 0;
        for index in 0..300 {
            let document = grammar.document(5, Split::Train, index);
            let mut tokens = Vec::new();
            let drawn = encode(&tokenizer, &document.text, &document.draws, &mut tokens);
            assert_eq!(tokens, tokenizer.encode(&document.text), "{}", document.text);
            for Drawn {
                position,
                tokens: rivals,
            } in &drawn
            {
                assert!(rivals.contains(&tokens[*position]), "{}", document.text);
            }
            num_drawn += drawn.len();
        }
        assert!(num_drawn > 300 * 5, "most draws become targets, found {num_drawn}");
    }

    #[test]
    fn the_words_before_a_word_are_no_part_of_it() {
        for (form, before) in [
            ("in the forest", "in the "),
            ("Under the oak tree", "Under the "),
            ("an owl", "an "),
            ("Mia", ""),
        ] {
            assert_eq!(words_before(form), before);
        }
    }
}
