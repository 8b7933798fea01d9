//! The same choice in the simplest way: sort the vocabulary, then cut. It is the oracle of the tests and the baseline
//! of the race.

use crate::draw::{index_at, sum};
use crate::exercises::{Seen, penalize, softmax, uniform};
use crate::params::CheckedParams;
use crate::sampler::add_bias;
use generation::GenerateError;
use generation::generate::greedy;
use training::TokenId;

/// Chooses the same token as [`crate::sampler::Sampler::sample`], and overwrites `logits` too. It allocates, sorts the
/// vocabulary, and reads the whole text for each token of the vocabulary.
///
/// # Errors
/// Those of [`crate::sampler::Sampler::sample`].
pub fn sample(
    params: &CheckedParams,
    prompt: &[TokenId],
    output: &[TokenId],
    logits: &mut [f32],
) -> Result<TokenId, GenerateError> {
    let own = greedy(logits)?;
    add_bias(&params.logit_bias, logits);
    if params.penalizes() {
        for (id, logit) in logits.iter_mut().enumerate() {
            let token = TokenId(id as u32);
            let seen = Seen {
                in_prompt: prompt.contains(&token),
                in_output: output.iter().filter(|t| **t == token).count() as u32,
            };
            *logit = penalize(*logit, seen, params);
        }
    }
    let likeliest = greedy(logits)?;
    let largest = logits[likeliest.index()];
    if largest == f32::NEG_INFINITY {
        return Ok(own);
    }
    if params.temperature == 0.0 || largest == f32::INFINITY {
        return Ok(likeliest);
    }

    let point = uniform(params.seed, params.answer, (prompt.len() + output.len()) as u64);
    let candidates = candidates(params, logits);
    let probabilities: Vec<f32> = candidates.iter().map(|(_, p)| *p).collect();
    Ok(TokenId(candidates[index_at(&probabilities, point)].0))
}

/// The candidates that may be drawn, each with its probability, in the order of the draw.
pub fn candidates(params: &CheckedParams, logits: &[f32]) -> Vec<(u32, f32)> {
    let mut ids: Vec<u32> = (0..logits.len() as u32).collect();
    let logit = |id: &u32| logits[*id as usize];
    let truncated = (1..logits.len()).contains(&params.top_k);
    let cut = truncated || params.top_p < 1.0 || params.min_p > 0.0;
    if cut {
        // `total_cmp` would put 0 above -0, which are equal numbers.
        let falling = |a: &u32, b: &u32| logit(b).partial_cmp(&logit(a)).expect("no NaN");
        ids.sort_by(|a, b| falling(a, b).then(a.cmp(b)));
    }
    let mut probabilities = vec![0.0; logits.len()];
    if truncated {
        // The probabilities are shares of the tokens that top-k leaves.
        ids.truncate(params.top_k);
        probabilities.truncate(params.top_k);
        let kept: Vec<f32> = ids.iter().map(logit).collect();
        softmax(&kept, params.temperature, &mut probabilities);
    } else {
        softmax(logits, params.temperature, &mut probabilities);
    }
    let mass = sum(&probabilities);
    let mut kept = Vec::new();
    let mut before = 0.0f64;
    for (index, id) in ids.iter().enumerate() {
        let probability = probabilities[if truncated { index } else { *id as usize }];
        let likely = probability >= params.min_p * kept.first().map_or(probability, |(_, p)| *p);
        let inside = params.top_p >= 1.0 || index == 0 || before < mass * f64::from(params.top_p);
        if cut && !(likely && inside) {
            break;
        }
        kept.push((*id, probability));
        before += f64::from(probability);
    }
    kept
}
