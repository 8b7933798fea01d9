//! One layer with real values, on three tokens.

use super::Scene;
use generation::attention::attend_rows;
use generation::candidates::most_likely;
use generation::forward::rows_before;
use generation::layer::{add_rows, embed_rows, gate_rows, norm_rows, project_rows, rotate_rows};
use generation::state::Buffers;
use generation::terminal::piece;
use generation::{Model, State, lanes};
use lab::story::Story;
use layout::pool::Pool;
use training::{LlamaConfig, TokenId};

/// Shows three tokens in the first layer.
pub fn layer(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    let tokens = scene.prompt[..scene.prompt.len().min(3)].to_vec();
    let llama = scene.model.config.llama.clone();
    story.step(
        "Look inside one layer",
        "Three tokens in the first layer: the first numbers of each row.",
    );
    let stages = first_layer(&scene.model, &scene.pool, &tokens);
    let mut header = vec!["".to_owned(), "shape".to_owned()];
    header.extend(tokens.iter().map(|token| piece(&scene.model, *token)));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let cells = |stage: &Stage| {
        let numbers = stage.rows.iter().map(|row| numbers(row));
        [stage.name.to_owned(), stage.shape.clone()]
            .into_iter()
            .chain(numbers)
            .collect::<Vec<_>>()
    };
    story.rows(&header, stages.iter().map(cells));
    let rows_of = |name: &str, most: usize| -> Vec<Vec<f32>> {
        let stage = stages.iter().find(|stage| stage.name == name);
        let rows = stage.map(|stage| stage.rows.iter().map(|row| row.iter().take(most).copied().collect()));
        rows.map(Iterator::collect).unwrap_or_default()
    };
    story.values("embedding", rows_of("embedding", 4));
    story.values("after_layer", rows_of("x + SwiGLU", 4));
    story.values("weights_head_0", rows_of("weights", usize::MAX));
    story.say(
        "Read the scores (those of head 0): the first token sees one position, the second two, the third three. No token sees a \
         later one, and that is all that \"causal\" means. At position 0 nothing is turned; at later positions each pair turns by \
         its own angle. Every other operation treats each token alone.",
    );
    story.predict_with(
        "head-rows",
        &[
            ("rest", &(llama.num_layers - 1)),
            ("hidden", &llama.hidden_size),
            ("vocab", &llama.vocab_size),
        ],
    );
    let logits = scene.model.forward(&mut scene.state, &scene.pool, &tokens)?;
    let best = most_likely(logits, 3);
    let said: Vec<String> = best
        .iter()
        .map(|c| format!("{} {:.0} %", piece(&scene.model, c.token), 100.0 * c.probability))
        .collect();
    story.show_as("after these tokens", &best, said.join(", "));
    Ok(())
}

/// The rows of all tokens after one operation of the layer.
struct Stage {
    name: &'static str,
    /// Shape of a row.
    shape: String,
    rows: Vec<Vec<f32>>,
}

