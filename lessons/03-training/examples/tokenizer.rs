//! Trains the vocabulary on the mix and writes it: `cargo run -p lesson03 --example tokenizer -- FILE`. Prints what one
//! token is worth: bytes, and nats of the grammar's entropy bound.

use std::path::Path;
use training::corpus::{EvalDocument, Literature, StreamOptions, TrainingStream, train_tokenizer};
use training::grammar::Grammar;
use training::split::Split;

fn main() -> anyhow::Result<()> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "tokenizer.json".to_string());
    let grammar = Grammar::new();
    let literature = Literature::load(&lab::paths::data_dir().join("corpus"))?;
    let tokenizer = train_tokenizer(&grammar, &literature)?;
    tokenizer.save(Path::new(&file))?;
    let (mut tokens, mut nats, mut bytes, mut longest) = (0, 0.0, 0, 0);
    for index in 0..4000 {
        let document = grammar.document(7, Split::Test, index);
        let scored = EvalDocument::new(&document.text, Some(document.nats), &tokenizer);
        tokens += scored.num_scored();
        nats += document.nats;
        bytes += document.text.len();
        longest = longest.max(scored.num_scored());
    }
    println!("{} pieces", tokenizer.vocab_size());
    println!("stories: {} tokens a document, at most {longest}", tokens / 4000);
    println!(
        "stories: {:.2} bytes a token, {:.4} nats a token",
        bytes as f64 / tokens as f64,
        nats / tokens as f64
    );
    for split in [Split::Train, Split::Validation, Split::Test] {
        let bytes: usize = literature.of(split).map(|chapter| chapter.text.len()).sum();
        let tokens: usize = literature
            .of(split)
            .map(|chapter| tokenizer.encode(&chapter.text).len())
            .sum();
        println!(
            "literature, {split:?}: {tokens} tokens, {:.2} bytes a token",
            bytes as f64 / tokens as f64
        );
    }
    let mut stream = TrainingStream::new(grammar, &literature, tokenizer, StreamOptions::default());
    let start = std::time::Instant::now();
    let batch = stream.next_batch(512, 513);
    println!(
        "stream: {:.0} tokens a second",
        batch.len() as f64 / start.elapsed().as_secs_f64()
    );
    Ok(())
}
