//! Rows of logits from the model's own texts, to look at in many ways.

use super::{SLOTS, Scene};
use continuous_batching::Delivery;
use sampling::{Sampler, SamplingParams};
use std::sync::{Arc, Mutex};
use training::TokenId;

/// Tokens of each of eight texts.
const TOKENS: usize = 8;

/// What the model says of the next token.
pub struct Row {
    /// `[vocab_size]`.
    pub logits: Vec<f32>,
    /// The text that it follows.
    pub text: Vec<TokenId>,
}

/// From eight texts that are drawn from the model's own distribution.
pub fn collect(scene: &Scene) -> anyhow::Result<Vec<Row>> {
    let rows: Arc<Mutex<Vec<Row>>> = Arc::default();
    let (noted, mut sampler) = (rows.clone(), Sampler::new());
    let params = SamplingParams {
        logit_bias: scene.without_end(),
        seed: scene.seed,
        ..SamplingParams::default()
    };
    let params = params.check(scene.model.config.llama.vocab_size)?;
    let mut engine = scene.engine(SLOTS, 64).with_choice(Box::new(move |request, logits| {
        let mut rows = noted.lock().unwrap_or_else(|error| error.into_inner());
        rows.push(Row {
            logits: logits.to_vec(),
            text: request.tokens().collect(),
        });
        let sampled = sampler.sample(&params, &request.prompt, &request.output, logits)?;
        Ok(sampled.token)
    }));
    for index in 0..SLOTS {
        engine.submit(&scene.beginning(index)?, TOKENS)?;
    }
    engine.run(&mut |_| Delivery::Taken)?;
    drop(engine);
    let mut rows = rows.lock().unwrap_or_else(|error| error.into_inner());
    Ok(std::mem::take(&mut *rows))
}
