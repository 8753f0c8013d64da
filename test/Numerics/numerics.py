#!/usr/bin/env python3
# Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How accurate fused programs are: runs each fusion as it was and fused, on random
and adversarial data, beside f64 (flashnorm-run --device=cpu), and writes a table.

usage: numerics.py FLASHNORM_RUN [--quick] [--page docs/Numerics.md]

Exits with 1 where a case breaks the accuracy rule. --quick runs every fusion once
and every kind of data once.
"""
import argparse
import re
import subprocess
import sys
import tempfile

ROWS, K, N = 256, 256, 256
HEADING = "## Results"

# Of the data of x: what it is, the types that hold it.
DATA = {
    "normal": ("normal", "bf16 f16 f32"),
    "heavy-tail": ("Student's t, 3 degrees of freedom", "bf16 f16 f32"),
    "mean-16": ("μ/σ = 16", "bf16 f16 f32"),
    "large-mean": ("μ/σ = 64", "bf16 f16 f32"),
    "mean-256": ("μ/σ = 256", "bf16 f16 f32"),
    "outlier": ("one element of 30000", "bf16 f16 f32"),
    "large": ("up to 60000", "bf16 f16 f32"),
    "subnormal": ("below the smallest normal number", "bf16 f16 f32"),
    "zeros": ("zeros", "bf16 f16 f32"),
    "not-finite": ("6 in 10000 are ±∞ or NaN", "bf16 f16 f32"),
    "mean-10000": ("10000 ± 1", "f32"),
    "steps": ("40000 to 40003", "f32"),
    "constant": ("1234", "f32"),
}
# Of a bias in f32, which the accumulator adds.
BIAS_DATA = ("normal", "mean-10000", "steps", "constant")


class Fusion:
    """A function of x [?,K], frozen weights, and what `extra` says."""

    def __init__(self, name, body, parameters="", pre=False, result="{t}"):
        self.name, self.body, self.parameters = name, body, parameters
        self.pre, self.result = pre, result


def norm(kind, source, name, size, operands="", frozen=True):
    return (f"  %{name}_i = tensor.empty(%m) : tensor<?x{size}x{{t}}>\n"
            f"  %{name} = flashnorm.{kind}_norm ins(%{source} : tensor<?x{size}x{{t}}>)"
            f" {operands} outs(%{name}_i : tensor<?x{size}x{{t}}>)"
            f" {{{{eps = 1.0e-05 : f64}}}} -> tensor<?x{size}x{{t}}>\n")


def matmul(source, name, operands="", attributes=""):
    attributes = f", {attributes}" if attributes else ""
    return (f"  %{name}_i = tensor.empty(%m) : tensor<?x{N}x{{t}}>\n"
            f"  %{name} = flashnorm.matmul ins(%{source}, %w : tensor<?x{K}x{{t}}>,"
            f" tensor<{N}x{K}x{{t}}>) {operands} outs(%{name}_i : tensor<?x{N}x{{t}}>)"
            f" {{{{transpose_weight{attributes}}}}} -> tensor<?x{N}x{{t}}>\n")


GAMMA = ", %g: tensor<256x{t}> {{flashnorm.frozen}}"
BETA = ", %b: tensor<256x{t}> {{flashnorm.frozen}}"
BIAS = ", %c: tensor<256xf32>"
RESIDUAL = ", %r: tensor<?x256x{t}>"
WEIGHT = "weight(%g : tensor<256x{t}>)"
AFFINE = WEIGHT + " bias(%b : tensor<256x{t}>)"
ADD_BIAS = "bias(%c : tensor<256xf32>)"
ADD_RESIDUAL = "residual(%r : tensor<?x256x{t}>)"
GELU = "activation = #flashnorm.activation<gelu>"

FUSIONS = [
    Fusion("RMSNorm after", matmul("x", "p") + norm("rms", "p", "y", N)),
    Fusion("RMSNorm after, γ", matmul("x", "p") + norm("rms", "p", "y", N, WEIGHT),
           GAMMA),
    Fusion("LayerNorm after", matmul("x", "p") + norm("layer", "p", "y", N)),
    Fusion("LayerNorm after, γ β",
           matmul("x", "p") + norm("layer", "p", "y", N, AFFINE), GAMMA + BETA),
    Fusion("LayerNorm after, residual",
           matmul("x", "p", ADD_RESIDUAL) + norm("layer", "p", "y", N), RESIDUAL),
    Fusion("LayerNorm after, GELU",
           matmul("x", "p", "", GELU) + norm("layer", "p", "y", N)),
    Fusion("RMSNorm before", norm("rms", "x", "n", K) + matmul("n", "y"), pre=True),
    Fusion("RMSNorm before, γ",
           norm("rms", "x", "n", K, WEIGHT) + matmul("n", "y"), GAMMA, pre=True),
    Fusion("RMSNorm before, γ, residual",
           norm("rms", "x", "n", K, WEIGHT) + matmul("n", "y", ADD_RESIDUAL),
           GAMMA + RESIDUAL, pre=True),
    Fusion("RMSNorm before, γ, GELU",
           norm("rms", "x", "n", K, WEIGHT) + matmul("n", "y", "", GELU),
           GAMMA, pre=True),
]
# Through the bias the accumulator itself is adversarial.
BIASED = [
    Fusion("RMSNorm after, bias",
           matmul("x", "p", ADD_BIAS) + norm("rms", "p", "y", N), BIAS),
    Fusion("LayerNorm after, bias",
           matmul("x", "p", ADD_BIAS) + norm("layer", "p", "y", N), BIAS),
    Fusion("RMSNorm before, bias",
           norm("rms", "x", "n", K) + matmul("n", "y", ADD_BIAS), BIAS, pre=True),
]
# In f32 there is no fusion; what is raised is one op.
def spelled(layer):
    centre = ("""
  %s = linalg.reduce {{ arith.addf }} ins(%x : tensor<256x256xf32>) outs(%z : tensor<256xf32>) dimensions = [1]
  %mu = arith.divf %s, %k : tensor<256xf32>
  %mus = linalg.broadcast ins(%mu : tensor<256xf32>) outs(%e : tensor<256x256xf32>) dimensions = [1]
  %d = arith.subf %x, %mus : tensor<256x256xf32>""" if layer else """
  %o = arith.constant dense<1.0> : tensor<256x256xf32>
  %d = arith.mulf %x, %o : tensor<256x256xf32>""")
    return """  %z = arith.constant dense<0.0> : tensor<256xf32>
  %k = arith.constant dense<256.0> : tensor<256xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<256xf32>
  %e = tensor.empty() : tensor<256x256xf32>""" + centre + """
  %q = arith.mulf %d, %d : tensor<256x256xf32>
  %t = linalg.reduce {{ arith.addf }} ins(%q : tensor<256x256xf32>) outs(%z : tensor<256xf32>) dimensions = [1]
  %v = arith.divf %t, %k : tensor<256xf32>
  %a = arith.addf %v, %eps : tensor<256xf32>
  %h = math.rsqrt %a : tensor<256xf32>
  %hs = linalg.broadcast ins(%h : tensor<256xf32>) outs(%e : tensor<256x256xf32>) dimensions = [1]
  %y = arith.mulf %d, %hs : tensor<256x256xf32>
  return %y : tensor<256x256xf32>
