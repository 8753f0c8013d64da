#!/usr/bin/env python3
"""Exports small jax models to MLIR (linalg on tensors): StableHLO from jax.export,
taken to linalg by torch-mlir-opt, which has StableHLO's own passes.

Usage: export_jax.py OUTPUT_DIR [--model NAME]...

Needs the packages of requirements-jax.txt (versions pinned); install them in a
virtual environment outside of the source tree. The output does not depend on
random numbers, only on shapes and types.

Sizes are static: with symbolic ones jax.export computes shapes as tensors
(stablehlo.dynamic_broadcast_in_dim), which these passes leave.
"""

import argparse
import importlib.metadata
import pathlib
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
from jax import export

SEQ, HIDDEN, HEADS, HEAD_DIM, WIDE = 64, 128, 4, 32, 512

PIPELINE = (
    "builtin.module(inline,symbol-dce,func.func(stablehlo-aggressive-simplification),"
    "stablehlo-legalize-to-linalg,canonicalize,cse)"
)


# --------------------------------------------------------------------------
# Norms, as jax's libraries spell them.
# --------------------------------------------------------------------------


def flax_layer_norm(x, scale, bias):
    """flax.linen.LayerNorm: statistics in f32, the variance from raw moments and
    cut off at zero, the scale multiplied into the root."""
    wide = x.astype(jnp.float32)
    mean = wide.mean(-1)
    var = jnp.maximum(0.0, (wide * wide).mean(-1) - mean * mean)
    mul = jax.lax.rsqrt(var[..., None] + 1e-6) * scale
    return ((wide - mean[..., None]) * mul + bias).astype(x.dtype)


def haiku_layer_norm(x, scale, bias):
    """haiku.LayerNorm: jnp.var, which guards against more degrees of freedom than
    elements."""
    wide = x.astype(jnp.float32)
    mean = jnp.mean(wide, axis=-1, keepdims=True)
    var = jnp.var(wide, axis=-1, keepdims=True)
    inv = scale * jax.lax.rsqrt(var + 1e-5)
    return (inv * (wide - mean) + bias).astype(x.dtype)


def gemma_rms_norm(x, scale):
    """Gemma's reference code: 1 + scale, statistics in f32."""
    wide = x.astype(jnp.float32)
    var = jnp.mean(jnp.square(wide), axis=-1, keepdims=True)
    return (wide * jax.lax.rsqrt(var + 1e-6) * (1 + scale)).astype(x.dtype)


# --------------------------------------------------------------------------
# Blocks.
# --------------------------------------------------------------------------


def attention(q, k, v):
    scores = jnp.einsum("bsnh,btnh->bnst", q, k).astype(jnp.float32)
    probabilities = jax.nn.softmax(scores * HEAD_DIM**-0.5, axis=-1)
    return jnp.einsum("bnst,btnh->bsnh", probabilities.astype(v.dtype), v)


def gpt(x, w):
    """Pre-LN, a norm of each library, tanh GELU."""
    h = flax_layer_norm(x, w["ln_1_scale"], w["ln_1_bias"])
    q, k, v = (jnp.einsum("bsd,dnh->bsnh", h, w[n]) for n in ("wq", "wk", "wv"))
    x = x + jnp.einsum("bsnh,nhd->bsd", attention(q, k, v), w["wo"])
    h = haiku_layer_norm(x, w["ln_2_scale"], w["ln_2_bias"])
    h = jax.nn.gelu(h @ w["up"] + w["up_bias"])
    return x + (h @ w["down"] + w["down_bias"])


def gemma(x, w):
    """Norms before and after both halves and of q and k per head, GeGLU."""
    h = gemma_rms_norm(x, w["pre_1"])
    q, k, v = (jnp.einsum("bsd,dnh->bsnh", h, w[n]) for n in ("wq", "wk", "wv"))
    q, k = gemma_rms_norm(q, w["norm_q"]), gemma_rms_norm(k, w["norm_k"])
    h = jnp.einsum("bsnh,nhd->bsd", attention(q, k, v), w["wo"])
    x = x + gemma_rms_norm(h, w["post_1"])
    h = gemma_rms_norm(x, w["pre_2"])
    h = (jax.nn.gelu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]
    return x + gemma_rms_norm(h, w["post_2"])


