#!/usr/bin/env python3
"""Exports small torch models to MLIR (linalg on tensors): two defined here and the
transformer blocks of blocks.py.

Usage: export.py OUTPUT_DIR [--model NAME]...

Needs the packages of requirements.txt (torch and torch-mlir, versions pinned);
install them in a virtual environment outside of the source tree. The output
does not depend on random numbers, only on shapes and types, so two runs with
the same versions give the same bytes.

Every weight is a function argument, not a constant, and carries the unit
attribute `flashnorm.frozen`: its value is the same in every call, so a
compiler may prepare it once.
"""

import argparse
import importlib.metadata
import pathlib
import re

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.export import Dim
from torch.func import functional_call
from torch_mlir import fx
from torch_mlir.extras.fx_decomp_util import get_decomposition_table
from torch_mlir.passmanager import PassManager

import blocks


# --------------------------------------------------------------------------
# llama_block: one decoder block in the style of Llama.
# --------------------------------------------------------------------------


class RMSNorm(nn.Module):
    """RMSNorm as decoder models spell it by hand: statistics in f32, rounded
    to the input type before the weight is applied."""

    def __init__(self, size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        variance = x.pow(2).mean(-1, keepdim=True)
        x = x * torch.rsqrt(variance + self.eps)
        return self.weight * x.to(dtype)


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


class LlamaBlock(nn.Module):
    hidden, heads, intermediate, eps = 256, 4, 704, 1e-5

    def __init__(self):
        super().__init__()
        h, i = self.hidden, self.intermediate
        self.head_dim = h // self.heads
        self.input_norm = RMSNorm(h, self.eps)
        self.q_proj = nn.Linear(h, h, bias=False)
        self.k_proj = nn.Linear(h, h, bias=False)
        self.v_proj = nn.Linear(h, h, bias=False)
        self.o_proj = nn.Linear(h, h, bias=False)
        self.post_norm = RMSNorm(h, self.eps)
        self.gate_proj = nn.Linear(h, i, bias=False)
        self.up_proj = nn.Linear(h, i, bias=False)
        self.down_proj = nn.Linear(i, h, bias=False)

    def rotary(self, seq, inv_freq):
        """The tables of the rotary embedding, [seq, head_dim], computed in
        f32 from the inverse frequencies."""
        position = torch.arange(seq).to(torch.float32)
        angle = position[:, None] * inv_freq[None, :]
        angle = torch.cat((angle, angle), dim=-1)
        return angle.cos().to(torch.bfloat16), angle.sin().to(torch.bfloat16)

    def attention(self, x, inv_freq):
        batch, seq, _ = x.shape
        shape = (batch, seq, self.heads, self.head_dim)
        q = self.q_proj(x).view(shape).transpose(1, 2)
        k = self.k_proj(x).view(shape).transpose(1, 2)
        v = self.v_proj(x).view(shape).transpose(1, 2)
        cos, sin = self.rotary(seq, inv_freq)
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        # Three-dimensional products: a four-dimensional torch.matmul with a
        # dynamic dimension would be exported as copies with run-time checks.
        q, k, v = (t.flatten(0, 1) for t in (q, k, v))
        scores = torch.bmm(q, k.transpose(1, 2)) * self.head_dim**-0.5
        position = torch.arange(seq)
        future = position[None, :] > position[:, None]
        scores = scores.masked_fill(future, torch.finfo(scores.dtype).min)
        scores = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
        out = torch.bmm(scores, v).unflatten(0, (batch, self.heads))
        return self.o_proj(out.transpose(1, 2).flatten(2))

    def forward(self, x, inv_freq):
        x = x + self.attention(self.input_norm(x), inv_freq)
        h = self.post_norm(x)
        h = self.down_proj(F.silu(self.gate_proj(h)) * self.up_proj(h))
        return x + h

    @classmethod
    def inputs(cls):
        """Name -> (example, dynamic dimensions)."""
        seq = Dim("seq", min=2, max=4096)
        x = torch.zeros(1, 64, cls.hidden, dtype=torch.bfloat16)
        inv_freq = torch.zeros(cls.hidden // cls.heads // 2)
        return {"x": (x, {1: seq}), "inv_freq": (inv_freq, {})}


# --------------------------------------------------------------------------
# rec_tower: dense tower of a recommendation model, norms without affine.
# --------------------------------------------------------------------------


class RecTower(nn.Sequential):
    width_in, widths, eps = 256, (128, 256, 512), 1e-5

    def __init__(self):
        super().__init__()
        k = self.width_in
        for n in self.widths:
            self.add_module(f"first_{n}", nn.Linear(k, n, bias=True))
            norm = nn.LayerNorm(n, eps=self.eps, elementwise_affine=False)
            self.add_module(f"layer_norm_{n}", norm)
            self.add_module(f"second_{n}", nn.Linear(n, n, bias=False))
            norm = nn.RMSNorm(n, eps=self.eps, elementwise_affine=False)
            self.add_module(f"rms_norm_{n}", norm)
            k = n

    @classmethod
    def inputs(cls):
        batch = Dim("batch", min=2, max=1 << 20)
        x = torch.zeros(64, cls.width_in, dtype=torch.bfloat16)
        return {"x": (x, {0: batch})}


MODELS = {"llama_block": LlamaBlock, "rec_tower": RecTower} | blocks.MODELS


# --------------------------------------------------------------------------
# Export
# --------------------------------------------------------------------------


class Stateless(nn.Module):
    """Calls a module with its parameters passed as inputs. The module is kept
    in a closure, not as a submodule, so that none of its parameters is seen
    as state by the exporter."""

    def __init__(self, module):
        super().__init__()
        self.call = lambda inputs, params: functional_call(module, params, inputs)

    def forward(self, inputs, params):
        return self.call(inputs, params)


def decompositions():
    """The exporter's own table leaves nn.RMSNorm to a lowering that keeps the
    statistics in the input type (bf16); torch itself computes them in f32.
    Use torch's decomposition for it."""
    table = get_decomposition_table()
    default = torch.export.default_decompositions()
    aten = torch.ops.aten
    for op in (aten.rms_norm.default, aten._fused_rms_norm.default):
        table[op] = default[op]
    return table


def export(name):
    module = MODELS[name]()
    module = module.to(getattr(module, "dtype", torch.bfloat16)).eval()
    inputs = module.inputs()
    params = {k: p.detach() for k, p in module.named_parameters()}
    program = torch.export.export(
        Stateless(module),
        (tuple(example for example, _ in inputs.values()), params),
        dynamic_shapes=(
            tuple(dims for _, dims in inputs.values()),
            {k: None for k in params},
        ),
    )
    exported = fx.export_and_import(
        program,
        output_type="linalg-on-tensors",
        decomposition_table=decompositions(),
        func_name=name,
    )
    # The exporter checks at run time (cf.assert) that the sizes of broadcast
    # operands agree. All of them come from the same input dimension; once the
    # sizes of intermediate results are resolved the checks fold away.
    pipeline = "resolve-ranked-shaped-type-result-dims,canonicalize,cse"
    with exported.context:
        PassManager.parse(f"builtin.module({pipeline})").run(exported.operation)
    text = exported.operation.get_asm(enable_debug_info=False)
    return header() + clean(text, name, list(inputs), list(params))


def header():
    versions = ", ".join(
        f"{package} {importlib.metadata.version(package).split('+')[0]}"
        for package in ("torch", "torch-mlir")
    )
    return f"// Generated by export.py ({versions}). Do not edit.\n\n"


def clean(text, name, inputs, params):
    """Names the function arguments, marks the weights as frozen and puts one
    argument on a line. Nothing else is changed: MLIR 22.1 reads the text of
    the pinned exporter as it is, and there are no module attributes or
    ml_program globals to drop (checked here, for other versions)."""
    for unwanted in ("torch.", "ml_program.", "dense_resource", "cf.assert"):
        if unwanted in text:
            raise RuntimeError(f"{name}: unexpected '{unwanted}' in the output")
    match = re.search(rf"func\.func @{name}\((.*?)\)", text)
    types = [arg.split(": ", 1)[1] for arg in match.group(1).split(", ")]
    names = inputs + [param.replace(".", "_") for param in params]
    if len(types) != len(names):
        raise RuntimeError(f"{name}: {len(types)} arguments, not {len(names)}")
    arguments = [f"      %{n}: {t}" for n, t in zip(names, types)]
    for i in range(len(inputs), len(names)):
        arguments[i] += " {flashnorm.frozen}"
    signature = f"func.func @{name}(\n" + ",\n".join(arguments) + ")"
    text = text.replace(match.group(0), signature)
    text = re.sub(r"%arg(\d+)\b", lambda m: "%" + names[int(m.group(1))], text)
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output_dir", type=pathlib.Path)
    parser.add_argument("--model", action="append", choices=sorted(MODELS))
    options = parser.parse_args()
    options.output_dir.mkdir(parents=True, exist_ok=True)
    for name in options.model or sorted(MODELS):
        (options.output_dir / f"{name}.mlir").write_text(export(name))


if __name__ == "__main__":
    main()
