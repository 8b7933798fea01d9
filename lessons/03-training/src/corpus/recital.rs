//! Recitals: a list of words, repeated three times. They teach a model to look back.
//!
//! In a story the words that must be copied are few (a thing is named again four times in 150 tokens), and every one of
//! them could also be guessed from its kind. A small model then guesses for millions of tokens before it uses the
//! earlier mention. In a recital two words of three can *only* be known by looking back, so the gradient contains
//! nothing else. What is learned there is at once of use in stories: the words are the same.
//!
//! Tried, 1.1 M parameters, 3 M tokens: with stories alone every name, thing and colour stays at chance (3.2 nats for
//! one of 24 things); with half of the windows recitals, things fall to 0.14 and colours to 0.17 nats on held-out
//! stories. Statements of facts, said twice and in sentences, taught the hero's name and nothing else. Why lists: the
//! pair "what stood before this word, and what came after it" is the simplest thing attention can look for. Source of
//! that idea: Olsson et al. 2022, *In-context learning and induction heads*, arXiv:2209.11895.

use crate::grammar::words::{Domain, render, words};
use crate::random::Random;

/// What an address of [`Random`] is for.
const RECITAL: u64 = 21;

/// The kinds of words that stories copy.
const DOMAINS: [Domain; 9] = [
    Domain::Name,
    Domain::Animal,
    Domain::Thing,
    Domain::Colour,
    Domain::Count,
    Domain::Place,
    Domain::Item,
    Domain::Food,
    Domain::Trait,
];

/// Recital `index`: four to eleven words of the stories, three times in the same order. The same arguments always give
/// the same text.
pub fn recital(seed: u64, index: u64) -> String {
    let mut random = Random::at(&[seed, RECITAL, index]);
    let list: Vec<String> = (0..4 + random.below(8))
        .map(|_| {
            let domain = DOMAINS[random.below(DOMAINS.len())];
            let word = random.below(words(domain).len());
            render(domain, word, "").expect("every domain has a plain form")
        })
        .collect();
    let list = list.join(", ");
    format!("Say it again: {list}. {list}. {list}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recital_says_its_list_three_times() {
        for index in 0..200 {
            let text = recital(1, index);
            let said = text.strip_prefix("Say it again: ").expect("its beginning");
            let lists: Vec<&str> = said.trim_end_matches('.').split(". ").collect();
            assert_eq!(lists.len(), 3, "{text}");
            assert!(lists[1..].iter().all(|list| *list == lists[0]), "{text}");
            let num_words = lists[0].split(", ").count();
            assert!((4..=11).contains(&num_words), "{text}");
        }
        assert_ne!(recital(1, 0), recital(1, 1));
        assert_ne!(recital(1, 0), recital(2, 0));
    }
}
