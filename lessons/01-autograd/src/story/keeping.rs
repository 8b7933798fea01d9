//! Steps: the memory that a tape keeps, with and without `no_grad`; and how deep a tape may be.

use autograd::fit::HIDDEN_SIZE;
use autograd::memory::{Live, live, reset_peak};
use autograd::network::{Network, Wiring};
use autograd::{Result, Tensor, no_grad};
use lab::chart::Chart;
use lab::ledger::measure;
use lab::number::{bytes, grouped};
use lab::story::Story;
use ndarray::{ArrayD, IxDyn};

use super::{Curve, Runs};

/// What `work` leaves alive, and its peak, beyond what was there before.
fn held<R>(work: impl FnOnce() -> Result<R>) -> Result<Live> {
    let before = live();
    reset_peak();
    let result = work()?;
    let after = live();
    drop(result);
    Ok(Live {
        values: after.values - before.values,
        value_bytes: after.value_bytes - before.value_bytes,
        peak_bytes: after.peak_bytes - before.value_bytes,
        nodes: after.nodes - before.nodes,
    })
}

/// Layers of `tanh(x W)`.
fn layers(count: usize) -> Result<Tensor<f32>> {
    let weight = Tensor::parameter(ArrayD::from_elem(IxDyn(&[32, 32]), 0.1));
    let start = Tensor::new(ArrayD::from_elem(IxDyn(&[200, 32]), 0.5));
    (0..count).try_fold(start, |x, _| Ok(x.matmul(&weight)?.tanh()))
}

/// What a forward pass keeps, by depth; and the arithmetic of a backward pass.
pub fn memory(story: &mut Story, runs: &Runs) -> anyhow::Result<()> {
    story.step(
        "What the tape keeps",
        "The tape keeps what backward will read: the inputs of products, the outputs of tanh. Additions keep nothing. Evaluation needs none of it.",
    );
    let network = Network::<f32>::new(Wiring::Residual, HIDDEN_SIZE, runs.seed);
    let points = runs.spiral.inputs::<f32>();
    let forward = || network.forward(&points)?.cross_entropy(&runs.spiral.arms);
    let mut rows = Vec::new();
    for (name, key, found) in [
        ("tape, 2 layers", "tape_2", held(forward)?),
        ("no_grad, 2 layers", "no_grad_2", held(|| no_grad(forward))?),
        ("tape, 32 layers", "tape_32", held(|| layers(32))?),
        ("no_grad, 32 layers", "no_grad_32", held(|| no_grad(|| layers(32)))?),
    ] {
        let [kept, peak] = [found.value_bytes, found.peak_bytes].map(|size| bytes(size as u64));
        rows.push([
            name.into(),
            found.nodes.to_string(),
            found.values.to_string(),
            kept,
            peak,
        ]);
        story.values(key, [found.nodes, found.values, found.value_bytes, found.peak_bytes]);
    }
    story.predict("depth");
    story.rows(
        &[
            "forward pass",
            "operations kept",
            "values kept",
            "bytes kept",
            "bytes at the peak",
        ],
        rows,
    );
    let (mut tape, mut none) = (Curve::new(), Curve::new());
    for count in [1, 2, 4, 8, 16, 24, 32] {
        let kib = |live: Live| (count as f64, live.value_bytes as f64 / 1024.0);
        tape.push(kib(held(|| layers(count))?));
        none.push(kib(held(|| no_grad(|| layers(count)))?));
    }
    let chart = Chart::lines("tape-memory", "Memory kept at the end of a forward pass")
        .x_label("layers of tanh(x W), 200 points, width 32")
        .y_label("values kept, KiB")
        .note("counted, not sampled: every value counts its bytes when it is made and dropped");
    story.chart(&chart.series("with a tape", tape).series("under no_grad", none))?;

    let (loss, up) = measure(forward);
    let loss = loss?;
    let (back, down) = measure(|| loss.backward());
    back?;
    story.show("multiply-adds, forward", up.multiply_adds);
    story.show("multiply-adds, backward", down.multiply_adds);
    story.ledger(&up);
    story.ledger(&down);
    story.say("For each product of the forward pass the backward pass computes two: a training step is three forward passes of arithmetic.");
    Ok(())
}

/// A chain that is far deeper than the stack of the thread that walks it.
pub fn depth(story: &mut Story) -> anyhow::Result<()> {
    story.step(
        "How deep may a tape be?",
        "A recursive walk, or a recursive drop, needs stack for every node. Loops do not.",
    );
    let (nodes, stack_kib) = (200_000, 64);
    let thread = std::thread::Builder::new().stack_size(stack_kib * 1024);
    let thread = thread.spawn(move || chain(nodes))?;
    let gradient = thread
        .join()
        .map_err(|_| anyhow::anyhow!("the chain's thread panicked"))??;
    let shown = format!("{} operations on a stack of {stack_kib} KiB", grouped(nodes as u64));
    story.show_as("chain", nodes, shown);
    let shown = format!("done; the gradient is {gradient}, which is right");
    story.show_as("backward and drop", gradient, shown);
    Ok(())
}

/// Adds 1 a number of times, goes back, and drops both a walked and an unwalked tape.
fn chain(nodes: usize) -> Result<f64> {
    let start = Tensor::parameter(ArrayD::from_elem(IxDyn(&[]), 1.0_f64));
    let long = || (0..nodes).fold(start.clone(), |x, _| x.add_scalar(1.0));
    long().backward()?;
    drop(long());
    Ok(start.take_grad().map_or(0.0, |gradient| gradient[IxDyn(&[])]))
}
