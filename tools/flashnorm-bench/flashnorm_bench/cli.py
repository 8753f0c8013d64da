"""The command line."""

import argparse
import importlib.util
import os
import sys

from flashnorm_bench import compile_time, compiler, problems, records, report

DESCRIPTION = """\
Measures FlashNorm's fused kernels on a GPU beside cuBLAS, PyTorch, torch.compile,
Triton and QuACK, and writes what docs/Benchmarks.md shows.

In two steps, so that the machine with the GPU needs neither LLVM nor ptxas:

  flashnorm-bench kernels -o kernels           compiles all kernels
  flashnorm-bench gpu --kernels=kernels -o results.json
                                               checks and measures them
  flashnorm-bench report results.json          writes the tables

Apart from these, `flashnorm-bench compile MODEL...` measures the compiler itself.
"""
MIN_BLOCKS = 5


def at_least(low, kind=int):
    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not low <= value < float("inf"):
            what = "an integer" if kind is int else "a number"
            raise argparse.ArgumentTypeError(
                f"expected {what} of at least {low}, got '{text}'")
        return value
    return parse


def parse_shard(text):
    index, slash, count = text.partition("/")
    if not (slash and index.isdecimal() and count.isdecimal()
            and 1 <= int(index) <= int(count)):
        raise argparse.ArgumentTypeError(
            f"expected I/N with 1 <= I <= N, got '{text}'")
    return int(index), int(count)


def words(text):
    return tuple(word for word in text.split(",") if word)


def list_of(allowed):
    def parse(text):
        chosen = words(text)
        for word in chosen:
            if word not in allowed:
                raise argparse.ArgumentTypeError(
                    f"expected some of {','.join(allowed)}, got '{word}'")
        return chosen
    return parse


def all_none_or_keys(text):
    """Which problems a slow peer is measured on."""
    return text if text == "all" else () if text == "none" else words(text)


def add_selection(parser):
    group = parser.add_argument_group("which problems")
    group.add_argument(
        "--groups", type=list_of(problems.GROUPS), default=problems.GROUPS,
        metavar="A,B", help="some of wide, llm, small, random (default: all)")
    group.add_argument(
        "--only", type=words, default=(), metavar="MxNxK,...",
        help="of these groups, only the problems with these sizes")
    group.add_argument(
        "--random", type=at_least(0), default=30, metavar="COUNT",
        help="how many random problems (default: 30)")
    group.add_argument(
        "--random-seed", type=at_least(0), default=1, metavar="SEED",
        help="draws the random problems (default: 1)")


def add_compile_options(parser):
    group = parser.add_argument_group("compilation")
    group.add_argument("--flashnorm-compile", metavar="PATH",
                       help="default: beside this program, then the search path")
    group.add_argument("--ptxas", metavar="PATH",
                       help="default: where flashnorm-compile looks")
    group.add_argument("--chip", default="sm_90a",
                       help="what to compile for (default: sm_90a)")
    group.add_argument("--jobs", type=at_least(1), default=os.cpu_count() or 1,
                       help="compilations at a time (default: all cores)")


def make_parser():
    parser = argparse.ArgumentParser(
        prog="flashnorm-bench", description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True,
                                     metavar="COMMAND")

    def add(name, text):
        return commands.add_parser(name, help=text, description=text,
                                   allow_abbrev=False)

    listing = add("list", "Prints the problems, one a line: M, N, K, group, and "
                  "the norms.")
    add_selection(listing)
    listing.add_argument("--shard", type=parse_shard, default=(1, 1),
                         metavar="I/N", help="only part I of N")

    models = add("compile", "Measures how long FlashNorm's passes take on models "
                 "and how much memory, beside --canonicalize --cse.")
    models.add_argument("models", nargs="+", metavar="FILE",
                        help="what flashnorm-opt reads")
    models.add_argument("--flashnorm-opt", metavar="PATH",
                        help="default: beside this program, then the search path")
    models.add_argument("--repetitions", type=at_least(1), default=5,
                        help="the fastest counts (default: 5)")
    models.add_argument("--page", metavar="FILE",
                        help="a markdown page; replaces what it holds under "
                        f"the heading '{report.HEADING}'")

    compiling = add("kernels", "Compiles the kernels of the problems into a "
                    "folder: for each the multiplication alone, what the planner "
                    "makes of it with a norm, and what it turned down.")
    add_selection(compiling)
    add_compile_options(compiling)
    compiling.add_argument("-o", "--output", required=True, metavar="DIR",
                           help="the folder, made if missing")

    gpu = add("gpu", "Checks and measures the kernels on the GPU of this machine, "
              "beside their peers. Needs torch; of the other peers, those are "
              "measured that are installed. Exits with 1 if a result is wrong.")
    add_selection(gpu)
    gpu.add_argument("-o", "--output", required=True, metavar="FILE",
                     help="the record, JSON; written after each problem")
    gpu.add_argument("--kernels", default="flashnorm-bench-kernels",
                     metavar="DIR", help="the folder of the kernels step (default:"
                     " %(default)s); where it has no kernels, they are compiled "
                     "first")
    gpu.add_argument("--shard", type=parse_shard, default=(1, 1), metavar="I/N",
                     help="measure only part I of N; report merges the parts")
    timing = gpu.add_argument_group("timing")
    timing.add_argument("--blocks", type=at_least(MIN_BLOCKS), default=6,
                        help="repetitions come in this many blocks "
                        f"(default: 6; at least {MIN_BLOCKS})")
    timing.add_argument("--seconds", type=at_least(0.1, float), default=2.0,
                        help="for each problem (default: 2)")
    timing.add_argument("--heat", type=at_least(0, float), default=5.0,
                        metavar="SECONDS", help="at full load before the first "
                        "measurement (default: 5)")
    timing.add_argument("--time-limit", type=at_least(1, float), default=480.0,
                        metavar="SECONDS", help="begin no problem after that "
                        "(default: 480)")
    timing.add_argument("--seed", type=at_least(0), default=0,
                        help="of the data and the order (default: 0)")
    peers = gpu.add_argument_group("peers")
    peers.add_argument("--norms", type=list_of(("torch", "torch.compile",
                                                "quack")),
                       default=("torch", "torch.compile", "quack"),
                       metavar="A,B", help="norms that pairs are made of: some of "
                       "torch, torch.compile, quack (default: all)")
    peers.add_argument("--triton", choices=("on", "off"), default="on",
                       help="the fused Triton kernels (default: on)")
    slow = "for all, none, or MxNxK,... (default: all)"
    peers.add_argument("--chains", type=all_none_or_keys, default="all",
                       metavar="WHICH", help="torch.compile of multiplication and "
                       "norm together, " + slow)
    peers.add_argument("--autotune", type=all_none_or_keys, default="all",
                       metavar="WHICH", help="the same with mode max-autotune, "
                       "which takes long, " + slow)
    add_compile_options(gpu)

    reporting = add("report", "Writes the tables of one or more records in "
                    "markdown.")
    reporting.add_argument("records", nargs="+", metavar="FILE",
                           help="what the gpu step wrote")
    where = reporting.add_mutually_exclusive_group()
    where.add_argument("-o", "--output", metavar="FILE",
                       help="where to (default: the standard output)")
    where.add_argument("--page", metavar="FILE",
                       help="a markdown page; replaces what it holds under the "
                       f"heading '{report.HEADING}'")
    return parser


