"""From the problems to machine code: runs flashnorm-compile once for each module
and keeps what it writes in a folder that another machine can measure.

  DIR/kernels.json                     what is there; see Entry
  DIR/PROBLEM-LAYOUT-OP-VARIANT/       module.mlir and the artifacts
"""

import concurrent.futures
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from flashnorm_bench import manifest, modules, problems, records

INDEX = "kernels.json"
INDEX_VERSION = 1
TIMEOUT_S = 120


class CompileError(Exception):
    """flashnorm-compile is missing or rejected a module."""


@dataclasses.dataclass
class Entry:
    """One module. `directory` is null where the norm stayed a norm of its own:
    the multiplication is the plain one, and `note` says why. It is also null
    where nothing compiled (`failed`)."""
    problem: str
    layout: str
    op: str  # "gemm" for the plain variant
    variant: str
    directory: str = None
    fused: bool = False
    failed: bool = False
    note: str = ""
    ptx_seconds: float = None  # MLIR to PTX; wall and processor time
    ptx_cpu_seconds: float = None
    total_seconds: float = None  # with ptxas
    total_cpu_seconds: float = None


def find_tool(name, override=None):
    """The path of a program: as given, beside this one, or on the search path.
    Raises CompileError where it is nowhere."""
    if override:
        path = shutil.which(override)
        if not path:
            raise CompileError(f"'{override}' is not a program that can run")
        return path
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), name)
    path = beside if os.access(beside, os.X_OK) else shutil.which(name)
    if not path:
        raise CompileError(f"no {name} beside this program or on the search "
                           f"path; say where with --{name}=PATH")
    return path


def run_timed(command):
    """Runs a command: (exit code, its output, wall seconds, processor seconds).
    The latter hold its children's."""
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=output,
                                   stdin=subprocess.DEVNULL)
        guard = threading.Timer(TIMEOUT_S, process.kill)
        guard.start()
        # Popen.wait would drop the times.
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        guard.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    return process.returncode, text, wall, usage.ru_utime + usage.ru_stime


class Compiler:
    def __init__(self, tool, directory, chip, ptxas=None, time_ptx=True):
        self.tool, self.directory, self.chip = tool, directory, chip
        self.ptxas, self.time_ptx = ptxas, time_ptx

    def command(self, source, output):
        command = [self.tool, source, f"--chip={self.chip}", "-o", output]
        return command + ([f"--ptxas={self.ptxas}"] if self.ptxas else [])

    def compile(self, problem, layout, op, variant):
        """One module; never raises for what the compiler rejects."""
        key = op.key if op else "gemm"
        name = f"{problem.key}-{layout}-{key}-{variant}"
        entry = Entry(problem.key, layout, key, variant)
        output = os.path.join(self.directory, name)
        os.makedirs(output, exist_ok=True)
        source = os.path.join(output, "module.mlir")
        with open(source, "w", encoding="utf-8") as file:
            file.write(modules.write_module(problem, layout, op, variant))
        code, text, entry.total_seconds, entry.total_cpu_seconds = run_timed(
            self.command(source, output))
        if code:
            entry.failed, entry.note = True, text.strip()[-2000:]
            shutil.rmtree(output)
            return entry
        # Beside the summary of what became of each op come remarks and paths.
        entry.note = "\n".join(line.split(None, 1)[1] for line in
                               text.splitlines() if line.startswith("  "))
        try:
            kernels = manifest.load_kernels(output)
        except manifest.ManifestError as error:
            kernels, entry.note = [], str(error)
        if len(kernels) != 1 or not kernels[0].image.endswith(".cubin"):
            entry.failed = True
            entry.note += f"\n{len(kernels)} kernels with machine code, not one"
            shutil.rmtree(output)
            return entry
        entry.fused = kernels[0].fused
        if variant == "asked" and not entry.fused:
            shutil.rmtree(output)
            return entry
        entry.directory = name
        if self.time_ptx:
            with tempfile.TemporaryDirectory() as scratch:
                code, _, entry.ptx_seconds, entry.ptx_cpu_seconds = run_timed(
                    self.command(source, scratch) + ["--no-cubin"])
        return entry

    def compile_op(self, problem, layout, op):
        """What the planner makes of an op and, where it leaves the norm alone,
        what it turned down."""
        if op is None:
            return [self.compile(problem, layout, None, "plain")]
        entries = [self.compile(problem, layout, op, "asked")]
        if not entries[0].fused:
            entries.append(self.compile(problem, layout, op, "forced"))
        return entries


def compile_all(selected, compiler, jobs, log):
    """Compiles all modules of the problems and writes the index. Returns the
    entries."""
    os.makedirs(compiler.directory, exist_ok=True)
    work = [(problem, layout, op) for problem in selected
            for layout in problems.LAYOUTS for op in (None,) + problem.ops]
    entries = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda item: compiler.compile_op(*item), work)
        for done, found in enumerate(results, 1):
            entries += found
            for entry in found:
                if entry.failed:
                    log(f"{entry.problem} {entry.layout} {entry.op} "
                        f"{entry.variant}: {entry.note.splitlines()[0]}")
            if done % 20 == 0 or done == len(work):
                log(f"compiled {done} of {len(work)}")
    records.write_json(os.path.join(compiler.directory, INDEX), {
        "version": INDEX_VERSION, "chip": compiler.chip,
        "entries": [dataclasses.asdict(entry) for entry in entries]})
    return entries


def load_index(directory):
    """The entries of a folder, by (problem, layout, op, variant). Raises
    CompileError."""
    path = os.path.join(directory, INDEX)
    try:
        with open(path, encoding="utf-8") as file:
            index = json.load(file)
        if index["version"] != INDEX_VERSION:
            raise CompileError(f"{path} has version {index['version']}; "
                               f"this program reads version {INDEX_VERSION}")
        entries = [Entry(**fields) for fields in index["entries"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CompileError(f"{path}: {error!r}") from error
    return {(e.problem, e.layout, e.op, e.variant): e for e in entries}
