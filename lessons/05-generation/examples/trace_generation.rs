//! Records the trace of the book's interactive figure: at each token the five best candidates, and the text that each
//! of them leads to.
//!
//! ```text
//! cargo run -q -p lesson05 --example trace_generation > target/generation.json && mv target/generation.json book/figures/generation.json
//! ```
//!
//! The trace belongs to one checkpoint, by the sha256 of its weights. After more training, run the command again
//! (`suite::figure` asks for it).

use generation::candidates::{Candidate, most_likely};
use generation::terminal::piece;
use generation::text::decode_continuation;
use generation::{Model, State};
use layout::pool::Pool;
use serde::{Deserialize, Serialize};
use training::TokenId;

/// Maximum number of tokens of a text.
const STEPS: usize = 16;
/// Number of candidates at each token.
const CANDIDATES: usize = 5;
/// Maximum number of tokens after a candidate.
const BRANCH: usize = 14;
/// Beginnings of the texts. The first one is that of the story.
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
    /// Digest of the weights that generated the texts.
    pub checkpoint_sha256: String,
    #[serde(flatten)]
    first: Run,
    /// The texts with the other beginnings.
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
    /// Number of rows that this step computes.
    rows: usize,
    /// Number of rows that this step and all steps before it compute.
    rows_so_far: usize,
    /// The text of the chosen token.
    said: String,
    candidates: Vec<Branch>,
}

/// A candidate, and the continuation of the text after it.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Branch {
    piece: String,
    /// Probability in per cent, two digits after the point.
    percent: f32,
    /// The text from this token on.
    then: String,
    /// Whether the text ends with an end-of-text token.
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
                rows,
                rows_so_far,
                said: decode_continuation(self.model.tokenizer()?, &[chosen]),
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

    /// Takes `candidate` instead of the best one, and continues greedily.
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
        Ok(Branch {
            piece: piece(&self.model, candidate.token),
            percent: (1e4 * candidate.probability).round() / 1e2,
            then: decode_continuation(self.model.tokenizer()?, &sequence[tokens.len()..]),
            ends,
        })
    }
}

#[allow(dead_code)] // the test that compares the file includes this module and does not call main
fn main() -> anyhow::Result<()> {
    lab::outln!("{}", serde_json::to_string_pretty(&record()?)?);
    Ok(())
}
