//! One exercise in full: what was found, what it means, what to do.

use lab::number;
use lab::table::Table;
use lab::term::{self, Tone};

use super::{INDENT, is_question, word};
use crate::check::{Checked, Cost, Failure, Idea, Status};
use crate::page::{Page, hard, laid_out};

/// One exercise in full.
pub(super) fn told(one: &Checked, page: &Page) -> String {
    let (word, tone) = word(&one.status);
    let place = match one.line {
        Some(line) => format!("{}:{line}", one.file),
        None => one.file.clone(),
    };
    let mut out = format!(
        "{}  {}\n",
        page.paint(tone, word),
        page.paint(Tone::Strong, &format!("{} {}", one.id, one.title))
    );
    if !is_question(one) {
        out += &page.paint(Tone::Dim, &inside(page, &format!("{} in {place}", one.function)));
    }
    if one.tests_changed {
        let text = "The lesson's tests of this exercise have changed since you started; it was checked with the new ones. Your work was not touched.";
        out += &page.paint(Tone::Warn, &inside(page, text));
    }
    out + &body(one, page)
}

fn body(one: &Checked, page: &Page) -> String {
    let id = &one.id;
    let say = |text: &str| inside(page, text);
    match &one.status {
        Status::Passed => passed(one, page),
        Status::Failed { failures, idea } => failed(one, failures, idea.as_ref(), page),
        Status::NotWritten => say(&format!(
            "Not written yet: replace the `todo!` with a body. What it should do: {} (cargo course book makes it). A first step: cargo course hint {id}",
            one.page
        )),
        Status::NotTouched => say(&format!(
            "This body ships with a fault, and it is as it was. What it should do: {} (cargo course book makes it). A first step: cargo course hint {id}",
            one.page
        )),
        Status::Question => say(&format!(
            "A question: cargo course check {id} asks it, cargo course answer {id} b answers it."
        )),
        Status::Deleted => say(&format!(
            "The function `{}` is not in the file any more. Write it again, or get the shipped one back (yours is kept as a copy): cargo course reset {id}",
            one.function
        )),
        Status::FileMissing => say(&format!(
            "The file is missing. Get the shipped one back: cargo course start {}",
            id.split('.').next().unwrap_or_default()
        )),
        Status::SignatureChanged { expected, found } => {
            say("Your signature is not the lesson's, so the lesson can not call it. Put it back:")
                + &pair("lesson", expected, "yours", found)
        }
        Status::LessonChanged { before, now } => {
            say(
                "The lesson has changed this signature since you started. Your work was not touched: fit it to the new one.",
            ) + &pair("before", before, "now", now)
        }
        Status::DoesNotCompile { errors } => {
            let mut out =
                say("It does not compile. The other exercises were checked with the lesson's own body in its place.");
            for error in errors {
                out += "\n";
                let text = if error.rendered.trim().is_empty() {
                    format!("{}:{}: {}", error.file, error.line, error.message)
                } else {
                    error.rendered.clone()
                };
                // As the compiler draws it: a line that is broken moves its markers.
                for line in text.trim_end().lines() {
                    out += format!("  {line}").trim_end();
                    out += "\n";
                }
            }
            out
        }
        Status::TimedOut { seconds, test } => say(&format!(
            "The test `{test}` did not end within {seconds} seconds. Look for a loop whose condition never becomes false, and for work that grows with every round."
        )),
        Status::Broken { problem } => say(&format!(
            "The lesson itself is not whole here, which is not your fault: {problem}. `git status` shows what differs from the repository."
        )),
    }
}

fn passed(one: &Checked, page: &Page) -> String {
    let mut out = String::new();
    if one.num_tests > 0 {
        out += &inside(page, &format!("All {} tests pass.", one.num_tests));
    }
    if !one.learned.is_empty() {
        out += "\n";
        out += &inside(page, &one.learned);
    }
    if !one.costs.is_empty() {
        out += "\n";
        out += &costs(&one.costs);
    }
    if let Some(why) = &one.uncounted {
        out += "\n";
        let text = format!(
            "The program that counts what {} ({}) costs: {why}. The tests are small; on a larger input your function takes too many steps.",
            one.id, one.function
        );
        out += &page.paint(Tone::Warn, &inside(page, &text));
    }
    out + "\n" + &inside(page, &format!("Compare: cargo course diff {}", one.id))
}

/// What it cost: counted, so that it is the same on every machine.
fn costs(costs: &[Cost]) -> String {
    let mut table = Table::new(&["counted", "yours", "reference", "ratio"]);
    let mut titles: Vec<&str> = costs.iter().map(|cost| cost.what.as_str()).collect();
    titles.dedup();
    for cost in costs {
        let ratio = if cost.reference == 0 {
            if cost.yours == 0 { "1" } else { "-" }.to_owned()
        } else {
            number::short(cost.yours as f64 / cost.reference as f64)
        };
        let counter = cost.counter.replace('_', " ");
        let (yours, reference) = (number::grouped(cost.yours), number::grouped(cost.reference));
        table.row([term::cut(&counter, 28), yours, reference, ratio]);
    }
    let title = format!("What it cost ({})", titles.join("; "));
    let mut out: String = term::wrap(&title, term::WIDTH - INDENT)
        .iter()
        .map(|line| format!("  {line}\n"))
        .collect();
    for line in table.to_string().lines() {
        out += &format!("  {line}\n");
    }
    out
}

fn failed(one: &Checked, failures: &[Failure], idea: Option<&Idea>, page: &Page) -> String {
    let mut out = inside(page, &format!("{} of {} tests fail.", failures.len(), one.num_tests));
    let Some(first) = failures.first() else { return out };
    out += "\n";
    let claim = if first.claim.is_empty() {
        &first.test
    } else {
        &first.claim
    };
    out += &page.paint(Tone::Strong, &inside(page, &format!("Expected: {claim}")));
    if !first.why.is_empty() {
        out += &page.paint(Tone::Dim, &inside(page, &first.why));
    }
    out += "\n";
    out += &laid_out(first.message.trim_end(), INDENT + 2);
    if let Some(at) = &first.at {
        out += &inside(page, &format!("It stopped in {at}"));
    }
    if let Some(idea) = idea {
        out += "\n";
        out += &page.paint(
            Tone::Accent,
            &inside(page, &format!("A wrong idea behind this: {}", idea.name)),
        );
        out += &inside(page, &idea.says);
    }
    let others: Vec<&str> = failures
        .iter()
        .filter(|failure| failure.test != first.test)
        .map(|failure| failure.claim.as_str())
        .collect();
    if !others.is_empty() {
        out += "\n";
        out += &inside(page, "Also failing:");
        for claim in others {
            out += &page.indented(&format!("- {claim}"), INDENT + 2);
        }
    }
    out += "\n";
    out + &inside(
        page,
        &format!(
            "Read: {} (cargo course book makes it)\nHelp: cargo course hint {}",
            one.page, one.id
        ),
    )
}

fn inside(page: &Page, text: &str) -> String {
    page.indented(text, INDENT)
}

/// Two signatures below each other.
fn pair(first: &str, one: &str, second: &str, other: &str) -> String {
    let columns = first.len().max(second.len()) + 2;
    let row = |name: &str, text: &str| {
        let at = INDENT + 2 + columns;
        let mut out = String::new();
        let mut label = format!("    {}", term::pad(name, columns));
        for line in term::wrap(text, term::WIDTH - at) {
            out += &hard(&line, at, &label);
            label = " ".repeat(at);
        }
        out
    };
    row(first, one) + &row(second, other)
}
