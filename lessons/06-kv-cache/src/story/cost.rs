//! The race against lesson 05: whole answers, and why fewer rows are not as much less time.

use super::runs::{cached, growing, naive, text_of};
use super::{MOST_WORK, Scene};
use anyhow::Context;
use generation::State;
use generation::roofline::{Bound, MachineLimits};
use generation::work::Work;
use kv_cache::ContiguousCache;
use kv_cache::concat::{GrowingCache, Growth};
use kv_cache::work::{of_chunk, rows_of_cached_loop};
use lab::chart::Chart;
use lab::number;
use lab::race::{Race, RaceResult};
use lab::story::{Claim, Story, Verdict};
use lab::table::Table;
use std::cell::RefCell;
use training::TokenId;

/// New tokens of the race, as far as model and machine allow.
const NEW_TOKENS: [usize; 4] = [16, 64, 128, 256];

/// Lesson 05's loop, in the races.
pub const NAIVE: &str = "naive, lesson 05";
/// This lesson's.
pub const CACHED: &str = "cached";
const GROWING: &str = "concatenated";

/// Why no pass of a race can fail.
pub const FITS: &str = "the tokens are inside the vocabulary and the context";

/// G3: time per token against the number of new tokens.
pub fn tokens(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    story.step(
        "Race the loops",
        "Whole answers of growing length, greedy, from the same prompt. Each loop gives the same tokens, or the race is void.",
    );
    let llama = scene.model.config.llama.clone();
    let prompt = text_of(scene, 16.min(llama.max_seq_len / 2));
    let affordable = |new: &usize| {
        let rows = prompt.len() + new / 2;
        let work = *new as u64 * Work::of_shape(&llama, rows).multiply_adds();
        prompt.len() + new <= llama.max_seq_len && (*new == NEW_TOKENS[0] || work <= MOST_WORK)
    };
    let lengths: Vec<usize> = NEW_TOKENS.into_iter().filter(affordable).collect();
    let longest = lengths.last().copied().context("at least one length")?;
    let result = race(story, scene, &prompt, &lengths)?;

    let rows = |new: usize| {
        let (p, n) = (prompt.len() as u64, new as u64);
        (generation::limits::rows_of_naive_loop(p, n), rows_of_cached_loop(p, n))
    };
    let mut table = Table::new(&["new tokens", "rows, naive", "rows, cached", "fewer", "faster"]);
    let mut gains = Vec::new();
    for new in &lengths {
        let (all, once) = rows(*new);
        let faster = result.ratio_at(CACHED, NAIVE, *new as f64);
        gains.push((*new, faster));
        table.row([
            new.to_string(),
            number::grouped(all),
            number::grouped(once),
            format!("{:.1} times", all as f64 / once as f64),
            format!("{faster:.1} times"),
        ]);
    }
    story.table(&table);
    story.values("times_faster", &gains);
    bounds(story, scene, prompt.len() + longest / 2)?;
    claim(story, &gains);

    let by_rows = |new: &usize| {
        let (all, once) = rows(*new);
        let ms = result.entry_at(CACHED, *new as f64).map_or(f64::NAN, |e| e.median);
        (*new as f64, ms * all as f64 / once as f64)
    };
    let chart = Chart::lines("tokens", "A cached token costs what one row costs")
        .x_label("new tokens after a prompt of 16")
        .y_label("ms a token (logarithmic)")
        .log_y()
        .series(NAIVE, result.line(NAIVE))
        .series(CACHED, result.line(CACHED))
        .series(GROWING, result.line(GROWING))
        .dashed("naive, if time followed rows", lengths.iter().map(by_rows).collect());
    story.chart(&chart)?;
    Ok(())
}

