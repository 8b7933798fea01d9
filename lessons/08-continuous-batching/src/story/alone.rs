//! Every answer against the same request alone, and the edges.

use super::load::{Job, jobs, longest, run, submit, three_kinds};
use super::{SLOTS, Scene};
use continuous_batching::{Delivery, FinishReason, SeqId};
use generation::State;
use generation::generate::greedy;
use kv_cache::session::{cache_for, generate};
use lab::story::{Claim, Story, Verdict};
use static_batching::workload::{Pace, arrivals};
use std::collections::BTreeMap;
use training::TokenId;

/// Requests at the same time, on eight slots.
const REQUESTS: usize = 64;
/// Cancelled requests: one while it waits, one in the step that computes its prompt, one in its last step.
const CANCELLED: [usize; 3] = [60, 20, 12];

/// C5: 64 requests together, each compared with its run alone.
pub fn cross_talk(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Listen at the wall",
        "64 requests on 8 slots, three of them cancelled on the way. Every answer is compared with the same request alone, token for token.",
    );
    let seed = scene.seed.wrapping_add(100);
    let jobs = jobs(scene, &arrivals(seed, REQUESTS, &three_kinds(), &Pace::AtOnce));
    let ended = together(scene, &jobs)?;
    let mut equal = 0;
    for (index, job) in jobs.iter().enumerate() {
        let single = single(scene, job)?;
        let (tokens, reason) = &ended[&SeqId(index as u64)];
        let expected = match CANCELLED.iter().position(|victim| *victim == index) {
            Some(0 | 1) => &[][..],
            Some(_) => &single[..single.len() - 1],
            None => &single[..],
        };
        let is_cancelled = *reason == FinishReason::Cancelled;
        equal += usize::from(tokens == expected && is_cancelled == CANCELLED.contains(&index));
    }
    let whole = equal == REQUESTS;
    let (edges, refused) = edges(scene)?;
    let all = ("64 at once, 8 slots, 3 cancelled", format!("{equal} as alone"), whole);
    let rows = std::iter::once(&all).chain(&edges);
    let rows = rows.map(|(what, found, right)| [*what, found.as_str(), if *right { "yes" } else { "NO" }]);
    story.rows(&["request", "came of it", "as it should"], rows);
    story.values("requests", REQUESTS);
    story.values("equal", equal);
    story.values("refusals", &refused);
    let right = edges.iter().filter(|(_, _, right)| *right).count();
    let edges_hold = right == edges.len();
    let note = format!(
        "{equal} of {REQUESTS} answers have the same tokens as alone, {right} of {} edges end as they should. No bit of a row depends on \
         other rows, so this is equality, not closeness.",
        edges.len()
    );
    story.claim(Claim {
        id: "C5",
        claimed: "Concurrent output equals one-at-a-time output (no cross-talk), also at the edges: empty prompt, prompt over the limit, no new tokens, more requests than slots",
        value: equal as f64,
        unit: "of 64 answers equal",
        verdict: Verdict::of(whole && edges_hold, whole || edges_hold),
        note: &note,
    });
    anyhow::ensure!(
        whole && edges_hold,
        "an answer depends on the other requests: this engine is broken"
    );
    Ok(())
}

/// All of them through one engine. Cancels that come while the model computes are sent from the choice, which runs
/// after the pass.
fn together(scene: &Scene, jobs: &[Job]) -> anyhow::Result<BTreeMap<SeqId, (Vec<TokenId>, FinishReason)>> {
    let engine = scene.engine(SLOTS, longest(jobs));
    let canceller = engine.canceller();
    let [waits, first, last] = CANCELLED.map(|index| SeqId(index as u64));
    let mut engine = engine.with_choice(Box::new(move |request, logits| {
        let is_first = request.id == first && request.output.is_empty();
        let is_last = request.id == last && request.output.len() + 1 == request.max_new_tokens;
        if is_first || is_last {
            // The engine holds the other end of the channel.
            let _ = canceller.send(request.id);
        }
        greedy(logits)
    }));
    submit(&mut engine, jobs)?;
    engine.step(&mut |_| Delivery::Taken)?;
    engine.cancel(waits);
    let ended = run(&mut engine)?;
    engine.check_invariants();
    anyhow::ensure!(engine.memory.num_free() == SLOTS, "a slot is still held");
    let found = ended.len();
    anyhow::ensure!(found == jobs.len(), "{found} of {} requests ended", jobs.len());
    Ok(ended)
}

/// The tokens of one request by itself: lesson 06's loop.
fn single(scene: &Scene, job: &Job) -> anyhow::Result<Vec<TokenId>> {
    let mut cache = cache_for(&scene.model, job.prompt.len(), job.new_tokens);
    let mut state = State::new(&scene.model.config, job.prompt.len());
    let (model, pool, prompt) = (&scene.model, &scene.pool, &job.prompt);
    let timed = generate(model, &mut state, &mut cache, pool, prompt, job.new_tokens, &mut |_| {})?;
    Ok(timed.generation.tokens)
}

/// What was asked, what came of it, and whether that is right.
type Edge = (&'static str, String, bool);

/// Requests that ask for nothing, or for too much; and the texts of the refusals.
fn edges(scene: &Scene) -> anyhow::Result<(Vec<Edge>, Vec<String>)> {
    let mut engine = scene.engine(2, 64);
    let max_seq_len = engine.limits.max_seq_len;
    let (mut edges, mut refused): (Vec<Edge>, Vec<String>) = (Vec::new(), Vec::new());
    for (what, len) in [("an empty prompt", 0), ("a prompt over the limit", max_seq_len + 1)] {
        let answer = engine.submit(&scene.model.made_up_tokens(0, len), 4);
        let found = answer.as_ref().map_or("refused", |_| "accepted");
        edges.push((what, found.into(), answer.is_err()));
        refused.extend(answer.err().map(|refusal| refusal.to_string()));
    }
    let nothing = engine.submit(&scene.model.made_up_tokens(0, 4), 0)?;
    let full = engine.submit(&scene.model.made_up_tokens(1, max_seq_len), 4)?;
    let ended = run(&mut engine)?;
    for (what, id, expected) in [
        ("no new tokens", nothing, FinishReason::Length),
        ("a prompt that fills the context", full, FinishReason::Context),
    ] {
        let (tokens, reason) = &ended[&id];
        let found = format!("{} tokens, {reason:?}", tokens.len());
        edges.push((what, found, tokens.is_empty() && *reason == expected));
    }
    Ok((edges, refused))
}
