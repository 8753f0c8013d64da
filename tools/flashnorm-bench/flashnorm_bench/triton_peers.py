"""What one would write in Triton instead: a wide tile that normalises its rows,
and a multiplication that gathers the sums of squares of x on the way. W is stored
as [N,K]. Tiles come and go through TMA descriptors."""

import concurrent.futures
import dataclasses
import multiprocessing
import time

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from flashnorm_bench.problems import EPSILON


@triton.jit
def wide_tile(x, w, y, gamma, beta, depth, epsilon, COLUMNS: tl.constexpr,
              BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
              BLOCK_K: tl.constexpr, LAYER: tl.constexpr,
              AFFINE: tl.constexpr):
    """Rows of norm(x Wᵀ); BLOCK_N >= COLUMNS columns are one tile."""
    row = tl.program_id(0) * BLOCK_M
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in tl.range(0, depth, BLOCK_K):
        acc = tl.dot(x.load([row, k]), w.load([0, k]).T, acc)
    column = tl.arange(0, BLOCK_N)
    inside = column < COLUMNS
    if LAYER:
        mean = tl.sum(acc, 1) / COLUMNS
        acc = acc - mean[:, None]
        if BLOCK_N > COLUMNS:
            acc = tl.where(inside[None, :], acc, 0.0)
    rstd = tl.rsqrt(tl.sum(acc * acc, 1) / COLUMNS + epsilon)
    acc = acc * rstd[:, None]
    if AFFINE:
        scale = tl.load(gamma + column, mask=inside, other=0.0)
        acc = acc * scale.to(tl.float32)[None, :]
        if LAYER:
            shift = tl.load(beta + column, mask=inside, other=0.0)
            acc = acc + shift.to(tl.float32)[None, :]
    y.store([row, 0], acc.to(tl.bfloat16))


@triton.jit
def lazy_pre_norm(x, w, y, rows, columns, depth, epsilon,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                  BLOCK_K: tl.constexpr, GROUP: tl.constexpr):
    """rms_norm(x) Wᵀ as rstd(x) ⊙ (x Wᵀ), in groups of rows of tiles."""
    tiles_m, tiles_n = tl.cdiv(rows, BLOCK_M), tl.cdiv(columns, BLOCK_N)
    tile = tl.program_id(0)
    first = tile // (GROUP * tiles_n) * GROUP
    height = tl.minimum(tiles_m - first, GROUP)
    within = tile % (GROUP * tiles_n)
    row = (first + within % height) * BLOCK_M
    column = within // height * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    squares = tl.zeros((BLOCK_M,), tl.float32)
    for k in tl.range(0, depth, BLOCK_K):
        a = x.load([row, k])
        acc = tl.dot(a, w.load([column, k]).T, acc)
        wide = a.to(tl.float32)
        squares += tl.sum(wide * wide, 1)
    acc = acc * tl.rsqrt(squares / depth + epsilon)[:, None]
    y.store([row, column], acc.to(tl.bfloat16))


@dataclasses.dataclass(frozen=True)
class Config:
    block_m: int
    block_n: int
    block_k: int
    warps: int
    stages: int


def configs(op, columns):
    """What is tried: blocks that fill registers and shared memory."""
    if op.place == "before":
        return (Config(128, 256, 64, 8, 3), Config(128, 256, 64, 8, 4),
                Config(128, 128, 64, 8, 4), Config(128, 128, 64, 4, 4),
                Config(64, 256, 64, 4, 4))
    width = triton.next_power_of_2(columns)
    if width > 512:
        return ()
    if width == 512:
        return (Config(64, 512, 64, 8, 2), Config(64, 512, 64, 8, 3),
                Config(64, 512, 32, 8, 4))
    if width == 256:
        return (Config(64, 256, 64, 4, 4), Config(64, 256, 64, 8, 3),
                Config(128, 256, 64, 8, 3))
    return (Config(64, width, 64, 4, 4), Config(128, width, 64, 4, 3),
            Config(128, width, 64, 8, 3), Config(128, width, 128, 8, 2))


def runner(op, config, x, w, y, gamma, beta):
    """A function that launches the kernel and returns y."""
    (m, k), n = x.shape, y.shape[1]
    block = config.block_m, config.block_n, config.block_k
    x_tiles = TensorDescriptor.from_tensor(x, [block[0], block[2]])
    w_tiles = TensorDescriptor.from_tensor(w, [block[1], block[2]])
    y_tiles = TensorDescriptor.from_tensor(y, [block[0], block[1]])
    options = {"num_warps": config.warps, "num_stages": config.stages}
    rows = triton.cdiv(m, block[0])

    def run_wide():
        wide_tile[(rows,)](x_tiles, w_tiles, y_tiles, gamma, beta, k, EPSILON,
                           n, *block, op.norm == "layer", op.affine, **options)
        return y

    def run_lazy():
        lazy_pre_norm[(rows * triton.cdiv(n, block[1]),)](
            x_tiles, w_tiles, y_tiles, m, n, k, EPSILON, *block, 8, **options)
        return y
    return run_wide if op.place == "after" else run_lazy


def compile_one(op, columns, config):
    """Compiles by running on few rows, into Triton's cache on disk. Returns
    seconds, or None where the kernel does not fit."""
    random = {"device": "cuda", "dtype": torch.bfloat16}
    x = torch.randn(256, 256, **random)
    w, y = torch.randn(columns, 256, **random), torch.empty(256, columns, **random)
    gamma = torch.randn(columns, **random) if op.affine else None
    beta = gamma if op.norm == "layer" else None
    torch.cuda.synchronize()
    start = time.perf_counter()
    try:
        runner(op, config, x, w, y, gamma, beta)()
        torch.cuda.synchronize()
    except Exception:
        # Triton has many ways to say that a configuration does not fit.
        return None
    return time.perf_counter() - start


def compile_ahead(work, jobs):
    """Compiles (op, columns, config) in several processes. Returns seconds by
    item."""
    with concurrent.futures.ProcessPoolExecutor(
            jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        return dict(zip(work, pool.map(compile_one, *zip(*work))))


def work_item(op, columns, config):
    """What one compilation serves: a lazy pre-norm is the same kernel for all
    sizes, and γ is in W."""
    if op.place == "before":
        return dataclasses.replace(op, affine=False), 1024, config
    return op, columns, config
