#!/usr/bin/env python3
"""Compares the shared memory that kernels need with what was planned.

usage: compare-shared-memory.py PLANNED.mlir COMPILED.mlir

PLANNED holds `// bytes FUNCTION BYTES` for each function, COMPILED the launch of
a kernel in each function and the launch ABIs of the kernels.
"""

import re
import sys


def main(planned_path, compiled_path):
    with open(planned_path) as file:
        planned = dict(re.findall(r"^// bytes (\w+) (\d+)$", file.read(), re.M))
    with open(compiled_path) as file:
        compiled = file.read()
    needed = {
        name: int(size)
        for name, size in re.findall(
            r'\bname = "(\w+)", operands = .*?\bshared_memory = (\d+)', compiled
        )
    }
    launches = re.findall(
        r"func\.func @(\w+)\([^{]*\{\s*%\w+ = flashnorm\.launch @kernels::@(\w+)",
        compiled,
    )
    more = 0
    for function, kernel in launches:
        if needed[kernel] > int(planned[function]):
            more += 1
            print(f"{function}: {needed[kernel]} of {planned[function]} bytes")
    print(f"{len(launches)} kernels launched, {more} need more than planned")
    return more != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
