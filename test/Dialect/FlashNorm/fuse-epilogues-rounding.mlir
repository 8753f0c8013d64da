// With preserve-rounding, the epilogue rounds where the source does.
// RUN: flashnorm-opt %s --flashnorm-fuse-epilogues=preserve-rounding --split-input-file --verify-roundtrip | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-fuse-epilogues=preserve-rounding --split-input-file --remarks-filter=flashnorm-fuse-epilogues --remark-policy=all -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Each step is rounded to bf16: the product, the sum with the bias, relu.
// CHECK-LABEL: func @each_step
// CHECK-NOT: linalg.
// CHECK: flashnorm.matmul {{.*}} bias({{.*}}) residual({{.*}}) outs(%{{.*}} : tensor<?x32xbf16>) {activation = #flashnorm.activation<relu>, roundings = #flashnorm.roundings<product = bf16, bias = bf16, activation = bf16>}
// REMARK: [Passed] EpilogueFused{{.*}}bias, relu, residual
func.func @each_step(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<32xbf16>, %r: tensor<?x32xbf16>, %e: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %zero = arith.constant 0.0 : bf16
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %bb = linalg.broadcast ins(%b : tensor<32xbf16>) outs(%e : tensor<?x32xbf16>) dimensions = [0]
  %s = linalg.add ins(%acc, %bb : tensor<?x32xbf16>, tensor<?x32xbf16>) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %z = linalg.fill ins(%zero : bf16) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %a = linalg.max ins(%z, %s : tensor<?x32xbf16>, tensor<?x32xbf16>) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %y = linalg.add ins(%a, %r : tensor<?x32xbf16>, tensor<?x32xbf16>) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  return %y : tensor<?x32xbf16>
}

// -----

// In f32 up to the end, nothing is rounded in between; one op is f16.
#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @in_f32
// CHECK: flashnorm.matmul {{.*}} bias({{.*}}) outs(%{{.*}} : tensor<?x32xf16>) {activation = #flashnorm.activation<silu>} -> tensor<?x32xf16>
// REMARK: [Passed] EpilogueFused{{.*}}bias, silu
func.func @in_f32(%x: tensor<?x64xf16>, %w: tensor<64x32xf16>, %b: tensor<32xf16>, %e: tensor<?x32xf32>, %o: tensor<?x32xf16>) -> tensor<?x32xf16> {
  %one = arith.constant 1.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xf16>, tensor<64x32xf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %b : tensor<?x32xf32>, tensor<32xf16>) outs(%o : tensor<?x32xf16>) {
  ^bb0(%i: f32, %j: f16, %out: f16):
    %j32 = arith.extf %j : f16 to f32
    %s = arith.addf %i, %j32 : f32
    %n = arith.negf %s : f32
    %ex = math.exp %n : f32
    %d = arith.addf %ex, %one : f32
    %q = arith.divf %s, %d : f32
    %t = arith.truncf %q : f32 to f16
    linalg.yield %t : f16
  } -> tensor<?x32xf16>
  return %y : tensor<?x32xf16>
}

// -----

// The logistic function is rounded before it is multiplied: what the matmul does
// not do. Without preserve-rounding it is taken in.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @silu_with_a_rounding
// CHECK: flashnorm.matmul ins({{.*}}) outs({{.*}}) -> tensor<?x32xbf16>
// CHECK: math.exp
// REMARK: [Missed] EpilogueNotFused{{.*}}in front of silu, or within, the source rounds where the epilogue cannot
func.func @silu_with_a_rounding(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %one = arith.constant 1.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc : tensor<?x32xbf16>) outs(%e : tensor<?x32xbf16>) {
  ^bb0(%i: bf16, %out: bf16):
    %s = arith.extf %i : bf16 to f32
    %n = arith.negf %s : f32
    %ex = math.exp %n : f32
    %d = arith.addf %ex, %one : f32
    %q = arith.divf %one, %d : f32
    %t = arith.truncf %q : f32 to bf16
    %p = arith.mulf %i, %t : bf16
    linalg.yield %p : bf16
  } -> tensor<?x32xbf16>
  return %y : tensor<?x32xbf16>
}

// -----

