//! The same choice in the plainest way: sort the vocabulary, then cut. Slow; the oracle of the tests and the baseline of the race.

use crate::draw::{place_of, sum};
use crate::params::CheckedParams;
use crate::penalty::{Seen, penalize};
use crate::random::uniform;
use crate::sampler::add_bias;
use crate::softmax::softmax;
use generation::GenerateError;
use generation::generate::greedy;
use training::TokenId;

/// The token that [`crate::sampler::Sampler::sample`] chooses. Allocates, sorts, looks at the whole text for each token of the vocabulary that it
/// contains. `logits` is written on.
///
/// # Errors
/// As the fast way.
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
    Ok(TokenId(candidates[place_of(&probabilities, point)].0))
}

/// Ids and probabilities that may be drawn, in the order of the draw.
pub fn candidates(params: &CheckedParams, logits: &[f32]) -> Vec<(u32, f32)> {
    let mut ids: Vec<u32> = (0..logits.len() as u32).collect();
    let logit = |id: &u32| logits[*id as usize];
    let truncated = (1..logits.len()).contains(&params.top_k);
    let cut = truncated || params.top_p < 1.0 || params.min_p > 0.0;
    if cut {
        // Not total_cmp: it puts 0 above -0, which are equal numbers.
        let falling = |a: &u32, b: &u32| logit(b).partial_cmp(&logit(a)).expect("no NaN");
        ids.sort_by(|a, b| falling(a, b).then(a.cmp(b)));
    }
    let mut probabilities = vec![0.0; logits.len()];
    if truncated {
        // Temperature and sum are those of the tokens that top-k leaves.
        ids.truncate(params.top_k);
        probabilities.truncate(params.top_k);
        let kept: Vec<f32> = ids.iter().map(logit).collect();
        softmax(&kept, params.temperature, &mut probabilities);
    } else {
        softmax(logits, params.temperature, &mut probabilities);
    }
    let mass = sum(&probabilities);
    let of = |place: usize, id: u32| probabilities[if truncated { place } else { id as usize }];
    let mut kept = Vec::new();
    let mut before = 0.0f64;
    for (place, id) in ids.iter().enumerate() {
        let probability = of(place, *id);
        let likely = probability >= params.min_p * kept.first().map_or(probability, |(_, p)| *p);
        let inside = params.top_p >= 1.0 || place == 0 || before < mass * f64::from(params.top_p);
        if cut && !(likely && inside) {
            break;
        }
        kept.push((*id, probability));
        before += f64::from(probability);
    }
    kept
}
