//! Step 4: the worst moment of a load, predicted, counted and measured from outside.

use super::big_folder;
use anyhow::Context;
use lab::number;
use lab::story::Story;
use loading::bytes::LoadPlan;
use loading::exercises::peak_bytes;
use loading::memory::{load_f32, proc_status_bytes};
use loading::{Access, Dtype, WeightSource};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The report of a process that does one load.
#[derive(Debug, Serialize, Deserialize)]
pub struct PeakReport {
    /// Largest number of heap bytes in use at once, from the counting allocator.
    pub heap_bytes: u64,
    /// Largest number of resident bytes since the process began (`VmHWM`), mapped pages included; `None` where the
    /// system has no such number.
    pub resident_bytes: Option<u64>,
}

/// The work of that process: one load.
pub fn measure_peak(folder: &Path, plan: LoadPlan) -> anyhow::Result<PeakReport> {
    lab::alloc::reset_peak();
    let before = lab::alloc::snapshot().live_bytes;
    let tensors = load_f32(folder, plan)?;
    let peak = lab::alloc::snapshot().peak_bytes;
    drop(tensors);
    Ok(PeakReport {
        heap_bytes: peak - before,
        resident_bytes: proc_status_bytes("VmHWM"),
    })
}

/// Starts this program once more for one load: a peak of the whole process would hide every later, smaller one.
fn peak_in_child(folder: &Path, plan: LoadPlan) -> anyhow::Result<PeakReport> {
    let program = std::env::current_exe().context("the path of this program")?;
    let mut command = std::process::Command::new(program);
    let output = command.arg("peak").arg(folder).arg(plan.name()).output();
    let output = output.context("starting this program once more")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "measuring a load: {errors}");
    serde_json::from_slice(&output.stdout).context("the report of the load")
}

/// Tells the step.
pub fn peaks(story: &mut Story, source: &str) -> anyhow::Result<()> {
    story.step(
        "The worst moment",
        "A machine must hold the peak, not the result. The peak follows from sizes and order alone. Here each load runs in a process of its \
         own, where it is counted.",
    );
    story.predict("peak");
    let mut rows = Vec::new();
    for dtype in [Dtype::F32, Dtype::BF16] {
        let folder = big_folder(source, dtype);
        let (stored, loaded) = sizes(&folder)?;
        for plan in LoadPlan::ALL {
            let predicted = peak_bytes(plan, &stored, &loaded);
            let report = peak_in_child(&folder, plan)?;
            let over_file = report.heap_bytes as f64 / stored.iter().sum::<u64>() as f64;
            let of_13b = 26.0 * over_file;
            rows.push([
                dtype.name().to_string(),
                plan.name().to_string(),
                number::bytes(predicted),
                number::bytes(report.heap_bytes),
                report.resident_bytes.map_or("?".into(), number::bytes),
                format!("{over_file:.2}"),
                format!("{of_13b:.0} GB"),
            ]);
            let mib = |bytes: u64| bytes as f64 / 1048576.0;
            let recorded = serde_json::json!({
                "predicted_mib": mib(predicted), "heap_mib": mib(report.heap_bytes),
                "resident_mib": report.resident_bytes.map(mib), "heap_over_file": over_file, "heap_of_13b_gb": of_13b,
            });
            story.values(&format!("{} {}", dtype.name(), plan.name()), recorded);
        }
    }
    story.rows(
        &["file", "plan", "predicted", "heap", "resident", "heap/file", "13B"],
        rows,
    );
    story.say(
        "heap = counted by the allocator; resident = VmHWM of the system. The last column is computed, not measured: the same ratio \
         for a 13B model in a file of 26 GB. In the F32 rows the type is kept, in the BF16 rows every number is widened to f32.",
    );
    story.say(
        "Mapped pages are resident while they are needed, but they are copies of the file: the system can drop them without writing \
         anything. It can not drop heap.",
    );
    Ok(())
}

/// Stored and loaded bytes of each tensor, in the order of loading, without headers and names.
fn sizes(folder: &Path) -> anyhow::Result<(Vec<u64>, Vec<u64>)> {
    let (_, checkpoint) = loading::folder::open_weights(folder, Access::Mapped)?;
    let size = |name: &String| {
        let (entry, bytes) = checkpoint.bytes(name)?;
        Some((bytes.len() as u64, 4 * entry.shape.iter().product::<usize>() as u64))
    };
    Ok(checkpoint.names().iter().filter_map(size).unzip())
}
