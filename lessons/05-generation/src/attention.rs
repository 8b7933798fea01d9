//! Attention of all rows, shared out to the threads of a pool. Keys and values may lie anywhere; a row's result depends on that row and what it
//! sees alone, so the bits are the same however many rows there are and whoever computes them.
//!
//! Shapes: a row of `qkv` holds queries, keys and values, in this order: `[(num_heads + 2 num_kv_heads) head_dim]`.

use crate::kernels::attend_row;
use crate::rows::SharedRows;
use lab::ledger;
use layout::pool::Pool;
use training::LlamaConfig;

/// Keys and values of one key head, as one row sees them. Position `j` stands at `k[j * kv_stride..][..head_dim]`, and likewise in `v`.
#[derive(Clone, Copy, Debug)]
pub struct KvView<'a> {
    /// Keys, from the first position that the row sees.
    pub k: &'a [f32],
    /// Values, from the same position.
    pub v: &'a [f32],
    /// Numbers from one position to the next.
    pub kv_stride: usize,
    /// Positions that the row sees. Zero: the row attends to nothing, reads nothing, and its output is zero.
    pub context_len: usize,
}

/// Most rows of a [`Unit`]: while one head's keys and values are in the cache, each of these rows uses them.
pub const ATTENTION_ROWS: usize = 8;

/// A row that attends with the queries of one key head.
#[derive(Debug, Default)]
pub struct Attending<'a> {
    /// Which row of the pass it is.
    pub row: usize,
    /// Positions that it sees, at least one.
    pub context_len: usize,
    /// Query heads that share the key head, `[group_size, head_dim]`.
    pub q: &'a [f32],
    /// To be overwritten with what they get, of the same shape.
    pub out: &'a mut [f32],
}

/// A few rows and one key head, which one thread computes.
#[derive(Debug)]
pub struct Unit<'a> {
    /// The key head.
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

/// Work that is worth a task of its own: below it, one thread is done before a second one has heard of it.
const MULTIPLY_ADDS_A_TASK: usize = 16_384;

/// Attention of each row over keys and values that `view(row, kv_head)` shows it; one call of [`attend_row`] for each row and key head.
///
/// Shapes: `qkv` `[rows, (num_heads + 2 num_kv_heads) head_dim]`, of which only the queries are read here; `attended`
/// `[rows, num_heads head_dim]`. `scores` is scratch, which grows when it has to: [`reserve_scores`] says how far.
/// Cost: see [`attend_row`], with each row's `context_len`.
///
/// # Panics
/// If a slice has another length, or a view is too short for its `context_len`.
pub fn attend_rows<'v>(
    pool: &Pool,
    config: &LlamaConfig,
    qkv: &[f32],
    view: &(impl Fn(usize, usize) -> KvView<'v> + Sync),
    scores: &mut Vec<f32>,
    attended: &mut [f32],
) {
    let (head_dim, group_size) = (config.head_dim, config.group_size());
    let context_len = |row| view(row, 0).context_len;
    let attend = |unit: &mut Unit<'_>, scores: &mut [f32]| {
        let kv_head = unit.kv_head;
        for Attending { row, q, out, .. } in unit.rows() {
            let seen = view(*row, kv_head);
            attend_row(
                q,
                seen.k,
                seen.v,
                seen.kv_stride,
                seen.context_len,
                group_size,
                1,
                head_dim,
                scores,
                out,
            );
        }
    };
    attend_heads(pool, config, qkv, &context_len, scores, attended, &attend);
}

/// Shares attention out to the threads of a pool: calls `attend(unit, scores)` for every few rows and each key head, in any order and on any
/// thread. Where keys and values stand is known to `attend` alone.
///
/// Shapes: `scores` `[rows of the unit, group_size, longest context_len]` or more; the others as in [`attend_rows`]. A row with a
/// `context_len` of zero is padding: its output is set to zero, and it is in no unit.
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
    reserve_scores(pool, config, rows, longest, scores);

    // One key head after the other: what it keeps stays near from one unit of a task to the next.
    let groups = rows.div_ceil(ATTENTION_ROWS);
    let units = groups * config.num_kv_heads;
    let num_tasks = attention_tasks(pool, config, rows).min(1 + multiply_adds / MULTIPLY_ADDS_A_TASK);
    let unit_scores = scores_of_a_unit(config, rows, longest);
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

/// Tasks of [`attend_heads`]: a few for each thread, since later rows have more to do.
fn attention_tasks(pool: &Pool, config: &LlamaConfig, rows: usize) -> usize {
    let units = rows.div_ceil(ATTENTION_ROWS) * config.num_kv_heads;
    units.min(4 * pool.num_threads())
}

/// Numbers of the scores of one unit.
fn scores_of_a_unit(config: &LlamaConfig, rows: usize, context_len: usize) -> usize {
    rows.min(ATTENTION_ROWS) * config.group_size() * context_len
}

/// Makes room for the scores of [`attend_heads`] over `rows` rows that see up to `context_len` positions:
/// `group_size · context_len` numbers for each row of a unit and each of a few tasks a thread. Allocates only when it has to grow.
pub fn reserve_scores(pool: &Pool, config: &LlamaConfig, rows: usize, context_len: usize, scores: &mut Vec<f32>) {
    let numbers = attention_tasks(pool, config, rows) * scores_of_a_unit(config, rows, context_len);
    if scores.len() < numbers {
        *scores = vec![0.0; numbers];
    }
}