// Everything within gelu is bf16.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @gelu_in_bf16
// CHECK: flashnorm.matmul ins({{.*}}) outs({{.*}}) -> tensor<?x32xbf16>
// CHECK: math.erf
// REMARK: [Missed] EpilogueNotFused{{.*}}in front of gelu, or within
func.func @gelu_in_bf16(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %half = arith.constant 0.5 : bf16
  %one = arith.constant 1.0 : bf16
  %root = arith.constant 0.707106769 : bf16
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc : tensor<?x32xbf16>) outs(%e : tensor<?x32xbf16>) {
  ^bb0(%i: bf16, %out: bf16):
    %s = arith.mulf %i, %root : bf16
    %f = math.erf %s : bf16
    %g = arith.addf %f, %one : bf16
    %h = arith.mulf %i, %half : bf16
    %p = arith.mulf %h, %g : bf16
    linalg.yield %p : bf16
  } -> tensor<?x32xbf16>
  return %y : tensor<?x32xbf16>
}

// -----

// The product becomes bf16 and then f16, and the sum bf16 and then f16: two
// roundings in a row are not one.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @two_roundings
// CHECK: flashnorm.matmul ins({{.*}}) outs({{.*}}) -> tensor<?x32xbf16>
// CHECK: arith.addf
// REMARK: [Missed] EpilogueNotFused{{.*}}in front of residual, or within
func.func @two_roundings(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<?x32xf16>, %e: tensor<?x32xbf16>, %o: tensor<?x32xf16>) -> tensor<?x32xf16> {
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %r : tensor<?x32xbf16>, tensor<?x32xf16>) outs(%o : tensor<?x32xf16>) {
  ^bb0(%i: bf16, %j: f16, %out: f16):
    %s = arith.extf %i : bf16 to f32
    %t = arith.truncf %s : f32 to f16
    %p = arith.addf %t, %j : f16
    linalg.yield %p : f16
  } -> tensor<?x32xf16>
  return %y : tensor<?x32xf16>
}

// -----

// A sum that is rounded twice: the first time in the matmul, the second in the op.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @rounded_behind
// CHECK: %[[Y:.*]] = flashnorm.matmul {{.*}} residual({{.*}}) outs(%{{.*}} : tensor<?x32xbf16>) {roundings = #flashnorm.roundings<product = bf16>} -> tensor<?x32xbf16>
// CHECK: linalg.generic {{.*}} ins(%[[Y]] : tensor<?x32xbf16>)
// CHECK: arith.truncf %{{.*}} : f32 to f16
// REMARK: [Passed] EpilogueFused{{.*}}residual
func.func @rounded_behind(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<?x32xbf16>, %e: tensor<?x32xbf16>, %o: tensor<?x32xf16>) -> tensor<?x32xf16> {
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %r : tensor<?x32xbf16>, tensor<?x32xbf16>) outs(%o : tensor<?x32xf16>) {
  ^bb0(%i: bf16, %j: bf16, %out: f16):
    %p = arith.addf %i, %j : bf16
    %s = arith.extf %p : bf16 to f32
    %t = arith.truncf %s : f32 to f16
    linalg.yield %t : f16
  } -> tensor<?x32xf16>
  return %y : tensor<?x32xf16>
}

// -----

// A matmul that rounds already keeps its roundings.
// CHECK-LABEL: func @rounds_already
// CHECK: flashnorm.matmul {{.*}} bias({{.*}}) residual({{.*}}) outs(%{{.*}} : tensor<?x32xbf16>) {roundings = #flashnorm.roundings<product = f16, bias = bf16>}
func.func @rounds_already(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<32xf32>, %r: tensor<?x32xbf16>, %e: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) bias(%b : tensor<32xf32>) outs(%e : tensor<?x32xbf16>) {roundings = #flashnorm.roundings<product = f16>} -> tensor<?x32xbf16>
  %y = linalg.add ins(%acc, %r : tensor<?x32xbf16>, tensor<?x32xbf16>) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  return %y : tensor<?x32xbf16>
}

// -----

// The product in f64 becomes f32, which is a rounding, too, and no step's.
// CHECK-LABEL: func @of_f64
// CHECK: flashnorm.matmul ins({{[^)]*}}) outs({{[^)]*}}) -> tensor<?x32xf32>
// CHECK: linalg.add
func.func @of_f64(%x: tensor<?x64xf64>, %w: tensor<64x32xf64>, %r: tensor<?x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xf64>, tensor<64x32xf64>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.add ins(%acc, %r : tensor<?x32xf32>, tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}
