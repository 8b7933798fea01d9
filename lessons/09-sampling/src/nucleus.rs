//! The border of top-p.

/// How many of the likeliest tokens nucleus sampling keeps: a token stays while those before it have less than `top_p` together. So the token that
/// crosses the border is kept, and there is always at least one.
///
/// Shape: `probabilities` `[candidates]`, falling; `mass` is what all of them have together, of which `top_p` is a share. If `probabilities` are
/// only the first of the candidates and all are kept, the border may lie further on. Cost: one addition for each kept token.
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
