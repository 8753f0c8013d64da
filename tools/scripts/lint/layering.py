#!/usr/bin/env python3
"""Checks by #include who knows whom.

Usage: layering.py ROOT

Each component may include its own headers and those listed for it below;
nothing else of FlashNorm. Headers count as much as sources, so what is
forbidden does not come in through another header either.
"""

import re
import sys

from common import SOURCE_ROOTS, files, finish, lines

# Component: (headers of FlashNorm that it may include, may it know MLIR?)
COMPONENTS = {
    "Planning": (("Planning/",), False),
    "Runtime": (("Runtime/",), False),
    # Reads PTX text and knows nothing of how ours is made.
    "Emulator": (("Emulator/", "Runtime/"), False),
    # What both dialects print in the same way.
    "Dialect/Support": ((), True),
    "Dialect/FlashNorm":
        (("Dialect/FlashNorm/", "Dialect/Support/", "Planning/"), True),
    "Dialect/Kernel":
        (("Dialect/Kernel/", "Dialect/Support/", "Planning/"), True),
    "Conversion/FlashNormToKernel":
        (("Conversion/", "Dialect/", "Planning/"), True),
    "Conversion/FlashNormToLinalg":
        (("Conversion/", "Dialect/FlashNorm/"), True),
    "Conversion/KernelToNVVM":
        (("Conversion/", "Dialect/Kernel/", "Planning/"), True),
    "Conversion/SerializeKernels": (("Conversion/", "Planning/"), True),
    "Conversion/LaunchToRuntime":
        (("Conversion/", "Dialect/FlashNorm/", "Runtime/"), True),
    # The headers that all conversions share.
    "Conversion": (("Conversion/",), True),
    # Knows everything, so that nobody else has to.
    "Pipelines": (("Conversion/", "Dialect/", "Pipelines/", "Planning/",
                   "Register.h"), True),
    "Register.h": ((), True),
    "Plugin": (("Register.h",), True),
    "tools": (("Register.h", "Emulator/", "Pipelines/", "Planning/",
               "Runtime/"), True),
}
FAMILIES = ("MmaSync", "Wgmma", "Tcgen05")
INCLUDE = re.compile(r'^\s*#?\s*include\s+["<]([^">]+)[">]')


def component_of(path):
    """The longest component whose folder holds the file."""
    inner = path
    for prefix in ("include/flashnorm/", "lib/"):
        if path.startswith(prefix):
            inner = path[len(prefix):]
    best = [c for c in COMPONENTS if inner == c or inner.startswith(c + "/")]
    return max(best, key=len) if best else None


def family_of(path):
    name = path.rsplit("/", 1)[-1]
    return next((f for f in FAMILIES if name.startswith(f)), None)


def check(path, included):
    """Why the file may not include this, or None."""
    component = component_of(path)
    if component is None:
        return "belongs to no component: add it to layering.py"
    allowed, mlir = COMPONENTS[component]
    if included.startswith("mlir/") and not mlir:
        return f"{component} may not know MLIR"
    if included.startswith(".."):
        return "include by the full path"
    if included.startswith("flashnorm/"):
        inner = included[len("flashnorm/"):]
        if not inner.startswith(allowed):
            return f"{component} may not know flashnorm/{inner}"
    own, other = family_of(path), family_of(included)
    if own and other and own != other:
        return f"MMA family {own} may not know {other}"
    return None


def main(root):
    findings = []
    for source_root in SOURCE_ROOTS:
        for path in files(root, source_root, (".h", ".cpp", ".td")):
            if path.startswith("lib/PCH."):
                continue
            for number, line in enumerate(lines(root, path), 1):
                match = INCLUDE.match(line)
                problem = match and check(path, match.group(1))
                if problem:
                    findings.append(
                        f'{path}:{number}: "{match.group(1)}": {problem}')
    finish(findings)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
