//! What joining and leaving is worth, by mix of lengths: counted in steps, then raced.

use super::load::{Job, Mix, longest, new_tokens, static_steps};
use super::{SLOTS, Scene, SlotEngine, timeline};
use anyhow::Context;
use continuous_batching::runner::NoModel;
use continuous_batching::trace::StepTrace;
use continuous_batching::{Delivery, Engine, EngineLimits, Event, Slots};
use lab::chart::Chart;
use lab::race::{Race, RaceResult};
use lab::story::{Choice, Claim, Prediction, Story, Verdict};
use lab::table::Table;
use static_batching::workload::{Lengths, Pace, arrivals};
use static_batching::{BatchState, Pad, generate_batch};
use training::TokenId;

/// Requests of a count: so many that the end of the queue does not show.
const MANY: usize = 20_000;
/// The gains that C1 claims, from the usual one to the largest; a tenth less is the same finding.
const CLAIMED: (f64, f64) = (2.3, 5.0);
/// Rounds of each race, and those with a large model.
const ROUNDS: (usize, usize) = (3, 1);

/// Steps of lesson 07 and of the engine for `count` requests of these lengths.
fn steps_of(lengths: &Lengths, count: usize, seed: u64, slots: usize) -> (u64, u64) {
    let requests = arrivals(seed, count, lengths, &Pace::AtOnce);
    let pairs = requests.iter().map(|r| (r.prompt_tokens, r.new_tokens));
    let batches = static_steps(pairs, slots).steps();
    // No model is needed to see who sits where, and no prompt: one token stands for it.
    let limits = EngineLimits {
        max_running: slots,
        max_new_tokens: usize::MAX,
        max_seq_len: 1 << 20,
        vocab_size: 1,
        end_of_text: Vec::new(),
    };
    let mut engine = Engine::new(NoModel::new(1), Slots::new(slots, 1 << 20), limits);
    for request in &requests {
        let accepted = engine.submit(&[TokenId(0)], request.new_tokens);
        accepted.expect("a token that this engine knows");
    }
    let done = engine.run(&mut |_| Delivery::Taken);
    done.expect("nothing is computed, so nothing fails");
    (batches, engine.num_steps())
}

/// The gain from lengths alone.
pub fn counted(story: &mut Story, scene: &Scene, mixes: &[Mix]) {
    story.step(
        "Ask what the gain depends on",
        "A static batch takes as many steps as its longest answer; where slots are refilled, the mean answer counts.",
    );
    let exponential = Lengths::exponential(16, 40.0, 100_000);
    let gain_of = |lengths: &Lengths, slots: usize| {
        let (batches, engine) = steps_of(lengths, MANY, scene.seed, slots);
        batches as f64 / engine as f64
    };
    let at_eight = gain_of(&exponential, SLOTS);
    let right = format!("about {at_eight:.1} times");
    let because = format!(
        "The mean longest of {SLOTS} over the mean of all. For exponential lengths that is 1 + 1/2 + … + 1/{SLOTS} = {:.2}; counted over {MANY} requests: {at_eight:.2}.",
        harmonic(SLOTS)
    );
    story.predict(Prediction {
        id: "gain",
        question: &format!(
            "Lengths of answers are exponential, many short and few long, and a batch holds {SLOTS}. How many times fewer steps does the engine take?"
        ),
        options: &[
            Choice {
                text: "the same: both have as many slots",
                answer_to_wrong: Some("In a static batch most slots are done early and wait for the longest."),
            },
            Choice { text: &right, answer_to_wrong: None },
            Choice {
                text: "8 times",
                answer_to_wrong: Some("That would need a static batch in which one slot works all the time and seven wait."),
            },
        ],
        answer: 1,
        because: &because,
    });
    let mut table = Table::new(&[
        "lengths",
        "batch",
        "longest / mean",
        "steps static",
        "continuous",
        "times",
    ]);
    let mut row = |name: &str, lengths: &Lengths, slots: usize, expected: Option<f64>| {
        let (batches, engine) = steps_of(lengths, MANY, scene.seed, slots);
        table.row([
            name.to_owned(),
            slots.to_string(),
            expected.map_or(String::new(), |gain| format!("{gain:.2}")),
            lab::number::grouped(batches),
            lab::number::grouped(engine),
            format!("{:.2}", batches as f64 / engine as f64),
        ]);
        batches as f64 / engine as f64
    };
    let mut gains = Vec::new();
    for slots in [5, SLOTS, 32] {
        gains.push((
            slots,
            row(
                "exponential, mean 40",
                &exponential,
                slots,
                Some(harmonic(slots)),
            ),
        ));
    }
    row("equal", &Lengths::equal(16, 40), SLOTS, Some(1.0));
    for mix in mixes.iter().filter(|mix| mix.id != "exponential") {
        row(mix.name, &mix.lengths, SLOTS, None);
    }
    story.table(&table);
    story.values("exponential_gain", &gains);
    story.say("No engine and no model is in these numbers, only lengths. With equal lengths there is nothing to gain.");
}

