#!/usr/bin/env python3
"""Mutation score of the emulator: which synchronisation errors does it notice?

Takes a kernel that runs clean, damages one instruction at a time and runs each
mutant. A mutant is caught when the emulator reports a fault, rejects it, does
not end, or when the results differ from the intact kernel's.

  mutate_ptx.py kernels.ptx --manifest=manifest.json --entry=NAME
                [--rows=N] [--sample=N] [--survivors=FILE]
                [--emulator=PATH] [--report=FILE]

Survivors that FILE does not list with a reason count against the score. FILE
has one kind of survivor a line: CLASS OPERATOR KIND ORDINAL  REASON. CLASS is
equivalent, redundant or gap; KIND is the --kind of the entry; ORDINAL counts the
operator's sites in the entry. All are patterns with *. The exit status is 0 when
at least --threshold percent (95) of the mutants that are not equivalent are
caught and every survivor is listed.
"""

import argparse
import collections
import fnmatch
import json
import os
import random
import re
import subprocess
import sys
import tempfile

Mutant = collections.namedtuple("Mutant", "operator ordinal line before after")
Statement = collections.namedtuple("Statement", "begin end line guard text")

STATEMENT = re.compile(
    r"\s*(?:[$%\w]+:\s*)*(?:@(?P<guard>!?[%\w]+)\s+)?(?P<text>[a-z][^;{}]*"
    r"(?:\{[^{}]*\}[^;{}]*)*);")


def statements(text, begin, end):
    """The instructions between two positions."""
    position = begin
    while match := STATEMENT.search(text, position, end):
        position = match.end()
        start = match.start("guard") - 1 if match["guard"] else \
            match.start("text")
        yield Statement(start, match.end(), text.count("\n", 0, start) + 1,
                        match["guard"], " ".join(match["text"].split()))


# --- The operators ---------------------------------------------------------
# Each takes a statement and yields what to put in its place. Order and names
# are part of the survivors' files.

REMOVABLE = [
    ("barrier", r"(bar|barrier)\.(?!cluster|warp)"),
    ("warp-barrier", r"bar\.warp\.sync"),
    ("cluster-arrive", r"barrier\.cluster\.arrive"),
    ("cluster-wait", r"barrier\.cluster\.wait"),
    ("fence", r"(fence|membar)\."),
    ("copy-wait", r"cp\.async\.(bulk\.)?wait_"),
    ("copy-commit", r"cp\.async\.(bulk\.)?commit_group"),
    ("wgmma-fence", r"wgmma\.fence"),
    ("wgmma-commit", r"wgmma\.commit_group"),
    ("wgmma-wait", r"wgmma\.wait_group"),
    ("mbarrier-init", r"mbarrier\.init"),
    ("arrive", r"mbarrier\.arrive(?!\.expect_tx)"),
    ("arrive-expect", r"mbarrier\.arrive\.expect_tx"),
    ("expect", r"mbarrier\.expect_tx"),
    ("register-budget", r"setmaxnreg\.inc"),
    ("copy", r"cp\.async\.(?!wait|commit|bulk\.(wait|commit|prefetch))"),
]


def shorten(text):
    """fence.proxy.async.shared::cta -> fence-proxy-async."""
    parts = text.split()[0].split(".")
    return "-".join(parts[:3 if parts[1] == "proxy" else 2])


def remove(s):
    for name, pattern in REMOVABLE:
        if re.match(pattern, s.text):
            if name == "fence":
                name = shorten(s.text)
            yield "remove-" + name, ""


def skip_wait(s):
    match = re.match(r"mbarrier\.(try|test)_wait\S* ([%\w]+),", s.text)
    if match:
        yield "skip-mbarrier-wait", f"setp.eq.b32 {match[2]}, 0, 0;"


def weaken_wait(s):
    match = re.match(r"((?:wgmma|cp\.async\.bulk|cp\.async)\.wait_group\S*) "
                     r"(\d+)$", s.text)
    if match:
        yield "weaken-wait", f"{match[1]} {int(match[2]) + 1};"


def flip_parity(s):
    match = re.match(r"(mbarrier\.(?:try|test)_wait\.parity\S* [%\w]+, "
                     r"\[[^]]*\]), ([%\w]+)(.*)$", s.text)
    if match:
        yield "flip-parity", ("{ .reg .b32 mutated; xor.b32 mutated, "
                              f"{match[2]}, 1; {match[1]}, mutated{match[3]}; }}")


