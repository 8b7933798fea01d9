//! G3: the race against lesson 05 over whole answers, and why fewer rows are not as much less time.

use super::{CACHED, FITS, MOST_WORK, NAIVE, Scene, equal};
use generation::generate::{self as naive, greedy};
use generation::limits::rows_of_naive_loop;
use generation::roofline::{Bound, MachineLimits};
use generation::work::Work;
use generation::{Limits, Model, State};
use kv_cache::ContiguousCache;
use kv_cache::experiments::concat::{self, GrowingCache, Growth};
use kv_cache::forward::forward;
use kv_cache::generate::generate;
use kv_cache::work::{of_chunk, rows_of_cached_loop};
use lab::chart::Chart;
use lab::number;
use lab::race::{Race, RaceResult};
use lab::story::{Claim, Story, Verdict};
use layout::pool::Pool;
use std::cell::RefCell;
use std::time::{Duration, Instant};
use training::TokenId;

/// New tokens of the race, as far as model and machine allow.
const NEW_TOKENS: [usize; 4] = [16, 64, 128, 256];
const GROWING: &str = "concatenated";
/// A model larger than the cache of this class of machine: the claim is about weights that come from memory.
const LARGE: &str = "random:135m";

/// Time per token against the number of new tokens.
pub fn race(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Race the loops",
        "Whole answers of growing length, greedy, from the same prompt. If a loop gives other tokens, the race stops.",
    );
    // Another model than the default one is raced alone.
    let large = match scene.model.name.as_str() {
        "stories" => Some(Model::open(LARGE)?),
        _ => None,
    };
    let of_own = scene.text(16.min(scene.llama().max_seq_len / 2));
    let (model, prompt) = match &large {
        Some(model) => (model, model.made_up_tokens(0, 16)),
        None => (&scene.model, of_own.clone()),
    };
    let first = Loops::race(story, model, &scene.pool, prompt, "tokens")?;
    story.values("times_faster", &first.gains);
    bounds(story, model, &scene.pool, first.prompt_tokens + first.longest() / 2);
    let mut others = String::new();
    if large.is_some() {
        let own = Loops::race(story, &scene.model, &scene.pool, of_own, "tokens-stories")?;
        story.values("times_faster, stories", &own.gains);
        others = format!(
            " On {}, with weights that fit a large cache: {}.",
            scene.model.name,
            own.list()
        );
    }
    claim(story, &first, &model.name, &others);

    let result = &first.result;
    let by_rows = |(new, _): &(usize, f64)| {
        let (all, once) = first.rows(*new);
        let ms = result.median_at(CACHED, *new as f64);
        (*new as f64, ms * all as f64 / once as f64)
    };
    let chart = Chart::lines("tokens", "A cached token costs what one row costs")
        .x_label("new tokens after a prompt of 16")
        .y_label(&format!("ms a token, {} (logarithmic)", model.name))
        .log_y()
        .race(result, &[NAIVE, CACHED])
        .dashed(
            "naive, if time followed rows",
            first.gains.iter().map(by_rows).collect(),
        );
    story.chart(&chart)?;
    Ok(())
}

/// The loops of one model, raced.
struct Loops {
    prompt_tokens: usize,
    /// New tokens, and how many times as fast the cached loop wrote them.
    gains: Vec<(usize, f64)>,
    result: RaceResult,
}

impl Loops {
    fn race(story: &mut Story, model: &Model, pool: &Pool, prompt: Vec<TokenId>, id: &str) -> anyhow::Result<Loops> {
        let llama = &model.config.llama;
        let affordable = |new: &usize| {
            let work = *new as u64 * Work::of_shape(llama, prompt.len() + new / 2).multiply_adds();
            prompt.len() + new <= llama.max_seq_len && (*new == NEW_TOKENS[0] || work <= MOST_WORK)
        };
        let lengths: Vec<usize> = NEW_TOKENS.into_iter().filter(affordable).collect();
        let result = race_loops(story, model, pool, &prompt, &lengths, id)?;
        let gain = |new: &usize| (*new, result.ratio_at(CACHED, NAIVE, *new as f64));
        let gains: Vec<(usize, f64)> = lengths.iter().map(gain).collect();
        let loops = Loops {
            prompt_tokens: prompt.len(),
            gains,
            result,
        };
        story.rows(
            &["new tokens", "rows, naive", "rows, cached", "fewer", "faster"],
            loops.gains.iter().map(|(new, faster)| {
                let (all, once) = loops.rows(*new);
                let fewer = format!("{:.1} times", all as f64 / once as f64);
                let (all, once) = (number::grouped(all), number::grouped(once));
                [new.to_string(), all, once, fewer, format!("{faster:.1} times")]
            }),
        );
        Ok(loops)
    }

    /// Rows of the naive and of the cached loop.
    fn rows(&self, new: usize) -> (u64, u64) {
        let (p, n) = (self.prompt_tokens as u64, new as u64);
        (rows_of_naive_loop(p, n), rows_of_cached_loop(p, n))
    }

    fn longest(&self) -> usize {
        self.gains.last().map_or(0, |(new, _)| *new)
    }

