//! What joining and leaving is worth by mix of lengths, counted in steps: no model, only lengths.

use super::load::{Mix, static_steps};
use super::{SLOTS, Scene};
use continuous_batching::runner::NoModel;
use continuous_batching::{Delivery, Engine, EngineLimits, Slots};
use lab::story::{Choice, Prediction, Story};
use lab::table::Table;
use static_batching::workload::{Lengths, Pace, arrivals};
use training::TokenId;

/// Requests of a count: so many that the end of the queue does not show.
const MANY: usize = 20_000;

/// Steps of lesson 07 and of the engine for `count` requests of these lengths.
pub fn steps_of(lengths: &Lengths, count: usize, seed: u64, slots: usize) -> (u64, u64) {
    let requests = arrivals(seed, count, lengths, &Pace::AtOnce);
    let pairs = requests.iter().map(|r| (r.prompt_tokens, r.new_tokens));
    let batches = static_steps(pairs, slots).steps();
    // No model is needed to see who sits where, and no prompt: one token stands for it.
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
    let gain_of = |lengths: &Lengths, slots: usize| {
        let (batches, engine) = steps_of(lengths, MANY, scene.seed, slots);
        batches as f64 / engine as f64
    };
    let at_eight = gain_of(&exponential, SLOTS);
    let right = format!("about {at_eight:.1} times");
    let because = format!(
        "The mean longest of {SLOTS} over the mean of all. For exponential lengths that is 1 + 1/2 + … + 1/{SLOTS} = {:.2}; counted over {MANY} requests: {at_eight:.2}.",
        harmonic(SLOTS)
    );
    story.predict(Prediction {
        id: "gain",
        question: &format!(
            "Lengths of answers are exponential, many short and few long, and a batch holds {SLOTS}. How many times fewer steps does the engine take?"
        ),
        options: &[
            Choice {
                text: "the same: both have as many slots",
                answer_to_wrong: Some("In a static batch most slots are done early and wait for the longest."),
            },
            Choice { text: &right, answer_to_wrong: None },
            Choice {
                text: "8 times",
                answer_to_wrong: Some("That would need a static batch in which one slot works all the time and seven wait."),
            },
        ],
        answer: 1,
        because: &because,
    });
    let mut table = Table::new(&[
        "lengths",
        "batch",
        "longest / mean",
        "steps static",
        "continuous",
        "times",
    ]);
    let mut row = |name: &str, lengths: &Lengths, slots: usize, expected: Option<f64>| {
        let (batches, engine) = steps_of(lengths, MANY, scene.seed, slots);
        table.row([
            name.to_owned(),
            slots.to_string(),
            expected.map_or(String::new(), |gain| format!("{gain:.2}")),
            lab::number::grouped(batches),
            lab::number::grouped(engine),
            format!("{:.2}", batches as f64 / engine as f64),
        ]);
        batches as f64 / engine as f64
    };
    let mut gains = Vec::new();
    for slots in [5, SLOTS, 32] {
        gains.push((
            slots,
            row("exponential, mean 40", &exponential, slots, Some(harmonic(slots))),
        ));
    }
    row("equal", &Lengths::equal(16, 40), SLOTS, Some(1.0));
    for mix in mixes.iter().filter(|mix| mix.id != "exponential") {
        row(mix.name, &mix.lengths, SLOTS, None);
    }
    story.table(&table);
    story.values("exponential_gain", &gains);
    story.say("No engine and no model is in these numbers, only lengths. With equal lengths there is nothing to gain.");
}

/// 1 + 1/2 + … + 1/n: the mean longest of n exponential lengths, in means.
pub fn harmonic(n: usize) -> f64 {
    (1..=n).map(|i| 1.0 / i as f64).sum()
}
