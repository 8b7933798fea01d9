//! The command besides the story.

use crate::answers::{Answer, choice};
use crate::flags::SamplingFlags;
use anyhow::Context;
use continuous_batching::engine::Choice;
use continuous_batching::model_runner::ModelRunner;
use continuous_batching::slot_cache::SlotCache;
use continuous_batching::{Delivery, Engine, EngineLimits, SeqId};
use generation::Model;
use lab::args::CommonArgs;
use lab::term;
use layout::pool::Pool;
use sampling::SamplingParams;
use serde_json::json;
use std::collections::HashMap;
use std::io::{IsTerminal, Read};

/// Tokens that a text goes on for when nothing is said.
const DEFAULT_TOKENS: usize = 128;
/// Columns of a text that an error shows.
const SHOWN: usize = 40;
/// Most answers to one text; each needs a slot.
const MOST_ANSWERS: u32 = 64;

/// `generate`: one answer is printed as it comes, several one after the other when all are done; with --json one document at the end.
pub fn generate(args: &CommonArgs, text: Option<String>, flags: &SamplingFlags) -> anyhow::Result<()> {
    let num_answers = flags.answers;
    anyhow::ensure!(
        (1..=MOST_ANSWERS).contains(&num_answers),
        "--answers {num_answers}: expected 1 to {MOST_ANSWERS}"
    );
    let text = the_text(args, text)?;
    let model = Model::open(&args.model)?;
    let tokenizer = model.tokenizer()?;
    let pool = Pool::new(args.threads());
    let vocab_size = model.config.llama.vocab_size;
    let params = flags.params(args.seed).check(vocab_size)?;
    let prompt = model.encode_prompt(&text)?;
    let max_new_tokens = args.tokens.unwrap_or(DEFAULT_TOKENS);

    let (choice, of_requests, noted) = choice(flags.logprobs.is_some());
    let mut engine = engine(
        &model,
        &pool,
        num_answers as usize,
        prompt.len().saturating_add(max_new_tokens),
        choice,
    );
    let mut answers: HashMap<SeqId, Answer<'_>> = HashMap::new();
    for number in 0..num_answers {
        let params = SamplingParams {
            answer: number,
            ..(*params).clone()
        };
        let params = params.check(vocab_size)?;
        let id = engine
            .submit(&prompt, max_new_tokens)
            .with_context(|| format!("the text {:?}", term::cut(&text, SHOWN)))?;
        of_requests.set(id, params.clone());
        answers.insert(id, Answer::new(&model, params)?);
    }
    let streams = !args.json && num_answers == 1;
    if streams {
        term::print(&text);
    }
    engine.run(&mut |event| {
        let Some(answer) = answers.get_mut(&event.id()) else {
            return Delivery::Taken;
        };
        let (piece, delivery) = answer.take(event);
        if streams {
            term::print(&piece);
        }
        delivery
    })?;
    let mut answers: Vec<(SeqId, Answer<'_>)> = answers.into_iter().collect();
    answers.sort_by_key(|(id, _)| *id);
    if args.json {
        let noted = noted.lock().unwrap_or_else(|error| error.into_inner());
        let one = |(id, answer): &(SeqId, Answer<'_>)| answer.document(tokenizer, noted.get(id));
        let document = json!({
            "model": model.name,
            "prompt": text,
            "seed": args.seed,
            "answers": answers.iter().map(one).collect::<Vec<_>>(),
        });
        term::print(&format!("{document:#}\n"));
    } else if streams {
        term::print("\n");
    } else {
        for (_, answer) in &answers {
            term::print(&format!("{text}{}\n", answer.shown));
        }
    }
    Ok(())
}

fn engine<'a>(
    model: &'a Model,
    pool: &'a Pool,
    slots: usize,
    tokens: usize,
    choice: Choice,
) -> Engine<ModelRunner<'a>, SlotCache> {
    let capacity = tokens.clamp(1, model.config.llama.max_seq_len);
    let runner = ModelRunner::new(model, pool, slots, capacity);
    let cache = SlotCache::new(&model.config.llama, slots, capacity);
    let limits = EngineLimits::of_model(&model.config, slots);
    Engine::new(runner, cache, limits).with_choice(choice)
}

/// The argument, or `--prompt`, or stdin.
fn the_text(args: &CommonArgs, text: Option<String>) -> anyhow::Result<String> {
    let mut text = text.or_else(|| args.prompt.clone()).unwrap_or_default();
    let mut stdin = std::io::stdin();
    if text.is_empty() && !stdin.is_terminal() {
        stdin.read_to_string(&mut text).context("reading the text from stdin")?;
        text.truncate(text.trim_end_matches('\n').len());
    }
    anyhow::ensure!(
        !text.is_empty(),
        "generate needs a text to go on from; give it as an argument or on stdin"
    );
    Ok(text)
}
