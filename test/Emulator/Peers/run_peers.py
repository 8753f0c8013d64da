#!/usr/bin/env python3
"""Runs kernels that other compilers made, and compares with plain Python.

  run_peers.py EMULATOR [CASE] [-- EMULATOR-OPTIONS...]

Without CASE: all. The exit status is 0 when every result is right.
"""

import math
import os
import random
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


# --- Arrays ----------------------------------------------------------------

FORMATS = {"f32": ("<f4", "f"), "f16": ("<f2", "e"), "bf16": ("<u2", "H"),
           "u32": ("<u4", "I"), "i32": ("<i4", "i"), "u8": ("|u1", "B")}


def to_bf16(value):
    """The bits of the nearest bf16, ties to even."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def from_bf16(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def write_npy(path, type, values):
    descr, code = FORMATS[type]
    if type == "bf16":
        values = [to_bf16(v) for v in values]
    header = f"{{'descr': '{descr}', 'fortran_order': False, " \
             f"'shape': ({len(values)},), }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                   header.encode() + struct.pack(f"<{len(values)}{code}",
                                                 *values))


def read_npy(path, type):
    with open(path, "rb") as file:
        data = file.read()
    data = data[10 + struct.unpack("<H", data[8:10])[0]:]
    code = FORMATS[type][1]
    values = struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}",
                           data)
    return [from_bf16(v) for v in values] if type == "bf16" else list(values)


def rounded(type, values):
    """The values as an array of the type holds them."""
    if type == "bf16":
        return [from_bf16(to_bf16(v)) for v in values]
    return list(struct.unpack(f"<{len(values)}{FORMATS[type][1]}", struct.pack(
        f"<{len(values)}{FORMATS[type][1]}", *values)))


class In:
    def __init__(self, type, values):
        self.type, self.values = type, rounded(type, values)


class Out:
    """An array that the kernel writes; `initial`: what it holds before."""

    def __init__(self, type, expected, tolerance=0.0, initial=None):
        self.type, self.expected = type, expected
        self.tolerance, self.initial = tolerance, initial


class Map:
    """A tensor map of argument `array`, which passes no parameter itself."""

    def __init__(self, array, rows, columns, box, swizzle=128):
        self.array, self.rows, self.columns = array, rows, columns
        self.box, self.swizzle = box, swizzle


def normal(generator, count, scale=1.0):
    return [generator.gauss(0, scale) for _ in range(count)]


# --- References ------------------------------------------------------------


def matmul(a, b, m, n, k, transposed=False):
    result = []
    for i in range(m):
        row = a[i * k:(i + 1) * k]
        for j in range(n):
            column = b[j * k:(j + 1) * k] if transposed else b[j::n]
            result.append(math.fsum(x * y for x, y in zip(row, column)))
    return result


def normalize(row, eps):
    mean = math.fsum(row) / len(row)
    variance = math.fsum((v - mean) ** 2 for v in row) / len(row)
    return [(v - mean) / math.sqrt(variance + eps) for v in row]


def softmax(row):
    largest = max(row)
    weights = [math.exp(v - largest) for v in row]
    total = math.fsum(weights)
    return [w / total for w in weights]


def rows_of(values, columns):
    return [values[i:i + columns] for i in range(0, len(values), columns)]


# --- Cases -----------------------------------------------------------------
# Each returns launch options and arguments. Triton's kernels take two more
# pointers, for scratch memory that these do not use.

SCRATCH = ["u64:0", "u64:0"]


def triton_softmax():
    x = In("f32", normal(random.Random(1), 5 * 208, 3))
    y = Out("f32", sum((softmax(r) for r in rows_of(x.values, 208)), []), 1e-6)
    return dict(grid=5, block=128, smem=16), [y, x, "i32:208", *SCRATCH]


def triton_layer_norm():
    g = random.Random(2)
    x = In("bf16", [v + 2 for v in normal(g, 3 * 400)])
    weight, bias = In("f32", normal(g, 400)), In("f32", normal(g, 400))
    expected = [v * w + b for row in rows_of(x.values, 400) for v, w, b in
                zip(normalize(row, 1e-5), weight.values, bias.values)]
    return dict(grid=3, block=128, smem=16), [
        Out("bf16", expected, 4e-3), x, weight, bias, "i32:400", "f32:1e-5",
        *SCRATCH]


def triton_matmul(shared):
    def case():
        g = random.Random(3)
        m, n, k = 80, 80, 96
        a, b = In("bf16", normal(g, m * k)), In("bf16", normal(g, k * n))
        c = Out("f32", matmul(a.values, b.values, m, n, k), 1e-5)
        return dict(grid="2,2", block=128, smem=shared), [
            c, a, b, f"i32:{m}", f"i32:{n}", f"i32:{k}", *SCRATCH]
    return case


def triton_matmul_tma():
    g = random.Random(4)
    m, n, k = 144, 64, 192
    a, b = In("bf16", normal(g, m * k)), In("bf16", normal(g, n * k))
    c = Out("bf16", matmul(a.values, b.values, m, n, k, True), 4e-3)

    def descriptor(array, rows, columns, box):
        return [Map(array, rows, columns, box), f"i32:{rows}",
                f"i32:{columns}", f"i64:{columns}", "i64:1"]
    return dict(grid="2,1", block=128, smem=73752), [
        *descriptor(c, m, n, (64, 128)), *descriptor(a, m, k, (64, 128)),
        *descriptor(b, n, k, (64, 64)), f"i32:{m}", f"i32:{n}", f"i32:{k}",
        *SCRATCH]


def triton_attention(shared):
    def case():
        g = random.Random(5)
        length, d, scale = 80, 64, 0.125
        q, k, v = (In("f16", normal(g, length * d)) for _ in range(3))
        scores = matmul(q.values, k.values, length, length, d, True)
        weights = sum((softmax([s * scale for s in row])
                       for row in rows_of(scores, length)), [])
        out = Out("f32", matmul(weights, v.values, length, d, length), 2e-3)
        return dict(grid=2, block=128, smem=shared), [
            out, q, k, v, f"i32:{length}", f"f32:{scale * math.log2(math.e)}",
            *SCRATCH]
    return case


def cuda_layer_norm():
    x = In("f32", normal(random.Random(6), 3 * 200))
    y = Out("f32", sum((normalize(r, 1e-5) for r in rows_of(x.values, 200)),
                       []), 1e-5)
    return dict(grid=3, block=96), [y, x, "i32:200", "f32:1e-5"]


def cuda_wmma_matmul():
    g = random.Random(7)
    m, n, k = 64, 128, 96
    a, b = In("bf16", normal(g, m * k)), In("bf16", normal(g, k * n))
    return dict(grid="2,1", block=128), [
        Out("f32", matmul(a.values, b.values, m, n, k), 1e-5), a, b,
        f"i32:{n}", f"i32:{k}"]


def cuda_histogram():
    g = random.Random(8)
    data = In("u8", [g.randrange(50) for _ in range(1500)])
    counts = [data.values.count(i) for i in range(256)]
    return dict(grid=3, block=64), [Out("u32", counts, initial=[0] * 256),
                                    data, "i32:1500"]


def cuda_sum_last_block():
    data = In("f32", normal(random.Random(9), 1000))
    return dict(grid=4, block=64), [
        Out("f32", [math.fsum(data.values)], 1e-5), Out("f32", [None] * 4),
        Out("u32", [4], initial=[0]), data, "i32:1000"]


def cuda_ping_pong():
    return dict(grid=1, block=64), [
        Out("i32", [sum(i * 32 + 31 - t for i in range(5))
                    for t in range(32)]), "i32:5"]


def cuda_cluster_sum():
    data = In("f32", normal(random.Random(10), 8 * 64))
    rows = rows_of(data.values, 64)
    expected = []
    for block in range(8):
        first = block // 4 * 4
        expected += [math.fsum(rows[first + r][i] for r in range(4))
                     for i in range(64)]
    return dict(grid=8, block=64, cluster=4), [Out("f32", expected, 1e-6),
                                               data]


CASES = {}
for chip, shared in (("80", (16384, 16384)), ("90", (24576, 24576))):
    for name, case in (("softmax", triton_softmax),
                       ("layer_norm", triton_layer_norm),
                       ("matmul", triton_matmul(shared[0])),
                       ("attention", triton_attention(shared[1]))):
        CASES[f"triton-{name}-sm{chip}"] = (f"{name}_sm{chip}.ptx", name, case)
    for name, case in (("layer_norm", cuda_layer_norm),
                       ("wmma_matmul", cuda_wmma_matmul),
                       ("histogram", cuda_histogram),
                       ("sum_last_block", cuda_sum_last_block),
                       ("ping_pong", cuda_ping_pong)):
        CASES[f"cuda-{name}-sm{chip}"] = (f"cuda_sm{chip}.ptx", name, case)
CASES["triton-matmul_tma-sm90"] = ("matmul_tma_sm90.ptx", "matmul_tma",
                                   triton_matmul_tma)
CASES["cuda-cluster_sum-sm90"] = ("cuda_sm90.ptx", "cluster_sum",
                                  cuda_cluster_sum)


# --- Running ---------------------------------------------------------------


def write_arguments(arguments, directory):
    """The --arg options, and the outputs with their paths."""
    options, outputs, paths = [], [], {}

    def place(array):
        """An array's --arg, with the file that is read and the one written."""
        if id(array) in paths:
            return paths[id(array)]
        path = os.path.join(directory, f"array{len(paths)}.npy")
        if isinstance(array, In):
            write_npy(path, array.type, array.values)
            option = f"in:{path}"
        else:
            out = path.replace(".npy", "_out.npy")
            outputs.append((array, out))
            if array.initial is None:
                option = f"out:{array.type}:{len(array.expected)}:{out}"
            else:
                write_npy(path, array.type, array.initial)
                option = f"inout:{path}:{out}"
        paths[id(array)] = option
        return option

    for argument in arguments:
        if isinstance(argument, str):
            options.append("--arg=" + argument)
        elif isinstance(argument, Map):
            name = f"array{len(paths)}"
            options.append(f"--array={name}={place(argument.array)}")
            options.append(
                f"--arg=tensormap:{name},type={argument.array.type},"
                f"sizes={argument.columns}x{argument.rows},"
                f"box={argument.box[0]}x{argument.box[1]},"
                f"swizzle={argument.swizzle}")
        else:
            options.append("--arg=" + place(argument))
    return options, outputs


