//! The useful share of a padded batch, by the rule that pads.

use super::{Scene, equal, made_up_prompts, slices};
use generation::State;
use generation::forward::forward as forward_without_cache;
use lab::chart::Chart;
use lab::number;
use lab::race::Race;
use lab::story::{Claim, Story, Verdict};
use static_batching::forward::forward;
use static_batching::percentile::percentile;
use static_batching::rules::{Cells, Rule, cells};
use static_batching::workload::{Distribution, Lengths, Pace, arrivals};
use static_batching::{BatchState, Pad, PaddedBatch, Padding, Width, work};
use std::cell::RefCell;

/// The numbers of the claim.
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
    let (prompt, new) = (Distribution::log_normal(MEAN, 0.8, MAX), Distribution::Equal(1));
    let stream = arrivals(seed, PROMPTS, &Lengths::Independent { prompt, new }, &Pace::AtOnce);
    let lengths: Vec<usize> = stream.iter().map(|a| a.prompt_tokens).collect();
    let mean = lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
    let rules = [
        ("the maximum, 512", Rule::Global(MAX)),
        ("the batch's longest", Rule::Own),
        ("the bucket's border", Rule::Buckets(PERCENTS.to_vec())),
        ("bucket and batch's longest", Rule::BucketsOwn(PERCENTS.to_vec())),
    ]
    .map(|(name, rule)| (name, cells(&lengths, BATCH, &rule)));
    let percent = |cells: &Cells| 100.0 * cells.share();
    let global = rules[0].1;
    story.predict_with("useful-share", &[("share", &format!("{:.0}", percent(&global)))]);
    story.show_as("mean length", mean, format!("{mean:.1}"));
    let at = [50.0, 80.0, 95.0, 100.0].map(|percent| percentile(&lengths, percent).unwrap_or(0));
    story.show_as(
        "P50, P80, P95, longest",
        at,
        at.map(|length| length.to_string()).join(", "),
    );
    let recovered = |cells: &Cells| 100.0 * (1.0 - cells.padding() as f64 / global.padding() as f64);
    story.rows(
        &["padded to", "cells", "with a token", "useful", "waste recovered"],
        rules.iter().map(|(name, cells)| {
            [
                (*name).to_owned(),
                number::grouped(cells.computed),
                number::grouped(cells.useful),
                format!("{:.1} %", percent(cells)),
                format!("{:.0} %", recovered(cells)),
            ]
        }),
    );
    story.values("cells", rules.map(|(_, cells)| cells));
    let [_, own, buckets, both] = rules.map(|(_, cells)| cells);
    let share = percent(&global);
    story.claim(Claim {
        id: "B2",
        claimed: "Padding to a global maximum of 512 when the mean length is 80 leaves about 15 % useful work",
        value: share,
        unit: "% of the cells hold a token",
        verdict: Verdict::of((13.0..=18.0).contains(&share), share < 30.0),
        note: &format!("Counted: mean {mean:.1} over 512. The distribution of the lengths does not matter."),
    });
    let (of_own, of_buckets) = (recovered(&own), recovered(&buckets));
    story.claim(Claim {
        id: "B3",
        claimed: "Padding to the batch's own maximum, and buckets cut at P50/P80/P95, recover most of it",
        value: of_buckets,
        unit: "% of the wasted cells recovered by buckets",
        verdict: Verdict::of(of_own.min(of_buckets) > 50.0, of_own.max(of_buckets) > 50.0),
        note: &format!(
            "Counted. The batch's own maximum recovers {of_own:.0} % of the waste and leaves {:.0} % useful; buckets \
             {of_buckets:.0} % and {:.0} %; both together {:.0} % useful. Buckets have a cost that cells do not show: \
             a prompt waits for others of its own bucket.",
            percent(&own),
            percent(&buckets),
            percent(&both),
        ),
    });
    let chart = Chart::bars("useful-share", "Cells that hold a token, by padding rule")
        .y_label("useful share, %, more is better")
        .note(
            "4096 prompts, mean 80 tokens, at most 512; batches of 8 in order of arrival; buckets cut at P50, P80, P95",
        );
    let bar = |chart: Chart, (name, cells): &(&str, Cells)| chart.bar(name, percent(cells));
    story.chart(&rules.iter().fold(chart, bar).baseline(rules[0].0))?;
    Ok(())
}

/// Prompts of the race, in tokens.
const RACED: [usize; 8] = [24, 40, 56, 64, 80, 88, 120, 168];

/// Padding is masked, and computed.
pub fn masked(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Pay for the mask",
        "Attention skips padding. The first pass over eight prompts, 80 tokens in the mean, as wide as they need and \
         as wide as the maximum.",
    );
    let (model, pool, llama) = (&scene.model, &scene.pool, &scene.model.config.llama);
    let (config, weights) = (&model.config, &model.weights);
    let widest = MAX.min(llama.max_seq_len);
    let lengths = RACED.map(|len| len.min(widest));
    let longest = lengths[lengths.len() - 1];
    let [wide_work, narrow_work] =
        [widest, longest].map(|width| work::of_prefill(llama, 0, &lengths, width).multiply_adds());
    let factor = wide_work as f64 / narrow_work as f64;
    let factor_text = format!("{factor:.1}");
    story.predict_with(
        "masked",
        &[("longest", &longest), ("widest", &widest), ("factor", &factor_text)],
    );
    let prompts = made_up_prompts(model, lengths);
    let slices = slices(&prompts);
    let padded = |width| {
        let (side, width) = (Padding::Left, Width::Exactly(width));
        PaddedBatch::prefill(llama, &slices, Pad { side, width })
    };
    let (wide, narrow) = (padded(widest)?, padded(longest)?);
    let state = RefCell::new(BatchState::new(config));
    let pass = |batch: &PaddedBatch| {
        let state = &mut *state.borrow_mut();
        state.prepare(config, lengths.iter().copied());
        let logits = forward(config, weights, &mut state.state, &mut state.caches, pool, batch);
        logits.expect("the prompts fit").to_vec()
    };
    let single = RefCell::new(State::new(config, longest));
    let one_by_one = || -> Vec<f32> {
        let state = &mut *single.borrow_mut();
        let mut all = Vec::new();
        for prompt in &slices {
            let logits = forward_without_cache(config, weights, state, pool, prompt);
            all.extend_from_slice(logits.expect("the prompt fits"));
        }
        all
    };
    let (wide_name, narrow_name) = (format!("padded to {widest}"), format!("padded to {longest}"));
    let race = Race::new("padded-prefill", "First pass over eight prompts")
        .unit("ms")
        .rounds(3)
        .baseline(&wide_name)
        .entry(&wide_name, None, || pass(&wide))
        .entry(&narrow_name, None, || pass(&narrow))
        .entry("one by one, no padding", None, one_by_one);
    let result = story.race(race.check(equal))?;
    story.say(format!(
        "Counted {factor:.1} times the work, measured {:.1} times the time; and the logits have the same bits. With \
         many rows arithmetic is the limit: padding a prompt is never free. The last bar shows that prompts gain \
         nothing from a batch either.",
        result.ratio(&narrow_name, &wide_name)
    ));
    story.values("padded_multiply_adds", [wide_work, narrow_work]);
    Ok(())
}
