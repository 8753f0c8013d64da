// What --flashnorm-fold-norm-weight predicts of rounding is what is measured. The
// norm weight is a frozen argument, whose values the compiler does not know: the
// last one is declined where it is a constant. Where x has a mean far from zero,
// the errors of a column of W add up, and the fold keeps their sum small.

// DEFINE: %{bits} =
// DEFINE: %{input} = normal
// DEFINE: %{run} = %python %S/../../Runtime/Inputs/make_npy.py %t.npy "{'descr': '<f4', 'fortran_order': False, 'shape': (256,), }" $(yes %{bits} | head -n 256 | tr -d '\n') && flashnorm-run %s --device=cpu --input=%{input} --rows=300 --arg=1:%t.npy

// A power of two: W is not rounded at all.
// REDEFINE: %{bits} = 0000803f
// RUN: %{run} | FileCheck %s --check-prefix=ONE
// ONE: ratio 0.7{{[01]}}
// ONE: {{^}}PASS
// REDEFINE: %{input} = large-mean
// RUN: %{run} | FileCheck %s --check-prefix=ONE-MEAN
// ONE-MEAN: ratio 0.8{{[5-7]}}

// REDEFINE: %{bits} = 0000a03f
// RUN: %{run} | FileCheck %s --check-prefix=FIVE-MEAN
// FIVE-MEAN: ratio 0.8
// REDEFINE: %{input} = normal
// RUN: %{run} | FileCheck %s --check-prefix=FIVE
// FIVE: ratio 1.0{{[12]}}
// FIVE: {{^}}PASS

// 1.75.
// REDEFINE: %{bits} = 0000e03f
// RUN: %{run} | FileCheck %s --check-prefix=SEVEN
// SEVEN: ratio 1.0{{[12]}}
// SEVEN: {{^}}PASS
// REDEFINE: %{input} = large-mean
// RUN: %{run} | FileCheck %s --check-prefix=SEVEN-MEAN
// SEVEN-MEAN: ratio {{0.9|1.00}}

// A value with many bits, 1.4.
// REDEFINE: %{bits} = 3333b33f
// RUN: %{run} | FileCheck %s --check-prefix=MANY-MEAN
// MANY-MEAN: ratio 0.7
// REDEFINE: %{input} = normal
// RUN: %{run} | FileCheck %s --check-prefix=MANY
// MANY: ratio {{1.00|0.99}}
// MANY: {{^}}PASS

// REDEFINE: %{bits} = 0000c03f
// RUN: (%{run} || true) | FileCheck %s --check-prefix=THREE
// THREE: ratio 1.0{{4[89]|5[0-6]}}
// REDEFINE: %{input} = large-mean
// RUN: %{run} | FileCheck %s --check-prefix=THREE-MEAN
// THREE-MEAN: ratio 0.9
func.func @folded(%x: tensor<?x256xbf16>, %g: tensor<256xf32> {flashnorm.frozen}, %w: tensor<256x256xbf16> {flashnorm.frozen}) -> tensor<?x256xbf16> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x256xbf16>
  %norm_init = tensor.empty(%rows) : tensor<?x256xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<?x256xbf16>) weight(%g : tensor<256xf32>)
    outs(%norm_init : tensor<?x256xbf16>) {eps = 1.0e-05 : f64} -> tensor<?x256xbf16>
  %init = tensor.empty(%rows) : tensor<?x256xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
    outs(%init : tensor<?x256xbf16>) {transpose_weight} -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}
