"""Matrix instructions: fragments as the PTX ISA tabulates them, and sums."""

import math
import random

from case import Case
from floats import (BF16, E4M3, E5M2, F16, F32, F64, TF32, decode, encode)

CASES = []
FORMATS = {"f16": F16, "bf16": BF16, "tf32": TF32, "e4m3": E4M3, "e5m2": E5M2,
           "f64": F64}
BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1, "s8": 1,
         "u8": 1, "f64": 8}

HEADER = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry form(.param .u64 in, .param .u64 out)
{
  .reg .b64 %in, %out, %at, %wa<8>, %wb<8>, %wc<8>, %wd<8>, %desca, %descb;
  .reg .b32 %id, %row, %sm, %a<16>, %b<8>, %c<128>, %d<128>, %t<8>;
  .reg .pred %p, %q;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %id, %tid.x;
"""


def value_of(type, bits):
    if type == "s8":
        return bits - 256 if bits > 127 else bits
    if type == "u8":
        return bits
    return decode(FORMATS[type], bits)


def random_bits(generator, type):
    """Bits of an element: small numbers of both signs."""
    if type in ("s8", "u8"):
        return generator.getrandbits(8)
    if type == "f64":
        return encode(F64, generator.gauss(0, 1))
    return encode(FORMATS[type], generator.gauss(0, 1), satfinite=True)


def special_bits(type):
    """What must come through: subnormal, large, infinite numbers and NaN."""
    if type in ("s8", "u8"):
        return [0x80, 0x7F, 0xFF]
    format = FORMATS[type]
    bits = [1, format.largest // 2, format.sign, format.nan >> format.padding]
    if format.infinities:
        bits.append(format.infinity)
    return [b << format.padding for b in bits]


def to_words(elements, bits):
    """Packs elements, the first one lowest."""
    if bits == 64:
        return sum(([e & 0xFFFFFFFF, e >> 32] for e in elements), [])
    count = 32 // bits
    return [sum(e << (bits * i) for i, e in enumerate(elements[at:at + count]))
            for at in range(0, len(elements), count)]


# --- Sums -------------------------------------------------------------------


def dot(row, column, start, k):
    """The sum of products with `start`, and the bound of the error of summing
    in f32, truncating. Products of what is narrower than f64 are exact in it,
    and math.fsum rounds once."""
    terms = [x * y for x, y in zip(row, column)] + [start]
    if all(math.isfinite(t) for t in terms):
        bound = (k + 1) * 2.0 ** -23 * math.fsum(abs(t) for t in terms)
        return math.fsum(terms), bound
    infinities = {t for t in terms if math.isinf(t)}
    if any(math.isnan(t) for t in terms) or len(infinities) == 2:
        return math.nan, 0.0
    return infinities.pop(), 0.0


def multiply(a, b, c, m, n, k, result, saturate=False, steps=1):
    """Words of D by (row, column), and bounds. a, b, c map positions to
    numbers. D is rounded to its format after each step."""
    words, bounds = {}, {}
    for i in range(m):
        for j in range(n):
            row = [a[i, p] for p in range(k)]
            column = [b[p, j] for p in range(k)]
            if result == "s32":
                total = c[i, j] + sum(x * y for x, y in zip(row, column))
                if saturate:
                    total = max(-2 ** 31, min(2 ** 31 - 1, total))
                words[i, j], bounds[i, j] = total & 0xFFFFFFFF, 0
                continue
            total, bound = dot(row, column, c[i, j], k)
            format = {"f32": F32, "f16": F16, "f64": F64}[result]
            words[i, j] = encode(format, total)
            if result == "f16" and bound:
                bound += abs(total) * 2.0 ** -10
                # A partial sum is at most the sum of all magnitudes.
                bound += (steps - 1) * bound / (k + 1) * 2.0 ** 12
            bounds[i, j] = bound
    return words, bounds


# --- mma --------------------------------------------------------------------
# Position (row, column) of element i of a lane, from the ISA's section on each
# shape; g is the lane's group, t its number in the group.


def a_16bit(shape, i, g, t):
    if shape == "m16n8k8":
        return (g if i < 2 else g + 8), 2 * t + (i & 1)
    row = g if i < 2 or 4 <= i < 6 else g + 8
    return row, 2 * t + (i & 1) + (8 if i >= 4 else 0)


def b_16bit(shape, i, g, t):
    return 2 * t + (i & 1) + (8 if i >= 2 else 0), g


def a_tf32(shape, i, g, t):
    return (g if i % 2 == 0 else g + 8), (t if i < 2 else t + 4)


def b_tf32(shape, i, g, t):
    return (t if i == 0 else t + 4), g


def a_8bit(shape, i, g, t):
    if shape == "m8n8k16":
        return g, 4 * t + i
    if shape == "m16n8k16":
        return (g if i < 4 else g + 8), 4 * t + (i & 3)
    row = g if i < 4 or 8 <= i < 12 else g + 8
    return row, 4 * t + (i & 3) + (16 if i >= 8 else 0)


def b_8bit(shape, i, g, t):
    return 4 * t + (i & 3) + (16 if i >= 4 else 0), g


def a_f64(shape, i, g, t):
    if shape == "m8n8k4":
        return g, t
    row = g if i % 2 == 0 else g + 8
    return row, (2 * i if i % 2 == 0 else 2 * i - 2) + t


def b_f64(shape, i, g, t):
    return t + 4 * i, g


def c_any(shape, i, g, t):
    row = g if i < 2 or shape.startswith("m8") else g + 8
    return row, 2 * t + (i & 1)


FRAGMENTS = {"f16": (a_16bit, b_16bit), "bf16": (a_16bit, b_16bit),
             "tf32": (a_tf32, b_tf32), "f64": (a_f64, b_f64),
             "e4m3": (a_8bit, b_8bit), "e5m2": (a_8bit, b_8bit),
             "s8": (a_8bit, b_8bit), "u8": (a_8bit, b_8bit)}


def dimensions(shape):
    m, rest = shape[1:].split("n")
    return (int(m), *map(int, rest.split("k")))


def add_mma(shape, result, a_type, b_type, c_type, suffix="", specials=False):
    m, n, k = dimensions(shape)
    generator = random.Random(f"{shape}{a_type}{b_type}")
    a_bits = {(i, p): random_bits(generator, a_type)
              for i in range(m) for p in range(k)}
    b_bits = {(p, j): random_bits(generator, b_type)
              for p in range(k) for j in range(n)}
    if specials:
        for i, bits in enumerate(special_bits(a_type)):
            a_bits[i, i % k] = bits
        for j, bits in enumerate(special_bits(b_type)):
            b_bits[j % k, n - 1 - j] = bits
    c_format = {"f32": F32, "f16": F16, "f64": F64, "s32": None}[c_type]
    c_bits, c_values = {}, {}
    for i in range(m):
        for j in range(n):
            if c_type == "s32":
                c_values[i, j] = generator.randrange(-2 ** 31, 2 ** 31)
                c_bits[i, j] = c_values[i, j] & 0xFFFFFFFF
            else:
                c_bits[i, j] = encode(c_format, generator.gauss(0, 1))
                c_values[i, j] = decode(c_format, c_bits[i, j])
    values = [{at: value_of(t, b) for at, b in bits.items()}
              for t, bits in ((a_type, a_bits), (b_type, b_bits))]
    words, bounds = multiply(*values, c_values, m, n, k, result,
                             ".satfinite" in suffix)

    a_at, b_at = FRAGMENTS[a_type]
    size = {"f32": 32, "s32": 32, "f16": 16, "f64": 64}
    bits = 8 * BYTES[a_type]
    inputs, expected, limits = [], [], []
    for lane in range(32):
        g, t = lane // 4, lane % 4
        inputs += to_words([a_bits[a_at(shape, i, g, t)]
                            for i in range(m * k // 32)], bits)
        inputs += to_words([b_bits[b_at(shape, i, g, t)]
                            for i in range(n * k // 32)], bits)
        places = [c_any(shape, i, g, t) for i in range(m * n // 32)]
        inputs += to_words([c_bits[at] for at in places], size[c_type])
        expected += to_words([words[at] for at in places], size[result])
        limits += [max(bounds[at] for at in places[i:i + 2])
                   if result == "f16" else bounds[places[i]]
                   for i in range(0, len(places), 2 if result == "f16" else 1)]
    wide = a_type == "f64"
    # Registers of A, B, C, D.
    counts = [m * k * bits // 32 // (64 if wide else 32),
              n * k * bits // 32 // (64 if wide else 32),
              m * n * size[c_type] // 32 // (64 if wide else 32),
              m * n * size[result] // 32 // (64 if wide else 32)]
    prefix = "w" if wide else ""
    width = 8 if wide else 4
    stride = width * sum(counts[:3])
    ptx = HEADER + f"  mad.wide.u32 %in, %id, {stride}, %in;\n"
    ptx += f"  mad.wide.u32 %out, %id, {width * counts[3]}, %out;\n"
    at = 0
    for letter, count in zip("abc", counts):
        for i in range(count):
            ptx += (f"  ld.global.b{8 * width} %{prefix}{letter}{i}, "
                    f"[%in+{at}];\n")
            at += width
    groups = ["{" + ", ".join(f"%{prefix}{letter}{i}" for i in range(count)) +
              "}" for letter, count in zip("dabc", [counts[3], *counts[:3]])]
    name = (f"mma.sync.aligned.{shape}.row.col{suffix}.{result}.{a_type}."
            f"{b_type}.{c_type}")
    ptx += f"  {name} {', '.join(groups)};\n"
    for i in range(counts[3]):
        ptx += (f"  st.global.b{8 * width} [%out+{i * width}], "
                f"%{prefix}d{i};\n")
    ptx += "  ret;\n}\n"
    options = {}
    if result in ("f32", "f16"):
        options = {"bounds": limits,
                   "element": F32 if result == "f32" else F16}
    elif result == "f64":
        # Sums of doubles depend on their order in the last bits.
        options = {"words64": True, "relative": 2.0 ** -48}
    CASES.append(Case("mma", name + (" specials" if specials else ""), ptx,
                      inputs, expected, **options))


for specials in (False, True):
    for shape in ("m16n8k8", "m16n8k16"):
        add_mma(shape, "f32", "f16", "f16", "f32", specials=specials)
        add_mma(shape, "f32", "bf16", "bf16", "f32", specials=specials)
        add_mma(shape, "f16", "f16", "f16", "f16", specials=specials)
    for shape in ("m16n8k4", "m16n8k8"):
        add_mma(shape, "f32", "tf32", "tf32", "f32", specials=specials)
    for a in ("e4m3", "e5m2"):
        for b in ("e4m3", "e5m2"):
            add_mma("m16n8k32", "f32", a, b, "f32", specials=specials)
for a in ("s8", "u8"):
    for b in ("s8", "u8"):
        for shape in ("m8n8k16", "m16n8k16", "m16n8k32"):
            add_mma(shape, "s32", a, b, "s32")
            add_mma(shape, "s32", a, b, "s32", ".satfinite")
for shape in ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"):
    add_mma(shape, "f64", "f64", "f64", "f64")

# --- ldmatrix, stmatrix, movmatrix -----------------------------------------


def add_ldmatrix(count, transposed):
    """The matrices' rows lie apart, in an order that is not that of lanes."""
    generator = random.Random(f"ldmatrix{count}{transposed}")
    rows = [[generator.getrandbits(16) for _ in range(8)] for _ in range(32)]
    place = lambda lane: lane * 5 % 32  # which row a lane points to
    words = sum((to_words(row, 16) for row in rows), [])
    expected = []
    for lane in range(32):
        for matrix in range(count):
            pair = []
            for i in range(2):
                row, column = lane // 4, 2 * (lane % 4) + i
                if transposed:
                    row, column = column, row
                pair.append(rows[place(8 * matrix + row)][column])
            expected += to_words(pair, 16)
    registers = "{" + ", ".join(f"%d{i}" for i in range(count)) + "}"
    name = f"ldmatrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16"
    ptx = HEADER.replace("{\n", "{\n  .shared .align 16 .b8 rows[512];\n", 1)
    ptx += f"""  mad.wide.u32 %at, %id, 16, %in;
  ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%at];
  mov.u32 %sm, rows;
  mad.lo.u32 %row, %id, 16, %sm;
  st.shared.v4.b32 [%row], {{%a0, %a1, %a2, %a3}};
  bar.sync 0;
  mul.lo.u32 %t0, %id, 5;
  and.b32 %t0, %t0, 31;
  mad.lo.u32 %row, %t0, 16, %sm;
  {name} {registers}, [%row];
  mad.wide.u32 %out, %id, {4 * count}, %out;
"""
    for i in range(count):
        ptx += f"  st.global.b32 [%out+{4 * i}], %d{i};\n"
    CASES.append(Case("ldmatrix", name, ptx + "  ret;\n}\n", words, expected))


def add_stmatrix(count, transposed):
    generator = random.Random(f"stmatrix{count}{transposed}")
    values = [[generator.getrandbits(16) for _ in range(2 * count)]
              for _ in range(32)]
    words = sum((to_words(v, 16) for v in values), [])
    place = lambda lane: lane * 5 % 32
    rows = {}
    for lane in range(32):
        for matrix in range(count):
            for i in range(2):
                row, column = lane // 4, 2 * (lane % 4) + i
                if transposed:
                    row, column = column, row
                rows[place(8 * matrix + row), column] = \
                    values[lane][2 * matrix + i]
    expected = []
    for row in range(32):
        expected += to_words([rows.get((row, j), 0) for j in range(8)], 16)
    registers = "{" + ", ".join(f"%a{i}" for i in range(count)) + "}"
    name = f"stmatrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16"
    ptx = HEADER.replace("{\n", "{\n  .shared .align 16 .b8 rows[512];\n", 1)
    ptx += f"""  mad.wide.u32 %at, %id, {4 * count}, %in;
"""
    for i in range(count):
        ptx += f"  ld.global.b32 %a{i}, [%at+{4 * i}];\n"
    ptx += f"""  mov.u32 %sm, rows;
  mov.b32 %t1, 0;
  mad.lo.u32 %row, %id, 16, %sm;
  st.shared.v4.b32 [%row], {{%t1, %t1, %t1, %t1}};
  bar.sync 0;
  mul.lo.u32 %t0, %id, 5;
  and.b32 %t0, %t0, 31;
  mad.lo.u32 %t0, %t0, 16, %sm;
  {name} [%t0], {registers};
  bar.sync 0;
  ld.shared.v4.b32 {{%d0, %d1, %d2, %d3}}, [%row];
  mad.wide.u32 %out, %id, 16, %out;
  st.global.v4.b32 [%out], {{%d0, %d1, %d2, %d3}};
  ret;
}}
"""
    CASES.append(Case("ldmatrix", name, ptx, words, expected))


for count in (1, 2, 4):
    for transposed in ("", ".trans"):
        add_ldmatrix(count, transposed)
        add_stmatrix(count, transposed)


def add_movmatrix():
    generator = random.Random("movmatrix")
    matrix = [[generator.getrandbits(16) for _ in range(8)] for _ in range(8)]
    words, expected = [], []
    for lane in range(32):
        row, column = lane // 4, 2 * (lane % 4)
        words += to_words([matrix[row][column], matrix[row][column + 1]], 16)
        expected += to_words([matrix[column][row], matrix[column + 1][row]],
                             16)
    ptx = HEADER + """  mad.wide.u32 %at, %id, 4, %in;
  ld.global.b32 %a0, [%at];
  movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;
  mad.wide.u32 %out, %id, 4, %out;
  st.global.b32 [%out], %d0;
  ret;
}
"""
    CASES.append(Case("ldmatrix", "movmatrix.sync.aligned.m8n8.trans.b16", ptx,
                      words, expected))


add_movmatrix()
