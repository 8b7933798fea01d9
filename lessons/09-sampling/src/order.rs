//! All numbers in falling order, by a radix sort: without comparing any two.
//!
//! ```text
//! simple:  sort by comparisons                     n log2 n comparisons of numbers that lie far apart in memory
//! here:    three passes, each by 11 of the bits    8 n reads, in order, and no comparison
//! ```
//!
//! Source: radix sort, Knuth, The Art of Computer Programming, volume 3, section 5.2.5.

/// Number of bits that one pass sorts by; three passes cover all 32.
const BITS: usize = 11;

/// The key of a number in the upper 32 bits, smaller for a larger number, and its index in the lower 32.
type Card = u64;

/// Scratch of [`order_all`]: the cards before and after a pass.
#[derive(Debug, Default)]
pub struct Cards {
    from: Vec<Card>,
    to: Vec<Card>,
}

impl Cards {
    /// Reserves room for `count` numbers.
    pub fn reserve(&mut self, count: usize) {
        for cards in [&mut self.from, &mut self.to] {
            cards.clear();
            cards.reserve(count);
        }
    }
}

/// Writes the indices of all numbers over `ids`, the largest first and equal ones by the lower index, as
/// [`top_k`](crate::exercises::top_k) does for `k = numbers.len()`. No number is NaN.
///
/// Selecting first is of no use if most of a vocabulary is kept. Each pass sorts the cards by eleven bits, from the
/// lowest to the highest, and keeps the order of cards with equal bits. Cost: eight reads per number; no allocation
/// once there is room.
pub fn order_all(numbers: &[f32], ids: &mut Vec<u32>, cards: &mut Cards) {
    let Cards { from, to } = cards;
    let digit = |card: Card, pass: usize| (card >> (32 + pass * BITS)) as usize % (1 << BITS);
    // `counts[pass][digit]`: number of cards with the digit, all counted in one read.
    let mut counts = [[0u32; 1 << BITS]; 3];
    from.clear();
    from.extend(numbers.iter().enumerate().map(|(id, number)| {
        let card = Card::from(falling(*number)) << 32 | id as Card;
        for (pass, counts) in counts.iter_mut().enumerate() {
            counts[digit(card, pass)] += 1;
        }
        card
    }));
    to.clear();
    to.resize(from.len(), 0);
    for (pass, counts) in counts.iter_mut().enumerate() {
        // Counts become the index at which the cards of each digit begin.
        let mut before = 0;
        for count in &mut *counts {
            (*count, before) = (before, before + *count);
        }
        for card in from.iter() {
            let next = &mut counts[digit(*card, pass)];
            to[*next as usize] = *card;
            *next += 1;
        }
        std::mem::swap(from, to);
    }
    ids.clear();
    ids.extend(from.iter().map(|card| *card as u32));
}

/// A key that is smaller for a larger number. The bits of an f32 rise with a positive number and fall with a negative
/// one; -0 counts as 0.
fn falling(number: f32) -> u32 {
    let bits = (number + 0.0).to_bits();
    match bits >> 31 {
        0 => !(bits | 1 << 31),
        _ => bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exercises::top_k;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ordering_all_equals_selecting_all(
            numbers in prop::collection::vec(prop_oneof![
                any::<f32>().prop_filter("a number", |x| !x.is_nan()),
                prop::sample::select(vec![0.0, -0.0, 1.0, -1.0, f32::NEG_INFINITY, f32::INFINITY]),
            ], 0..200)
        ) {
            let (mut ids, mut cards, mut selected) = (Vec::new(), Cards::default(), Vec::new());
            order_all(&numbers, &mut ids, &mut cards);
            top_k(&numbers, numbers.len(), &mut selected);
            prop_assert_eq!(ids, selected);
        }
    }
}
