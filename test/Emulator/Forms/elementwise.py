"""Instructions that map numbers to numbers, one thread each."""

import math
import random
from fractions import Fraction

from case import Case
from floats import (BF16, E4M3, E5M2, F16, F32, TF32, combine, convert, decode,
                    encode, flush)

COUNT = 512

SPECIALS = {
    "f32": [0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF,
            0x00800000, 0x80800000, 0x00400000, 0x3F800000, 0xBF800000,
            0x3F800001, 0x3F7FFFFF, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000,
            0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0x7FFFFFFF,
            0xFFFFABCD, 0x3F808000, 0x3F818000, 0x3F807FFF, 0x3F808001,
            0x477FE000, 0x477FEFFF, 0x477FF000, 0x38800000, 0x387FFFFF,
            0x33800000, 0x33000000, 0x33000001, 0x32FFFFFF, 0x33C00000,
            0x3F801000, 0x3F803000, 0x3F800FFF, 0x7F7F8000, 0x7F7FEFFF,
            0x7F7FF000, 0x43E00000, 0x43E80000, 0x43E7FFFF, 0x43F00000,
            0x47600000, 0x47700000, 0x476FFFFF, 0x3A800000, 0x3B000000,
            0x3AFFFFFF, 0x37800000, 0x37000000, 0x37000001, 0x7E800000,
            0x7E800001, 0x7F000000, 0x00FFFFFF, 0x42FE0000, 0xC2FC0000],
    "f16x2": [0x00000000, 0x80008000, 0x00010001, 0x83FF03FF, 0x04000400,
              0x3C003C00, 0xBC003C01, 0x7BFFFBFF, 0x7C00FC00, 0x7E00FE00,
              0x7C01FFFF, 0x3BFF3C01, 0x00020200, 0x1400A400, 0x78007800],
    "bf16x2": [0x00000000, 0x80008000, 0x00010001, 0x807F007F, 0x00800080,
               0x3F803F80, 0xBF803F81, 0x7F7FFF7F, 0x7F80FF80, 0x7FC0FFC0,
               0x7F81FFFF, 0x3F7F3F81, 0x00020040, 0x5F805F80, 0x1F801F80],
}


def inputs(kind, seed, around_one=False):
    """Special numbers, and random ones: of all bits, and of medium size."""
    generator = random.Random(seed)
    values = list(SPECIALS[kind])
    while len(values) < COUNT:
        bits = generator.getrandbits(32)
        if len(values) % 4 and kind == "f32":
            spread = 8 if around_one else 40
            exponent = 127 + generator.randrange(-spread, spread)
            bits = bits & 0x807FFFFF | exponent << 23
        elif len(values) % 4 and kind == "bf16x2":
            bits = bits & 0x8FFF8FFF | 0x30003000
        values.append(bits)
    generator.shuffle(values)
    return values


