// What looks like a quantisation and is left alone.
// RUN: flashnorm-opt %s --flashnorm-fuse-quantization --split-input-file | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-fuse-quantization --split-input-file --remarks-filter="flashnorm-fuse-quantization" --remark-policy=all -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// A reciprocal would be another number.
#id = affine_map<(d0, d1) -> (d0, d1)>
// REMARK: [Missed] QuantizationNotFused | {{.*}}Function=divided | {{.*}}it is divided by the scale, not multiplied
// CHECK-LABEL: func @divided
// CHECK: flashnorm.matmul {{.*}} -> tensor<?x32xf32>
// CHECK: arith.divf
func.func @divided(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %a: f32, %e: tensor<?x32xf32>, %o: tensor<?x32xf8E5M2>) -> tensor<?x32xf8E5M2> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x32xf32>) outs(%o : tensor<?x32xf8E5M2>) {
  ^bb0(%i: f32, %out: f8E5M2):
    %0 = arith.divf %i, %a : f32
    %3 = arith.truncf %0 : f32 to f8E5M2
    linalg.yield %3 : f8E5M2
  } -> tensor<?x32xf8E5M2>
  return %q : tensor<?x32xf8E5M2>
}

// -----

// maxnum makes a number of NaN; 240 is the range of another fp8.
#id = affine_map<(d0, d1) -> (d0, d1)>
// REMARK: [Missed] QuantizationNotFused | {{.*}}Function=nan_lost | {{.*}}it is clamped to other bounds than those of f8E4M3FN, f8E5M2 or f16, or NaN is lost
// CHECK-LABEL: func @nan_lost
// CHECK: arith.maxnumf
func.func @nan_lost(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>, %o: tensor<?x32xf8E4M3FN>) -> tensor<?x32xf8E4M3FN> {
  %min = arith.constant -448.0 : f32
  %max = arith.constant 448.0 : f32
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x32xf32>) outs(%o : tensor<?x32xf8E4M3FN>) {
  ^bb0(%i: f32, %out: f8E4M3FN):
    %1 = arith.maxnumf %i, %min : f32
    %2 = arith.minnumf %1, %max : f32
    %3 = arith.truncf %2 : f32 to f8E4M3FN
    linalg.yield %3 : f8E4M3FN
  } -> tensor<?x32xf8E4M3FN>
  return %q : tensor<?x32xf8E4M3FN>
}
// REMARK: [Missed] QuantizationNotFused | {{.*}}Function=other_bounds | {{.*}}it is clamped to other bounds
// CHECK-LABEL: func @other_bounds
// CHECK: arith.maximumf
func.func @other_bounds(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>, %o: tensor<?x32xf8E4M3FN>) -> tensor<?x32xf8E4M3FN> {
  %min = arith.constant -240.0 : f32
  %max = arith.constant 240.0 : f32
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x32xf32>) outs(%o : tensor<?x32xf8E4M3FN>) {
  ^bb0(%i: f32, %out: f8E4M3FN):
    %1 = arith.maximumf %i, %min : f32
    %2 = arith.minimumf %1, %max : f32
    %3 = arith.truncf %2 : f32 to f8E4M3FN
    linalg.yield %3 : f8E4M3FN
  } -> tensor<?x32xf8E4M3FN>
  return %q : tensor<?x32xf8E4M3FN>
}

// -----

// The unscaled result is returned, too.
#id = affine_map<(d0, d1) -> (d0, d1)>
// REMARK: [Missed] QuantizationNotFused | {{.*}}Function=another_reader | {{.*}}what is scaled, clamped or cast has another reader
// CHECK-LABEL: func @another_reader
// CHECK: flashnorm.matmul {{.*}} -> tensor<?x32xf32>
// CHECK: arith.truncf
func.func @another_reader(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>, %o: tensor<?x32xf8E5M2>) -> (tensor<?x32xf8E5M2>, tensor<?x32xf32>) {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x32xf32>) outs(%o : tensor<?x32xf8E5M2>) {
  ^bb0(%i: f32, %out: f8E5M2):
    %3 = arith.truncf %i : f32 to f8E5M2
    linalg.yield %3 : f8E5M2
  } -> tensor<?x32xf8E5M2>
  return %q, %y : tensor<?x32xf8E5M2>, tensor<?x32xf32>
}

// -----

