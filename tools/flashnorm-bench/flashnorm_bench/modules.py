"""The MLIR of a problem, in FlashNorm's own dialect.

Three variants:
  plain   the multiplication alone
  asked   multiplication and norm as two ops: the planner decides
  forced  one fused op: the planner decides how, not whether
"""

from flashnorm_bench.problems import EPSILON

VARIANTS = ("plain", "asked", "forced")


def tensor(*sizes):
    return f"tensor<{'x'.join(map(str, sizes))}xbf16>"


def weight_type(problem, layout):
    sizes = (problem.n, problem.k) if layout == "nk" else (problem.k, problem.n)
    return tensor(*sizes)


def matmul(result, x, layout, types, extra="", attributes=()):
    """types: of x, W and y."""
    attributes = list(attributes)
    if layout == "nk":
        attributes.insert(0, "transpose_weight")
    x_type, w_type, y_type = types
    dictionary = f" {{{', '.join(attributes)}}}" if attributes else ""
    return (f"  %{result} = flashnorm.matmul ins(%{x}, %w : {x_type}, {w_type})"
            f"{extra} outs(%y_init : {y_type}){dictionary} -> {y_type}\n")


def norm(result, x, op, x_type, init, vector):
    weights = ""
    if op.affine:
        weights = f" weight(%gamma : {vector})"
        if op.norm == "layer":
            weights += f" bias(%beta : {vector})"
    return (f"  %{result} = flashnorm.{op.norm}_norm ins(%{x} : {x_type})"
            f"{weights} outs(%{init} : {x_type})"
            f" {{eps = {EPSILON:e} : f64}} -> {x_type}\n")


def write_module(problem, layout, op=None, variant="plain"):
    """The text of a module with one function, @f."""
    m, n, k = problem.m, problem.n, problem.k
    types = tensor(m, k), weight_type(problem, layout), tensor(m, n)
    x_type, w_type, y_type = types
    arguments = [f"%x: {x_type}", f"%w: {w_type} {{flashnorm.frozen}}"]
    vector = None
    # A fused op has no weight of a norm before: it is in W already.
    if op and op.affine and not (variant == "forced" and op.place == "before"):
        vector = tensor(n if op.place == "after" else k)
        arguments.append(f"%gamma: {vector} {{flashnorm.frozen}}")
        if op.norm == "layer":
            arguments.append(f"%beta: {vector} {{flashnorm.frozen}}")
    body = f"  %y_init = tensor.empty() : {y_type}\n"
    if variant == "plain":
        body += matmul("y", "x", layout, types)
    elif variant == "forced":
        extra = ""
        if vector:
            extra = f" norm_weight(%gamma : {vector})"
            if op.norm == "layer":
                extra += f" norm_bias(%beta : {vector})"
        place = "post" if op.place == "after" else "pre"
        attribute = (f"{place}_norm = #flashnorm.norm<{op.norm}, "
                     f"eps = {EPSILON:e}>")
        body += matmul("y", "x", layout, types, extra, [attribute])
    elif op.place == "after":
        body += matmul("p", "x", layout, types)
        body += norm("y", "p", op, y_type, "y_init", vector)
    else:
        body += f"  %n_init = tensor.empty() : {x_type}\n"
        body += norm("n", "x", op, x_type, "n_init", vector)
        body += matmul("y", "n", layout, types)
    return (f"func.func @f({', '.join(arguments)}) -> {y_type} {{\n{body}"
            f"  return %y : {y_type}\n}}\n")
