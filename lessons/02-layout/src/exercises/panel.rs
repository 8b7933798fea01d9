//! Exercise 02.4: packing a panel of weights.

/// Copies 32 rows of a row-major weight matrix `[out_features, in_features]` into a panel `[in_features][32]`: the
/// order in which the product reads them, one line of 32 outputs for each step of k.
///
/// The panel begins with output `first`; place p of a line belongs to output `first + order[p]` (f32 panels use 0, 1,
/// 2, …; bf16 panels another order, see `Weight::place`). Outputs that do not exist, behind the last one, become
/// `zero`.
///
/// ```
/// let weights = [1.0, 2.0, 3.0, /* second output */ 4.0, 5.0, 6.0];
/// let order: [usize; 32] = std::array::from_fn(|p| p);
/// let mut panel = [9.0; 3 * 32];
/// layout::exercises::pack_panel(&weights, 3, 0, &order, 0.0, &mut panel);
/// assert_eq!(panel[..3], [1.0, 4.0, 0.0]); // step 0 of outputs 0, 1 and (missing) 2
/// assert_eq!(panel[32..35], [2.0, 5.0, 0.0]); // step 1
/// ```
///
/// Cost: each weight read once, along its row, 32 rows side by side; each line written once.
///
/// # Panics
/// If `panel` is not `[in_features, 32]`.
pub fn pack_panel<T: Copy>(
    weights: &[T],
    in_features: usize,
    first: usize,
    order: &[usize; 32],
    zero: T,
    panel: &mut [T],
) {
    assert_eq!(panel.len(), in_features * 32, "a panel is [{in_features}, 32]");
    if in_features == 0 {
        return;
    }
    // ANCHOR: ex_02_4
    let rows: [Option<&[T]>; 32] = order.map(|output| weights.chunks_exact(in_features).nth(first + output));
    for (k, line) in panel.chunks_exact_mut(32).enumerate() {
        for (place, row) in line.iter_mut().zip(rows) {
            *place = row.map_or(zero, |row| row[k]);
        }
    }
    // ANCHOR_END: ex_02_4
}
