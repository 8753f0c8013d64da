#!/usr/bin/env python3
"""Checks what every source file keeps to.

Usage: sources.py ROOT

- At most 600 lines.
- C++ and TableGen files open with their name, their idea and the licence.
- Inline assembly is written in one file only.
- No global options, aborts or debug-only output in the libraries, and nothing
  left for later.
"""

import re
import sys

from common import SOURCE_ROOTS, files, finish, lines

MAX_LINES = 600
LICENCE = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
# The precompiled header is a list of includes.
NO_LICENCE = ("lib/PCH.h", "lib/PCH.cpp")
LIBRARY_BANS = (
    (re.compile(r"\bcl::(opt|list|bits)<"), "options belong to passes"),
    (re.compile(r"\breport_fatal_error\b"), "emit an error and fail instead"),
    (re.compile(r"\bLLVM_DEBUG\b"), "Debian's LLVM has none: emit a remark"),
    (re.compile(r"\b(throw|try|catch)\b\s*[({]"), "built without exceptions"),
)
# One place writes inline assembly, so that its hazards are handled once.
INLINE_ASM = re.compile(r"\bInline(Asm|Ptx)Op\b")
INLINE_ASM_HOME = "lib/Conversion/KernelToNVVM/DeviceBuilder.cpp"
BANS = ((re.compile(r"\b(TODO|FIXME|XXX)\b"), "finish it or open an issue"),)


def check(root, path):
    text = lines(root, path)
    if len(text) > MAX_LINES:
        yield f"{path}: {len(text)} lines, {MAX_LINES} are allowed"
    if not path.endswith((".h", ".cpp", ".td")):
        return
    if path not in NO_LICENCE:
        name = path.rsplit("/", 1)[-1]
        if not text or not text[0].startswith(f"//===- {name} - "):
            yield f'{path}:1: first line should be "//===- {name} - idea"'
        if LICENCE not in text[:6]:
            yield f"{path}: no licence line among the first six"
    bans = BANS if path.startswith("tools/") else BANS + LIBRARY_BANS
    for number, line in enumerate(text, 1):
        for pattern, why in bans:
            match = pattern.search(line)
            if match:
                yield f"{path}:{number}: {match.group(0).strip()}: {why}"
        if path != INLINE_ASM_HOME and INLINE_ASM.search(line):
            yield f"{path}:{number}: inline assembly outside DeviceBuilder.cpp"


def main(root):
    findings = []
    for source_root in SOURCE_ROOTS:
        for path in files(root, source_root,
                          (".h", ".cpp", ".td", ".py", ".sh", ".cmake")):
            findings += check(root, path)
    finish(findings)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
