#!/usr/bin/env python3
"""Prints "N passed, N failed, N skipped" for the results that lit wrote.

Usage: summarize-lit.py RESULTS.json

Names what was skipped and what failed above that line. Exits with 1 when a
test failed, when there is none, or when lit left no results.
"""

import collections
import json
import sys

PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def main(path):
    try:
        with open(path) as file:
            tests = json.load(file)["tests"]
    except (OSError, ValueError, KeyError) as error:
        print(f"no results from lit: {error}", file=sys.stderr)
        tests = []

    groups = collections.defaultdict(list)
    for test in tests:
        code = test["code"]
        kind = ("passed" if code in PASSED else
                "skipped" if code in SKIPPED else "failed")
        groups[kind].append(f"{code}: {test['name']}")
    if not tests:
        groups["failed"].append("no test ran")

    for kind in ("skipped", "failed"):
        for line in sorted(groups[kind]):
            print(line)
    print(", ".join(f"{len(groups[kind])} {kind}"
                    for kind in ("passed", "failed", "skipped")))
    return 1 if groups["failed"] else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
