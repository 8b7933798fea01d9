//! The trace of the book's figure is the one that its example writes, and says what the chapter says.

#[allow(dead_code)]
#[path = "../../examples/trace_layout.rs"]
mod trace_layout;

#[test]
fn the_recorded_trace_is_fresh() {
    let recorded = include_str!("../../../../book/figures/layout.json");
    assert!(
        recorded == trace_layout::trace(),
        "run: cargo run -q -p lesson02 --example trace_layout > book/figures/layout.json"
    );
}

/// Lines fetched for each walk, through six lines and through eight.
#[test]
fn each_order_fetches_what_the_chapter_says() {
    let trace: serde_json::Value = serde_json::from_str(&trace_layout::trace()).expect("the trace is JSON");
    let steps = |run: &serde_json::Value| match run["steps"].as_array() {
        Some(steps) if !steps.is_empty() => steps.clone(),
        _ => trace["steps"].as_array().expect("a list").clone(),
    };
    let number = |value: &serde_json::Value| value.as_u64().expect("a number");
    let runs = trace["runs"].as_array().expect("a list").iter();
    let counts: Vec<_> = runs
        .map(|run| {
            let steps = steps(run);
            let last = steps.last().expect("a last step");
            let walk = run["walk"].as_str().expect("a name").to_string();
            (
                walk,
                number(&run["cache"]),
                number(&last["reads"]),
                number(&last["lines"]),
            )
        })
        .collect();
    let expected = [
        ("rows", 6, 64, 16),
        ("rows", 8, 64, 16),
        ("columns", 6, 64, 64),
        ("columns", 8, 64, 16),
        ("blocks", 6, 64, 16),
        ("blocks", 8, 64, 16),
        ("step", 6, 16, 16),
        ("step", 8, 16, 16),
    ]
    .map(|(walk, cache, reads, lines)| (walk.to_string(), cache, reads, lines));
    assert_eq!(counts, expected);
}