def log(text):
    print(text, file=sys.stderr, flush=True)


def select(options):
    return problems.select(options.groups, options.random, options.random_seed,
                           options.only)


def run_list(options):
    for problem in problems.shard(select(options), *options.shard):
        print(problem.m, problem.n, problem.k, problem.group,
              " ".join(op.key for op in problem.ops))


def run_compile(options):
    tool = compiler.find_tool("flashnorm-opt", options.flashnorm_opt)
    rows = []
    for path in options.models:
        log(f"measuring {path}")
        rows.append(compile_time.measure(tool, path, options.repetitions))
    text = compile_time.table(rows)
    if not options.page:
        sys.stdout.write(text)
        return
    with open(options.page, encoding="utf-8") as file:
        page = report.insert(file.read(), text, options.page)
    with open(options.page, "w", encoding="utf-8") as file:
        file.write(page)


def run_kernels(options, directory):
    tool = compiler.find_tool("flashnorm-compile", options.flashnorm_compile)
    made = compiler.Compiler(tool, directory, options.chip, options.ptxas)
    entries = compiler.compile_all(select(options), made, options.jobs, log)
    broken = [e for e in entries if e.failed and e.variant != "forced"]
    if broken:
        raise compiler.CompileError(
            f"{len(broken)} of {len(entries)} modules did not compile")


def run_gpu(options):
    known = {problem.key for problem in select(options)}
    for name in ("chains", "autotune"):
        wanted = getattr(options, name)
        for key in () if wanted == "all" else wanted:
            if key not in known:
                raise ValueError(f"--{name}: no problem {key} is chosen")
    if not os.path.exists(os.path.join(options.kernels, compiler.INDEX)):
        if os.path.isdir(options.kernels) and os.listdir(options.kernels):
            raise ValueError(f"--kernels={options.kernels} is a folder of other "
                             "files; name one with kernels, or one to be made")
        # Before anything is compiled for nothing.
        if importlib.util.find_spec("torch") is None:
            raise compiler.CompileError("measuring needs torch: no module "
                                        "named torch")
        log(f"no kernels in {options.kernels}; compiling them")
        run_kernels(options, options.kernels)
    try:
        from flashnorm_bench import session
        return session.run(options, log)
    except ImportError as error:
        raise compiler.CompileError(
            f"measuring needs {error.name}: {error}") from error


def run_report(options):
    text = report.write(options.records)
    if options.page:
        with open(options.page, encoding="utf-8") as file:
            text = report.insert(file.read(), text, options.page)
    elif not options.output:
        sys.stdout.write(text)
        return
    with open(options.page or options.output, "w", encoding="utf-8") as file:
        file.write(text)


def main(arguments=None):
    """Runs a command line; returns the exit code."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    command, options.command = options.command, \
        list(sys.argv[1:] if arguments is None else arguments)
    # Errors of the driver and of launches come from modules that need no import
    # here.
    from flashnorm_bench.cuda import CudaError
    from flashnorm_bench.manifest import ManifestError
    try:
        if command == "list":
            run_list(options)
        elif command == "compile":
            run_compile(options)
        elif command == "kernels":
            run_kernels(options, options.output)
        elif command == "gpu":
            return 0 if run_gpu(options) else 1
        else:
            run_report(options)
    except (compiler.CompileError, records.RecordError, CudaError, ManifestError,
            ValueError, OSError) as error:
        log(f"flashnorm-bench: error: {error}")
        return 1
    return 0
