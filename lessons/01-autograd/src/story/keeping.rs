//! Step: what the tape keeps, counted, with and without `no_grad`; and how deep it may be.

use autograd::fit::HIDDEN_SIZE;
use autograd::memory::{Live, live, reset_peak};
use autograd::network::{Network, Wiring};
use autograd::{Result, Tensor, no_grad};
use lab::chart::Chart;
use lab::ledger::measure;
use lab::number::{bytes, grouped};
use lab::story::{Choice, Prediction, Story};
use lab::table::Table;
use ndarray::{ArrayD, IxDyn};

use super::Curve;
use super::opening::Runs;

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

pub fn tell(story: &mut Story, runs: &Runs) -> anyhow::Result<()> {
    story.step(
        "What the tape keeps",
        "It keeps what backward will read: the inputs of products, the outputs of tanh. Additions keep nothing. Evaluation needs none of it.",
    );
    let network = Network::<f32>::new(Wiring::Residual, HIDDEN_SIZE, runs.seed);
    let points = runs.spiral.inputs::<f32>();
    let forward = || network.forward(&points)?.cross_entropy(&runs.spiral.arms);
    let deep = || layers(32);
    let mut table = Table::new(&[
        "forward pass",
        "operations kept",
        "values kept",
        "bytes kept",
        "bytes at the peak",
    ]);
    for (name, key, found) in [
        ("tape, 2 layers", "tape_2", held(forward)?),
        ("no_grad, 2 layers", "no_grad_2", held(|| no_grad(forward))?),
        ("tape, 32 layers", "tape_32", held(deep)?),
        ("no_grad, 32 layers", "no_grad_32", held(|| no_grad(deep))?),
    ] {
        table.row([
            name.to_string(),
            found.nodes.to_string(),
            found.values.to_string(),
            bytes(found.value_bytes as u64),
            bytes(found.peak_bytes as u64),
        ]);
        story.values(key, [found.nodes, found.values, found.value_bytes, found.peak_bytes]);
    }

    let (tape, none) = by_depth()?;
    story.predict(Prediction {
        id: "depth",
        question: "A network of 32 such layers instead of 4: how does the memory at the end of a forward pass grow?",
        options: &[
            Choice { text: "8 times with the tape, 8 times without", answer_to_wrong: Some("Without a tape a layer's input is freed once its output is there.") },
            Choice { text: "8 times with the tape, not at all without", answer_to_wrong: None },
            Choice { text: "with depth squared: each layer remembers all before it", answer_to_wrong: Some("Each layer saves its own input once; nobody saves it again.") },
        ],
        answer: 1,
        because: "One saved value per layer. Training keeps all of them until backward has read them; generating text, from lesson 05 on, keeps none. What it does keep is a later lesson's question.",
    });
    story.table(&table);
    let chart = Chart::lines("tape-memory", "Memory kept at the end of a forward pass")
        .x_label("layers of tanh(x W), 200 points, width 32")
        .y_label("values kept, KiB")
        .note("counted, not sampled: every value counts its bytes when it is made and dropped")
        .series("with a tape", tape)
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
    story.say(
        "Two products go back for each one that went forth: a training step is three forward passes of arithmetic.",
    );

    story.step(
        "How deep may a tape be?",
        "A recursive walk, or a recursive drop, needs stack for every node. Loops do not.",
    );
    let nodes = 200_000;
    let stack_kib = 64;
    let run = move || chain(nodes);
    let thread = std::thread::Builder::new().stack_size(stack_kib * 1024).spawn(run)?;
    let gradient = thread
        .join()
        .map_err(|_| anyhow::anyhow!("the chain's thread panicked"))??;
    story.show_as(
        "chain",
        nodes,
        format_args!("{} operations on a stack of {stack_kib} KiB", grouped(nodes as u64)),
    );
    story.show_as(
        "backward and drop",
        gradient,
        format_args!("done; gradient {gradient}, as it should be"),
    );
    Ok(())
}

/// A number of layers `tanh(x W)`.
fn layers(count: usize) -> Result<Tensor<f32>> {
    let weight = Tensor::parameter(ArrayD::from_elem(IxDyn(&[32, 32]), 0.1));
    let start = Tensor::new(ArrayD::from_elem(IxDyn(&[200, 32]), 0.5));
    (0..count).try_fold(start, |x, _| Ok(x.matmul(&weight)?.tanh()))
}

/// KiB kept by number of layers: with a tape and without.
fn by_depth() -> Result<(Curve, Curve)> {
    let (mut tape, mut none) = (Curve::new(), Curve::new());
    for count in [1, 2, 4, 8, 16, 24, 32] {
        let kib = |live: Live| (count as f64, live.value_bytes as f64 / 1024.0);
        tape.push(kib(held(|| layers(count))?));
        none.push(kib(held(|| no_grad(|| layers(count)))?));
    }
    Ok((tape, none))
}

/// Adds 1 a number of times, goes back, and drops both a walked and an unwalked tape.
fn chain(nodes: usize) -> Result<f64> {
    let start = Tensor::parameter(ArrayD::from_elem(IxDyn(&[]), 1.0_f64));
    let long = || (0..nodes).fold(start.clone(), |x, _| x.add_scalar(1.0));
    long().backward()?;
    drop(long());
    Ok(start.take_grad().map_or(0.0, |gradient| gradient[IxDyn(&[])]))
}
