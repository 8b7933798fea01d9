//! The functions of the exercises, each by itself, smallest case first; the predictions, recomputed; and at the end the
//! whole.
//!
//! Each group uses its own function and nothing that another exercise writes.

use training::TokenId;

/// Counts allocations, for the exercise that must make none.
#[global_allocator]
static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();

/// A text whose tokens are its letters, so that a message can be read.
fn letters(text: &str) -> Vec<TokenId> {
    text.bytes().map(|byte| TokenId(u32::from(byte))).collect()
}

/// The letters of such a text.
fn spelled(tokens: &[TokenId]) -> String {
    tokens
        .iter()
        .map(|token| char::from_u32(token.0).unwrap_or('?'))
        .collect()
}

/// Tokens from their numbers.
fn ids(numbers: &[u32]) -> Vec<TokenId> {
    numbers.iter().map(|&number| TokenId(number)).collect()
}

/// The option that `course.toml` says is right.
fn right_option(id: &str) -> String {
    let course: toml::Table = include_str!("../course.toml").parse().unwrap();
    let exercises = course["exercises"].as_array().unwrap();
    let exercise = exercises
        .iter()
        .find(|exercise| exercise["id"].as_str() == Some(id))
        .unwrap_or_else(|| panic!("course.toml has no exercise {id}"));
    let answer = exercise["answer"].as_integer().unwrap() as usize;
    exercise["options"][answer].as_str().unwrap().to_owned()
}

/// 03.1: join a pair of neighbours wherever it stands.
///
/// `merge_pair(tokens, pair, merged)` gives the tokens in which each occurrence of `pair` is one token, `merged`. In
/// these tests tokens are letters, and the joined token is called Z.
mod ex_03_1_merge_pair {
    use super::{letters, spelled};
    use training::TokenId;
    use training::exercises::merge_pair;

    const Z: TokenId = TokenId(b'Z' as u32);

    fn merged(text: &str, pair: &str) -> String {
        let pair = letters(pair);
        spelled(&merge_pair(&letters(text), (pair[0], pair[1]), Z))
    }

    #[track_caller]
    fn check(text: &str, pair: &str, expected: &str) {
        let found = merged(text, pair);
        assert_eq!(
            found, expected,
            "`{text}` with the pair {pair} joined to Z: expected `{expected}`, found `{found}`"
        );
    }

    /// The smallest case: the pair and nothing else.
    #[test]
    fn a_pair_becomes_one_token() {
        check("ab", "ab", "Z");
        check("cab", "ab", "cZ");
    }

    #[test]
    fn a_text_without_the_pair_stays_as_it_is() {
        check("", "ab", "");
        check("acb", "ab", "acb");
    }

    /// What stands behind the last pair stays, a single last token too.
    #[test]
    fn the_last_token_is_kept() {
        check("a", "ab", "a");
        check("abc", "ab", "Zc");
        check("cabcc", "ab", "cZcc");
    }

    #[test]
    fn every_occurrence_is_joined() {
        check("abab", "ab", "ZZ");
        check("abcabdab", "ab", "ZcZdZ");
    }

    /// (a, b) is not (b, a).
    #[test]
    fn the_order_of_the_two_counts() {
        check("bab", "ab", "bZ");
        check("baab", "ab", "baZ");
    }

    /// With the pair (a, a), the middle one of three belongs to the first pair and can not be half of a second.
    #[test]
    fn a_token_is_joined_once() {
        check("aaaa", "aa", "ZZ");
        check("baaabaa", "aa", "bZabZ");
    }

    /// From left to right: the third one is left over.
    #[test]
    fn the_last_of_three_stays_alone() {
        check("aaa", "aa", "Za");
    }

    /// Every text of up to five letters out of a, b, c: no pair is left, and taking Z apart again gives the text.
    #[test]
    fn taken_apart_again_it_is_the_same_text() {
        let mut texts = vec![String::new()];
        for _ in 0..6 {
            for pair in ["ab", "aa"] {
                for text in &texts {
                    let found = merged(text, pair);
                    assert_eq!(
                        found.replace('Z', pair),
                        *text,
                        "`{text}` became `{found}`; with {pair} for Z that is another text"
                    );
                    assert!(
                        !found.contains(pair),
                        "`{text}` became `{found}`: a pair {pair} is left"
                    );
                }
            }
            texts = texts
                .iter()
                .flat_map(|text| ["a", "b", "c"].map(|letter| format!("{text}{letter}")))
                .collect();
        }
    }
}

