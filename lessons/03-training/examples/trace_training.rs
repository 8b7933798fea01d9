//! Records what the book's interactive figure shows: a vocabulary that grows, merge by merge.
//!
//! ```text
//! cargo run -q -p lesson03 --example trace_training > target/training.json && mv target/training.json book/figures/training.json
//! ```

fn main() -> serde_json::Result<()> {
    println!("{}", serde_json::to_string(&training::trace::record())?);
    Ok(())
}
