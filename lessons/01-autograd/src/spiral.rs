//! The data: two arms of a spiral, which no straight line parts.

use std::f64::consts::PI;

use ndarray::ArrayD;

use crate::real::Real;
use crate::tensor::Tensor;

/// Points in the plane with the arm they lie on.
pub struct Spiral {
    /// Coordinates `[num_points, 2]`, within about -1.1 and 1.1, row-major.
    pub points: Vec<[f64; 2]>,
    /// Arm of each point, 0 or 1.
    pub arms: Vec<usize>,
}

impl Spiral {
    /// `per_arm` points on each arm, one and a half turns, jittered. Equal seeds give equal points.
    pub fn new(per_arm: usize, seed: u64) -> Self {
        let mut points = Vec::with_capacity(2 * per_arm);
        let mut arms = Vec::with_capacity(2 * per_arm);
        for arm in 0..2 {
            for i in 0..per_arm {
                let along = (i as f64 + 0.5) / per_arm as f64;
                let (radius, angle) = (0.1 + 0.9 * along, 3.0 * PI * along + PI * arm as f64);
                let place = (2 * (arm * per_arm + i)) as u64;
                let jitter = |axis| 0.05 * uniform(seed, place + axis);
                points.push([radius * angle.cos() + jitter(0), radius * angle.sin() + jitter(1)]);
                arms.push(arm);
            }
        }
        Self { points, arms }
    }

    /// The coordinates as a constant `[num_points, 2]`.
    pub fn inputs<T: Real>(&self) -> Tensor<T> {
        let values = self.points.iter().flatten().map(|&x| T::of(x)).collect();
        Tensor::new(ArrayD::from_shape_vec(vec![self.points.len(), 2], values).expect("two coordinates per point"))
    }
}

/// A number between -1 and 1 that depends on seed and place only, so the order of calls does not matter.
/// Source: SplitMix64, Steele et al. 2014, doi:10.1145/2660193.2660195.
pub fn uniform(seed: u64, place: u64) -> f64 {
    let mut z = seed.wrapping_add(place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    // The upper 53 bits are a fraction below 1 that f64 holds exactly.
    (z >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}
