//! The shape of a Llama model, under the names of a Hugging Face `config.json`.

use serde::{Deserialize, Serialize};

/// A token's number in the vocabulary. A type of its own, so that a position or a count is never taken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenId(pub u32);

impl TokenId {
    /// The id as an index into a row of logits or a table of embeddings.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The shape of a Llama model. The keys in the file are those of Hugging Face.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LlamaConfig {
    /// Number of pieces in the vocabulary: rows of the embedding and of the head.
    pub vocab_size: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width of the SwiGLU block.
    pub intermediate_size: usize,
    /// Number of transformer layers.
    #[serde(rename = "num_hidden_layers")]
    pub num_layers: usize,
    /// Number of query heads.
    #[serde(rename = "num_attention_heads")]
    pub num_heads: usize,
    /// Number of key and value heads; each serves `num_heads / num_kv_heads` query heads.
    #[serde(rename = "num_key_value_heads")]
    pub num_kv_heads: usize,
    /// Width of one head.
    pub head_dim: usize,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// Added to the mean square before the root, so that a zero row divides by no zero.
    pub rms_norm_eps: f64,
    /// Largest number of positions that the model was trained for.
    #[serde(rename = "max_position_embeddings")]
    pub max_seq_len: usize,
    /// Whether the head shares its matrix with the embedding.
    pub tie_word_embeddings: bool,
}

/// Why a shape was refused.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum ConfigError {
    /// A size is zero.
    #[error("config.json: {key} is 0, expected at least 1")]
    Zero {
        /// The key in the file.
        key: &'static str,
    },
    /// Query heads can not be shared out evenly among the key and value heads.
    #[error("config.json: num_attention_heads {num_heads} is no multiple of num_key_value_heads {num_kv_heads}")]
    UnevenGroups {
        /// Query heads.
        num_heads: usize,
        /// Key and value heads.
        num_kv_heads: usize,
    },
    /// The rotary embedding turns pairs, so the width of a head must be even.
    #[error("config.json: head_dim {head_dim} is odd, the rotary embedding needs pairs")]
    OddHead {
        /// Width of a head.
        head_dim: usize,
    },
    /// A constant is not a positive finite number.
    #[error("config.json: {key} is {value}, expected a positive finite number")]
    NotPositive {
        /// The key in the file.
        key: &'static str,
        /// What the file said.
        value: f64,
    },
}

impl LlamaConfig {
    /// The default model: about 4.4 M parameters in its layers and 0.5 M in the embedding.
    pub fn stories() -> Self {
        Self {
            vocab_size: 2048,
            hidden_size: 256,
            intermediate_size: 688,
            num_layers: 6,
            num_heads: 8,
            num_kv_heads: 4,
            head_dim: 32,
            rope_theta: 10_000.0,
            rms_norm_eps: 1e-5,
            max_seq_len: 512,
            tie_word_embeddings: true,
        }
    }

    /// A smaller model: about 1.1 M parameters in its layers, same vocabulary.
    pub fn draft() -> Self {
        Self {
            hidden_size: 128,
            intermediate_size: 352,
            num_heads: 4,
            num_kv_heads: 2,
            ..Self::stories()
        }
    }

    /// A miniature that learns something within seconds: the story of lesson 03 trains it while the reader watches.
    pub fn miniature() -> Self {
        Self {
            hidden_size: 96,
            intermediate_size: 256,
            num_layers: 3,
            num_heads: 3,
            num_kv_heads: 3,
            max_seq_len: 256,
            ..Self::stories()
        }
    }

    /// Checks that the sizes fit each other.
    ///
    /// # Errors
    /// The first rule that is broken, with the key of the file.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let sizes = [
            ("vocab_size", self.vocab_size),
            ("hidden_size", self.hidden_size),
            ("intermediate_size", self.intermediate_size),
            ("num_hidden_layers", self.num_layers),
            ("num_attention_heads", self.num_heads),
            ("num_key_value_heads", self.num_kv_heads),
            ("head_dim", self.head_dim),
            ("max_position_embeddings", self.max_seq_len),
        ];
        for (key, size) in sizes {
            if size == 0 {
                return Err(ConfigError::Zero { key });
            }
        }
        if !self.num_heads.is_multiple_of(self.num_kv_heads) {
            return Err(ConfigError::UnevenGroups {
                num_heads: self.num_heads,
                num_kv_heads: self.num_kv_heads,
            });
        }
        if !self.head_dim.is_multiple_of(2) {
            return Err(ConfigError::OddHead {
                head_dim: self.head_dim,
            });
        }
        let constants = [("rope_theta", self.rope_theta), ("rms_norm_eps", self.rms_norm_eps)];
        for (key, value) in constants {
            if !(value.is_finite() && value > 0.0) {
                return Err(ConfigError::NotPositive { key, value });
            }
        }
        Ok(())
    }

    /// Width of all query heads together.
    pub fn q_size(&self) -> usize {
        self.num_heads * self.head_dim
    }

    /// Width of all key heads together, and of all value heads.
    pub fn kv_size(&self) -> usize {
        self.num_kv_heads * self.head_dim
    }

    /// Query heads that share one key and value head.
    pub fn group_size(&self) -> usize {
        self.num_heads / self.num_kv_heads
    }

    /// Parameters of the layers and the last norm, without embedding and head.
    pub fn num_layer_parameters(&self) -> usize {
        let attention = self.hidden_size * (2 * self.q_size() + 2 * self.kv_size());
        let mlp = 3 * self.hidden_size * self.intermediate_size;
        self.num_layers * (attention + mlp + 2 * self.hidden_size) + self.hidden_size
    }

    /// All parameters; a tied head is counted once.
    pub fn num_parameters(&self) -> usize {
        let tables = if self.tie_word_embeddings { 1 } else { 2 };
        self.num_layer_parameters() + tables * self.vocab_size * self.hidden_size
    }

    /// Multiply-adds of one token's forward pass with the head, when it attends to `context_len` positions.
    pub fn multiply_adds_per_token(&self, context_len: usize) -> u64 {
        let norms = self.hidden_size * (2 * self.num_layers + 1);
        let linears = self.num_layer_parameters() - norms + self.vocab_size * self.hidden_size;
        let attention = 2 * self.num_layers * context_len * self.q_size();
        (linears + attention) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_shape_has_the_stated_size() {
        let config = LlamaConfig::stories();
        config.validate().unwrap();
        assert_eq!(config.num_layer_parameters(), 4_353_280);
        assert_eq!(config.num_parameters(), 4_353_280 + 2048 * 256);
    }

    #[test]
    fn keys_are_those_of_hugging_face() {
        let json = serde_json::to_value(LlamaConfig::stories()).unwrap();
        assert_eq!(json["num_hidden_layers"], 6);
        assert_eq!(json["num_key_value_heads"], 4);
        assert_eq!(json["max_position_embeddings"], 512);
        let back: LlamaConfig = serde_json::from_value(json).unwrap();
        assert_eq!(back, LlamaConfig::stories());
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let uneven = LlamaConfig {
            num_kv_heads: 3,
            ..LlamaConfig::stories()
        };
        assert!(matches!(uneven.validate(), Err(ConfigError::UnevenGroups { .. })));
        let odd = LlamaConfig {
            head_dim: 7,
            ..LlamaConfig::stories()
        };
        assert!(matches!(odd.validate(), Err(ConfigError::OddHead { .. })));
        let zero = LlamaConfig {
            hidden_size: 0,
            ..LlamaConfig::stories()
        };
        assert_eq!(zero.validate(), Err(ConfigError::Zero { key: "hidden_size" }));
    }
}