/// 1 + 1/2 + … + 1/n: the mean longest of n exponential lengths, in means.
fn harmonic(n: usize) -> f64 {
    (1..=n).map(|i| 1.0 / i as f64).sum()
}

/// Answers, in the order of the requests.
type Answers = Vec<Vec<TokenId>>;

/// All jobs in lesson 07's batches.
fn run_static(scene: &Scene, state: &mut BatchState, jobs: &[Job]) -> anyhow::Result<Answers> {
    let mut answers = Vec::with_capacity(jobs.len());
    for batch in jobs.chunks(SLOTS) {
        let prompts: Vec<&[TokenId]> = batch.iter().map(|job| job.prompt.as_slice()).collect();
        let lengths: Vec<usize> = batch.iter().map(|job| job.new_tokens).collect();
        let (model, pool) = (&scene.model, &scene.pool);
        let run = generate_batch(
            model,
            state,
            pool,
            &prompts,
            &lengths,
            Pad::default(),
            &mut |_, _| {},
        )?;
        answers.extend(
            run.generations
                .into_iter()
                .map(|generation| generation.tokens),
        );
    }
    Ok(answers)
}

/// All jobs through the engine.
fn run_continuous(engine: &mut SlotEngine<'_>, jobs: &[Job]) -> anyhow::Result<Answers> {
    let mut first = None;
    for job in jobs {
        let id = engine.submit(&job.prompt, job.new_tokens)?;
        first.get_or_insert(id.0);
    }
    let first = first.unwrap_or(0);
    let mut answers = vec![Vec::new(); jobs.len()];
    engine.run(&mut |event| {
        if let Event::Finished { id, output, .. } = event {
            answers[(id.0 - first) as usize] = output.to_vec();
        }
        Delivery::Taken
    })?;
    Ok(answers)
}

