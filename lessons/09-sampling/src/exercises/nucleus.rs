//! The border of top-p.

/// The number of likeliest tokens that top-p keeps. A token stays while the tokens before it have less than `top_p`
/// together. So the token that crosses the border stays, and at least one token always stays.
///
/// Shape: `probabilities` `[candidates]`, falling. `mass` is the sum over all candidates, and the border is `top_p` of
/// it. `probabilities` may hold only the first of the candidates; if all of these are kept, the border may lie further
/// on. Cost: one addition per kept token.
///
/// Source: nucleus sampling, Holtzman et al. 2020, arXiv:1904.09751.
pub fn nucleus_len(probabilities: &[f32], mass: f64, top_p: f32) -> usize {
    // ANCHOR: ex_09_3
    let border = mass * f64::from(top_p);
    let mut before = 0.0;
    for (kept, probability) in probabilities.iter().enumerate() {
        if kept > 0 && before >= border {
            return kept;
        }
        before += f64::from(*probability);
    }
    probabilities.len()
    // ANCHOR_END: ex_09_3
}
