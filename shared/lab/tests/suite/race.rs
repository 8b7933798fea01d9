//! Races on a clock that only moves when an entry says so: order, statistics, rates, checks, the table.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use lab::chart::Chart;
use lab::race::{Better, Clock, Race, RaceEntry, RaceError, RaceResult};

/// Time that passes only where a test lets it.
#[derive(Default)]
struct Hands(Cell<u64>);

impl Hands {
    fn pass(&self, micros: u64) {
        self.0.set(self.0.get() + micros);
    }
}

impl Clock for &Hands {
    fn now(&mut self) -> Duration {
        Duration::from_micros(self.0.get())
    }
}

fn run<O>(race: Race<'_, O>, hands: &Hands) -> Result<RaceResult, RaceError> {
    race.run_with(&mut &*hands, &mut |_, _| {})
}

/// An entry that takes these times one after the other, the warm-up first.
fn takes<'a>(hands: &'a Hands, micros: &'a [u64]) -> impl FnMut() + 'a {
    let mut calls = micros.iter();
    move || hands.pass(*calls.next().expect("one time for each call"))
}

#[test]
fn entries_run_in_turn_after_each_has_warmed_up() {
    let order = RefCell::new(String::new());
    let note = |c: char| order.borrow_mut().push(c);
    let race = Race::new("r", "r")
        .rounds(3)
        .entry("a", None, || note('a'))
        .entry("b", None, || note('b'));
    assert_eq!(race.num_calls(), 8);
    run(race, &Hands::default()).unwrap();
    assert_eq!(*order.borrow(), "abababab");
}

#[test]
fn the_median_and_the_middle_half_leave_out_the_warm_up() {
    let hands = Hands::default();
    let race = Race::new("r", "r")
        .rounds(5)
        .entry("a", None, takes(&hands, &[99_000, 1000, 5000, 2000, 4000, 3000]));
    let result = run(race, &hands).unwrap();
    assert_eq!((result.entries[0].median, result.entries[0].spread), (3.0, 2.0));
    assert_eq!(result.entries[0].samples, [1.0, 5.0, 2.0, 4.0, 3.0]);
}

#[test]
fn work_turns_time_into_a_rate() {
    let hands = Hands::default();
    let race = Race::new("r", "r")
        .unit("GB/s")
        .rounds(1)
        .work(3.0)
        .entry("slow", None, takes(&hands, &[0, 1_500_000]))
        .entry_with_work("fast, twice the work", None, 6.0, takes(&hands, &[0, 500_000]));
    let result = run(race, &hands).unwrap();
    assert_eq!(result.better, Better::Higher);
    assert_eq!((result.entries[0].median, result.entries[1].median), (2.0, 12.0));
    assert_eq!(result.ratio("fast, twice the work", "slow"), 6.0);
}

#[test]
fn entries_must_agree_before_anything_is_timed() {
    let calls = Cell::new(0);
    let call = |value: i32| {
        calls.set(calls.get() + 1);
        value
    };
    let race = Race::new("sum", "Sums")
        .entry("right", None, || call(4))
        .entry("wrong", None, || call(5))
        .check(|a, b| {
            if a == b {
                Ok(())
            } else {
                Err(format!("{a} expected, {b} found"))
            }
        });
    let error = run(race, &Hands::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "race sum: wrong does not agree with right: 4 expected, 5 found"
    );
    assert_eq!(calls.get(), 2, "the warm-up only");
}

#[test]
fn entries_are_checked_against_the_baseline_at_their_own_x() {
    let equal = |a: &i32, b: &i32| {
        if a == b { Ok(()) } else { Err("differ".to_string()) }
    };
    let race = Race::new("r", "r")
        .baseline("old")
        .entry("old", Some(1.0), || 10)
        .entry("old", Some(2.0), || 20)
        .entry("new", Some(1.0), || 10)
        .entry("new", Some(2.0), || 20)
        .check(equal);
    assert!(run(race, &Hands::default()).is_ok());
}

#[test]
fn an_unknown_baseline_is_an_error_that_names_it() {
    let race = Race::new("r", "r").entry("a", None, || ()).baseline("b");
    let error = run(race, &Hands::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "race r: no entry is called b, but it is named as the baseline"
    );
}

