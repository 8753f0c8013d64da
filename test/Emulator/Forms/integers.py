"""Instructions on integers and bits, comparisons and atomics, one thread each."""

import math

from case import Case
from elementwise import COUNT, SPECIALS, TEMPLATE, halves, inputs, make
from floats import BF16, F16, F32, decode, encode

SPECIALS["b32"] = [0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 255, 256, 0x7FFF,
                   0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000,
                   0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 0x55555555, 0x01010101]

MASK = 0xFFFFFFFF
CASES = []


def add(*arguments, **options):
    CASES.append(make("integer", *arguments, **options))


def signed(value, bits=32):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def divide(x, y):
    """Towards zero."""
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def clamp(value, low, high):
    return max(low, min(high, value))


def integer(name, operands, function, sign=False, body=""):
    """A form `name %d, operands`; the function gets a, b and c as integers,
    with a sign if asked, and may return None for what PTX leaves open."""
    def expected(*bits):
        result = function(*(map(signed, bits) if sign else bits))
        return None if result is None else result & MASK
    add(name, "b32", body + f"{name} {operands};", expected)


# --- Arithmetic -------------------------------------------------------------

AB, ABC = "%d, %a, %b", "%d, %a, %b, %c"
integer("add.s32", AB, lambda a, b, c: a + b)
integer("add.sat.s32", AB, lambda a, b, c: clamp(a + b, -2 ** 31, 2 ** 31 - 1),
        sign=True)
integer("sub.s32", AB, lambda a, b, c: a - b)
integer("sub.sat.s32", AB, lambda a, b, c: clamp(a - b, -2 ** 31, 2 ** 31 - 1),
        sign=True)
for suffix, sign in ((".u32", False), (".s32", True)):
    integer("mul.lo" + suffix, AB, lambda a, b, c: a * b, sign)
    integer("mul.hi" + suffix, AB, lambda a, b, c: a * b >> 32, sign)
    integer("mad.lo" + suffix, ABC, lambda a, b, c: a * b + c, sign)
    integer("mad.hi" + suffix, ABC, lambda a, b, c: (a * b >> 32) + c, sign)
    wide = (f"mul.wide{suffix} %at, %a, %b; mov.b64 {{%w0, %w1}}, %at; "
            "xor.b32 %d, %w0, %w1;")
    # The address is needed once more.
    add("mul.wide" + suffix, "b32",
        wide.replace("%at", "%in"),
        lambda a, b, c, s=sign: (lambda p: (p ^ p >> 32) & MASK)(
            signed(a) * signed(b) if s else a * b))
    integer("div" + suffix, AB, lambda a, b, c: divide(a, b) if b else None,
            sign)
    integer("rem" + suffix, AB,
            lambda a, b, c: a - b * divide(a, b) if b else None, sign)
    integer("min" + suffix, AB, lambda a, b, c: min(a, b), sign)
    integer("max" + suffix, AB, lambda a, b, c: max(a, b), sign)
    integer("sad" + suffix, ABC, lambda a, b, c: abs(a - b) + c, sign)
    integer("mul24.lo" + suffix, AB, lambda a, b, c, s=sign: (
        signed(a, 24) * signed(b, 24) if s else
        (a & 0xFFFFFF) * (b & 0xFFFFFF)))
integer("min.relu.s32", AB, lambda a, b, c: max(0, min(a, b)), sign=True)
integer("max.relu.s32", AB, lambda a, b, c: max(0, a, b), sign=True)
integer("abs.s32", "%d, %a", lambda a, b, c: abs(a), sign=True)
integer("neg.s32", "%d, %a", lambda a, b, c: -a, sign=True)
for name, take in (("min", min), ("max", max)):
    add(name + ".s16x2", "b32", name + ".s16x2 %d, %a, %b;",
        halves(lambda a, b, c, t=take: t(signed(a, 16), signed(b, 16)) &
               0xFFFF))
    add(name + ".u16x2", "b32", name + ".u16x2 %d, %a, %b;",
        halves(lambda a, b, c, t=take: t(a, b)))
add("add.u16x2", "b32", "add.u16x2 %d, %a, %b;",
    halves(lambda a, b, c: a + b & 0xFFFF))