/// 03.2: a row of logits becomes the gradient of its cross entropy.
///
/// `cross_entropy_backward(logits, target, weight)` overwrites the row by
/// `weight · (softmax(logits) - one_hot(target))` and returns `-ln softmax(logits)[target]`, in nats.
mod ex_03_2_cross_entropy_backward {
    use training::TokenId;
    use training::exercises::cross_entropy_backward;

    /// The loss of a row and its gradient, in f64, as the formula says it.
    fn by_the_formula(logits: &[f32], target: usize, weight: f32) -> (f64, Vec<f64>) {
        let largest = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        let powers: Vec<f64> = logits.iter().map(|&x| (f64::from(x) - largest).exp()).collect();
        let sum: f64 = powers.iter().sum();
        let gradient = powers.iter().enumerate().map(|(index, power)| {
            let one_hot = f64::from(u8::from(index == target));
            f64::from(weight) * (power / sum - one_hot)
        });
        let loss = sum.ln() + largest - f64::from(logits[target]);
        (loss, gradient.collect())
    }

    #[track_caller]
    fn check(logits: &[f32], target: usize, weight: f32) {
        let (expected_loss, expected) = by_the_formula(logits, target, weight);
        let mut row = logits.to_vec();
        let loss = cross_entropy_backward(&mut row, TokenId(target as u32), weight);
        let what = if logits.len() > 6 {
            format!("{} logits", logits.len())
        } else {
            format!("logits {logits:?}")
        };
        let what = format!("{what}, target {target}, weight {weight}");
        for (index, (&found, &expected)) in row.iter().zip(&expected).enumerate() {
            assert!(
                (f64::from(found) - expected).abs() < 2e-6,
                "{what}: the gradient at index {index} must be {expected:.6}, found {found:.6}"
            );
        }
        // f32 near 1000 has steps of 6e-5.
        let largest = logits.iter().fold(1.0_f32, |largest, x| largest.max(x.abs()));
        assert!(
            (f64::from(loss) - expected_loss).abs() < 1e-5 + 1e-6 * f64::from(largest),
            "{what}: the cross entropy must be {expected_loss:.6} nats, found {loss:.6}"
        );
    }

    /// Two equal logits are two probabilities of a half: a loss of ln 2, and half a step each way.
    #[test]
    fn two_equal_logits_give_halves() {
        check(&[0.0, 0.0], 0, 1.0);
        check(&[3.0, 3.0], 1, 1.0);
    }

    /// Logits 0, ln 2, 0 are probabilities 1/4, 1/2, 1/4.
    #[test]
    fn three_logits_worked_by_hand() {
        let row = [0.0, std::f32::consts::LN_2, 0.0];
        check(&row, 1, 1.0);
        check(&row, 0, 1.0);
    }

    /// Without the 1 that is taken away at the target, every logit would be pushed down, the right one too.
    #[test]
    fn the_target_is_pushed_up_and_all_others_down() {
        let mut row = [1.0, 0.0, 2.0, -1.0];
        cross_entropy_backward(&mut row, TokenId(2), 1.0);
        for (index, &slope) in row.iter().enumerate() {
            let is_right = if index == 2 { slope < 0.0 } else { slope > 0.0 };
            let sign = if index == 2 { "below" } else { "above" };
            assert!(
                is_right,
                "target 2: the gradient at index {index} must be {sign} 0, found {slope}; a step goes against the gradient"
            );
        }
        let sum: f32 = row.iter().sum();
        assert!(
            sum.abs() < 1e-6,
            "a row of gradients sums to 0 (1 of softmax - 1 at the target), found {sum}"
        );
    }

