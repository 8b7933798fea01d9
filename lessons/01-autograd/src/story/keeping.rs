//! Steps: the memory that a tape keeps, with and without `no_grad`; keep or recompute; and how deep a tape may be.

use autograd::deep::Deep;
use autograd::fit::HIDDEN_SIZE;
use autograd::memory::{Live, held};
use autograd::network::{Network, Wiring};
use autograd::{Result, Tensor, no_grad};
use lab::chart::Chart;
use lab::ledger::measure;
use lab::number::{bytes, grouped};
use lab::story::{Claim, Story, Verdict};
use ndarray::{ArrayD, IxDyn};

use super::{Curve, Runs};

/// Layers of the deep network, its width, and the rows of the chart.
const LAYERS: usize = 32;
const WIDTH: usize = 32;
const ROWS: usize = 200;

/// What a forward pass keeps, by depth; and the arithmetic of a backward pass.
pub fn memory(story: &mut Story, runs: &Runs) -> anyhow::Result<()> {
    story.step(
        "What the tape keeps",
        "The tape keeps what backward will read: the inputs of products, the outputs of tanh. Additions keep nothing. Evaluation needs none of it.",
    );
    let network = Network::<f32>::new(Wiring::Residual, HIDDEN_SIZE, runs.seed);
    let points = runs.spiral.inputs::<f32>();
    let forward = || network.forward(&points)?.cross_entropy(&runs.spiral.arms);
    let deep = Deep::new(LAYERS, ROWS, WIDTH);
    story.predict("depth");
    let passes = [
        ("tape, 2 layers", "tape_2", held(forward)?),
        ("no_grad, 2 layers", "no_grad_2", held(|| no_grad(forward))?),
        ("tape, 32 layers", "tape_32", held(|| deep.forward())?),
        ("no_grad, 32 layers", "no_grad_32", held(|| no_grad(|| deep.forward()))?),
    ];
    for (_, key, found) in &passes {
        story.values(key, [found.nodes, found.values, found.value_bytes, found.peak_bytes]);
    }
    story.rows(
        &["forward pass", "operations", "values", "bytes kept", "at the peak"],
        passes.map(|(name, _, found)| {
            let [kept, peak] = [found.value_bytes, found.peak_bytes].map(|size| bytes(size as u64));
            [
                name.into(),
                found.nodes.to_string(),
                found.values.to_string(),
                kept,
                peak,
            ]
        }),
    );
    let (mut tape, mut segments, mut none) = (Curve::new(), Curve::new(), Curve::new());
    for count in [4, 8, 16, 24, 32] {
        let deep = Deep::new(count, ROWS, WIDTH);
        let kib = |live: Live| (count as f64, live.value_bytes as f64 / 1024.0);
        tape.push(kib(held(|| deep.forward())?));
        segments.push(kib(held(|| deep.forward_in_segments(4))?));
        none.push(kib(held(|| no_grad(|| deep.forward()))?));
    }
    let chart = Chart::lines(
        "tape-memory",
        "The tape's memory grows with the depth, no_grad's does not",
    )
    .x_label("layers of tanh(x W), 200 rows, width 32")
    .y_label("values kept after the forward pass, KiB")
    .note("counted, not sampled: every value counts its bytes when it is made and dropped")
    .series("with a tape", tape)
    .series("one of four layers kept", segments)
    .series("under no_grad", none);
    story.chart(&chart)?;

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

/// T7: what a forgotten `no_grad` costs an evaluation, weights included, by the number of rows.
pub fn forgotten(story: &mut Story) -> anyhow::Result<()> {
    story.step(
        "A forgotten no_grad",
        "An evaluation needs its weights and two or three values. With a tape it also keeps a value for each layer. How much is that beside the weights?",
    );
    story.predict("forgotten");
    let mut table = Vec::new();
    for rows in [1, 8, WIDTH, 4 * WIDTH, 16 * WIDTH] {
        let deep = Deep::new(LAYERS, rows, WIDTH);
        let peak = |live: Live| (deep.weight_bytes() + live.peak_bytes) as u64;
        let tape = peak(held(|| deep.forward())?);
        let none = peak(held(|| no_grad(|| deep.forward()))?);
        table.push((rows, none, tape, tape as f64 / none as f64));
    }
    story.rows(
        &["rows", "with no_grad", "forgotten", "times"],
        table
            .iter()
            .map(|&(rows, none, tape, ratio)| [rows.to_string(), bytes(none), bytes(tape), format!("{ratio:.2}")]),
    );
    story.values("peak bytes by rows", &table);
    let doubles = |ratio: f64| (1.5..=2.5).contains(&ratio);
    let num_doubled = table.iter().filter(|row| doubles(row.3)).count();
    story.claim(Claim {
        id: "T7",
        claimed: "A forgotten `no_grad` about doubles the memory of inference",
        value: table[2].3,
        unit: "times the peak of weights and values, with as many rows as the width",
        verdict: Verdict::of(num_doubled == table.len(), num_doubled > 0),
        note: "The tape adds a value [rows, width] for each layer, whose weight is [width, width]. So it doubles the memory when there are as many rows as the width, adds little to one row, and multiplies the memory of a long prompt or a large batch.",
    });
    Ok(())
}

/// Keep or recompute: one more forward pass instead of most of the memory.
pub fn recompute(story: &mut Story) -> anyhow::Result<()> {
    story.step(
        "Keep or recompute",
        "The tape may keep the input of a segment of layers only, and compute the rest again when backward needs it. What does that save, and what does it cost?",
    );
    let deep = Deep::new(LAYERS, ROWS, WIDTH);
    let mut table = Vec::new();
    for segment in [0, 2, 4, 8, 16] {
        let forward = || match segment {
            0 => deep.forward(),
            segment => deep.forward_in_segments(segment),
        };
        let step = || forward()?.sum().backward();
        let (kept, (peak, ledger)) = (held(forward)?, measure(|| held(step)));
        deep.take_gradients();
        table.push((segment, kept.value_bytes, peak?.peak_bytes, ledger.multiply_adds));
    }
    story.predict("recompute");
    story.rows(
        &["kept", "bytes kept", "peak of a step", "multiply-adds"],
        table.iter().map(|&(segment, kept, peak, work)| {
            let name = match segment {
                0 => "every layer".to_string(),
                segment => format!("one of {segment}"),
            };
            [name, bytes(kept as u64), bytes(peak as u64), grouped(work)]
        }),
    );
    story.values("kept, peak, multiply-adds by segment", &table);
    story.say("The gradients are the same bits. The step costs four forward passes of arithmetic instead of three. The peak is lowest in between: few kept values, and a short segment to compute again.");
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
