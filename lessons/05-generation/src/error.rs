//! Errors of a generation.

use lab::foreign::foreign;
use loading::LoadError;

/// Why a generation failed.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    // ANCHOR: prompt
    /// The prompt has no tokens.
    #[error("the prompt is empty: expected at least one token; give some text with --prompt")]
    EmptyPrompt,
    /// The prompt has more tokens than the model has positions.
    #[error(
        "the prompt has {prompt_tokens} tokens, expected at most {max_seq_len}, the context of this model; shorten it"
    )]
    PromptTooLong {
        /// Number of tokens in the prompt.
        prompt_tokens: usize,
        /// Number of positions of the model.
        max_seq_len: usize,
    },
    // ANCHOR_END: prompt
    /// The prompt leaves too few positions for a story.
    #[error(
        "the prompt has {prompt_tokens} tokens and the story goes on for {new_tokens}, expected at most {max_seq_len} together, the context of this model; shorten --prompt, or choose a --model with a longer context"
    )]
    NoRoom {
        /// Number of tokens in the prompt.
        prompt_tokens: usize,
        /// Number of tokens that the story needs behind it.
        new_tokens: usize,
        /// Number of positions of the model.
        max_seq_len: usize,
    },
    /// The requests of a story are longer than the context.
    #[error("the story needs a context of {needed} positions, found {max_seq_len}; choose a --model with a longer one")]
    ContextTooShort {
        /// Number of positions of the story's longest request.
        needed: usize,
        /// Number of positions of the model.
        max_seq_len: usize,
    },
    /// A token id has no embedding.
    #[error(
        "token id {token_id}: expected an id below {vocab_size}, the model's vocabulary; the tokenizer belongs to another model"
    )]
    UnknownToken {
        /// The token id.
        token_id: u32,
        /// Number of tokens in the model's vocabulary.
        vocab_size: usize,
    },
    /// The forward pass gave a logit that is not a number.
    #[error(
        "the logit of token {token_id} is not a number: the weights are damaged; check them with `cargo run -p lesson04 -- verify`"
    )]
    NotANumber {
        /// Index of the first such logit.
        token_id: usize,
    },
    /// There are no logits to choose from.
    #[error("expected one logit for each token of the vocabulary, found none")]
    NoLogits,
    /// Text was given or requested, but the model has no tokenizer.
    #[error("{model} has no tokenizer.json, so it can not read or write text; random models are for measuring speed", model = foreign(.model))]
    NoTokenizer {
        /// Name of the model.
        model: String,
    },
    /// A chat was requested, but the model has no chat template.
    #[error(
        "{model} has no chat template in tokenizer_config.json or chat_template.jinja; leave --chat out, or choose an instruction-tuned model",
        model = foreign(.model)
    )]
    NoChatTemplate {
        /// Name of the model.
        model: String,
    },
    /// The chat template is broken, or refuses these messages.
    #[error("the chat template of {model} failed: {reason}; leave --chat out, or mend the template", model = foreign(.model), reason = foreign(.reason))]
    ChatTemplate {
        /// Name of the model.
        model: String,
        /// The message of the template engine.
        reason: String,
    },
    /// The model could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
}
