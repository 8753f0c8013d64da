"""Medians and their intervals, without assumptions on the distribution."""

import math

# Below this many samples no pair of them encloses the median with 95 %.
MIN_SAMPLES = 6


def median(samples):
    ordered = sorted(samples)
    if not ordered:
        raise ValueError("the median of no samples")
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def interval_ranks(count, confidence=0.95):
    """The ranks, from 0, of the two order statistics that enclose the median
    with at least this confidence. A sample is below the median with probability
    1/2, so the number that are is binomial."""
    if count < MIN_SAMPLES:
        raise ValueError(f"{count} samples have no interval of "
                         f"{100 * confidence:g} %; at least {MIN_SAMPLES} do")
    tail, rank = 0.0, 0
    # In logarithms: 2^count leaves the range of floats.
    for below in range(count // 2):
        tail += math.exp(math.lgamma(count + 1) - math.lgamma(below + 1)
                         - math.lgamma(count - below + 1)
                         - count * math.log(2))
        if tail > (1 - confidence) / 2:
            break
        rank = below
    return rank, count - 1 - rank


def summarize(blocks):
    """blocks: lists of samples, one list a block. The median of all samples, its
    95 % interval, and how far the blocks' medians lie apart, relative."""
    samples = sorted(sample for block in blocks for sample in block)
    if any(not math.isfinite(sample) for sample in samples):
        raise ValueError("a sample is not finite")
    low, high = interval_ranks(len(samples))
    centre = median(samples)
    medians = [median(block) for block in blocks]
    return {"median": centre, "low": samples[low], "high": samples[high],
            "count": len(samples),
            "drift": (max(medians) - min(medians)) / centre}


def geometric_mean(values):
    values = list(values)
    if not values:
        raise ValueError("the geometric mean of no values")
    return math.exp(sum(map(math.log, values)) / len(values))