TEMPLATE = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry form(.param .u64 in, .param .u64 out)
{{
  .reg .b64 %in, %out, %at;
  .reg .b32 %i, %a, %b, %c, %d, %w<8>;
  .reg .b16 %h<8>;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %at, %i, 4;
  add.u64 %in, %in, %at;
  add.u64 %out, %out, %at;
  ld.global.b32 %a, [%in];
  ld.global.b32 %b, [%in+{b}];
  ld.global.b32 %c, [%in+{c}];
  {body}
  st.global.b32 [%out], %d;
  ret;
}}
"""

CASES = []


def make(family, name, kind, body, expected, around_one=False, **options):
    """`expected` maps the bits of a, b and c to those of the result."""
    operands = [inputs(kind, seed, around_one) for seed in (1, 2, 3)]
    ptx = TEMPLATE.format(b=4 * COUNT, c=8 * COUNT, body=body)
    results = [expected(*values) for values in zip(*operands)]
    return Case(family, name, ptx, sum(operands, []), results, block=COUNT,
                **options)


def add(*arguments, **options):
    CASES.append(make("elementwise", *arguments, **options))


def halves(function):
    """Applies a function of 16-bit operands to both halves."""
    return lambda a, b, c: (function(a & 0xFFFF, b & 0xFFFF, c & 0xFFFF) |
                            function(a >> 16, b >> 16, c >> 16) << 16)


# --- Conversions ------------------------------------------------------------

for name, format in (("bf16", BF16), ("f16", F16)):
    for mode in ("rn", "rz"):
        for suffix, flags in (("", {}), (".relu", {"relu": True})):
            add(f"cvt.{mode}{suffix}.{name}x2.f32", "f32",
                f"cvt.{mode}{suffix}.{name}x2.f32 %d, %a, %b;",
                lambda a, b, c, f=format, m=mode, o=flags:
                convert(a, F32, f, mode=m, **o) << 16 |
                convert(b, F32, f, mode=m, **o))
        add(f"cvt.{mode}.{name}.f32", "f32",
            f"cvt.{mode}.{name}.f32 %h0, %a; cvt.u32.u16 %d, %h0;",
            lambda a, b, c, f=format, m=mode: convert(a, F32, f, mode=m))
for mode in ("rm", "rp"):
    add(f"cvt.{mode}.f16.f32", "f32",
        f"cvt.{mode}.f16.f32 %h0, %a; cvt.u32.u16 %d, %h0;",
        lambda a, b, c, m=mode: convert(a, F32, F16, mode=m))
add("cvt.f32.f16", "f16x2",
    "mov.b32 {%h0, %h1}, %a; cvt.f32.f16 %d, %h0;",
    lambda a, b, c: convert(a & 0xFFFF, F16, F32))
add("cvt.f32.bf16", "bf16x2",
    "mov.b32 {%h0, %h1}, %a; cvt.f32.bf16 %d, %h0;",
    lambda a, b, c: (a & 0xFFFF) << 16)
add("cvt.rna.tf32.f32", "f32", "cvt.rna.tf32.f32 %d, %a;",
    lambda a, b, c: a & 0xFFFFE000 if math.isnan(decode(F32, a)) else
    convert(a, F32, TF32, mode="rna"))
add("cvt.rn.tf32.f32", "f32", "cvt.rn.tf32.f32 %d, %a;",
    lambda a, b, c: convert(a, F32, TF32))
for name, format in (("e4m3", E4M3), ("e5m2", E5M2)):
    for suffix, flags in (("", {}), (".relu", {"relu": True})):
        add(f"cvt.rn.satfinite{suffix}.{name}x2.f32", "f32",
            f"cvt.rn.satfinite{suffix}.{name}x2.f32 %h0, %a, %b;"
            " cvt.u32.u16 %d, %h0;",
            lambda a, b, c, f=format, o=flags:
            convert(a, F32, f, satfinite=True, **o) << 8 |
            convert(b, F32, f, satfinite=True, **o))
    add(f"cvt.rn.satfinite.{name}x2.f16x2", "f16x2",
        f"cvt.rn.satfinite.{name}x2.f16x2 %h0, %a; cvt.u32.u16 %d, %h0;",
        lambda a, b, c, f=format:
        convert(a >> 16, F16, f, satfinite=True) << 8 |
        convert(a & 0xFFFF, F16, f, satfinite=True))
    add(f"cvt.rn.f16x2.{name}x2", "f32",
        f"cvt.u16.u32 %h0, %a; cvt.rn.f16x2.{name}x2 %d, %h0;",
        lambda a, b, c, f=format:
        convert(a >> 8 & 0xFF, f, F16) << 16 | convert(a & 0xFF, f, F16))

# --- Arithmetic -------------------------------------------------------------


def arithmetic(function, format, mode="rn", ftz=False, **flags):
    def expected(*bits):
        if ftz:
            bits = [flush(format, b) for b in bits]
        values = [decode(format, b) for b in bits]
        result = combine(function, values)
        if mode == "rm" and result == 0:
            return None  # floats have the sign of rounding to nearest
        return encode(format, result, mode, ftz=ftz, **flags)
    return expected


FUNCTIONS = {"add": lambda a, b, c: a + b, "sub": lambda a, b, c: a - b,
             "mul": lambda a, b, c: a * b, "fma": lambda a, b, c: a * b + c}


def binary(operation):
    function = FUNCTIONS[operation]
    if operation == "fma":
        return function, 3
    return (lambda a, b: function(a, b, 0)), 2


for operation in FUNCTIONS:
    function, arity = binary(operation)
    operands = ", ".join(["%d", "%a", "%b", "%c"][:arity + 1])

    def limit(expected, arity=arity):
        return lambda *bits: expected(*bits[:arity])

    for mode in ("rn", "rz", "rm", "rp"):
        add(f"{operation}.{mode}.f32", "f32",
            f"{operation}.{mode}.f32 {operands};",
            limit(arithmetic(function, F32, mode)), around_one=True)
    add(f"{operation}.rn.ftz.f32", "f32",
        f"{operation}.rn.ftz.f32 {operands};",
        limit(arithmetic(function, F32, ftz=True)), around_one=True)
    for name, format in (("f16x2", F16), ("bf16x2", BF16)):
        add(f"{operation}.rn.{name}", name,
            f"{operation}.rn.{name} {operands};",
            halves(limit(arithmetic(function, format))))
    add(f"{operation}.rn.sat.f16x2", "f16x2",
        f"{operation}.rn.sat.f16x2 {operands};",
        halves(limit(arithmetic(function, F16, sat=True))))
for name, format in (("f16x2", F16), ("bf16x2", BF16)):
    add(f"fma.rn.relu.{name}", name, f"fma.rn.relu.{name} %d, %a, %b, %c;",
        halves(arithmetic(FUNCTIONS["fma"], format, relu=True)))

for mode in ("rn", "rz", "rm", "rp"):
    add(f"div.{mode}.f32", "f32", f"div.{mode}.f32 %d, %a, %b;",
        lambda a, b, c, e=arithmetic(lambda x, y: x / y, F32, mode): e(a, b),
        around_one=True)
    add(f"rcp.{mode}.f32", "f32", f"rcp.{mode}.f32 %d, %a;",
        lambda a, b, c, m=mode: encode(
            F32, combine(lambda x, y: x / y, [1.0, decode(F32, a)]), m))


def root(bits, mode):
    """The correctly rounded square root: by squares, not by roots."""
    value = decode(F32, bits)
    if math.isnan(value) or value < 0:
        return F32.nan
    if value == 0 or math.isinf(value):
        return bits
    # √v to 200 bits, and not exact unless its square is.
    exact = Fraction(value)
    scaled = (exact.numerator << 400) // exact.denominator
    estimate = Fraction(math.isqrt(scaled), 1 << 200)
    if estimate * estimate != exact:
        estimate += Fraction(1, 1 << 210)
    return encode(F32, estimate, mode)


for mode in ("rn", "rz", "rm", "rp"):
    add(f"sqrt.{mode}.f32", "f32", f"sqrt.{mode}.f32 %d, %a;",
        lambda a, b, c, m=mode: root(a, m))


def extremum(format, take, nan=False):
    def expected(a, b):
        x, y = decode(format, a), decode(format, b)
        if nan and (math.isnan(x) or math.isnan(y)):
            return format.nan
        if math.isnan(x):
            return format.nan if math.isnan(y) else b
        if math.isnan(y):
            return a
        order = lambda v: (v, math.copysign(1, v))
        return a if take(order(x), order(y)) == order(x) else b
    return expected


for operation, take in (("min", min), ("max", max)):
    for suffix in ("", ".NaN"):
        for name, format in (("f16x2", F16), ("bf16x2", BF16)):
            e = extremum(format, take, bool(suffix))
            add(f"{operation}{suffix}.{name}", name,
                f"{operation}{suffix}.{name} %d, %a, %b;",
                halves(lambda a, b, c, e=e: e(a, b)))
        add(f"{operation}{suffix}.f32", "f32",
            f"{operation}{suffix}.f32 %d, %a, %b;",
            lambda a, b, c, e=extremum(F32, take, bool(suffix)): e(a, b))

# --- Approximations ---------------------------------------------------------


def safely(function):
    def call(value):
        try:
            return function(value)
        except OverflowError:
            return math.inf
        except (ValueError, ZeroDivisionError):
            return special(function, value)
    return call


def special(function, value):
    """Where Python raises, what IEEE 754 gives."""
    if value == 0 and function in (reciprocal, reciprocal_root):
        return math.copysign(math.inf, value)
    if value == 0 and function is math.log2:
        return -math.inf
    return math.nan


def reciprocal(value):
    return 1 / value


def reciprocal_root(value):
    return 1 / math.sqrt(value) if value else 1 / value


def exp2(value):
    return 2.0 ** value


APPROXIMATIONS = [
    # name, function, relative and absolute error that PTX documents
    ("ex2.approx.f32", exp2, 2.0 ** -22, 0),
    ("ex2.approx.ftz.f32", exp2, 2.0 ** -22, 0),
    ("lg2.approx.f32", math.log2, 2.0 ** -22, 2.0 ** -22),
    ("rcp.approx.ftz.f32", reciprocal, 2.0 ** -23, 0),
    ("rsqrt.approx.f32", reciprocal_root, 2.0 ** -22.4, 0),
    ("rsqrt.approx.ftz.f32", reciprocal_root, 2.0 ** -22.4, 0),
    ("sqrt.approx.f32", math.sqrt, 2.0 ** -22, 0),
    ("tanh.approx.f32", math.tanh, 2.0 ** -11, 0),
]
for name, function, relative, absolute in APPROXIMATIONS:
    ftz = ".ftz" in name

    def expected(a, b, c, function=function, ftz=ftz):
        value = decode(F32, flush(F32, a) if ftz else a)
        return encode(F32, safely(function)(value), ftz=ftz)

    add(name, "f32", f"{name} %d, %a;", expected, around_one=True,
        relative=relative, absolute=absolute)


def small_angle(function):
    """PTX bounds the error for |x| ≤ 2π only."""
    def expected(a, b, c):
        value = decode(F32, a)
        if not math.isfinite(value):
            return F32.nan
        return encode(F32, function(value)) if abs(value) < 6.28 else None
    return expected


add("sin.approx.f32", "f32", "sin.approx.f32 %d, %a;", small_angle(math.sin),
    around_one=True, absolute=2.0 ** -20)
add("cos.approx.f32", "f32", "cos.approx.f32 %d, %a;", small_angle(math.cos),
    around_one=True, absolute=2.0 ** -20)
add("div.full.f32", "f32", "div.full.f32 %d, %a, %b;",
    lambda a, b, c: arithmetic(lambda x, y: x / y, F32)(a, b),
    around_one=True, relative=2.0 ** -22)


def approximate_division(a, b, c):
    divisor = decode(F32, b)
    if abs(divisor) < 2.0 ** -126 or 2.0 ** 126 < abs(divisor) < math.inf:
        return None  # outside of what is documented
    return arithmetic(lambda x, y: x / y, F32)(a, b)


add("div.approx.f32", "f32", "div.approx.f32 %d, %a, %b;",
    approximate_division, around_one=True, relative=2.0 ** -22)
for name, format, error in (("f16x2", F16, 2.0 ** -9.9),
                            ("ftz.bf16x2", BF16, 2.0 ** -7)):
    kind = name.split(".")[-1]
    add(f"ex2.approx.{name}", kind, f"ex2.approx.{name} %d, %a;",
        halves(lambda a, b, c, f=format, z="ftz" in name: encode(
            f, safely(exp2)(decode(f, flush(f, a) if z else a)), ftz=z)),
        relative=error, element=format)
for name, format, error in (("f16x2", F16, 2.0 ** -10.9),
                            ("bf16x2", BF16, 2.0 ** -8)):
    add(f"tanh.approx.{name}", name, f"tanh.approx.{name} %d, %a;",
        halves(lambda a, b, c, f=format: encode(
            f, math.tanh(decode(f, a)))),
        absolute=error, relative=error, element=format)
