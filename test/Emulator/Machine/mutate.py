#!/usr/bin/env python3
"""Breaks a kernel in a way that it names itself.

  mutate.py FROM TO NAME

Leaves out the lines at whose end [NAMES] has the name, and puts in those that
begin with "//NAME ". A name that no line has is an error.
"""

import re
import sys


def main():
    source, target, name = sys.argv[1:]
    lines, found = [], False
    with open(source) as file:
        for line in file:
            names = re.search(r"\[([a-z ]+)\]$", line.rstrip())
            if names and name in names[1].split():
                found = True
                # Line numbers stay.
                lines.append("\n")
            elif line.startswith(f"//{name} "):
                found = True
                lines.append(line[len(name) + 2:])
            else:
                lines.append(line)
    if not found:
        sys.exit(f"{source} has no line for '{name}'")
    with open(target, "w") as file:
        file.writelines(lines)


if __name__ == "__main__":
    main()
