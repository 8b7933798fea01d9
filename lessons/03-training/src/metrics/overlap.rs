//! BLEU and ROUGE-L: the overlap of a text with a reference.
//!
//! Both count words in common, so both miss a right answer in other words. They are here because they are often quoted,
//! and because they are low even for a story that passes every check.

use std::collections::HashMap;

/// Splits a text into words and single punctuation marks. An apostrophe inside a word belongs to it. Case is kept.
pub fn words(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '\'';
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let len = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (word, after) = rest.split_at(len);
        words.push(word);
        rest = after.trim_start();
    }
    words
}

fn ngram_counts<'a, 'w>(words: &'a [&'w str], n: usize) -> HashMap<&'a [&'w str], usize> {
    let mut counts = HashMap::new();
    for ngram in words.windows(n) {
        *counts.entry(ngram).or_default() += 1;
    }
    counts
}

/// Corpus BLEU-4 in `0..=1`, one reference for each candidate.
///
/// The geometric mean of the clipped n-gram precisions for n = 1 to 4, counted over the whole corpus, times the brevity
/// penalty `exp(1 - reference length / candidate length)` if the candidates are shorter. A precision of zero is
/// replaced by 1/2, 1/4, … of one n-gram ("exp" smoothing, sacreBLEU's default); orders with no n-gram at all are left
/// out. Source: Papineni et al. 2002, ACL; smoothing: Chen and Cherry 2014, method 3; checked against sacreBLEU (Post
/// 2018).
///
/// Panics when the two lists differ in length.
pub fn bleu(candidates: &[Vec<&str>], references: &[Vec<&str>]) -> f64 {
    assert_eq!(candidates.len(), references.len(), "one reference for each candidate");
    let (mut matched, mut total) = ([0usize; 4], [0usize; 4]);
    for (candidate, reference) in candidates.iter().zip(references) {
        for n in 1..=4 {
            let allowed = ngram_counts(reference, n);
            for (ngram, count) in ngram_counts(candidate, n) {
                matched[n - 1] += count.min(allowed.get(ngram).copied().unwrap_or(0));
                total[n - 1] += count;
            }
        }
    }
    if matched[0] == 0 {
        return 0.0;
    }
    let (mut log_sum, mut orders, mut smoothing) = (0.0, 0, 1.0);
    for n in (0..4).take_while(|&n| total[n] > 0) {
        let hits = if matched[n] == 0 {
            smoothing /= 2.0;
            smoothing
        } else {
            matched[n] as f64
        };
        log_sum += (hits / total[n] as f64).ln();
        orders += 1;
    }
    let len = |texts: &[Vec<&str>]| texts.iter().map(Vec::len).sum::<usize>() as f64;
    let brevity = (1.0 - len(references) / len(candidates)).min(0.0).exp();
    brevity * (log_sum / f64::from(orders)).exp()
}

/// ROUGE-L in `0..=1`: the harmonic mean of the shares that the longest common subsequence has in candidate and
/// reference.
///
/// Cost: candidate length times reference length. Source: Lin 2004, "ROUGE: A Package for Automatic Evaluation of
/// Summaries"; checked against the `rouge-score` package.
pub fn rouge_l(candidate: &[&str], reference: &[&str]) -> f64 {
    let common = longest_common_subsequence(candidate, reference) as f64;
    if common == 0.0 {
        return 0.0;
    }
    let (precision, recall) = (common / candidate.len() as f64, common / reference.len() as f64);
    2.0 * precision * recall / (precision + recall)
}

/// Length of the longest sequence of words that both texts have in this order, not necessarily side by side.
fn longest_common_subsequence(a: &[&str], b: &[&str]) -> usize {
    // row[j] is the length for the part of `a` read so far and b[..j].
    let mut row = vec![0; b.len() + 1];
    for word in a {
        let mut diagonal = 0;
        for (j, other) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if word == other { diagonal + 1 } else { above.max(row[j]) };
            diagonal = above;
        }
    }
    row[b.len()]
}
