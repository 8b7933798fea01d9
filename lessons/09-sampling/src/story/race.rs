//! The cost of a choice, by the size of the vocabulary (S2) and as a share of a step.

use super::{SLOTS, Scene};
use continuous_batching::engine::Choice;
use continuous_batching::{Delivery, Event};
use generation::generate::greedy;
use lab::chart::Chart;
use lab::number::grouped;
use lab::race::Race;
use lab::story::{Claim, Story, Verdict};
use sampling::counted::{Counted, comparisons, made_up_logits};
use sampling::exercises::top_k;
use sampling::{CheckedParams, Sampler, SamplingParams, choice, full_sort};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use training::TokenId;

/// Sizes of this workbook's vocabulary, of Llama 2's and of Llama 3's, all as powers of two.
const VOCABULARIES: [usize; 3] = [2048, 32_768, 131_072];
const TOP_K: usize = 50;
/// Factor that counts as "much faster".
const MUCH: f64 = 3.0;

const GREEDY: &str = "greedy (08)";
const SELECT: &str = "select";
const NUCLEUS: &str = "select, top-p alone";
const QUICK: &str = "quickselect (std)";
const SORT: &str = "full sort";

/// Counts comparisons, then races.
pub fn vocabularies(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Do not sort what is thrown away",
        "Top-k 50 and top-p 0.9 need the 50 likeliest in order. A sort puts all the others in order, too. Numbers \
         that count their comparisons count them.",
    );
    let counts = VOCABULARIES.map(|vocab_size| count(vocab_size, scene.args.seed));
    let each = |count: u64, vocab_size: usize| count as f64 / vocab_size as f64;
    let ((select, sort), largest) = (counts[2], VOCABULARIES[2]);
    story.predict_with(
        "comparisons",
        &[
            ("each", &format!("{:.1}", each(select, largest))),
            ("comparisons", &grouped(select)),
            ("numbers", &grouped(largest as u64)),
            ("sort", &format!("{:.1}", each(sort, largest))),
        ],
    );
    let rows = VOCABULARIES.iter().zip(counts).map(|(vocab_size, (select, sort))| {
        [
            grouped(*vocab_size as u64),
            grouped(select),
            format!("{:.2}", each(select, *vocab_size)),
            grouped(sort),
            format!("{:.2}", each(sort, *vocab_size)),
            format!("{:.1}", sort as f64 / select as f64),
        ]
    });
    let head = ["vocabulary", "select", "a number", "full sort", "a number", "times"];
    story.rows(&head, rows);
    story.values("comparisons", counts);
    race(story, scene)
}

/// Comparisons of the selection and of a sort.
fn count(vocab_size: usize, seed: u64) -> (u64, u64) {
    let mut numbers: Vec<Counted> = made_up_logits(vocab_size, seed).into_iter().map(Counted).collect();
    let select = comparisons(|| top_k(&numbers, TOP_K, &mut Vec::new()));
    let sort = comparisons(|| numbers.sort_by(|a, b| b.partial_cmp(a).expect("no NaN")));
    (select, sort)
}

/// The choice with the standard library's selection in the place of the lesson's: all ids are copied and split at the
/// k-th, and the rest of the sampler sees `few` logits.
fn quickselect(sampler: &mut Sampler, params: &CheckedParams, logits: &[f32], ids: &mut Vec<u32>) -> Option<TokenId> {
    let before = |a: &u32, b: &u32| logits[*b as usize].total_cmp(&logits[*a as usize]).then(a.cmp(b));
    ids.clear();
    ids.extend(0..logits.len() as u32);
    ids.select_nth_unstable_by(TOP_K - 1, before);
    ids.truncate(TOP_K);
    ids.sort_unstable_by(before);
    let mut few: Vec<f32> = ids.iter().map(|id| logits[*id as usize]).collect();
    let sampled = sampler.sample(params, &[], &[], &mut few).ok()?;
    Some(TokenId(ids[sampled.token.index()]))
}