def dot(a, b, c, parts, sign_a, sign_b, take=0):
    bits = 32 // parts
    total = 0
    for i in range(4 if parts == 4 else 2):
        x = a >> bits * i & (1 << bits) - 1
        y = b >> 8 * (i + 2 * take) & 0xFF
        total += (signed(x, bits) if sign_a else x) * (
            signed(y, 8) if sign_b else y)
    return total + c


for left in ("u32", "s32"):
    for right in ("u32", "s32"):
        integer(f"dp4a.{left}.{right}", ABC,
                lambda a, b, c, s=left == "s32", t=right == "s32":
                dot(a, b, c, 4, s, t))
    integer(f"dp2a.lo.{left}.s32", ABC, lambda a, b, c, s=left == "s32":
            dot(a, b, c, 2, s, True))
    integer(f"dp2a.hi.{left}.s32", ABC, lambda a, b, c, s=left == "s32":
            dot(a, b, c, 2, s, True, 1))
for name, carry, function in (
        ("add.cc.u32, addc.u32", "add.cc.u32 %w0, %a, %b; addc.u32 %d, %c, 0;",
         lambda a, b, c: c + (a + b >> 32)),
        ("sub.cc.u32, subc.u32", "sub.cc.u32 %w0, %a, %b; subc.u32 %d, %c, 0;",
         lambda a, b, c: c - (a < b)),
        ("mad.lo.cc.u32, madc.hi.u32",
         "mad.lo.cc.u32 %w0, %a, %b, %c; madc.hi.u32 %d, %a, %b, 0;",
         lambda a, b, c: a * b + c >> 32)):
    add(name, "b32", carry, lambda a, b, c, f=function: f(a, b, c) & MASK)

# --- Bits -------------------------------------------------------------------

integer("and.b32", AB, lambda a, b, c: a & b)
integer("or.b32", AB, lambda a, b, c: a | b)
integer("xor.b32", AB, lambda a, b, c: a ^ b)
integer("not.b32", "%d, %a", lambda a, b, c: ~a)
integer("cnot.b32", "%d, %a", lambda a, b, c: a == 0)
integer("popc.b32", "%d, %a", lambda a, b, c: bin(a).count("1"))
integer("clz.b32", "%d, %a", lambda a, b, c: 32 - a.bit_length())
integer("brev.b32", "%d, %a", lambda a, b, c: int(f"{a:032b}"[::-1], 2))
integer("bfind.u32", "%d, %a", lambda a, b, c: a.bit_length() - 1)
integer("bfind.s32", "%d, %a",
        lambda a, b, c: (a if a >= 0 else ~a).bit_length() - 1, sign=True)
integer("bfind.shiftamt.u32", "%d, %a",
        lambda a, b, c: 32 - a.bit_length() if a else -1)


def lookup(table):
    def expected(a, b, c):
        result = 0
        for i in range(32):
            index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1
            result |= (table >> index & 1) << i
        return result
    return expected


for table in (0x96, 0xE8, 0x2A):
    integer("lop3.b32", f"%d, %a, %b, %c, {table}", lookup(table))
    CASES[-1].name += f" {table:#x}"


def extract(a, b, c, sign):
    """bfe: bits of a from position b on, c of them."""
    position, length = b & 0xFF, c & 0xFF
    if length == 0:
        return 0
    last = min(position + length - 1, 31)
    top = a >> last & 1 if sign else 0
    result = 0
    for i in range(32):
        bit = a >> position + i & 1 if i < length and position + i <= 31 \
            else top
        result |= bit << i
    return result


def insert(a, b, c):
    """bfi: the low bits of a into b at a position."""
    position, length = c & 0xFF, c >> 8 & 0xFF
    result = b
    for i in range(length):
        if position + i > 31:
            break
        result = result & ~(1 << position + i) | (a >> i & 1) << position + i
    return result


SMALL = "and.b32 %b, %b, 63; and.b32 %c, %c, 63; "
for suffix, sign in ((".u32", False), (".s32", True)):
    integer("bfe" + suffix, ABC,
            lambda a, b, c, s=sign: extract(a, b & 63, c & 63, s), body=SMALL)
integer("bfi.b32", "%d, %a, %b, %w0, %w1",
        lambda a, b, c: insert(a, b, (c & 63) | (c >> 8 & 63) << 8),
        body="and.b32 %w0, %c, 63; bfe.u32 %w1, %c, 8, 6; ")
