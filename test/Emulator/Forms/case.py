"""One instruction form: a kernel, its input, and what it should write."""

import math
import struct

from floats import F32, decode


class TensorMap:
    """Arguments of cuTensorMapEncodeTiled, innermost dimension first."""

    BYTES = {"u8": 1, "u16": 2, "u32": 4, "f16": 2, "bf16": 2, "f32": 4,
             "f64": 8}

    def __init__(self, type, sizes, strides, box, element_strides=None,
                 swizzle=0, fill_nan=False):
        self.type, self.sizes, self.strides = type, sizes, strides
        self.box, self.swizzle, self.fill_nan = box, swizzle, fill_nan
        self.element_strides = element_strides or [1] * len(sizes)
        self.element_bytes = self.BYTES[type]

    def bytes(self):
        """Of the tensor, with what lies between its rows."""
        if len(self.sizes) == 1:
            return self.sizes[0] * self.element_bytes
        return self.sizes[-1] * self.strides[-1]

    def box_bytes(self):
        size = self.element_bytes
        for count, stride in zip(self.box, self.element_strides):
            size *= -(-count // stride)
        return size

    def fill_value(self):
        """Of elements outside."""
        if not self.fill_nan:
            return 0
        return {2: 0x7FF7, 4: 0x7FF77FF7}[self.element_bytes]

    def __str__(self):
        return (f"{self.type} {self.sizes} {self.strides} box {self.box}"
                f" steps {self.element_strides} swizzle {self.swizzle}"
                f"{' NaN' if self.fill_nan else ''}")


class Case:
    """A kernel `form(in, out)` on words of 32 bits.

    `expected` holds a word, or None for one that may be anything. Where
    `relative` or `absolute` is given, words hold numbers of the format
    `element` (two, when it has 16 bits), and may be off by that much; where
    `bounds` is given, each word may be off by its own. NaN is NaN.
    """

    def __init__(self, family, name, ptx, words, expected, block=32, grid=1,
                 cluster=1, smem=0, relative=0.0, absolute=0.0, bounds=None,
                 element=F32, words64=False, map=None,
                 tensor=None, stores=False, repeat=1):
        self.family, self.name, self.ptx = family, name, ptx
        self.words, self.expected = words, expected
        self.block, self.grid = block, grid
        self.cluster, self.smem = cluster, smem
        self.relative, self.absolute = relative, absolute
        self.bounds, self.element = bounds, element
        self.words64 = words64  # numbers are f64, the low word first
        # A map of a third array is the first parameter; where the kernel
        # stores, that array is the output.
        self.map, self.tensor, self.stores = map, tensor, stores
        self.repeat = repeat  # launches in a row, which may overlap

    def is_exact(self):
        return not (self.relative or self.absolute or self.bounds)

    def differs(self, got, reference, slack=1.0):
        """What is wrong with an output, compared to another, or None.

        `slack` widens bounds: 2 when both are approximations.
        """
        if len(got) != len(reference):
            return f"{len(got)} words, not {len(reference)}"
        if self.words64:
            return self.differs64(got, reference, slack)
        for i, (word, wanted) in enumerate(zip(got, reference)):
            if wanted is None or self.expected[i] is None or word == wanted:
                continue
            if self.is_exact() or not self.is_near(word, wanted, i, slack):
                return (f"word {i} is 0x{word:08x}, not 0x{wanted:08x}; input "
                        + self.describe_input(i))
        return None

    def differs64(self, got, reference, slack):
        pack = lambda words: struct.unpack(
            f"<{len(words) // 2}d", struct.pack(f"<{len(words)}I", *words))
        for i, (x, y) in enumerate(zip(pack(got), pack(reference))):
            if not abs(x - y) <= slack * self.relative * max(abs(y), 1):
                return f"number {i} is {x}, not {y}"
        return None

    def is_near(self, word, wanted, i, slack):
        width = 1 + self.element.exponent + self.element.mantissa
        for shift in range(0, 32, 16 if width == 16 else 32):
            mask = (1 << width) - 1
            x = decode(self.element, word >> shift & mask)
            y = decode(self.element, wanted >> shift & mask)
            if math.isnan(x) != math.isnan(y):
                return False
            if x == y or math.isnan(x):
                continue
            if math.isinf(x) or math.isinf(y):
                return False
            bound = self.absolute + self.relative * abs(y)
            if self.bounds:
                bound = self.bounds[i]
            smallest = 2.0 ** (1 - self.element.bias - self.element.mantissa)
            if abs(x - y) > slack * max(bound, smallest):
                return False
        return True

    def describe_input(self, i):
        """Of forms of one thread each; of others, what is there."""
        if self.family not in ("elementwise", "integer"):
            return "of the whole kernel"
        count = len(self.words) // 3
        return ", ".join(f"0x{self.words[k * count + i]:08x}"
                         for k in range(3))
