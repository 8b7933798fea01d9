//! The experiment, told in steps.

mod columns;
mod forbidden;
mod grid;
mod kept;
mod opening;
mod race;
mod repetition;
mod rows;
mod seeds;
mod shares;
mod step_share;

use continuous_batching::model_runner::ModelRunner;
use continuous_batching::slot_cache::SlotCache;
use continuous_batching::{Delivery, Engine, EngineLimits, Event, SeqId};
use generation::Model;
use generation::candidates::visible;
use generation::text::decode_continuation;
use lab::args::CommonArgs;
use lab::story::{LessonInfo, Story};
use layout::pool::Pool;
use sampling::SamplingParams;
use sampling::choice::ParamsOfRequests;
use training::TokenId;

const INFO: LessonInfo = LessonInfo {
    folder: "09-sampling",
    course: include_str!("../../course.toml"),
};

/// Requests at a time in all experiments but the opening.
const SLOTS: usize = 8;

/// Beginnings of texts.
const BEGINNINGS: [&str; 8] = [
    "Once upon a time",
    "One spring Emma the duck",
    "Ben the bear was sad.",
    "Long ago there was a little",
    "Mia the mouse wanted to build",
    "Not so long ago there lived",
    "The little dog",
    "In the morning",
];

/// What all steps share.
struct Scene {
    model: Model,
    pool: Pool,
    seed: u64,
    /// Longest output where `--tokens` asks for one.
    tokens: Option<usize>,
    prompt: Option<String>,
}

/// What is to be answered, and how.
#[derive(Clone)]
struct Ask {
    prompt: Vec<TokenId>,
    new_tokens: usize,
    params: SamplingParams,
}

/// An engine with slots in front of a model.
type SlotEngine<'a> = Engine<ModelRunner<'a>, SlotCache>;

impl Scene {
    /// An engine for up to `num_slots` requests of up to `capacity` tokens each.
    fn engine(&self, num_slots: usize, capacity: usize) -> SlotEngine<'_> {
        let capacity = capacity.clamp(1, self.model.config.llama.max_seq_len);
        let runner = ModelRunner::new(&self.model, &self.pool, num_slots, capacity);
        let cache = SlotCache::new(&self.model.config.llama, num_slots, capacity);
        let limits = EngineLimits::of_model(&self.model.config, num_slots);
        Engine::new(runner, cache, limits)
    }

    /// Answers all of them through one engine; `on_token` sees each token with the index of its request, and after each step is called with none.
    fn answer(
        &self,
        asks: &[Ask],
        num_slots: usize,
        on_token: &mut dyn FnMut(Option<(usize, TokenId)>),
    ) -> anyhow::Result<Vec<Vec<TokenId>>> {
        let longest = asks.iter().map(|ask| ask.prompt.len() + ask.new_tokens);
        let params = ParamsOfRequests::new();
        let mut engine = self
            .engine(num_slots, longest.max().unwrap_or(1))
            .with_choice(params.choice());
        let vocab_size = engine.limits.vocab_size;
        for ask in asks {
            let id: SeqId = engine.submit(&ask.prompt, ask.new_tokens)?;
            params.set(id, ask.params.clone().check(vocab_size)?);
        }
        let mut answers = vec![Vec::new(); asks.len()];
        while !engine.is_idle() {
            engine.step(&mut |event| {
                match event {
                    Event::Token { id, token } => on_token(Some((id.0 as usize, token))),
                    Event::Finished { id, output, .. } => answers[id.0 as usize] = output.to_vec(),
                }
                Delivery::Taken
            })?;
            on_token(None);
        }
        Ok(answers)
    }

    /// A beginning as tokens; made-up ones where the model has no tokenizer.
    fn beginning(&self, index: usize) -> anyhow::Result<Vec<TokenId>> {
        let own = self.prompt.as_deref().filter(|_| index == 0);
        let text = own.unwrap_or(BEGINNINGS[index % BEGINNINGS.len()]);
        Ok(match &self.model.tokenizer {
            Some(_) => self.model.encode_prompt(text)?,
            None => {
                let vocab_size = self.model.config.llama.vocab_size;
                let token = |i: usize| TokenId(((i * 7919 + index * 104_729) % vocab_size) as u32);
                (0..4).map(token).collect()
            }
        })
    }

    /// The text of an answer; numbers where the model has no tokenizer.
    fn text(&self, tokens: &[TokenId]) -> String {
        match &self.model.tokenizer {
            Some(tokenizer) => decode_continuation(tokenizer, tokens),
            None => tokens.iter().map(|token| format!(" {}", token.0)).collect(),
        }
    }

    /// A token as a reader can see it.
    fn piece(&self, token: TokenId) -> String {
        match &self.model.tokenizer {
            Some(tokenizer) => visible(tokenizer, token),
            None => token.0.to_string(),
        }
    }

    /// A bias that forbids whatever ends a text, so that each answer has the length that was asked for.
    fn without_end(&self) -> Vec<(TokenId, f32)> {
        let ends = self.model.config.eos_token_ids.iter();
        ends.map(|token| (*token, f32::NEG_INFINITY)).collect()
    }
}

/// Tells the lesson.
pub fn tell(args: &CommonArgs) -> anyhow::Result<()> {
    let mut story = Story::begin(INFO, args);
    let model = Model::open(&args.model)?;
    story.model(&model.name);
    let scene = Scene {
        model,
        pool: Pool::new(args.threads()),
        seed: args.seed,
        tokens: args.tokens,
        prompt: args.prompt.clone(),
    };

    opening::stream(&mut story, &scene)?;
    opening::recall(&mut story);
    let rows = rows::collect(&scene)?;
    shares::temperature(&mut story, &scene, &rows)?;
    shares::overflow(&mut story, &rows);
    forbidden::all_forbidden(&mut story, &scene, &rows)?;
    kept::by_top_p(&mut story, &scene, &rows)?;
    grid::settings(&mut story, &scene, &rows)?;
    race::vocabularies(&mut story, &scene)?;
    step_share::of_a_step(&mut story, &scene)?;
    seeds::company(&mut story, &scene)?;
    repetition::by_strategy(&mut story, &scene)?;
    story.say(
        "Every token is now chosen as its own request asks, and company changes nothing. What is left from lesson 08 is the waste of memory: each \
         slot is as long as the longest text that may ever sit in it. That is lesson 10.",
    );
    story.finish()
}