integer("shl.b32", AB, lambda a, b, c: a << (b & 63), body=SMALL)
integer("shr.u32", AB, lambda a, b, c: a >> (b & 63), body=SMALL)
integer("shr.s32", AB, lambda a, b, c: signed(a) >> (b & 63), body=SMALL)
for mode, limit in (("wrap", lambda c: c & 31),
                    ("clamp", lambda c: min(c & 63, 32))):
    integer(f"shf.l.{mode}.b32", ABC, lambda a, b, c, l=limit:
            (b << 32 | a) << l(c) >> 32, body=SMALL.replace("b32 %b, %b",
                                                            "b32 %w0, %b"))
    integer(f"shf.r.{mode}.b32", ABC, lambda a, b, c, l=limit:
            (b << 32 | a) >> l(c), body=SMALL.replace("b32 %b, %b",
                                                      "b32 %w0, %b"))


def permute(a, b, c):
    result = 0
    pool = b << 32 | a
    for i in range(4):
        selector = c >> 4 * i & 15
        byte = pool >> 8 * (selector & 7) & 0xFF
        if selector & 8:
            byte = 0xFF if byte & 0x80 else 0
        result |= byte << 8 * i
    return result


def permute_mode(indices):
    """prmt with a mode takes four bytes of the pool, chosen by c & 3."""
    def expected(a, b, c):
        pool = b << 32 | a
        return sum((pool >> 8 * index & 0xFF) << 8 * i
                   for i, index in enumerate(indices[c & 3]))
    return expected


# Of PTX ISA 9.7.9.7, each line from byte 3 to byte 0 there.
PERMUTATIONS = {
    "f4e": [(0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)],
    "b4e": [(0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)],
    "rc8": [(0,) * 4, (1,) * 4, (2,) * 4, (3,) * 4],
    "ecl": [(0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)],
    "ecr": [(0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)],
    "rc16": [(0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)],
}
integer("prmt.b32", ABC, permute)
for mode, indices in PERMUTATIONS.items():
    integer("prmt.b32." + mode, ABC, permute_mode(indices))
for suffix, sign in ((".u32", False), (".s32", True)):
    integer("szext.wrap" + suffix, AB, lambda a, b, c, s=sign: (
        (signed if s else lambda v, n: v & (1 << n) - 1)(a, b & 31)
        if b & 31 else 0), body=SMALL)
integer("bmsk.clamp.b32", AB, lambda a, b, c: (
    ((1 << min(b & 63, 32)) - 1) << min(a & 63, 32)),
    body=SMALL + "and.b32 %a, %a, 63; ")
integer("bmsk.wrap.b32", AB,
        lambda a, b, c: ((1 << (b & 31)) - 1) << (a & 31), body=SMALL)

# --- Conversions ------------------------------------------------------------

for name, low, high in (("u8", 0, 255), ("s8", -128, 127),
                        ("u16", 0, 65535), ("s16", -32768, 32767)):
    wide = "8" in name
    for source in ("s32", "u32"):
        # A result of 8 bits stands in 16, extended.
        add(f"cvt.sat.{name}.{source}", "b32",
            f"cvt.sat.{name}.{source} %h0, %a; "
            f"cvt.{'s32.s16' if low else 'u32.u16'} %d, %h0;",
            lambda a, b, c, l=low, h=high, s=source == "s32":
            clamp(signed(a) if s else a, l, h) & MASK)
integer("cvt.sat.u32.s32", "%d, %a", lambda a, b, c: max(0, a), sign=True)
integer("cvt.sat.s32.u32", "%d, %a", lambda a, b, c: min(a, 2 ** 31 - 1))
for name, bits in (("u16", 16), ("s16", 16)):
    integer(f"cvt.pack.sat.{name}.s32", AB, lambda a, b, c, s=name[0] == "s":
            (clamp(a, -2 ** 15 if s else 0, 2 ** (15 if s else 16) - 1) &
             0xFFFF) << 16 |
            clamp(b, -2 ** 15 if s else 0, 2 ** (15 if s else 16) - 1) &
            0xFFFF, sign=True)
