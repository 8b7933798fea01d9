//! Four requests on two slots, and what one of their steps computes.

use super::load::{Job, in_batches, plan, submit};
use super::{Scene, timeline, trace};
use continuous_batching::{Batch, Delivery};
use generation::terminal::piece;
use lab::ledger;
use lab::story::{Answer, Story};
use lab::table::Table;
use static_batching::BatchState;

/// Steps of the four answers.
const LENGTHS: [usize; 4] = [2, 8, 3, 3];
const TWO_SLOTS: usize = 2;
/// Tokens of a prompt.
const PROMPT: usize = 4;

/// 2, 8, 3 and 3 steps on two slots: asked, computed twice, drawn.
pub fn four_requests(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Let them leave when they are done",
        "Four requests, A to D, are there from the start; the first answer takes 2 steps, the others 8, 3 and 3. There are two slots.",
    );
    let asked = story.ask("steps-of-four", &[]);
    let job = |(index, new_tokens)| Job {
        prompt: scene.model.made_up_tokens(index, PROMPT),
        new_tokens,
    };
    let jobs: Vec<Job> = LENGTHS.into_iter().enumerate().map(job).collect();
    let mut engine = scene.engine(TWO_SLOTS, PROMPT + 8);
    submit(&mut engine, &jobs)?;
    let mut steps = Vec::new();
    while !engine.is_idle() {
        steps.extend(trace::step(&mut engine, &mut |_| Delivery::Taken)?);
    }
    let plan = plan(LENGTHS.into_iter(), TWO_SLOTS);
    let mut state = BatchState::new(&scene.model.config);
    let (_, static_steps) = in_batches(scene, &mut state, &jobs, TWO_SLOTS)?;
    anyhow::ensure!(
        static_steps == plan.steps(),
        "the static batches took {static_steps} steps, their plan says {}",
        plan.steps()
    );
    timeline::draw(
        story,
        &[
            ("static", timeline::of_plan(&plan, TWO_SLOTS)),
            ("continuous", timeline::of_trace(&steps, TWO_SLOTS)),
        ],
    );
    story.say("");
    story.reveal(asked, Answer::Stated, &[]);
    story.values("lengths", LENGTHS);
    story.values("static_steps", static_steps);
    story.values("continuous_steps", engine.num_steps());
    story.values("trace", &steps);
    Ok(())
}

/// The rows of a step in which two requests decode and one joins.
pub fn one_batch(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Look at one step",
        "A and B are in the middle of their answers, C joins with its prompt. These rows go through the model:",
    );
    let mut engine = scene.engine(3, 64);
    let mut take = |index: usize, text: &str, num_steps: usize| -> anyhow::Result<_> {
        let mut prompt = match &scene.model.tokenizer {
            Some(_) => scene.model.encode_prompt(text)?,
            None => scene.model.made_up_tokens(index, PROMPT),
        };
        prompt.truncate(PROMPT);
        let id = engine.submit(&prompt, 16)?;
        let (stepped, counted) = ledger::measure(|| {
            for _ in 0..num_steps {
                engine.step(&mut |_| Delivery::Taken)?;
            }
            anyhow::Ok(())
        });
        stepped?;
        Ok((id, counted))
    };
    take(0, "Once upon a time", 1)?;
    take(1, "The little dog", 2)?;
    let (joins, counted) = take(2, "Tom and Lily", 1)?;
    show(story, scene, &engine.batch);
    let rows = engine.batch.num_rows();
    story.values("positions", &engine.batch.positions);
    story.values("rows", rows);
    story.ledger(&counted);
    story.predict("one-loop");
    story.show("rows of this step", rows);
    story.show("tokens that it gives", engine.batch.sampling().count());
    story.values("joined", joins.0);
    story.predict("alone");
    Ok(())
}

/// The batch as a table with a column for each row.
fn show(story: &mut Story, scene: &Scene, batch: &Batch) {
    let columns = |name: &str, cell: &dyn Fn(usize) -> String| -> Vec<String> {
        let cells = (0..batch.num_rows()).map(cell);
        std::iter::once(name.to_owned()).chain(cells).collect()
    };
    let head = columns("row", &|row| row.to_string());
    let sequence = |row: usize| batch.sequences.iter().find(|sequence| sequence.rows().contains(&row));
    let mut table = Table::new(&head.iter().map(String::as_str).collect::<Vec<_>>());
    table.row(columns("request", &|row| {
        let letter = sequence(row).map(|sequence| char::from(b'A' + sequence.id.0 as u8));
        letter.map(String::from).unwrap_or_default()
    }));
    table.row(columns("token", &|row| piece(&scene.model, batch.tokens[row])));
    table.row(columns("position", &|row| batch.positions[row].to_string()));
    table.row(columns("next one wanted", &|row| {
        let is_wanted = sequence(row).is_some_and(|sequence| sequence.wants_logits && sequence.last_row() == row);
        if is_wanted { "yes".to_owned() } else { String::new() }
    }));
    story.table(&table);
}
