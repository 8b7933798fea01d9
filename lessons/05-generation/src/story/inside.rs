//! One layer with real values, on three tokens.

use super::Scene;
use generation::candidates::most_likely;
use generation::walk::{RowWalk, walk_first_layer};
use lab::story::{Choice, Prediction, Story};
use lab::table::Table;

/// Two questions on earlier lessons, before the look inside.
pub fn recall(story: &mut Story) {
    story.step(
        "Two questions from before",
        "If you begin with this lesson, skip them with Enter; the README has the page that you need.",
    );
    story.predict(Prediction {
        id: "recall-rows",
        question: "Lesson 02: a matrix is multiplied with 8 rows instead of one. What does that cost?",
        options: &[
            Choice { text: "8 times as much", answer_to_wrong: Some("The arithmetic is 8 times as much, but the weights are read once, and reading is what one row waits for.") },
            Choice { text: "about 1.3 times as much", answer_to_wrong: None },
            Choice { text: "the same", answer_to_wrong: Some("Nearly, but the arithmetic does show a little.") },
        ],
        answer: 1,
        because: "Rows ride almost free until the arithmetic catches up with the reading.",
    });
    story.predict(Prediction {
        id: "recall-weights",
        question: "Lesson 03: training kept the weights, their gradients, two moments and the tape. What does generation need of these?",
        options: &[
            Choice { text: "all of them", answer_to_wrong: Some("Gradients and moments change weights; here nothing is changed.") },
            Choice { text: "weights and tape", answer_to_wrong: Some("The tape keeps what the backward pass will read, and there is none.") },
            Choice { text: "the weights", answer_to_wrong: None },
        ],
        answer: 2,
        because: "Generation only reads. What else would be worth keeping is the question of the next lesson.",
    });
}

/// Walks three tokens through the first layer.
pub fn layer(story: &mut Story, scene: &mut Scene) -> anyhow::Result<()> {
    let tokens = scene.prompt[..scene.prompt.len().min(3)].to_vec();
    let llama = scene.model.config.llama.clone();
    story.step(
        "Look inside one layer",
        "Three tokens in the first layer: the first numbers of each row, as they are.",
    );
    let rows = walk_first_layer(&scene.model.config, &scene.model.weights, &tokens);
    let mut header = vec!["".to_owned(), "shape".to_owned()];
    header.extend(tokens.iter().map(|token| scene.piece(*token)));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = Table::new(&header);
    let mut add = |name: &str, shape: String, part: fn(&RowWalk) -> &[f32]| {
        let cells = rows.iter().map(|row| numbers(part(row)));
        table.row([name.to_owned(), shape].into_iter().chain(cells));
    };
    let (hidden, heads, kv_heads, head_dim) = (llama.hidden_size, llama.num_heads, llama.num_kv_heads, llama.head_dim);
    add("embedding", format!("{hidden}"), |row| &row.embedding);
    add("RMSNorm", format!("{hidden}"), |row| &row.normed);
    add("q", format!("{heads}x{head_dim}"), |row| &row.q);
    add("q, turned", format!("{heads}x{head_dim}"), |row| &row.q_turned);
    add("k, turned", format!("{kv_heads}x{head_dim}"), |row| &row.k_turned);
    add("v", format!("{kv_heads}x{head_dim}"), |row| &row.v);
    add("scores", "seen".into(), |row| &row.scores);
    add("weights", "seen".into(), |row| &row.weights);
    add("gathered", format!("{heads}x{head_dim}"), |row| &row.attended);
    add("x + attention", format!("{hidden}"), |row| &row.after_attention);
    add("SwiGLU", format!("{}", llama.intermediate_size), |row| &row.gated);
    add("x + SwiGLU", format!("{hidden}"), |row| &row.after_layer);
    story.table(&table);
    let first = |part: fn(&RowWalk) -> &[f32]| -> Vec<Vec<f32>> {
        rows.iter()
            .map(|row| part(row).iter().take(4).copied().collect())
            .collect()
    };
    story.values("embedding", first(|row| &row.embedding));
    story.values("after_layer", first(|row| &row.after_layer));
    story.values(
        "weights_head_0",
        rows.iter().map(|row| row.weights.clone()).collect::<Vec<_>>(),
    );
    story.say(
        "Read the scores (those of head 0): the first token sees one position, the second two, the third three. Nobody sees the future, and that is \
         all that \"causal\" means. At position 0 nothing is turned; further on each pair turns by its own angle. Everything \
         else happens to each token alone.",
    );
    let rest = llama.num_layers - 1;
    let vocab = llama.vocab_size;
    story.predict(Prediction {
        id: "head-rows",
        question: &format!(
            "After {rest} more layers the head turns a row of {hidden} numbers into {vocab} logits. For a text of 12 tokens, how many rows does it multiply?"
        ),
        options: &[
            Choice { text: "12, one for each token", answer_to_wrong: Some("The others' logits would predict tokens that are already there. Training needs them, generation does not.") },
            Choice { text: "1, the last", answer_to_wrong: None },
        ],
        answer: 1,
        because: "Only the last row says what comes next.",
    });
    let logits = scene.model.forward(&mut scene.state, &scene.pool, &tokens)?;
    let best = most_likely(logits, 3);
    let said: Vec<String> = best
        .iter()
        .map(|c| format!("{} {:.0} %", scene.piece(c.token), 100.0 * c.probability))
        .collect();
    story.show_as("after these tokens", &best, said.join(", "));
    Ok(())
}

/// The first three numbers of a row, or all of a shorter one.
fn numbers(row: &[f32]) -> String {
    let shown: Vec<String> = row.iter().take(3).map(|x| format!("{x:>5.2}")).collect();
    shown.join(" ")
}
