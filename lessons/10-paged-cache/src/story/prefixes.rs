//! Texts that begin alike: what is found, and how soon the first token comes.

use super::{BLOCK_SIZE, Scene};
use continuous_batching::{Delivery, Engine, Event, FirstCome, Memory, Runner};
use lab::chart::Chart;
use lab::ledger;
use lab::race::{Disturbance, Race};
use lab::story::{Claim, Story, Verdict};
use paged_cache::hash::Salt;
use paged_cache::{BlockManager, Sharing};
use std::cell::RefCell;
use std::time::{Duration, Instant};
use training::TokenId;

/// Names in the race and on the chart.
const SLOTS: &str = "slots (08)";
const MISS: &str = "blocks, miss";
const HIT: &str = "blocks, hit";

/// What may be used again.
pub fn questions(story: &mut Story) {
    story.step(
        "What may be used again?",
        "Two tables may name the same block. So a text that begins as an earlier one did need not be computed from its \
         beginning.",
    );
    story.predict("equal-text");
    story.predict("full-hit");
}

/// Submits a prompt to an idle engine; the time until its first token, and the token.
fn ttft<R: Runner, M: Memory<X>, X>(
    engine: &mut Engine<R, M, FirstCome, X>,
    prompt: &[TokenId],
    attached: X,
) -> (Option<TokenId>, Duration) {
    let begun = Instant::now();
    let (mut first, mut time) = (None, Duration::ZERO);
    if engine.submit_with(prompt, 1, attached).is_err() {
        return (None, time);
    }
    let done = engine.run(&mut |event| {
        if let Event::Token { token, .. } = event {
            (first, time) = (Some(token), begun.elapsed());
        }
        Delivery::Taken
    });
    (done.ok().and(first), time)
}

/// A prompt that shares its first tokens with all others, and has an end of its own.
fn prompt(scene: &Scene, shared: usize, len: usize, own: usize) -> Vec<TokenId> {
    let mut tokens = scene.model.made_up_tokens(7, shared);
    tokens.extend(scene.model.made_up_tokens(100 + own, len - shared));
    tokens
}

/// P3: time to first token by shared prefix, in slots, with a miss and with a hit.
pub fn first_token(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "The first token of a text that begins alike",
        "Prompts of one length. A part of each was computed before, for another request. With a salt of its own a \
         request finds nothing.",
    );
    let len = scene.context() * 3 / 4 / BLOCK_SIZE * BLOCK_SIZE;
    let shares: Vec<usize> = (0..=4)
        .map(|quarter| (len - BLOCK_SIZE) * quarter / 4 / BLOCK_SIZE * BLOCK_SIZE)
        .collect();
    // Enough blocks that nothing is evicted during the race: the question is how fast it is found.
    let num_blocks = (64 * len / BLOCK_SIZE).min(4096);
    let engine = RefCell::new(scene.engine(BlockManager::new(num_blocks, BLOCK_SIZE, len + BLOCK_SIZE), 1));
    let slots = RefCell::new(scene.slot_engine(1, len + 1));

    let (mut right, mut rate, mut rows) = (true, 0.0, Vec::new());
    for (index, shared) in shares.iter().enumerate() {
        let mut engine = engine.borrow_mut();
        let mut first = |own| {
            ttft(
                &mut *engine,
                &prompt(scene, *shared, len, own + index),
                Sharing::default(),
            )
        };
        first(10);
        let ((), counted) = ledger::measure(|| {
            first(50);
        });
        let computed = counted.get("positions") as usize;
        rate = (len - computed) as f64 / len as f64;
        right &= computed == len - shared;
        let hashed = counted.get("blocks_hashed").to_string();
        let found = format!("{:.0} %", 100.0 * rate);
        rows.push([shared.to_string(), len.to_string(), computed.to_string(), hashed, found]);
    }
    let head = ["shared", "rows computed: miss", "hit", "blocks hashed", "hit rate"];
    story.rows(&head, rows);
    story.values("most_hit_rate", rate);

    let mut race = Race::new(
        "first-token",
        &format!("First token of a prompt of {len}, x: shared tokens"),
    )
    .rounds(if scene.model.is_large() { 1 } else { 5 })
    .baseline(SLOTS)
    .check(|a: &Option<TokenId>, b| match a == b && a.is_some() {
        true => Ok(()),
        false => Err(format!("{a:?} and {b:?}")),
    });
    for shared in &shares {
        let (x, engine, slots) = (Some(*shared as f64), &engine, &slots);
        // Each round has a prompt of its own, the same one for all entries.
        let prompts = || {
            let mut round = 0;
            move || {
                round += 1;
                prompt(scene, *shared, len, 1000 + 100 * shared + round)
            }
        };
        let (mut of_slots, mut of_miss, mut of_hit) = (prompts(), prompts(), prompts());
        race = race
            .entry_timed(SLOTS, x, move || ttft(&mut *slots.borrow_mut(), &of_slots(), ()))
            .entry_timed(MISS, x, move || {
                // A salt of its own finds nothing.
                let salt = Salt(1 + engine.borrow().num_steps());
                let own = Sharing { parent: None, salt };
                ttft(&mut *engine.borrow_mut(), &of_miss(), own)
            })
            .entry_timed(HIT, x, move || {
                ttft(&mut *engine.borrow_mut(), &of_hit(), Sharing::default())
            });
    }
    let race = story.race(race)?;
    let most = shares[shares.len() - 1];
    let ratio = race.ratio_at(HIT, MISS, most as f64);
    let ms = |name: &str, x: usize| race.median_at(name, x as f64);
    let claim = Claim {
        id: "P3",
        claimed: "Shared prefixes are computed once: the hit rate shows in time to first token",
        value: ratio,
        unit: "times sooner, nearly all shared",
        verdict: Verdict::of(right && ratio >= 2.0, right || ratio >= 2.0),
        note: &format!(
            "With {most} of {len} tokens shared {:.0} % are found and {} rows are computed: {:.2} ms, against {:.2} ms \
             with a miss and {:.2} ms in a slot. With nothing shared: hit {:.2} ms, miss {:.2} ms.",
            100.0 * rate,
            len - most,
            ms(HIT, most),
            ms(MISS, most),
            ms(SLOTS, most),
            ms(HIT, 0),
            ms(MISS, 0)
        ),
    };
    // Where nothing is shared hit and miss are equal, so only the other end says whether the machine is quiet.
    let impossible = Disturbance::of_ratio(
        "with nothing shared, hit against miss",
        ms(HIT, 0) / ms(MISS, 0),
        0.7..=1.4,
    );
    story.claim_if_quiet(claim, [impossible]);
    let chart = Chart::lines(
        "first-token",
        "The first token comes sooner by what was computed before",
    )
    .x_label("tokens of the prompt that were computed before")
    .y_label("ms to the first token")
    .note(&format!(
        "prompts of {len} tokens, one at a time, model {}",
        scene.model.name
    ))
    .race(&race, &[SLOTS, MISS, HIT]);
    story.chart(&chart)?;
    Ok(())
}
