"""The default model in PyTorch, one training step for each line on stdin.

Started by `cargo run -p lesson03 -- peers --python PYTHON`, which sends "step" and reads back "loss seconds". The model is
written the usual way: torch.nn.Linear without bias, scaled_dot_product_attention, fused AdamW, float32.
Needs torch and safetensors; nothing else in the workbook does.
"""

import argparse
import json
import pathlib
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import load_file


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, self.kv_heads, self.dim = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
        self.q_proj = nn.Linear(c["hidden_size"], self.heads * self.dim, bias=False)
        self.k_proj = nn.Linear(c["hidden_size"], self.kv_heads * self.dim, bias=False)
        self.v_proj = nn.Linear(c["hidden_size"], self.kv_heads * self.dim, bias=False)
        self.o_proj = nn.Linear(self.heads * self.dim, c["hidden_size"], bias=False)

    def forward(self, x, cos, sin):
        b, t, _ = x.shape

        def split(y, n):
            return y.view(b, t, n, self.dim).transpose(1, 2)

        def turn(y):
            half = self.dim // 2
            return y * cos + torch.cat((-y[..., half:], y[..., :half]), dim=-1) * sin

        q = turn(split(self.q_proj(x), self.heads))
        k = turn(split(self.k_proj(x), self.kv_heads))
        v = split(self.v_proj(x), self.kv_heads)
        group = self.heads // self.kv_heads
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(b, t, -1))


class Mlp(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate_proj = nn.Linear(c["hidden_size"], c["intermediate_size"], bias=False)
        self.up_proj = nn.Linear(c["hidden_size"], c["intermediate_size"], bias=False)
        self.down_proj = nn.Linear(c["intermediate_size"], c["hidden_size"], bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.input_layernorm = nn.RMSNorm(c["hidden_size"], eps=c["rms_norm_eps"])
        self.self_attn = Attention(c)
        self.post_attention_layernorm = nn.RMSNorm(c["hidden_size"], eps=c["rms_norm_eps"])
        self.mlp = Mlp(c)

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embed_tokens = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.layers = nn.ModuleList(Layer(c) for _ in range(c["num_hidden_layers"]))
        self.norm = nn.RMSNorm(c["hidden_size"], eps=c["rms_norm_eps"])
        half = c["head_dim"] // 2
        turns = c["rope_theta"] ** (-torch.arange(half).double() / half)
        angles = torch.outer(torch.arange(c["max_position_embeddings"]).double(), turns).repeat(1, 2)
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)

    def forward(self, tokens):
        x, t = self.embed_tokens(tokens), tokens.shape[1]
        for layer in self.layers:
            x = layer(x, self.cos[:t], self.sin[:t])
        return self.norm(x) @ self.embed_tokens.weight.T


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    config = json.loads((args.folder / "config.json").read_text())
    model = Llama(config)
    weights = load_file(args.folder / "model.safetensors")
    model.load_state_dict({name.removeprefix("model."): value.float() for name, value in weights.items()})
    matrices = [p for p in model.parameters() if p.dim() > 1]
    norms = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": norms, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), fused=True)
    place = torch.arange(args.batch_size)[:, None] * 512 + torch.arange(513)[None, :]
    window = place * 7919 % 2047 + 1
    inputs, targets = window[:, :-1], window[:, 1:]
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        print(loss.item(), time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