#[test]
fn short_work_is_repeated_until_the_clock_can_see_it() {
    let (hands, calls) = (Hands::default(), Cell::new(0u32));
    let race = Race::new("r", "r")
        .unit("µs")
        .rounds(2)
        .at_least(Duration::from_micros(100))
        .entry("a", None, || {
            calls.set(calls.get() + 1);
            hands.pass(10);
        });
    let result = run(race, &hands).unwrap();
    assert_eq!(calls.get(), 1 + 2 * 10);
    assert!((result.entries[0].median - 10.0).abs() < 1e-9);
}

#[test]
fn an_entry_may_measure_itself() {
    let race = Race::new("r", "r")
        .rounds(1)
        .entry_timed("a", None, || ((), Duration::from_millis(7)));
    assert_eq!(run(race, &Hands::default()).unwrap().entries[0].median, 7.0);
}

fn result(better: Better, entries: &[(&str, Option<f64>, [f64; 5])]) -> RaceResult {
    let entries = entries
        .iter()
        .map(|(name, x, samples)| RaceEntry::from_samples(name, *x, samples.to_vec()));
    let unit = if better == Better::Lower { "ms" } else { "GFLOP/s" };
    RaceResult {
        id: "r".into(),
        title: "Old against new".into(),
        unit: unit.into(),
        better,
        baseline: "old".into(),
        entries: entries.collect(),
    }
}

#[test]
fn a_ratio_above_one_means_better_whatever_the_unit() {
    let samples = |value: f64| [value; 5];
    let times = result(
        Better::Lower,
        &[("old", None, samples(8.0)), ("new", None, samples(2.0))],
    );
    assert_eq!((times.ratio("new", "old"), times.ratio("old", "new")), (4.0, 0.25));
    let rates = result(
        Better::Higher,
        &[("old", None, samples(8.0)), ("new", None, samples(2.0))],
    );
    assert_eq!(rates.ratio("new", "old"), 0.25);
}

#[test]
fn ratios_over_x_are_taken_at_the_largest_or_at_the_one_asked_for() {
    let samples = |value: f64| [value; 5];
    let result = result(
        Better::Lower,
        &[
            ("old", Some(1.0), samples(2.0)),
            ("new", Some(1.0), samples(1.0)),
            ("old", Some(8.0), samples(9.0)),
            ("new", Some(8.0), samples(1.5)),
        ],
    );
    assert_eq!(
        (result.ratio("new", "old"), result.ratio_at("new", "old", 1.0)),
        (6.0, 2.0)
    );
    assert_eq!(result.line("new"), [(1.0, 1.0), (8.0, 1.5)]);
}

#[test]
fn the_table_shows_bars_ratios_and_what_spread_means() {
    let over_x = result(
        Better::Higher,
        &[
            ("old", Some(1.0), [1.0, 1.1, 0.9, 1.0, 1.0]),
            (
                "new, with a name that is far too long for its column",
                Some(1.0),
                [4.0, 4.2, 3.9, 4.1, 4.0],
            ),
            ("old", Some(128.0), [2.0; 5]),
            (
                "new, with a name that is far too long for its column",
                Some(128.0),
                [45.5; 5],
            ),
        ],
    );
    let plain = result(
        Better::Lower,
        &[
            ("old", None, [12.0; 5]),
            ("新的", None, [0.0012; 5]),
            ("slower", None, [40_000.0; 5]),
        ],
    );
    let shown = [over_x.lines().join("\n"), plain.lines().join("\n")].join("\n\n");
    assert!(shown.lines().all(|line| lab::term::width(line) <= 77), "{shown}");
    insta::assert_snapshot!("table", shown);
}

#[test]
fn a_race_becomes_lines_where_it_has_an_x_and_bars_where_not() {
    let bars = result(Better::Lower, &[("old", None, [12.0; 5]), ("new", None, [3.0; 5])]);
    let svg = Chart::from_race(&bars).to_svg().unwrap();
    assert!(svg.contains(">\n3 (4 times faster)\n<"), "{svg}");
    assert!(svg.contains(">\ncompared with old\n<"), "{svg}");
    let slower = result(Better::Lower, &[("old", None, [12.0; 5]), ("new", None, [112.8; 5])]);
    let svg = Chart::from_race(&slower).to_svg().unwrap();
    assert!(svg.contains(">\n113 (9.4 times slower)\n<"), "{svg}");
    let lines = result(
        Better::Lower,
        &[("old", Some(1.0), [12.0; 5]), ("old", Some(2.0), [3.0; 5])],
    );
    assert!(matches!(Chart::from_race(&lines).body, lab::chart::Body::Lines(_)));
}
