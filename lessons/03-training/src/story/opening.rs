//! The opening: a story by the model, and what its training took.

use lab::story::Story;
use training::corpus::Evaluation;
use training::eval::Subject;
use training::grammar::Grammar;
use training::metrics::tasks::fault_of;
use training::sample::Choice;

/// A story, the checker's verdict, and the size of the run.
pub fn opening(story: &mut Story, subject: &Subject, grammar: &Grammar, set: &Evaluation) {
    let prompt = &set.prompts[1];
    let told = subject.tell(std::slice::from_ref(prompt), Choice::Greedy, |_| {});
    story.say(format!("You: {}", prompt.request.as_deref().unwrap_or(&prompt.prompt)));
    story.say(format!("Model: {}", told[0].text.trim()));
    let verdict = match fault_of(grammar, prompt, &told[0]) {
        None => "every name and thing is what it was at the beginning".to_owned(),
        Some(fault) => fault,
    };
    story.show("checked against the grammar", verdict);
    story.show("tokens that it was trained on", subject.record.tokens);
    let seconds: f64 = subject.record.runs.iter().map(|run| run.seconds).sum();
    story.show("minutes that took", (seconds / 60.0).round());
    story.show("parameters", subject.model.config.num_parameters());
    story.say("All that it knows comes from the text of this lesson. What happened in between?");
}
