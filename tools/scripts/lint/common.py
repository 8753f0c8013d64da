"""What the linters share: files of the tree, and how a finding is reported."""

import os
import sys

SOURCE_ROOTS = ("include", "lib", "tools")
# Inputs hold what the linters must find.
SKIPPED = {".git", "build", "out", "Inputs", "__pycache__"}


def files(root, under, suffixes):
    """Paths relative to root of the files below root/under, sorted."""
    found = []
    for directory, subdirs, names in os.walk(os.path.join(root, under)):
        subdirs[:] = [d for d in subdirs if d not in SKIPPED]
        found += [os.path.relpath(os.path.join(directory, name), root)
                  for name in names if name.endswith(suffixes)]
    return sorted(found)


def lines(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read().splitlines()


def finish(findings):
    """Prints the findings and exits with 1 if there is one."""
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)