/// C1 and C3: tokens a second, static against continuous, on each mix. Returns requests a second of the static batches on the mix of three kinds.
pub fn raced(story: &mut Story, scene: &Scene, mixes: &[Mix]) -> anyhow::Result<f64> {
    story.step(
        "Race on four kinds of traffic",
        "The same requests, all there at the start, through lesson 07's batches and through the engine. Answers must be equal, token for token.",
    );
    let mut races = Vec::new();
    for mix in mixes {
        let mut state = BatchState::new(&scene.model.config);
        let mut engine = scene.engine(SLOTS, longest(&mix.jobs));
        let title = format!("{}: {} requests", mix.name, mix.jobs.len());
        let race = Race::new(&format!("throughput-{}", mix.id), &title)
            .unit("tokens/s")
            .work(new_tokens(&mix.jobs) as f64)
            .rounds(if scene.is_large() { ROUNDS.1 } else { ROUNDS.0 })
            .entry("static batches", None, || {
                run_static(scene, &mut state, &mix.jobs)
            })
            .entry("continuous", None, || {
                run_continuous(&mut engine, &mix.jobs)
            })
            .baseline("static batches")
            .check(|a, b| match (a, b) {
                (Ok(a), Ok(b)) if a == b => Ok(()),
                (Ok(_), Ok(_)) => Err("an answer differs".into()),
                (Err(error), _) | (_, Err(error)) => Err(error.to_string()),
            });
        races.push((mix, story.race(race)?));
    }
    let gain = |race: &RaceResult| race.ratio("continuous", "static batches");
    let mut table = Table::new(&["lengths", "mean", "longest", "fewer steps", "faster"]);
    let mut chart = Chart::bars("mixes", "Joining and leaving at every step")
        .y_label("tokens a second")
        .note(&format!("batch {SLOTS}, model {}", scene.model.name));
    for (mix, race) in &races {
        let lengths = mix
            .jobs
            .iter()
            .map(|job| (job.prompt.len(), job.new_tokens));
        let batches = static_steps(lengths, SLOTS).steps();
        let (_, steps) = steps_of(&mix.lengths, mix.jobs.len(), scene.seed, SLOTS);
        let mean = new_tokens(&mix.jobs) as f64 / mix.jobs.len() as f64;
        let most = mix.jobs.iter().map(|job| job.new_tokens).max();
        table.row([
            mix.name.to_owned(),
            format!("{mean:.1}"),
            most.unwrap_or(0).to_string(),
            format!("{:.2}", batches as f64 / steps as f64),
            format!("{:.2}", gain(race)),
        ]);
        let median = |name: &str| race.entry(name).map_or(f64::NAN, |entry| entry.median);
        chart = chart.group(
            mix.name,
            &[
                ("static batches (07)", median("static batches")),
                ("continuous (08)", median("continuous")),
            ],
        );
    }
    story.table(&table);
    let gains: Vec<(&str, f64)> = races
        .iter()
        .map(|(mix, race)| (mix.id, gain(race)))
        .collect();
    story.values("gains", &gains);
    claims(story, &gains)?;
    story.chart(&chart.baseline("static batches (07)"))?;
    let (mix, race) = races
        .iter()
        .find(|(mix, _)| mix.id == "mix")
        .context("the mix of three kinds")?;
    let tokens_per_second = race
        .entry("static batches")
        .context("a race with entries")?
        .median;
    Ok(tokens_per_second * mix.jobs.len() as f64 / new_tokens(&mix.jobs) as f64)
}

fn claims(story: &mut Story, gains: &[(&str, f64)]) -> anyhow::Result<()> {
    let of = |wanted: &str| {
        let found = gains
            .iter()
            .find(|(id, _)| *id == wanted)
            .map(|(_, gain)| *gain);
        found.with_context(|| format!("a race on the mix {wanted}"))
    };
    let (equal, mix, exponential, conversation) = (
        of("equal")?,
        of("mix")?,
        of("exponential")?,
        of("conversation")?,
    );
    let verdict = match mix {
        gain if (0.9 * CLAIMED.0..=CLAIMED.1).contains(&gain) => Verdict::Holds,
        gain if gain >= 1.2 => Verdict::Partly,
        _ => Verdict::NotHere,
    };
    let note = format!(
        "On the mix of three kinds at batch {SLOTS}; exponential lengths {exponential:.1} times, conversation {conversation:.1}. Fewer steps are counted \
         above; time gains less where a joining prompt makes a step longer. A larger batch gains more: by count {:.1} times at 32.",
        harmonic(32)
    );
    story.claim(Claim {
        id: "C1",
        claimed: "Continuous batching gives 2.3 times (up to 3 to 5 times) the throughput of static batching on mixed lengths",
        value: mix,
        unit: "times the tokens a second",
        verdict,
        note: &note,
    });
    let least = mix.min(exponential).min(conversation);
    // A loss on equal answers would be no small gain either.
    let verdict = match (least >= 1.5, (0.87..=1.15).contains(&equal)) {
        (true, true) => Verdict::Holds,
        (false, false) => Verdict::NotHere,
        _ => Verdict::Partly,
    };
    let note = format!(
        "Equal short answers: {equal:.2} times. Mixed ones: {least:.1} to {:.1} times. The gain is the mean longest of a batch over the mean, and that \
         is 1 where all are equal.",
        mix.max(exponential).max(conversation)
    );
    story.claim(Claim {
        id: "C3",
        claimed: "Its gain is large for long or mixed outputs and small for short equal ones",
        value: equal,
        unit: "times, equal short answers",
        verdict,
        note: &note,
    });
    Ok(())
}

