//! Counted: what a load holds at its worst moment is what the formula says.
//!
//! One test in one file, because the counts are those of the whole process.

use loading::WeightSource;
use loading::exercises::peak_bytes;
use loading::memory::{LoadPlan, load_f32};

#[global_allocator]
static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();

#[test]
fn a_load_peaks_where_the_formula_says() {
    // Big enough for the weights to hide headers and names: 15 million values, 30 MB.
    let temporary = tempfile::tempdir().unwrap();
    let model = loading::open("random:15m").unwrap();
    loading::convert::convert(&model, temporary.path(), None, &mut |_, _| {}).unwrap();
    let folder = temporary.path();
    let (_, checkpoint) = loading::folder::open_weights(folder, loading::Access::Mapped).unwrap();
    let (stored, loaded): (Vec<u64>, Vec<u64>) = (checkpoint.names().iter())
        .map(|name| {
            let (entry, bytes) = checkpoint.bytes(name).unwrap();
            (bytes.len() as u64, 4 * entry.shape.iter().product::<usize>() as u64)
        })
        .unzip();
    for plan in LoadPlan::ALL {
        let before = lab::alloc::snapshot().live_bytes;
        lab::alloc::reset_peak();
        let tensors = load_f32(folder, plan).unwrap();
        let counted = lab::alloc::snapshot().peak_bytes - before;
        drop(tensors);
        let predicted = peak_bytes(plan, &stored, &loaded);
        let beyond = counted as i64 - predicted as i64;
        assert!(
            (0..200_000).contains(&beyond),
            "{}: counted {counted}, predicted {predicted}",
            plan.name()
        );
    }
}
