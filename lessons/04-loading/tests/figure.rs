//! The book's figure shows a recorded trace. The record is what the code does today.

#[allow(dead_code)]
#[path = "../examples/trace_loading.rs"]
mod trace_loading;

#[test]
fn the_recorded_trace_is_a_fresh_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/figures/loading.json");
    let recorded: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(
        recorded,
        trace_loading::document(),
        "make it anew: cargo run -q -p lesson04 --example trace_loading > book/figures/loading.json"
    );
}

/// Where each damage is noticed, by the number of checks that it passes.
#[test]
fn each_damage_is_noticed_where_the_text_says() {
    let document = trace_loading::document();
    let refused: Vec<(String, Option<u64>)> = (document["variants"].as_array().unwrap().iter())
        .map(|variant| {
            let last = variant["steps"].as_array().unwrap().last().unwrap();
            (variant["id"].as_str().unwrap().to_string(), last["refused_by"].as_u64())
        })
        .collect();
    let expected = [
        ("whole", None),
        ("zip", Some(0)),
        ("json", Some(1)),
        ("shape", Some(2)),
        ("twice", Some(3)),
        ("overlap", Some(4)),
        ("gap", Some(4)),
        ("cut", Some(5)),
        ("longer", Some(5)),
        ("nan", Some(6)),
        ("flipped", Some(7)),
        ("swapped", Some(7)),
    ];
    assert_eq!(refused, expected.map(|(id, at)| (id.to_string(), at)));
}
