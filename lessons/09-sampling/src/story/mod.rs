//! The story: the experiment of the lesson, told in steps.

mod columns;
mod cuts;
mod opening;
mod race;
mod shares;
mod texts;

use continuous_batching::{Delivery, Event};
use generation::text::decode_continuation;
use generation::{Model, State};
use lab::args::CommonArgs;
use lab::story::{LessonInfo, Story};
use layout::pool::Pool;
use sampling::{Sampled, Sampler, SamplingParams, choice};
use training::TokenId;

const INFO: LessonInfo = LessonInfo {
    folder: "09-sampling",
    course: include_str!("../../course.toml"),
};

/// Number of requests at a time in all experiments but the opening.
const SLOTS: usize = 8;
/// Number of tokens of each of the texts that give the rows.
const ROWS_A_TEXT: usize = 8;
const BEGINNINGS: [&str; SLOTS] = [
    "Once upon a time",
    "One spring Emma the duck",
    "Ben the bear was sad.",
    "Long ago there was a little",
    "Mia the mouse wanted to build",
    "Not so long ago there lived",
    "The little dog",
    "In the morning",
];

/// Tokens that the story needs behind a prompt at least.
const LEAST_TOKENS: usize = 48;

/// What all steps share.
struct Scene {
    model: Model,
    pool: Pool,
    args: CommonArgs,
    /// Rows of logits from the model's own texts.
    rows: Vec<Row>,
}

/// The logits `[vocab_size]` of the model after a text.
struct Row {
    logits: Vec<f32>,
    text: Vec<TokenId>,
}

/// A request of an experiment.
#[derive(Clone)]
struct Ask {
    prompt: Vec<TokenId>,
    new_tokens: usize,
    params: SamplingParams,
}

impl Scene {
    fn vocab_size(&self) -> usize {
        self.model.config.llama.vocab_size
    }

    /// The second of two sizes if the model is large.
    fn size<T>(&self, small: T, large: T) -> T {
        if self.model.is_large() { large } else { small }
    }

    /// The model's own distribution under the seed of the command line, after a change.
    fn params(&self, change: impl FnOnce(&mut SamplingParams)) -> SamplingParams {
        SamplingParams::default().with(|p| p.seed = self.args.seed).with(change)
    }

    /// A bias that forbids the end of the text, so that each answer has the length that was asked for.
    fn without_end(&self) -> Vec<(TokenId, f32)> {
        let ends = self.model.config.eos_token_ids.iter();
        ends.map(|token| (*token, f32::NEG_INFINITY)).collect()
    }

    /// A request that continues a beginning.
    fn ask(&self, beginning: usize, new_tokens: usize, params: SamplingParams) -> anyhow::Result<Ask> {
        Ok(Ask {
            prompt: self.beginning(beginning)?,
            new_tokens,
            params,
        })
    }

    /// Answers all requests through one engine. `on_token` gets each token with the index of its request, and None
    /// after each step.
    fn answer(
        &self,
        asks: &[Ask],
        num_slots: usize,
        on_token: &mut dyn FnMut(Option<(usize, TokenId)>),
    ) -> anyhow::Result<Vec<Vec<TokenId>>> {
        let longest = asks
            .iter()
            .map(|ask| ask.prompt.len().saturating_add(ask.new_tokens))
            .max();
        let mut engine = choice::engine(&self.model, &self.pool, num_slots, longest.unwrap_or(1));
        for ask in asks {
            let params = ask.params.clone().check(self.vocab_size())?;
            engine.submit_with(&ask.prompt, ask.new_tokens, params)?;
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

    /// Rows of eight texts that are drawn from the model's own distribution.
    fn collect_rows(&self) -> anyhow::Result<Vec<Row>> {
        let params = self.params(|p| p.logit_bias = self.without_end());
        let params = params.check(self.vocab_size())?;
        let (mut state, mut sampler) = (State::new(&self.model.config, 64), Sampler::new());
        let mut rows = Vec::new();
        for index in 0..SLOTS {
            let mut text = self.beginning(index)?;
            let prompt_len = text.len();
            for _ in 0..ROWS_A_TEXT {
                let logits = self.model.forward(&mut state, &self.pool, &text)?.to_vec();
                let (prompt, output) = text.split_at(prompt_len);
                let token = sampler.sample(&params, prompt, output, &mut logits.clone())?.token;
                let row_text = text.clone();
                rows.push(Row { logits, text: row_text });
                text.push(token);
            }
        }
        Ok(rows)
    }

    /// Chooses a token from each row with these parameters, and shows each choice to `look`.
    fn each_row(
        &self,
        rows: &[Row],
        params: SamplingParams,
        mut look: impl FnMut(&Row, &Sampler, Sampled),
    ) -> anyhow::Result<()> {
        let params = params.check(self.vocab_size())?;
        let (mut sampler, mut logits) = (Sampler::new(), Vec::new());
        for row in rows {
            logits.clone_from(&row.logits);
            let sampled = sampler.sample(&params, &[], &[], &mut logits)?;
            look(row, &sampler, sampled);
        }
        Ok(())
    }

    /// A beginning as tokens; made-up tokens if the model has no tokenizer. `--prompt` replaces the first beginning.
    fn beginning(&self, index: usize) -> anyhow::Result<Vec<TokenId>> {
        let own = self.args.prompt.as_deref().filter(|_| index == 0);
        let text = own.unwrap_or(BEGINNINGS[index % BEGINNINGS.len()]);
        Ok(match &self.model.tokenizer {
            Some(_) => {
                let prompt = self.model.encode_prompt(text)?;
                self.model.room_behind(&prompt, LEAST_TOKENS)?;
                prompt
            }
            None => {
                let token = |i: usize| TokenId(((i * 7919 + index * 104_729) % self.vocab_size()) as u32);
                (0..4).map(token).collect()
            }
        })
    }

    /// The text of an answer; numbers if the model has no tokenizer.
    fn text(&self, tokens: &[TokenId]) -> String {
        match &self.model.tokenizer {
            Some(tokenizer) => decode_continuation(tokenizer, tokens),
            None => tokens.iter().map(|token| format!(" {}", token.0)).collect(),
        }
    }
}

/// Tells the lesson.
pub fn tell(args: &CommonArgs) -> anyhow::Result<()> {
    let mut story = Story::begin(INFO, args);
    let model = Model::open(&args.model)?;
    story.model(&model.name);
    let mut scene = Scene {
        model,
        pool: Pool::new(args.threads()),
        args: args.clone(),
        rows: Vec::new(),
    };
    // Before the first step: a prompt without room is refused.
    for index in 0..BEGINNINGS.len() {
        scene.beginning(index)?;
    }
    opening::stream(&mut story, &scene)?;
    story.recall(
        "If you come here from lesson 05, skip the second one with Enter.",
        &["recall-logits", "recall-company"],
    );
    scene.rows = scene.collect_rows()?;
    shares::temperature(&mut story, &scene)?;
    shares::overflow(&mut story, &scene);
    shares::all_forbidden(&mut story, &scene)?;
    cuts::by_top_p(&mut story, &scene)?;
    cuts::grid(&mut story, &scene)?;
    race::vocabularies(&mut story, &scene)?;
    race::share_of_a_step(&mut story, &scene)?;
    texts::company(&mut story, &scene)?;
    texts::repetition(&mut story, &scene)?;
    story.say(
        "Every token is now chosen by the parameters of its own request, and other requests change nothing. One \
         waste of lesson 08 remains: each slot is as long as the longest text that may ever use it. Lesson 10 \
         removes it.",
    );
    story.finish()
}
