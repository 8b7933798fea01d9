//! A model that is ready to run: packed weights and tokenizer.

use crate::chat::{ChatTemplate, Message};
use crate::error::GenerateError;
use crate::forward::forward;
use crate::generate::{generate, greedy};
use crate::limits::{Generation, Limits};
use crate::state::State;
use crate::weights::Weights;
use layout::packed::PackedMatrix;
use layout::pool::Pool;
use loading::config::ModelConfig;
use loading::{ModelFolder, Tokenizer};
use training::TokenId;

/// Config, weights and tokenizer of one model. They do not change during a generation; a [`State`] does.
pub struct Model {
    /// Name for tables and messages.
    pub name: String,
    /// Sizes, rotary scaling, ids of special tokens.
    pub config: ModelConfig,
    /// The weights, packed for this machine.
    pub weights: Weights<PackedMatrix>,
    /// Text to ids and back; `None` for a random model.
    pub tokenizer: Option<Tokenizer>,
    chat_template: Option<String>,
    bos_token: Option<String>,
    eos_token: Option<String>,
}

impl Model {
    /// Opens `stories`, `random:15m|135m|1.1b`, a Hugging Face folder or a GGUF file, and packs its weights as f32.
    ///
    /// # Errors
    /// [`GenerateError::Load`]: the model is missing or damaged.
    pub fn open(model: &str) -> Result<Model, GenerateError> {
        Ok(Model::from_folder(loading::open(model)?)?)
    }

    /// Packs the weights of an open folder as f32, reading each matrix once.
    ///
    /// # Errors
    /// A tensor that can not be read.
    pub fn from_folder(folder: ModelFolder) -> Result<Model, loading::LoadError> {
        let weights = Weights::packed_f32(&folder.config.llama, &*folder.weights)?;
        Ok(Model {
            name: folder.name,
            config: folder.config,
            weights,
            tokenizer: folder.tokenizer,
            chat_template: folder.chat_template,
            bos_token: folder.bos_token,
            eos_token: folder.eos_token,
        })
    }

    /// The tokenizer.
    ///
    /// # Errors
    /// [`GenerateError::NoTokenizer`] for a random model.
    pub fn tokenizer(&self) -> Result<&Tokenizer, GenerateError> {
        self.tokenizer.as_ref().ok_or_else(|| GenerateError::NoTokenizer {
            model: self.name.clone(),
        })
    }

    /// Encodes a text to continue, with the tokens that the tokenizer puts before a text.
    ///
    /// # Errors
    /// No tokenizer, or one that can not spell the text.
    pub fn encode_prompt(&self, text: &str) -> Result<Vec<TokenId>, GenerateError> {
        Ok(self.tokenizer()?.encode(text, true)?)
    }

    /// Encodes a conversation to answer, in the form that the model was trained on.
    ///
    /// # Errors
    /// No tokenizer, no chat template, or one that refuses the messages.
    pub fn encode_chat(&self, messages: &[Message]) -> Result<Vec<TokenId>, GenerateError> {
        let tokenizer = self.tokenizer()?;
        let source = self.chat_template.as_deref();
        let source = source.ok_or_else(|| GenerateError::NoChatTemplate {
            model: self.name.clone(),
        })?;
        let template = ChatTemplate {
            source,
            model: &self.name,
            bos_token: self.bos_token.as_deref(),
            eos_token: self.eos_token.as_deref(),
        };
        Ok(tokenizer.encode(&template.render(messages)?, false)?)
    }

    /// Whether a pass reads more than 100 MiB of weights. Experiments on such a model have fewer rounds.
    pub fn is_large(&self) -> bool {
        self.weights.bytes_per_pass() > 100 << 20
    }

    /// Tokens without a meaning, different for each `text`: input for models without a tokenizer and for timing.
    pub fn made_up_tokens(&self, text: usize, len: usize) -> Vec<TokenId> {
        let vocab_size = self.config.llama.vocab_size;
        let token = |i: usize| TokenId(((i * 7919 + text * 104_729 + 101) % vocab_size) as u32);
        (0..len).map(token).collect()
    }

    /// Limits of a generation with this model.
    pub fn limits(&self, max_new_tokens: usize) -> Limits {
        Limits {
            max_new_tokens,
            max_seq_len: self.config.llama.max_seq_len,
            end_of_text: self.config.eos_token_ids.clone(),
        }
    }

    /// Positions of the context behind a prompt that a story needs to go on for `new_tokens` tokens or more.
    ///
    /// # Errors
    /// [`GenerateError::NoRoom`]: there are fewer.
    pub fn room_behind(&self, prompt: &[TokenId], new_tokens: usize) -> Result<usize, GenerateError> {
        let max_seq_len = self.config.llama.max_seq_len;
        match max_seq_len.checked_sub(prompt.len()) {
            Some(room) if room >= new_tokens => Ok(room),
            _ => Err(GenerateError::NoRoom {
                prompt_tokens: prompt.len(),
                new_tokens,
                max_seq_len,
            }),
        }
    }

    /// Whether the context holds the longest request of a story, `needed` positions.
    ///
    /// # Errors
    /// [`GenerateError::ContextTooShort`]: it does not.
    pub fn needs_context(&self, needed: usize) -> Result<(), GenerateError> {
        let max_seq_len = self.config.llama.max_seq_len;
        match needed <= max_seq_len {
            true => Ok(()),
            false => Err(GenerateError::ContextTooShort { needed, max_seq_len }),
        }
    }

    /// Logits of the token after `tokens`. Shape: `[vocab_size]`.
    ///
    /// # Errors
    /// Those of [`forward`].
    pub fn forward<'s>(
        &self,
        state: &'s mut State,
        pool: &Pool,
        tokens: &[TokenId],
    ) -> Result<&'s [f32], GenerateError> {
        forward(&self.config, &self.weights, state, pool, tokens)
    }

    /// Continues `prompt` greedily and computes the whole sequence for each token; see [`generate()`].
    ///
    /// # Errors
    /// Those of [`generate()`] and [`forward`].
    pub fn generate(
        &self,
        state: &mut State,
        pool: &Pool,
        prompt: &[TokenId],
        max_new_tokens: usize,
        on_token: &mut dyn FnMut(TokenId),
    ) -> Result<Generation, GenerateError> {
        let limits = self.limits(max_new_tokens);
        // Reserved at once, so that no step allocates. A limit may be far beyond the text that comes: past the first
        // tokens memory grows with the text.
        const AT_ONCE: usize = 1024;
        let longest = prompt
            .len()
            .saturating_add(max_new_tokens.min(AT_ONCE))
            .min(limits.max_seq_len);
        state.reserve(&self.config, longest);
        // ANCHOR: loop
        generate(
            prompt,
            &limits,
            &mut |tokens| greedy(self.forward(state, pool, tokens)?),
            on_token,
        )
        // ANCHOR_END: loop
    }
}