// A scale per column, a rounding between scale and cast, and a rounding up.
#id = affine_map<(d0, d1) -> (d0, d1)>
// REMARK: [Missed] QuantizationNotFused | {{.*}}Function=per_column | {{.*}}what is computed in front of the cast is neither a scale nor a clamp
// CHECK-LABEL: func @per_column
// CHECK: arith.mulf
func.func @per_column(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %a: tensor<32xf32>, %e: tensor<?x32xf32>, %o: tensor<?x32xf8E5M2>) -> tensor<?x32xf8E5M2> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %q = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d1)>, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %a : tensor<?x32xf32>, tensor<32xf32>) outs(%o : tensor<?x32xf8E5M2>) {
  ^bb0(%i: f32, %s: f32, %out: f8E5M2):
    %0 = arith.mulf %i, %s : f32
    %3 = arith.truncf %0 : f32 to f8E5M2
    linalg.yield %3 : f8E5M2
  } -> tensor<?x32xf8E5M2>
  return %q : tensor<?x32xf8E5M2>
}
// REMARK: [Missed] QuantizationNotFused | {{.*}}Function=rounded_between | {{.*}}a value on the way is rounded to bf16
// CHECK-LABEL: func @rounded_between
// CHECK: arith.mulf
func.func @rounded_between(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %a: f32, %e: tensor<?x32xf32>, %o: tensor<?x32xf8E5M2>) -> tensor<?x32xf8E5M2> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x32xf32>) outs(%o : tensor<?x32xf8E5M2>) {
  ^bb0(%i: f32, %out: f8E5M2):
    %0 = arith.mulf %i, %a : f32
    %1 = arith.truncf %0 : f32 to bf16
    %3 = arith.truncf %1 : bf16 to f8E5M2
    linalg.yield %3 : f8E5M2
  } -> tensor<?x32xf8E5M2>
  return %q : tensor<?x32xf8E5M2>
}
// REMARK: [Missed] QuantizationNotFused | {{.*}}Function=upward | {{.*}}the cast to fp8 does not round to nearest even
// CHECK-LABEL: func @upward
// CHECK: arith.truncf {{.*}} upward
func.func @upward(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>, %o: tensor<?x32xf8E5M2>) -> tensor<?x32xf8E5M2> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x32xf32>) outs(%o : tensor<?x32xf8E5M2>) {
  ^bb0(%i: f32, %out: f8E5M2):
    %3 = arith.truncf %i upward : f32 to f8E5M2
    linalg.yield %3 : f8E5M2
  } -> tensor<?x32xf8E5M2>
  return %q : tensor<?x32xf8E5M2>
}

// -----

// A scale alone is no quantisation, and no word is said of it.
// REMARK-NOT: QuantizationNotFused
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @scale_alone
// CHECK: arith.mulf
func.func @scale_alone(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %a: f32, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %out: f32):
    %0 = arith.mulf %i, %a : f32
    linalg.yield %0 : f32
  } -> tensor<?x32xf32>
  return %q : tensor<?x32xf32>
}

// -----

// Rounded between the two halves of a clamp.
#id = affine_map<(d0, d1) -> (d0, d1)>
// REMARK: [Missed] QuantizationNotFused | {{.*}}Function=rounded_between
// CHECK-LABEL: func @rounded_between
// CHECK: flashnorm.matmul {{.*}} -> tensor<?x32xf32>
// CHECK: arith.truncf
// CHECK: arith.minimumf
func.func @rounded_between(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>, %o: tensor<?x32xf8E4M3FN>) -> tensor<?x32xf8E4M3FN> {
  %min = arith.constant -448.0 : f32
  %max = arith.constant 448.0 : bf16
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x32xf32>) outs(%o : tensor<?x32xf8E4M3FN>) {
  ^bb0(%i: f32, %out: f8E4M3FN):
    %1 = arith.maximumf %i, %min : f32
    %2 = arith.truncf %1 : f32 to bf16
    %3 = arith.minimumf %2, %max : bf16
    %4 = arith.truncf %3 : bf16 to f8E4M3FN
    linalg.yield %4 : f8E4M3FN
  } -> tensor<?x32xf8E4M3FN>
  return %q : tensor<?x32xf8E4M3FN>
}

// -----

// Planned already.
#id = affine_map<(d0, d1) -> (d0, d1)>
// REMARK: [Missed] QuantizationNotFused | {{.*}}Function=planned | {{.*}}the matmul carries a plan; run this pass before it is planned
// CHECK-LABEL: func @planned
// CHECK: flashnorm.matmul {{.*}} -> tensor<?x32xf32>
func.func @planned(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>, %o: tensor<?x32xf8E5M2>) -> tensor<?x32xf8E5M2> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync, tile = [64, 32, 32], warps = [2, 1], stages = 2>} -> tensor<?x32xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x32xf32>) outs(%o : tensor<?x32xf8E5M2>) {
  ^bb0(%i: f32, %out: f8E5M2):
    %3 = arith.truncf %i : f32 to f8E5M2
    linalg.yield %3 : f8E5M2
  } -> tensor<?x32xf8E5M2>
  return %q : tensor<?x32xf8E5M2>
}