ATTENTION = {n: (HIDDEN, HEADS, HEAD_DIM) for n in ("wq", "wk", "wv")} | {
    "wo": (HEADS, HEAD_DIM, HIDDEN)
}
GPT = ATTENTION | {
    "ln_1_scale": (HIDDEN,), "ln_1_bias": (HIDDEN,),
    "ln_2_scale": (HIDDEN,), "ln_2_bias": (HIDDEN,),
    "up": (HIDDEN, WIDE), "up_bias": (WIDE,),
    "down": (WIDE, HIDDEN), "down_bias": (HIDDEN,),
}
GEMMA = ATTENTION | {
    "pre_1": (HIDDEN,), "post_1": (HIDDEN,), "pre_2": (HIDDEN,), "post_2": (HIDDEN,),
    "norm_q": (HEAD_DIM,), "norm_k": (HEAD_DIM,),
    "gate": (HIDDEN, WIDE), "up": (HIDDEN, WIDE), "down": (WIDE, HIDDEN),
}
MODELS = {
    "jax_gpt_block": (gpt, GPT, jnp.bfloat16),
    "jax_gpt_block_f32": (gpt, GPT, jnp.float32),
    "jax_gemma_block": (gemma, GEMMA, jnp.bfloat16),
}


# --------------------------------------------------------------------------
# Export.
# --------------------------------------------------------------------------


def to_linalg(stablehlo):
    tool = pathlib.Path(importlib.metadata.distribution("torch-mlir").locate_file(
        "torch_mlir/_mlir_libs/torch-mlir-opt"))
    done = subprocess.run([tool, "-", f"--pass-pipeline={PIPELINE}"],
                          input=stablehlo, text=True, capture_output=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def clean(text, name, names):
    """Names the function and its arguments, marks the weights as frozen and puts
    one argument on a line. Nothing else is changed."""
    if "stablehlo." in text or "chlo." in text:
        raise RuntimeError(f"{name}: not everything became linalg")
    text = re.sub(r"^module @\S+ attributes \{.*\} \{$", "module {", text, flags=re.M)
    match = re.search(r"func\.func public @main\((.*?)\) -> "
                      r"\((\S+) \{jax\.result_info = .*?\}\)", text)
    types = [argument.split(": ", 1)[1] for argument in match.group(1).split(", ")]
    if len(types) != len(names):
        raise RuntimeError(f"{name}: {len(types)} arguments, not {len(names)}")
    arguments = [f"      %{n}: {t}" for n, t in zip(names, types)]
    for i in range(1, len(names)):
        arguments[i] += " {flashnorm.frozen}"
    text = text.replace(match.group(0), f"func.func @{name}(\n" + ",\n".join(arguments)
                        + f") -> {match.group(2)}")
    return re.sub(r"%arg(\d+)\b", lambda m: "%" + names[int(m.group(1))], text)


def make(name):
    function, shapes, dtype = MODELS[name]
    names = ["x", *shapes]

    def flat(x, *weights):
        return function(x, dict(zip(shapes, weights)))

    arguments = [jax.ShapeDtypeStruct(shape, dtype)
                 for shape in [(1, SEQ, HIDDEN), *shapes.values()]]
    text = to_linalg(export.export(jax.jit(flat))(*arguments).mlir_module())
    versions = ", ".join(f"{package} {importlib.metadata.version(package)}"
                         for package in ("jax", "torch-mlir"))
    return (f"// Generated by export_jax.py ({versions}). Do not edit.\n\n"
            + clean(text, name, names))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output_dir", type=pathlib.Path)
    parser.add_argument("--model", action="append", choices=sorted(MODELS))
    options = parser.parse_args()
    options.output_dir.mkdir(parents=True, exist_ok=True)
    for name in options.model or sorted(MODELS):
        (options.output_dir / f"{name}.mlir").write_text(make(name))


if __name__ == "__main__":
    main()