fn race(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    let mut race = Race::new("vocabulary", "One token, by size of the vocabulary")
        .unit("µs")
        .rounds(5)
        .at_least(Duration::from_millis(5));
    for vocab_size in VOCABULARIES {
        let logits = made_up_logits(vocab_size, scene.args.seed);
        let params = |top_k, size| scene.params(|p| (p.top_k, p.top_p) = (top_k, 0.9)).check(size);
        let (few, nucleus, of_few) = (params(TOP_K, vocab_size)?, params(0, vocab_size)?, params(0, TOP_K)?);
        let fast = Sampler::new().sample(&few, &[], &[], &mut logits.clone())?.token;
        let slow = full_sort::sample(&few, &[], &[], &mut logits.clone())?;
        let quick = quickselect(&mut Sampler::new(), &of_few, &logits, &mut Vec::new());
        anyhow::ensure!(fast == slow && quick == Some(slow), "two ways chose different tokens");
        // Without bias and penalties no entry writes on its logits, so all calls see the same.
        let select = |params: CheckedParams| {
            let (mut sampler, mut logits) = (Sampler::new(), logits.clone());
            move || sampler.sample(&params, &[], &[], black_box(&mut logits)).is_ok()
        };
        let (of_greedy, of_quick, mut of_sort) = (logits.clone(), logits.clone(), logits.clone());
        let (mut sampler, mut ids) = (Sampler::new(), Vec::new());
        let x = Some(vocab_size as f64);
        race = race
            .entry(GREEDY, x, move || greedy(black_box(&of_greedy)).is_ok())
            .entry(SELECT, x, select(few.clone()))
            .entry(NUCLEUS, x, select(nucleus))
            .entry(QUICK, x, move || {
                quickselect(&mut sampler, &of_few, black_box(&of_quick), &mut ids).is_some()
            })
            .entry(SORT, x, move || {
                full_sort::sample(&few, &[], &[], black_box(&mut of_sort)).is_ok()
            });
    }
    let race = race.baseline(SORT).check(all_chosen);
    let race = story.race(race)?;
    let times = |name: &str| VOCABULARIES.map(|vocab_size| race.ratio_at(SELECT, name, vocab_size as f64));
    let (over_sort, over_quick) = (times(SORT), times(QUICK));
    story.values("sort_over_select", over_sort);
    story.values("quickselect_over_select", over_quick);
    let least = over_sort[1].min(over_sort[2]);
    let claim = Claim {
        id: "S2",
        claimed: "With k <= 50, top-p on the top-k result avoids the full sort and is much faster at real vocabulary \
             sizes",
        value: over_sort[2],
        unit: "times as fast at 131 072",
        verdict: Verdict::of(least >= MUCH, least > 1.2),
        note: &format!(
            "Times as fast as the sort at vocabularies of 2 048, 32 768 and 131 072: {:.1}, {:.1}, {:.1}; as the \
             standard library's quickselect: {:.1}, {:.1}, {:.1}. “Much” is taken as {MUCH:.0} times the sort at the \
             two larger ones.",
            over_sort[0], over_sort[1], over_sort[2], over_quick[0], over_quick[1], over_quick[2]
        ),
    };
    story.claim_if_quiet(claim, [race.disturbance(SELECT, SORT)]);
    let title = format!(
        "Selecting 50 of 131 072 is {:.0} times as fast as sorting them",
        over_sort[2]
    );
    let chart = Chart::lines("vocabulary", &title)
        .x_label("tokens of the vocabulary")
        .y_label("µs a token")
        .note("top-k 50 and top-p 0.9; logits made up; one thread")
        .log_x()
        .log_y()
        .race(&race, &[SORT, NUCLEUS, QUICK, SELECT, GREEDY]);
    story.chart(&chart)?;
    Ok(())
}

/// The check of both races: whether each entry chose its tokens.
fn all_chosen(a: &bool, b: &bool) -> Result<(), String> {
    match *a && *b {
        true => Ok(()),
        false => Err("a choice failed".into()),
    }
}

