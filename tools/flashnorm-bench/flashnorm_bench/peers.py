"""What else computes a multiplication or a norm: cuBLAS, PyTorch's own norms,
torch.compile, QuACK. Functions take and return bf16 tensors on the device."""

import importlib
import importlib.metadata

import torch
import torch.nn.functional as F

from flashnorm_bench.problems import EPSILON


def multiply(x, w, layout, y):
    """cuBLAS, by way of torch."""
    return torch.mm(x, w.t() if layout == "nk" else w, out=y)


def native_norm(op, columns, gamma, beta):
    if op.norm == "rms":
        return lambda x: F.rms_norm(x, (columns,), gamma, EPSILON)
    return lambda x: F.layer_norm(x, (columns,), gamma, beta, EPSILON)


def configure_compile():
    """Every function is compiled anew for its sizes; the limits that would make
    torch.compile give up and run eagerly, without a word, are lifted."""
    import torch._dynamo.config as config
    for name in ("recompile_limit", "cache_size_limit",
                 "accumulated_recompile_limit", "accumulated_cache_size_limit"):
        if hasattr(config, name):
            setattr(config, name, 1 << 20)
    # Tuning prints a page for each function.
    import torch._inductor.select_algorithm as algorithm
    algorithm.PRINT_AUTOTUNE = False


def compiled_norm(op, columns, gamma, beta):
    return torch.compile(native_norm(op, columns, gamma, beta), dynamic=False,
                         fullgraph=True)


def compiled_chain(op, columns, gamma, beta, layout, mode):
    """Multiplication and norm in one function of x and W."""
    norm = native_norm(op, columns, gamma, beta)
    if op.place == "after":
        def chain(x, w):
            return norm(x @ (w.t() if layout == "nk" else w))
    else:
        def chain(x, w):
            return norm(x) @ (w.t() if layout == "nk" else w)
    return torch.compile(chain, dynamic=False, fullgraph=True, mode=mode)


def quack_norm(op, columns, gamma, beta):
    """QuACK's kernels; raises ImportError without the package."""
    # The package shows a function under this name, which hides the module.
    rmsnorm = importlib.import_module("quack.rmsnorm")
    if op.norm == "rms":
        return lambda x: rmsnorm.rmsnorm_fwd(x, gamma, eps=EPSILON)[0]
    # Its LayerNorm wants a weight, and vectors in f32.
    weight = torch.ones(columns, device="cuda") if gamma is None \
        else gamma.float()
    bias = None if beta is None else beta.float()
    return lambda x: rmsnorm.layernorm_fwd(x, weight, bias, EPSILON)


NORMS = {"torch": native_norm, "torch.compile": compiled_norm,
         "QuACK": quack_norm}


def versions():
    """Of the peers that are installed and can be imported."""
    found = {}
    for name, package, module in (("torch", "torch", "torch"),
                                  ("triton", "triton", "triton"),
                                  ("quack", "quack-kernels", "quack.rmsnorm")):
        try:
            importlib.import_module(module)
            found[name] = importlib.metadata.version(package)
        except Exception:  # whatever a missing or broken package raises
            found[name] = None
    found["cuda"] = torch.version.cuda
    return found
