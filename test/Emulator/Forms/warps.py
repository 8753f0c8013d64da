"""What the threads of a warp, a CTA and a cluster tell each other."""

import random

from case import Case

CASES = []
THREADS = 128
MASK = 0xFFFFFFFF

TEMPLATE = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry form(.param .u64 in, .param .u64 out)
{{
  .shared .align 16 .b8 sm[{smem}];
  .shared .align 8 .b64 bar;
  .shared .align 8 .b64 far;
  .reg .b64 %in, %out, %at, %state;
  .reg .b32 %id, %lane, %a, %b, %d, %e, %sm, %bar, %rank, %w<8>;
  .reg .pred %p, %q, %first;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %id, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  mad.lo.u32 %e, %rank, {threads}, %id;
  mad.wide.u32 %in, %e, 4, %in;
  mad.wide.u32 %out, %e, 4, %out;
  and.b32 %lane, %id, 31;
  setp.eq.u32 %first, %id, 0;
  mov.u32 %sm, sm;
  mov.u32 %bar, bar;
  mad.lo.u32 %e, %id, 4, %sm;
  ld.global.b32 %a, [%in];
  ld.global.b32 %b, [%in+{b}];
{body}
  st.global.b32 [%out], %d;
  ret;
}}
"""


def add(name, body, expected, values=None, smem=4 * THREADS, cluster=1,
        threads=THREADS, **options):
    """`expected` maps the words a and b of all threads to what they write."""
    generator = random.Random(name)
    count = threads * cluster
    draw = values or (lambda g, i: g.getrandbits(32))
    a = [draw(generator, i) for i in range(count)]
    b = [generator.getrandbits(32) for _ in range(count)]
    ptx = TEMPLATE.format(body=body, b=4 * count, smem=smem, threads=threads)
    result = expected(a, b)
    CASES.append(Case("warp", name, ptx, a + b,
                      [None if w is None else w & MASK for w in result],
                      block=threads, grid=cluster, cluster=cluster,
                      **options))


def per_warp(function):
    """Of a function of 32 words each to one of all threads."""
    def expected(a, b):
        return [w for i in range(0, len(a), 32)
                for w in function(a[i:i + 32], b[i:i + 32])]
    return expected


def signed(value):
    return value - (1 << 32) if value >> 31 else value


# --- Shuffles ---------------------------------------------------------------


def shuffle(mode, bound, segments):
    """PTX ISA 9.7.9.6; the predicate is the lowest bit of the sum."""
    def expected(a, b):
        result = []
        for lane in range(32):
            distance = b[lane] & 31
            last = lane & segments | bound & ~segments & 31
            first = lane & segments
            source = {"up": lane - distance, "down": lane + distance,
                      "bfly": lane ^ distance,
                      "idx": first | distance & ~segments & 31}[mode]
            inside = source >= last if mode == "up" else source <= last
            result.append(a[source if inside else lane] * 2 + inside)
        return result
    return expected


for mode in ("up", "down", "bfly", "idx"):
    for width in (32, 8):
        segments = 32 - width
        bound = 0 if mode == "up" else 31
        # Lanes differ in the distance: the source is each lane's own.
        add(f"shfl.sync.{mode}.b32, {width} wide",
            "  and.b32 %b, %b, 31;\n"
            f"  shfl.sync.{mode}.b32 %d|%p, %a, %b, "
            f"{segments << 8 | bound}, 0xffffffff;\n"
            "  selp.b32 %w0, 1, 0, %p;\n  mad.lo.u32 %d, %d, 2, %w0;",
            per_warp(shuffle(mode, bound, segments)))
add("shfl.sync.idx.b32, bound 9", "  and.b32 %b, %b, 31;\n"
    "  shfl.sync.idx.b32 %d|%p, %a, %b, 9, 0xffffffff;\n"
    "  selp.b32 %w0, 1, 0, %p;\n  mad.lo.u32 %d, %d, 2, %w0;",
    per_warp(shuffle("idx", 9, 0)))

# --- Votes ------------------------------------------------------------------

SOME = "  setp.lt.u32 %q, %lane, 20;\n  mov.b32 %d, 77;\n"


def among(lanes, function, rest=77):
    """The lanes below a number take part; the others keep a value."""
    return per_warp(lambda a, b: [w for w in function(a[:lanes])] +
                    [rest] * (32 - lanes))


few = lambda g, i: (g.choice((0, 1)) if i < 32 else 0 if i < 64 else
                    1 if i < 96 else g.choice((0, 0, 0, 1)))
VOTES = {"all": lambda a: all(a), "any": lambda a: any(a),
         "uni": lambda a: len(set(a)) == 1}
for mode, function in VOTES.items():
    for lanes in (32, 20):
        body = SOME if lanes < 32 else "  setp.lt.u32 %q, %lane, 32;\n"
        add(f"vote.sync.{mode}.pred, {lanes} lanes",
            body + "  setp.ne.u32 %p, %a, 0;\n  @!%q bra done;\n"
            f"  vote.sync.{mode}.pred %p, %p, {(1 << lanes) - 1};\n"
            "  selp.b32 %d, 1, 2, %p;\ndone:",
            among(lanes, lambda a, f=function:
                  [1 if f(a) else 2] * len(a)), few)
ballot = lambda a: [sum(1 << i for i, v in enumerate(a) if v)] * len(a)
for lanes in (32, 20):
    body = SOME if lanes < 32 else "  setp.lt.u32 %q, %lane, 32;\n"
    add(f"vote.sync.ballot.b32, {lanes} lanes",
        body + "  setp.ne.u32 %p, %a, 0;\n  @!%q bra done;\n"
        f"  vote.sync.ballot.b32 %d, %p, {(1 << lanes) - 1};\ndone:",
        among(lanes, ballot), few)
    add(f"match.any.sync.b32, {lanes} lanes",
        body + "  @!%q bra done;\n"
        f"  match.any.sync.b32 %d, %a, {(1 << lanes) - 1};\ndone:",
        among(lanes, lambda a: [ballot([w == v for w in a])[0] for v in a]),
        lambda g, i: g.randrange(5))
    add(f"match.all.sync.b32, {lanes} lanes",
        body + "  @!%q bra done;\n"
        f"  match.all.sync.b32 %d|%p, %a, {(1 << lanes) - 1};\n"
        "  selp.b32 %w0, 1, 0, %p;\n  add.u32 %d, %d, %w0;\ndone:",
        among(lanes, lambda a: [((1 << len(a)) - 1) + 1
                                if len(set(a)) == 1 else 0] * len(a)),
        lambda g, i: 3 if i < 64 else g.randrange(5))
    # Which lane it is, PTX leaves open: that it is one of them, and that all
    # hear of the same, does not depend on it.
    add(f"elect.sync, {lanes} lanes",
        body + "  @!%q bra done;\n"
        f"  elect.sync %d|%p, {(1 << lanes) - 1};\n"
        "  setp.eq.u32 %first, %d, %lane;\n  selp.b32 %w0, 1, 0, %p;\n"
        "  selp.b32 %w1, 1, 0, %first;\n  sub.u32 %d, %w0, %w1;\ndone:",
        among(lanes, lambda a: [0] * len(a)))
add("activemask.b32", SOME + "  @!%q bra done;\n  activemask.b32 %d;\n"
    "  and.b32 %d, %d, 0xfff00000;\ndone:",
    among(20, lambda a: [0] * len(a)))


def fold(function):
    def total(a):
        result = a[0]
        for v in a[1:]:
            result = function(result, v)
        return [result] * len(a)
    return total


REDUCTIONS = {
    "add.u32": lambda x, y: x + y & MASK, "add.s32": lambda x, y: x + y & MASK,
    "min.u32": min, "max.u32": max,
    "min.s32": lambda x, y: min(x, y, key=signed),
    "max.s32": lambda x, y: max(x, y, key=signed),
    "and.b32": lambda x, y: x & y, "or.b32": lambda x, y: x | y,
    "xor.b32": lambda x, y: x ^ y}
for name, function in REDUCTIONS.items():
    values = None
    if name[0] == "a" and name[1] == "n" or name[:2] == "or":
        flip = 0 if name[0] == "o" else MASK
        values = lambda g, i, f=flip: f ^ (1 << g.randrange(32))
    add(f"redux.sync.{name}, 32 lanes", f"  redux.sync.{name} %d, %a, -1;",
        per_warp(lambda a, b, f=function: fold(f)(a)), values)
    add(f"redux.sync.{name}, 20 lanes", SOME + "  @!%q bra done;\n"
        f"  redux.sync.{name} %d, %a, 0xfffff;\ndone:",
        among(20, fold(function)), values)
add("bar.warp.sync", "  st.shared.b32 [%e], %a;\n  bar.warp.sync -1;\n"
    "  xor.b32 %w0, %id, 31;\n  mad.lo.u32 %w0, %w0, 4, %sm;\n"
    "  ld.shared.b32 %d, [%w0];", per_warp(lambda a, b: a[::-1]))

# --- Barriers of the CTA ----------------------------------------------------

ODD = "  and.b32 %w0, %a, 1;\n  setp.ne.u32 %p, %w0, 0;\n"
add("bar.red.popc.u32", ODD + "  bar.red.popc.u32 %d, 3, %p;",
    lambda a, b: [sum(v & 1 for v in a)] * len(a))
add("bar.red.popc.u32, negated", ODD +
    f"  bar.red.popc.u32 %d, 3, {THREADS}, !%p;",
    lambda a, b: [sum(not v & 1 for v in a)] * len(a))
add("bar.red.and.pred", ODD + "  bar.red.and.pred %p, 0, %p;\n"
    "  selp.b32 %d, 1, 2, %p;", lambda a, b: [1] * len(a), lambda g, i: 1)
add("bar.red.or.pred", ODD + "  bar.red.or.pred %p, 0, %p;\n"
    "  selp.b32 %d, 1, 2, %p;", lambda a, b: [1] * len(a),
    lambda g, i: int(i == 77))
add("barrier.cta.red.popc.aligned.u32", ODD +
    "  barrier.cta.red.popc.aligned.u32 %d, 3, %p;",
    lambda a, b: [sum(v & 1 for v in a)] * len(a))
# The first half gives, the second half takes.
HALF = THREADS // 2
for arrive, sync in (("bar.arrive", "bar.sync"),
                     ("barrier.cta.arrive.aligned",
                      "barrier.cta.sync.aligned")):
    add(f"{arrive}, {sync}", f"""  st.shared.b32 [%e], %a;
  mov.b32 %d, 5;
  setp.lt.u32 %p, %id, {HALF};
  @%p bra give;
  {sync} 1, {THREADS};
  add.u32 %w0, %e, -{4 * HALF};
  ld.shared.b32 %d, [%w0];
  bra done;