/// Runs the first layer over `tokens`, with the operations of [`generation::forward`] in their order, and copies the
/// rows after each of them.
fn first_layer(model: &Model, pool: &Pool, tokens: &[TokenId]) -> Vec<Stage> {
    let (config, weights, rows) = (&model.config.llama, &model.weights, tokens.len());
    let (hidden_size, q_size, kv_size) = (config.hidden_size, config.q_size(), config.kv_size());
    let layer = &weights.layers[0];
    let mut state = State::new(&model.config, rows);
    let Buffers {
        rope,
        hidden,
        normed,
        qkv,
        attended,
        gate_up,
        gated,
        delta,
        scores,
    } = state.buffers(config, rows);
    let row = hidden_size.to_string();
    let heads = |count: usize| format!("{count}x{}", config.head_dim);
    let (q_heads, kv_heads) = (heads(config.num_heads), heads(config.num_kv_heads));
    let mut stages = Vec::new();
    let mut add = |name, shape: &str, rows: Vec<Vec<f32>>| {
        let shape = shape.to_owned();
        stages.push(Stage { name, shape, rows });
    };
    // Some columns of each row of a matrix.
    let columns = |matrix: &[f32], first: usize, len: usize| -> Vec<Vec<f32>> {
        let rows = matrix.chunks_exact(matrix.len() / rows);
        rows.map(|row| row[first..][..len].to_vec()).collect()
    };

    embed_rows(weights, tokens, hidden);
    add("embedding", &row, columns(hidden, 0, hidden_size));
    norm_rows(pool, config, hidden, &layer.attention_norm, normed);
    add("RMSNorm", &row, columns(normed, 0, hidden_size));
    project_rows(pool, config, layer, normed, rows, qkv);
    add("q", &q_heads, columns(qkv, 0, q_size));
    rotate_rows(pool, config, rope, |row| row, qkv);
    add("q, turned", &q_heads, columns(qkv, 0, q_size));
    add("k, turned", &kv_heads, columns(qkv, q_size, kv_size));
    add("v", &kv_heads, columns(qkv, q_size + kv_size, kv_size));
    let qkv: &[f32] = qkv;
    let head_0: Vec<Vec<f32>> = (0..rows).map(|row| scores_of_head_0(config, qkv, row)).collect();
    add("scores", "seen", head_0.clone());
    let softmax = |mut scores: Vec<f32>| {
        lanes::softmax(&mut scores);
        scores
    };
    add("weights", "seen", head_0.into_iter().map(softmax).collect());
    let seen = |row, kv_head| rows_before(config, qkv, row, kv_head);
    attend_rows(pool, config, qkv, &seen, scores, attended);
    add("gathered", &q_heads, columns(attended, 0, q_size));
    layer.attention_out.matmul(pool, attended, rows, delta);
    add_rows(pool, config, delta, hidden);
    add("x + attention", &row, columns(hidden, 0, hidden_size));
    norm_rows(pool, config, hidden, &layer.mlp_norm, normed);
    layer.gate_up.matmul(pool, normed, rows, gate_up);
    gate_rows(pool, config, gate_up, gated);
    let intermediate = config.intermediate_size;
    add("SwiGLU", &intermediate.to_string(), columns(gated, 0, intermediate));
    layer.down.matmul(pool, gated, rows, delta);
    add_rows(pool, config, delta, hidden);
    add("x + SwiGLU", &row, columns(hidden, 0, hidden_size));
    stages
}

/// The scores of head 0 in row `row`, for each position that the row sees.
fn scores_of_head_0(config: &LlamaConfig, qkv: &[f32], row: usize) -> Vec<f32> {
    let width = config.q_size() + 2 * config.kv_size();
    let q = &qkv[row * width..][..config.head_dim];
    let seen = rows_before(config, qkv, row, 0);
    let score = |position: usize| {
        let key = &seen.k[position * seen.kv_stride..][..config.head_dim];
        let dot: f32 = q.iter().zip(key).map(|(q, k)| q * k).sum();
        dot / (config.head_dim as f32).sqrt()
    };
    (0..seen.context_len).map(score).collect()
}

/// The first three numbers of a row, or all of a shorter row.
fn numbers(row: &[f32]) -> String {
    let shown: Vec<String> = row.iter().take(3).map(|x| format!("{x:>5.2}")).collect();
    shown.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_gives_the_bits_of_the_forward_pass() {
        for name in fixtures::MODELS {
            let mut model = Model::open(fixtures::model(name).to_str().unwrap()).unwrap();
            model.weights.layers.truncate(1);
            let tokens: Vec<TokenId> = [7, 3, 200, 3, 11].map(TokenId).to_vec();
            let pool = Pool::new(2);
            let walked = first_layer(&model, &pool, &tokens).pop().unwrap().rows.concat();
            let mut state = State::new(&model.config, tokens.len());
            model.forward(&mut state, &pool, &tokens).unwrap();
            assert_eq!(walked, state.hidden, "{name}");
        }
    }
}