for name in ("u8", "s8"):
    integer(f"cvt.pack.sat.{name}.s32.b32", ABC,
            lambda a, b, c, s=name[0] == "s":
            (clamp(signed(a), -128 if s else 0, 127 if s else 255) & 255) << 8
            | clamp(signed(b), -128 if s else 0, 127 if s else 255) & 255 |
            (c & 0xFFFF) << 16)
ROUNDINGS = {"rni": round, "rzi": math.trunc, "rmi": math.floor,
             "rpi": math.ceil}
for mode, function in ROUNDINGS.items():
    for name, low, high in (("s32", -2 ** 31, 2 ** 31 - 1),
                            ("u32", 0, 2 ** 32 - 1)):
        def expected(a, b, c, f=function, l=low, h=high):
            value = decode(F32, a)
            if math.isnan(value):
                return 0
            if math.isinf(value):
                return (h if value > 0 else l) & MASK
            return clamp(f(value), l, h) & MASK
        add(f"cvt.{mode}.{name}.f32", "f32", f"cvt.{mode}.{name}.f32 %d, %a;",
            expected)

    def whole(a, b, c, f=function):
        value = decode(F32, a)
        if math.isnan(value):
            return F32.nan
        if math.isinf(value):
            return a
        result = encode(F32, float(f(value)))
        return result & ~F32.sign | a & F32.sign
    add(f"cvt.{mode}.f32.f32", "f32", f"cvt.{mode}.f32.f32 %d, %a;", whole)
for mode in ("rn", "rz", "rm", "rp"):
    for name in ("s32", "u32"):
        add(f"cvt.{mode}.f32.{name}", "b32", f"cvt.{mode}.f32.{name} %d, %a;",
            lambda a, b, c, m=mode, s=name == "s32":
            encode(F32, float(signed(a) if s else a), m))

# --- Comparisons ------------------------------------------------------------

