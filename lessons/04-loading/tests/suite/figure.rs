//! The trace of the book's figure is the output of this code.

#[allow(dead_code)]
#[path = "../../examples/trace_loading.rs"]
mod trace_loading;

#[test]
fn the_recorded_trace_is_the_loaders_output() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/figures/loading.json");
    let recorded: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert!(
        recorded == trace_loading::document(),
        "the recorded trace is not the loader's output; record it again:\n  \
         cargo run -q -p lesson04 --example trace_loading > target/loading.json && mv target/loading.json book/figures/loading.json"
    );
}

/// The index of the check that refuses each damaged file.
#[test]
fn each_damage_is_refused_by_its_check() {
    let document = trace_loading::document();
    let variants = document["variants"].as_array().unwrap();
    let refused = variants.iter().map(|variant| {
        let id = variant["id"].as_str().unwrap().to_string();
        (id, variant["refused_by"].as_u64())
    });
    let refused: Vec<(String, Option<u64>)> = refused.collect();
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
