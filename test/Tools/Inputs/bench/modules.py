"""Prints the modules of one variant, for all ops and layouts."""

import sys

from flashnorm_bench import modules, problems

variant = sys.argv[1]
problem = problems.Problem(4096, 128, 256, "wide", problems.OPS)
ops = (None,) if variant == "plain" else problem.ops
print("\n// -----\n".join(
    f"// {op.key if op else 'gemm'} {layout}\n"
    + modules.write_module(problem, layout, op, variant)
    for op in ops for layout in problems.LAYOUTS))
