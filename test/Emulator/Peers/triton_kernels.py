#!/usr/bin/env python3
"""Kernels in Triton, compiled to PTX without a GPU: code that is not ours.

  triton_kernels.py DIRECTORY

Writes NAME.ptx for each kernel below. `pip install triton==3.9.0` is all it
takes; the tests use the committed output. What a launch must know (threads,
shared memory, tensor maps) is printed, and stands in the RUN lines of the
tests.
"""

import os
import re
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax(y, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    value = tl.load(x + row * columns + column, mask=inside,
                    other=float("-inf"))
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(y + row * columns + column, value / tl.sum(value, axis=0),
             mask=inside)


@triton.jit
def layer_norm(y, x, weight, bias, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    value = tl.load(x + row * columns + column, mask=inside,
                    other=0.0).to(tl.float32)
    mean = tl.sum(value, axis=0) / columns
    centred = tl.where(inside, value - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    result = centred * rstd * tl.load(weight + column, mask=inside, other=0.0)
    result += tl.load(bias + column, mask=inside, other=0.0)
    tl.store(y + row * columns + column, result.to(tl.bfloat16), mask=inside)


@triton.jit
def matmul(c, a, b, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
           BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a + m[:, None] * K + (start + k)[None, :],
                       mask=(m < M)[:, None] & (start + k < K)[None, :],
                       other=0.0)
        right = tl.load(b + (start + k)[:, None] * N + n[None, :],
                        mask=(start + k < K)[:, None] & (n < N)[None, :],
                        other=0.0)
        sum = tl.dot(left, right, sum)
    tl.store(c + m[:, None] * N + n[None, :], sum,
             mask=(m < M)[:, None] & (n < N)[None, :])


@triton.jit
def matmul_tma(c, a, b, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
               BK: tl.constexpr):
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        sum = tl.dot(a.load([m, start]), b.load([n, start]).T, sum)
    c.store([m, n], sum.to(tl.bfloat16))


@triton.jit
def attention(out, q, k, v, length, scale, D: tl.constexpr, BM: tl.constexpr,
              BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    query = tl.load(q + m[:, None] * D + d[None, :],
                    mask=(m < length)[:, None], other=0.0)
    largest = tl.full((BM,), float("-inf"), dtype=tl.float32)
    sum = tl.zeros((BM,), dtype=tl.float32)
    result = tl.zeros((BM, D), dtype=tl.float32)
    for start in range(0, length, BN):
        n = start + tl.arange(0, BN)
        key = tl.load(k + n[:, None] * D + d[None, :],
                      mask=(n < length)[:, None], other=0.0)
        score = tl.dot(query, key.T) * scale
        score = tl.where((n < length)[None, :], score, float("-inf"))
        next = tl.maximum(largest, tl.max(score, axis=1))
        weight = tl.exp2(score - next[:, None])
        factor = tl.exp2(largest - next)
        sum = sum * factor + tl.sum(weight, axis=1)
        value = tl.load(v + n[:, None] * D + d[None, :],
                        mask=(n < length)[:, None], other=0.0)
        result = tl.dot(weight.to(value.dtype), value,
                        result * factor[:, None])
        largest = next
    tl.store(out + m[:, None] * D + d[None, :], result / sum[:, None],
             mask=(m < length)[:, None])



# Name, kernel, chips, signature, constants, options.
KERNELS = [
    ("softmax", softmax, (80, 90),
     dict(y="*fp32", x="*fp32", columns="i32"), dict(BLOCK=256),
     dict(num_warps=4)),
    ("layer_norm", layer_norm, (80, 90),
     dict(y="*bf16", x="*bf16", weight="*fp32", bias="*fp32", columns="i32",
          eps="fp32"), dict(BLOCK=512), dict(num_warps=4)),
    ("matmul", matmul, (80, 90),
     dict(c="*fp32", a="*bf16", b="*bf16", M="i32", N="i32", K="i32"),
     dict(BM=64, BN=64, BK=32), dict(num_warps=4, num_stages=3)),
    ("matmul_tma", matmul_tma, (90,),
     dict(c="tensordesc<bf16[128,64]>", a="tensordesc<bf16[128,64]>",
          b="tensordesc<bf16[64,64]>", M="i32", N="i32", K="i32"),
     dict(BM=128, BN=64, BK=64), dict(num_warps=4, num_stages=3)),
    ("attention", attention, (80, 90),
     dict(out="*fp32", q="*fp16", k="*fp16", v="*fp16", length="i32",
          scale="fp32"), dict(D=64, BM=64, BN=32),
     dict(num_warps=4, num_stages=2)),
]


def strip_debug(ptx):
    """Without line tables of paths, which differ from machine to machine."""
    ptx = re.sub(r"(?ms)^\t?\.section.*?^\t?\}\n", "", ptx)
    ptx = re.sub(r"(?m)^\t?\.(file|loc)\b.*\n", "", ptx)
    return re.sub(r"(?m)^\s*//.*\n", "", ptx)


def main():
    directory = sys.argv[1]
    os.makedirs(directory, exist_ok=True)
    for name, function, chips, signature, constants, options in KERNELS:
        for chip in chips:
            types = dict(signature, **{k: "constexpr" for k in constants})
            # All pointers and the innermost sizes are multiples of 16.
            aligned = {(i,): [["tt.divisibility", 16]] for i, type in
                       enumerate(signature.values())
                       if type.startswith("*") or type == "i32"}
            source = ASTSource(function, types, constants, aligned)
            compiled = triton.compile(source, GPUTarget("cuda", chip, 32),
                                      options)
            path = os.path.join(directory, f"{name}_sm{chip}.ptx")
            with open(path, "w") as file:
                file.write(f"// Triton {triton.__version__}, "
                           f"triton_kernels.py\n")
                file.write(strip_debug(compiled.asm["ptx"]))
            meta = compiled.metadata
            print(path, "warps", meta.num_warps, "shared", meta.shared,
                  "scratch", meta.global_scratch_size,
                  getattr(meta, "tensordesc_meta", None))


if __name__ == "__main__":
    main()
