"""Inputs, f64 references and errors, all on the device."""

import torch

from flashnorm_bench.problems import EPSILON

SAMPLED_ROWS = 384
# A bf16 result is off by 1.7e-3 relative RMS from its own rounding; that of the
# operands of a chain comes on top.
MAX_ERROR = 4e-3
# The largest deviation between two results, relative to |y| + its RMS.
MAX_DEVIATION = 0.04
CHUNK_ROWS = 16384


class Inputs:
    """x, W in both layouts, and γ and β for each width; from the generator."""

    def __init__(self, problem, seed):
        generator = torch.Generator("cuda").manual_seed(seed)

        def normal(*sizes):
            return torch.randn(*sizes, generator=generator, device="cuda",
                               dtype=torch.bfloat16)
        m, n, k = problem.m, problem.n, problem.k
        self.x = normal(m, k)
        nk = normal(n, k) * k ** -0.5
        self.w = {"nk": nk, "kn": nk.t().contiguous()}
        self.gamma = {width: 1 + 0.25 * normal(width) for width in {n, k}}
        self.beta = {width: 0.25 * normal(width) for width in {n, k}}
        # γ ⊙ W, rounded, as @f_prepare_weights computes it.
        folded = (nk.float() * self.gamma[k].float()).bfloat16()
        self.folded = {"nk": folded, "kn": folded.t().contiguous()}
        self.y = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        # First and last rows, and some between.
        ends = min(m, SAMPLED_ROWS // 3)
        self.rows = torch.unique(torch.cat([
            torch.arange(ends, device="cuda"),
            torch.arange(m - ends, m, device="cuda"),
            torch.randint(m, (ends,), generator=generator, device="cuda")]))

    def vectors(self, op, problem):
        """γ and β of an op, null where it has none."""
        if not op.affine:
            return None, None
        width = problem.n if op.place == "after" else problem.k
        return self.gamma[width], \
            self.beta[width] if op.norm == "layer" else None

    def fused_weights(self, op):
        """W as a kernel takes it that has the norm inside."""
        return self.folded if op.place == "before" and op.affine else self.w


def normalize(t, op, gamma, beta):
    if op.norm == "layer":
        t = t - t.mean(1, keepdim=True)
    t = t * torch.rsqrt(t.square().mean(1, keepdim=True) + EPSILON)
    if gamma is not None:
        t = t * gamma.double()
    return t if beta is None else t + beta.double()


def expected(problem, inputs, op=None):
    """The sampled rows in f64, all columns; of the multiplication alone without
    an op."""
    x, w = inputs.x[inputs.rows].double(), inputs.w["nk"].double()
    if op is None:
        return x @ w.t()
    gamma, beta = inputs.vectors(op, problem)
    if op.place == "before":
        return normalize(x, op, gamma, beta) @ w.t()
    return normalize(x @ w.t(), op, gamma, beta)


def error(output, rows, reference):
    """The relative RMS error of the sampled rows; NaN if any element of the whole
    output is not finite."""
    for chunk in output.split(CHUNK_ROWS):
        if not torch.isfinite(chunk).all().item():
            return float("nan")
    difference = output[rows].double() - reference
    return (difference.norm() / reference.norm()).item()


def deviation(output, other):
    """The largest deviation of two results over all elements, relative to
    |other| + the RMS of other."""
    worst = 0.0
    for mine, theirs in zip(output.split(CHUNK_ROWS), other.split(CHUNK_ROWS)):
        mine, theirs = mine.float(), theirs.float()
        scale = theirs.square().mean().sqrt()
        here = ((mine - theirs).abs() / (theirs.abs() + scale)).max().item()
        # A NaN is the worst: it must not lose the comparison.
        if not here <= worst:
            worst = here
            if worst != worst:
                break
    return worst
