"""Writes ops.json: what PyTorch computes, forward and backward, for each operation of lesson 01.

    python -m pip install torch==2.15.0       # any version gives these numbers, on a CPU too
    python lessons/01-autograd/tests/golden/ops.py

Everything is float64 and seeded. For each case: the inputs, the parameters of the operation, a seed gradient shaped
like the output, the output, and the gradient of each input.
"""

import json
import pathlib

import torch
import torch.nn.functional as F

torch.manual_seed(1)
CASES = []


def array(t):
    return {"shape": list(t.shape), "values": [float(f"{x:.17g}") for x in t.flatten().tolist()]}


def case(op, name, inputs, function, **parameters):
    """`inputs` are shapes (standard normal values) or tensors; a tensor is taken as it is."""
    leaves = []
    for given in inputs:
        leaf = given if torch.is_tensor(given) else torch.randn(given, dtype=torch.float64)
        leaves.append(leaf.clone().requires_grad_())
    output = function(*leaves)
    seed = torch.randn(output.shape, dtype=torch.float64)
    output.backward(seed)
    CASES.append(
        {
            "op": op,
            "name": name,
            "parameters": parameters,
            "inputs": [array(leaf.detach()) for leaf in leaves],
            "seed": array(seed),
            "output": array(output.detach()),
            "gradients": [array(leaf.grad) for leaf in leaves],
        }
    )


def positive(*shape):
    return torch.rand(shape, dtype=torch.float64) + 0.5


# Arithmetic: equal shapes, then each way of broadcasting.
for name, left, right in [
    ("equal shapes", (2, 3), (2, 3)),
    ("row over matrix", (4, 3), (3,)),
    ("column against row", (4, 1), (1, 3)),
    ("missing and stretched axes", (2, 1, 3), (4, 1)),
    ("number", (2, 3), ()),
    ("number on the left", (), (2, 3)),
]:
    case("add", name, [left, right], torch.add)
    case("sub", name, [left, right], torch.sub)
    case("mul", name, [left, right], torch.mul)
    case("div", name, [left, positive(*right)], torch.div)

for op, function in [
    ("exp", torch.exp),
    ("relu", torch.relu),
    ("silu", F.silu),
    ("tanh", torch.tanh),
    ("neg", torch.neg),
    ("sum", torch.sum),
    ("mean", torch.mean),
]:
    case(op, "matrix", [(3, 4)], function)
case("ln", "matrix", [positive(3, 4)], torch.log)
case("relu", "at zero", [torch.tensor([-1.0, 0.0, 2.0], dtype=torch.float64)], torch.relu)
case("silu", "far from zero", [torch.tensor([-50.0, 50.0], dtype=torch.float64)], F.silu)
case("scale", "by -1.5", [(3, 4)], lambda x: x * -1.5, factor=-1.5)
case("add_scalar", "plus 2.5", [(3, 4)], lambda x: x + 2.5, factor=2.5)

# Products.
for name, left, right in [
    ("matrices", (2, 3), (3, 4)),
    ("one column", (5, 3), (3, 1)),
    ("batch", (2, 2, 3), (2, 3, 4)),
    ("batch with one matrix on the right", (2, 3, 2, 3), (3, 4)),
    ("batch with one matrix on the left", (2, 3), (4, 3, 2)),
    ("outer axes broadcast", (2, 1, 2, 3), (3, 3, 2)),
]:
    case("matmul", name, [left, right], torch.matmul)

# Reductions and shapes.
for axis in range(3):
    case("sum_axis", f"axis {axis}", [(2, 3, 4)], lambda x, axis=axis: x.sum(axis), axis=axis)
    case("mean_axis", f"axis {axis}", [(2, 3, 4)], lambda x, axis=axis: x.mean(axis), axis=axis)
    case("max_axis", f"axis {axis}", [(2, 3, 4)], lambda x, axis=axis: x.max(axis).values, axis=axis)
    case("softmax", f"axis {axis}", [(2, 3, 4)], lambda x, axis=axis: torch.softmax(x, axis), axis=axis)
    case("slice", f"axis {axis}", [(3, 3, 4)], lambda x, axis=axis: x.narrow(axis, 1, 2), axis=axis, start=1, end=3)
    case("concat", f"axis {axis}", [(2, 3, 4), (2, 3, 4)], lambda x, y, axis=axis: torch.cat([x, y], axis), axis=axis)
ties = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], dtype=torch.float64)
case("max_axis", "ties go to the first", [ties], lambda x: x.max(1).values, axis=1)
case("softmax", "large scores", [torch.tensor([[1000.0, 1001.0, 999.0]], dtype=torch.float64)],
     lambda x: torch.softmax(x, 1), axis=1)
case("concat", "unequal sizes", [(2, 1), (2, 3)], lambda x, y: torch.cat([x, y], 1), axis=1)
case("reshape", "to a matrix", [(2, 3, 4)], lambda x: x.reshape(6, 4), shape=[6, 4])
case("permute", "rotate", [(2, 3, 4)], lambda x: x.permute(2, 0, 1), axes=[2, 0, 1])
case("permute_reshape", "reshape of a permuted tensor", [(2, 3, 4)], lambda x: x.permute(2, 0, 1).reshape(4, 6),
     axes=[2, 0, 1], shape=[4, 6])

# Indices.
rows = [3, 0, 3, 1, 3]
case("gather_rows", "a row picked three times", [(4, 3)], lambda x: x[rows], ids=rows)
for axis, index in [(0, [[1, 0, 1], [0, 0, 1]]), (1, [[2, 2], [0, 1]])]:
    case("gather", f"axis {axis}", [(2, 3)], lambda x, a=axis, i=index: x.gather(a, torch.tensor(i)),
         axis=axis, index=index)

# Losses.
targets = [2, 0, 4]
case("cross_entropy", "three rows", [(3, 5)], lambda x: F.cross_entropy(x, torch.tensor(targets)), targets=targets)
case("cross_entropy", "large scores", [torch.tensor([[1000.0, 0.0, -1000.0]], dtype=torch.float64)],
     lambda x: F.cross_entropy(x, torch.tensor([1])), targets=[1])

# A value used more than once.
case("doubled_twice", "b = a + a; c = b + b", [()], lambda a: (lambda b: b + b)(a + a))
case("square", "x * x", [(2, 3)], lambda x: x * x)
case("residual", "h + tanh(h w), h = tanh(x v)", [(4, 2), (2, 3), (3, 3)],
     lambda x, v, w: (lambda h: h + torch.tanh(h @ w))(torch.tanh(x @ v)))

path = pathlib.Path(__file__).with_name("ops.json")
path.write_text(
    "{\n"
    + f'"made_by": "ops.py with torch {torch.__version__.split("+")[0]}, float64, seed 1",\n'
    + '"cases": [\n'
    + ",\n".join(json.dumps(one) for one in CASES)
    + "\n]}\n"
)
print(f"{len(CASES)} cases, {path.stat().st_size} bytes")
