//! Step 6: six broken files, and the check that refuses each.

use super::file::weight_file;
use lab::story::{Answer, Claim, Story, Verdict};
use loading::WeightSource;
use loading::bytes::FileBytes;
use loading::checkpoint::{Checkpoint, SINGLE_FILE};
use loading::damage::Damage;
use loading::error::LoadError;
use loading::manifest::sha256_bytes;
use std::path::Path;

/// Tells the step.
pub fn broken_files(story: &mut Story, folder: &Path) -> anyhow::Result<()> {
    story.step(
        "Six broken files",
        "A loader meets files that were cut off, forged or mixed up. The header check refuses some of them, the check of the values \
         others, and some are good files of a worse model.",
    );
    let asked = story.ask("flipped", &[]);
    let whole = std::fs::read(weight_file(folder)?)?;
    let digest = sha256_bytes(&whole);
    let (mut by_header, mut by_values, mut by_checksum) = (0, 0, 0);
    let (mut rows, mut messages) = (Vec::new(), Vec::new());
    for damage in Damage::ALL {
        let broken = damage.apply(&whole);
        let checksum = sha256_bytes(&broken) != digest;
        let header = Checkpoint::from_bytes(SINGLE_FILE, FileBytes::Eager(broken));
        let values = header.as_ref().map_or(Ok(()), read_all);
        by_header += usize::from(header.is_err());
        by_values += usize::from(values.is_err());
        by_checksum += usize::from(checksum);
        let mark = |refused: bool| if refused { "refused" } else { "-" };
        let after_header = if header.is_err() { "" } else { mark(values.is_err()) };
        rows.push([damage.name(), mark(header.is_err()), after_header, mark(checksum)]);
        let error = header.err().or(values.err());
        messages.extend(error.map(|error| (damage.name(), error.to_string())));
    }
    story.rows(&["damage", "header check", "value check", "checksum"], rows);
    story.reveal(asked, Answer::Stated, &[]);
    story.values("messages", &messages);
    story.say("Two of the messages:");
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
        verdict: Verdict::of(by_checksum == total, true),
        note: &note,
    });
    story.say("`cargo run -p lesson04 -- verify` compares every file of data/ with its digest.");
    Ok(())
}

/// Reads every tensor, as a loader does.
fn read_all(checkpoint: &Checkpoint) -> Result<(), LoadError> {
    let mut values = Vec::new();
    let mut entries = checkpoint.stored();
    entries.try_for_each(|entry| checkpoint.read_f32(&entry.name, &mut values))
}