def compare(array, values):
    """What is wrong, or None. Elements that are expected as None are free."""
    if len(values) != len(array.expected):
        return f"{len(values)} elements, not {len(array.expected)}"
    scale = max((abs(v) for v in array.expected if v is not None), default=0)
    for i, (value, expected) in enumerate(zip(values, array.expected)):
        if expected is None:
            continue
        if not abs(value - expected) <= array.tolerance * max(scale, 1):
            return f"element {i} is {value}, not {expected}"
    return None


def run(emulator, name, options):
    file, entry, case = CASES[name]
    launch, arguments = case()
    with tempfile.TemporaryDirectory() as directory:
        parameters, outputs = write_arguments(arguments, directory)
        done = subprocess.run(
            [emulator, os.path.join(HERE, file), "--entry=" + entry,
             *(f"--{k}={v}" for k, v in launch.items()), *parameters,
             *options], capture_output=True, text=True, timeout=300)
        if done.returncode:
            return done.stderr.strip()
        for array, path in outputs:
            if problem := compare(array, read_npy(path, array.type)):
                return problem
    return None


def main():
    arguments = sys.argv[1:]
    options = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, options = arguments[:at], arguments[at + 1:]
    emulator, *names = arguments
    failed = 0
    for name in names or sorted(CASES):
        problem = run(emulator, name, options)
        print(f"{name}: {problem or 'right'}", flush=True)
        failed += problem is not None
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
