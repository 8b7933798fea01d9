//! Races of single passes: the first token and the next (TTFT and TPOT), three ways to show keys (G5), and a mask over
//! the whole length.

use super::{CACHED, FITS, MOST_WORK, NAIVE, Scene, equal};
use anyhow::Context;
use generation::work::Work;
use generation::{Model, State};
use kv_cache::experiments::masked;
use kv_cache::experiments::views::{self, Showing};
use kv_cache::forward::forward;
use kv_cache::work::of_chunk;
use kv_cache::{CacheError, ContiguousCache};
use lab::chart::Chart;
use lab::race::{Disturbance, Race, RaceResult};
use lab::story::{Claim, Story, Verdict};
use lab::{alloc, ledger};
use layout::pool::Pool;
use std::cell::RefCell;
use std::time::{Duration, Instant};
use training::TokenId;

/// A forward pass over new tokens.
type Pass = for<'s> fn(&Model, &'s mut State, &mut ContiguousCache, &Pool, &[TokenId]) -> Result<&'s [f32], CacheError>;

/// The lesson's pass.
const OF_LESSON: Pass =
    |model, state, cache, pool, tokens| forward(&model.config, &model.weights, state, cache, pool, tokens);

/// Single passes over the beginning of one text. They run in turn and share one state and one cache.
struct Passes<'a> {
    scene: &'a Scene,
    text: Vec<TokenId>,
    state: RefCell<State>,
    cache: RefCell<ContiguousCache>,
}

impl Passes<'_> {
    /// Passes over up to `tokens` tokens, with a cache for `capacity` positions.
    fn new(scene: &Scene, tokens: usize, capacity: usize) -> Passes<'_> {
        Passes {
            scene,
            text: scene.text(tokens),
            state: RefCell::new(State::new(&scene.model.config, tokens)),
            cache: RefCell::new(ContiguousCache::new(scene.llama(), capacity)),
        }
    }

    /// Lesson 05's pass over the first `tokens` tokens: its logits and its time.
    fn lesson05(&self, tokens: usize) -> (Vec<f32>, Duration) {
        let state = &mut self.state.borrow_mut();
        let started = Instant::now();
        let logits = self.scene.model.forward(state, &self.scene.pool, &self.text[..tokens]);
        let elapsed = started.elapsed();
        (logits.expect(FITS).to_vec(), elapsed)
    }

    /// A pass from position `kept` to `tokens`: its logits and its time. Positions before `kept` are computed first,
    /// outside the time.
    fn after(&self, kept: usize, tokens: usize, pass: Pass) -> (Vec<f32>, Duration) {
        let (model, pool) = (&self.scene.model, &self.scene.pool);
        let (state, cache) = (&mut self.state.borrow_mut(), &mut self.cache.borrow_mut());
        let held = cache.len().min(kept);
        cache.truncate(held).expect("no more than it holds");
        if held < kept {
            OF_LESSON(model, state, cache, pool, &self.text[held..kept]).expect(FITS);
        }
        let started = Instant::now();
        let logits = pass(model, state, cache, pool, &self.text[kept..tokens]).expect(FITS);
        let elapsed = started.elapsed();
        (logits.to_vec(), elapsed)
    }
}

/// Prompts of the race of the two times, as far as the context reaches.
const PROMPTS: [usize; 3] = [16, 128, 400];

