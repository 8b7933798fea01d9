//! Text to ids, ids to windows.

use lab::story::Story;
use training::TokenId;
use training::batch::document_starts;
use training::corpus::{EvalDocument, Evaluation, Literature, StreamOptions, TrainingStream};
use training::grammar::Grammar;
use training::merges::Merges;
use training::tokenizer::Tokenizer;

/// Four merges, then the real vocabulary.
pub fn text_to_ids(story: &mut Story, tokenizer: &Tokenizer, set: &Evaluation) {
    story.step(
        "Text to ids",
        "A model computes with numbers; a vocabulary of 2048 pieces turns text into them and back.",
    );
    let mut merges = Merges::of(&[("low", 5), ("lower", 2), ("newest", 6), ("widest", 3)]);
    let mut rows = Vec::new();
    while let Some(pair) = merges.next_pair().filter(|_| rows.len() < 4) {
        let joined = format!("{} + {}", merges.spell(pair.0), merges.spell(pair.1));
        merges.join(pair);
        let spelled = |tokens: &[TokenId]| {
            tokens
                .iter()
                .map(|&token| merges.spell(token))
                .collect::<Vec<_>>()
                .join("·")
        };
        let words: Vec<String> = merges.words.iter().map(|(tokens, _)| spelled(tokens)).collect();
        rows.push([(rows.len() + 1).to_string(), joined, words.join(" ")]);
    }
    story.say(
        "Byte pair encoding joins, again and again, the two neighbours that are most frequent. Four merges, \
         over the words low (5 times), lower (2), newest (6) and widest (3):",
    );
    story.rows(&["merge", "pair", "words after it"], rows);
    let split = |text: &str| {
        let tokens = tokenizer.encode(text);
        let pieces: Vec<String> = tokens.iter().map(|&t| tokenizer.decode(&[t])).collect();
        (tokens, pieces.join("|"))
    };
    let (tokens, pieces) = split("Once there lived a clever hedgehog, and it blew on 12 horns.");
    story.say("This vocabulary, after its 1789 merges:");
    story.show("pieces", pieces);
    let ids: Vec<u32> = tokens.iter().map(|token| token.0).collect();
    story.show_as("ids", &ids, format!("{ids:?}"));
    let (tokens, pieces) = split("你好");
    story.show_as(
        "你好",
        tokens.len(),
        format!("{} tokens, one for each byte: {pieces}", tokens.len()),
    );
    let mean = |documents: &[EvalDocument]| {
        let bytes: usize = documents.iter().map(|d| d.bytes).sum();
        let tokens: usize = documents.iter().map(|d| d.num_scored()).sum();
        bytes as f64 / tokens as f64
    };
    let (in_stories, in_books) = (mean(&set.stories), mean(&set.literature));
    story.show_as(
        "bytes per token",
        [in_stories, in_books],
        format!("{in_stories:.2} in stories, {in_books:.2} in books"),
    );
    story.say("So a loss per token compares models only if they share a vocabulary; bits per byte compare any two.");
}

/// What the positions of a window read, must predict and see.
pub fn windows(story: &mut Story, grammar: &Grammar, literature: &Literature, tokenizer: &Tokenizer) {
    story.step(
        "Ids to windows",
        "Documents are laid end to end and cut into windows; every position of a window is a question with a known answer.",
    );
    let options = StreamOptions::default();
    let mut stream = TrainingStream::new(grammar.clone(), literature, tokenizer.clone(), options);
    let mut window = Vec::new();
    // The first window with a border that is not its beginning.
    let border = loop {
        stream.next_window(513, &mut window);
        if let Some(at) = window.iter().skip(4).position(|token| token.0 == 0) {
            break at + 4;
        }
    };
    let starts = document_starts(&window[..512]);
    let show = |token: TokenId| tokenizer.decode(&[token]).replace('\n', "\\n");
    story.rows(
        &["position", "reads", "must predict", "sees from"],
        (border - 3..(border + 4).min(512)).map(|position| {
            [
                position.to_string(),
                show(window[position]),
                show(window[position + 1]),
                starts[position].to_string(),
            ]
        }),
    );
    story.say(
        "The answer at t is the token at t + 1: shifted once. Shifted by none, the answer stands in the question and \
         the loss falls to zero; shifted twice, it hardly falls. No position sees the document before its own.",
    );
    story.predict("first-loss");
}
