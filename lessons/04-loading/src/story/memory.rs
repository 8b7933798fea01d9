//! Step 4: the worst moment of a load, predicted, counted and seen from outside.

use super::big_folder;
use anyhow::Context;
use lab::story::{NumberPrediction, Story};
use lab::table::Table;
use loading::exercises::peak_bytes;
use loading::memory::{LoadPlan, load_f32, proc_status_bytes};
use loading::{Access, Dtype, WeightSource};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a process of its own says about one load.
#[derive(Debug, Serialize, Deserialize)]
pub struct PeakReport {
    /// Most bytes on the heap at once, by the counting allocator.
    pub heap_bytes: u64,
    /// Most resident bytes since the process began (`VmHWM`), mapped pages included; `None` where the system does not say.
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

/// Runs this program once more, for one load alone: a peak is a mark that no later, smaller one can lower.
fn peak_in_child(folder: &Path, plan: LoadPlan) -> anyhow::Result<PeakReport> {
    let program = std::env::current_exe().context("the path of this program")?;
    let output = std::process::Command::new(program)
        .arg("peak")
        .arg(folder)
        .arg(plan.name())
        .output()
        .context("running this program once more")?;
    anyhow::ensure!(
        output.status.success(),
        "measuring a load: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).context("the figures of the load")
}

/// Tells the step.
pub fn peaks(story: &mut Story, source: &str) -> anyhow::Result<()> {
    story.step(
        "The worst moment",
        "A machine must hold the peak, not the result. How high it is follows from sizes and order alone, and is counted here in a process \
         for each load.",
    );
    story.predict_number(NumberPrediction {
        id: "peak",
        question: "bf16 weights are read whole, then widened to f32 one after the other. The peak is how many times the size of the f32 weights?",
        answer: 1.5,
        unit: "times",
        within: 1.05,
        because: "All of the f32 weights, and still all of the file, which is half as large.",
    });
    let mut table = Table::new(&["file", "plan", "predicted", "counted heap", "resident (VmHWM)"]);
    for dtype in [Dtype::F32, Dtype::BF16] {
        let folder = big_folder(source, dtype);
        let (stored, loaded) = sizes(&folder)?;
        for plan in LoadPlan::ALL {
            let predicted = peak_bytes(plan, &stored, &loaded);
            let report = peak_in_child(&folder, plan)?;
            let resident = report.resident_bytes.map_or("?".into(), lab::number::bytes);
            let heap = lab::number::bytes(report.heap_bytes);
            let row = [
                dtype.name(),
                plan.name(),
                &lab::number::bytes(predicted),
                &heap,
                &resident,
            ];
            table.row(row);
            story.values(&format!("{} {}", dtype.name(), plan.name()), (predicted, &report));
        }
    }
    story.table(&table);
    story.say(
        "Mapped pages are resident while they are needed, but they are copies of the file: under pressure the system drops them \
         without writing anything. Heap it can not drop.",
    );
    Ok(())
}

/// Stored and loaded bytes of each tensor, in the order of loading. Headers and names are left out.
fn sizes(folder: &Path) -> anyhow::Result<(Vec<u64>, Vec<u64>)> {
    let (_, checkpoint) = loading::folder::open_weights(folder, Access::Mapped)?;
    let entries = (checkpoint.names().into_iter()).filter_map(|name| Some(checkpoint.bytes(&name)?.0.clone()));
    Ok(entries
        .map(|entry| {
            let values: usize = entry.shape.iter().product();
            ((entry.end - entry.begin) as u64, 4 * values as u64)
        })
        .unzip())
}
