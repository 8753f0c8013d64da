"""Writes a LayerNorm in front of a matmul, and an x for it.

layer_norm.py K N LAYOUT RATIO DIRECTORY    RATIO: mean of x over its deviation

f.mlir       weight, bias and matmul bias, frozen
plain.mlir   neither weight nor bias
x.npy        256 rows, the last one of equal elements
"""

import pathlib
import random
import struct
import sys


def module(k, n, layout, has_affine):
    shape = f"{n}x{k}" if layout == "nk" else f"{k}x{n}"
    transpose = " {transpose_weight}" if layout == "nk" else ""
    frozen = (
        f", %g: tensor<{k}xf32> {{flashnorm.frozen}}, %h: tensor<{k}xbf16> {{flashnorm.frozen}}"
        f", %b: tensor<{n}xbf16> {{flashnorm.frozen}}"
    )
    affine = f"weight(%g : tensor<{k}xf32>) bias(%h : tensor<{k}xbf16>)"
    bias = f"bias(%b : tensor<{n}xbf16>)"
    return f"""
func.func @f(%x: tensor<?x{k}xbf16>, %w: tensor<{shape}xbf16> {{flashnorm.frozen}}{frozen if has_affine else ""})
    -> tensor<?x{n}xbf16> {{
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x{k}xbf16>
  %out = tensor.empty(%m) : tensor<?x{k}xbf16>
  %n = flashnorm.layer_norm ins(%x : tensor<?x{k}xbf16>) {affine if has_affine else ""}
      outs(%out : tensor<?x{k}xbf16>) {{eps = 1.0e-05 : f64}} -> tensor<?x{k}xbf16>
  %init = tensor.empty(%m) : tensor<?x{n}xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x{k}xbf16>, tensor<{shape}xbf16>) {bias if has_affine else ""}
      outs(%init : tensor<?x{n}xbf16>){transpose} -> tensor<?x{n}xbf16>
  return %y : tensor<?x{n}xbf16>
}}
"""


def bf16(value):
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return struct.pack("<H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF)


k, n, layout, ratio = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
directory = pathlib.Path(sys.argv[5])
directory.mkdir(exist_ok=True)
for name, has_affine in (("f", True), ("plain", False)):
    (directory / f"{name}.mlir").write_text(module(k, n, layout, has_affine))
random.seed(k)
rows = [[random.gauss(ratio, 1) for _ in range(k)] for _ in range(255)]
rows.append([ratio or 1.0] * k)
header = str({"descr": "<V2", "fortran_order": False, "shape": (256, k)}).encode() + b"\n"
(directory / "x.npy").write_bytes(
    b"\x93NUMPY\x01\x00"
    + struct.pack("<H", len(header))
    + header
    + b"".join(bf16(v) for row in rows for v in row)
)
