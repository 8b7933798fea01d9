//! People judge beside BLEU: two texts after one prompt, their authors hidden, and a sign test of the choices.
//!
//! BLEU compares words with one reference and knows nothing of sense. A person sees that at once, and a person who knows
//! the author is no judge. So the side on which each author stands is drawn for each pair, and the result is a number
//! that says how often chance alone would be as clear.

use crate::random::Random;
use std::io::{self, BufRead, Write};

/// Two texts after one prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// What both authors were given.
    pub prompt: String,
    /// The text of author A.
    pub a: String,
    /// The text of author B.
    pub b: String,
}

/// The choices of a judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of pairs in which the text of A was better.
    pub a: u64,
    /// Number of pairs in which the text of B was better.
    pub b: u64,
    /// Number of pairs without a better text, equal texts included.
    pub ties: u64,
}

/// Whether the text of B stands first in a pair. The answer depends on the seed and the pair's index only.
pub fn b_stands_first(seed: u64, index: usize) -> bool {
    Random::at(&[seed, 0x0a0b, index as u64]).below(2) == 1
}

/// The exact two-sided sign test: the probability that a fair coin, thrown `a + b` times, divides the throws at least as
/// unequally as `a` to `b`. Ties are left out. 1 without a choice.
/// Source: Dixon and Mood 1946, "The Statistical Sign Test".
pub fn sign_test(a: u64, b: u64) -> f64 {
    let n = a + b;
    // ln C(n, k) - n ln 2, from k = 0 upwards: the powers themselves would underflow beyond a thousand throws.
    let mut ln_share = -(n as f64) * std::f64::consts::LN_2;
    let mut tail = 0.0;
    for k in 0..=a.min(b) {
        tail += ln_share.exp();
        ln_share += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    (2.0 * tail).min(1.0)
}

/// Shows each pair on `out` and reads one key from `input`: `1` or `2` for the better text, `=` for neither, `q` to stop.
/// Equal texts are a tie and are not shown. The end of the input stops, too.
///
/// # Errors
/// What reading and writing report.
pub fn judge(pairs: &[Pair], seed: u64, input: &mut impl BufRead, out: &mut impl Write) -> io::Result<Tally> {
    let mut tally = Tally::default();
    for (index, pair) in pairs.iter().enumerate() {
        if pair.a == pair.b {
            tally.ties += 1;
            continue;
        }
        let b_first = b_stands_first(seed, index);
        let (first, second) = if b_first {
            (&pair.b, &pair.a)
        } else {
            (&pair.a, &pair.b)
        };
        writeln!(out, "\nPair {} of {}: {}", index + 1, pairs.len(), pair.prompt)?;
        writeln!(out, "\n1) {first}\n\n2) {second}\n")?;
        let better = loop {
            write!(out, "Which is better? 1, 2, = for neither, q to stop > ")?;
            out.flush()?;
            let mut typed = String::new();
            if input.read_line(&mut typed)? == 0 {
                return Ok(tally);
            }
            match typed.trim() {
                "1" | "１" => break Some(b_first),
                "2" | "２" => break Some(!b_first),
                "=" | "＝" => break None,
                "q" | "ｑ" => return Ok(tally),
                _ => {}
            }
        };
        match better {
            Some(true) => tally.b += 1,
            Some(false) => tally.a += 1,
            None => tally.ties += 1,
        }
    }
    Ok(tally)
}
