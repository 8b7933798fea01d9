//! Whether a race can be trusted: other work on the machine shows as spread, or as a share above 100 %.

use super::RaceResult;
use crate::number::short;

/// A sign that other work disturbed a measurement, in words for the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disturbance(String);

impl Disturbance {
    /// A measured share of a limit, 1 for all of it: no program is faster than its limit, so a share above 1 shows that
    /// the limit or the program was measured while other work ran. One part in twenty is left to the clock.
    pub fn of_share(of_what: &str, share: f64) -> Option<Self> {
        (share > 1.05).then(|| Self(format!("{:.0} % of {of_what}", 100.0 * share)))
    }

    /// A measured ratio that can not lie outside `possible`, such as eight rows in less time than one.
    pub fn of_ratio(what: &str, ratio: f64, possible: std::ops::RangeInclusive<f64>) -> Option<Self> {
        (!possible.contains(&ratio)).then(|| Self(format!("{what}: {} times", short(ratio))))
    }
}

impl std::fmt::Display for Disturbance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl RaceResult {
    /// The largest spread among the entries with these names, as a share of the entry's median. A difference below it
    /// says nothing.
    pub fn noise(&self, names: &[&str]) -> f64 {
        let named = self.entries.iter().filter(|entry| names.contains(&entry.name.as_str()));
        named.map(|entry| entry.spread / entry.median).fold(0.0, f64::max)
    }

    /// A sign of disturbance, if at some `x` the spread of `a` or `b` is as large as the difference of their medians
    /// and larger than a quarter of them. (Two entries of equal speed with small spreads are a result, and no
    /// disturbance.)
    pub fn disturbance(&self, a: &str, b: &str) -> Option<Disturbance> {
        let of = |name: &'_ str| {
            self.entries
                .iter()
                .filter(move |entry| entry.name == name)
                .collect::<Vec<_>>()
        };
        let (of_a, of_b) = (of(a), of(b));
        let pairs = of_a
            .iter()
            .flat_map(|first| of_b.iter().map(move |second| (first, second)));
        let found = pairs
            .filter(|(first, second)| first.x == second.x)
            .find(|(first, second)| {
                let spread = first.spread.max(second.spread);
                spread >= (first.median - second.median).abs() && spread > 0.25 * first.median.min(second.median)
            });
        found.map(|(first, second)| {
            let spread = first.spread.max(second.spread);
            let difference = (first.median - second.median).abs();
            let unit = &self.unit;
            Disturbance(format!(
                "the rounds spread over {} {unit}, and the difference is {} {unit}",
                short(spread),
                short(difference)
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::{Better, RaceEntry};

    fn race(a: [f64; 3], b: [f64; 3]) -> RaceResult {
        RaceResult {
            id: "r".into(),
            title: "R".into(),
            unit: "ms".into(),
            better: Better::Lower,
            baseline: "a".into(),
            entries: vec![
                RaceEntry::from_samples("a", None, a.into()),
                RaceEntry::from_samples("b", None, b.into()),
            ],
        }
    }

    #[test]
    fn a_spread_that_rivals_the_difference_is_a_disturbance() {
        let found = race([10.0, 14.0, 20.0], [11.0, 12.0, 13.0])
            .disturbance("a", "b")
            .unwrap();
        assert_eq!(
            found.to_string(),
            "the rounds spread over 5 ms, and the difference is 2 ms"
        );
    }

    #[test]
    fn a_clear_difference_and_a_clear_tie_are_results() {
        assert_eq!(race([10.0, 10.1, 10.2], [20.0, 21.0, 25.0]).disturbance("a", "b"), None);
        assert_eq!(race([10.0, 10.1, 10.2], [10.0, 10.1, 10.2]).disturbance("a", "b"), None);
    }

    #[test]
    fn no_program_is_faster_than_its_limit() {
        let found = Disturbance::of_share("the read bandwidth", 1.52).unwrap();
        assert_eq!(found.to_string(), "152 % of the read bandwidth");
        assert_eq!(Disturbance::of_share("the read bandwidth", 1.02), None);
        let found = Disturbance::of_ratio("eight rows against one", 0.245, 0.9..=8.8).unwrap();
        assert_eq!(found.to_string(), "eight rows against one: 0.245 times");
    }
}
