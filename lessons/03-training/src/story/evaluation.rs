//! What is measured, and that it was fixed before anything was made faster.

use crate::command::eval::summary;
use anyhow::Result;
use lab::story::{Answer, Claim, Story, Verdict};
use std::path::Path;
use training::corpus::{EvalDocument, Evaluation};
use training::eval::{EvalReport, Subject, fingerprint};
use training::metrics::score_documents;

/// Rules that could score one text, as (window, stride). The second one is the rule of this workbook.
const RULES: [(usize, usize); 4] = [(512, 512), (512, 256), (512, 64), (64, 64)];

/// Tokens of the chapter that the rules are compared on.
const COMPARED_TOKENS: usize = 2048;

/// The recorded report, the questions repeated now, and the same text under other rules. `lost_in_order`: nats per token
/// that the miniature lost by reading in order.
pub fn evaluation(
    story: &mut Story,
    subject: &Subject,
    set: &Evaluation,
    folder: &Path,
    lost_in_order: f64,
) -> Result<()> {
    story.step(
        "Measured before anything is made faster",
        "Text, questions and metrics are fixed here, before the first line of inference code. A later lesson can not choose another ruler.",
    );
    let recorded = std::fs::read_to_string(folder.join("evaluation.json")).ok();
    let recorded: Option<EvalReport> = recorded.and_then(|text| serde_json::from_str(&text).ok());
    if let Some(report) = &recorded {
        story.say("The whole evaluation, as recorded (`cargo run -q -p lesson03 -- eval` repeats it in some minutes):");
        story.say(summary(report));
        story.values("evaluation", report);
    }
    order_of_answers(story, subject, set, lost_in_order);
    rules(story, subject, set);
    Ok(())
}

/// The inference half of D1: the model's answers in the order of the questions, and each one place further.
fn order_of_answers(story: &mut Story, subject: &Subject, set: &Evaluation, lost_in_order: f64) {
    let kept = subject.answer(&set.tasks).accuracy;
    // With the expected answers turned by one, what the model says to a question is compared with the next answer.
    let mut turned = set.tasks.clone();
    for (item, next) in turned.iter_mut().zip(set.tasks.iter().cycle().skip(1)) {
        item.answer.clone_from(&next.answer);
    }
    let moved = subject.answer(&turned).accuracy;
    let shown = |share: f64| format!("{:.0} % of {}", 100.0 * share, set.tasks.len());
    story.show_as("questions right, in order", kept, shown(kept));
    story.show_as("answers one place further", moved, shown(moved));
    let note = format!(
        "training: the mean of stories and books, one run of each order; inference: {:.0} % of the answers are right in the order of \
         the questions, {:.0} % when each is delivered one place further",
        100.0 * kept,
        100.0 * moved
    );
    let (training, inference) = (lost_in_order > 0.05, moved < kept);
    story.claim(Claim {
        id: "D1",
        claimed: "training wants shuffled samples, inference wants the input order kept",
        value: lost_in_order,
        unit: "nats per token lost by reading in order",
        verdict: Verdict::of(training && inference, training || inference),
        note: &note,
    });
}

/// D2: what a rule that is chosen afterwards could make of the same weights and the same text.
fn rules(story: &mut Story, subject: &Subject, set: &Evaluation) {
    let asked = story.ask("rules", &[]);
    let config = &subject.model.config;
    let tokens = &set.literature[0].tokens;
    let chapter = EvalDocument {
        tokens: tokens[..tokens.len().min(COMPARED_TOKENS)].to_vec(),
        ..set.literature[0].clone()
    };
    let nats = RULES.map(|(window, stride)| {
        let window = window.min(config.max_seq_len);
        let score = score_documents(
            [&chapter],
            window,
            stride.min(window),
            config.vocab_size,
            |tokens, out| {
                out.copy_from_slice(subject.model.logits(tokens).as_slice().expect("row-major"));
            },
        );
        score.nats_per_token()
    });
    story.rows(
        &["window", "stride", "nats per token", "perplexity"],
        RULES.iter().zip(nats).map(|((window, stride), nats)| {
            [
                window.to_string(),
                stride.to_string(),
                format!("{nats:.3}"),
                format!("{:.2}", nats.exp()),
            ]
        }),
    );
    story.values("nats by rule", nats);
    story.reveal(asked, Answer::Stated, &[]);
    let fingerprint = fingerprint(set);
    story.show_as(
        "fingerprint of this set",
        &fingerprint,
        format!("{}…", &fingerprint[..16]),
    );
    let (least, most) = nats.iter().fold((f64::MAX, f64::MIN), |(least, most), &nats| {
        (least.min(nats), most.max(nats))
    });
    let moved = 100.0 * (most.exp() / least.exp() - 1.0);
    story.values("perplexity moved, per cent", moved);
    story.claim(Claim {
        id: "D2",
        claimed: "the evaluation set and its metrics (perplexity, task accuracy, BLEU/ROUGE) are fixed before the first line of inference code",
        value: moved,
        unit: "% of perplexity that a rule chosen afterwards can move",
        verdict: Verdict::of(moved > 5.0, moved > 1.0),
        note: "the same weights and the same 2048 tokens; here the rule is fixed: a test holds the set's fingerprint, and this lesson \
               depends on no lesson with inference code",
    });
}