    /// e^1000 is infinite in f32. The largest logit is subtracted first, and nothing changes but that.
    #[test]
    fn large_logits_stay_finite() {
        for logits in [[1000.0, 0.0], [-1000.0, -1000.0], [500.0, 499.0]] {
            let mut row = logits;
            let loss = cross_entropy_backward(&mut row, TokenId(1), 1.0);
            assert!(
                loss.is_finite() && row.iter().all(|slope| slope.is_finite()),
                "logits {logits:?}, target 1: loss {loss} and gradient {row:?} must be finite; e^89 is infinite in f32"
            );
        }
    }

    #[test]
    fn large_logits_give_the_same_as_small_ones() {
        check(&[1000.0, 0.0], 0, 1.0);
        check(&[1000.0, 0.0], 1, 1.0);
        check(&[-1000.0, -1000.0], 0, 1.0);
        check(&[500.0, 499.0, 498.0], 2, 1.0);
    }

    /// By the time that the loss is computed, the row may hold something else than the target's logit.
    #[test]
    fn the_loss_is_that_of_the_row_that_came_in() {
        let mut row = [2.0, 1.0];
        let loss = cross_entropy_backward(&mut row, TokenId(0), 1.0);
        let expected = (-1.0_f32).exp().ln_1p();
        assert!(
            (loss - expected).abs() < 1e-5,
            "logits [2, 1], target 0: -ln(e^2 / (e^2 + e^1)) is {expected:.4}, found {loss:.4}; was the target's logit read \
             after the row was overwritten?"
        );
    }

    /// `weight` is 1/rows in a batch: it makes gradients those of a mean. The loss is reported for each row as it is.
    #[test]
    fn the_weight_scales_the_gradient_and_not_the_loss() {
        check(&[1.0, -1.0], 0, 0.25);
        check(&[1.0, -1.0, 0.5], 1, 1.0 / 512.0);
    }

    /// A gradient is a slope: a small step of one logit moves the loss by that much.
    #[test]
    fn the_gradient_is_the_slope_of_the_loss() {
        let (logits, target) = ([0.3_f32, -0.8, 1.7, 0.1], 1);
        let mut gradient = logits;
        cross_entropy_backward(&mut gradient, TokenId(target as u32), 1.0);
        for index in 0..logits.len() {
            let loss_at = |step: f32| {
                let mut moved = logits;
                moved[index] += step;
                by_the_formula(&moved, target, 1.0).0
            };
            let slope = (loss_at(0.01) - loss_at(-0.01)) / 0.02;
            assert!(
                (f64::from(gradient[index]) - slope).abs() < 1e-4,
                "logits {logits:?}, target {target}: moving logit {index} by ±0.01 gives a slope of {slope:.4}, the gradient \
                 there is {:.4}",
                gradient[index]
            );
        }
    }

    /// Rows whose length is no multiple of a vector register's, and one of the model's own size.
    #[test]
    fn every_length_keeps_its_tail() {
        for len in (1..40).chain([2048]) {
            let logits: Vec<f32> = (0..len).map(|i| ((i * 37) % 23) as f32 / 4.0 - 3.0).collect();
            check(&logits, 0, 1.0);
            check(&logits, len - 1, 0.5);
        }
    }

    /// The row is the only memory: a batch has thousands of rows of 2048. Other tests allocate meanwhile, so the least
    /// of many tries counts.
    #[test]
    fn nothing_is_allocated() {
        let logits: Vec<f32> = (0..2048).map(|i| (i % 7) as f32).collect();
        let mut row = logits.clone();
        let fewest = (0..200).map(|_| {
            row.copy_from_slice(&logits);
            let work = || cross_entropy_backward(&mut row, TokenId(3), 1.0);
            lab::ledger::measure(work).1.allocations
        });
        let fewest = fewest.min().unwrap_or_default();
        assert_eq!(
            fewest, 0,
            "a row of 2048 logits: expected 0 allocations, found {fewest}; the gradient can stand where the logits stood"
        );
    }
}

/// 03.3: which documents are trained on.
///
/// `split_of(content)` reads the first eight bytes of the content's SHA-256 as a little-endian number and divides it by
/// 20: remainder 0 tests, 1 validates, the others train.
mod ex_03_3_split_of {
    use sha2::{Digest, Sha256};
    use training::exercises::split_of;
    use training::split::Split;

