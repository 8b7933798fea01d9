//! The gain by mix of lengths: in steps, where only lengths count, and in time, with measured prices of steps.

use super::load::Mix;
use super::prices::{Prices, Prompts, Run, in_batches, in_engine};
use super::{SLOTS, Scene};
use lab::number::grouped;
use lab::story::Story;
use static_batching::prices::StepPrices;
use static_batching::serve::Window;
use static_batching::workload::{Arrival, Lengths, Pace, arrivals};
use std::time::Duration;

/// Number of requests in each counted run: so large that the end of the queue makes no difference.
const MANY: usize = 20_000;
/// The second batch size of the claim.
pub const LARGE: usize = 32;

/// The same requests, all there from the start, in static batches and in the engine.
pub struct Both {
    batches: Run,
    engine: Run,
}

impl Both {
    pub fn of(prices: &StepPrices, stream: &[Arrival], slots: usize, prompts: Prompts) -> anyhow::Result<Both> {
        let window = Window::new(slots, Duration::ZERO)?;
        Ok(Both {
            batches: in_batches(prices, stream, &window, prompts),
            engine: in_engine(prices, stream, slots)?,
        })
    }

    /// How many times fewer steps the engine takes.
    pub fn in_steps(&self) -> f64 {
        self.batches.num_steps() as f64 / self.engine.num_steps() as f64
    }

    /// How many times less time.
    pub fn in_time(&self) -> f64 {
        self.batches.seconds() / self.engine.seconds()
    }
}

/// The gain in steps from lengths alone.
pub fn counted(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Ask what the gain depends on",
        "A static batch takes as many steps as its longest answer; where slots are refilled, the mean answer counts.",
    );
    let each_step_alike = StepPrices::new(vec![(1.0, 1.0), (2.0, 1.0)]);
    let (exponential, equal) = (Lengths::exponential(1, 40.0, 100_000), Lengths::equal(1, 40));
    let (mut gains, mut rows) = (Vec::new(), Vec::new());
    for (name, lengths, slots, expected) in [
        ("exponential, mean 40", &exponential, 5, harmonic(5)),
        ("exponential, mean 40", &exponential, SLOTS, harmonic(SLOTS)),
        ("exponential, mean 40", &exponential, LARGE, harmonic(LARGE)),
        ("equal, 40", &equal, SLOTS, 1.0),
    ] {
        let stream = arrivals(scene.seed, MANY, lengths, &Pace::AtOnce);
        let both = Both::of(&each_step_alike, &stream, slots, Prompts::Padded)?;
        let steps = |run: &Run| grouped(run.num_steps() as u64);
        rows.push([
            name.to_owned(),
            slots.to_string(),
            format!("{expected:.2}"),
            steps(&both.batches),
            steps(&both.engine),
            format!("{:.2}", both.in_steps()),
        ]);
        gains.push((slots, both.in_steps()));
    }
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
    story.say("No model is in these numbers, only lengths. With equal lengths there is nothing to gain.");
    Ok(())
}

/// The gain of one mix: its id, and at a batch of 8 and of 32 the gain in steps and in time.
#[derive(Clone, Copy, serde::Serialize)]
pub struct Gain {
    pub id: &'static str,
    pub steps_8: f64,
    pub time_8: f64,
    pub steps_32: f64,
    pub time_32: f64,
    /// Gain in time at a batch of 8, if the prompts of the static batches cost no padding.
    pub unpadded_8: f64,
}

/// The gain in time of each mix: every step costs what a step of so many rows took.
pub fn priced(story: &mut Story, scene: &Scene, mixes: &[Mix], prices: &Prices) -> anyhow::Result<Vec<Gain>> {
    let mut gains = Vec::new();
    for mix in mixes {
        let stream = arrivals(scene.seed, MANY / 5, &mix.lengths, &Pace::AtOnce);
        let both = |slots, prompts| Both::of(&prices.steps, &stream, slots, prompts);
        let (small, large) = (both(SLOTS, Prompts::Padded)?, both(LARGE, Prompts::Padded)?);
        gains.push(Gain {
            id: mix.id,
            steps_8: small.in_steps(),
            time_8: small.in_time(),
            steps_32: large.in_steps(),
            time_32: large.in_time(),
            unpadded_8: both(SLOTS, Prompts::Unpadded)?.in_time(),
        });
    }
    let head = [
        "lengths",
        "batch 8: steps",
        "time",
        "no padding",
        "batch 32: steps",
        "time",
    ];
    let rows = mixes.iter().zip(&gains).map(|(mix, gain)| {
        let times = [gain.steps_8, gain.time_8, gain.unpadded_8, gain.steps_32, gain.time_32];
        [
            vec![mix.name.to_owned()],
            times.map(|times| format!("{times:.2}")).to_vec(),
        ]
        .concat()
    });
    story.rows(&head, rows);
    story.values("gains", &gains);
    story.say(
        "Each number says how many times fewer steps, or less time, the engine needs than lesson 07's batches; \"no \
         padding\" leaves the padding of prompts out of their cost. Time differs from steps: a full step costs more \
         than a step of few rows, the rows of prompts are the same in both, and padding is not.",
    );
    Ok(gains)
}

/// 1 + 1/2 + … + 1/n: the mean of the longest of n exponential lengths, divided by the mean length.
pub fn harmonic(n: usize) -> f64 {
    (1..=n).map(|i| 1.0 / i as f64).sum()
}