/// TTFT and TPOT: which of them the cache makes faster.
pub fn two_times(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Tell two times apart",
        "A reader waits for the first token (TTFT), and then for each of the others (TPOT).",
    );
    let llama = scene.llama();
    let fits = |len: &usize| len + 1 < llama.max_seq_len && Work::of_shape(llama, *len).multiply_adds() < MOST_WORK / 8;
    let lengths: Vec<usize> = PROMPTS.into_iter().filter(fits).collect();
    let longest = lengths.last().copied().context("a prompt that fits")?;
    let passes = Passes::new(scene, longest + 1, longest + 1);
    let asked = story.ask("first-token", &[("longest", &longest)]);
    let first = race_times(story, &passes, &lengths, ("first-token", "The first token"), |len| {
        (0, len)
    })?;
    story.reveal(asked, lab::story::Answer::Stated, &[]);
    let next = race_times(story, &passes, &lengths, ("next-token", "The token after it"), |len| {
        (len, len + 1)
    })?;
    for (what, result) in [("the first token", &first), ("each further one", &next)] {
        let times = result.ratio(CACHED, NAIVE);
        story.show_as(what, times, format!("{times:.2} times as fast after {longest} tokens"));
    }
    let same_work = first.ratio(CACHED, NAIVE);
    if let Some(sign) = Disturbance::of_ratio("the first token, the same work twice", same_work, 0.75..=1.35) {
        story.say(format!("This machine is busy ({sign}); run again."));
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

/// Lesson 05's pass up to a position against a cached pass; `range` gives (cached, end) for each length.
fn race_times(
    story: &mut Story,
    passes: &Passes<'_>,
    lengths: &[usize],
    (id, title): (&str, &str),
    range: fn(usize) -> (usize, usize),
) -> anyhow::Result<RaceResult> {
    let mut race = Race::new(id, title).unit("ms").rounds(5);
    for len in lengths {
        let (x, (kept, end)) = (Some(*len as f64), range(*len));
        race = race
            .entry_timed(NAIVE, x, move || passes.lesson05(end))
            .entry_timed(CACHED, x, move || passes.after(kept, end, OF_LESSON));
    }
    story.race(race.baseline(NAIVE).check(equal))
}

const SHOWINGS: [(&str, Pass); 3] = [
    ("cache and index", |model, state, cache, pool, tokens| {
        views::forward(model, state, cache, pool, tokens, Showing::Index)
    }),
    ("view objects", |model, state, cache, pool, tokens| {
        views::forward(model, state, cache, pool, tokens, Showing::Objects)
    }),
    ("dense copies", |model, state, cache, pool, tokens| {
        views::forward(model, state, cache, pool, tokens, Showing::Copies)
    }),
];

/// G5: one decode step, its keys shown in three ways.
pub fn views(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Show attention where the keys are",
        "A framework slices the cache for each layer and step, which makes objects. Here a view is two slices, a \
         stride and a length.",
    );
    let context = 256.min(scene.llama().max_seq_len - 1);
    let passes = Passes::new(scene, context + 1, context + 1);
    let step = |pass| passes.after(context, context + 1, pass).0;
    let mut race = Race::new("views", &format!("One token after {context}"))
        .unit("ms")
        .rounds(9)
        .at_least(Duration::from_millis(30));
    let mut rows = Vec::new();
    for (name, pass) in SHOWINGS {
        step(pass);
        // One allocation is the copy of the logits that the race compares.
        let allocations = alloc::count(|| drop(step(pass))).1 - 1;
        let (_, counted) = ledger::measure(|| step(pass));
        let copied = lab::number::bytes(counted.get("kv_bytes_copied"));
        rows.push([name.to_owned(), allocations.to_string(), copied]);
        story.values(&format!("allocations, {name}"), allocations);
        race = race.entry(name, None, move || step(pass));
    }
    story.rows(&["shown as", "allocations a step", "bytes copied a step"], rows);
    let [index, objects, copies] = SHOWINGS.map(|(name, _)| name);
    let result = story.race(race.baseline(index).check(equal))?;
    let slower = |name: &str| 100.0 * (result.ratio(index, name) - 1.0);
    let (of_objects, of_copies) = (slower(objects), slower(copies));
    story.values("percent longer, view objects", of_objects);
    let noise = 100.0 * result.noise(&[index, objects]);
    let is_noise = of_objects < noise;
    let found = match is_noise {
        true => format!(
            "An object for each head, layer and step changes the time of a token by {of_objects:.1} %, less than the \
             spread of the rounds ({noise:.1} %)"
        ),
        false => format!("With an object for each head, layer and step a token takes {of_objects:.1} % longer"),
    };
    let is_effect = !is_noise && of_objects >= 3.0;
    let claim = Claim {
        id: "G5",
        claimed: "Handing attention the cache and an index instead of building a view per layer and step is 10 to 20 % \
                  faster in an interpreter; find out what is left of that in Rust",
        value: of_objects,
        unit: "% longer with view objects",
        // Up to 30 % is the claimed effect on another machine; more is another effect.
        verdict: Verdict::of(is_effect && (10.0..=30.0).contains(&of_objects), is_effect),
        note: &format!(
            "{found}; with a dense copy it takes {of_copies:.1} % longer. A Rust view borrows two slices and allocates \
             nothing, without an interpreter. The claim measures the interpreter, and the copies that slices lead to."
        ),
    };
    story.claim_if_quiet(claim, [result.disturbance(index, objects)]);
    Ok(())
}

/// Context of the race of the mask.
const CONTEXT: usize = 32;

/// A mask over the whole length against a loop that stops where the text ends.
pub fn fixed_length(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    const CUT: &str = "cut off at the context";
    const MASKED: &str = "masked to the whole length";
    let llama = scene.llama();
    let capacity = llama.max_seq_len.min(2048);
    if capacity <= CONTEXT + 1 {
        return Ok(());
    }
    story.say("");
    story.say(format!(
        "A fixed length has another cost: frameworks that compile a pass for one shape attend to all {capacity} places \
         and mask the unused ones. Here a row's context is a length, and the loop stops at it. After {CONTEXT} \
         tokens:"
    ));
    let passes = Passes::new(scene, CONTEXT + 1, capacity);
    let step = |pass| passes.after(CONTEXT, CONTEXT + 1, pass).0;
    let race = Race::new("fixed-length", "One token, early in the text")
        .unit("ms")
        .rounds(7)
        .at_least(Duration::from_millis(20))
        .entry(CUT, None, || step(OF_LESSON))
        .entry(MASKED, None, || step(masked::forward));
    let result = story.race(race.baseline(CUT).check(equal))?;
    let pairs = |context| of_chunk(llama, context, 1).attention_multiply_adds;
    let (seen, all) = (pairs(CONTEXT), pairs(capacity - 1));
    let counted = format!("{:.1} times as many multiply-adds", all as f64 / seen as f64);
    story.show_as("attention, counted", all / seen, counted);
    let slower = result.ratio(CUT, MASKED);
    story.show_as(
        "the token",
        slower,
        format!("{slower:.2} times as long, and the same bits"),
    );
    Ok(())
}
