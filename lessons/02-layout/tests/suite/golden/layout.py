"""Makes layout.json: what NumPy says about a list of views. Run: python layout.py > layout.json (NumPy 2)."""

import json
import numpy as np

CASES = [
    ([2, 3], []),
    ([2, 3, 4], [["permute", [2, 0, 1]]]),
    ([4, 6], [["slice", 0, 1, 4, 2], ["slice", 1, 0, 6, 3]]),
    ([2, 3, 4], [["select", 1, 2], ["permute", [1, 0]]]),
    ([3, 1, 2], [["broadcast", [2, 3, 4, 2]]]),
    ([5], [["slice", 0, 1, 5, 3]]),
    ([2, 2, 3], [["permute", [1, 0, 2]], ["slice", 2, 1, 3, 1]]),
    ([3, 4], [["slice", 0, 2, 2, 1]]),
]
RESHAPES = [
    ([4, 6], [["slice", 1, 0, 4, 1]], [2, 2, 4]),
    ([4, 6], [["permute", [1, 0]]], [24]),
    ([4, 6], [["permute", [1, 0]]], [2, 3, 4]),
    ([2, 3, 4], [], [6, 4]),
    ([2, 3, 4], [["permute", [1, 0, 2]]], [3, 8]),
    ([1, 6], [["broadcast", [4, 6]]], [4, 2, 3]),
]


def view(shape, changes):
    array = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    base = array
    for change in changes:
        match change:
            case ["permute", order]:
                array = array.transpose(order)
            case ["slice", axis, begin, end, step]:
                array = array[(slice(None),) * axis + (slice(begin, end, step),)]
            case ["select", axis, index]:
                array = array[(slice(None),) * axis + (index,)]
            case ["broadcast", to]:
                array = np.broadcast_to(array, to)
    return base, array


def describe(shape, changes):
    base, array = view(shape, changes)
    offset = (array.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // 4
    return {
        "from": shape,
        "changes": changes,
        "shape": list(array.shape),
        "strides": [s // 4 for s in array.strides],
        "offset": int(offset),
        "contiguous": bool(array.flags["C_CONTIGUOUS"]),
        "elements": [int(x) for x in array.ravel()],
    }


def reshape(shape, changes, to):
    base, array = view(shape, changes)
    reshaped = array.reshape(to)
    return {
        "from": shape,
        "changes": changes,
        "to": to,
        "copied": not np.shares_memory(base, reshaped),
        "elements": [int(x) for x in reshaped.ravel()],
    }


def product(rows, inner, columns, seed):
    rng = np.random.default_rng(seed)
    a = rng.uniform(-1, 1, (rows, inner)).astype(np.float32)
    b = rng.uniform(-1, 1, (inner, columns)).astype(np.float32)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    flat = lambda x: [float(v) for v in x.ravel()]
    return {"rows": rows, "inner": inner, "columns": columns, "a": flat(a), "b": flat(b), "c": flat(exact)}


print(json.dumps({
    "numpy": np.__version__,
    "views": [describe(*case) for case in CASES],
    "reshapes": [reshape(*case) for case in RESHAPES],
    "products": [product(3, 17, 5, 1), product(2, 40, 3, 2)],
}))
