#!/usr/bin/env python3
"""The mutation score of every kind of plan: see tools/scripts/mutate_ptx.py.

  score.py [--bin=DIR] [--kinds=PATTERN] [--jobs=N] [--reports=DIR]
           [-- OPTIONS of mutate_ptx.py]

Compiles Inputs/sm_90a.mlir and sm_80.mlir, which have a function for each kind,
and scores their kernels with survivors.txt. A kind is called CHIP/FUNCTION.
"""

import argparse
import concurrent.futures
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.join(HERE, "..", "..", "..", "tools", "scripts",
                    "mutate_ptx.py")
# Rows that give each CTA of two multiprocessors several tiles: each consumer
# warpgroup gets a third one, so that its boxes for stores are used again.
ROWS = {"sm_90a/*": 330, "sm_80/*": 150, "sm_90a/wide_tile_*": 650,
        "sm_90a/wide_tile_cluster": 400, "sm_90a/wide_tile_columns": 400,
        "sm_90a/pre_and_post_norm": 650, "sm_90a/wide_tile_ping_pong": 780,
        "sm_90a/lazy_*": 260, "sm_90a/gemm_ping_pong": 260}


def get_rows(kind):
    """The last pattern that matches decides."""
    return [rows for pattern, rows in ROWS.items()
            if fnmatch.fnmatchcase(kind, pattern)][-1]


def compile_kernels(options, chip, out):
    """The functions of a chip's file, and what they were compiled to."""
    source = os.path.join(HERE, "Inputs", chip + ".mlir")
    compiler = os.path.join(options.bin, "flashnorm-compile")
    try:
        done = subprocess.run([compiler, source, "--chip=" + chip,
                               "--no-cubin", "--quiet", "-o", out],
                              capture_output=True, text=True)
    except OSError as error:
        sys.exit(f"cannot run {compiler}: {error.strerror}; --bin=DIR says "
                 "where the programs are")
    if done.returncode:
        sys.exit(f"{compiler} failed on {source}:\n{done.stderr.strip()}")
    with open(source) as file:
        functions = re.findall(r"func.func @(\w+)", file.read())
    with open(os.path.join(out, "manifest.json")) as file:
        kernels = json.load(file)["kernels"]
    if len(functions) != len(kernels):
        sys.exit(f"{source} has {len(functions)} functions, of which "
                 f"{len(kernels)} kernels were made; each is to be one")
    return list(zip(functions, kernels))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bin", default="", help="where the programs are")
    parser.add_argument("--kinds", default="*")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--reports", help="directory for a JSON file per kind")
    parser.add_argument("options", nargs="*")
    options = parser.parse_args()
    if options.jobs < 1:
        sys.exit(f"--jobs={options.jobs}: at least one is needed")
    if options.reports:
        try:
            os.makedirs(options.reports, exist_ok=True)
        except OSError as error:
            sys.exit(f"--reports={options.reports}: {error.strerror}")
    with tempfile.TemporaryDirectory() as directory:
        commands, kinds = [], []
        for chip in ("sm_90a", "sm_80"):
            out = os.path.join(directory, chip)
            for function, kernel in compile_kernels(options, chip, out):
                kind = f"{chip}/{function}"
                kinds.append(kind)
                if not fnmatch.fnmatchcase(kind, options.kinds):
                    continue
                command = [sys.executable, "-B", TOOL,
                           os.path.join(out, "kernels.ptx"),
                           "--manifest=" + os.path.join(out, "manifest.json"),
                           "--entry=" + kernel["name"], "--kind=" + kind,
                           f"--rows={get_rows(kind)}",
                           "--survivors=" + os.path.join(HERE, "survivors.txt"),
                           "--emulator=" + os.path.join(options.bin,
                                                        "flashnorm-emulate"),
                           *options.options]
                if options.reports:
                    command.append("--report=" + os.path.join(
                        options.reports, kind.replace("/", "-") + ".json"))
                commands.append(command)
        if not commands:
            sys.exit(f"--kinds={options.kinds}: no kind matches; there are " +
                     ", ".join(kinds))

        def run(command):
            return subprocess.run(command, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)

        failed = False
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for done in pool.map(run, commands):
                print(done.stdout, end="", flush=True)
                failed |= done.returncode != 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
