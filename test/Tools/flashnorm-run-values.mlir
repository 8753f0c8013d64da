// What functions are called with: rows for dynamic sizes, kinds of values, files.

// RUN: rm -rf %t && mkdir %t
// RUN: flashnorm-run %s --device=cpu --rows=3 --seed=5 --output=%t/first | FileCheck %s --check-prefix=ROWS
// RUN: flashnorm-run %s --device=cpu --arg=0:%t/first/fused_0.npy --output=%t/again | FileCheck %s --check-prefix=ROWS
// RUN: cmp %t/first/fused_0.npy %t/again/fused_0.npy
// RUN: flashnorm-run %s --device=cpu --input=%t/first/fused_0.npy --output=%t/input
// RUN: cmp %t/first/fused_0.npy %t/input/fused_0.npy
// ROWS: result 0: f32 [3, 40]
// ROWS-NEXT: RMS error against f64: fused 0.000e+00, original 0.000e+00
// ROWS: PASS

// The seed decides, and nothing else.
// RUN: flashnorm-run %s --device=cpu --rows=3 --seed=5 --output=%t/same && cmp %t/first/fused_0.npy %t/same/fused_0.npy
// RUN: flashnorm-run %s --device=cpu --rows=3 --seed=6 --output=%t/other && not cmp %t/first/fused_0.npy %t/other/fused_0.npy

// RUN: flashnorm-run %s --device=cpu --rows=2 --input=zeros --output=%t/zeros
// RUN: %test_runtime npy %t/zeros/fused_0.npy | FileCheck %s --check-prefix=ZEROS
// ZEROS: f32 [2, 40] 0 0 0
// RUN: flashnorm-run %s --device=cpu --rows=2 --arg=0:constant --output=%t/constant
// RUN: %test_runtime npy %t/constant/original_0.npy | FileCheck %s --check-prefix=CONSTANT
// CONSTANT: f32 [2, 40] 1234 1234
// RUN: flashnorm-run %s --device=cpu --rows=1 --input=outlier --output=%t/outlier
// RUN: %test_runtime npy %t/outlier/reference_0.npy | FileCheck %s --check-prefix=OUTLIER
// OUTLIER: f64 [1, 40] {{.*}} 30000 {{[^ ]+}} {{[^ ]+$}}
// RUN: flashnorm-run %s --device=cpu --rows=1 --input=large-mean --output=%t/mean
// RUN: %test_runtime npy %t/mean/fused_0.npy | FileCheck %s --check-prefix=MEAN
// MEAN: f32 [1, 40] 6{{[0-9.]+}} 6{{[0-9.]+}} 6{{[0-9.]+}}
// RUN: flashnorm-run %s --device=cpu --rows=0 | FileCheck %s --check-prefix=EMPTY
// EMPTY: result 0: f32 [0, 40]
// EMPTY-NOT: PASS
// EMPTY: nothing compared: no result has an element
// RUN: flashnorm-run %s --device=cpu --rows=2 --compare=none --input=constant | FileCheck %s --check-prefix=ALONE
// ALONE: @same, seed 0; 0 of 0 matmuls fused with norms, 0 norms left
// ALONE-NEXT: result 0: f32 [2, 40], RMS 1.234e+03, largest 1.234e+03
func.func @same(%x: tensor<?x40xf32>) -> tensor<?x40xf32> {
  return %x : tensor<?x40xf32>
}
