//! Attention of several rows at once, for keys and values that lie in many places.

use crate::attention::MULTIPLY_ADDS_A_TASK;
use crate::layer::SharedRows;
use lab::ledger;
use layout::pool::Pool;
use training::LlamaConfig;

/// Maximum number of rows in a [`Unit`]. All of them read the keys and values of one head while these are in the cache.
pub const ATTENTION_ROWS: usize = 8;

/// The queries of one row that use one key head.
#[derive(Debug, Default)]
pub struct Attending<'a> {
    /// Index of the row in the pass.
    pub row: usize,
    /// Number of positions that the row sees, at least one.
    pub context_len: usize,
    /// Query heads that share the key head, `[group_size, head_dim]`.
    pub q: &'a [f32],
    /// Output of these heads, overwritten. Shape: that of `q`.
    pub out: &'a mut [f32],
}

/// A few rows and one key head, which one thread computes.
#[derive(Debug)]
pub struct Unit<'a> {
    /// Index of the key head.
    pub kv_head: usize,
    rows: [Attending<'a>; ATTENTION_ROWS],
    len: usize,
}

impl<'a> Unit<'a> {
    /// The rows in ascending order.
    pub fn rows(&mut self) -> &mut [Attending<'a>] {
        &mut self.rows[..self.len]
    }
}

/// Deals attention out to the threads of a pool: calls `attend(unit, scores)` for each key head and each group of up to
/// [`ATTENTION_ROWS`] rows, in any order and on any thread. Only `attend` knows where keys and values are.
///
/// Shapes: `scores` `[rows of the unit, group_size, longest context_len]` or more; the others as in
/// [`crate::attention::attend_rows`]. A row with a `context_len` of zero is padding: its output is set to zero, and it
/// is in no unit.
///
/// # Panics
/// If a slice has another length.
pub fn attend_heads(
    pool: &Pool,
    config: &LlamaConfig,
    qkv: &[f32],
    context_len: &(impl Fn(usize) -> usize + Sync),
    scores: &mut Vec<f32>,
    attended: &mut [f32],
    attend: &(impl Fn(&mut Unit<'_>, &mut [f32]) + Sync),
) {
    let group_width = config.group_size() * config.head_dim;
    let width = config.q_size() + 2 * config.kv_size();
    let rows = qkv.len() / width;
    assert_eq!(qkv.len(), rows * width);
    assert_eq!(attended.len(), rows * config.q_size());
    let (mut pairs, mut longest) = (0, 0);
    for context_len in (0..rows).map(context_len) {
        pairs += context_len;
        longest = longest.max(context_len);
    }
    let multiply_adds = 2 * pairs * config.q_size();
    ledger::count(|l| l.multiply_adds += multiply_adds as u64);
    if longest == 0 {
        return attended.fill(0.0);
    }

    // Units are ordered by key head: its keys and values stay in the cache from one unit of a task to the next.
    let groups = rows.div_ceil(ATTENTION_ROWS);
    let units = groups * config.num_kv_heads;
    let most_tasks = units.min(4 * pool.num_threads());
    let num_tasks = most_tasks.min(1 + multiply_adds / MULTIPLY_ADDS_A_TASK);
    let unit_scores = rows.min(ATTENTION_ROWS) * config.group_size() * longest;
    if scores.len() < most_tasks * unit_scores {
        *scores = vec![0.0; most_tasks * unit_scores];
    }
    let scores = SharedRows::new(&mut scores[..num_tasks * unit_scores], unit_scores);
    let attended = SharedRows::new(attended, group_width);
    pool.run(num_tasks, &|task| {
        // SAFETY: each task has scores of its own.
        let scores = unsafe { scores.row(task) };
        for index in (task..units).step_by(num_tasks) {
            let (kv_head, group) = (index / groups, index % groups);
            let first = group * ATTENTION_ROWS;
            let mut unit = Unit {
                kv_head,
                rows: Default::default(),
                len: 0,
            };
            for row in first..rows.min(first + ATTENTION_ROWS) {
                // SAFETY: each pair of row and key head belongs to one unit, each unit to one task.
                let out = unsafe { attended.row(row * config.num_kv_heads + kv_head) };
                match context_len(row) {
                    0 => out.fill(0.0),
                    context_len => {
                        unit.rows[unit.len] = Attending {
                            row,
                            context_len,
                            q: &qkv[row * width + kv_head * group_width..][..group_width],
                            out,
                        };
                        unit.len += 1;
                    }
                }
            }
            attend(&mut unit, scores);
        }
    });
}
