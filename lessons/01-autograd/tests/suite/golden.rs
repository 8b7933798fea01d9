//! Every operation against PyTorch: output and gradients in `f64`, from `golden/ops.json` (made by `golden/ops.py`).

use autograd::{Result, Tensor};
use ndarray::{ArrayD, IxDyn};
use serde_json::Value;

/// The cases of `ops.json`.
fn cases() -> Vec<Value> {
    let document: Value = serde_json::from_str(include_str!("../golden/ops.json")).expect("ops.json is JSON");
    document["cases"].as_array().expect("cases").clone()
}

fn sizes(value: &Value) -> Vec<usize> {
    value
        .as_array()
        .expect("a list")
        .iter()
        .map(|n| n.as_u64().expect("a count") as usize)
        .collect()
}

fn array(value: &Value) -> ArrayD<f64> {
    let values = value["values"]
        .as_array()
        .expect("values")
        .iter()
        .map(|x| x.as_f64().expect("a number"))
        .collect();
    ArrayD::from_shape_vec(IxDyn(&sizes(&value["shape"])), values).expect("one value per place")
}

fn count(parameters: &Value, name: &str) -> usize {
    parameters[name].as_u64().expect("a count") as usize
}

/// Calls the operation that the case names.
fn apply(op: &str, p: &Value, inputs: &[Tensor<f64>]) -> Result<Tensor<f64>> {
    let x = &inputs[0];
    match op {
        "add" => x.add(&inputs[1]),
        "sub" => x.sub(&inputs[1]),
        "mul" => x.mul(&inputs[1]),
        "div" => x.div(&inputs[1]),
        "matmul" => x.matmul(&inputs[1]),
        "exp" => Ok(x.exp()),
        "ln" => Ok(x.ln()),
        "relu" => Ok(x.relu()),
        "silu" => Ok(x.silu()),
        "tanh" => Ok(x.tanh()),
        "neg" => Ok(x.neg()),
        "sum" => Ok(x.sum()),
        "mean" => Ok(x.mean()),
        "scale" => Ok(x.scale(p["factor"].as_f64().expect("a factor"))),
        "add_scalar" => Ok(x.add_scalar(p["factor"].as_f64().expect("a factor"))),
        "sum_axis" => x.sum_axis(count(p, "axis")),
        "mean_axis" => x.mean_axis(count(p, "axis")),
        "max_axis" => x.max_axis(count(p, "axis")),
        "softmax" => x.softmax(count(p, "axis")),
        "slice" => x.slice(count(p, "axis"), count(p, "start")..count(p, "end")),
        "concat" => Tensor::concat(&inputs.iter().collect::<Vec<_>>(), count(p, "axis")),
        "reshape" => x.reshape(&sizes(&p["shape"])),
        "permute" => x.permute(&sizes(&p["axes"])),
        "permute_reshape" => x.permute(&sizes(&p["axes"]))?.reshape(&sizes(&p["shape"])),
        "gather_rows" => x.gather_rows(&sizes(&p["ids"])),
        "gather" => {
            let rows: Vec<_> = p["index"].as_array().expect("rows").iter().map(sizes).collect();
            let shape = IxDyn(&[rows.len(), rows[0].len()]);
            let index = ArrayD::from_shape_vec(shape, rows.concat()).expect("rows of one length");
            x.gather(count(p, "axis"), &index)
        }
        "cross_entropy" => x.cross_entropy(&sizes(&p["targets"])),
        "doubled_twice" => {
            let b = x.add(x)?;
            b.add(&b)
        }
        "square" => x.mul(x),
        "residual" => {
            let h = x.matmul(&inputs[1])?.tanh();
            h.add(&h.matmul(&inputs[2])?.tanh())
        }
        _ => panic!("ops.json names an operation that this test does not know: {op}"),
    }
}

#[track_caller]
fn assert_close(what: &str, found: &ArrayD<f64>, expected: &ArrayD<f64>, tolerance: f64) {
    assert_eq!(found.shape(), expected.shape(), "{what}: shape");
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs();
        assert!(
            error <= tolerance * (1.0 + expected.abs()),
            "{what}, element {place}: {found} instead of {expected}"
        );
    }
}

#[test]
fn every_operation_gives_the_output_and_the_gradients_of_pytorch() {
    let cases = cases();
    assert!(cases.len() >= 70, "ops.json is complete");
    for case in &cases {
        let (op, name) = (
            case["op"].as_str().expect("an op"),
            case["name"].as_str().expect("a name"),
        );
        let what = format!("{op} ({name})");
        let inputs: Vec<_> = case["inputs"]
            .as_array()
            .expect("inputs")
            .iter()
            .map(|x| Tensor::parameter(array(x)))
            .collect();
        let output = apply(op, &case["parameters"], &inputs).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_close(&what, &output.value(), &array(&case["output"]), 1e-12);
        output
            .backward_with(array(&case["seed"]))
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        for (input, expected) in inputs.iter().zip(case["gradients"].as_array().expect("gradients")) {
            let gradient = input.grad().unwrap_or_else(|| panic!("{what}: no gradient"));
            assert_close(&format!("{what}, gradient"), &gradient, &array(expected), 1e-12);
        }
    }
}

/// The same in `f32`, where a training run computes: values agree to the digits that `f32` has.
#[test]
fn single_precision_agrees_to_its_own_digits() {
    for case in &cases() {
        let (op, name) = (
            case["op"].as_str().expect("an op"),
            case["name"].as_str().expect("a name"),
        );
        if op == "matmul" {
            let single = |value: &Value| array(value).mapv(|x| x as f32);
            let inputs: Vec<_> = case["inputs"]
                .as_array()
                .expect("inputs")
                .iter()
                .map(|x| Tensor::parameter(single(x)))
                .collect();
            let output = inputs[0].matmul(&inputs[1]).expect("shapes fit");
            let double = output.value().mapv(f64::from);
            assert_close(name, &double, &array(&case["output"]), 1e-6);
        }
    }
}