give:
  {arrive} 1, {THREADS};
done:""", lambda a, b: [5] * HALF + a[:HALF])
add("setmaxnreg", """  setp.lt.u32 %p, %id, 128;
  @%p bra less;
  setmaxnreg.inc.sync.aligned.u32 256;
  add.u32 %d, %a, 1;
  bra done;
less:
  setmaxnreg.dec.sync.aligned.u32 40;
  add.u32 %d, %a, 2;
done:""", lambda a, b: [v + 2 if i < 128 else v + 1
                        for i, v in enumerate(a)], threads=256)
CASES[-1].ptx = CASES[-1].ptx.replace("\n{", "\n.maxntid 256\n{", 1)

# --- mbarrier ---------------------------------------------------------------


def initialize(count, tail=""):
    return (f"  @%first mbarrier.init.shared.b64 [bar], {count};\n{tail}"
            "  bar.sync 0;\n")


def wait(form="try_wait.parity", operand="0", label="wait"):
    return f"""{label}:
  mbarrier.{form}.shared.b64 %p, [bar], {operand};
  @!%p bra {label};
"""


# All threads give a word, and read what another one gave.
PASS = "  xor.b32 %w0, %id, 127;\n  mad.lo.u32 %w0, %w0, 4, %sm;\n" \
    "  ld.shared.b32 %d, [%w0];"
GIVE = "  st.shared.b32 [%e], %a;\n"
backwards = lambda a, b: a[::-1]
for form, operand in (("try_wait.parity", "0"), ("test_wait.parity", "0"),
                      ("try_wait", "%state"), ("test_wait", "%state"),
                      ("try_wait.parity.acquire.cta", "0"),
                      ("test_wait.acquire.cluster", "%state")):
    add(f"mbarrier.{form}", initialize(THREADS) + GIVE +
        "  mbarrier.arrive.shared.b64 %state, [bar];\n" +
        wait(form, operand) + PASS, backwards)
add("mbarrier.arrive.release.cluster, with a count",
    initialize(3 * THREADS) + GIVE +
    "  mbarrier.arrive.release.cluster.shared::cta.b64 %state, [bar], 3;\n" +
    wait() + PASS, backwards)
add("mbarrier.arrive_drop", initialize(THREADS) + GIVE +
    "  mbarrier.arrive_drop.shared.b64 %state, [bar];\n" + wait() + PASS,
    backwards)
# Thread 0 alone: pending counts before each arrival, which the state holds.
add("mbarrier.pending_count", """  mov.b32 %d, 0;
  @!%first bra done;
  mbarrier.init.shared.b64 [bar], 9;
  mbarrier.arrive.noComplete.shared.b64 %state, [bar], 2;
  mbarrier.pending_count.b64 %w0, %state;
  mbarrier.arrive.shared.b64 %state, [bar];
  mbarrier.pending_count.b64 %w1, %state;
  mbarrier.arrive_drop.noComplete.shared.b64 %state, [bar], 1;
  mbarrier.pending_count.b64 %w2, %state;
  mbarrier.arrive.shared.b64 %state, [bar], 5;
  mbarrier.pending_count.b64 %w3, %state;
  mbarrier.arrive.shared.b64 %state, [bar];
  mbarrier.pending_count.b64 %w4, %state;
  mbarrier.inval.shared.b64 [bar];
  mad.lo.u32 %d, %w0, 16, %w1;
  mad.lo.u32 %d, %d, 16, %w2;
  mad.lo.u32 %d, %d, 16, %w3;
  mad.lo.u32 %d, %d, 16, %w4;
