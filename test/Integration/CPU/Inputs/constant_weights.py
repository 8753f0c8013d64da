"""Writes a norm in front of a matmul twice: with weights that are frozen
arguments, and with the same values as constants.

constant_weights.py K N LAYOUT NORM DIRECTORY
                                            writes frozen.mlir, constant.mlir,
                                            0.npy and 1.npy (the weights); NORM
                                            is rms_norm or layer_norm
constant_weights.py compare FOLDED NPY      compares the only large constant of
                                            FOLDED with the data of NPY
"""

import pathlib
import random
import re
import struct
import sys


def bf16(value):
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return struct.pack("<H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF)


def module(k, n, layout, norm, norm_weight, weight):
    shape = f"{n}x{k}" if layout == "nk" else f"{k}x{n}"
    transpose = " {transpose_weight}" if layout == "nk" else ""
    is_constant = norm_weight is not None
    arguments, constants = "", ""
    for name, type, data in (
        ("g", f"tensor<{k}xbf16>", norm_weight),
        ("w", f"tensor<{shape}xbf16>", weight),
    ):
        if is_constant:
            constants += f'  %{name} = arith.constant dense<"0x{data.hex()}"> : {type}\n'
        else:
            arguments += f", %{name}: {type} {{flashnorm.frozen}}"
    return f"""
func.func @f(%x: tensor<4x{k}xbf16>, %init: tensor<4x{n}xbf16>{arguments})
    -> tensor<4x{n}xbf16> {{
{constants}  %n = flashnorm.{norm} ins(%x : tensor<4x{k}xbf16>)
    weight(%g : tensor<{k}xbf16>) outs(%x : tensor<4x{k}xbf16>)
    {{eps = 1.0e-05 : f64}} -> tensor<4x{k}xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<4x{k}xbf16>, tensor<{shape}xbf16>)
    outs(%init : tensor<4x{n}xbf16>){transpose} -> tensor<4x{n}xbf16>
  return %y : tensor<4x{n}xbf16>
}}
"""


def write(k, n, layout, norm, directory):
    random.seed(k * n)
    # A norm weight with few bits has ties; the others none.
    norm_weight = b"".join(
        bf16(random.choice((1.5, 1.75, random.gauss(1, 0.2)))) for _ in range(k)
    )
    values = [random.gauss(0, 1) for _ in range(k * n)]
    if norm == "rms_norm":  # a column with such values cannot be centred
        values[3] = float("inf")
        values[-1] = 1e38
    values[k * n // 2] = 0.0
    weight = b"".join(map(bf16, values))
    directory = pathlib.Path(directory)
    directory.mkdir(exist_ok=True)
    (directory / "frozen.mlir").write_text(module(k, n, layout, norm, None, None))
    (directory / "constant.mlir").write_text(
        module(k, n, layout, norm, norm_weight, weight)
    )
    shape = (n, k) if layout == "nk" else (k, n)
    for number, (data, shape) in enumerate(((norm_weight, (k,)), (weight, shape))):
        header = str({"descr": "<V2", "fortran_order": False, "shape": shape})
        header = header.encode() + b"\n"
        (directory / f"{number}.npy").write_bytes(
            b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data
        )


def compare(folded, npy):
    text = pathlib.Path(folded).read_text()
    constants = re.findall(r'dense<"0x([0-9A-Fa-f]+)">', text)
    longest = bytes.fromhex(max(constants, key=len))
    data = pathlib.Path(npy).read_bytes()[-len(longest) :]
    pairs = zip(longest[::2], longest[1::2], data[::2], data[1::2])
    different = sum(a != c or b != d for a, b, c, d in pairs)
    print(f"{different} of {len(longest) // 2} differ")


if sys.argv[1] == "compare":
    compare(sys.argv[2], sys.argv[3])
else:
    write(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
