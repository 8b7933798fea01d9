//! Records what the book's interactive figure shows: at each token the five best candidates, and what each of them would have led to.
//!
//! ```text
//! cargo run -q -p lesson05 --example trace_generation > target/generation.json && mv target/generation.json book/figures/generation.json
//! ```
//!
//! The trace belongs to one checkpoint, by the sha256 of its weights: after training on, run the command again
//! (`tests/figure.rs` says so).

use generation::candidates::{Candidate, most_likely, visible};
use generation::text::TextStream;
use generation::{Model, State};
use layout::pool::Pool;
use loading::Tokenizer;
use serde::{Deserialize, Serialize};
use training::TokenId;

/// Tokens of the text that is written.
const STEPS: usize = 16;
/// Candidates shown at each token.
const CANDIDATES: usize = 5;
/// Tokens that follow a candidate.
const BRANCH: usize = 14;
/// Beginnings of the texts; the first one is the story's.
const PROMPTS: [&str; 2] = [
    "Once upon a time there was a brave little fox named Tom",
    "Once upon a time there was",
];

/// The file `book/figures/generation.json`.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
pub struct Trace {
    schema: u32,
    figure: String,
    source: String,
    /// Of the weights that said all this.
    pub checkpoint_sha256: String,
    #[serde(flatten)]
    first: Run,
    /// The other beginnings.
    others: Vec<Run>,
}

/// One text.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Run {
    prompt: String,
    prompt_tokens: usize,
    steps: Vec<Step>,
}

/// One token.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Step {
    /// The sentence that is read aloud.
    text: String,
    /// Rows of this step.
    rows: usize,
    /// Rows of this step and all before it.
    rows_so_far: usize,
    /// What the chosen token added to the text.
    said: String,
    candidates: Vec<Branch>,
}

/// A candidate, and how the text would go on with it.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Branch {
    piece: String,
    /// Share in per cent, two digits after the point.
    percent: f32,
    /// The text from this token on.
    then: String,
    /// Whether the text ends there by itself.
    ends: bool,
}

/// Records the trace anew.
///
/// # Errors
/// A model that can not be opened or run.
pub fn record() -> anyhow::Result<Trace> {
    let folder = lab::paths::data_dir().join("stories");
    let mut recorder = Recorder {
        model: Model::open("stories")?,
        pool: Pool::new(2),
        state: None,
    };
    let mut runs = Vec::new();
    for prompt in PROMPTS {
        runs.push(recorder.run(prompt)?);
    }
    Ok(Trace {
        schema: 1,
        figure: "generation".into(),
        source: "cargo run -q -p lesson05 --example trace_generation".into(),
        checkpoint_sha256: fixtures::sha256_of_weights(&folder)?,
        first: runs.remove(0),
        others: runs,
    })
}

struct Recorder {
    model: Model,
    pool: Pool,
    state: Option<State>,
}

impl Recorder {
    fn run(&mut self, prompt: &str) -> anyhow::Result<Run> {
        let mut tokens = self.model.encode_prompt(prompt)?;
        let prompt_tokens = tokens.len();
        let mut steps = Vec::new();
        let mut rows_so_far = 0;
        for _ in 0..STEPS {
            let rows = tokens.len();
            rows_so_far += rows;
            let best = self.best(&tokens, CANDIDATES)?;
            let mut candidates = Vec::new();
            for candidate in &best {
                candidates.push(self.branch(&tokens, candidate)?);
            }
            let chosen = best[0].token;
            steps.push(Step {
                text: sentence(rows, &candidates),
                rows,
                rows_so_far,
                said: decode(self.model.tokenizer()?, &[chosen]),
                candidates,
            });
            if self.ends(chosen) {
                break;
            }
            tokens.push(chosen);
        }
        Ok(Run {
            prompt: prompt.to_owned(),
            prompt_tokens,
            steps,
        })
    }

    fn best(&mut self, tokens: &[TokenId], count: usize) -> anyhow::Result<Vec<Candidate>> {
        let config = &self.model.config;
        let state = self.state.get_or_insert_with(|| State::new(config, 64));
        let logits = self.model.forward(state, &self.pool, tokens)?;
        Ok(most_likely(logits, count))
    }

    fn ends(&self, token: TokenId) -> bool {
        self.model.config.eos_token_ids.contains(&token)
    }

    /// Takes `candidate` instead of the best one, and goes on greedily.
    fn branch(&mut self, tokens: &[TokenId], candidate: &Candidate) -> anyhow::Result<Branch> {
        let mut sequence = [tokens, &[candidate.token]].concat();
        let mut ends = self.ends(candidate.token);
        while !ends && sequence.len() < tokens.len() + 1 + BRANCH {
            let next = self.best(&sequence, 1)?[0].token;
            ends = self.ends(next);
            if !ends {
                sequence.push(next);
            }
        }
        let tokenizer = self.model.tokenizer()?;
        Ok(Branch {
            piece: visible(tokenizer, candidate.token),
            percent: (1e4 * candidate.probability).round() / 1e2,
            then: decode(tokenizer, &sequence[tokens.len()..]),
            ends,
        })
    }
}

/// Text of some tokens in the middle of a text.
fn decode(tokenizer: &Tokenizer, tokens: &[TokenId]) -> String {
    let mut stream = TextStream::continuing(tokenizer);
    let text: String = tokens.iter().map(|t| stream.push(*t).to_owned()).collect();
    text + stream.finish()
}

fn sentence(rows: usize, candidates: &[Branch]) -> String {
    let [best, second, ..] = candidates else {
        unreachable!("five candidates");
    };
    format!(
        "{rows} rows are computed for one token. ‹{}› has {} of the whole, the runner-up ‹{}› {}.",
        best.piece,
        percent(best.percent),
        second.piece,
        percent(second.percent),
    )
}

/// A share with as many digits as say something.
fn percent(percent: f32) -> String {
    match percent {
        p if p >= 1.0 => format!("{p:.0} %"),
        p if p >= 0.01 => format!("{p:.2} %"),
        _ => "under 0.01 %".to_owned(),
    }
}

#[allow(dead_code)] // the test that compares the file takes this module without its main
fn main() -> anyhow::Result<()> {
    lab::outln!("{}", serde_json::to_string_pretty(&record()?)?);
    Ok(())
}
