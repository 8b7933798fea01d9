//! What the tables of decoding say: rates, the machine's limit for them, and the workbook's own targets.

use crate::subject::Subject;
use generation::roofline::Bound;
use generation::work::Work;
use lab::number;
use lab::race::Race;
use std::time::Duration;

/// The models. The targets are for the one that is larger than every cache.
pub const MODELS: [&str; 3] = ["stories", "random:15m", "random:135m"];
/// The model that targets are set for.
pub const TARGET_MODEL: &str = "random:135m";
/// The models of a trial run: quick to open.
pub const TRIAL_MODELS: [&str; 1] = ["stories"];

/// A race in tokens a second. A trial runs each entry once.
pub fn race<'a>(id: &str, is_trial: bool) -> Race<'a, f32> {
    let race = Race::new(id, id).unit("tokens/s");
    match is_trial {
        true => race.rounds(1),
        false => race.rounds(9).at_least(Duration::from_millis(60)),
    }
}

/// A race in microseconds, of calls that may be much shorter. A trial runs each entry once.
pub fn race_in_us<'a, O>(id: &str, is_trial: bool) -> Race<'a, O> {
    let race = Race::new(id, id).unit("µs");
    match is_trial {
        true => race.rounds(1),
        false => race.rounds(9).at_least(Duration::from_millis(10)),
    }
}

/// The line above a table that has no model: what is measured.
pub fn head_of(what: &str, is_trial: bool) -> String {
    format!("\n{what}{}", trial_note(is_trial))
}

fn trial_note(is_trial: bool) -> &'static str {
    match is_trial {
        true => " (a trial, each call once: no measurement)",
        false => "",
    }
}

/// The line above a table: model, machine, limits.
pub fn head(subject: &Subject, is_trial: bool) -> String {
    let (threads, limits) = (subject.pool.num_threads(), &subject.limits);
    let trial = trial_note(is_trial);
    format!(
        "\n{}, f32, {}, {threads} thread{}: peak {:.0} GFLOP/s, reads {:.1} GB/s{trial}",
        subject.model.name,
        number::bytes(subject.model.weights.bytes_per_pass()),
        if threads == 1 { "" } else { "s" },
        limits.flops_per_second / 1e9,
        limits.bytes_per_second / 1e9,
    )
}

/// The most tokens a second that the machine could do, where a pass of this work makes `tokens` of them, and what it
/// would wait for.
pub fn limit(subject: &Subject, work: &Work, tokens: usize) -> (f64, &'static str) {
    let (seconds, bound) = subject.limits.shortest(work);
    let waits_for = match bound {
        Bound::Reading => "memory",
        Bound::Arithmetic => "arithmetic",
    };
    (tokens as f64 / seconds, waits_for)
}

/// `83 %`.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// A target and whether it is met: `>= 75 %: met`.
pub fn target(reached: f64, wanted: f64, text: &str) -> String {
    let verdict = if reached >= wanted { "met" } else { "MISSED" };
    format!("{text}: {verdict}")
}

/// A target that is an upper bound: `< 5 %: met`.
pub fn target_below(reached: f64, bound: f64, text: &str) -> String {
    let verdict = if reached < bound { "met" } else { "MISSED" };
    format!("{text}: {verdict}")
}

/// Microseconds with as many digits as mean something.
pub fn micros(us: f64) -> String {
    match us {
        us if us < 1.0 => format!("{us:.3}"),
        us if us < 100.0 => format!("{us:.1}"),
        us => format!("{us:.0}"),
    }
}
