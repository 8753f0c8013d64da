"""What the report derives from times. A row is one op of one problem with one
weight layout; times are medians in microseconds, without the launch floor where
the fastest of them is short."""

import dataclasses
from typing import Optional

from flashnorm_bench import problems, stats

SHORT_US = 50
BANDWIDTH = 4.3e12  # bytes a second, a device-to-device copy on an H200
FLOP_PER_CLOCK = 4096  # of an SM, dense bf16
# Where the norm takes less of the multiplication's time than this, C divides by
# almost nothing.
SMALL_NORM = 0.1
# A plan that is slower than the unfused pair by no more than this is no mistake.
REGRET_LIMIT = 0.02
# Candidates that compile multiplication and norm together, and their names.
CHAINS = (("torch.compile chain", "chain"), ("max-autotune chain", "autotune"))


@dataclasses.dataclass
class Row:
    problem: problems.Problem
    op: Optional[problems.Op]  # none: the multiplication alone
    layout: str
    clock: Optional[float]
    plain: Optional[float] = None  # our own multiplication
    cublas: Optional[float] = None  # in the faster layout
    fused: Optional[float] = None
    planned: bool = False  # whether the planner fuses here
    pair: Optional[float] = None  # the fastest
    pair_name: str = ""
    own_pair: Optional[float] = None
    triton: Optional[float] = None
    chain: Optional[float] = None
    autotune: Optional[float] = None
    error: Optional[float] = None
    pair_error: Optional[float] = None
    width: float = 0.0  # of the widest 95 % interval, half and relative

    @property
    def speedup(self):
        return ratio(self.pair, self.fused)

    @property
    def speedup_limit(self):
        """S if the norm cost nothing beside our own multiplication."""
        return ratio(self.pair, self.plain)

    @property
    def gemm_speedup(self):
        return ratio(self.cublas, self.plain)

    @property
    def relative(self):
        """The fused kernel in units of our own multiplication."""
        return ratio(self.fused, self.plain)

    @property
    def cost(self):
        """What is left of the norm's time; null where that is too small a part."""
        if None in (self.fused, self.plain, self.pair, self.cublas):
            return None
        norm = self.pair - self.cublas
        if norm < SMALL_NORM * self.cublas:
            return None
        return (self.fused - self.plain) / norm

    @property
    def main(self):
        return self.fused if self.op else self.plain

    @property
    def bandwidth(self):
        time = self.main
        return None if time is None else \
            self.problem.bytes / (time * 1e-6) / BANDWIDTH

    def flop_share(self, sms):
        time = self.main
        if time is None or not self.clock:
            return None
        peak = FLOP_PER_CLOCK * sms * self.clock * 1e6
        return self.problem.flop / (time * 1e-6) / peak

    @property
    def regret(self):
        """How much slower the planner's choice is than the best of the others:
        the unfused pairs, and the fused kernel that it turned down."""
        chosen = self.fused if self.planned else self.own_pair
        others = [t for t in (self.pair, self.own_pair, self.fused)
                  if t is not None]
        return ratio(chosen, min(others) if others else None, 1)

    @property
    def loss(self):
        """How much slower the planner's choice is than the fastest pair."""
        chosen = self.fused if self.planned else self.own_pair
        pairs = [t for t in (self.pair, self.own_pair) if t is not None]
        return ratio(chosen, min(pairs) if pairs else None, 1)


def pair_candidate(label):
    """The candidate that is shown as the pair of this name."""
    return next((name for name, chain in CHAINS if chain == label),
                f"pair {label}")


def ratio(a, b, minus=0):
    return None if a is None or b is None else a / b - minus


def prefixed(times, prefix):
    return {name[len(prefix):]: time for name, time in times.items()
            if name.startswith(prefix)}


def rows_of(problem):
    """The rows of a problem of a record: first the multiplication alone."""
    size = problems.Problem(problem["m"], problem["n"], problem["k"],
                            problem["group"], ())
    floor = problem["floor_us"]
    gemm = problem["gemm"]
    for key, found in [(None, None)] + sorted(
            problem["ops"].items(),
            key=lambda item: [op.key for op in problems.OPS].index(item[0])):
        times = dict(gemm["times"], **(found["times"] if found else {}))
        medians = {name: time["median"] for name, time in times.items()}
        # Within an op all times are treated alike, so that ratios stay fair.
        if min(time for name, time in medians.items()
               if not name.startswith("norm ")) < SHORT_US:
            medians = {name: max(time - floor, 1e-3)
                       for name, time in medians.items()}
        cublas = prefixed(medians, "cuBLAS ")
        pairs = prefixed(medians, "pair ")
        # The same two steps, as torch.compile puts them.
        pairs.update((label, medians[name]) for name, label in CHAINS
                     if name in medians)
        for layout in problems.LAYOUTS:
            row = Row(size, problems.Op.parse(key) if key else None, layout,
                      problem["clock_mhz"])
            row.plain = medians.get(f"own {layout}")
            row.cublas = min(cublas.values(), default=None)
            errors = found["errors"] if found else gemm["errors"]
            row.error = errors.get(f"{'fused' if found else 'own'} {layout}")
            used = [f"own {layout}"]
            if found:
                row.fused = medians.get(f"fused {layout}")
                row.planned = found["planner"][layout]["fused"]
                if pairs:
                    row.pair_name = min(pairs, key=pairs.get)
                    row.pair = pairs[row.pair_name]
                    row.pair_error = errors.get(pair_candidate(row.pair_name))
                row.own_pair = medians.get(f"own pair {layout}")
                row.triton = medians.get("Triton")
                row.chain = medians.get("torch.compile chain")
                row.autotune = medians.get("max-autotune chain")
                used += [f"fused {layout}", pair_candidate(row.pair_name)]
            row.width = max((time["high"] - time["low"]) / 2 / time["median"]
                            for time in map(times.get, used) if time)
            yield row


def extremes(values):
    values = [value for value in values if value is not None]
    return (min(values), max(values)) if values else None


def gemm_summary(rows, group, minimum_columns=0):
    """Our own multiplication against cuBLAS over a group: geometric mean and
    smallest, each problem in its faster layout."""
    best = {}
    for row in rows:
        if (row.op is None and row.problem.group == group
                and row.problem.n >= minimum_columns
                and row.gemm_speedup is not None):
            key = row.problem.key
            best[key] = max(best.get(key, 0), row.gemm_speedup)
    if not best:
        return None
    worst = min(best, key=best.get)
    return stats.geometric_mean(best.values()), best[worst], worst