/// Runs eight requests of one length through lesson 08's engine, with its greedy choice if there are no parameters.
/// Returns the time of the choices: microseconds a token, and as a share of the run.
fn run(scene: &Scene, new_tokens: usize, params: Option<&CheckedParams>) -> anyhow::Result<(f64, f64)> {
    let mut choose: Choice<CheckedParams> = match params {
        Some(_) => choice::by_params(),
        None => Box::new(|_, logits| greedy(logits)),
    };
    let nanos: Arc<AtomicU64> = Arc::default();
    let spent = nanos.clone();
    let prompts = (0..SLOTS)
        .map(|index| scene.beginning(index))
        .collect::<Result<Vec<_>, _>>()?;
    let longest = prompts.iter().map(Vec::len).max().unwrap_or(0);
    let engine = choice::engine(&scene.model, &scene.pool, SLOTS, longest.max(32) + new_tokens);
    let mut engine = engine.with_choice(Box::new(move |request, logits| {
        let begun = Instant::now();
        let token = choose(request, logits);
        spent.fetch_add(begun.elapsed().as_nanos() as u64, Relaxed);
        token
    }));
    engine.limits.end_of_text.clear();
    let greedy_params = SamplingParams::greedy().check(scene.vocab_size())?;
    for prompt in &prompts {
        let params = params.unwrap_or(&greedy_params).clone();
        engine.submit_with(prompt, new_tokens, params)?;
    }
    let (begun, mut tokens) = (Instant::now(), 0);
    engine.run(&mut |event| {
        tokens += usize::from(matches!(event, Event::Token { .. }));
        Delivery::Taken
    })?;
    let nanos = nanos.load(Relaxed) as f64;
    Ok((nanos / 1e3 / tokens as f64, nanos / begun.elapsed().as_nanos() as f64))
}

/// The engine with each request's own parameters against the same engine with the greedy choice.
pub fn share_of_a_step(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Ask what it costs in a step",
        "Eight requests through lesson 08's engine, and only the choice differs.",
    );
    let (vocab_size, new_tokens) = (scene.vocab_size(), scene.size(48, 8));
    let entries = [
        ("nothing cut", scene.params(|_| {})),
        ("top-k 50, top-p 0.9", scene.params(|p| (p.top_k, p.top_p) = (50, 0.9))),
        ("top-p 0.9", scene.params(|p| p.top_p = 0.9)),
        (
            "penalties, top-p 0.9",
            scene.params(|p| (p.repetition_penalty, p.frequency_penalty, p.top_p) = (1.1, 0.1, 0.9)),
        ),
    ];
    let mut all: Vec<(&str, Option<CheckedParams>)> = vec![(GREEDY, None)];
    for (name, params) in entries {
        all.push((name, Some(params.check(vocab_size)?)));
    }
    let mut race = Race::new("step", "Eight requests, by how tokens are chosen")
        .unit("tokens/s")
        .work((SLOTS * new_tokens) as f64)
        .rounds(scene.size(5, 1));
    for (name, params) in &all {
        race = race.entry(name, None, move || run(scene, new_tokens, params.as_ref()).is_ok());
    }
    let race = story.race(race.baseline(GREEDY).check(all_chosen))?;
    let (mut shares, mut rows) = (Vec::new(), Vec::new());
    for (name, params) in &all {
        let (micros, share) = run(scene, new_tokens, params.as_ref())?;
        let percent = format!("{:.1} %", 100.0 * share);
        rows.push([(*name).to_owned(), format!("{micros:.1}"), percent]);
        shares.push((name, share));
    }
    story.rows(&["choice", "µs a token", "share of a step"], rows);
    story.values("share_of_a_step", &shares);
    if race.disturbance(GREEDY, "penalties, top-p 0.9").is_some() {
        story.say("This machine is busy: the rounds spread too far. Run again for the times.");
    }
    story.say(format!(
        "A vocabulary of {vocab_size}. Each row of a step is chosen from alone, so eight requests pay eight times. The \
         race before shows the cost at a real vocabulary; compare it with the milliseconds of a larger model's step. \
         Top-p alone is expensive if the model is unsure, as random weights are: nearly all tokens stay and must be put \
         in order. Top-k before it avoids that."
    ));
    let chart = Chart::bars("step", "What choosing costs in tokens a second")
        .y_label("tokens a second, eight requests")
        .note(&format!("model {}, vocabulary {vocab_size}", scene.model.name));
    let chart = all
        .iter()
        .fold(chart, |chart, (name, _)| chart.bar(name, race.median(name)));
    story.chart(&chart.baseline(GREEDY))?;
    Ok(())
}
