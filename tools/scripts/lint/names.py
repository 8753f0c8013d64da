#!/usr/bin/env python3
"""Checks that a pass has one name in five places, and that tests run it.

Usage: names.py ROOT

`def RaiseNormsPass` in a Passes.td stands for the file RaiseNorms.cpp, the flag
`flashnorm-raise-norms` and the tests raise-norms*.mlir. A conversion drops
`Convert`: `def ConvertKernelToNVVMPass` stands for KernelToNVVM.cpp, the flag
`convert-kernel-to-nvvm` and the tests kernel-to-nvvm*.mlir. Every flag, of
passes and pipelines alike, is used by the RUN line of a test.
"""

import os
import re
import sys

from common import files, finish, lines

DEF = re.compile(r"^def (\w+)Pass\b")
FLAG = re.compile(r'\bPass<\s*"([\w-]+)"')
PIPELINE = re.compile(r'PassPipelineRegistration<[^>]*>\w*\s*[({]\s*"([\w-]+)"')


def kebab(name):
    name = name.replace("FlashNorm", "Flashnorm")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-",
                  name).lower()


def passes(root):
    """(file:line, name without Pass, flag) of every pass."""
    for path in files(root, "include", "Passes.td"):
        text = lines(root, path)
        for number, line in enumerate(text, 1):
            match = DEF.match(line)
            if not match:
                continue
            flag = FLAG.search(" ".join(text[number - 1:number + 2]))
            if flag:
                yield f"{path}:{number}", match.group(1), flag.group(1)


def pipelines(root):
    for path in files(root, "lib", ".cpp"):
        for flag in PIPELINE.findall("\n".join(lines(root, path))):
            yield path, flag


def run_lines(root):
    """The RUN lines of all tests, one string."""
    return "\n".join(line for path in files(root, "test", (".mlir", ".test"))
                     for line in lines(root, path) if "RUN:" in line)


def main(root):
    findings = []
    sources = {os.path.basename(p) for p in files(root, "lib", ".cpp")}
    tests = {os.path.basename(p) for p in files(root, "test", ".mlir")}
    runs = run_lines(root)

    def used(flag):
        return re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])",
                         runs.replace("--", " "))

    for where, name, flag in passes(root):
        stem = name[len("Convert"):] if name.startswith("Convert") else name
        if f"{stem}.cpp" not in sources:
            findings.append(f"{where}: no {stem}.cpp in lib")
        expected = kebab(name)
        if not name.startswith("Convert"):
            expected = "flashnorm-" + expected
        # A conversion may name the dialect that its op belongs to.
        if flag.replace("flashnorm-", "") != expected.replace("flashnorm-", ""):
            findings.append(f"{where}: flag {flag}, expected {expected}")
        test = kebab(stem)
        if not any(re.match(rf"(convert-)?{test}(-[\w-]+)?\.mlir$", t)
                   for t in tests):
            findings.append(f"{where}: no test {test}.mlir")
        if not used(flag):
            findings.append(f"{where}: no test runs --{flag}")
    for where, flag in pipelines(root):
        if not used(flag):
            findings.append(f"{where}: no test runs --{flag}")
    finish(findings)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
