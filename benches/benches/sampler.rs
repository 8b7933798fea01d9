//! `cargo bench -p ladder -- sampler`: what it costs to choose one token.
//!
//! First a table for each vocabulary: lesson 09's sampler with several settings, its full sort and the greedy choice
//! take turns on one row of logits. Then a table for each model of what choosing takes of a decode step, where both are
//! measured in turn. Then criterion, for the history.

use criterion::{BenchmarkId, Criterion};
use generation::generate::greedy;
use lab::number::grouped;
use lab::table::Table;
use ladder::passes::Ragged;
use ladder::subject::Subject;
use ladder::table::{self, TARGET_MODEL, TRIAL_MODELS};
use sampling::counted::made_up_logits;
use sampling::{CheckedParams, Sampler, SamplingParams, full_sort};
use std::cell::RefCell;
use std::hint::black_box;
use std::time::{Duration, Instant};
use training::TokenId;

/// Tokens of the vocabularies: this workbook's, SmolLM2's, Llama 3's (in a power of two).
const VOCABULARIES: [usize; 3] = [2048, 49_152, 131_072];
/// Tokens that a request has, where penalties look at them.
const TEXT: usize = 512;
/// Positions that each row of a decode step sees.
const CONTEXT_LEN: usize = 64;
/// Rows of a decode step.
const BATCH_SIZES: [usize; 2] = [1, 8];

fn main() {
    let Some(mut bench) = ladder::turn::take("sampler") else {
        return;
    };
    if !bench.is_list {
        for vocab_size in VOCABULARIES {
            costs(vocab_size, bench.is_trial);
        }
        let models: &[&str] = match bench.is_trial {
            true => &TRIAL_MODELS,
            false => &[TARGET_MODEL],
        };
        for model in models {
            shares(&Subject::open(model), bench.is_trial);
        }
    }
    history(&mut bench.criterion);
    bench.criterion.final_summary();
}

fn settings(vocab_size: usize) -> Vec<(&'static str, CheckedParams)> {
    let drawn = SamplingParams {
        seed: 7,
        ..SamplingParams::default()
    };
    let nucleus = SamplingParams {
        top_p: 0.9,
        ..drawn.clone()
    };
    let few = SamplingParams {
        top_k: 50,
        ..nucleus.clone()
    };
    let settings = [
        ("greedy", SamplingParams::greedy()),
        (
            "temperature 0.8",
            SamplingParams {
                temperature: 0.8,
                ..drawn.clone()
            },
        ),
        ("top-k 50, top-p 0.9", few.clone()),
        ("top-p 0.9", nucleus),
        ("min-p 0.05", SamplingParams { min_p: 0.05, ..drawn }),
        (
            "the same after penalties",
            SamplingParams {
                repetition_penalty: 1.1,
                presence_penalty: 0.1,
                frequency_penalty: 0.1,
                ..few
            },
        ),
    ];
    let check = |params: SamplingParams| params.check(vocab_size).expect("they mean something");
    settings.map(|(name, params)| (name, check(params))).into()
}

/// Chooses again and again from the same row.
struct Row {
    logits: Vec<f32>,
    /// As they were.
    own: Vec<f32>,
    text: Vec<TokenId>,
}

impl Row {
    fn new(own: Vec<f32>) -> Row {
        let id = |i: usize| TokenId((7919 * i % own.len()) as u32);
        Row {
            text: (0..TEXT).map(id).collect(),
            logits: own.clone(),
            own,
        }
    }

    /// Chooses with `choose`, then puts back what penalties have changed: those of the text, and nothing else.
    fn choose(
        &mut self,
        params: &CheckedParams,
        choose: impl FnOnce(&CheckedParams, &[TokenId], &[TokenId], &mut [f32]) -> TokenId,
    ) -> TokenId {
        let (prompt, output) = self.text.split_at(TEXT / 2);
        let token = choose(params, prompt, output, black_box(&mut self.logits));
        if params.penalizes() {
            for token in &self.text {
                self.logits[token.index()] = self.own[token.index()];
            }
        }
        token
    }
}

/// The fast way, as a function for [`Row::choose`].
fn by_sampler(sampler: &mut Sampler) -> impl FnMut(&CheckedParams, &[TokenId], &[TokenId], &mut [f32]) -> TokenId + '_ {
    |params, prompt, output, logits| {
        let sampled = sampler.sample(params, prompt, output, logits);
        sampled.expect("the logits are numbers").token
    }
}

