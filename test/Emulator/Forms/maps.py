"""Tensor maps that kernels change, or make, before a copy reads by them.

The kernel's parameter is one map; it replaces fields until another one should
stand there, and loads a box by that.
"""

import random

from case import Case, TensorMap
from copies import (HEADER, MAP_PARAMETER, WAIT, coordinates, copy_out,
                    to_image, to_words, visit_box)

CASES = []
TYPES = {"u8": 0, "u16": 1, "u32": 2, "f16": 6, "f32": 7, "f64": 9, "bf16": 10}
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}

# The map's 128 bytes into shared memory, a word for each of 32 threads.
TO_SHARED = """  setp.lt.u32 %q, %id, 32;
  @!%q bra copied;
  mov.b64 %map, map;
  cvta.param.u64 %map, %map;
  mad.wide.u32 %map, %id, 4, %map;
  ld.b32 %v, [%map];
  mov.u32 %to, work;
  mad.lo.u32 %to, %id, 4, %to;
  st.shared.b32 [%to], %v;
copied:
  bar.sync 0;
"""
TO_GLOBAL = TO_SHARED.replace("  mov.u32 %to, work;\n", "  mov.b64 %at, made;\n"
                              ).replace(
    "  mad.lo.u32 %to, %id, 4, %to;\n  st.shared.b32 [%to], %v;",
    "  mad.wide.u32 %at, %id, 4, %at;\n  st.global.b32 [%at], %v;")
ZEROS = "  ld.b32 %v, [%map];\n"


def replace(field, value, space, ordinal=None):
    wide = field in ("global_address", "global_stride")
    where = {"shared::cta": "[work]", "global": "[made]", "": "[%generic]"}
    operands = [where[space]] + ([str(ordinal)] if ordinal is not None else [])
    prefix = ""
    if wide and isinstance(value, int):
        prefix = f"  @%first mov.b64 %at, {value};\n"
        value = "%at"
    suffix = f".{space}" if space else ""
    return (f"{prefix}  @%first tensormap.replace.tile.{field}{suffix}.b1024"
            f".b{64 if wide else 32} " + ", ".join(operands + [str(value)]) +
            ";\n")


def fields(map, address="%data"):
    """All fields of a map: (name, value, ordinal)."""
    yield "global_address", address, None
    yield "rank", len(map.sizes) - 1, None
    for i, size in enumerate(map.sizes):
        yield "box_dim", map.box[i], i
        yield "global_dim", size, i
        yield "element_stride", map.element_strides[i], i
    for i, stride in enumerate(map.strides):
        yield "global_stride", stride, i
    yield "elemtype", TYPES[map.type], None
    yield "interleave_layout", 0, None
    yield "swizzle_mode", SWIZZLES[map.swizzle], None
    yield "fill_mode", int(map.fill_nan), None


RELEASE = {
    # By the warp that copies it, or where it was changed.
    "shared::cta": "  bar.warp.sync -1;\n  mov.b64 %map, made;\n"
    "  @!%q bra released;\n  tensormap.cp_fenceproxy.global.shared::cta"
    ".tensormap::generic.release.gpu.sync.aligned [%map], [work], 128;\n"
    "released:\n",
    "global": "  mov.b64 %map, made;\n"
    "  @%first fence.proxy.tensormap::generic.release.gpu;\n",
}
RELEASE[""] = RELEASE["shared::cta"]