    /// The gains in words.
    fn list(&self) -> String {
        let each = self.gains.iter().map(|(new, times)| format!("{new}: {times:.1}"));
        each.collect::<Vec<_>>().join(", ")
    }
}

/// Runs a loop of `new_tokens` tokens: the tokens, and the time of one of them.
fn timed(new_tokens: usize, run: impl FnOnce() -> Vec<TokenId>) -> (Vec<TokenId>, Duration) {
    let started = Instant::now();
    let tokens = run();
    (tokens, started.elapsed() / new_tokens.max(1) as u32)
}

fn race_loops(
    story: &mut Story,
    model: &Model,
    pool: &Pool,
    prompt: &[TokenId],
    lengths: &[usize],
    id: &str,
) -> anyhow::Result<RaceResult> {
    let llama = &model.config.llama;
    // A large model takes half a minute: two rounds, and only the two loops of the claim.
    let (is_large, name) = (model.is_large(), &model.name);
    // No answer ends before the number of tokens that the race is about.
    let limits = |new| Limits {
        end_of_text: Vec::new(),
        ..model.limits(new)
    };
    // The entries run in turn, so one state and one cache serve them all.
    let state = RefCell::new(State::new(&model.config, 0));
    let longest = prompt.len() + lengths.iter().max().copied().unwrap_or(0);
    let cache = RefCell::new(ContiguousCache::new(llama, longest));
    let mut race = Race::new(id, &format!("One token of an answer of {name}"))
        .unit("ms")
        .rounds(if is_large { 2 } else { 3 });
    for new in lengths {
        let x = Some(*new as f64);
        race = race
            .entry_timed(NAIVE, x, || {
                let state = &mut state.borrow_mut();
                let mut next = |tokens: &[TokenId]| greedy(model.forward(state, pool, tokens)?);
                timed(*new, || {
                    naive::generate(prompt, &limits(*new), &mut next, &mut |_| {})
                        .expect(FITS)
                        .tokens
                })
            })
            .entry_timed(CACHED, x, || {
                let (state, cache) = (&mut state.borrow_mut(), &mut cache.borrow_mut());
                cache.clear();
                let (config, weights) = (&model.config, &model.weights);
                let mut next = |tokens: &[TokenId]| Ok(greedy(forward(config, weights, state, cache, pool, tokens)?)?);
                timed(*new, || {
                    generate(prompt, &limits(*new), &mut next, &mut |_| {})
                        .expect(FITS)
                        .tokens
                })
            });
        if is_large {
            continue;
        }
        race = race.entry_timed(GROWING, x, || {
            let (state, mut grown) = (&mut state.borrow_mut(), GrowingCache::new(llama, Growth::Exact));
            let mut next = |tokens: &[TokenId]| Ok(greedy(concat::forward(model, state, &mut grown, pool, tokens)?)?);
            timed(*new, || {
                generate(prompt, &limits(*new), &mut next, &mut |_| {})
                    .expect(FITS)
                    .tokens
            })
        });
    }
    story.race(race.baseline(NAIVE).check(equal))
}

/// Why fewer rows are not as much less time: the limit that each loop meets.
fn bounds(story: &mut Story, model: &Model, pool: &Pool, mean_rows: usize) {
    let (llama, weights) = (&model.config.llama, &model.weights);
    let weight_bytes = weights.bytes_per_pass();
    let limits = MachineLimits {
        flops_per_second: layout::probe::peak_flops(pool),
        bytes_per_second: layout::probe::read_bandwidth(pool, weight_bytes as usize),
    };
    story.values("they meet at", limits.balance());
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

fn claim(story: &mut Story, loops: &Loops, name: &str, others: &str) {
    // The claim is about 128 tokens; a large model may not get there.
    let gains = &loops.gains;
    let Some((new, faster)) = gains.iter().rfind(|(new, _)| *new <= 128).copied() else {
        return;
    };
    // From one length to the next a busy machine may hide the growth; from the shortest to the longest it must show.
    let grows = gains.len() > 1 && gains[gains.len() - 1].1 > 1.2 * gains[0].1;
    let as_claimed = (2.0..=3.0).contains(&faster);
    let claim = Claim {
        id: "G3",
        claimed: "The KV cache is 2 to 3 times faster for 128 new tokens (4.2 s to 1.8 s), and the gain grows with \
                  length",
        value: faster,
        unit: &format!("times faster for {new} new tokens"),
        verdict: Verdict::of(as_claimed && grows, as_claimed || grows || faster >= 2.0),
        note: &format!(
            "{name}, f32, all threads, prompt of {}; times faster by new tokens: {}. {}{others} The claimed figure \
             comes from a GPU. There each step also pays for the start of its kernels, and useless rows are cheaper: \
             a GPU has more arithmetic for each byte that it reads.",
            loops.prompt_tokens,
            loops.list(),
            match grows {
                true => "The gain grows with length.",
                false => "The gain does not grow with length here.",
            },
        ),
    };
    story.claim_if_quiet(claim, [loops.result.disturbance(CACHED, NAIVE)]);
}