    #[track_caller]
    fn check(content: &str, first_bytes: &str, remainder: u64, expected: Split) {
        let found = split_of(content);
        assert_eq!(
            found, expected,
            "{content:?}: its SHA-256 begins {first_bytes}, little-endian and divided by 20 that leaves {remainder}: expected \
             {expected:?}, found {found:?}"
        );
    }

    /// Asked twice, the answer is the same: nothing random, no clock, no counter. Otherwise a corpus that is made again
    /// trains on what the last one was tested with.
    #[test]
    fn the_same_content_is_always_on_the_same_side() {
        for number in 0..300 {
            let content = format!("Document {number}.");
            let sides = [split_of(&content), split_of(&content)];
            assert_eq!(
                sides[0], sides[1],
                "{content:?} was put on {:?}, and asked again on {:?}",
                sides[0], sides[1]
            );
        }
    }

    /// One case of each remainder that matters; the digests are those of `sha256sum`.
    #[test]
    fn the_sides_are_those_that_were_published() {
        check("abc", "ba 78 16 bf 8f 01 cf ea", 14, Split::Train);
        check("Emma", "d9 da cb 3e e1 68 be 4d", 1, Split::Validation);
        check("Page 1", "e8 b8 35 52 62 d0 af 49", 0, Split::Test);
        check("Page 27", "45 40 76 ee 03 0e f8 f2", 1, Split::Validation);
        check("There was a fox.", "69 a5 37 99 c3 b1 0d 41", 13, Split::Train);
    }

    /// Big-endian would be as good a rule, but it is not the one under which the figures were measured.
    #[test]
    fn the_bytes_are_read_little_endian() {
        let big_endian = |content: &str| {
            let digest = Sha256::digest(content.as_bytes());
            match u64::from_be_bytes(digest[..8].try_into().unwrap()) % 20 {
                0 => Split::Test,
                1 => Split::Validation,
                _ => Split::Train,
            }
        };
        let contents: Vec<String> = (0..100).map(|n| format!("Page {n}")).collect();
        let all = contents.iter().all(|content| split_of(content) == big_endian(content));
        assert!(
            !all,
            "100 documents fall on the sides that big-endian reading gives: expected {:?} for \"Page 1\", whose digest begins e8 \
             b8 35 52 62 d0 af 49 and is 0x49afd0625235b8e8 when the first byte is the least; found {:?}",
            Split::Test,
            split_of("Page 1")
        );
    }

    /// Stories begin alike and many have one length. All of the content decides.
    #[test]
    fn documents_that_begin_alike_fall_on_all_sides() {
        let beginning = "Once upon a time there was a fox who lived by the river. Page";
        for side in [Split::Train, Split::Validation, Split::Test] {
            let found = (100..400).find(|n| split_of(&format!("{beginning} {n}")) == side);
            assert!(
                found.is_some(),
                "300 documents of one length that differ in their last digits: none is on {side:?}"
            );
        }
    }

    /// Chapters may end alike, with one letter or one song.
    #[test]
    fn documents_that_end_alike_fall_on_all_sides() {
        let ending = "and that was the end of the day by the river.";
        for side in [Split::Train, Split::Validation, Split::Test] {
            let found = (100..400).find(|n| split_of(&format!("Page {n}: {ending}")) == side);
            assert!(
                found.is_some(),
                "300 documents of one length that differ in their first line: none is on {side:?}"
            );
        }
    }

    #[test]
    fn eighteen_of_twenty_are_for_training() {
        let sides: Vec<Split> = (0..4000).map(|n| split_of(&format!("story {n}"))).collect();
        for (side, expected) in [(Split::Train, 3600), (Split::Validation, 200), (Split::Test, 200)] {
            let found = sides.iter().filter(|&&found| found == side).count();
            assert!(
                found.abs_diff(expected) < 60,
                "of 4000 documents about {expected} must be on {side:?}, found {found}"
            );
        }
    }
}

/// 03.4: cut a long text into windows and score each token once.
///
/// `scoring_windows(num_tokens, window, stride)` gives, for each call of the model, the positions that it reads
/// (`inputs`) and those whose prediction counts (`scored`). Position p reads token p and predicts token p + 1.
mod ex_03_4_scoring_windows {
    use std::ops::Range;
    use training::exercises::scoring_windows;
    use training::windows::ScoringWindow;

