//! All of many numbers in order, without comparing any two.
//!
//! ```text
//! simple:  sort by comparisons                               n log2 n comparisons, each of two numbers far apart in memory
//! here:    deal out by 11 bits, three times                   6 n looks, and nothing is compared
//! ```
//!
//! Source: radix sort, Knuth, The Art of Computer Programming, volume 3, section 5.2.5.

/// Bits of a number that one pass sorts by; three passes see all 32.
const BITS: usize = 11;

/// Indices of all numbers, the largest first, equal ones by the lower index: what [`crate::select::top_k`] gives for as many as there are.
///
/// Where most of a vocabulary is kept, selecting it first is of no use. Here the indices are dealt out by the lowest eleven bits of their numbers, then by the
/// middle ones, then by the highest; each pass leaves those that are equal for it in their order. `spare` is scratch. None is NaN. Cost: six looks at each
/// number; nothing is allocated once both had room for all indices.
pub fn order_all(numbers: &[f32], ids: &mut Vec<u32>, spare: &mut Vec<u32>) {
    ids.clear();
    ids.extend(0..numbers.len() as u32);
    spare.clear();
    spare.resize(ids.len(), 0);
    for pass in 0..3 {
        let digit =
            |id: u32| (falling(numbers[id as usize]) >> (pass * BITS)) as usize % (1 << BITS);
        // How many have each digit; then, where those begin.
        let mut places = [0u32; 1 << BITS];
        for id in ids.iter() {
            places[digit(*id)] += 1;
        }
        let mut before = 0;
        for place in &mut places {
            (*place, before) = (before, before + *place);
        }
        for id in ids.iter() {
            let place = &mut places[digit(*id)];
            spare[*place as usize] = *id;
            *place += 1;
        }
        std::mem::swap(ids, spare);
    }
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
            let (mut ids, mut spare, mut selected) = (Vec::new(), Vec::new(), Vec::new());
            order_all(&numbers, &mut ids, &mut spare);
            top_k(&numbers, numbers.len(), &mut selected);
            prop_assert_eq!(ids, selected);
        }
    }
}