ORDERED = {"eq": lambda x, y: x == y, "ne": lambda x, y: x != y,
           "lt": lambda x, y: x < y, "le": lambda x, y: x <= y,
           "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y}
SELECT = "{{ .reg .pred p; {0} p, %a, %b; selp.b32 %d, 1, 2, p; }}"
for name, function in ORDERED.items():
    for suffix, kind in ((".s32", signed), (".u32", lambda v: v)):
        # Equal operands, too.
        add(f"setp.{name}{suffix}", "b32",
            "and.b32 %w0, %c, 3; setp.eq.u32 p, %w0, 0; @p mov.b32 %b, %a; "
            .join(("{ .reg .pred p; ", "")) +
            f"setp.{name}{suffix} p, %a, %b; selp.b32 %d, 1, 2, p; }}",
            lambda a, b, c, f=function, k=kind:
            1 if f(k(a), k(b if c & 3 else a)) else 2)

    def compare(a, b, c, f=function, nan=False):
        x, y = decode(F32, a), decode(F32, b)
        if math.isnan(x) or math.isnan(y):
            return 1 if nan else 2
        return 1 if f(x, y) else 2
    add(f"setp.{name}.f32", "f32", SELECT.format(f"setp.{name}.f32"), compare)
    add(f"setp.{name}u.f32", "f32", SELECT.format(f"setp.{name}u.f32"),
        lambda a, b, c, e=compare: e(a, b, c, nan=True))
    add(f"set.{name}.f32.f32", "f32", f"set.{name}.f32.f32 %d, %a, %b;",
        lambda a, b, c, e=compare: 0x3F800000 if e(a, b, c) == 1 else 0)
    add(f"set.{name}.u32.f32", "f32", f"set.{name}.u32.f32 %d, %a, %b;",
        lambda a, b, c, e=compare: MASK if e(a, b, c) == 1 else 0)
is_nan = lambda bits: math.isnan(decode(F32, bits))
add("setp.num.f32", "f32", SELECT.format("setp.num.f32"),
    lambda a, b, c: 2 if is_nan(a) or is_nan(b) else 1)
add("setp.nan.f32", "f32", SELECT.format("setp.nan.f32"),
    lambda a, b, c: 1 if is_nan(a) or is_nan(b) else 2)
add("slct.b32.s32", "b32", "slct.b32.s32 %d, %a, %b, %c;",
    lambda a, b, c: b if c >> 31 else a)
add("slct.b32.f32", "f32", "slct.b32.f32 %d, %a, %b, %c;",
    lambda a, b, c: a if decode(F32, c) >= 0 else b)
add("copysign.f32", "f32", "copysign.f32 %d, %a, %b;",
    lambda a, b, c: a & F32.sign | b & ~F32.sign)
for name, function in (
        ("finite", math.isfinite), ("infinite", math.isinf),
        ("number", lambda v: not math.isnan(v)), ("notanumber", math.isnan),
        # Zero is normal, PTX says.
        ("normal", lambda v: v == 0 or 2.0 ** -126 <= abs(v) < math.inf),
        ("subnormal", lambda v: 0 < abs(v) < 2.0 ** -126)):
    add(f"testp.{name}.f32", "f32",
        f"{{ .reg .pred p; testp.{name}.f32 p, %a; selp.b32 %d, 1, 2, p; }}",
        lambda a, b, c, f=function: 1 if f(decode(F32, a)) else 2)

# --- Atomics ----------------------------------------------------------------


def add_atomic(name, kind, function, operands="%b"):
    """On a word of each thread; the result is the sum of the old value and
    the new one in its other half, so that both show."""
    body = ("mov.u32 %w0, words; mad.lo.u32 %w0, %i, 4, %w0; "
            "st.shared.b32 [%w0], %a; "
            f"{name} %w1, [%w0], {operands}; ld.shared.b32 %w2, [%w0]; "
            "shf.l.wrap.b32 %w2, %w2, %w2, 16; add.u32 %d, %w1, %w2;")
    operands = [inputs(kind, seed, True) for seed in (1, 2, 3)]
    turned = lambda v: (v << 16 | v >> 16) & MASK
    results = []
    for a, b, c in zip(*operands):
        new = function(a, b, c)
        results.append(None if new is None else a + turned(new & MASK) & MASK)
    ptx = TEMPLATE.format(b=4 * COUNT, c=8 * COUNT, body=body).replace(
        "  .reg .b16", f"  .shared .align 4 .b8 words[{4 * COUNT}];\n"
        "  .reg .b16")
    CASES.append(Case("integer", name, ptx, sum(operands, []), results,
                      block=COUNT))


def float_sum(format):
    def expected(a, b, c):
        x, y = decode(format, a), decode(format, b)
        if math.isnan(x) or math.isnan(y) or math.isinf(x) or math.isinf(y):
            return None
        # Denormals stay or not, by the memory's side of the device.
        total = x + y
        return encode(format, total)
    return expected


def both(function):
    def expected(a, b, c):
        low = function(a & 0xFFFF, b & 0xFFFF, 0)
        high = function(a >> 16, b >> 16, 0)
        return None if low is None or high is None else high << 16 | low
    return expected


ATOM = "atom.shared."
add_atomic(ATOM + "add.u32", "b32", lambda a, b, c: a + b)
add_atomic(ATOM + "and.b32", "b32", lambda a, b, c: a & b)
add_atomic(ATOM + "or.b32", "b32", lambda a, b, c: a | b)
add_atomic(ATOM + "xor.b32", "b32", lambda a, b, c: a ^ b)
add_atomic(ATOM + "exch.b32", "b32", lambda a, b, c: b)
add_atomic(ATOM + "cas.b32", "b32",
           lambda a, b, c: c if a == b else a, "%b, %c")
add_atomic(ATOM + "min.u32", "b32", lambda a, b, c: min(a, b))
add_atomic(ATOM + "max.s32", "b32", lambda a, b, c: max(signed(a), signed(b)))
add_atomic(ATOM + "inc.u32", "b32", lambda a, b, c: 0 if a >= b else a + 1)
add_atomic(ATOM + "dec.u32", "b32",
           lambda a, b, c: b if a == 0 or a > b else a - 1)
add_atomic(ATOM + "add.noftz.f16x2", "f16x2", both(float_sum(F16)))
add_atomic(ATOM + "add.noftz.bf16x2", "bf16x2", both(float_sum(BF16)))


def shared_f32_sum(a, b, c):
    if any(0 < abs(decode(F32, v)) < 2.0 ** -126 for v in (a, b)):
        return None  # PTX: shared memory flushes or keeps denormals
    return float_sum(F32)(a, b, c)


add_atomic(ATOM + "add.f32", "f32", shared_f32_sum)
