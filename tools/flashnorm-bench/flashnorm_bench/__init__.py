"""Benchmarks of FlashNorm's kernels beside what else computes the same.

  problems   which sizes, norms and weight layouts are measured
  modules    their MLIR
  compiler   from MLIR to machine code, with flashnorm-compile
  manifest   what a launch needs to know of a kernel
  cuda       the CUDA driver
  device     one GPU through torch: heat, clock, graphs, timing
  peers      cuBLAS, PyTorch, torch.compile, QuACK
  triton_peers   what one would write in Triton instead
  reference  inputs, f64 references and errors
  session    one run on a GPU: measures the problems of a shard
  stats      medians and their intervals
  records    the JSON that a run leaves
  figures    what the report derives from times
  report     the markdown tables

Everything but device, peers, triton_peers, reference and session is standard
library only.
"""
