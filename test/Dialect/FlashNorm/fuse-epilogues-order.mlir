// The order of an epilogue's steps: bias, activation, residual. What comes in this
// order is taken in, whole or in part; what does not stays behind, in its order.
// RUN: flashnorm-opt %s --flashnorm-fuse-epilogues --split-input-file | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-fuse-epilogues --split-input-file --remarks-filter=flashnorm-fuse-epilogues --remark-policy=all -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @bias(
// CHECK: flashnorm.matmul ins({{[^)]*}}) bias({{[^)]*}}) outs({{[^)]*}}) -> tensor<?x32xf32>
// CHECK-NOT: linalg.
// CHECK: return
// REMARK: [Passed] EpilogueFused{{.*}}bias
func.func @bias(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>, %residual: tensor<?x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %bias, %residual : tensor<?x32xf32>, tensor<32xf32>, tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %b: f32, %r: f32, %out: f32):
    %s0 = arith.addf %i, %b : f32
    linalg.yield %s0 : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @relu(
// CHECK: flashnorm.matmul ins({{[^)]*}}) outs({{[^)]*}}) {activation = #flashnorm.activation<relu>} -> tensor<?x32xf32>
// CHECK-NOT: linalg.
// CHECK: return
// REMARK: [Passed] EpilogueFused{{.*}}relu
func.func @relu(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>, %residual: tensor<?x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %bias, %residual : tensor<?x32xf32>, tensor<32xf32>, tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %b: f32, %r: f32, %out: f32):
    %s0 = arith.maximumf %i, %zero : f32
    linalg.yield %s0 : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @residual(
// CHECK: flashnorm.matmul ins({{[^)]*}}) residual({{[^)]*}}) outs({{[^)]*}}) -> tensor<?x32xf32>
// CHECK-NOT: linalg.
// CHECK: return
// REMARK: [Passed] EpilogueFused{{.*}}residual
func.func @residual(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>, %residual: tensor<?x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %bias, %residual : tensor<?x32xf32>, tensor<32xf32>, tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %b: f32, %r: f32, %out: f32):
    %s0 = arith.addf %i, %r : f32
    linalg.yield %s0 : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @bias_relu(
// CHECK: flashnorm.matmul ins({{[^)]*}}) bias({{[^)]*}}) outs({{[^)]*}}) {activation = #flashnorm.activation<relu>} -> tensor<?x32xf32>
// CHECK-NOT: linalg.
// CHECK: return
// REMARK: [Passed] EpilogueFused{{.*}}bias, relu
func.func @bias_relu(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>, %residual: tensor<?x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %bias, %residual : tensor<?x32xf32>, tensor<32xf32>, tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %b: f32, %r: f32, %out: f32):
    %s0 = arith.addf %i, %b : f32
    %s1 = arith.maximumf %s0, %zero : f32
    linalg.yield %s1 : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @bias_residual(
// CHECK: flashnorm.matmul ins({{[^)]*}}) bias({{[^)]*}}) residual({{[^)]*}}) outs({{[^)]*}}) -> tensor<?x32xf32>
// CHECK-NOT: linalg.
// CHECK: return
// REMARK: [Passed] EpilogueFused{{.*}}bias, residual
func.func @bias_residual(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>, %residual: tensor<?x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %bias, %residual : tensor<?x32xf32>, tensor<32xf32>, tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %b: f32, %r: f32, %out: f32):
    %s0 = arith.addf %i, %b : f32
    %s1 = arith.addf %s0, %r : f32
    linalg.yield %s1 : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @relu_bias(
// CHECK: flashnorm.matmul ins({{[^)]*}}) outs({{[^)]*}}) {activation = #flashnorm.activation<relu>} -> tensor<?x32xf32>
// CHECK: arith.addf
// CHECK: return
// REMARK: [Passed] EpilogueFused{{.*}}relu
// REMARK: [Missed] EpilogueNotFused{{.*}}a vector is added after the bias, the activation or the residual
func.func @relu_bias(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>, %residual: tensor<?x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %bias, %residual : tensor<?x32xf32>, tensor<32xf32>, tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %b: f32, %r: f32, %out: f32):
    %s0 = arith.maximumf %i, %zero : f32
    %s1 = arith.addf %s0, %b : f32
    linalg.yield %s1 : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @relu_residual(
// CHECK: flashnorm.matmul ins({{[^)]*}}) residual({{[^)]*}}) outs({{[^)]*}}) {activation = #flashnorm.activation<relu>} -> tensor<?x32xf32>
// CHECK-NOT: linalg.
// CHECK: return
// REMARK: [Passed] EpilogueFused{{.*}}relu, residual
func.func @relu_residual(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>, %residual: tensor<?x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %bias, %residual : tensor<?x32xf32>, tensor<32xf32>, tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %b: f32, %r: f32, %out: f32):
    %s0 = arith.maximumf %i, %zero : f32
    %s1 = arith.addf %s0, %r : f32
    linalg.yield %s1 : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @residual_bias(
// CHECK: flashnorm.matmul ins({{[^)]*}}) residual({{[^)]*}}) outs({{[^)]*}}) -> tensor<?x32xf32>
// CHECK: arith.addf
// CHECK: return
// REMARK: [Passed] EpilogueFused{{.*}}residual
// REMARK: [Missed] EpilogueNotFused{{.*}}a vector is added after the bias, the activation or the residual
func.func @residual_bias(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>, %residual: tensor<?x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %bias, %residual : tensor<?x32xf32>, tensor<32xf32>, tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %b: f32, %r: f32, %out: f32):
    %s0 = arith.addf %i, %r : f32
    %s1 = arith.addf %s0, %b : f32
    linalg.yield %s1 : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @residual_relu(
// CHECK: flashnorm.matmul ins({{[^)]*}}) residual({{[^)]*}}) outs({{[^)]*}}) -> tensor<?x32xf32>
// CHECK: arith.maximumf
// CHECK: return
// REMARK: [Passed] EpilogueFused{{.*}}residual
// REMARK: [Missed] EpilogueNotFused{{.*}}relu comes after the residual
func.func @residual_relu(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>, %residual: tensor<?x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %bias, %residual : tensor<?x32xf32>, tensor<32xf32>, tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %b: f32, %r: f32, %out: f32):
    %s0 = arith.addf %i, %r : f32
    %s1 = arith.maximumf %s0, %zero : f32
    linalg.yield %s1 : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @bias_relu_residual(
// CHECK: flashnorm.matmul ins({{[^)]*}}) bias({{[^)]*}}) residual({{[^)]*}}) outs({{[^)]*}}) {activation = #flashnorm.activation<relu>} -> tensor<?x32xf32>
// CHECK-NOT: linalg.
// CHECK: return
// REMARK: [Passed] EpilogueFused{{.*}}bias, relu, residual
func.func @bias_relu_residual(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>, %residual: tensor<?x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %bias, %residual : tensor<?x32xf32>, tensor<32xf32>, tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %b: f32, %r: f32, %out: f32):
    %s0 = arith.addf %i, %b : f32
    %s1 = arith.maximumf %s0, %zero : f32
    %s2 = arith.addf %s1, %r : f32
    linalg.yield %s2 : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @bias_residual_relu(
// CHECK: flashnorm.matmul ins({{[^)]*}}) bias({{[^)]*}}) residual({{[^)]*}}) outs({{[^)]*}}) -> tensor<?x32xf32>
// CHECK: arith.maximumf
// CHECK: return
// REMARK: [Passed] EpilogueFused{{.*}}bias, residual
// REMARK: [Missed] EpilogueNotFused{{.*}}relu comes after the residual
func.func @bias_residual_relu(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>, %residual: tensor<?x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %bias, %residual : tensor<?x32xf32>, tensor<32xf32>, tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %b: f32, %r: f32, %out: f32):
    %s0 = arith.addf %i, %b : f32
    %s1 = arith.addf %s0, %r : f32
    %s2 = arith.maximumf %s1, %zero : f32
    linalg.yield %s2 : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @relu_bias_residual(
// CHECK: flashnorm.matmul ins({{[^)]*}}) outs({{[^)]*}}) {activation = #flashnorm.activation<relu>} -> tensor<?x32xf32>
// CHECK: arith.addf
// CHECK: arith.addf
// CHECK: return
// REMARK: [Passed] EpilogueFused{{.*}}relu
// REMARK: [Missed] EpilogueNotFused{{.*}}a vector is added after the bias, the activation or the residual
func.func @relu_bias_residual(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>, %residual: tensor<?x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %bias, %residual : tensor<?x32xf32>, tensor<32xf32>, tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %b: f32, %r: f32, %out: f32):
    %s0 = arith.maximumf %i, %zero : f32
    %s1 = arith.addf %s0, %b : f32
    %s2 = arith.addf %s1, %r : f32
    linalg.yield %s2 : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @relu_residual_bias(
// CHECK: flashnorm.matmul ins({{[^)]*}}) residual({{[^)]*}}) outs({{[^)]*}}) {activation = #flashnorm.activation<relu>} -> tensor<?x32xf32>
// CHECK: arith.addf
// CHECK: return
// REMARK: [Passed] EpilogueFused{{.*}}relu, residual
// REMARK: [Missed] EpilogueNotFused{{.*}}a vector is added after the bias, the activation or the residual
func.func @relu_residual_bias(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>, %residual: tensor<?x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %bias, %residual : tensor<?x32xf32>, tensor<32xf32>, tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %b: f32, %r: f32, %out: f32):
    %s0 = arith.maximumf %i, %zero : f32
    %s1 = arith.addf %s0, %r : f32
    %s2 = arith.addf %s1, %b : f32
    linalg.yield %s2 : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @residual_bias_relu(
// CHECK: flashnorm.matmul ins({{[^)]*}}) residual({{[^)]*}}) outs({{[^)]*}}) -> tensor<?x32xf32>
// CHECK: arith.addf
// CHECK: arith.maximumf
// CHECK: return
// REMARK: [Passed] EpilogueFused{{.*}}residual
// REMARK: [Missed] EpilogueNotFused{{.*}}a vector is added after the bias, the activation or the residual
func.func @residual_bias_relu(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>, %residual: tensor<?x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %bias, %residual : tensor<?x32xf32>, tensor<32xf32>, tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %b: f32, %r: f32, %out: f32):
    %s0 = arith.addf %i, %r : f32
    %s1 = arith.addf %s0, %b : f32
    %s2 = arith.maximumf %s1, %zero : f32
    linalg.yield %s2 : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @residual_relu_bias(
// CHECK: flashnorm.matmul ins({{[^)]*}}) residual({{[^)]*}}) outs({{[^)]*}}) -> tensor<?x32xf32>
// CHECK: arith.maximumf
// CHECK: arith.addf
// CHECK: return
// REMARK: [Passed] EpilogueFused{{.*}}residual
// REMARK: [Missed] EpilogueNotFused{{.*}}relu comes after the residual
func.func @residual_relu_bias(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>, %residual: tensor<?x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %bias, %residual : tensor<?x32xf32>, tensor<32xf32>, tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %b: f32, %r: f32, %out: f32):
    %s0 = arith.addf %i, %r : f32
    %s1 = arith.maximumf %s0, %zero : f32
    %s2 = arith.addf %s1, %b : f32
    linalg.yield %s2 : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @scaled(
// CHECK: flashnorm.matmul ins({{[^)]*}}) outs({{[^)]*}}) -> tensor<?x32xf32>
// CHECK: arith.mulf
// CHECK: arith.addf
// REMARK: [Missed] EpilogueNotFused{{.*}}it is multiplied or divided, for which the epilogue has no step
func.func @scaled(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>, %alpha: f32, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %bias : tensor<?x32xf32>, tensor<32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %b: f32, %out: f32):
    %s = arith.mulf %i, %alpha : f32
    %t = arith.addf %s, %b : f32
    linalg.yield %t : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @divided(
// CHECK: flashnorm.matmul ins({{[^)]*}}) outs({{[^)]*}}) -> tensor<?x32xf32>
// CHECK: arith.divf
// CHECK: arith.addf
// REMARK: [Missed] EpilogueNotFused{{.*}}it is multiplied or divided, for which the epilogue has no step
func.func @divided(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>, %alpha: f32, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %bias : tensor<?x32xf32>, tensor<32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %b: f32, %out: f32):
    %s = arith.divf %i, %alpha : f32
    %t = arith.addf %s, %b : f32
    linalg.yield %t : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @scaled_columns(
// CHECK: flashnorm.matmul ins({{[^)]*}}) outs({{[^)]*}}) -> tensor<?x32xf32>
// CHECK: arith.mulf
// CHECK: arith.addf
// REMARK: [Missed] EpilogueNotFused{{.*}}it is multiplied or divided, for which the epilogue has no step
func.func @scaled_columns(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>, %alpha: f32, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #v, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %bias : tensor<?x32xf32>, tensor<32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %b: f32, %out: f32):
    %s = arith.mulf %b, %i : f32
    %t = arith.addf %s, %b : f32
    linalg.yield %t : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// Behind a glu there is no bias and no activation, but a residual.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @behind_glu(
// CHECK: flashnorm.matmul ins({{[^)]*}}) residual({{[^)]*}}) outs({{[^)]*}}) {activation = #flashnorm.activation<silu>, glu = #flashnorm.glu<gate_first>} -> tensor<?x32xf32>
// CHECK: return
// CHECK-LABEL: func @relu_behind_glu(
// CHECK: flashnorm.matmul {{.*}} {glu = #flashnorm.glu<gate_first>} -> tensor<?x32xf32>
// CHECK: arith.maximumf
// REMARK: [Passed] EpilogueFused{{.*}}residual
// REMARK: [Missed] EpilogueNotFused{{.*}}relu comes after the glu
func.func @behind_glu(%x: tensor<?x64xbf16>, %w: tensor<64x64xbf16>, %r: tensor<?x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x64xbf16>) outs(%e : tensor<?x32xf32>) {glu = #flashnorm.glu<gate_first>, activation = #flashnorm.activation<silu>} -> tensor<?x32xf32>
  %y = linalg.add ins(%acc, %r : tensor<?x32xf32>, tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}
func.func @relu_behind_glu(%x: tensor<?x64xbf16>, %w: tensor<64x64xbf16>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x64xbf16>) outs(%e : tensor<?x32xf32>) {glu = #flashnorm.glu<gate_first>} -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc : tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %out: f32):
    %m = arith.maximumf %i, %zero : f32
    linalg.yield %m : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}