    fn windows(num_tokens: usize, window: usize, stride: usize) -> Vec<(Range<usize>, Range<usize>)> {
        scoring_windows(num_tokens, window, stride)
            .into_iter()
            .map(|ScoringWindow { inputs, scored }| (inputs, scored))
            .collect()
    }

    #[track_caller]
    fn check(num_tokens: usize, window: usize, stride: usize, expected: &[(Range<usize>, Range<usize>)]) {
        let found = windows(num_tokens, window, stride);
        assert_eq!(
            found, expected,
            "{num_tokens} tokens, window {window}, stride {stride}, as (inputs, scored): expected {expected:?}, found {found:?}"
        );
    }

    /// Every case up to 24 tokens and windows of 7; the smallest that is wrong is shown.
    #[track_caller]
    fn always(rule: &str, holds: impl Fn(usize, usize, usize, &[(Range<usize>, Range<usize>)]) -> bool) {
        for num_tokens in 0..24 {
            for window in 1..8 {
                for stride in 1..=window {
                    let found = windows(num_tokens, window, stride);
                    assert!(
                        holds(num_tokens, window, stride, &found),
                        "{num_tokens} tokens, window {window}, stride {stride}: {rule}; found (inputs, scored) {found:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_short_text_is_one_window() {
        check(5, 4, 2, &[(0..4, 0..4)]);
        check(5, 9, 3, &[(0..4, 0..4)]);
    }

    /// The first token has nothing before it, so a text of n tokens has n - 1 predictions, and one of 0 or 1 has none.
    #[test]
    fn the_first_token_is_never_predicted() {
        check(0, 4, 2, &[]);
        check(1, 4, 2, &[]);
        check(2, 4, 2, &[(0..1, 0..1)]);
    }

    /// The drawing in the function's documentation.
    #[test]
    fn eight_tokens_worked_by_hand() {
        check(8, 4, 2, &[(0..4, 0..4), (2..6, 4..6), (3..7, 6..7)]);
    }

    /// A context position was scored by the window before. Counted again, long documents weigh more than short ones.
    #[test]
    fn each_position_is_scored_once() {
        for num_tokens in 0..24 {
            for window in 1..8 {
                for stride in 1..=window {
                    let found = windows(num_tokens, window, stride);
                    let mut times = vec![0; num_tokens.saturating_sub(1)];
                    for position in found.iter().flat_map(|(_, scored)| scored.clone()) {
                        assert!(
                            position < times.len(),
                            "{num_tokens} tokens have the positions 0..{}, but {position} is scored: it would predict a token \
                             that is not there",
                            times.len()
                        );
                        times[position] += 1;
                    }
                    if let Some(position) = times.iter().position(|&times| times != 1) {
                        panic!(
                            "{num_tokens} tokens, window {window}, stride {stride}: position {position} must be scored once, \
                             and is scored {} times",
                            times[position]
                        );
                    }
                }
            }
        }
    }

    /// Side by side, the first token of each window would be predicted from nothing but itself.
    #[test]
    fn windows_after_the_first_have_context() {
        check(7, 4, 2, &[(0..4, 0..4), (2..6, 4..6)]);
        always(
            "every window after the first needs at least window - stride positions before those it scores",
            |_, window, stride, found| {
                found.iter().skip(1).all(|(inputs, scored)| {
                    inputs.start <= scored.start && scored.start - inputs.start >= window - stride
                })
            },
        );
    }

    /// The last window often scores less than `stride`. It still reads as much as the model can.
    #[test]
    fn the_last_window_reads_as_much_as_the_others() {
        check(6, 4, 3, &[(0..4, 0..4), (1..5, 4..5)]);
        always(
            "once a text is longer than the window, every window reads `window` positions",
            |num_tokens, window, _, found| {
                num_tokens <= window || found.iter().all(|(inputs, _)| inputs.len() == window)
            },
        );
    }

    #[test]
    fn no_window_is_longer_than_the_model_reads() {
        always(
            "a window has at most `window` inputs, and ends where its scored part ends",
            |_, window, _, found| {
                found
                    .iter()
                    .all(|(inputs, scored)| inputs.len() <= window && inputs.end == scored.end)
            },
        );
    }

    /// Cost: one call for the first window and one for every further `stride` positions, no more.
    #[test]
    fn no_more_windows_than_needed() {
        always(
            "after the first window, each further one scores `stride` positions, the last perhaps fewer",
            |num_tokens, window, stride, found| {
                let positions = num_tokens.saturating_sub(1);
                let further = positions.saturating_sub(window).div_ceil(stride);
                found.len() == usize::from(positions > 0) + further
            },
        );
    }
}

/// 03.5: mend the labels.
///
/// `inputs_and_targets(window)` splits a window of `seq_len + 1` tokens into what the model reads and what it must
/// predict.
mod ex_03_5_inputs_and_targets {
    use super::ids;
    use training::TokenId;
    use training::exercises::inputs_and_targets;

    /// Three positions: 10 is read and 11 must be said, and so on.
    #[test]
    fn position_t_predicts_token_t_plus_one() {
        let window = ids(&[10, 11, 12, 13]);
        let (inputs, targets) = inputs_and_targets(&window);
        let numbers = |tokens: &[TokenId]| tokens.iter().map(|token| token.0).collect::<Vec<_>>();
        let (inputs, targets) = (numbers(inputs), numbers(targets));
        assert!(
            inputs == [10, 11, 12],
            "window [10, 11, 12, 13]: the model must read [10, 11, 12], found {inputs:?}"
        );
        assert!(
            targets == [11, 12, 13],
            "window [10, 11, 12, 13]: the model must predict [11, 12, 13], found {targets:?}"
        );
    }

    /// The shipped fault in one number: a "model" that can do nothing but say again what it reads.
    #[test]
    fn a_model_that_only_copies_has_a_high_loss() {
        let window = ids(&[3, 1, 4, 1, 5, 9, 2, 6, 5]);
        let (inputs, targets) = inputs_and_targets(&window);
        // Probability 0.99 for the token that it reads, the rest shared by nine others.
        let surprise = |(read, target): (&TokenId, &TokenId)| -> f64 {
            let probability: f64 = if read == target { 0.99 } else { 0.01 / 9.0 };
            -probability.ln()
        };
        let nats: f64 = inputs.iter().zip(targets).map(surprise).sum();
        let loss = nats / inputs.len() as f64;
        assert!(
            loss > 1.0,
            "on [3, 1, 4, 1, 5, 9, 2, 6, 5] a model that only repeats what it reads has a loss of {loss:.2} nats: the answer \
             stands in the question. Expected {:.2}",
            -(0.01_f64 / 9.0).ln()
        );
    }

    /// One on, and not two: the loss function or the model may not shift again.
    #[test]
    fn the_labels_are_shifted_once() {
        for seq_len in 1..20 {
            let window: Vec<TokenId> = (0..=seq_len).map(TokenId).collect();
            let (inputs, targets) = inputs_and_targets(&window);
            assert_eq!(
                (inputs.len(), targets.len()),
                (seq_len as usize, seq_len as usize),
                "a window of {} tokens has {seq_len} inputs and as many targets",
                seq_len + 1
            );
            for (position, (read, target)) in inputs.iter().zip(targets).enumerate() {
                assert_eq!(
                    target.0,
                    read.0 + 1,
                    "window 0, 1, 2, …: position {position} reads {} and must predict {}, found {}",
                    read.0,
                    read.0 + 1,
                    target.0
                );
            }
        }
    }
}

/// 03.6: how far the loss of a perfect model falls.
///
/// A story of ten tokens names its hero five times. A coin chose between two names at the beginning; all else is fixed.
mod ex_03_6_floor {
    use super::right_option;
    use training::TokenId;
    use training::metrics::perplexity::surprise;

    /// The story `. n . n . n . n . n` with n = 1 or 2, read by a model that knows the rule: a name is even odds at
    /// first, and certain (but for e^-60) once it was said.
    #[test]
    fn the_answer_is_the_mean_surprise_of_a_perfect_model() {
        let story: Vec<u32> = (0..10).map(|at| if at % 2 == 0 { 0 } else { 2 }).collect();
        let mut nats = 0.0;
        for (at, &token) in story.iter().enumerate() {
            let before = &story[..at];
            let logits: [f32; 3] = match (at % 2, before.contains(&2)) {
                (0, _) => [60.0, 0.0, 0.0],
                (_, false) => [-60.0, 0.0, 0.0],
                (_, true) => [0.0, 0.0, 60.0],
            };
            nats += surprise(&logits, TokenId(token));
        }
        let mean = nats / story.len() as f64;
        assert_eq!(format!("{mean:.3} nats"), right_option("03.6"));
    }
}

/// 03.7: which of two models expects a text better, if they cut it into different tokens.
mod ex_03_7_ruler {
    use super::right_option;
    use training::metrics::Score;

    /// The same 1000 bytes: 250 tokens at perplexity 16, or 500 tokens at perplexity 5.
    #[test]
    fn the_answer_is_the_model_that_needs_fewer_bits_for_a_byte() {
        let score = |tokens: usize, perplexity: f64| Score {
            nats: tokens as f64 * perplexity.ln(),
            tokens,
            bytes: 1000,
        };
        let (a, b) = (score(250, 16.0), score(500, 5.0));
        assert!(a.perplexity() > b.perplexity(), "perplexity says B");
        let better = if a.bits_per_byte() < b.bits_per_byte() {
            ("A", a.bits_per_byte())
        } else {
            ("B", b.bits_per_byte())
        };
        let expected = format!("{}, with {:.2} bits for a byte", better.0, better.1);
        assert_eq!(expected, right_option("03.7"));
    }
}

/// 03.8: the pair to join next.
///
/// `most_frequent_pair(words)` counts neighbours in words that are given with how often they occur.
mod ex_03_8_most_frequent_pair {
    use super::{letters, spelled};
    use training::exercises::most_frequent_pair;

    #[track_caller]
    fn check(words: &[(&str, u64)], expected: Option<&str>) {
        let counted: Vec<_> = words.iter().map(|&(word, count)| (letters(word), count)).collect();
        let found = most_frequent_pair(&counted).map(|(a, b)| spelled(&[a, b]));
        assert_eq!(
            found.as_deref(),
            expected,
            "words with their counts {words:?}: expected {expected:?}, found {found:?}"
        );
    }

    #[test]
    fn the_most_frequent_neighbours_win() {
        check(&[("abab", 1)], Some("ab"));
        check(&[("bananan", 1)], Some("an"));
    }

    #[test]
    fn a_word_without_neighbours_has_no_pair() {
        check(&[], None);
        check(&[("a", 3), ("", 5)], None);
    }

    /// `xy` stands in one word, but that word occurs nine times.
    #[test]
    fn a_word_counts_as_often_as_it_occurs() {
        check(&[("ab", 2), ("cab", 2), ("xy", 9)], Some("xy"));
        // u g 20 times, h u 15, u n 16, p u 17, b u 4, g s 5.
        let words = [("hug", 10), ("pug", 5), ("pun", 12), ("bun", 4), ("hugs", 5)];
        check(&words, Some("ug"));
    }

    /// The end of one word and the beginning of the next are no neighbours: here `a` and `b` meet at three borders.
    #[test]
    fn pairs_do_not_cross_words() {
        let words = [
            ("zyzy", 1),
            ("xa", 1),
            ("bc", 1),
            ("da", 1),
            ("be", 1),
            ("fa", 1),
            ("bg", 1),
        ];
        check(&words, Some("zy"));
    }

    /// A hash map has another order each time that it is made; the pair must not depend on it.
    #[test]
    fn the_same_words_always_give_the_same_pair() {
        let words: Vec<_> = ('a'..='z')
            .map(|letter| (letters(&format!("{letter}{letter}")), 1))
            .collect();
        let first = most_frequent_pair(&words);
        for call in 2..=20 {
            let found = most_frequent_pair(&words);
            let spell = |pair: Option<_>| pair.map(|(a, b)| spelled(&[a, b]));
            assert!(
                found == first,
                "26 pairs that occur once each: the first call gives {:?}, call {call} gives {:?}",
                spell(first),
                spell(found)
            );
        }
    }

    /// Among equals the smaller pair wins, by its first token and then by its second. So a vocabulary trained twice is
    /// one vocabulary, whatever order a hash map keeps its entries in.
    #[test]
    fn among_equals_the_smaller_pair_wins() {
        check(&[("ba", 1), ("ab", 1)], Some("ab"));
        check(&[("az", 4), ("ba", 4), ("ay", 4)], Some("ay"));
        let many: Vec<String> = ('a'..='z').map(|letter| format!("{letter}{letter}")).collect();
        let words: Vec<(&str, u64)> = many.iter().rev().map(|word| (word.as_str(), 1)).collect();
        check(&words, Some("aa"));
    }
}

/// Everything together. Not one of the exercises: it needs all of them.
mod whole {
    use std::sync::Arc;
    use training::batch::Batch;
    use training::exercises::{merge_pair, most_frequent_pair};
    use training::metrics::score_document;
    use training::model::Llama;
    use training::tokenizer::Tokenizer;
    use training::trainer::{Schedule, Trainer};
    use training::{LlamaConfig, TokenId};

    /// Our two functions, repeated, and the crate's trainer make the same first merges.
    #[test]
    fn merging_again_and_again_is_what_the_trainer_does() {
        let text = "the cat and the hat and the bat sat on the mat that the cat had";
        let crates = Tokenizer::train(std::iter::once(text), 259 + 6).unwrap();
        // Ids of the crate's alphabet, one for each byte.
        let single = Tokenizer::train(std::iter::once(""), 259).unwrap();
        let mut words: Vec<(Vec<TokenId>, u64)> = Vec::new();
        for (index, word) in text.split(' ').enumerate() {
            let spaced = if index == 0 {
                word.to_string()
            } else {
                format!(" {word}")
            };
            words.push((single.encode(&spaced), 1));
        }
        for merge in 0..6 {
            let pair = most_frequent_pair(&words).unwrap();
            let merged = TokenId(259 + merge);
            let [left, right] = [pair.0, pair.1].map(|token| crates.piece(token).unwrap());
            assert_eq!(crates.piece(merged), Some(format!("{left}{right}")));
            for (tokens, _) in &mut words {
                *tokens = merge_pair(tokens, pair, merged);
            }
        }
    }

    /// A model of one small layer learns that after k comes k + 1, from loss ln 16 to nearly nothing. With labels that
    /// are not shifted, or a gradient of the wrong sign, it does not.
    #[test]
    fn a_small_model_learns_to_count() {
        let config = LlamaConfig {
            vocab_size: 16,
            hidden_size: 16,
            intermediate_size: 32,
            num_layers: 1,
            num_heads: 2,
            num_kv_heads: 1,
            head_dim: 8,
            max_seq_len: 32,
            ..LlamaConfig::stories()
        };
        let pool = Arc::new(layout::pool::Pool::new(1));
        let schedule = Schedule {
            batch_size: 4,
            seq_len: 16,
            peak_rate: 2e-2,
            warmup_steps: 5,
            ..Schedule::for_tokens(80 * 64)
        };
        // Token 0 ends documents, so that counting goes from 1 to 15 and round again.
        let count_from =
            |first: u32, len: u32| -> Vec<TokenId> { (0..len).map(|i| TokenId(1 + (first + i) % 15)).collect() };
        // ANCHOR: training
        let mut trainer = Trainer::new(Llama::new(config, 1, pool), schedule.clone());
        for step in 0..schedule.num_steps() as u32 {
            let windows: Vec<Vec<TokenId>> = (0..4).map(|row| count_from(step * 7 + row * 4, 17)).collect();
            trainer.train(&Batch::windows(&windows)).unwrap();
        }
        // ANCHOR_END: training
        let text = count_from(3, 40);
        let model = &trainer.model;
        let score = score_document(&text, 16, 8, 16, &mut |inputs, out| {
            out.copy_from_slice(model.logits(inputs).as_slice().expect("row-major"));
        });
        let loss = score.nats_per_token();
        assert!(loss < 0.2, "{loss} nats a token after training, ln 16 is 2.77 before");
    }
}
