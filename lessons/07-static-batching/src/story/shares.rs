//! How much of a padded batch is useful, by the rule that pads.

use super::{Scene, made_up_tokens};
use generation::State;
use generation::forward::forward as forward_without_cache;
use lab::chart::Chart;
use lab::number;
use lab::race::Race;
use lab::story::{Choice, Claim, Prediction, Story, Verdict};
use lab::table::Table;
use static_batching::forward::forward;
use static_batching::percentile::percentile;
use static_batching::rules::{Cells, Rule, cells};
use static_batching::workload::{Distribution, Lengths, Pace, arrivals};
use static_batching::{BatchState, Pad, PaddedBatch, Padding, Width, work};
use std::cell::RefCell;
use training::TokenId;

/// The claim's own figures.
const MEAN: f64 = 80.0;
const MAX: usize = 512;
const PERCENTS: [f64; 3] = [50.0, 80.0, 95.0];
const PROMPTS: usize = 4096;
const BATCH: usize = 8;

/// B2 and B3, counted.
pub fn shares(story: &mut Story, seed: u64) -> anyhow::Result<()> {
    story.step(
        "Count the useful cells",
        "4096 prompts, 80 tokens in the mean, none above 512: many short ones and a few long ones, as in real traffic.",
    );
    let lengths = Lengths::Independent {
        prompt: Distribution::log_normal(MEAN, 0.8, MAX),
        new: Distribution::Equal(1),
    };
    let stream = arrivals(seed, PROMPTS, &lengths, &Pace::AtOnce);
    let lengths: Vec<usize> = stream.iter().map(|a| a.prompt_tokens).collect();
    let mean = lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
    let at = |percent| percentile(&lengths, percent).unwrap_or(0);
    let global = cells(&lengths, BATCH, &Rule::Global(MAX));
    let percent_of = |cells: Cells| format!("about {:.0} %", 100.0 * cells.share());
    let right = percent_of(global);
    story.predict(Prediction {
        id: "useful-share",
        question: "Every prompt is padded to 512. Which share of the computed cells holds a token?",
        options: &[
            Choice {
                text: "about 84 %",
                answer_to_wrong: Some("That is the share of the padding."),
            },
            Choice {
                text: "about half",
                answer_to_wrong: Some(
                    "It would be so if lengths were spread evenly up to 512. Most prompts are far shorter.",
                ),
            },
            Choice {
                text: &right,
                answer_to_wrong: None,
            },
        ],
        answer: 2,
        because: "Mean over maximum: 80 of 512.",
    });
    story.show_as("mean length", mean, format!("{mean:.1}"));
    story.show_as(
        "P50, P80, P95, longest",
        [at(50.0), at(80.0), at(95.0), at(100.0)],
        format!("{}, {}, {}, {}", at(50.0), at(80.0), at(95.0), at(100.0)),
    );
    let rules = [
        ("the maximum, 512", Rule::Global(MAX)),
        ("the batch's longest", Rule::Own),
        ("the bucket's border", Rule::Buckets(PERCENTS.to_vec())),
        ("bucket and batch's longest", Rule::BucketsOwn(PERCENTS.to_vec())),
    ]
    .map(|(name, rule)| (name, cells(&lengths, BATCH, &rule)));
    let recovered = |cells: &Cells| 1.0 - cells.padding() as f64 / global.padding() as f64;
    let mut table = Table::new(&["padded to", "cells", "with a token", "useful", "waste recovered"]);
    let mut chart = Chart::bars("useful-share", "Cells that hold a token, by padding rule")
        .y_label("useful share, %, more is better")
        .note(
            "4096 prompts, mean 80 tokens, at most 512; batches of 8 in order of arrival; buckets cut at P50, P80, P95",
        );
    for (name, cells) in &rules {
        table.row([
            (*name).to_owned(),
            number::grouped(cells.computed),
            number::grouped(cells.useful),
            format!("{:.1} %", 100.0 * cells.share()),
            format!("{:.0} %", 100.0 * recovered(cells)),
        ]);
        chart = chart.bar(name, 100.0 * cells.share());
    }
    story.table(&table);
    story.values("cells", rules.map(|(_, cells)| cells));
    let chart = chart.baseline("the maximum, 512");
    claims(story, mean, &rules.map(|(_, cells)| cells), recovered);
    story.chart(&chart)?;
    Ok(())
}

