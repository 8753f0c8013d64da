"""Asynchronous copies: cp.async, bulk copies, tensor copies."""

import itertools
import random

from case import Case, TensorMap
from floats import BF16, F16, F32, decode, encode

CASES = []

HEADER = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry form({parameters}.param .u64 in, .param .u64 out)
{{
  .shared .align 1024 .b8 sm[{smem}];
  .shared .align 8 .b64 bar;
  .reg .b64 %in, %out, %at, %map;
  .reg .b32 %id, %i, %to, %v, %sm, %bar, %rank, %t<8>, %w<8>;
  .reg .pred %p, %first, %q;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %id, %tid.x;
  mov.u32 %sm, sm;
  mov.u32 %bar, bar;
  setp.eq.u32 %first, %id, 0;
  @%first mbarrier.init.shared.b64 [bar], 1;
  @%first fence.mbarrier_init.release.cluster;
"""
WAIT = """wait:
  mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;
  @!%p bra wait;
"""


def copy_loop(label, body, size, threads):
    """Threads go through `size` bytes: %i is the offset, %to in shared memory,
    %at holds the offset in 64 bits."""
    return f"""  mul.lo.u32 %i, %id, 4;
{label}:
  add.u32 %to, %sm, %i;
  cvt.u64.u32 %at, %i;
{body}  add.u32 %i, %i, {4 * threads};
  setp.lt.u32 %p, %i, {size};
  @%p bra {label};
"""


def copy_in(size, threads):
    """Fills shared memory from the input, for the async proxy to read."""
    return copy_loop("fill", """  add.u64 %at, %in, %at;
  ld.global.b32 %v, [%at];
  st.shared.b32 [%to], %v;
""", size, threads) + "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n"


def copy_out(size, threads):
    return copy_loop("drain", """  add.u64 %at, %out, %at;
  ld.shared.b32 %v, [%to];
  st.global.b32 [%at], %v;
""", size, threads)


def random_words(generator, count):
    return [generator.getrandbits(32) for _ in range(count)]


# --- cp.async ---------------------------------------------------------------


def add_async(name, size, operand="", prepare="", kept=lambda lane: None,
              wait="commit"):
    """Each of 32 lanes copies into its 16 bytes; `kept`: the source size."""
    generator = random.Random(name)
    words = random_words(generator, 32 * 4)
    expected = []
    for lane in range(32):
        row = b"".join(w.to_bytes(4, "little")
                       for w in words[4 * lane:4 * lane + 4])
        count = kept(lane)
        count = size if count is None else count
        row = row[:count] + bytes(size - count) + b"\xff" * (16 - size)
        expected += [int.from_bytes(row[i:i + 4], "little")
                     for i in range(0, 16, 4)]
    waits = {"commit": "  cp.async.commit_group;\n  cp.async.wait_group 0;\n",
             "all": "  cp.async.wait_all;\n",
             "mbarrier": "  cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n"
             + WAIT,
             "pending": "  cp.async.mbarrier.arrive.shared.b64 [bar];\n"
             "  mbarrier.arrive.shared.b64 _, [bar];\n" + WAIT}
    header = HEADER.format(parameters="", smem=512)
    if wait in ("mbarrier", "pending"):
        header = header.replace("[bar], 1;", "[bar], 32;")
    ptx = header + f"""  mad.lo.u32 %to, %id, 16, %sm;
  mad.wide.u32 %at, %id, 16, %in;
  mov.b32 %v, 0xffffffff;
  st.shared.v4.b32 [%to], {{%v, %v, %v, %v}};
  bar.sync 0;
{prepare}  {name} [%to], [%at], {size}{operand};
{waits[wait]}  bar.sync 0;
""" + copy_out(512, 32) + "  ret;\n}\n"
    CASES.append(Case("copy", f"{name} {size}{operand} {wait}", ptx, words,
                      expected))


for size in (4, 8, 16):
    add_async("cp.async.ca.shared.global", size)
add_async("cp.async.cg.shared.global", 16)
add_async("cp.async.ca.shared.global.L2::128B", 16, wait="all")
add_async("cp.async.cg.shared.global.L2::256B", 16, wait="mbarrier")
add_async("cp.async.ca.shared::cta.global", 8, wait="pending")
add_async("cp.async.cg.shared.global", 16, ", %t0",
          "  and.b32 %t0, %id, 15;\n", lambda lane: lane & 15)
add_async("cp.async.ca.shared.global", 4, ", %t0", "  and.b32 %t0, %id, 3;\n",
          lambda lane: lane & 3)
add_async("cp.async.ca.shared.global", 16, ", %q",
          "  and.b32 %t0, %id, 1;\n  setp.eq.u32 %q, %t0, 1;\n",
          lambda lane: 0 if lane & 1 else None)

# --- cp.async.bulk ----------------------------------------------------------

SIZE = 1536


def add_bulk_load():
    words = random_words(random.Random("load"), SIZE // 4)
    name = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
    ptx = HEADER.format(parameters="", smem=SIZE) + f"""  bar.sync 0;
  @!%first bra wait;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], {SIZE};
  {name} [sm], [%in], {SIZE}, [bar];
{WAIT}""" + copy_out(SIZE, 64) + "  ret;\n}\n"
    CASES.append(Case("copy", name, ptx, words, words, block=64))


def add_bulk_store(name, function, wait=""):
    """`function` maps a word of what is there and one that comes to the sum;
    what is there: zeros."""
    words = random_words(random.Random(name), SIZE // 4)
    if ".f32" in name:
        g = random.Random(name)
        words = [encode(F32, g.gauss(0, 1)) for _ in words]
    elif "16" in name:
        g = random.Random(name)
        format = BF16 if "bf16" in name else F16
        words = [encode(format, g.gauss(0, 1)) |
                 encode(format, g.gauss(0, 1)) << 16 for _ in words]
    ptx = HEADER.format(parameters="", smem=SIZE)
    # What is there must have been written: by this thread.
    ptx += copy_loop("clear", """  add.u64 %at, %out, %at;
  mov.b32 %v, 0;
  st.global.b32 [%at], %v;
""", SIZE, 64)
    ptx += copy_in(SIZE, 64) + f"""  fence.proxy.async;
  bar.sync 0;
  @!%first bra done;
  {name} [%out], [sm], {SIZE};
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
done:
  ret;
}}
"""
    expected = [function(0, w) for w in words]
    CASES.append(Case("copy", name, ptx, words, expected, block=64))


add_bulk_load()
add_bulk_store("cp.async.bulk.global.shared::cta.bulk_group", lambda a, b: b)
REDUCE = "cp.reduce.async.bulk.global.shared::cta.bulk_group."
signed = lambda v: v - 2 ** 32 if v >> 31 else v
add_bulk_store(REDUCE + "add.u32", lambda a, b: a + b & 0xFFFFFFFF)
add_bulk_store(REDUCE + "min.s32", lambda a, b: min(a, signed(b)) & 0xFFFFFFFF)
add_bulk_store(REDUCE + "max.u32", max)
add_bulk_store(REDUCE + "or.b32", lambda a, b: a | b)
add_bulk_store(REDUCE + "inc.u32", lambda a, b: 0 if a >= b else a + 1)
add_bulk_store(REDUCE + "dec.u32",
               lambda a, b: b if a == 0 or a > b else a - 1)
add_bulk_store(REDUCE + "add.f32", lambda a, b: b)
add_bulk_store(REDUCE + "add.noftz.f16", lambda a, b: b)
add_bulk_store(REDUCE + "add.noftz.bf16", lambda a, b: b)


def add_cluster_copies():
    """Two CTAs: each sends its half of the input to the other's memory; and
    the first one multicasts to both."""
    words = random_words(random.Random("cluster"), SIZE // 2)
    rendezvous = ("  barrier.cluster.arrive.aligned;\n"
                  "  barrier.cluster.wait.aligned;\n")
    name = ("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx"
            "::bytes")
    ptx = HEADER.format(parameters="", smem=2 * SIZE) + f"""
  mov.u32 %rank, %cluster_ctarank;
  mul.wide.u32 %at, %rank, {SIZE};
  add.u64 %in, %in, %at;
  add.u64 %out, %out, %at;
