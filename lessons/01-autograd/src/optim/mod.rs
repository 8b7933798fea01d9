//! Optimizers: how gradients change the parameters.

mod adamw;
mod clip;
mod sgd;

pub use adamw::{AdamW, AdamWConfig, AdamWState};
pub use clip::clip_grad_norm;
pub use sgd::Sgd;
