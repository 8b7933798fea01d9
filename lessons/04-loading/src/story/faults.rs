//! Step 6: six broken files, and who notices.

use super::file::weight_file;
use lab::story::{Choice, Claim, Prediction, Story, Verdict};
use lab::table::Table;
use loading::WeightSource;
use loading::bytes::FileBytes;
use loading::checkpoint::Checkpoint;
use loading::damage::Damage;
use loading::error::LoadError;
use loading::manifest::sha256_bytes;
use std::path::Path;

/// Tells the step.
pub fn who_notices(story: &mut Story, folder: &Path) -> anyhow::Result<()> {
    story.step(
        "Six broken files",
        "A loader meets files that were cut off, forged or mixed up. Some are refused by looking at the header, some by looking at the \
         values, and some are perfectly good files of a worse model.",
    );
    let guess = Prediction {
        id: "flipped",
        question: "One bit of one weight flips on the way. Who notices?",
        options: &[
            Choice {
                text: "The header check: the format is called safe",
                answer_to_wrong: Some(
                    "Safe means that loading runs no code. The header says where values are, not what they are.",
                ),
            },
            Choice {
                text: "The check for NaN",
                answer_to_wrong: Some("Only when the flip makes one: one bit of a fraction gives another good number."),
            },
            Choice {
                text: "Only the checksum",
                answer_to_wrong: None,
            },
        ],
        answer: 2,
        because: "Every number is a possible weight. Only a digest that was taken when the file was right can tell.",
    };
    let answer = story.ask_old(&guess);
    let whole = std::fs::read(weight_file(folder)?)?;
    let digest = sha256_bytes(&whole);
    let mut table = Table::new(&["damage", "header check", "value check", "checksum"]);
    let (mut by_header, mut by_values, mut by_checksum) = (0, 0, 0);
    let mut messages = Vec::new();
    for damage in Damage::ALL {
        let broken = damage.apply(&whole);
        let checksum = sha256_bytes(&broken) != digest;
        let header = check_header(broken);
        let values = match &header {
            Ok(checkpoint) => check_values(checkpoint),
            Err(_) => Ok(()),
        };
        by_header += usize::from(header.is_err());
        by_values += usize::from(values.is_err());
        by_checksum += usize::from(checksum);
        let mark = |caught: bool| if caught { "refused" } else { "-" };
        let after_header = if header.is_err() { "" } else { mark(values.is_err()) };
        table.row([damage.name(), mark(header.is_err()), after_header, mark(checksum)]);
        messages.extend(
            header
                .err()
                .or(values.err())
                .map(|error| (damage.name(), error.to_string())),
        );
    }
    story.table(&table);
    story.reveal_old(&guess, answer);
    story.values("messages", &messages);
    story.say("What a refusal says:");
    for (_, message) in messages.iter().take(2) {
        story.say(format!("- {message}"));
    }
    let total = Damage::ALL.len();
    let note = format!(
        "the header check refuses {by_header} of {total}, the value check {by_values} more, the checksum all that changed a byte"
    );
    story.claim(Claim {
        id: "M3",
        claimed: "a wrong or cut-off weight file is caught by its checksum before use",
        value: by_checksum as f64,
        unit: "of 6 damaged files",
        verdict: if by_checksum == total {
            Verdict::Holds
        } else {
            Verdict::Partly
        },
        note: &note,
    });
    story.say("`cargo run -p lesson04 -- verify` compares every file of data/ with its digest.");
    Ok(())
}

fn check_header(bytes: Vec<u8>) -> Result<Checkpoint, LoadError> {
    Checkpoint::from_bytes(loading::checkpoint::SINGLE_FILE, FileBytes::Eager(bytes))
}

/// Reads every tensor, as a loader does.
fn check_values(checkpoint: &Checkpoint) -> Result<(), LoadError> {
    let names: Vec<String> = checkpoint.stored().map(|entry| entry.name.clone()).collect();
    let mut values = Vec::new();
    for name in names {
        checkpoint.read_f32(&name, &mut values)?;
    }
    Ok(())
}
