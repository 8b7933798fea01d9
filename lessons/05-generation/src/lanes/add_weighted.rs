//! Weighted values, added up: what attention hands on.

use super::last_end;
use layout::lanes::Lanes;
use layout::simd::{Isa, Kernel};

/// Adds weighted values to several outputs: `out[h] += sum over j of weights[h * weight_stride + j] * values[j]`, j
/// ascending.
///
/// Shapes: `out` `[num_queries, head_dim]`, added to; value `j` stands at `values[j * value_stride..][..head_dim]`.
/// Cost: num_queries * num_values * head_dim multiply-adds; reads each value once from memory.
///
/// # Panics
/// If a slice is too short for these shapes.
pub fn add_weighted(
    weights: &[f32],
    weight_stride: usize,
    values: &[f32],
    value_stride: usize,
    num_values: usize,
    head_dim: usize,
    out: &mut [f32],
) {
    let isa = Isa::detect();
    add_weighted_on(
        isa,
        weights,
        weight_stride,
        values,
        value_stride,
        num_values,
        head_dim,
        out,
    );
}

/// [`add_weighted`] with a chosen instruction set.
///
/// # Panics
/// As [`add_weighted`], and if this machine lacks `isa`.
pub fn add_weighted_on(
    isa: Isa,
    weights: &[f32],
    weight_stride: usize,
    values: &[f32],
    value_stride: usize,
    num_values: usize,
    head_dim: usize,
    out: &mut [f32],
) {
    let pieces = [Piece {
        weights,
        values,
        len: num_values,
    }];
    isa.run(AddWeighted {
        weight_stride,
        value_stride,
        pieces: &pieces,
        head_dim,
        out,
    });
}

/// Values that stand one after the other, and their weights: that of value `j` for output `h` is
/// `weights[h * weight_stride + j]`.
#[derive(Clone, Copy, Default)]
pub(super) struct Piece<'a> {
    pub weights: &'a [f32],
    pub values: &'a [f32],
    pub len: usize,
}

/// Adds the values of all pieces, in the order of the pieces.
pub(super) struct AddWeighted<'a> {
    pub weight_stride: usize,
    pub value_stride: usize,
    pub pieces: &'a [Piece<'a>],
    pub head_dim: usize,
    pub out: &'a mut [f32],
}

impl Kernel for AddWeighted<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (head_dim, num_queries) = (self.head_dim, self.out.len() / self.head_dim);
        assert_eq!(self.out.len(), num_queries * head_dim);
        for piece in self.pieces {
            assert!(last_end(piece.len, self.value_stride, head_dim) <= piece.values.len());
            assert!(last_end(num_queries, self.weight_stride, piece.len) <= piece.weights.len());
        }
        let mut h = 0;
        while h < num_queries {
            // With sixteen registers there is room for the sums of two heads, with thirty-two for those of four.
            let heads = (num_queries - h).min(if L::ROWS < 8 { 2 } else { 4 });
            let mut d = 0;
            while d < head_dim {
                let panel = Panel {
                    weight_stride: self.weight_stride,
                    value_stride: self.value_stride,
                    pieces: self.pieces,
                    head: h,
                    column: d,
                    out: self.out[h * head_dim + d..].as_mut_ptr(),
                    head_dim,
                    last_lanes: L::N.min(head_dim - d),
                };
                let width = match (head_dim - d) / L::N {
                    0 | 1 => 1,
                    2 => 2,
                    3 => 3,
                    _ => 4,
                };
                macro_rules! panels {
                    ($(($heads:literal, $width:literal))*) => {
                        // SAFETY: all weights, values and outputs of these heads and columns exist, as asserted.
                        unsafe {
                            match (heads, width) {
                                $( ($heads, $width) if const { $heads <= 2 || L::ROWS >= 8 } =>
                                    panel.add::<L, $heads, $width>(lanes), )*
                                _ => unreachable!("no panel of {heads} heads and {width} registers"),
                            }
                        }
                    };
                }
                panels!(
                    (1, 1)(1, 2)(1, 3)(1, 4)(2, 1)(2, 2)(2, 3)(2, 4)(3, 1)(3, 2)(3, 3)(3, 4)(4, 1)(4, 2)(4, 3)(4, 4)
                );
                d += width * L::N;
            }
            h += heads;
        }
    }
}

/// Up to four heads times up to four registers of outputs, whose accumulators stay in registers over all positions.
struct Panel<'a> {
    weight_stride: usize,
    value_stride: usize,
    pieces: &'a [Piece<'a>],
    /// The first head.
    head: usize,
    /// The first column.
    column: usize,
    /// The output of that head and column.
    out: *mut f32,
    head_dim: usize,
    /// Lanes in use of each register: all, except in a panel of one register at the end of the heads.
    last_lanes: usize,
}

impl Panel<'_> {
    /// Adds all positions for `HEADS` heads and `WIDTH` registers a head.
    ///
    /// # Safety
    /// `HEADS` rows of outputs exist, and for each position of the pieces a value and as many weights. Outputs and
    /// values are `WIDTH` registers wide, or `last_lanes` numbers if `WIDTH` is 1.
    #[inline(always)]
    unsafe fn add<L: Lanes, const HEADS: usize, const WIDTH: usize>(&self, lanes: L) {
        let mut sums = [[lanes.splat(0.0); WIDTH]; HEADS];
        // SAFETY: see above; lanes that are not in use are neither read nor written.
        unsafe {
            for h in 0..HEADS {
                sums[h] = self.load(lanes, self.out.add(h * self.head_dim));
            }
            // Empty pieces are skipped: not even their first number need exist.
            for piece in self.pieces.iter().filter(|piece| piece.len > 0) {
                let weights = piece.weights.as_ptr().add(self.head * self.weight_stride);
                let values = piece.values.as_ptr().add(self.column);
                for j in 0..piece.len {
                    let value: [L::V; WIDTH] = self.load(lanes, values.add(j * self.value_stride));
                    for h in 0..HEADS {
                        let weight = lanes.splat(*weights.add(h * self.weight_stride + j));
                        for r in 0..WIDTH {
                            sums[h][r] = lanes.fma(weight, value[r], sums[h][r]);
                        }
                    }
                }
            }
            for h in 0..HEADS {
                let out = self.out.add(h * self.head_dim);
                for r in 0..WIDTH {
                    match WIDTH {
                        1 => lanes.store_first(self.last_lanes, out, sums[h][r]),
                        _ => lanes.store(out.add(r * L::N), sums[h][r]),
                    }
                }
            }
        }
    }

    /// Loads `WIDTH` registers, or the lanes in use of one.
    ///
    /// # Safety
    /// These numbers are readable.
    #[inline(always)]
    unsafe fn load<L: Lanes, const WIDTH: usize>(&self, lanes: L, from: *const f32) -> [L::V; WIDTH] {
        let mut registers = [lanes.splat(0.0); WIDTH];
        for r in 0..WIDTH {
            // SAFETY: the caller promises that these numbers are readable.
            registers[r] = unsafe {
                match WIDTH {
                    1 => lanes.load_first(self.last_lanes, from),
                    _ => lanes.load(from.add(r * L::N)),
                }
            };
        }
        registers
    }
}
