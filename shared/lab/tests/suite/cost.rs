//! Yours against the reference: counted, raced, drawn.

use lab::cost::{Counts, Task, chart, count, ledger_table, race, times};
use lab::ledger;

fn tasks(multiply_adds: u64) -> Vec<Task> {
    let counting = move || {
        ledger::count(|ledger| {
            ledger.multiply_adds += multiply_adds;
            ledger.add("visits", 3);
        })
    };
    vec![
        Task::new("05.1", "one row of 256", counting),
        Task::new("05.2", "a head", move || assert!(multiply_adds < 100)),
    ]
}

#[test]
fn counts_stand_side_by_side() {
    let counts = count(tasks(70), tasks(50));
    let counter = |side: &Option<std::collections::BTreeMap<String, u64>>, name: &str| {
        side.as_ref().unwrap().get(name).copied().unwrap_or_default()
    };
    assert_eq!(counts.len(), 2);
    assert_eq!(counter(&counts[0].yours, "multiply_adds"), 70);
    assert_eq!(counter(&counts[0].reference, "multiply_adds"), 50);
    assert_eq!(counter(&counts[0].yours, "visits"), 3);
    let table = ledger_table(&counts[..1]).to_string();
    assert!(table.contains("05.1  multiply adds     70         50"), "{table}");
}

/// A learner's function that panics costs nothing and stops nothing.
#[test]
fn work_that_panics_has_no_counts() {
    let counts = count(tasks(1000), tasks(50));
    assert!(counts[0].yours.is_some());
    assert_eq!((counts[1].yours.clone(), counts[1].reference.is_some()), (None, true));
    let error = race(tasks(1000), tasks(50)).unwrap_err().to_string();
    assert!(error.starts_with("05.2, a head: the work panicked"), "{error}");
}

#[test]
fn a_task_that_only_one_side_has_is_left_out() {
    let only = vec![Task::new("05.3", "other", || ())];
    assert_eq!(count(only, tasks(1)), Vec::<Counts>::new());
}

#[test]
fn the_chart_has_two_bars_for_each_task() {
    let results = race(tasks(1), tasks(2)).unwrap();
    let lab::chart::Body::Bars(bars) = chart(&results).body else {
        panic!("bars");
    };
    assert_eq!(bars.groups.len(), 2);
    assert!(bars.groups.iter().all(|(_, values)| values.len() == 2));
    assert_eq!(bars.baseline.as_deref(), Some("part.reference"));
    assert_eq!(times(&results).num_rows(), 2);
}
