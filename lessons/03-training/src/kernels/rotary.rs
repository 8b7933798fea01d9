//! Rotary position embedding: pairs of a head's numbers are turned by an angle that grows with the position.
//!
//! Half-split form, as in Hugging Face files: number i is paired with number i + head_dim / 2.

/// Cosines and sines of every position and pair, computed once.
#[derive(Clone, Debug)]
pub struct RotaryTable {
    head_dim: usize,
    cos: Vec<f32>, // [max_seq_len][head_dim / 2]
    sin: Vec<f32>,
}

impl RotaryTable {
    /// The table for positions below `max_seq_len`: pair i turns by position · theta^(-2i / head_dim).
    /// Source: RoFormer, Su et al. 2021, arXiv:2104.09864, section 3.2.
    pub fn new(max_seq_len: usize, head_dim: usize, theta: f64) -> Self {
        assert!(head_dim.is_multiple_of(2), "head_dim must be even");
        let half = head_dim / 2;
        let angles = (0..max_seq_len).flat_map(|position| {
            (0..half).map(move |i| position as f64 * theta.powf(-2.0 * i as f64 / head_dim as f64))
        });
        let (cos, sin) = angles.map(|a| (a.cos() as f32, a.sin() as f32)).unzip();
        Self { head_dim, cos, sin }
    }

    /// Width of a head.
    pub fn head_dim(&self) -> usize {
        self.head_dim
    }

    /// Number of positions in the table.
    pub fn max_seq_len(&self) -> usize {
        2 * self.cos.len() / self.head_dim
    }

    /// Writes the head turned by its position's angles, times `scale`. Shapes: `head`, `out` `[head_dim]`.
    #[inline(always)]
    pub fn turn(&self, position: usize, head: &[f32], scale: f32, out: &mut [f32]) {
        self.turn_by(1.0, position, head, scale, out);
    }

    /// The transpose of [`turn`](Self::turn), for gradients: a turn by the negative angle.
    #[inline(always)]
    pub fn turn_back(&self, position: usize, head: &[f32], scale: f32, out: &mut [f32]) {
        self.turn_by(-1.0, position, head, scale, out);
    }

    /// A turn by the angle, or by the negative angle: its cosine is the same, its sine changes the sign. A change of
    /// sign rounds nothing, so both directions are as exact as if they were written out.
    #[inline(always)]
    fn turn_by(&self, sign: f32, position: usize, head: &[f32], scale: f32, out: &mut [f32]) {
        let half = self.head_dim / 2;
        let cos = &self.cos[position * half..][..half];
        let sin = &self.sin[position * half..][..half];
        let (a, b) = head.split_at(half);
        let (out_a, out_b) = out.split_at_mut(half);
        for i in 0..half {
            let sin = sign * sin[i];
            out_a[i] = (a[i] * cos[i] - b[i] * sin) * scale;
            out_b[i] = (b[i] * cos[i] + a[i] * sin) * scale;
        }
    }
}
