"""Floating-point formats by their definition, in exact arithmetic."""

import math
from fractions import Fraction


class Format:
    """Stored as sign, exponent, mantissa, above `padding` zero bits."""

    def __init__(self, exponent, mantissa, nan, infinities=True, padding=0):
        self.exponent, self.mantissa = exponent, mantissa
        self.bias = 2 ** (exponent - 1) - 1
        self.nan, self.infinities, self.padding = nan, infinities, padding
        self.sign = 1 << (exponent + mantissa)
        self.infinity = (2 ** exponent - 1) << mantissa
        # The largest number: without infinities, only all ones is no number.
        self.largest = self.sign - 2 if not infinities else self.infinity - 1


F16 = Format(5, 10, 0x7FFF)
BF16 = Format(8, 7, 0x7FFF)
TF32 = Format(8, 10, 0x7FFFFFFF, padding=13)
F32 = Format(8, 23, 0x7FFFFFFF)
F64 = Format(11, 52, 0x7FFFFFFFFFFFFFFF)
E4M3 = Format(4, 3, 0x7F, infinities=False)
E5M2 = Format(5, 2, 0x7F)


def decode(format, bits):
    """The value as a float, which is exact for all formats here."""
    bits >>= format.padding
    magnitude = bits & (format.sign - 1)
    sign = -1.0 if bits & format.sign else 1.0
    if magnitude > format.largest:
        if format.infinities and magnitude == format.infinity:
            return sign * math.inf
        return math.nan
    exponent = magnitude >> format.mantissa
    fraction = magnitude & ((1 << format.mantissa) - 1)
    if exponent:
        fraction += 1 << format.mantissa
    scale = max(exponent, 1) - format.bias - format.mantissa
    return sign * math.ldexp(fraction, scale)


def round_to_integer(value, mode, negative):
    """A Fraction that is not negative to an integer; `mode` as in PTX."""
    whole = value.numerator // value.denominator
    rest = value - whole
    half = Fraction(1, 2)
    up = {"rn": rest > half or (rest == half and whole % 2 == 1),
          "rna": rest >= half, "rz": False,
          "rm": negative and rest != 0,
          "rp": not negative and rest != 0}[mode]
    return whole + up


def encode(format, value, mode="rn", satfinite=False, relu=False, sat=False,
           ftz=False):
    """Bits of a float or Fraction after one rounding."""
    if isinstance(value, float) and math.isnan(value):
        return 0 if sat else format.nan
    negative = value < 0 or (isinstance(value, float) and value == 0 and
                             math.copysign(1, value) < 0)
    if negative and (relu or sat):
        return 0
    sign = format.sign if negative else 0
    if isinstance(value, float) and math.isinf(value):
        magnitude = format.largest if satfinite else format.infinity
    else:
        exact = abs(Fraction(value))
        magnitude = 0
        if exact:
            exponent = (exact.numerator.bit_length() -
                        exact.denominator.bit_length())
            if exact < Fraction(2) ** exponent:
                exponent -= 1
            smallest = 1 - format.bias
            exponent = max(exponent, smallest)
            quantum = Fraction(2) ** (exponent - format.mantissa)
            count = round_to_integer(exact / quantum, mode, negative)
            # Numbers in the order of their bits are equally many per binade.
            magnitude = count + ((exponent - smallest) << format.mantissa)
        if ftz and magnitude < 1 << format.mantissa:
            magnitude = 0
        if magnitude > format.largest:
            stays = mode == "rz" or mode == ("rp" if negative else "rm")
            magnitude = (format.largest if stays or satfinite
                         else format.infinity)
    if sat:
        magnitude = min(magnitude, format.bias << format.mantissa)
    return (sign | magnitude) << format.padding


def flush(format, bits):
    """Zero of the same sign for a subnormal number."""
    is_small = bits & (format.sign - 1) < 1 << format.mantissa
    return bits & format.sign if is_small else bits


def convert(bits, source, target, **options):
    return encode(target, decode(source, bits), **options)


def combine(function, values):
    """Exact arithmetic on floats, or what IEEE 754 says of special ones."""
    try:
        if all(math.isfinite(v) for v in values):
            exact = function(*(Fraction(v) for v in values))
            if exact:
                return exact
        # Signs of zeros, and classes of specials, are those of floats.
        return function(*values)
    except ZeroDivisionError:
        if values[0] == 0 or math.isnan(values[0]):
            return math.nan
        signs = math.copysign(1, values[0]) * math.copysign(1, values[-1])
        return math.copysign(math.inf, signs)
