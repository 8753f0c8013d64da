"""The markdown tables of one or more shards."""

import collections

from flashnorm_bench import figures, problems, records, stats

GROUP_TITLES = {
    "wide": "Many rows, whole rows of y in a tile",
    "llm": "Projections of language models", "small": "Few rows",
    "random": "Random sizes"}
LAYOUT_TITLES = {"nk": "W as [N,K]", "kn": "W as [K,N]"}
NONE = "–"
HEADING = "## Results"  # of the page that holds a report


def ms(value):
    if value is None:
        return NONE
    value /= 1e3
    digits = 4 if value < 0.1 else 3 if value < 1 else 2
    return f"{value:.{digits}f}"


def number(value, digits=2):
    return NONE if value is None else f"{value:.{digits}f}"


def percent(value):
    return NONE if value is None else f"{100 * value:.0f} %"


def scientific(value):
    return NONE if value is None else f"{value:.1e}"


def size(problem):
    return f"{problem.m} × {problem.n} × {problem.k}"


def table(header, lines):
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * len(header)
    for line in lines:
        yield "| " + " | ".join(line) + " |"
    yield ""


def gemm_table(rows, sms):
    header = ["M × N × K", "own, ms", "cuBLAS, ms", "cuBLAS / own", "bytes",
              "FLOP", "error"]
    return table(header, [
        [size(r.problem), ms(r.plain), ms(r.cublas), number(r.gemm_speedup),
         percent(r.bandwidth), percent(r.flop_share(sms)), scientific(r.error)]
        for r in rows])


def op_table(rows, sms):
    header = ["M × N × K", "norm", "own plain, ms", "fused, ms", "pair, ms",
              "by", "S", "S at C = 0", "C", "hidden", "fused / plain", "bytes",
              "FLOP", "error", "pair's error", "Triton, ms", "compile, ms",
              "autotune, ms"]
    return table(header, [
        [size(r.problem), r.op.describe() + ("" if r.planned else " *"),
         ms(r.plain), ms(r.fused), ms(r.pair), r.pair_name or NONE,
         number(r.speedup), number(r.speedup_limit), percent(r.cost),
         percent(None if r.cost is None else 1 - r.cost), number(r.relative),
         percent(r.bandwidth), percent(r.flop_share(sms)), scientific(r.error),
         scientific(r.pair_error), ms(r.triton), ms(r.chain), ms(r.autotune)]
        for r in rows])


def regret_table(rows):
    header = ["M × N × K", "norm", "W", "planner", "fused, ms", "own pair, ms",
              "pair, ms", "S", "cuBLAS / own", "loss", "regret"]
    return table(header, [
        [size(r.problem), r.op.describe(), f"[{','.join(r.layout.upper())}]",
         "fuses" if r.planned else "leaves", ms(r.fused), ms(r.own_pair),
         ms(r.pair), number(r.speedup), number(r.gemm_speedup),
         signed(r.loss), signed(r.regret)] for r in rows])


def signed(value):
    return NONE if value is None else f"{100 * value:+.1f} %"


def compile_table(entries):
    by_what = {}
    for entry in entries:
        by_what.setdefault(entry["what"], []).append(entry["seconds"])
    header = ["what", "times", "median, s", "longest, s"]
    return table(header, [
        [what, str(len(seconds)), f"{stats.median(seconds):.2f}",
         f"{max(seconds):.2f}"] for what, seconds in sorted(by_what.items())])


def span(found, form):
    if not found:
        return NONE
    low, high = map(form, found)
    return low if low == high else f"{low} to {high}"


def at_a_glance(rows):
    """One line for each question that the tables answer."""
    lines = []
    for group, columns, what in (("llm", 0, "projections"),
                                 ("wide", 128, "many rows, N ≥ 128"),
                                 ("small", 0, "few rows")):
        found = figures.gemm_summary(rows, group, columns)
        if found:
            mean, worst, key = found
            lines.append([f"own multiplication against cuBLAS, {what}",
                          f"geometric mean {mean:.2f}, least {worst:.2f} "
                          f"({key.replace('x', ' × ')})"])
    fused = [r for r in rows if r.op and r.fused is not None]
    for op in problems.OPS:
        of_op = [r for r in fused if r.op == op and r.problem.group == "wide"
                 and r.problem.n >= 128]
        if of_op:
            lines.append([
                f"{op.describe()}, many rows, N ≥ 128",
                f"S {span(figures.extremes(r.speedup for r in of_op), number)}, "
                f"C {span(figures.extremes(r.cost for r in of_op), percent)}"])
    narrow = [r for r in fused if r.problem.group == "wide"
              and r.problem.n < 128]
    if narrow:
        lines.append(["many rows, N = 64", "S " + span(
            figures.extremes(r.speedup for r in narrow), number)])
    llm = [r for r in fused if r.problem.group == "llm"]
    if llm:
        lines.append(["RMSNorm before, projections", "S " + span(
            figures.extremes(r.speedup for r in llm), number)
            + ", fused / plain " + span(
                figures.extremes(r.relative for r in llm), number)])
    for title, chosen in (("the sizes above", False), ("random sizes", True)):
        of_kind = [r for r in rows if r.op and r.loss is not None
                   and (r.problem.group == "random") == chosen]
        if of_kind:
            worst = max(of_kind, key=lambda r: r.loss)
            over = sum(r.loss > figures.REGRET_LIMIT for r in of_kind)
            lines.append([
                f"planner's choice against the fastest pair, {title}",
                f"at worst {signed(worst.loss)} ({size(worst.problem)}, "
                f"{worst.op.describe()}, {worst.layout}); {over} of "
                f"{len(of_kind)} above {signed(figures.REGRET_LIMIT)}"])
    errors = [r.error for r in rows if r.error is not None]
    if errors:
        lines.append(["largest relative RMS error against f64",
                      scientific(max(errors))])
    ratios = [r.error / r.pair_error for r in rows if r.error and r.pair_error]
    if ratios:
        lines.append(["largest such error in units of the fastest pair's",
                      number(max(ratios))])
    return table(["", ""], lines)


