//! Four requests on two slots, and what one of their steps computes.

use super::load::static_steps;
use super::opening::piece;
use super::{Scene, timeline};
use continuous_batching::trace::Recorder;
use continuous_batching::{Batch, Delivery, SeqId};
use lab::ledger;
use lab::story::{Choice, Prediction, Story};
use lab::table::Table;
use static_batching::{BatchState, Pad, generate_batch};
use training::TokenId;

/// Answers of the four requests, in steps.
const LENGTHS: [usize; 4] = [2, 8, 3, 3];
/// Slots for them.
const TWO_SLOTS: usize = 2;
/// Tokens of their prompts.
const PROMPT: usize = 4;

/// 2, 8, 3 and 3 steps on two slots: asked, computed twice, drawn.
pub fn four_requests(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Let them leave when they are done",
        "Four requests, A to D, are there from the start; the first answer takes 2 steps, the others 8, 3 and 3. There are two slots.",
    );
    let one_by_one: usize = LENGTHS.iter().sum();
    let plan = static_steps(LENGTHS.iter().map(|length| (PROMPT, *length)), TWO_SLOTS);
    let (alone, together) = (one_by_one.to_string(), plan.steps().to_string());
    let prediction = Prediction {
        id: "steps-of-four",
        question: "Whoever is done leaves, and the next one takes the slot in the following step. After how many steps are all four done?",
        options: &[
            Choice {
                text: &alone,
                answer_to_wrong: Some("That is one after the other. Two slots move two requests in each step."),
            },
            Choice {
                text: &together,
                answer_to_wrong: Some(
                    "That is a static batch with a wait window of zero: it starts at once, but its two still end together. What is new is not when a batch starts, it is that nobody waits for its end.",
                ),
            },
            Choice {
                text: "8",
                answer_to_wrong: None,
            },
        ],
        answer: 2,
        because: "Slot 0 works 2 + 3 + 3 steps, slot 1 works 8. No slot is empty while somebody waits.",
    };
    let guess = story.ask_old(&prediction);

    let prompts: Vec<Vec<TokenId>> = (0..LENGTHS.len())
        .map(|index| scene.model.made_up_tokens(index, PROMPT))
        .collect();
    let mut engine = scene.engine(TWO_SLOTS, PROMPT + 8);
    for (prompt, length) in prompts.iter().zip(LENGTHS) {
        engine.submit(prompt, length)?;
    }
    let mut recorder = Recorder::default();
    while !engine.is_idle() {
        recorder.step(&mut engine, &mut |_| Delivery::Taken)?;
    }
    let steps = static_run(scene, &prompts)?;
    anyhow::ensure!(
        steps == plan.steps(),
        "the static batches took {steps} steps, their plan says {}",
        plan.steps()
    );
    timeline::draw(
        story,
        &[
            ("static", &timeline::of_plan(&plan, TWO_SLOTS)),
            ("continuous", &timeline::of_trace(&recorder.steps, TWO_SLOTS)),
        ],
    );
    story.say("");
    story.reveal_old(&prediction, guess);
    story.values("lengths", LENGTHS);
    story.values("static_steps", steps);
    story.values("continuous_steps", engine.num_steps());
    story.values("trace", &recorder.steps);
    Ok(())
}

/// The same requests in lesson 07's batches; returns their steps.
fn static_run(scene: &Scene, prompts: &[Vec<TokenId>]) -> anyhow::Result<u64> {
    let mut state = BatchState::new(&scene.model.config);
    let mut steps = 0;
    for (prompts, lengths) in prompts.chunks(TWO_SLOTS).zip(LENGTHS.chunks(TWO_SLOTS)) {
        let prompts: Vec<&[TokenId]> = prompts.iter().map(Vec::as_slice).collect();
        let (model, pool) = (&scene.model, &scene.pool);
        let rule = Pad::default();
        steps += generate_batch(model, &mut state, pool, &prompts, lengths, rule, &mut |_, _| {})?.steps;
    }
    Ok(steps)
}