fn race(story: &mut Story, scene: &Scene, prompt: &[TokenId], lengths: &[usize]) -> anyhow::Result<RaceResult> {
    let (model, pool) = (&scene.model, &scene.pool);
    let llama = &model.config.llama;
    // One state and one cache for all entries: they run in turn, never at once.
    let state = RefCell::new(State::new(&model.config, 0));
    let longest = prompt.len() + lengths.iter().max().copied().unwrap_or(0);
    let cache = RefCell::new(ContiguousCache::new(llama, longest));
    let mut race = Race::new("tokens", "One token of an answer").unit("ms").rounds(3);
    for new in lengths {
        let x = Some(*new as f64);
        race = race
            .entry_timed(NAIVE, x, || {
                naive(model, &mut state.borrow_mut(), pool, prompt, *new).expect(FITS)
            })
            .entry_timed(CACHED, x, || {
                let (state, cache) = (&mut state.borrow_mut(), &mut cache.borrow_mut());
                cached(model, state, cache, pool, prompt, *new).expect(FITS)
            })
            .entry_timed(GROWING, x, || {
                let mut grown = GrowingCache::new(llama, Growth::Exact);
                let state = &mut state.borrow_mut();
                growing(model, state, &mut grown, pool, prompt, *new).expect(FITS)
            });
    }
    let race = race.baseline(NAIVE).check(|naive, other| match naive == other {
        true => Ok(()),
        false => Err("other tokens".to_owned()),
    });
    story.race(race)
}

/// Why fewer rows are not as much less time: what each loop waits for.
fn bounds(story: &mut Story, scene: &Scene, mean_rows: usize) -> anyhow::Result<()> {
    let (llama, weights) = (scene.llama(), &scene.model.weights);
    let weight_bytes = weights.bytes_per_pass();
    let limits = MachineLimits {
        flops_per_second: layout::probe::peak_flops(&scene.pool),
        bytes_per_second: layout::probe::read_bandwidth(&scene.pool, weight_bytes as usize),
    };
    let mut table = Table::new(&["a step of", "rows", "multiply-adds a byte", "waits for"]);
    for (name, work, rows) in [
        (NAIVE, Work::of_forward(llama, weights, mean_rows), mean_rows),
        (
            CACHED,
            Work {
                weight_bytes,
                ..of_chunk(llama, mean_rows, 1)
            },
            1,
        ),
    ] {
        let waits_for = match limits.shortest(&work).1 {
            Bound::Reading => "memory",
            Bound::Arithmetic => "arithmetic",
        };
        story.values(&format!("{name} waits for"), waits_for);
        table.row([
            name.to_owned(),
            rows.to_string(),
            format!("{:.2}", work.multiply_adds_per_byte()),
            waits_for.to_owned(),
        ]);
    }
    story.table(&table);
    story.say(format!(
        "Here both limits meet at {:.1} multiply-adds for each byte of weights ({}). Work that was saved above that point was time. Below it, \
         time is reading the weights, and each step reads them all.",
        limits.balance(),
        number::bytes(weight_bytes),
    ));
    Ok(())
}

fn claim(story: &mut Story, gains: &[(usize, f64)]) {
    // The claim is about 128 tokens; a large model may not get there.
    let within = |(new, _): &&(usize, f64)| *new <= 128;
    let Some((new, faster)) = gains.iter().rfind(within).copied() else {
        return;
    };
    // From one length to the next a busy machine may hide it; from the shortest to the longest it must show.
    let grows = gains.len() > 1 && gains[gains.len() - 1].1 > 1.2 * gains[0].1;
    // Half as much again as the claimed 3 is another machine; more is another size of effect.
    let verdict = match ((2.0..=4.5).contains(&faster), grows) {
        (true, true) => Verdict::Holds,
        (false, false) if faster < 2.0 => Verdict::NotHere,
        _ => Verdict::Partly,
    };
    let list: Vec<String> = gains.iter().map(|(new, times)| format!("{new}: {times:.1}")).collect();
    let note = format!(
        "Times faster by new tokens: {}. {} The claimed figure comes from a GPU, where each step also pays for starting its kernels, and which has \
         more arithmetic for each byte it reads: useless rows are cheaper there.",
        list.join(", "),
        match grows {
            true => "The gain grows with length.",
            false => "The gain does not grow with length here.",
        }
    );
    story.claim(Claim {
        id: "G3",
        claimed: "The KV cache is 2 to 3 times faster for 128 new tokens (4.2 s to 1.8 s), and the gain grows with length",
        value: faster,
        unit: &format!("times faster for {new} new tokens"),
        verdict,
        note: &note,
    });
}
