"""How long FlashNorm's passes take on a model, and how much memory: runs
flashnorm-opt on files, and beside it the least that any compiler does to them,
`--canonicalize --cse`."""

import dataclasses
import json
import os
import re
import subprocess
import tempfile

from flashnorm_bench import compiler

FUSE = "--flashnorm-fuse"
LEAST = ("--canonicalize", "--cse")
TIMING = ("--mlir-timing", "--mlir-timing-display=list",
          "--mlir-output-format=json")
# The names of --mlir-timing, by what the table calls them.
STEPS = {
    "raise norms": ("RaiseNormsPass",),
    "raise matmuls": ("RaiseMatmulsPass",),
    "fuse epilogues": ("FuseEpiloguesPass",),
    "fuse norms": ("FuseNormsPass",),
    "plan": ("PlanPass", "VerifyPlanPass", "CheckModulePass"),
    "clean-up": ("Canonicalizer", "CSE"),
}
TIMEOUT_S = 600


@dataclasses.dataclass
class Run:
    seconds: float  # of the command: user and system time
    megabytes: float  # at its peak
    passes: dict  # seconds by the names of --mlir-timing


@dataclasses.dataclass
class Row:
    name: str
    norms: int  # found
    matmuls: int  # raised
    fuse: Run
    least: Run
    nothing: Run  # read, and written

    @property
    def passes(self):
        return self.fuse.seconds - self.nothing.seconds

    @property
    def steps(self):
        """What each has of the passes' time. MLIR's clock is the wall's, which a
        busy machine stretches: only proportions are taken from it."""
        clock = {step: sum(self.fuse.passes.get(name, 0) for name in names)
                 for step, names in STEPS.items()}
        total = sum(clock.values())
        return {step: self.passes * value / total
                for step, value in clock.items()}

    @property
    def ratio(self):
        return self.fuse.seconds / self.least.seconds


def run_once(tool, path, flags):
    command = [tool, path, *flags, "-o", os.devnull, *TIMING]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read()
    begin = text.find("[\n{")
    if process.returncode != 0 or begin < 0:
        raise compiler.CompileError(
            f"{' '.join(command)} failed: {text.strip()[-400:]}")
    records = json.loads(text[begin:text.rindex("]") + 1])
    # Where no pass ran in a thread, there is only one time.
    passes = {record["name"]: record.get("user", record["wall"])["duration"]
              for record in records}
    return Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, passes)


def fastest(tool, path, flags, repetitions):
    """What disturbs a run makes it slower, never faster."""
    runs = [run_once(tool, path, flags) for _ in range(repetitions)]
    return min(runs, key=lambda run: run.seconds)


def count(tool, path, flag, pattern):
    done = subprocess.run([tool, path, flag], capture_output=True, text=True,
                          timeout=TIMEOUT_S)
    if done.returncode != 0:
        raise compiler.CompileError(
            f"{tool} {path} {flag} failed: {done.stderr.strip()[-400:]}")
    return len(re.findall(pattern, done.stdout))


def measure(tool, path, repetitions):
    return Row(
        os.path.basename(path),
        count(tool, path, "--flashnorm-raise",
              r"= flashnorm\.(?:rms|layer)_norm "),
        count(tool, path, FUSE, r"= flashnorm\.matmul "),
        fastest(tool, path, (FUSE,), repetitions),
        fastest(tool, path, LEAST, repetitions),
        fastest(tool, path, (), repetitions))


def table(rows):
    head = ["model", "norms", "matmuls", *STEPS, "all passes", "command",
            "least command", "ratio", "peak, MB"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        milliseconds = [*row.steps.values(), row.passes, row.fuse.seconds,
                        row.least.seconds]
        cells = [f"`{row.name}`", str(row.norms), str(row.matmuls),
                 *(f"{1000 * value:.0f}" for value in milliseconds),
                 f"{row.ratio:.1f}", f"{row.fuse.megabytes:.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