def add(title, start, wanted, changes, corner, space="shared::cta",
        blank=False):
    """`changes`: of the map `start`, or of zeros. Where they replace the
    address, the tensor is the kernel's input."""
    generator = random.Random(title)
    words = [generator.getrandbits(32) for _ in range(wanted.bytes() // 4)]
    source, size = to_image(words), wanted.element_bytes
    box = bytearray(wanted.box_bytes())
    for at, offset in visit_box(wanted, corner):
        value = wanted.fill_value().to_bytes(size, "little") \
            if offset is None else source[offset:offset + size]
        box[at:at + size] = value
    loads, vector = coordinates(corner)
    rank = len(corner)
    prepare = TO_GLOBAL if space == "global" else TO_SHARED
    if blank:
        prepare = prepare.replace(ZEROS, "  mov.b32 %v, 0;\n")
    ptx = HEADER.format(parameters=MAP_PARAMETER, smem=len(box)).replace(
        ".visible", ".global .align 128 .b8 made[128];\n.visible").replace(
        "  .shared .align 8 .b64 bar;",
        "  .shared .align 8 .b64 bar;\n  .shared .align 128 .b8 work[128];\n"
        "  .reg .b64 %data, %generic;")
    ptx += prepare + """  mov.b64 %data, %in;
  mov.u32 %to, work;
  cvt.u64.u32 %generic, %to;
  cvta.shared.u64 %generic, %generic;
""" + "".join(replace(field, value, space, ordinal)
              for field, value, ordinal in changes) + RELEASE[space]
    ptx += f"""  @!%first bra wait;
  fence.proxy.tensormap::generic.acquire.gpu [%map], 128;
{loads}  mbarrier.arrive.expect_tx.shared.b64 _, [bar], {len(box)};
  cp.async.bulk.tensor.{rank}d.shared::cta.global.tile.mbarrier::complete_tx\
::bytes [sm], [%map, {vector}], [bar];
{WAIT}""" + copy_out(len(box), 64) + "  ret;\n}\n"
    moved = any(field == "global_address" for field, _, _ in changes)
    # The map's own tensor is as large as it says.
    own = [0] * (start.bytes() // 4) if moved else words + [0] * max(
        0, start.bytes() // 4 - len(words))
    CASES.append(Case("map", title, ptx, words if moved else [0],
                      to_words(box), block=64, map=start, tensor=own))


def bf16_map(sizes=(64, 24), strides=(128,), box=(16, 8), **options):
    return TensorMap("bf16", list(sizes), list(strides), list(box), **options)


START = bf16_map()
CHANGES = {
    "global_address": (START, [("global_address", "%data", None)]),
    "box_dim": (bf16_map(box=(32, 6)), [("box_dim", 32, 0),
                                        ("box_dim", 6, 1)]),
    "global_dim": (bf16_map(sizes=(24, 10)), [("global_dim", 24, 0),
                                              ("global_dim", 10, 1)]),
    "global_stride": (bf16_map(sizes=(64, 12), strides=(256,)),
                      [("global_dim", 12, 1), ("global_stride", 256, 0)]),
    "element_stride": (bf16_map(box=(16, 24), element_strides=[1, 3]),
                       [("box_dim", 24, 1), ("element_stride", 3, 1)]),
    "elemtype": (TensorMap("f16", [64, 24], [128], [16, 8], fill_nan=True),
                 [("elemtype", TYPES["f16"], None), ("fill_mode", 1, None)]),
    "swizzle_mode": (bf16_map(swizzle=32), [("swizzle_mode", 1, None)]),
    "swizzle_mode 64": (bf16_map(box=(32, 8), swizzle=64),
                        [("box_dim", 32, 0), ("swizzle_mode", 2, None)]),
    "swizzle_mode 128": (bf16_map(box=(64, 8), swizzle=128),
                         [("box_dim", 64, 0), ("swizzle_mode", 3, None)]),
    "fill_mode": (bf16_map(fill_nan=True), [("fill_mode", 1, None)]),
    "interleave_layout": (START, [("interleave_layout", 0, None)]),
}
for name, (wanted, changes) in CHANGES.items():
    for space in ("shared::cta", "global"):
        add(f"tensormap.replace.tile.{name}.{space}", START, wanted, changes,
            [8, 6] if "swizzle" not in name else [0, 6], space)
add("tensormap.replace.tile.box_dim, generic address", START,
    CHANGES["box_dim"][0], CHANGES["box_dim"][1], [8, 6], "")
# Of rank 2, rank 3; and the other way.
CUBE = TensorMap("u32", [16, 6, 4], [64, 384], [16, 4, 2])
FLAT = TensorMap("u32", [16, 24], [64], [8, 8])
add("tensormap.replace.tile.rank 3", FLAT, CUBE, list(fields(CUBE)), [4, 3, 1])
add("tensormap.replace.tile.rank 2", CUBE, FLAT, list(fields(FLAT)), [4, 22])
add("tensormap.replace.tile.rank 2 alone", CUBE, TensorMap(
    "u32", [16, 6], [64], [16, 4]), [("rank", 1, None)], [4, 3])
# From nothing.
MADE = {
    "of u8": (TensorMap("u8", [512], [], [256]), [384]),
    "of u16": (TensorMap("u16", [64, 10], [160], [16, 8]), [56, 6]),
    "of u32": (CUBE, [12, 4, 3]),
    "of f32": (TensorMap("f32", [20, 9, 7], [96, 912], [8, 4, 3], swizzle=32,
                         fill_nan=True), [16, 6, 5]),
    "of f64": (TensorMap("f64", [6, 5, 4, 3], [48, 240, 976], [4, 4, 2, 2]),
               [4, 3, 2, 1]),
    "of f16": (TensorMap("f16", [16, 4, 3, 3, 3], [32, 128, 384, 1152],
                         [8, 2, 2, 2, 2]), [8, 3, 1, 1, 2]),
    "of bf16": (bf16_map(box=(64, 16), swizzle=128), [0, 16]),
}
for name, (map, corner) in MADE.items():
    for space in ("shared::cta", "global"):
        add(f"tensormap.replace {name}, {space}", START, map,
            list(fields(map)), corner, space, blank=True)