""" + copy_in(SIZE, 64) + rendezvous + f"""  @!%first bra wait;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], {SIZE};
  xor.b32 %rank, %rank, 1;
  add.u32 %t0, %sm, {SIZE};
  mapa.shared::cluster.u32 %t0, %t0, %rank;
  mapa.shared::cluster.u32 %t1, %bar, %rank;
  {name} [%t0], [sm], {SIZE}, [%t1];
{WAIT}  add.u32 %sm, %sm, {SIZE};
""" + copy_out(SIZE, 64) + rendezvous + "  ret;\n}\n"
    half = SIZE // 4
    CASES.append(Case("copy", name, ptx, words, words[half:] + words[:half],
                      block=64, grid=2, cluster=2))

    name = ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
            ".multicast::cluster")
    ptx = HEADER.format(parameters="", smem=SIZE) + f"""
  mov.u32 %rank, %cluster_ctarank;
  mul.wide.u32 %at, %rank, {SIZE};
  add.u64 %out, %out, %at;
  @%first mbarrier.arrive.expect_tx.shared.b64 _, [bar], {SIZE};
""" + rendezvous + f"""  setp.eq.and.u32 %q, %rank, 0, %first;
  @!%q bra wait;
  mov.b32 %t0, 3;
  cvt.u16.u32 %mask, %t0;
  {name} [sm], [%in], {SIZE}, [bar], %mask;
{WAIT}""" + copy_out(SIZE, 64) + rendezvous + "  ret;\n}\n"
    ptx = ptx.replace("  .reg .pred", "  .reg .b16 %mask;\n  .reg .pred", 1)
    CASES.append(Case("copy", name, ptx, words[:half], words[:half] * 2,
                      block=64, grid=2, cluster=2))


add_cluster_copies()

# --- Tensor copies ----------------------------------------------------------


def visit_box(map, corner):
    """Pairs of an offset in the box and one in the tensor, or None."""
    size = map.element_bytes
    counts = [-(-b // s) for b, s in zip(map.box, map.element_strides)]
    span = map.swizzle
    for index in itertools.product(*(range(c) for c in reversed(counts))):
        index = index[::-1]
        at, scale = 0, size
        for i, count in zip(index, counts):
            at += i * scale
            scale *= count
        if span:
            at ^= (at >> 7) * 16 & (span - 16)
        place = [c + i * s for c, i, s in
                 zip(corner, index, map.element_strides)]
        inside = all(0 <= p < s for p, s in zip(place, map.sizes))
        offset = sum(p * s for p, s in zip(place, [size, *map.strides]))
        yield at, offset if inside else None


def to_image(words):
    return bytearray(b"".join(w.to_bytes(4, "little") for w in words))


def to_words(image):
    return [int.from_bytes(image[i:i + 4], "little")
            for i in range(0, len(image), 4)]


def tensor_words(map, seed):
    return random_words(random.Random(seed), map.bytes() // 4)


def coordinates(corner):
    loads = "".join(f"  mov.b32 %w{i}, {c};\n" for i, c in enumerate(corner))
    return loads, "{" + ", ".join(f"%w{i}" for i in range(len(corner))) + "}"


MAP_PARAMETER = ".param .align 64 .b8 map[128], "


def add_tensor_load(map, corner, space="shared::cta", suffix=""):
    rank = len(corner)
    name = (f"cp.async.bulk.tensor.{rank}d.{space}.global.tile"
            ".mbarrier::complete_tx::bytes")
    title = f"{name} {map} at {corner}"
    tensor = tensor_words(map, title)
    source, size = to_image(tensor), map.element_bytes
    box = bytearray(map.box_bytes())
    for at, offset in visit_box(map, corner):
        if offset is None:
            box[at:at + size] = map.fill_value().to_bytes(size, "little")
        else:
            box[at:at + size] = source[offset:offset + size]
    loads, vector = coordinates(corner)
    ptx = HEADER.format(parameters=MAP_PARAMETER, smem=len(box)) + f"""
  mov.b64 %map, map;
  cvta.param.u64 %map, %map;
{loads}  bar.sync 0;
  @!%first bra wait;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], {len(box)};
  {name} [sm], [%map, {vector}], [bar];
{WAIT}""" + copy_out(len(box), 64) + "  ret;\n}\n"
    CASES.append(Case("tensor", title, ptx, [0], to_words(box), block=64,
                      map=map, tensor=tensor))


def add_tensor_store(map, corner, reduction=None):
    """The case's output is the tensor."""
    rank = len(corner)
    if reduction:
        name = (f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta"
                f".{reduction}.tile.bulk_group")
    else:
        name = (f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile"
                ".bulk_group")
    title = f"{name} {map} at {corner}"
    tensor = tensor_words(map, title)
    size = map.element_bytes
    words = random_words(random.Random(title + "box"), map.box_bytes() // 4)
    if map.type == "f32":
        g = random.Random(title)
        tensor = [encode(F32, g.gauss(0, 1)) for _ in tensor]
        words = [encode(F32, g.gauss(0, 1)) for _ in words]
    result, box = to_image(tensor), to_image(words)
    for at, offset in visit_box(map, corner):
        if offset is None:
            continue
        new = int.from_bytes(box[at:at + size], "little")
        old = int.from_bytes(result[offset:offset + size], "little")
        if reduction == "add" and map.type == "f32":
            new = encode(F32, decode(F32, old) + decode(F32, new))
        elif reduction:
            new = {"add": (old + new) % (1 << 8 * size),
                   "max": max(old, new), "xor": old ^ new}[reduction]
        result[offset:offset + size] = new.to_bytes(size, "little")
    loads, vector = coordinates(corner)
    ptx = HEADER.format(parameters=MAP_PARAMETER, smem=len(box)) + f"""
  mov.b64 %map, map;
  cvta.param.u64 %map, %map;
{loads}""" + copy_in(len(box), 64) + f"""  @!%first bra done;
  {name} [%map, {vector}], [sm];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
  cp.async.bulk.wait_group 0;
done:
  ret;
}}
"""
    CASES.append(Case("tensor", title, ptx, words, to_words(result), block=64,
                      map=map, tensor=tensor, stores=True))


for swizzle in (0, 32, 64, 128):
    columns = swizzle // 2 or 40
    map = TensorMap("bf16", [100, 30], [208], [columns, 16], swizzle=swizzle)
    add_tensor_load(map, [columns, 8])
    add_tensor_load(map, [-3, 25])
    add_tensor_store(map, [columns, 8])
    add_tensor_store(map, [80, -5])
add_tensor_load(TensorMap("u8", [4096], [], [256]), [1000])
add_tensor_load(TensorMap("f32", [20, 9, 7], [96, 900 // 4 * 4 + 12],
                          [8, 4, 3], swizzle=32), [4, 6, 1])
add_tensor_load(TensorMap("f64", [6, 5, 4, 3], [48, 240, 976],
                          [4, 3, 2, 2]), [-1, 1, 3, 1])
add_tensor_load(TensorMap("u16", [16, 4, 3, 3, 3], [32, 128, 384, 1152],
                          [8, 2, 2, 2, 2]), [4, 3, 1, -1, 2])
add_tensor_load(TensorMap("bf16", [64, 40], [128], [16, 24],
                          element_strides=[1, 3]), [8, 5])
add_tensor_load(TensorMap("f16", [20, 20], [48], [16, 16], fill_nan=True),
                [10, 10], space="shared::cluster")
add_tensor_load(TensorMap("f32", [20, 20], [80], [16, 4], fill_nan=True),
                [-10, 18])
add_tensor_store(TensorMap("f32", [20, 9, 7], [96, 960], [8, 4, 3],
                           swizzle=32), [16, 6, 5])
add_tensor_store(TensorMap("u32", [20, 30], [80], [16, 8]), [8, 25], "add")
add_tensor_store(TensorMap("u32", [20, 30], [80], [32, 8], swizzle=128),
                 [-8, -2], "max")
add_tensor_store(TensorMap("u32", [20, 30], [80], [16, 8]), [8, 25], "xor")
add_tensor_store(TensorMap("f32", [20, 30], [80], [16, 8]), [8, 25], "add")
