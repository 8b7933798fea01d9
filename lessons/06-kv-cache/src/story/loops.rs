//! G3: the race against lesson 05 over whole answers, and why fewer rows are not as much less time.

use super::{CACHED, FITS, MOST_WORK, NAIVE, Scene, equal};
use anyhow::Context;
use generation::State;
use generation::generate::greedy;
use generation::limits::rows_of_naive_loop;
use generation::roofline::{Bound, MachineLimits};
use generation::work::Work;
use kv_cache::experiments::concat::{self, GrowingCache, Growth};
use kv_cache::generate::generate;
use kv_cache::work::{of_chunk, rows_of_cached_loop};
use kv_cache::{ContiguousCache, session};
use lab::chart::Chart;
use lab::number;
use lab::race::{Race, RaceResult};
use lab::story::{Claim, Story, Verdict};
use std::cell::RefCell;
use std::time::{Duration, Instant};
use training::TokenId;

/// New tokens of the race, as far as model and machine allow.
const NEW_TOKENS: [usize; 4] = [16, 64, 128, 256];
const GROWING: &str = "concatenated";

/// Time per token against the number of new tokens.
pub fn race(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Race the loops",
        "Whole answers of growing length, greedy, from the same prompt. If a loop gives other tokens, the race stops.",
    );
    let llama = scene.llama();
    let prompt = scene.text(16.min(llama.max_seq_len / 2));
    let affordable = |new: &usize| {
        let rows = prompt.len() + new / 2;
        let work = *new as u64 * Work::of_shape(llama, rows).multiply_adds();
        prompt.len() + new <= llama.max_seq_len && (*new == NEW_TOKENS[0] || work <= MOST_WORK)
    };
    let lengths: Vec<usize> = NEW_TOKENS.into_iter().filter(affordable).collect();
    let longest = lengths.last().copied().context("at least one length")?;
    let result = race_loops(story, scene, &prompt, &lengths)?;

    let rows = |new: usize| {
        let (p, n) = (prompt.len() as u64, new as u64);
        (rows_of_naive_loop(p, n), rows_of_cached_loop(p, n))
    };
    let gain = |new: &usize| (*new, result.ratio_at(CACHED, NAIVE, *new as f64));
    let gains: Vec<(usize, f64)> = lengths.iter().map(gain).collect();
    story.rows(
        &["new tokens", "rows, naive", "rows, cached", "fewer", "faster"],
        gains.iter().map(|(new, faster)| {
            let (all, once) = rows(*new);
            let fewer = format!("{:.1} times", all as f64 / once as f64);
            let (all, once) = (number::grouped(all), number::grouped(once));
            [new.to_string(), all, once, fewer, format!("{faster:.1} times")]
        }),
    );
    story.values("times_faster", &gains);
    bounds(story, scene, prompt.len() + longest / 2);
    claim(story, &gains, &result);

    let by_rows = |new: &usize| {
        let (all, once) = rows(*new);
        let ms = result.median_at(CACHED, *new as f64);
        (*new as f64, ms * all as f64 / once as f64)
    };
    let chart = Chart::lines("tokens", "A cached token costs what one row costs")
        .x_label("new tokens after a prompt of 16")
        .y_label("ms a token (logarithmic)")
        .log_y()
        .race(&result, &[NAIVE, CACHED, GROWING])
        .dashed("naive, if time followed rows", lengths.iter().map(by_rows).collect());
    story.chart(&chart)?;
    Ok(())
}

/// Runs a loop of `new_tokens` tokens: the tokens, and the time of one of them.
fn timed(new_tokens: usize, run: impl FnOnce() -> Vec<TokenId>) -> (Vec<TokenId>, Duration) {
    let started = Instant::now();
    let tokens = run();
    (tokens, started.elapsed() / new_tokens.max(1) as u32)
}

