"""Which sizes, norms and weight layouts are measured.

A problem is y[M,N] = x[M,K] W, with W stored as [N,K] ("nk") or [K,N] ("kn"),
and the norms that stand after or before it. All arrays are bf16.
"""

import dataclasses
import math
import random

EPSILON = 1e-5
LAYOUTS = ("nk", "kn")
GROUPS = ("wide", "llm", "small", "random")

# Rows of x and columns of y, per group. Wide: recommendation towers, where whole
# rows of y fit into a tile. LLM: projections. Small: decoding.
WIDE = ((131072, 64, 256), (131072, 128, 256), (131072, 256, 256),
        (131072, 512, 512), (65536, 128, 1024), (65536, 256, 1024),
        (65536, 512, 1024), (65536, 512, 2048), (262144, 512, 2048))
LLM = ((16384, 1024, 1024), (16384, 2048, 2048), (8192, 4096, 4096),
       (8192, 4096, 14336), (8192, 14336, 4096), (8192, 8192, 8192),
       (4096, 6144, 4096))
SMALL = ((16, 4096, 4096), (128, 4096, 4096))

# A random problem is at most this large, so that a run of many stays short.
MAX_FLOP = 1e12
MAX_ELEMENTS = 1 << 28


@dataclasses.dataclass(frozen=True)
class Op:
    """A norm beside the multiplication."""
    norm: str  # "rms" or "layer"
    place: str  # "after" or "before" the multiplication
    affine: bool  # with γ, and β if it is a LayerNorm

    @property
    def key(self):
        return f"{self.norm}_{self.place}{'_affine' if self.affine else ''}"

    @classmethod
    def parse(cls, key):
        for op in OPS:
            if op.key == key:
                return op
        raise ValueError(f"unknown op '{key}'; expected one of "
                         f"{', '.join(op.key for op in OPS)}")

    def describe(self):
        name = {"rms": "RMSNorm", "layer": "LayerNorm"}[self.norm]
        weights = {("rms", True): ", γ", ("layer", True): ", γ β"}
        return f"{name} {self.place}{weights.get((self.norm, self.affine), '')}"


OPS = tuple(Op(norm, "after", affine)
            for affine in (False, True) for norm in ("rms", "layer")
            ) + (Op("rms", "before", False), Op("rms", "before", True))
AFTER = OPS[:4]
# γ of a norm before the multiplication is folded into W.
BEFORE = OPS[5:]


@dataclasses.dataclass(frozen=True)
class Problem:
    m: int
    n: int
    k: int
    group: str
    ops: tuple

    @property
    def key(self):
        return f"{self.m}x{self.n}x{self.k}"

    @property
    def flop(self):
        return 2 * self.m * self.n * self.k

    @property
    def bytes(self):
        """Each array once."""
        return 2 * (self.m * self.k + self.k * self.n + self.m * self.n)


def fixed_problems():
    return ([Problem(*size, "wide", AFTER + BEFORE) for size in WIDE]
            + [Problem(*size, "llm", BEFORE) for size in LLM]
            + [Problem(*size, "small", BEFORE) for size in SMALL])


def log_uniform(generator, low, high, step):
    """A multiple of step in [low, high], all magnitudes equally likely."""
    value = math.exp(generator.uniform(math.log(low), math.log(high)))
    return min(high, max(low, round(value / step) * step))


def random_problems(count, seed):
    """Draws sizes that nobody chose: M any number, N and K multiples of 8. The
    same seed gives the same list, and a longer list begins with the shorter."""
    generator = random.Random(seed)
    problems, seen = [], {p.key for p in fixed_problems()}
    while len(problems) < count:
        op = generator.choice(OPS)
        columns = 512 if op.place == "after" else 8192
        m = log_uniform(generator, 64, 262144, 1)
        n = log_uniform(generator, 32, columns, 8)
        k = log_uniform(generator, 64, 8192, 8)
        problem = Problem(m, n, k, "random", (op,))
        elements = max(m * k, k * n, m * n)
        if (problem.flop > MAX_FLOP or elements > MAX_ELEMENTS
                or problem.key in seen):
            continue
        seen.add(problem.key)
        problems.append(problem)
    return problems


def select(groups, count, seed, only=()):
    """The problems of some groups; with `only`, those whose key is listed.
    Raises ValueError for a key that none has."""
    problems = [p for p in fixed_problems() if p.group in groups]
    if "random" in groups:
        problems += random_problems(count, seed)
    if only:
        known = {p.key for p in problems}
        for key in only:
            if key not in known:
                raise ValueError(f"no problem {key} in {', '.join(groups)}")
        problems = [p for p in problems if p.key in only]
    return problems


def shard(problems, index, count):
    """Part `index` of `count`, from 1. Neighbours in the list cost about the
    same, so dealing them out in turn balances the parts."""
    return problems[index - 1::count]
