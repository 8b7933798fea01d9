//! What a layer does besides matrix products, for all rows at once. Each function shares its rows out to the threads of a pool; a row's
//! result depends on that row alone, so the bits are the same however many rows there are and whoever computes them.
//!
//! Shapes: a matrix of `rows` rows of some width, row-major. A row of `qkv` holds queries, keys and values, in this order:
//! `[(num_heads + 2 num_kv_heads) head_dim]`.

use crate::error::GenerateError;
use crate::kernels::{apply_rope, attend_row, rms_norm, swiglu};
use crate::rope::RopeTable;
use crate::rows::{SharedRows, for_each_row};
use crate::weights::{Linear, Weights};
use lab::ledger;
use layout::pool::Pool;
use training::{LlamaConfig, TokenId};

/// Checks that every token has an embedding.
///
/// # Errors
/// [`GenerateError::UnknownToken`] with the first that has none.
pub fn check_tokens(config: &LlamaConfig, tokens: &[TokenId]) -> Result<(), GenerateError> {
    let unknown = |token: &&TokenId| token.index() >= config.vocab_size;
    match tokens.iter().find(unknown) {
        Some(token) => Err(GenerateError::UnknownToken {
            token_id: token.0,
            vocab_size: config.vocab_size,
        }),
        None => Ok(()),
    }
}

/// The embedding of each token. Shape: `hidden` `[tokens, hidden_size]`.
///
/// # Panics
/// If the lengths differ, or a token is outside the vocabulary: see [`check_tokens`].
pub fn embed_rows<L: Linear>(weights: &Weights<L>, tokens: &[TokenId], hidden: &mut [f32]) {
    let width = weights.norm.len();
    assert_eq!(hidden.len(), tokens.len() * width);
    for (token, embedding) in tokens.iter().zip(hidden.chunks_exact_mut(width)) {
        weights.embedding.row(token.index(), embedding);
    }
}

/// Norm of each row. Shapes: `x`, `out` `[rows, hidden_size]`, `weight` `[hidden_size]`.
pub fn norm_rows(pool: &Pool, config: &LlamaConfig, x: &[f32], weight: &[f32], out: &mut [f32]) {
    let width = config.hidden_size;
    for_each_row(pool, out, width, |row, out| {
        rms_norm(
            &x[row * width..][..width],
            weight,
            config.rms_norm_eps as f32,
            out,
        );
    });
}

/// Turns the queries and keys of each row by the row's position, in place; values are not turned.
///
/// # Panics
/// If a position was not reserved in `rope`.
pub fn rotate_rows(
    pool: &Pool,
    config: &LlamaConfig,
    rope: &RopeTable,
    position_of: impl Fn(usize) -> usize + Sync,
    qkv: &mut [f32],
) {
    let turned = config.q_size() + config.kv_size();
    for_each_row(pool, qkv, turned + config.kv_size(), |row, heads| {
        let (cos, sin) = rope.row(position_of(row));
        apply_rope(&mut heads[..turned], config.head_dim, cos, sin);
    });
}

/// The gate of each row. Shapes: `gate_up` `[rows, 2 intermediate_size]`, `gated` `[rows, intermediate_size]`.
pub fn gate_rows(pool: &Pool, config: &LlamaConfig, gate_up: &[f32], gated: &mut [f32]) {
    let width = 2 * config.intermediate_size;
    for_each_row(pool, gated, config.intermediate_size, |row, gated| {
        swiglu(&gate_up[row * width..][..width], gated);
    });
}

/// x += delta. Shapes: both `[rows, hidden_size]`.
pub fn add_rows(pool: &Pool, config: &LlamaConfig, delta: &[f32], x: &mut [f32]) {
    let width = config.hidden_size;
    for_each_row(pool, x, width, |row, x| {
        for (x, delta) in x.iter_mut().zip(&delta[row * width..][..width]) {
            *x += delta;
        }
    });
}

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

/// Rows that attend one after the other: while one head's keys and values are in the cache, each of these rows uses them.
const ATTENTION_ROWS: usize = 8;

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
    let attend = |row: usize, kv_head: usize, q: &[f32], scores: &mut [f32], out: &mut [f32]| {
        let seen = view(row, kv_head);
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
    };
    attend_heads(pool, config, qkv, &context_len, scores, attended, &attend);
}

/// Shares attention out to the threads of a pool: calls `attend(row, kv_head, q, scores, out)` for each row that sees anything and each
/// key head, in any order and on any thread. Where keys and values stand is known to `attend` alone.
///
/// Shapes: `q`, `out` `[group_size, head_dim]`, the query heads that share the key head; `scores` `[group_size, context_len(row)]` or more; the
/// others as in [`attend_rows`]. A row with a `context_len` of zero is padding: its output is set to zero.
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
    attend: &(impl Fn(usize, usize, &[f32], &mut [f32], &mut [f32]) + Sync),
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

    // A unit is a few rows of one key head; its queries and outputs are no one else's.
    let units = rows.div_ceil(ATTENTION_ROWS) * config.num_kv_heads;
    let num_tasks =
        attention_tasks(pool, config, rows).min(1 + multiply_adds / MULTIPLY_ADDS_A_TASK);
    let task_scores = config.group_size() * longest;
    let scores = SharedRows::new(&mut scores[..num_tasks * task_scores], task_scores);
    let attended = SharedRows::new(attended, group_width);
    pool.run(num_tasks, &|task| {
        // SAFETY: each task has scores of its own.
        let scores = unsafe { scores.row(task) };
        for unit in (task..units).step_by(num_tasks) {
            let first = unit / config.num_kv_heads * ATTENTION_ROWS;
            let kv_head = unit % config.num_kv_heads;
            for row in first..rows.min(first + ATTENTION_ROWS) {
                // SAFETY: each pair of row and key head belongs to one unit, each unit to one task.
                let out = unsafe { attended.row(row * config.num_kv_heads + kv_head) };
                match context_len(row) {
                    0 => out.fill(0.0),
                    _ => {
                        let q = &qkv[row * width + kv_head * group_width..][..group_width];
                        attend(row, kv_head, q, scores, out);
                    }
                }
            }
        }
    });
}

/// Tasks of [`attend_heads`]: a few for each thread, since later rows have more to do.
fn attention_tasks(pool: &Pool, config: &LlamaConfig, rows: usize) -> usize {
    let units = rows.div_ceil(ATTENTION_ROWS) * config.num_kv_heads;
    units.min(4 * pool.num_threads())
}

/// Makes room for the scores of [`attend_heads`] over `rows` rows that see up to `context_len` positions:
/// `group_size · context_len` numbers for each of a few tasks a thread. Allocates only when it has to grow.
pub fn reserve_scores(
    pool: &Pool,
    config: &LlamaConfig,
    rows: usize,
    context_len: usize,
    scores: &mut Vec<f32>,
) {
    let numbers = attention_tasks(pool, config, rows) * config.group_size() * context_len;
    if scores.len() < numbers {
        *scores = vec![0.0; numbers];
    }
}