fn race_loops(story: &mut Story, scene: &Scene, prompt: &[TokenId], lengths: &[usize]) -> anyhow::Result<RaceResult> {
    let (model, pool, llama) = (&scene.model, &scene.pool, scene.llama());
    // The entries run in turn, so one state and one cache serve them all.
    let state = RefCell::new(State::new(&model.config, 0));
    let longest = prompt.len() + lengths.iter().max().copied().unwrap_or(0);
    let cache = RefCell::new(ContiguousCache::new(llama, longest));
    let mut race = Race::new("tokens", "One token of an answer").unit("ms").rounds(3);
    for new in lengths {
        let x = Some(*new as f64);
        race = race
            .entry_timed(NAIVE, x, || {
                let state = &mut state.borrow_mut();
                let mut run = || model.generate(state, pool, prompt, *new, &mut |_| {});
                timed(*new, || run().expect(FITS).tokens)
            })
            .entry_timed(CACHED, x, || {
                let (state, cache) = (&mut state.borrow_mut(), &mut cache.borrow_mut());
                let mut run = || session::generate(model, state, cache, pool, prompt, *new, &mut |_| {});
                timed(*new, || run().expect(FITS).generation.tokens)
            })
            .entry_timed(GROWING, x, || {
                let (state, mut grown) = (&mut state.borrow_mut(), GrowingCache::new(llama, Growth::Exact));
                let mut next =
                    |tokens: &[TokenId]| Ok(greedy(concat::forward(model, state, &mut grown, pool, tokens)?)?);
                let limits = model.limits(*new);
                timed(*new, || {
                    generate(prompt, &limits, &mut next, &mut |_| {}).expect(FITS).tokens
                })
            });
    }
    story.race(race.baseline(NAIVE).check(equal))
}

/// Why fewer rows are not as much less time: the limit that each loop meets.
fn bounds(story: &mut Story, scene: &Scene, mean_rows: usize) {
    let (llama, weights) = (scene.llama(), &scene.model.weights);
    let weight_bytes = weights.bytes_per_pass();
    let limits = MachineLimits {
        flops_per_second: layout::probe::peak_flops(&scene.pool),
        bytes_per_second: layout::probe::read_bandwidth(&scene.pool, weight_bytes as usize),
    };
    let one_row = Work {
        weight_bytes,
        ..of_chunk(llama, mean_rows, 1)
    };
    let steps = [
        (NAIVE, Work::of_forward(llama, weights, mean_rows), mean_rows),
        (CACHED, one_row, 1),
    ];
    let waits_for = |work: &Work| match limits.shortest(work).1 {
        Bound::Reading => "memory",
        Bound::Arithmetic => "arithmetic",
    };
    for (name, work, _) in &steps {
        story.values(&format!("{name} waits for"), waits_for(work));
    }
    story.rows(
        &["a step of", "rows", "multiply-adds a byte", "waits for"],
        steps.map(|(name, work, rows)| {
            let intensity = format!("{:.2}", work.multiply_adds_per_byte());
            [
                name.to_owned(),
                rows.to_string(),
                intensity,
                waits_for(&work).to_owned(),
            ]
        }),
    );
    story.say(format!(
        "On this machine both limits meet at {:.1} multiply-adds for each byte of weights ({}). Above that point, less \
         work is less time. Below it, the time is that of reading the weights, and each step reads them all.",
        limits.balance(),
        number::bytes(weight_bytes),
    ));
}

fn claim(story: &mut Story, gains: &[(usize, f64)], result: &RaceResult) {
    // The claim is about 128 tokens; a large model may not get there.
    let Some((new, faster)) = gains.iter().rfind(|(new, _)| *new <= 128).copied() else {
        return;
    };
    // From one length to the next a busy machine may hide the growth; from the shortest to the longest it must show.
    let grows = gains.len() > 1 && gains[gains.len() - 1].1 > 1.2 * gains[0].1;
    // A gain of up to 4.5 is the claimed effect on another machine; more is another effect.
    let as_large = (2.0..=4.5).contains(&faster);
    let list: Vec<String> = gains.iter().map(|(new, times)| format!("{new}: {times:.1}")).collect();
    let claim = Claim {
        id: "G3",
        claimed: "The KV cache is 2 to 3 times faster for 128 new tokens (4.2 s to 1.8 s), and the gain grows with \
                  length",
        value: faster,
        unit: &format!("times faster for {new} new tokens"),
        verdict: Verdict::of(as_large && grows, as_large || grows || faster >= 2.0),
        note: &format!(
            "Times faster by new tokens: {}. {} The claimed figure comes from a GPU. There each step also pays for the \
             start of its kernels, and useless rows are cheaper: a GPU has more arithmetic for each byte that it \
             reads.",
            list.join(", "),
            match grows {
                true => "The gain grows with length.",
                false => "The gain does not grow with length here.",
            }
        ),
    };
    story.claim_if_quiet(claim, [result.disturbance(CACHED, NAIVE)]);
}