def intervals(rows):
    widths = sorted(r.width for r in rows)
    return (f"The 95 % intervals of the medians are ±{100 * stats.median(widths):.1f} % "
            f"wide at the median over all rows, ±{100 * widths[-1]:.1f} % at most.")


def absences(record):
    """What was not measured and why, of the peers that some rows lack."""
    ops = [op for problem in record["problems"]
           for op in problem["ops"].values()]
    reasons = collections.defaultdict(list)
    for op in ops:
        for name, reason in op["absent"].items():
            if not name.startswith("fused"):
                reasons[name].append(reason.partition("\n")[0].rstrip("."))
    return [f"Without {name} in {len(found)} of {len(ops)} rows, most often: "
            f"{collections.Counter(found).most_common(1)[0][0]}."
            for name, found in sorted(reasons.items())]


def provenance(record):
    device, method = record["device"], record["method"]
    quack = f", QuACK {device['quack']}" if device["quack"] else ""
    floors = ", ".join(f"{floor:.1f}" for floor in record["floors"])
    clocks = [p["clock_mhz"] for p in record["problems"] if p["clock_mhz"]]
    clock = f" SM clock {min(clocks):.0f} to {max(clocks):.0f} MHz." \
        if clocks else ""
    return (f"{device['name']}, {device['sms']} SMs, driver {device['driver']}, "
            f"{record['date'][:10]}; torch {device['torch']} with CUDA "
            f"{device['cuda']}, Triton {device['triton']}{quack}. "
            f"{method['blocks']} blocks; launch floor {floors} µs.{clock}")


def write(paths):
    """The report of the records in these files. Raises records.RecordError."""
    record = records.merge([(path, records.load(path)) for path in paths])
    sms = record["device"]["sms"]
    fixed = [p.key for p in problems.fixed_problems()]
    rows = [row for problem in record["problems"]
            for row in figures.rows_of(problem)]
    # As they are listed, whatever the shards; random ones keep their order.
    rows.sort(key=lambda row: fixed.index(row.problem.key)
              if row.problem.key in fixed else len(fixed))
    lines = [provenance(record), ""]
    if record["failures"]:
        lines += ["**Results that were wrong:**", ""]
        lines += [f"- {failure}" for failure in record["failures"]] + [""]
    if record["skipped"]:
        lines += [f"Not measured, for want of time: "
                  f"{', '.join(record['skipped'])}.", ""]
    lines += ["### At a glance", "", *at_a_glance(rows)]
    if rows:
        lines += [intervals(rows), ""]
    for absence in absences(record):
        lines += [absence, ""]
    for group in problems.GROUPS[:3]:
        for layout in problems.LAYOUTS:
            chosen = [r for r in rows if r.problem.group == group
                      and r.layout == layout]
            if not chosen:
                continue
            lines += [f"### {GROUP_TITLES[group]}: {LAYOUT_TITLES[layout]}", ""]
            lines += gemm_table([r for r in chosen if not r.op], sms)
            lines += op_table([r for r in chosen if r.op], sms)
    lost = [r for r in rows if r.op and r.problem.group != "random"
            and r.loss is not None and r.loss > figures.REGRET_LIMIT]
    if lost:
        lines += ["### Where the planner's choice is slower than the fastest pair",
                  "", *regret_table(lost)]
    chosen = [r for r in rows if r.problem.group == "random" and r.op]
    if chosen:
        lines += [f"### {GROUP_TITLES['random']}", "", *regret_table(chosen)]
    if record["compile"]:
        lines += ["### Compile time", "", *compile_table(record["compile"])]
    return "\n".join(lines).rstrip() + "\n"


def insert(page, text, path):
    """The page with the text as all of what follows its heading. Raises
    records.RecordError where there is no such heading."""
    before, heading, _ = page.partition(f"\n{HEADING}\n")
    if not heading:
        raise records.RecordError(f"{path} has no heading '{HEADING}'")
    return f"{before}{heading}\n{text}"