done:""", lambda a, b: [0x97658] + [0] * (THREADS - 1))
add("mbarrier.expect_tx, mbarrier.complete_tx", initialize(THREADS) + GIVE +
    """  @%first mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 48;
  mbarrier.arrive.shared.b64 %state, [bar];
  mbarrier.test_wait.shared.b64 %q, [bar], %state;
  @%first mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 48;
""" + wait() + PASS, backwards)

# --- Clusters ---------------------------------------------------------------

MEET = ("  barrier.cluster.arrive.aligned;\n"
        "  barrier.cluster.wait.aligned;\n")
# The word of the thread of that number in the other of two CTAs.
OTHER = """  xor.b32 %w1, %rank, 1;
  mapa.shared::cluster.u32 %w0, %e, %w1;
"""
swapped = lambda a, b: a[THREADS:] + a[:THREADS]
add("ld.shared::cluster.b32", GIVE + MEET + OTHER +
    "  ld.shared::cluster.b32 %d, [%w0];\n" + MEET, swapped, cluster=2)
add("st.shared::cluster.b32", MEET + OTHER +
    "  st.shared::cluster.b32 [%w0], %a;\n" + MEET +
    "  ld.shared.b32 %d, [%e];", swapped, cluster=2)
add("barrier.cluster.arrive.release, barrier.cluster.wait.acquire",
    GIVE + """  barrier.cluster.arrive.release;
  barrier.cluster.wait.acquire;
