//! The limits of an engine.

use crate::error::Refusal;
use loading::config::ModelConfig;
use training::TokenId;

// ANCHOR: limits
/// The limits of an engine, the same for all requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineLimits {
    /// Largest number of requests that are computed in one step.
    pub max_running: usize,
    /// Largest number of tokens of one output, whatever the request asks for.
    pub max_new_tokens: usize,
    /// Largest number of tokens of prompt and output together: the model's context, or the room in memory for one
    /// request if that is less.
    pub max_seq_len: usize,
    /// Number of tokens in the vocabulary, and of numbers in a row of logits.
    pub vocab_size: usize,
    /// All tokens that end a text.
    pub end_of_text: Vec<TokenId>,
}
// ANCHOR_END: limits

impl EngineLimits {
    /// The limits that a model sets, with up to `max_running` requests at a time and no cap on outputs.
    pub fn of_model(config: &ModelConfig, max_running: usize) -> EngineLimits {
        EngineLimits {
            max_running,
            // The context ends every output, so no cap is needed.
            max_new_tokens: usize::MAX,
            max_seq_len: config.llama.max_seq_len,
            vocab_size: config.llama.vocab_size,
            end_of_text: config.eos_token_ids.clone(),
        }
    }

    /// Refuses a prompt that could never run.
    ///
    /// # Errors
    /// An empty prompt, one that is too long, a token outside the vocabulary.
    pub fn check_prompt(&self, prompt: &[TokenId]) -> Result<(), Refusal> {
        // Without a token there is no row that could give the first one.
        if prompt.is_empty() {
            return Err(Refusal::EmptyPrompt);
        }
        // As long as the limit is allowed: such a request ends at once, with no tokens.
        if prompt.len() > self.max_seq_len {
            return Err(Refusal::PromptTooLong {
                prompt_tokens: prompt.len(),
                max_seq_len: self.max_seq_len,
            });
        }
        let unknown = |token: &TokenId| token.index() >= self.vocab_size;
        match prompt.iter().position(unknown) {
            Some(position) => Err(Refusal::UnknownToken {
                token_id: prompt[position].0,
                position,
                vocab_size: self.vocab_size,
            }),
            None => Ok(()),
        }
    }
}