/// The rows of a step in which two decode and one joins.
pub fn one_batch(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Look at one step",
        "A and B are in the middle of their answers, C joins with its prompt. These rows go through the model:",
    );
    let mut engine = scene.engine(3, 64);
    let texts = ["Once upon a time", "The little dog", "Tom and Lily"];
    let prompt = |index: usize| -> anyhow::Result<Vec<TokenId>> {
        let mut tokens = match &scene.model.tokenizer {
            Some(_) => scene.model.encode_prompt(texts[index])?,
            None => scene.model.made_up_tokens(index, PROMPT),
        };
        tokens.truncate(PROMPT);
        Ok(tokens)
    };
    engine.submit(&prompt(0)?, 16)?;
    engine.step(&mut |_| Delivery::Taken)?;
    engine.submit(&prompt(1)?, 16)?;
    engine.step(&mut |_| Delivery::Taken)?;
    engine.step(&mut |_| Delivery::Taken)?;
    let joins = engine.submit(&prompt(2)?, 16)?;
    let (stepped, counted) = ledger::measure(|| engine.step(&mut |_| Delivery::Taken));
    stepped?;
    show(story, scene, &engine.batch);
    story.values("positions", &engine.batch.positions);
    story.values("rows", engine.batch.num_rows());
    story.ledger(&counted);
    story.predict(Prediction {
        id: "one-loop",
        question: "Three requests move in this step, two that write and one that reads its prompt. How many times is the model called?",
        options: &[
            Choice { text: "3: each has a thread of its own", answer_to_wrong: Some("Then the weights would be read three times, once for each thread. Requests need no threads: what moves them at the same time is one batch.") },
            Choice { text: "2: once for those who write, once for the one that reads", answer_to_wrong: Some("A prompt is many rows of one request, an answer one row. In a flat list both can stand.") },
            Choice { text: "1", answer_to_wrong: None },
        ],
        answer: 2,
        because: "One pass over all rows. Each row brings its position and sees the keys of its own request, and the head multiplies the last row of each.",
    });
    story.show("rows of this step", engine.batch.num_rows());
    story.show("tokens that it gives", engine.batch.sampling().count());
    story.values("joined", joins.0);
    story.predict(Prediction {
        id: "alone",
        question: "And if A were alone, with 64 tokens to write: how many steps with this engine of 3 slots, where lesson 06's loop makes 64 passes?",
        options: &[
            Choice { text: "22: three slots work on it", answer_to_wrong: Some("Each token needs the one before it, so nobody can work on the next one yet. This does not speed up one request; it shares steps among many.") },
            Choice { text: "64", answer_to_wrong: None },
            Choice { text: "192: three slots are computed", answer_to_wrong: Some("An empty slot has no row. Only a padded batch computes places where nobody sits.") },
        ],
        answer: 1,
        because: "A request takes as many steps as its answer has tokens, alone or not.",
    });
    Ok(())
}

/// The batch as a table, a column a row.
fn show(story: &mut Story, scene: &Scene, batch: &Batch) {
    let rows: Vec<String> = (0..batch.num_rows()).map(|row| row.to_string()).collect();
    let head: Vec<&str> = std::iter::once("row").chain(rows.iter().map(String::as_str)).collect();
    let mut table = Table::new(&head);
    let letter = |id: SeqId| char::from(b'A' + id.0 as u8).to_string();
    let owners = batch
        .sequences
        .iter()
        .flat_map(|sequence| std::iter::repeat_n(letter(sequence.id), sequence.num_rows));
    let wanted = |row: usize| match batch.sampling().any(|sequence| sequence.last_row() == row) {
        true => "yes",
        false => "",
    };
    let line = |name: &str, cells: Vec<String>| std::iter::once(name.to_owned()).chain(cells);
    table.row(line("request", owners.collect()));
    table.row(line(
        "token",
        batch.tokens.iter().map(|token| piece(scene, *token)).collect(),
    ));
    table.row(line("position", batch.positions.iter().map(usize::to_string).collect()));
    table.row(line(
        "next one wanted",
        (0..batch.num_rows()).map(|row| wanted(row).to_owned()).collect(),
    ));
    story.table(&table);
}