""" + OTHER + "  ld.shared::cluster.b32 %d, [%w0];\n" + MEET, swapped,
    cluster=2)
add("mapa.u64, getctarank.u64", GIVE + MEET + """  xor.b32 %w1, %rank, 1;
  cvt.u64.u32 %at, %e;
  cvta.shared.u64 %at, %at;
  mapa.u64 %at, %at, %w1;
  ld.b32 %d, [%at];
  getctarank.u64 %w0, %at;
  add.u32 %d, %d, %w0;
""" + MEET, lambda a, b: [v + 1 for v in a[THREADS:]] + a[:THREADS],
    cluster=2)
add("mapa.shared::cluster.u64, getctarank.shared::cluster.u32",
    GIVE + MEET + """  xor.b32 %w1, %rank, 1;
  cvt.u64.u32 %at, %e;
  mapa.shared::cluster.u64 %at, %at, %w1;
  ld.shared::cluster.b32 %d, [%at];
  cvt.u32.u64 %w0, %at;
  getctarank.shared::cluster.u32 %w0, %w0;
  add.u32 %d, %d, %w0;
""" + MEET, lambda a, b: [v + 1 for v in a[THREADS:]] + a[:THREADS],
    cluster=2)
add("atom.shared::cluster.add.u32", "  st.shared.b32 [%e], %b;\n" + MEET +
    OTHER + "  atom.relaxed.cluster.shared::cluster.add.u32 %d, [%w0], %a;\n" +
    MEET + "  ld.shared.b32 %w2, [%e];\n  xor.b32 %d, %d, %w2;",
    lambda a, b: [y ^ (own + x) for y, own, x in
                  zip(swapped(b, a), b, swapped(a, b))], cluster=2)


def receive(bytes):
    """Ready to get so many bytes of all threads of the other CTA."""
    return ("  @%first mbarrier.init.shared.b64 [bar], 1;\n"
            "  @%first fence.mbarrier_init.release.cluster;\n"
            "  @%first mbarrier.arrive.expect_tx.shared.b64 _, [bar], "
            f"{bytes * THREADS};\n" + MEET +
            "  xor.b32 %w1, %rank, 1;\n"
            "  mapa.shared::cluster.u32 %w2, %bar, %w1;\n")


COMPLETE = ".shared::cluster.mbarrier::complete_tx::bytes"
ACQUIRED = wait("try_wait.parity.acquire.cluster")
for type in ("b32", "u32", "s32", "f32"):
    value = "%f" if type == "f32" else "%a"
    declare = "  .reg .f32 %f;\n  mov.b32 %f, %a;\n" if type == "f32" else ""
    add(f"st.async{COMPLETE}.{type}", declare + receive(4) +
        "  mapa.shared::cluster.u32 %w0, %e, %w1;\n"
        f"  st.async.weak{COMPLETE}.{type} [%w0], {value}, [%w2];\n" +
        ACQUIRED + "  ld.shared.b32 %d, [%e];\n" + MEET, swapped, cluster=2)
for suffix, words, vector in ((".b64", 2, "%at"), (".v2.b32", 2, "{%a, %b}"),
                              (".v4.b32", 4, "{%a, %b, %b, %a}"),
                              (".v2.b64", 4, "{%at, %at}")):
    def expected(a, b, words=words, suffix=suffix):
        a, b = swapped(a, b), swapped(b, a)
        return [x ^ (y * 3) ^ ((0 if words == 2 else
                                y * 5 + x * 7 if "v4" in suffix else
                                x * 5 + y * 7))
                for x, y in zip(a, b)]
    read = "".join(f"  ld.shared.b32 %w{3 + i}, [%e+{4 * i}];\n"
                   for i in range(words))
    mix = "  mul.lo.u32 %w4, %w4, 3;\n  xor.b32 %d, %w3, %w4;\n"
    if words == 4:
        mix += ("  mul.lo.u32 %w5, %w5, 5;\n  mad.lo.u32 %w5, %w6, 7, %w5;\n"
                "  xor.b32 %d, %d, %w5;\n")
    add(f"st.async{COMPLETE}{suffix}", "  mov.b64 %at, {%a, %b};\n" +
        receive(4 * words) + f"  mad.lo.u32 %e, %id, {4 * words}, %sm;\n"
        "  mapa.shared::cluster.u32 %w0, %e, %w1;\n"
        f"  st.async{COMPLETE}{suffix} [%w0], {vector}, [%w2];\n" + ACQUIRED +
        read + mix + MEET, expected, smem=16 * THREADS, cluster=2)
REMOTE = {"inc.u32": lambda old, v: 0 if old >= v else old + 1,
          "dec.u32": lambda old, v: v if old == 0 or old > v else old - 1,
          "min.u32": min, "max.u32": max, "add.u32": lambda old, v: old + v,
          "min.s32": lambda old, v: min(old, v, key=signed),
          "max.s32": lambda old, v: max(old, v, key=signed),
          "add.s32": lambda old, v: old + v,
          "and.b32": lambda old, v: old & v, "or.b32": lambda old, v: old | v,
          "xor.b32": lambda old, v: old ^ v}
for name, function in REMOTE.items():
    add("red.async.relaxed.cluster" + COMPLETE + "." + name,
        "  st.shared.b32 [%e], %b;\n" + receive(4) +
        "  mapa.shared::cluster.u32 %w0, %e, %w1;\n"
        f"  red.async.relaxed.cluster{COMPLETE}.{name} [%w0], %a, [%w2];\n" +
        ACQUIRED + "  ld.shared.b32 %d, [%e];\n" + MEET,
        lambda a, b, f=function: [f(old, v) for old, v in
                                  zip(b, swapped(a, b))], cluster=2)
add("red.async.relaxed.cluster" + COMPLETE + ".add.u64",
    "  st.shared.v2.b32 [%e], {%b, %id};\n".replace("[%e]", "[%w7]").join(
        ("  mad.lo.u32 %w7, %id, 8, %sm;\n", "")) +
    "  mov.b64 %at, {%a, %b};\n" + receive(8) +
    "  mapa.shared::cluster.u32 %w0, %w7, %w1;\n"
    f"  red.async.relaxed.cluster{COMPLETE}.add.u64 [%w0], %at, [%w2];\n" +
    ACQUIRED + "  ld.shared.v2.b32 {%w3, %w4}, [%w7];\n"
    "  mad.lo.u32 %d, %w4, 3, %w3;\n" + MEET,
    lambda a, b: [(total & MASK) + 3 * (total >> 32 & MASK) for total in
                  ((own + (i % THREADS << 32)) + (x | y << 32)
                   for i, (own, x, y) in enumerate(
                       zip(b, swapped(a, b), swapped(b, a))))],
    smem=8 * THREADS, cluster=2)
add("mbarrier.arrive.release.cluster.shared::cluster",
    "  @%first mbarrier.init.shared.b64 [bar], 128;\n"
    "  @%first fence.mbarrier_init.release.cluster;\n" + MEET + OTHER +
    "  mapa.shared::cluster.u32 %w2, %bar, %w1;\n"
    "  st.shared::cluster.b32 [%w0], %a;\n"
    "  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%w2];\n" +
    ACQUIRED + "  ld.shared.b32 %d, [%e];\n" + MEET, swapped, cluster=2)

# --- Grids ------------------------------------------------------------------

# Each launch adds the input to what the one before left.
add("griddepcontrol", """  mov.u64 %at, sums;
  mad.wide.u32 %at, %id, 4, %at;
  griddepcontrol.launch_dependents;
  nanosleep.u32 20000;
  griddepcontrol.wait;
  ld.global.b32 %w0, [%at];
  mad.lo.u32 %d, %w0, 3, %a;
  st.global.b32 [%at], %d;""", lambda a, b: [
    v + 3 * (v + 3 * (v + 3 * v)) for v in a], repeat=4)
CASES[-1].ptx = CASES[-1].ptx.replace(
    ".visible", f".global .align 4 .b32 sums[{THREADS}];\n.visible", 1)