fn costs(vocab_size: usize, is_trial: bool) {
    let what = format!(
        "one token of {}, made-up logits as of a trained model, a text of {TEXT}",
        grouped(vocab_size as u64)
    );
    lab::outln!("{}", table::head_of(&what, is_trial));
    let mut table = Table::new(&["µs a token", "lesson 09", "full sort", "times", "times greedy"]);
    let mut greedy_us = f64::NAN;
    for (name, params) in settings(vocab_size) {
        let row = RefCell::new(Row::new(made_up_logits(vocab_size, 1)));
        let (row, params) = (&row, &params);
        let mut sampler = Sampler::new();
        let result = table::race_in_us(name, is_trial)
            .entry("lesson 09", None, move || {
                row.borrow_mut().choose(params, by_sampler(&mut sampler))
            })
            .entry("full sort", None, move || {
                row.borrow_mut().choose(params, |params, prompt, output, logits| {
                    let token = full_sort::sample(params, prompt, output, logits);
                    token.expect("the logits are numbers")
                })
            })
            .entry("greedy (08)", None, move || {
                greedy(black_box(&row.borrow().logits)).expect("the logits are numbers")
            })
            .run()
            .expect("nothing is checked here; tests compare the tokens");
        let of = |name: &str| result.entry(name).map_or(f64::NAN, |entry| entry.median);
        if name == "greedy" {
            greedy_us = of("greedy (08)");
        }
        let (fast, slow) = (of("lesson 09"), of("full sort"));
        table.row([
            name.to_owned(),
            table::micros(fast),
            table::micros(slow),
            format!("{:.1}", slow / fast),
            format!("{:.2}", fast / of("greedy (08)")),
        ]);
    }
    lab::outln!("{table}greedy choice of lesson 08: {} µs", table::micros(greedy_us));
}

/// What choosing takes of a decode step. The logits are written over those of the pass, where the pass has left them:
/// in the processor's cache.
fn shares(subject: &Subject, is_trial: bool) {
    lab::outln!("{}", table::head(subject, is_trial));
    let vocab_size = subject.model.config.llama.vocab_size;
    let made_up = made_up_logits(vocab_size, 1);
    let mut table = Table::new(&[
        "choice",
        "logits",
        "µs a token",
        "ms a step",
        "share, batch 1",
        "batch 8",
        "target",
    ]);
    for (name, params) in settings(vocab_size) {
        for (kind, replace) in [("made up", Some(&made_up)), ("the model's own", None)] {
            let [alone, eight] = BATCH_SIZES.map(|rows| share(subject, &params, replace, rows, is_trial));
            // Random weights know nothing, so every token is about as likely: the hardest case for a sampler that keeps
            // the likeliest.
            let target = match subject.model.name == TARGET_MODEL && !is_trial {
                true => table::target_below(alone.share(), 0.05, "< 5 %"),
                false => "-".to_owned(),
            };
            table.row([
                name.to_owned(),
                kind.to_owned(),
                table::micros(alone.choosing_us),
                format!("{:.2}", alone.step_us / 1e3),
                format!("{:.2} %", 100.0 * alone.share()),
                format!("{:.2} %", 100.0 * eight.share()),
                target,
            ]);
        }
    }
    lab::outln!("{table}");
}

/// A decode step and the choices after it.
struct Share {
    step_us: f64,
    choosing_us: f64,
}

impl Share {
    /// Of pass and choices together.
    fn share(&self) -> f64 {
        self.choosing_us / (self.step_us + self.choosing_us)
    }
}

/// Steps of `rows` rows: the pass, then a choice for each; medians of both.
fn share(subject: &Subject, params: &CheckedParams, replace: Option<&Vec<f32>>, rows: usize, is_trial: bool) -> Share {
    let mut ragged = Ragged::new(subject, rows, CONTEXT_LEN);
    ragged.rows(rows, CONTEXT_LEN);
    let (vocab_size, text) = (subject.model.config.llama.vocab_size, subject.tokens(TEXT));
    let (prompt, output) = text.split_at(TEXT / 2);
    let mut sampler = Sampler::new();
    let mut step = || {
        let begun = Instant::now();
        let logits = ragged.logits();
        let pass = begun.elapsed();
        if let Some(made_up) = replace {
            for row in logits.chunks_exact_mut(vocab_size) {
                row.copy_from_slice(made_up);
            }
        }
        let begun = Instant::now();
        for row in logits.chunks_exact_mut(vocab_size) {
            let mut choose = by_sampler(&mut sampler);
            black_box(choose(params, prompt, output, row));
        }
        (pass, begun.elapsed())
    };
    step();
    let rounds = if is_trial { 1 } else { 9 };
    let (passes, choices): (Vec<Duration>, Vec<Duration>) = (0..rounds).map(|_| step()).unzip();
    Share {
        step_us: median_us(passes),
        choosing_us: median_us(choices),
    }
}

fn median_us(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn history(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sampler");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1));
    let vocab_size = VOCABULARIES[1];
    for (name, params) in settings(vocab_size) {
        let mut row = Row::new(made_up_logits(vocab_size, 1));
        let mut sampler = Sampler::new();
        group.bench_function(BenchmarkId::new(name, vocab_size), |bencher| {
            bencher.iter(|| row.choose(&params, by_sampler(&mut sampler)));
        });
    }
    group.finish();
}
