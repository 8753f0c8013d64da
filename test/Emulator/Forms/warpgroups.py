"""wgmma: operands in shared memory, by the layouts of matrix descriptors."""

import random

from case import Case
from floats import F16, F32, decode, encode
from matrices import BYTES, multiply, random_bits, special_bits, value_of

CASES = []
K = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32,
     "u8": 32}
SWIZZLE_CODE = {0: 0, 128: 1, 64: 2, 32: 3}


class Layout:
    """Where the bytes of an operand lie (PTX ISA 9.7.15.5.1.2).

    `span`: bytes of the swizzle, or 0. In K-major layouts the operand begins
    `skip` bytes along K, as in a kernel that steps through a wider tile.
    """

    def __init__(self, span, mn_major=False, skip=0):
        self.span, self.mn_major, self.skip = span, mn_major, skip
        if mn_major and span:
            self.stride, self.leading = 8 * span, 16 * span
        elif mn_major:
            self.stride, self.leading = 256, 128
        elif span:
            self.stride, self.leading = 8 * span, 16
        else:
            self.stride, self.leading = 256, 128

    def place(self, mn, k, size):
        """Offset of element (mn, k) of `size` bytes."""
        if self.mn_major:
            byte = mn * size
            if self.span:
                at = (byte % self.span + byte // self.span * self.leading +
                      k % 8 * self.span + k // 8 * self.stride)
            else:
                at = (byte % 16 + byte // 16 * self.stride + k % 8 * 16 +
                      k // 8 * self.leading)
        else:
            byte = k * size
            if self.span:
                at = (byte + self.skip + mn % 8 * self.span +
                      mn // 8 * self.stride)
            else:
                at = (byte % 16 + byte // 16 * self.leading + mn % 8 * 16 +
                      mn // 8 * self.stride)
        if self.span:
            at ^= (at >> 7) * 16 & (self.span - 16)
        return at

    def descriptor(self):
        """Without the start address."""
        return (self.leading >> 4 << 16 | self.stride >> 4 << 32 |
                SWIZZLE_CODE[self.span] << 62)


def add(n, result, a_type, b_type, a_layout, b_layout, steps=1, clears=False,
        scales=(1, 1), specials=False, suffix=""):
    """`a_layout` None: A in registers. With two steps, the operands of the
    second lie behind those of the first."""
    k = K[a_type]
    floating = a_type not in ("s8", "u8")
    name = (f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{result}.{a_type}."
            f"{b_type}{suffix}")
    describe = lambda l: "registers" if l is None else (
        f"{'mn' if l.mn_major else 'k'}{l.span}+{l.skip}")
    title = (f"{name} A:{describe(a_layout)} B:{describe(b_layout)}"
             f"{' clear' if clears else ''}{' x2' if steps == 2 else ''}"
             f"{' special' if specials else ''}"
             f"{' scales %d %d' % scales if scales != (1, 1) else ''}")
    generator = random.Random(title)
    a = {(i, p): random_bits(generator, a_type)
         for i in range(64) for p in range(k * steps)}
    b = {(p, j): random_bits(generator, b_type)
         for p in range(k * steps) for j in range(n)}
    if specials:
        for i, bits in enumerate(special_bits(a_type)):
            a[11 * i, i % k] = bits
        for j, bits in enumerate(special_bits(b_type)):
            b[j % k, n - 1 - j] = bits

    # Shared memory: A's steps, then B's, each in a region of its own.
    image = bytearray(generator.getrandbits(8) for _ in range(64))
    regions = []
    for layout, bits, extent, type, of_a in (
            (a_layout, a, 64, a_type, True), (b_layout, b, n, b_type, False)):
        if layout is None:
            regions.append(None)
            continue
        size = BYTES[type]
        starts = []
        for step in range(steps):
            start = (len(image) + 1023) // 1024 * 1024
            starts.append(start)
            places = {layout.place(mn, p, size): (mn, p + step * k)
                      for mn in range(extent) for p in range(k)}
            assert len(places) == extent * k
            image.extend(bytes(start + max(places) + size - len(image)))
            for at, (mn, p) in places.items():
                element = bits[(mn, p) if of_a else (p, mn)]
                image[start + at:start + at + size] = element.to_bytes(
                    size, "little")
        regions.append(starts)
    image.extend(bytes(-len(image) % 2048))
    words = [int.from_bytes(image[i:i + 4], "little")
             for i in range(0, len(image), 4)]

    # Accumulators, and A's registers, of each thread.
    element_format = {"f32": F32, "f16": F16}.get(result)
    per_word = 2 if result == "f16" else 1
    d_registers = n // 2 // per_word
    c_bits = {}
    for i in range(64):
        for j in range(n):
            c_bits[i, j] = (encode(element_format, generator.gauss(0, 1))
                            if floating else generator.getrandbits(32))
    signed = lambda v: v - 2 ** 32 if v >> 31 else v
    c = {at: 0.0 if clears and floating else 0 if clears else
         decode(element_format, v) if floating else signed(v)
         for at, v in c_bits.items()}
    sign = scales[0] * scales[1]
    a_values = {at: sign * value_of(a_type, v) for at, v in a.items()}
    b_values = {at: value_of(b_type, v) for at, v in b.items()}
    results, bounds = multiply(a_values, b_values, c, 64, n, k * steps, result,
                               "satfinite" in suffix, steps)
    expected, limits = [], []
    per_register = 4 // BYTES[a_type]
    a_registers = 0 if a_layout else 4 * steps
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        g, t = divmod(lane, 4)
        places = []
        for i in range(n // 2):
            # 9.7.15.5.2.1: four values for each eight columns.
            row = 16 * warp + g + (8 if i % 4 >= 2 else 0)
            places.append((row, 8 * (i // 4) + 2 * t + i % 2))
        pack = lambda bits: [
            sum(bits[at] << (16 * h) for h, at in
                enumerate(places[i:i + per_word]))
            for i in range(0, len(places), per_word)]
        words += pack(c_bits)
        expected += pack(results)
        limits += [max(bounds[at] for at in places[i:i + per_word])
                   for i in range(0, len(places), per_word)]
        for r in range(a_registers):
            step, r = divmod(r, 4)
            row = 16 * warp + g + 8 * (r % 2)
            column = (step * k + (r // 2) * 4 * per_register +
                      t * per_register)
            words.append(sum(a[row, column + e] << (8 * BYTES[a_type] * e)
                             for e in range(per_register)))

    in_words = d_registers + a_registers
    ptx = f""".version 8.6
.target sm_90a
.address_size 64
.visible .entry form(.param .u64 in, .param .u64 out)
.reqntid 128
{{
  .shared .align 1024 .b8 sm[{len(image)}];
  .reg .b64 %in, %out, %at, %base, %da, %db;
  .reg .b32 %id, %sm, %i, %to, %v, %a<8>, %d<128>;
  .reg .pred %p, %add;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %id, %tid.x;
  mov.u32 %sm, sm;
  mul.lo.u32 %i, %id, 4;
copy:
  cvt.u64.u32 %at, %i;
  add.u64 %at, %in, %at;
  ld.global.b32 %v, [%at];
  add.u32 %to, %sm, %i;
  st.shared.b32 [%to], %v;
  add.u32 %i, %i, 512;
  setp.lt.u32 %p, %i, {len(image)};
  @%p bra copy;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  add.u64 %in, %in, {len(image)};
  mad.wide.u32 %in, %id, {4 * in_words}, %in;
  mad.wide.u32 %out, %id, {4 * d_registers}, %out;
"""
    for i in range(d_registers):
        ptx += f"  ld.global.b32 %d{i}, [%in+{4 * i}];\n"
    for i in range(a_registers):
        ptx += f"  ld.global.b32 %a{i}, [%in+{4 * (d_registers + i)}];\n"
    ptx += """  and.b32 %i, %sm, 0x3ffff;
  shr.u32 %i, %i, 4;
  cvt.u64.u32 %base, %i;
  wgmma.fence.sync.aligned;
"""
    accumulators = "{" + ", ".join(f"%d{i}" for i in range(d_registers)) + "}"
    for step in range(steps):
        adds = not (clears and step == 0)
        ptx += f"  setp.{'eq' if adds else 'ne'}.u32 %add, %id, %id;\n"
        if a_layout:
            start = regions[0][step] + a_layout.skip >> 4
            ptx += f"  add.u64 %da, %base, {a_layout.descriptor() + start};\n"
        start = regions[1][step] + b_layout.skip >> 4
        ptx += f"  add.u64 %db, %base, {b_layout.descriptor() + start};\n"
        source = "%da" if a_layout else "{" + ", ".join(
            f"%a{4 * step + i}" for i in range(4)) + "}"
        extra = ""
        if floating:
            extra += f", {scales[0]}, {scales[1]}"
        if BYTES[a_type] == 2:
            if a_layout:
                extra += f", {int(a_layout.mn_major)}"
            extra += f", {int(b_layout.mn_major)}"
        ptx += f"  {name} {accumulators}, {source}, %db, %add{extra};\n"
    ptx += """  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
"""
    for i in range(d_registers):
        ptx += f"  st.global.b32 [%out+{4 * i}], %d{i};\n"
    options = {"bounds": limits, "element": element_format} if floating else {}
    CASES.append(Case("wgmma", title, ptx + "  ret;\n}\n", words, expected,
                      block=128, **options))


SPANS = (0, 32, 64, 128)
for span in SPANS:
    add(24, "f32", "bf16", "bf16", Layout(span), Layout(span))
    add(16, "f32", "f16", "f16", Layout(span, True), Layout(span))
    add(128, "f32", "bf16", "bf16", Layout(span), Layout(span, True))
    add(16, "f32", "f16", "f16", Layout(span, True), Layout(span, True))
    add(16, "f32", "tf32", "tf32", Layout(span), Layout(span))
    add(8, "f32", "e4m3", "e5m2", Layout(span), Layout(span))
    add(8, "s32", "s8", "u8", Layout(span), Layout(span))
for skip in (32, 64, 96):
    add(24, "f32", "bf16", "bf16", Layout(128, skip=skip),
        Layout(128, skip=skip))
add(256, "f32", "bf16", "bf16", Layout(128), Layout(128), steps=2)
add(96, "f16", "f16", "f16", Layout(128), Layout(64), steps=2)
add(64, "f32", "bf16", "bf16", None, Layout(128), steps=2)
add(64, "f32", "f16", "f16", None, Layout(128, True), scales=(-1, 1))
add(32, "f32", "tf32", "tf32", None, Layout(32))
add(32, "f16", "e5m2", "e4m3", None, Layout(64))
add(16, "s32", "u8", "s8", None, Layout(128), suffix=".satfinite")
add(40, "f32", "bf16", "bf16", Layout(128), Layout(128), clears=True, steps=2)
add(8, "f32", "f16", "f16", Layout(128), Layout(128), scales=(1, -1))
add(8, "f32", "f16", "f16", Layout(128), Layout(128), scales=(-1, -1))
for type in ("f16", "bf16", "e4m3", "e5m2", "tf32"):
    add(16, "f32", type, type, Layout(128), Layout(128), specials=True)
