//! All of many numbers in order, without comparing any two.
//!
//! ```text
//! simple:  sort by comparisons                               n log2 n comparisons, each of two numbers far apart in memory
//! here:    deal out by 11 bits, three times                   8 n looks, one after the other, and nothing is compared
//! ```
//!
//! Source: radix sort, Knuth, The Art of Computer Programming, volume 3, section 5.2.5.

/// Bits of a number that one pass sorts by; three passes see all 32.
const BITS: usize = 11;

/// A number as 32 bits that fall, and behind them its index.
type Card = u64;

/// Scratch of [`order_all`]: the cards before a pass, and after it.
#[derive(Debug, Default)]
pub struct Cards {
    from: Vec<Card>,
    to: Vec<Card>,
}

impl Cards {
    /// Room for so many numbers.
    pub fn reserve(&mut self, count: usize) {
        for cards in [&mut self.from, &mut self.to] {
            cards.clear();
            cards.reserve(count);
        }
    }
}

/// Indices of all numbers, the largest first, equal ones by the lower index: what [`crate::select::top_k`] gives for as many as there are.
///
/// Where most of a vocabulary is kept, selecting it first is of no use. Here cards with the numbers are dealt out by their lowest eleven bits, then by the
/// middle ones, then by the highest; each pass leaves those that are equal for it in their order. None is NaN. Cost: eight looks at each number;
/// nothing is allocated once all had room.
pub fn order_all(numbers: &[f32], ids: &mut Vec<u32>, cards: &mut Cards) {
    let Cards { from, to } = cards;
    let digit = |card: Card, pass: usize| (card >> (32 + pass * BITS)) as usize % (1 << BITS);
    // How many cards have each digit of each pass.
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
        // Where those with each digit begin.
        let mut before = 0;
        for place in &mut *counts {
            (*place, before) = (before, before + *place);
        }
        for card in from.iter() {
            let place = &mut counts[digit(*card, pass)];
            to[*place as usize] = *card;
            *place += 1;
        }
        std::mem::swap(from, to);
    }
    ids.clear();
    ids.extend(from.iter().map(|card| *card as u32));
}

/// A whole number that is the smaller, the larger `number` is. A positive f32 grows with its bits, a negative one falls; -0 counts as 0.
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
    use crate::select::top_k;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_in_order_are_the_largest_as_many_as_there_are(
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
