//! Attention of all rows, dealt out to the threads of a pool.
//!
//! Keys and values may lie anywhere: a view says where. The result of a row depends on the row and its view alone, so
//! the bits do not depend on the number of rows or threads.

pub use crate::attention_units::{ATTENTION_ROWS, Attending, Unit, attend_heads};
use crate::kernels::attend_row;
use crate::layer::SharedRows;
use lab::ledger;
use layout::pool::Pool;
use training::LlamaConfig;

/// The keys and values of one key head that one row sees. Position `j` starts at index `j * kv_stride` of both slices.
#[derive(Clone, Copy, Debug)]
pub struct KvView<'a> {
    /// Keys, from the first position that the row sees.
    pub k: &'a [f32],
    /// Values, from the same position.
    pub v: &'a [f32],
    /// Distance in elements from one position to the next.
    pub kv_stride: usize,
    /// Number of positions that the row sees. With zero the row reads nothing and its output is zero.
    pub context_len: usize,
}

/// Number of multiply-adds for which a further task pays: with fewer, one thread is done before a second one has
/// started.
pub(crate) const MULTIPLY_ADDS_A_TASK: usize = 16_384;

/// Attention of each row over the keys and values of `view(row, kv_head)`: one call of [`attend_row`] for each row and
/// key head.
///
/// Shapes: `qkv` `[rows, (num_heads + 2 num_kv_heads) head_dim]`, of which this function reads the queries; `attended`
/// `[rows, num_heads head_dim]`. `scores` is scratch memory, which grows where it is too small: see [`reserve_scores`].
/// Cost: that of [`attend_row`] with the `context_len` of each row.
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
    let width = config.q_size() + 2 * config.kv_size();
    let rows = qkv.len() / width;
    assert_eq!(qkv.len(), rows * width);
    assert_eq!(attended.len(), rows * config.q_size());
    let context_lens = || (0..rows).map(|row| view(row, 0).context_len);
    let (pairs, longest) = (context_lens().sum::<usize>(), context_lens().max().unwrap_or(0));
    // For each pair of a row and a position that it sees: `q_size` multiply-adds for the scores, as many for the
    // values.
    let multiply_adds = 2 * pairs * config.q_size();
    ledger::count(|l| l.multiply_adds += multiply_adds as u64);
    if longest == 0 {
        return attended.fill(0.0);
    }
    reserve_scores(pool, config, rows, longest, scores);

    let num_tasks = attention_tasks(pool, config, rows).min(1 + multiply_adds / MULTIPLY_ADDS_A_TASK);
    let group_width = group_size * head_dim;
    let scores = SharedRows::new(&mut scores[..num_tasks * group_size * longest], group_size * longest);
    let attended = SharedRows::new(attended, group_width);
    pool.run(num_tasks, &|task| {
        // SAFETY: each task has scores of its own.
        let scores = unsafe { scores.row(task) };
        // Later rows see more positions, so a task does not take neighbours: it takes every `num_tasks`-th row. The key
        // head changes last, so that its keys and values stay in the cache.
        for index in (task..rows * config.num_kv_heads).step_by(num_tasks) {
            let (kv_head, row) = (index / rows, index % rows);
            // SAFETY: each pair of row and key head belongs to one task.
            let out = unsafe { attended.row(row * config.num_kv_heads + kv_head) };
            let seen = view(row, kv_head);
            if seen.context_len == 0 {
                out.fill(0.0);
                continue;
            }
            let q = &qkv[row * width + kv_head * group_width..][..group_width];
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
    });
}

/// Number of tasks of [`attend_rows`]: a few for each thread, since later rows have more to do.
fn attention_tasks(pool: &Pool, config: &LlamaConfig, rows: usize) -> usize {
    (rows * config.num_kv_heads).min(4 * pool.num_threads())
}

/// Makes room for the scores of [`attend_rows`] over `rows` rows that see up to `context_len` positions:
/// `group_size · context_len` numbers for each of a few tasks a thread. Allocates only when the vector is too short.
pub fn reserve_scores(pool: &Pool, config: &LlamaConfig, rows: usize, context_len: usize, scores: &mut Vec<f32>) {
    let numbers = attention_tasks(pool, config, rows) * config.group_size() * context_len;
    if scores.len() < numbers {
        *scores = vec![0.0; numbers];
    }
}
