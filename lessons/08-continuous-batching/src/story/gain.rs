//! The gain by mix of lengths, counted in steps: no model, only lengths.

use super::load::{Mix, plan};
use super::{SLOTS, Scene};
use continuous_batching::runner::NoModel;
use continuous_batching::{Delivery, Engine, EngineLimits, Slots};
use lab::number::grouped;
use lab::story::Story;
use static_batching::workload::{Lengths, Pace, arrivals};
use training::TokenId;

/// Number of requests in each counted run: so large that the end of the queue makes no difference.
const MANY: usize = 20_000;

/// Steps of lesson 07 and of the engine for `count` requests of these lengths.
pub fn steps_of(lengths: &Lengths, count: usize, seed: u64, slots: usize) -> (u64, u64) {
    let requests = arrivals(seed, count, lengths, &Pace::AtOnce);
    let batches = plan(requests.iter().map(|request| request.new_tokens), slots).steps();
    // Neither a model nor a prompt changes the schedule: one token stands for the prompt.
    let limits = EngineLimits {
        max_running: slots,
        max_new_tokens: usize::MAX,
        max_seq_len: 1 << 20,
        vocab_size: 1,
        end_of_text: Vec::new(),
    };
    let mut engine = Engine::new(NoModel::new(1), Slots::new(slots, 1 << 20), limits);
    for request in &requests {
        let accepted = engine.submit(&[TokenId(0)], request.new_tokens);
        accepted.expect("a token that this engine knows");
    }
    let done = engine.run(&mut |_| Delivery::Taken);
    done.expect("nothing is computed, so nothing fails");
    (batches, engine.num_steps())
}

/// The gain from lengths alone.
pub fn counted(story: &mut Story, scene: &Scene, mixes: &[Mix]) {
    story.step(
        "Ask what the gain depends on",
        "A static batch takes as many steps as its longest answer; where slots are refilled, the mean answer counts.",
    );
    let exponential = Lengths::exponential(16, 40.0, 100_000);
    let equal = Lengths::equal(16, 40);
    let mut lines = [5, SLOTS, 32]
        .map(|slots| ("exponential, mean 40", &exponential, slots, Some(harmonic(slots))))
        .to_vec();
    lines.push(("equal", &equal, SLOTS, Some(1.0)));
    let others = mixes.iter().filter(|mix| mix.id != "exponential");
    lines.extend(others.map(|mix| (mix.name, &mix.lengths, SLOTS, None)));
    let mut gains = Vec::new();
    let rows: Vec<[String; 6]> = lines
        .into_iter()
        .map(|(name, lengths, slots, expected)| {
            let (batches, engine) = steps_of(lengths, MANY, scene.seed, slots);
            let gain = batches as f64 / engine as f64;
            gains.push((slots, gain));
            let expected = expected.map_or(String::new(), |gain| format!("{gain:.2}"));
            let (steps, gain) = ((grouped(batches), grouped(engine)), format!("{gain:.2}"));
            [name.to_owned(), slots.to_string(), expected, steps.0, steps.1, gain]
        })
        .collect();
    // The first three are the exponential ones.
    gains.truncate(3);
    let at_eight = gains[1].1;
    story.predict_with(
        "gain",
        &[
            ("slots", &SLOTS),
            ("gain", &format!("{at_eight:.1}")),
            ("counted", &format!("{at_eight:.2}")),
            ("expected", &format!("{:.2}", harmonic(SLOTS))),
            ("requests", &MANY),
        ],
    );
    let head = [
        "lengths",
        "batch",
        "longest / mean",
        "steps static",
        "continuous",
        "times",
    ];
    story.rows(&head, rows);
    story.values("exponential_gain", &gains);
    story.say("No engine and no model is in these numbers, only lengths. With equal lengths there is nothing to gain.");
}

/// 1 + 1/2 + … + 1/n: the mean of the longest of n exponential lengths, divided by the mean length.
pub fn harmonic(n: usize) -> f64 {
    (1..=n).map(|i| 1.0 / i as f64).sum()
}
