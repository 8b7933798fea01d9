//! The two times that a reader feels: the first token and the next, with a cache and without.

use super::cost::{CACHED, FITS, NAIVE};
use super::runs::text_of;
use super::{MOST_WORK, Scene};
use anyhow::Context;
use generation::State;
use generation::work::Work;
use kv_cache::ContiguousCache;
use kv_cache::forward::forward;
use lab::chart::Chart;
use lab::race::{Race, RaceResult};
use lab::story::{Choice, Prediction, Story};
use std::cell::RefCell;
use std::time::{Duration, Instant};
use training::TokenId;

/// Prompts of the second race, as far as the context reaches.
const PROMPTS: [usize; 3] = [16, 128, 400];

/// TTFT and TPOT: what the cache makes faster, and what not.
pub fn two_times(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    story.step(
        "Tell two times apart",
        "A reader waits for the first token (TTFT), and then for each of the others (TPOT).",
    );
    let llama = scene.model.config.llama.clone();
    let fits =
        |len: &usize| len + 1 < llama.max_seq_len && Work::of_shape(&llama, *len).multiply_adds() < MOST_WORK / 8;
    let lengths: Vec<usize> = PROMPTS.into_iter().filter(fits).collect();
    let longest = lengths.last().copied().context("a prompt that fits")?;
    let question = format!("A prompt of {longest} tokens. How much faster does the cache make the first token?");
    let prediction = Prediction {
        id: "first-token",
        question: &question,
        options: &[
            Choice {
                text: "as many times as the others",
                answer_to_wrong: Some(
                    "The others find their past in the cache. The prompt has none: all its rows are new.",
                ),
            },
            Choice {
                text: "not at all",
                answer_to_wrong: None,
            },
            Choice {
                text: "it makes it much slower: everything must be copied",
                answer_to_wrong: Some(
                    "A copy of two parts of each row, against hundreds of multiply-adds for each number of it.",
                ),
            },
        ],
        answer: 1,
        because: "The first pass computes every row of the prompt, with a cache as without. Only what was computed before can be given back.",
    };
    let guess = story.ask_old(&prediction);
    let first = race_first(story, scene, &lengths)?;
    story.reveal_old(&prediction, guess);
    let next = race_next(story, scene, &lengths)?;
    for (what, result) in [("the first token", &first), ("each further one", &next)] {
        let times = result.ratio(CACHED, NAIVE);
        story.show_as(what, times, format!("{times:.2} times as fast after {longest} tokens"));
    }
    let chart = Chart::lines("two-times", "The cache helps every token but the first")
        .x_label("tokens of the prompt")
        .y_label("ms (logarithmic)")
        .log_y()
        .series("first token, naive", first.line(NAIVE))
        .series("first token, cached", first.line(CACHED))
        .series("next token, naive", next.line(NAIVE))
        .series("next token, cached", next.line(CACHED));
    story.chart(&chart)?;
    Ok(())
}

/// TTFT: one pass over the whole prompt, an empty cache against none.
fn race_first(story: &mut Story, scene: &Scene, lengths: &[usize]) -> anyhow::Result<RaceResult> {
    let passes = Passes::new(scene, lengths);
    let mut race = Race::new("first-token", "The first token").unit("ms").rounds(5);
    for len in lengths {
        let (x, passes) = (Some(*len as f64), &passes);
        race = race
            .entry_timed(NAIVE, x, move || passes.lesson05(*len))
            .entry_timed(CACHED, x, move || passes.after(0, *len));
    }
    story.race(race.baseline(NAIVE).check(same_logits))
}

/// TPOT: one token more, all computed again against one row after what is cached.
fn race_next(story: &mut Story, scene: &Scene, lengths: &[usize]) -> anyhow::Result<RaceResult> {
    let passes = Passes::new(scene, lengths);
    let mut race = Race::new("next-token", "The token after it").unit("ms").rounds(5);
    for len in lengths {
        let (x, passes) = (Some(*len as f64), &passes);
        race = race
            .entry_timed(NAIVE, x, move || passes.lesson05(*len + 1))
            .entry_timed(CACHED, x, move || passes.after(*len, *len + 1));
    }
    story.race(race.baseline(NAIVE).check(same_logits))
}

fn same_logits(naive: &Vec<f32>, cached: &Vec<f32>) -> Result<(), String> {
    match naive == cached {
        true => Ok(()),
        false => Err("other logits".to_owned()),
    }
}

/// Single passes over the beginning of one text, timed, with one state and one cache for all: they run in turn, never at once.
struct Passes<'a> {
    scene: &'a Scene,
    text: Vec<TokenId>,
    state: RefCell<State>,
    cache: RefCell<ContiguousCache>,
}

impl Passes<'_> {
    fn new<'a>(scene: &'a Scene, lengths: &[usize]) -> Passes<'a> {
        let longest = lengths.iter().max().map_or(1, |len| len + 1);
        Passes {
            scene,
            text: text_of(scene, longest),
            state: RefCell::new(State::new(&scene.model.config, longest)),
            cache: RefCell::new(ContiguousCache::new(scene.llama(), longest)),
        }
    }

    fn lesson05(&self, tokens: usize) -> (Vec<f32>, Duration) {
        let (model, mut state) = (&self.scene.model, self.state.borrow_mut());
        let started = Instant::now();
        let logits = model
            .forward(&mut state, &self.scene.pool, &self.text[..tokens])
            .expect(FITS);
        let elapsed = started.elapsed();
        (logits.to_vec(), elapsed)
    }

    /// The pass from `kept` to `tokens`; what must be cached before it is computed outside the time.
    fn after(&self, kept: usize, tokens: usize) -> (Vec<f32>, Duration) {
        let (model, pool) = (&self.scene.model, &self.scene.pool);
        let (config, weights) = (&model.config, &model.weights);
        let (mut state, mut cache) = (self.state.borrow_mut(), self.cache.borrow_mut());
        let held = cache.len().min(kept);
        cache.truncate(held).expect("no more than it holds");
        if held < kept {
            let missing = &self.text[held..kept];
            forward(config, weights, &mut state, &mut cache, pool, missing).expect(FITS);
        }
        let started = Instant::now();
        let new = &self.text[kept..tokens];
        let logits = forward(config, weights, &mut state, &mut cache, pool, new).expect(FITS);
        let elapsed = started.elapsed();
        (logits.to_vec(), elapsed)
    }
}