"""


RAISED = {"RMSNorm, raised": spelled(False), "LayerNorm, raised": spelled(True)}


def module(fusion, element):
    weight = f", %w: tensor<{N}x{K}x{element}> {{flashnorm.frozen}}"
    return (f"func.func @f(%x: tensor<?x{K}x{element}>{weight}"
            f"{fusion.parameters.format(t=element)}) -> tensor<?x{N}x{element}> {{\n"
            "  %c0 = arith.constant 0 : index\n"
            f"  %m = tensor.dim %x, %c0 : tensor<?x{K}x{element}>\n"
            f"{fusion.body.format(t=element)}"
            f"  return %y : tensor<?x{N}x{element}>\n}}\n")


def cases():
    """Name, type, data, what flashnorm-run is told, MLIR."""
    for fusion in FUSIONS:
        for element in ("bf16", "f16"):
            for kind, (_, types) in DATA.items():
                if element in types.split():
                    yield (fusion.name, element, kind, [f"--input={kind}"],
                           module(fusion, element))
    for fusion in BIASED:
        for element in ("bf16", "f16"):
            for kind in BIAS_DATA:
                yield (fusion.name, element, f"bias {kind}",
                       ["--input=normal", f"--arg=2:{kind}"],
                       module(fusion, element))
    for name, body in RAISED.items():
        text = ("func.func @f(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {\n"
                + body.format() + "}\n")
        for kind in DATA:
            yield name, "f32", kind, [f"--input={kind}"], text


def run(tool, text, options):
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        done = subprocess.run(
            [tool, file.name, "--device=cpu", f"--rows={ROWS}", *options],
            capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def describe(code, output, errors):
    """Table cells: fused?, errors, ratio, non-finite, verdict."""
    head = re.search(r"; (\d+) of \d+ matmuls fused with norms, (\d+) norms", output)
    error = re.search(r"fused ([^,\s]+), original ([^,\s]+)(?:, ratio (\S+))?", output)
    if not head or not error:
        return None, [errors.strip()[-200:]]
    lost = re.search(r"original: (\d+) elements; finite in the fused form: (\d+)", output)
    fused = int(head.group(1)) > 0
    verdict = "holds" if code == 0 else "; ".join(
        line.strip()[6:] for line in output.splitlines() if "  FAIL" in line)
    return fused, [error.group(1), error.group(2), error.group(3) or "",
                   f"{lost.group(1)}" if lost else "0", verdict]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--page")
    options = parser.parse_args()
    rows, failed, seen = [], 0, set()
    for name, element, kind, flags, text in cases():
        if options.quick and {name, kind} <= seen:
            continue
        seen |= {name, kind}
        code, output, errors = run(options.tool, text, flags)
        fused, cells = describe(code, output, errors)
        failed += code != 0
        rows.append([name, element, kind,
                     "no" if not fused else "yes", *cells])
        if code:
            print(" ".join(rows[-1]), file=sys.stderr)
    head = ["program", "type", "data", "fused", "error, fused", "error, original",
            "ratio", "not finite", "rule"]
    table = "\n".join(
        ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"
    if options.page:
        with open(options.page, encoding="utf-8") as file:
            before, heading, _ = file.read().partition(f"\n{HEADING}\n")
        with open(options.page, "w", encoding="utf-8") as file:
            file.write(f"{before}{heading}\n{table}")
    else:
        sys.stdout.write(table)
    print(f"{len(rows)} cases, {failed} failed; fused: "
          f"{sum(row[3] == 'yes' for row in rows)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
