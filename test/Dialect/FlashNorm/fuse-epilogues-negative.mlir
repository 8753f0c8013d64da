// What the op cannot say, or what somebody else needs, stays where it is.
// RUN: flashnorm-opt %s --flashnorm-fuse-epilogues --split-input-file | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-fuse-epilogues --split-input-file --remarks-filter-missed=flashnorm-fuse-epilogues -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// The matmul's result is also returned.
#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @another_use
// CHECK: flashnorm.matmul
// CHECK-NOT: bias
// CHECK: linalg.generic
// CHECK: arith.addf
// REMARK: EpilogueNotFused{{.*}}what is added to is also used by func.return
func.func @another_use(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<32xbf16>, %e: tensor<?x32xbf16>, %o: tensor<?x32xbf16>) -> (tensor<?x32xbf16>, tensor<?x32xbf16>) {
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %s = linalg.generic {indexing_maps = [#id, #v, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %b : tensor<?x32xbf16>, tensor<32xbf16>) outs(%o : tensor<?x32xbf16>) {
  ^bb0(%i0: bf16, %i1: bf16, %out: bf16):
    %a = arith.addf %i0, %i1 : bf16
    linalg.yield %a : bf16
  } -> tensor<?x32xbf16>
  return %acc, %s : tensor<?x32xbf16>, tensor<?x32xbf16>
}

// -----

// The biased value feeds SiLU and somebody else: only the bias is fused.
#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @activation_with_another_use
// CHECK: flashnorm.matmul {{.*}} bias
// CHECK-NOT: activation
// CHECK: math.exp
// REMARK: EpilogueNotFused{{.*}}what silu is computed from is also used by func.return
func.func @activation_with_another_use(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<32xf32>, %e: tensor<?x32xf32>, %o: tensor<?x32xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  %one = arith.constant 1.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %b : tensor<?x32xf32>, tensor<32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %i1: f32, %out: f32):
    %a = arith.addf %i0, %i1 : f32
    linalg.yield %a : f32
  } -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %out: f32):
    %n = arith.negf %i0 : f32
    %ex = math.exp %n : f32
    %d = arith.addf %ex, %one : f32
    %q = arith.divf %i0, %d : f32
    linalg.yield %q : f32
  } -> tensor<?x32xf32>
  return %y, %s : tensor<?x32xf32>, tensor<?x32xf32>
}

// -----

// An inner value of SiLU, the logistic function, is used elsewhere.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @inner_value_used
// CHECK: flashnorm.matmul
// CHECK-NOT: activation
// CHECK: arith.mulf
func.func @inner_value_used(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>, %o: tensor<?x32xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  %one = arith.constant 1.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc : tensor<?x32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %out: f32):
    %n = arith.negf %i0 : f32
    %ex = math.exp %n : f32
    %d = arith.addf %ex, %one : f32
    %r = arith.divf %one, %d : f32
    linalg.yield %r : f32
  } -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %g : tensor<?x32xf32>, tensor<?x32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %i1: f32, %out: f32):
    %p = arith.mulf %i0, %i1 : f32
    linalg.yield %p : f32
  } -> tensor<?x32xf32>
  return %g, %s : tensor<?x32xf32>, tensor<?x32xf32>
}

// -----

// The op adds the residual last: an activation after it stays.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @residual_before_activation
// CHECK: flashnorm.matmul {{.*}} residual
// CHECK-NOT: activation
// CHECK: arith.maximumf
// REMARK: EpilogueNotFused{{.*}}relu comes after the residual
func.func @residual_before_activation(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<?x32xf32>, %e: tensor<?x32xf32>, %o: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %r : tensor<?x32xf32>, tensor<?x32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %i1: f32, %out: f32):
    %a = arith.addf %i0, %i1 : f32
    linalg.yield %a : f32
  } -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %out: f32):
    %m = arith.maximumf %i0, %zero : f32
    linalg.yield %m : f32
  } -> tensor<?x32xf32>
  return %s : tensor<?x32xf32>
}

// -----

// A bias after the activation is no bias of the op.
#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @bias_after_activation
// CHECK: flashnorm.matmul
// CHECK-NOT: bias
// CHECK-SAME: activation = #flashnorm.activation<relu>
// CHECK: arith.addf
// REMARK: EpilogueNotFused{{.*}}a vector is added after the bias, the activation or the residual
func.func @bias_after_activation(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<32xf32>, %e: tensor<?x32xf32>, %o: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc : tensor<?x32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %out: f32):
    %m = arith.maximumf %i0, %zero : f32
    linalg.yield %m : f32
  } -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #v, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %b : tensor<?x32xf32>, tensor<32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %i1: f32, %out: f32):
    %a = arith.addf %i0, %i1 : f32
    linalg.yield %a : f32
  } -> tensor<?x32xf32>
  return %s : tensor<?x32xf32>
}

