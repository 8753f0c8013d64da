# Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Casts to fp8 and back: `fp8.py write FILE` makes f32 numbers, `fp8.py check FORMAT
X Y` compares what they became with the nearest of all numbers of the format.

The numbers: those of both formats, the midpoints between neighbours, the f32 beside
each of these, and random bits; so infinities, NaN and both zeros.
"""
import math
import random
import struct
import sys

COUNT = 8192


def decode(bits, mantissa, bias, has_infinity):
    sign = -1.0 if bits & 0x80 else 1.0
    exponent = (bits & 0x7f) >> mantissa
    fraction = bits & ((1 << mantissa) - 1)
    if has_infinity and exponent == 0x1f:
        return sign * math.inf if fraction == 0 else math.nan
    if not has_infinity and bits & 0x7f == 0x7f:
        return math.nan
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - bias - mantissa)
    return sign * (1 + fraction / (1 << mantissa)) * 2.0 ** (exponent - bias)


FORMATS = {"e4m3": (3, 7, False), "e5m2": (2, 15, True)}


def numbers(name):
    return [decode(bits, *FORMATS[name]) for bits in range(128)]


def to_float(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def to_bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def write(path):
    random.seed(1)
    values = []
    for name in FORMATS:
        finite = [x for x in numbers(name) if math.isfinite(x)]
        step = finite[-1] - finite[-2]
        finite.append(finite[-1] + step)
        for a, b in zip(finite, finite[1:]):
            for x in (a, (a + b) / 2):
                bits = to_bits(x)
                values += [to_float(max(bits + near, 0)) for near in (-1, 0, 1)]
    values += [-x for x in values] + [math.inf, -math.inf, math.nan, 0.0, -0.0]
    while len(values) < COUNT:
        values.append(to_float(random.getrandbits(32)))
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 256), }" % (COUNT // 256)
    header = header.ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{COUNT}f", *values[:COUNT]))


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    return struct.unpack(f"<{COUNT}f", data[-4 * COUNT:])


def nearest(x, name):
    """To nearest even; as if the exponents went on, for what is beyond the range."""
    mantissa, bias, has_infinity = FORMATS[name]
    if math.isnan(x):
        return math.nan
    magnitude = abs(x)
    exponent = max(math.frexp(magnitude)[1] - 1, 1 - bias) if magnitude else 0
    if math.isinf(magnitude):
        rounded = math.inf
    else:
        unit = 2.0 ** (exponent - mantissa)
        rounded = round(magnitude / unit) * unit  # Python rounds to even
    largest = max(v for v in numbers(name) if math.isfinite(v))
    if rounded > largest:
        rounded = math.inf if has_infinity else math.nan
    return math.copysign(rounded, x)


def check(name, before, after):
    wrong = 0
    for x, y in zip(read(before), read(after)):
        z = nearest(x, name)
        same = math.isnan(z) and math.isnan(y) or to_bits(y) == to_bits(z)
        if not same:
            wrong += 1
            print(f"{x!r} became {y!r}, not {z!r}")
    print(f"{COUNT} numbers, {wrong} wrong")


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](*sys.argv[2:])
