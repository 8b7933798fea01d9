//! One small task for each exercise. `cargo course check` counts what it costs, `cargo course run` times it, for the
//! learner's function and for the reference.

use crate::bytes::LoadPlan;
use crate::exercises::{bf16_bits, cut_off_files, peak_bytes, safe_header, stored_name};
use lab::cost::Task;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::hint::black_box;

const NUM_TENSORS: usize = 60;

/// One task for each function.
pub fn tasks() -> Vec<Task> {
    let file = small_file();
    let cut = file.clone();
    let values: Vec<f32> = (0..1 << 16)
        .map(|index: u32| f32::from_bits(0x3f80_0000 + index * 0x7f))
        .collect();
    let names: Vec<String> = (0..NUM_TENSORS).map(|index| format!("model.{}", name(index))).collect();
    let stored: BTreeSet<String> = (0..NUM_TENSORS).map(name).collect();
    let sizes: Vec<u64> = (1..=4096).collect();
    vec![
        Task::new("04.1", "a header of 60 tensors", move || {
            drop(black_box(safe_header("file", black_box(&file))));
        }),
        Task::new("04.2", "65 536 values", move || {
            for value in &values {
                black_box(bf16_bits(black_box(*value)));
            }
        }),
        Task::new("04.3", "60 names without their prefix", move || {
            for name in &names {
                drop(black_box(stored_name(name, &|stored_as| stored.contains(stored_as))));
            }
        }),
        Task::new("04.4", "4096 tensors, one by one", move || {
            black_box(peak_bytes(LoadPlan::OneByOne, black_box(&sizes), &sizes));
        }),
        Task::new("04.5", "cuts of a file of 60 tensors", move || {
            drop(black_box(cut_off_files(black_box(&cut))));
        }),
    ]
}

fn name(index: usize) -> String {
    format!("layers.{index}.input_layernorm.weight")
}

/// A correct file: 60 tensors of four bytes, the last one first in the header.
fn small_file() -> Vec<u8> {
    let mut json = String::from("{");
    for index in (0..NUM_TENSORS).rev() {
        let (begin, end) = (4 * index, 4 * index + 4);
        let separator = if index == 0 { "}" } else { "," };
        let name = name(index);
        write!(
            json,
            r#""{name}":{{"dtype":"F32","shape":[1],"data_offsets":[{begin},{end}]}}{separator}"#
        )
        .expect("a string takes every text");
    }
    let mut file = (json.len() as u64).to_le_bytes().to_vec();
    file.extend(json.into_bytes());
    file.resize(file.len() + 4 * NUM_TENSORS, 0);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_does_what_it_says() {
        assert!(safe_header("file", &small_file()).is_ok());
        let tasks = tasks();
        let ids: Vec<&str> = tasks.iter().map(|task| task.exercise).collect();
        assert_eq!(ids, ["04.1", "04.2", "04.3", "04.4", "04.5"]);
        for mut task in tasks {
            (task.work)();
        }
    }
}