def change_count(s):
    match = re.match(r"(mbarrier\.init\S* \[[^]]*\]), ([%\w]+)$", s.text)
    if match:
        for name, delta in (("more", 1), ("less", -1)):
            yield "init-" + name, ("{ .reg .b32 mutated; add.s32 mutated, "
                                   f"{match[2]}, {delta}; {match[1]}, mutated; }}")
    match = re.match(r"(mbarrier\.(?:arrive\.)?expect_tx\S* "
                     r"(?:[%\w]+, )?\[[^]]*\]), ([%\w]+)$", s.text)
    if match:
        for name, delta in (("more", 16), ("less", -16)):
            yield "expect-" + name, (
                "{ .reg .b32 mutated; add.s32 mutated, "
                f"{match[2]}, {delta}; {match[1]}, mutated; }}")
    match = re.match(r"((?:bar|barrier(?:\.cta)?)\.(?:sync|arrive)\S*) "
                     r"([%\w]+), (\d+)$", s.text)
    if match and int(match[3]) > 32:
        yield "barrier-count", f"{match[1]} {match[2]}, {int(match[3]) - 32};"
    match = re.match(r"(bar\.warp\.sync) (-1|0xffffffff)$", s.text)
    if match:
        yield "warp-mask", f"{match[1]} 0x7fffffff;"


def change_guard(s):
    if not s.guard:
        return
    if s.text.startswith("bra"):
        flipped = s.guard[1:] if s.guard[0] == "!" else "!" + s.guard
        yield "negate-branch", f"@{flipped} {s.text};"
    else:
        yield "drop-predicate", s.text + ";"


def relax(s):
    for order in (".release", ".acquire", ".acq_rel"):
        if order in s.text.split()[0] and not s.text.startswith("fence"):
            yield "relax-order", s.text.replace(order, ".relaxed", 1) + ";"


def change_swizzle(s):
    """Addresses in shared memory are swizzled by an xor with bits 4 to 6."""
    match = re.match(r"xor\.b(?:32|64) ([%\w]+), ([%\w]+), ", s.text)
    if match:
        yield "drop-swizzle", f"mov.b{s.text[5:7]} {match[1]}, {match[2]};"


# Fields of a shared-memory matrix descriptor: PTX ISA 9.7.15.5.1.2.
DESCRIPTOR_FIELDS = [("start", 1 << 1), ("leading", 1 << 16),
                     ("stride", 1 << 37), ("swizzle", 1 << 62)]


def change_descriptor(s):
    match = re.match(r"(or\.b64 [%\w]+, [%\w]+|mov\.b64 [%\w]+), (\d{12,})$",
                     s.text)
    if match:
        for name, bit in DESCRIPTOR_FIELDS:
            yield "descriptor-" + name, f"{match[1]}, {int(match[2]) ^ bit};"


OPERATORS = [remove, skip_wait, weaken_wait, flip_parity, change_count,
             change_guard, relax, change_swizzle, change_descriptor]

SYNCHRONISES = re.compile(
    r"bar\.|barrier\.|fence\.|membar|mbarrier\.(?!init|inval)|wgmma\.(fence|"
    r"commit|wait)|cp\.async\.(bulk\.)?(wait|commit)")
TOUCHES = re.compile(r"(ld|st)\.shared|ldmatrix|stmatrix|mbarrier\.arrive|"
                     r"cp\.async|bar\.|wgmma\.mma")


def swaps(pairs):
    """A synchronising instruction and the next instruction that it orders."""
    for first, second in pairs:
        if first.guard or second.guard:
            continue
        if SYNCHRONISES.match(first.text) and TOUCHES.match(second.text) or \
                TOUCHES.match(first.text) and SYNCHRONISES.match(second.text):
            yield first, second


def find_entry(text, entry):
    match = re.search(r"\.entry\s+" + re.escape(entry) + r"\b", text)
    if not match:
        sys.exit(f"no entry {entry}")
    begin = text.index("{", text.index(")", match.end()))
    depth = 0
    for position in range(begin, len(text)):
        depth += (text[position] == "{") - (text[position] == "}")
        if depth == 0:
            return begin + 1, position
    sys.exit(f"entry {entry} does not end")


def blank_comments(text):
    return re.sub(r"//[^\n]*", lambda m: " " * len(m[0]), text)