// -----

// A vector per row is neither bias nor residual.
#id = affine_map<(d0, d1) -> (d0, d1)>
#c = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func @vector_of_rows
// CHECK: flashnorm.matmul
// CHECK-NOT: bias
// CHECK: arith.addf
// REMARK: EpilogueNotFused{{.*}}what is added is neither a vector of N nor a tensor of the result's shape
func.func @vector_of_rows(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<?xf32>, %e: tensor<?x32xf32>, %o: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #c, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %b : tensor<?x32xf32>, tensor<?xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %i1: f32, %out: f32):
    %a = arith.addf %i0, %i1 : f32
    linalg.yield %a : f32
  } -> tensor<?x32xf32>
  return %s : tensor<?x32xf32>
}

// -----

// x * logistic(1.702 x) is another function.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @quick_gelu
// CHECK: flashnorm.matmul
// CHECK-NOT: activation
// CHECK: math.exp
func.func @quick_gelu(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>, %o: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %one = arith.constant 1.0 : f32
  %c = arith.constant -1.702 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc : tensor<?x32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %out: f32):
    %n = arith.mulf %i0, %c : f32
    %ex = math.exp %n : f32
    %d = arith.addf %ex, %one : f32
    %q = arith.divf %i0, %d : f32
    linalg.yield %q : f32
  } -> tensor<?x32xf32>
  return %s : tensor<?x32xf32>
}

// -----

// 1 + 2^-7 is not 1, not even in bf16.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @almost_silu
// CHECK: flashnorm.matmul
// CHECK-NOT: activation
// CHECK: math.exp
func.func @almost_silu(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xbf16>, %o: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %one = arith.constant 1.0078125 : bf16
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc : tensor<?x32xbf16>) outs(%o : tensor<?x32xbf16>) {
  ^bb0(%i0: bf16, %out: bf16):
    %n = arith.negf %i0 : bf16
    %ex = math.exp %n : bf16
    %d = arith.addf %ex, %one : bf16
    %q = arith.divf %i0, %d : bf16
    linalg.yield %q : bf16
  } -> tensor<?x32xbf16>
  return %s : tensor<?x32xbf16>
}

// -----

// This select turns NaN into 0, which the op does not.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @relu_that_drops_nan
// CHECK: flashnorm.matmul
// CHECK-NOT: activation
// CHECK: arith.select
func.func @relu_that_drops_nan(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>, %o: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc : tensor<?x32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %out: f32):
    %c = arith.cmpf ogt, %i0, %zero : f32
    %r = arith.select %c, %i0, %zero : f32
    linalg.yield %r : f32
  } -> tensor<?x32xf32>
  return %s : tensor<?x32xf32>
}

// -----

// The addend is the matmul itself.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @doubled
// CHECK: flashnorm.matmul
// CHECK-NOT: residual
// CHECK: arith.addf
func.func @doubled(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>, %o: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc : tensor<?x32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %out: f32):
    %a = arith.addf %i0, %i0 : f32
    linalg.yield %a : f32
  } -> tensor<?x32xf32>
  return %s : tensor<?x32xf32>
}

// -----

// A transpose lies between: no element stays where it was.
#id = affine_map<(d0, d1) -> (d0, d1)>
#t = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func @transposed_residual
// CHECK: flashnorm.matmul
// CHECK-NOT: residual
// CHECK: arith.addf
func.func @transposed_residual(%x: tensor<32x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<32x32xf32>, %e: tensor<32x32xf32>, %o: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %acc = flashnorm.matmul ins(%x, %w : tensor<32x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %s = linalg.generic {indexing_maps = [#t, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %r : tensor<32x32xf32>, tensor<32x32xf32>) outs(%o : tensor<32x32xf32>) {
  ^bb0(%i0: f32, %i1: f32, %out: f32):
    %a = arith.addf %i0, %i1 : f32
    linalg.yield %a : f32
  } -> tensor<32x32xf32>
  return %s : tensor<32x32xf32>
}

// -----

// The residual add stands in a loop: the matmul stays outside.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @add_in_a_loop
// CHECK: flashnorm.matmul
// CHECK-NOT: residual
// CHECK: scf.for
// CHECK: arith.addf
// REMARK: EpilogueNotFused{{.*}}residual is computed in another block
func.func @add_in_a_loop(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<?x32xf32>, %e: tensor<?x32xf32>, %n: index) -> tensor<?x32xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %l = scf.for %i = %c0 to %n step %c1 iter_args(%s = %r) -> tensor<?x32xf32> {
  %a = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %s : tensor<?x32xf32>, tensor<?x32xf32>) outs(%r : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %i1: f32, %out: f32):
    %a0 = arith.addf %i0, %i1 : f32
    linalg.yield %a0 : f32
  } -> tensor<?x32xf32>
    scf.yield %a : tensor<?x32xf32>
  }
  return %l : tensor<?x32xf32>
}

