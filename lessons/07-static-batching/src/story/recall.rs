//! Two questions on earlier lessons.

use lab::story::{Choice, Prediction, Story};

/// Two questions on earlier lessons.
pub fn recall(story: &mut Story) {
    story.step(
        "Two questions from before",
        "If you begin with this lesson, skip them with Enter.",
    );
    story.predict(Prediction {
        id: "recall-bound",
        question: "Lesson 05: the model computes one row. What does it wait for most of the time?",
        options: &[
            Choice { text: "the multiply-adds", answer_to_wrong: Some("They are done long before the weights have arrived: one for each weight is little.") },
            Choice { text: "the weights to be read", answer_to_wrong: None },
            Choice { text: "attention", answer_to_wrong: Some("At these lengths attention is a few per cent of the work.") },
        ],
        answer: 1,
        because: "One row does one multiply-add for each weight of four bytes. The machine could do ten or twenty in that time.",
    });
    story.predict(Prediction {
        id: "recall-cache",
        question: "Lesson 06: 100 tokens are cached. How many rows does the model compute for the next one?",
        options: &[
            Choice { text: "1", answer_to_wrong: None },
            Choice { text: "100", answer_to_wrong: Some("That was the naive loop. The others' keys and values are kept.") },
            Choice { text: "101", answer_to_wrong: Some("That was the naive loop. The others' keys and values are kept.") },
        ],
        answer: 0,
        because: "One row, and for it every weight is read. So decoding is bound by reading, and its arithmetic is idle.",
    });
}
