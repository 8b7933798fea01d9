//! What can go wrong when text is generated.

use loading::LoadError;

/// Why nothing, or nothing more, was generated.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    // ANCHOR: prompt
    /// There is nothing to continue.
    #[error("the prompt is empty: expected at least one token; give some text with --prompt")]
    EmptyPrompt,
    /// The prompt alone exceeds the positions that the model knows.
    #[error(
        "the prompt has {prompt_tokens} tokens, expected at most {max_seq_len}, the context of this model; shorten it"
    )]
    PromptTooLong {
        /// Tokens of the prompt.
        prompt_tokens: usize,
        /// The model's context.
        max_seq_len: usize,
    },
    // ANCHOR_END: prompt
    /// A token id that has no embedding.
    #[error(
        "token id {token_id}: expected an id below {vocab_size}, the model's vocabulary; the tokenizer belongs to another model"
    )]
    UnknownToken {
        /// The id.
        token_id: u32,
        /// The model's vocabulary.
        vocab_size: usize,
    },
    /// The forward pass gave a logit that is not a number.
    #[error(
        "the logit of token {token_id} is not a number: the weights are damaged; check them with `cargo run -p lesson04 -- verify`"
    )]
    NotANumber {
        /// The first such logit.
        token_id: usize,
    },
    /// No logits to choose from.
    #[error("expected one logit for each token of the vocabulary, found none")]
    NoLogits,
    /// Text was given or asked for, but the model has no tokenizer.
    #[error("{model} has no tokenizer.json, so it can not read or write text; random models are for measuring speed")]
    NoTokenizer {
        /// The model's name.
        model: String,
    },
    /// A chat was asked for, but the model has no chat template.
    #[error(
        "{model} has no chat template in tokenizer_config.json or chat_template.jinja; leave --chat out, or choose an instruction-tuned model"
    )]
    NoChatTemplate {
        /// The model's name.
        model: String,
    },
    /// The chat template is broken, or refuses these messages.
    #[error("the chat template of {model} failed: {reason}; leave --chat out, or mend the template")]
    ChatTemplate {
        /// The model's name.
        model: String,
        /// What the template engine said.
        reason: String,
    },
    /// The model could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
}
