use generation::candidates::{most_likely, visible};
use generation::{Model, State};
use layout::pool::Pool;
fn main() -> anyhow::Result<()> {
    let model = Model::open("stories")?;
    let pool = Pool::new(2);
    let mut state = State::new(&model.config, 64);
    for prompt in [
        "Once upon a time there was",
        "Once upon a time there was a",
        "Once upon a time there was a brave little fox named",
        "Once upon a time there was a brave little fox named Tom",
        "One cold day,",
        "One day, Mia found",
        "One day Mia found a",
        "Mia the mouse wanted to",
        "The fox was very",
        "Tom was happy because",
        "\"Hello,\" said the",
        "One day",
        "Every morning the bear",
        "In the end",
        "She looked for her",
        "They played",
        "He had a",
        "She was",
        "They went to the",
    ] {
        let tokens = model.encode_prompt(prompt)?;
        let logits = model.forward(&mut state, &pool, &tokens)?;
        let all = most_likely(logits, 60);
        let sum = |n: usize| all[..n].iter().map(|c| c.probability).sum::<f32>();
        let h: f32 = most_likely(logits, 2048)
            .iter()
            .map(|c| {
                if c.probability > 0.0 {
                    -c.probability * c.probability.ln()
                } else {
                    0.0
                }
            })
            .sum();
        println!(
            "{prompt:?} {} H {h:.2} top1 {:.3} 5 {:.3} 20 {:.3} 60 {:.3}",
            tokens.len(),
            sum(1),
            sum(5),
            sum(20),
            sum(60)
        );
        let t = model.tokenizer()?;
        println!(
            "   {}",
            all[..14]
                .iter()
                .map(|c| format!("{}:{:.3}", visible(t, c.token), c.probability))
                .collect::<Vec<_>>()
                .join("  ")
        );
    }
    Ok(())
}