def make_mutants(text, entry):
    """Mutants of an entry, each with the whole text that it makes."""
    clean = blank_comments(text)
    begin, end = find_entry(clean, entry)
    body = list(statements(clean, begin, end))
    ordinals = collections.Counter()

    def mutant(name, s, span, after):
        ordinals[name] += 1
        return (Mutant(name, ordinals[name] - 1, s.line, s.text, after),
                text[:span[0]] + after + text[span[1]:])

    for s in body:
        for operator in OPERATORS:
            for name, after in operator(s):
                # Operators other than change_guard keep the guard.
                if s.guard and operator is not change_guard and after:
                    after = f"@{s.guard} {after}" if "{" not in after else None
                if after is not None:
                    yield mutant(name, s, (s.begin, s.end), after)
    for first, second in swaps(zip(body, body[1:])):
        between = clean[first.end:second.begin]
        if ":" in between or "{" in between or "}" in between:
            continue
        yield mutant(f"swap-{shorten(first.text)}/{shorten(second.text)}",
                     first, (first.begin, second.end),
                     f"{second.text}; {first.text};")


def make_manifest_mutants(manifest, entry):
    """Swizzles and boxes of tensor maps are the launcher's side of the code."""
    kernel = next(k for k in manifest["kernels"] if k["name"] == entry)
    for i, argument in enumerate(kernel["arguments"]):
        if argument["kind"] != "tensor_map":
            continue
        for name, key, value in (
                ("map-swizzle", "swizzle", 64 if argument["swizzle"] == 128
                 else 128),
                ("map-box", "box", [argument["box"][0],
                                    argument["box"][1] // 2])):
            copy = json.loads(json.dumps(manifest))
            target = next(k for k in copy["kernels"] if k["name"] == entry)
            target["arguments"][i][key] = value
            yield Mutant(name, i, 0, str(argument[key]), str(value)), copy


# --- Running ---------------------------------------------------------------


def read_text(path):
    try:
        with open(path) as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"cannot read {path}: {error}")


class Runner:
    def __init__(self, options, directory):
        self.options = options
        self.directory = directory

    def run(self, ptx, manifest):
        """(status, message, results), of all schedules."""
        ptx_path = os.path.join(self.directory, "mutant.ptx")
        manifest_path = os.path.join(self.directory, "manifest.json")
        with open(ptx_path, "w") as file:
            file.write(ptx)
        with open(manifest_path, "w") as file:
            json.dump(manifest, file)
        kernel = next(k for k in manifest["kernels"]
                      if k["name"] == self.options.entry)
        files = {i: os.path.join(self.directory, f"{i}.npy")
                 for i, operand in enumerate(kernel["operands"])
                 if operand["role"] == "output"}
        for path in files.values():
            if os.path.exists(path):
                os.remove(path)
        command = [self.options.emulator, ptx_path,
                   "--manifest=" + manifest_path,
                   "--entry=" + self.options.entry, "--input-seed=1",
                   f"--rows={self.options.rows}", f"--sms={self.options.sms}",
                   f"--max-steps={self.options.max_steps}",
                   "--schedule=" + SCHEDULES, "--same-results",
                   *(f"--operand={i}:{path}" for i, path in files.items())]
        try:
            done = subprocess.run(command, capture_output=True, text=True,
                                  timeout=self.options.timeout)
        except subprocess.TimeoutExpired:
            return "hang", "", {}
        except OSError as error:
            sys.exit(f"cannot run {self.options.emulator}: {error.strerror}; "
                     "--emulator=PATH says where it is")
        results = {}
        for i, path in files.items():
            if os.path.exists(path):
                with open(path, "rb") as file:
                    results[i] = file.read()
        message = (done.stderr.strip().splitlines() or [""])[0]
        # 1 is a fault or an error; a signal or anything else is a crash.
        status = {0: "clean", 1: "fault"}.get(done.returncode, "crash")
        return status, message, results


SCHEDULES = "lazy,eager,random:3,random:7"


CLASSES = ("equivalent", "redundant", "gap")


def read_survivors(path):
    known = []
    for number, line in enumerate(read_text(path).splitlines() if path else
                                  (), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        fields = line.split(None, 4)
        if len(fields) < 5 or fields[0] not in CLASSES:
            sys.exit(f"{path}:{number}: not like CLASS OPERATOR KIND ORDINAL "
                     f"REASON, where CLASS is one of {', '.join(CLASSES)}")
        known.append(fields)
    return known


def look_up(known, operator, entry, ordinal):
    """(class, reason) of a listed survivor, or empty strings."""
    for kind, *pattern, reason in known:
        if all(fnmatch.fnmatchcase(str(value), p) for value, p in
               zip((operator, entry, ordinal), pattern)):
            return kind, reason
    return "", ""


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("ptx")
    parser.add_argument("--manifest", required=True)
    parser.add_argument("--entry", required=True)
    parser.add_argument("--kind", help="what survivors' files call the entry "
                        "(default: its name)")
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--sms", type=int, default=2,
                        help="multiprocessors for persistent kernels")
    parser.add_argument("--sample", type=int, default=0,
                        help="run this many mutants only")
    parser.add_argument("--sample-seed", type=int, default=0)
    parser.add_argument("--operator", help="only operators that match this")
    parser.add_argument("--survivors")
    parser.add_argument("--threshold", type=float, default=95)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--max-steps", type=int, default=50000000)
    parser.add_argument("--emulator", default="flashnorm-emulate")
    parser.add_argument("--strict", action="store_true",
                        help="name mutants that are listed but caught")
    parser.add_argument("--trust-equivalent", action="store_true",
                        help="do not run mutants listed as equivalent")
    parser.add_argument("--report", help="JSON file to write")
    return parser.parse_args()


def main():
    options = parse_arguments()
    text = read_text(options.ptx)
    try:
        manifest = json.loads(read_text(options.manifest))
        names = [kernel["name"] for kernel in manifest["kernels"]]
    except (ValueError, KeyError, TypeError) as error:
        sys.exit(f"{options.manifest} is no manifest: {error!r}")
    if options.entry not in names:
        sys.exit(f"{options.manifest} has no kernel {options.entry}; it has " +
                 ", ".join(names))
    try:
        operator = re.compile(options.operator or "")
    except re.error as error:
        sys.exit(f"--operator={options.operator}: {error}")
    mutants = [(m, ptx, manifest) for m, ptx in
               make_mutants(text, options.entry)]
    mutants += [(m, text, changed) for m, changed in
                make_manifest_mutants(manifest, options.entry)]
    mutants = [m for m in mutants if operator.search(m[0].operator)]
    if not mutants:
        sys.exit(f"{options.entry} has nothing to damage" +
                 (f" by --operator={options.operator}" if options.operator
                  else ""))
    if options.sample and options.sample < len(mutants):
        mutants = random.Random(options.sample_seed).sample(mutants,
                                                            options.sample)
    known = read_survivors(options.survivors)
    name = options.kind or options.entry
    counts = collections.Counter()
    faults = collections.Counter()
    report = []
    unlisted = 0
    with tempfile.TemporaryDirectory() as directory:
        runner = Runner(options, directory)
        status, message, intact = runner.run(text, manifest)
        if status != "clean" or not intact:
            sys.exit(f"the intact kernel does not run clean: {message}")
        for mutant, ptx, changed in mutants:
            kind, reason = look_up(known, mutant.operator, name,
                                   mutant.ordinal)
            if options.trust_equivalent and kind == "equivalent":
                counts["equivalent"] += 1
                continue
            verdict, message, results = runner.run(ptx, changed)
            if verdict == "crash":
                sys.exit(f"the emulator crashed on {mutant}: {message}")
            if verdict == "clean":
                verdict = "survived" if results == intact else "wrong"
            if verdict == "survived":
                counts[kind or "unlisted"] += 1
                if not kind:
                    unlisted += 1
                    print(f"survivor: {mutant.operator} {name} "
                          f"{mutant.ordinal}, line {mutant.line}: "
                          f"{mutant.before} -> {mutant.after or 'nothing'}",
                          flush=True)
            else:
                counts["caught"] += 1
                fault = re.match(r"fault: ([a-z-]+):", message)
                faults[fault[1] if verdict == "fault" and fault
                       else verdict] += 1
                if kind and options.strict:
                    print(f"listed as {kind} but caught: {mutant.operator} "
                          f"{name} {mutant.ordinal}", flush=True)
            report.append(dict(mutant._asdict(), entry=name,
                               verdict=verdict, message=message, listed=kind,
                               reason=reason))
    relevant = sum(counts.values()) - counts["equivalent"]
    score = 100 * counts["caught"] / relevant if relevant else 100
    print(f"{name}: {counts['caught']} of {relevant} mutants caught, "
          f"{score:.1f} %; " +
          ", ".join(f"{which} {count}" for which, count in
                    sorted(counts.items()) if which != "caught"))
    print("  by: " + ", ".join(f"{which} {count}" for which, count in
                               faults.most_common()))
    if options.report:
        try:
            with open(options.report + ".partial", "w") as file:
                json.dump(report, file, indent=1)
            os.replace(options.report + ".partial", options.report)
        except OSError as error:
            sys.exit(f"cannot write {options.report}: {error.strerror}")
    sys.exit(score < options.threshold or unlisted > 0)


if __name__ == "__main__":
    main()