/// The fill of the batch over time, static and continuous.
pub fn fill(story: &mut Story, scene: &Scene, mixes: &[Mix]) -> anyhow::Result<()> {
    story.step(
        "Watch the batch",
        "Requests that move in each step, on the mix of three kinds: the area below both lines is the same, all tokens of all answers.",
    );
    let mix = mixes
        .iter()
        .find(|mix| mix.id == "mix")
        .context("the mix of three kinds")?;
    let mut engine = scene.engine(SLOTS, longest(&mix.jobs));
    engine.start_trace();
    run_continuous(&mut engine, &mix.jobs)?;
    let lengths = mix
        .jobs
        .iter()
        .map(|job| (job.prompt.len(), job.new_tokens));
    let plan = static_steps(lengths, SLOTS);
    let schedules = [
        (
            "static batches (07)",
            timeline::running(&timeline::of_plan(&plan, SLOTS)),
        ),
        (
            "continuous (08)",
            timeline::running(&timeline::of_trace(engine.trace(), SLOTS)),
        ),
    ];
    let mut chart = Chart::lines("fill", "Who moves in each step")
        .x_label("step")
        .y_label("requests that move")
        .note(&format!(
            "{} requests, 6 : 3 : 1, batch {SLOTS}",
            mix.jobs.len()
        ))
        .y_range(0.0, SLOTS as f64 + 0.5);
    for (name, running) in &schedules {
        let mean = running.iter().sum::<usize>() as f64 / running.len().max(1) as f64;
        story.show_as(
            name,
            mean,
            format!(
                "{} steps, {mean:.1} of {SLOTS} move in a step, {:.0} %",
                running.len(),
                100.0 * mean / SLOTS as f64
            ),
        );
        chart = chart.series(name, stairs(running));
    }
    story.values(
        "running",
        schedules
            .iter()
            .map(|(_, running)| running)
            .collect::<Vec<_>>(),
    );
    timeline::bars(story, &schedules);
    let context = scene.model.config.llama.max_seq_len;
    let share = share_of_slots(engine.trace(), context);
    story.show_as(
        "room that is used",
        share,
        format!(
            "{:.1} % of {SLOTS} slots of {context} positions, the model's context",
            100.0 * share
        ),
    );
    story.chart(&chart)?;
    Ok(())
}

/// Mean share of all slots that holds something, if each has `capacity` positions.
fn share_of_slots(trace: &[StepTrace], capacity: usize) -> f64 {
    let seats = trace.iter().flat_map(|step| &step.computed);
    let held: usize = seats.map(|seat| seat.first_position + seat.rows).sum();
    held as f64 / (trace.len() * SLOTS * capacity).max(1) as f64
}

/// A number for each step as a line with corners.
fn stairs(running: &[usize]) -> Vec<(f64, f64)> {
    let steps = running.iter().enumerate();
    let mut points: Vec<(f64, f64)> = steps
        .flat_map(|(step, running)| {
            [
                (step as f64, *running as f64),
                (step as f64 + 1.0, *running as f64),
            ]
        })
        .collect();
    points.push((running.len() as f64, 0.0));
    points
}