// -----

// Rounding to eight bits is a quantisation, not a rounding of the result.
#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @fake_quantised
// CHECK: flashnorm.matmul
// CHECK-NOT: bias
// CHECK: arith.truncf
// CHECK: arith.addf
func.func @fake_quantised(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<32xf32>, %e: tensor<?x32xf32>, %o: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #v, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %b : tensor<?x32xf32>, tensor<32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %i1: f32, %out: f32):
    %q = arith.truncf %i0 : f32 to f8E4M3FN
    %d = arith.extf %q : f8E4M3FN to f32
    %a = arith.addf %d, %i1 : f32
    linalg.yield %a : f32
  } -> tensor<?x32xf32>
  return %s : tensor<?x32xf32>
}

// -----

// One row of the residual is added to every row: a broadcast, not a residual.
#m = affine_map<(d0, d1, d2) -> (0, d1, d2)>
#i = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-LABEL: func @residual_broadcast_over_batches
// CHECK: flashnorm.matmul
// CHECK-NOT: residual
// CHECK: arith.addf
func.func @residual_broadcast_over_batches(%x: tensor<4x8x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<1x8x32xbf16>, %e: tensor<4x8x32xbf16>) -> tensor<4x8x32xbf16> {
  %acc = flashnorm.matmul ins(%x, %w : tensor<4x8x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<4x8x32xbf16>) -> tensor<4x8x32xbf16>
  %s = linalg.generic {indexing_maps = [#i, #m, #i], iterator_types = ["parallel", "parallel", "parallel"]} ins(%acc, %r : tensor<4x8x32xbf16>, tensor<1x8x32xbf16>) outs(%e : tensor<4x8x32xbf16>) {
  ^bb0(%i0: bf16, %i1: bf16, %out: bf16):
    %a = arith.addf %i0, %i1 : bf16
    linalg.yield %a : bf16
  } -> tensor<4x8x32xbf16>
  return %s : tensor<4x8x32xbf16>
}

// -----

// Adding a large number and subtracting it again rounds to integers.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @rounds_to_integers
// CHECK: flashnorm.matmul
// CHECK-NOT: activation
// CHECK: arith.maximumf
func.func @rounds_to_integers(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %large = arith.constant 12582912.0 : f32
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %o: f32):
    %a = arith.addf %i, %large : f32
    %b = arith.subf %a, %large : f32
    %r = arith.maximumf %b, %zero : f32
    linalg.yield %r : f32
  } -> tensor<?x32xf32>
  return %z : tensor<?x32xf32>
}

// -----

// Infinite on the way.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @scaled_there_and_back
// CHECK: flashnorm.matmul
// CHECK-NOT: activation
// CHECK: arith.maximumf
func.func @scaled_there_and_back(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %large = arith.constant 8.5e+37 : f32
  %small = arith.constant 1.17647e-38 : f32
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %o: f32):
    %a = arith.mulf %i, %large : f32
    %b = arith.mulf %a, %small : f32
    %r = arith.maximumf %b, %zero : f32
    linalg.yield %r : f32
  } -> tensor<?x32xf32>
  return %z : tensor<?x32xf32>
}

// -----

// x * x / x is NaN where x is 0.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @divided_by_itself
// CHECK: flashnorm.matmul
// CHECK-NOT: activation
// CHECK: arith.maximumf
func.func @divided_by_itself(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %o: f32):
    %a = arith.mulf %i, %i : f32
    %b = arith.divf %a, %i : f32
    %r = arith.maximumf %b, %zero : f32
    linalg.yield %r : f32
  } -> tensor<?x32xf32>
  return %z : tensor<?x32xf32>
}

// -----

// x + (x - x) is NaN where x is infinite.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @subtracted_from_itself
// CHECK: flashnorm.matmul
// CHECK-NOT: activation
// CHECK: arith.maximumf
func.func @subtracted_from_itself(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %o: f32):
    %a = arith.subf %i, %i : f32
    %b = arith.addf %i, %a : f32
    %r = arith.maximumf %b, %zero : f32
    linalg.yield %r : f32
  } -> tensor<?x32xf32>
  return %z : tensor<?x32xf32>
}