fn claims(story: &mut Story, mean: f64, rules: &[Cells; 4], recovered: impl Fn(&Cells) -> f64) {
    let [global, own, buckets, both] = rules;
    let share = 100.0 * global.share();
    story.claim(Claim {
        id: "B2",
        claimed: "Padding to a global maximum of 512 when the mean length is 80 leaves about 15 % useful work",
        value: share,
        unit: "% of the cells hold a token",
        verdict: match share {
            share if (13.0..=18.0).contains(&share) => Verdict::Holds,
            share if share < 30.0 => Verdict::Partly,
            _ => Verdict::NotHere,
        },
        note: &format!(
            "Counted: mean {mean:.1} over 512. It follows from the two numbers alone, whatever the lengths in between."
        ),
    });
    let (of_own, of_buckets) = (100.0 * recovered(own), 100.0 * recovered(buckets));
    let worse = of_own.min(of_buckets);
    story.claim(Claim {
        id: "B3",
        claimed: "Padding to the batch's own maximum, and buckets cut at P50/P80/P95, recover most of it",
        value: of_buckets,
        unit: "% of the wasted cells recovered by buckets",
        verdict: match worse {
            worse if worse > 50.0 => Verdict::Holds,
            _ if of_own.max(of_buckets) > 50.0 => Verdict::Partly,
            _ => Verdict::NotHere,
        },
        note: &format!(
            "Counted. The batch's own maximum recovers {of_own:.0} % of the waste and leaves {:.0} % useful; buckets {of_buckets:.0} % and {:.0} %; both \
             together {:.0} % useful. Buckets have a price that cells do not show: a prompt waits for mates of its own bucket.",
            100.0 * own.share(),
            100.0 * buckets.share(),
            100.0 * both.share(),
        ),
    });
}

/// Prompts of the race, in tokens.
const RACED: [usize; 8] = [24, 40, 56, 64, 80, 88, 120, 168];

/// Padding is masked, and computed.
pub fn masked(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let llama = &scene.model.config.llama;
    let widest = MAX.min(llama.max_seq_len);
    story.step(
        "Pay for the mask",
        "Attention skips padding. The first pass over eight prompts, 80 tokens in the mean, as wide as they need and as wide as the maximum.",
    );
    let lengths: Vec<usize> = RACED.iter().map(|len| (*len).min(widest)).collect();
    let longest = lengths.iter().copied().max().unwrap_or(1);
    let madds = |width| work::of_prefill(llama, 0, &lengths, width).multiply_adds();
    let factor = madds(widest) as f64 / madds(longest) as f64;
    let text = format!("{factor:.1} times as many");
    story.predict(Prediction {
        id: "masked",
        question: &format!(
            "The longest has {longest} tokens. How many more multiply-adds does the pass do {widest} cells wide than {longest}?"
        ),
        options: &[
            Choice { text: "none, the rest is masked", answer_to_wrong: Some("A mask is a matter of attention. The products see rows, and multiply all of them.") },
            Choice { text: "half as many again", answer_to_wrong: Some("That would be so if attention were most of the work.") },
            Choice { text: &text, answer_to_wrong: None },
        ],
        answer: 2,
        because: "Nearly in proportion to the width: a cell of padding is spared attention, and that is a few per cent.",
    });
    let prompts: Vec<Vec<TokenId>> = lengths
        .iter()
        .enumerate()
        .map(|(salt, len)| made_up_tokens(&scene.model, *len, salt))
        .collect();
    let (model, pool) = (&scene.model, &scene.pool);
    let slices: Vec<&[TokenId]> = prompts.iter().map(Vec::as_slice).collect();
    let batches = [widest, longest].map(|width| {
        let rule = Pad {
            side: Padding::Left,
            width: Width::Exactly(width),
        };
        PaddedBatch::prefill(llama, &slices, rule)
    });
    let state = RefCell::new(BatchState::new(&model.config));
    let pass = |batch: &PaddedBatch| {
        let state = &mut *state.borrow_mut();
        state.prepare(&model.config, lengths.iter().copied());
        let caches = &mut state.caches;
        let (config, weights) = (&model.config, &model.weights);
        let logits = forward(config, weights, &mut state.state, caches, pool, batch);
        logits.expect("the prompts fit").to_vec()
    };
    let single = RefCell::new(State::new(&model.config, longest));
    let one_by_one = || -> Vec<f32> {
        let state = &mut *single.borrow_mut();
        let mut all = Vec::new();
        for prompt in &slices {
            let (config, weights) = (&model.config, &model.weights);
            let logits = forward_without_cache(config, weights, state, pool, prompt);
            all.extend_from_slice(logits.expect("the prompt fits"));
        }
        all
    };
    let [wide, narrow] = batches;
    let (wide, narrow) = (wide?, narrow?);
    let (wide_name, narrow_name) = (format!("padded to {widest}"), format!("padded to {longest}"));
    let race = Race::new("padded-prefill", "First pass over eight prompts")
        .unit("ms")
        .rounds(3)
        .baseline(&wide_name)
        .entry(&wide_name, None, || pass(&wide))
        .entry(&narrow_name, None, || pass(&narrow))
        .entry("one by one, no padding", None, one_by_one)
        .check(|wide, other| match wide == other {
            true => Ok(()),
            false => Err("padding changed a logit".to_owned()),
        });
    let result = story.race(race)?;
    story.say(format!(
        "Counted {factor:.1} times the work, measured {:.1} times the time; and the logits have the same bits. With many rows arithmetic bounds: \
         padding a prompt is never free, and the last bar shows that here even company is not needed.",
        result.ratio(&narrow_name, &wide_name)
    ));
    story.values("padded_multiply_adds", [madds(widest), madds(longest)]);
    Ok(())
}
