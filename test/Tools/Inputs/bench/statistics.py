"""Prints what stats makes of a few samples."""

import random

from flashnorm_bench import stats


def attempt(name, function):
    try:
        print(name, function())
    except ValueError as error:
        print(name, error)


print("median", stats.median([3, 1, 2]), stats.median([4, 1, 3, 2]))
for count in (6, 10, 100, 2000, 5):
    attempt(f"ranks {count}:",
            lambda: "{} {}".format(*stats.interval_ranks(count)))
found = stats.summarize([[1, 3, 2], [6, 4, 5]])
print("median", found["median"], "low", found["low"], "high", found["high"],
      "count", found["count"], "drift", f"{found['drift']:.3f}")
try:
    stats.summarize([[1.0] * 6 + [float("nan")]])
except ValueError as error:
    print(error)
generator, inside = random.Random(3), 0
for _ in range(2000):
    found = stats.summarize([[generator.expovariate(1) for _ in range(20)]])
    inside += found["low"] <= 0.6931471805599453 <= found["high"]
print("coverage", 0.95 <= inside / 2000 <= 0.975)
print("geometric mean", f"{stats.geometric_mean([1, 2, 4]):.3f}")
