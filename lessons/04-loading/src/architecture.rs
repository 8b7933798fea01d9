//! The architectures that the workbook runs: Llama, and others that differ from it in one or two places.
//!
//! | architecture | besides Llama's tensors and keys |
//! |---|---|
//! | Llama (SmolLM2, TinyLlama too) | nothing |
//! | Mistral | `sliding_window`: a row sees only the last positions. Not supported; files that do not use it are |
//! | Qwen2 | a bias on queries, keys and values; a padded vocabulary; a window that is used only if a flag says so |
//! | Qwen3 | a norm of each head of queries and keys; `head_dim` of its own; otherwise as Qwen2 |
//!
//! Sources: the models' code in transformers; Mistral 7B, Jiang et al. 2023, arXiv:2310.06825; Qwen2, Yang et al. 2024,
//! arXiv:2407.10671; Qwen3, Yang et al. 2025, arXiv:2505.09388.

/// One row of the table: what an architecture adds to Llama.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Architecture {
    /// `model_type` of config.json, and `general.architecture` of a GGUF file.
    pub model_type: &'static str,
    /// The entry of `architectures` in config.json.
    pub class: &'static str,
    /// Tensors of each layer besides [`crate::shapes::LAYER_TENSORS`].
    pub added: &'static [&'static str],
    /// When `sliding_window` of config.json limits what a row sees.
    pub window: Window,
    /// Whether published models have an embedding with more rows than the tokenizer has pieces.
    pub padded_vocabulary: bool,
    /// Whether writers of GGUF reorder the rows of queries and keys; see [`crate::gguf::rotary`]. llama.cpp turns
    /// neighbours for `llama`, and the two halves of a head, as Hugging Face does, for the others.
    pub gguf_pairs_neighbours: bool,
}

/// When the key `sliding_window` takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// Never: the architecture has no such key.
    Never,
    /// If it is a number. An absent key counts as this number.
    IfSet {
        /// The default of transformers.
        absent: usize,
    },
    /// If `use_sliding_window` is true.
    IfFlagged,
}

/// Biases of the query, key and value products (Qwen2).
pub const QKV_BIASES: [&str; 3] = [
    "self_attn.q_proj.bias",
    "self_attn.k_proj.bias",
    "self_attn.v_proj.bias",
];
/// Norms of each head of queries and keys (Qwen3).
pub const QK_NORMS: [&str; 2] = ["self_attn.q_norm.weight", "self_attn.k_norm.weight"];

/// Plain Llama.
pub const LLAMA: Architecture = Architecture {
    model_type: "llama",
    class: "LlamaForCausalLM",
    added: &[],
    window: Window::Never,
    padded_vocabulary: false,
    gguf_pairs_neighbours: true,
};

const MISTRAL: Architecture = Architecture {
    model_type: "mistral",
    class: "MistralForCausalLM",
    window: Window::IfSet { absent: 4096 },
    ..LLAMA
};

const QWEN2: Architecture = Architecture {
    model_type: "qwen2",
    class: "Qwen2ForCausalLM",
    added: &QKV_BIASES,
    window: Window::IfFlagged,
    padded_vocabulary: true,
    gguf_pairs_neighbours: false,
};

const QWEN3: Architecture = Architecture {
    model_type: "qwen3",
    class: "Qwen3ForCausalLM",
    added: &QK_NORMS,
    ..QWEN2
};

/// The table.
pub const ARCHITECTURES: [&Architecture; 4] = [&LLAMA, &MISTRAL, &QWEN2, &QWEN3];
/// The table's `model_type`s, for messages.
pub const MODEL_TYPES: &str = "`llama`, `mistral`, `qwen2` or `qwen3`";

impl Architecture {
    /// The row with this `model_type`.
    pub fn of_type(model_type: &str) -> Option<&'static Self> {
        ARCHITECTURES.into_iter().find(|row| row.model_type == model_type)
    }

    /// The row with this class.
    pub fn of_class(class: &str) -> Option<&'static Self> {
        ARCHITECTURES.into_iter().find(|row| row.class == class)
    }
}
