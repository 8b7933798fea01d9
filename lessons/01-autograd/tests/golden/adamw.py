"""Writes adamw.json: ten steps of torch.optim.AdamW in float64 on the sum of cubes.

    python lessons/01-autograd/tests/golden/adamw.py       # torch==2.15.0, any version gives these numbers
"""

import json
import pathlib

import torch

x = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.AdamW([x], lr=0.1, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.05)
values = []
for _ in range(10):
    optimizer.zero_grad()
    (x * x * x).sum().backward()
    optimizer.step()
    values.append(x.detach().tolist())
path = pathlib.Path(__file__).with_name("adamw.json")
path.write_text(json.dumps({"made_by": "adamw.py with torch, float64", "values": values}, indent=1) + "\n")
