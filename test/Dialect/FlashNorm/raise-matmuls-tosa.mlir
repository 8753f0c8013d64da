// tosa.matmul with a weight, found behind tosa's own data movement.
// RUN: flashnorm-opt %s --flashnorm-raise-matmuls --split-input-file | FileCheck %s

// The weight is transposed and given a batch of 1; the result is rounded.
// CHECK-LABEL: func @linear
// CHECK-SAME: (%[[X:.*]]: tensor<1x40x64xbf16>, %[[W:.*]]: tensor<32x64xbf16>
// CHECK-NOT: tosa.matmul
// CHECK: %[[Y:.*]] = flashnorm.matmul ins(%[[X]], %[[W]] : tensor<1x40x64xbf16>, tensor<32x64xbf16>) outs(%{{.*}} : tensor<1x40x32xbf16>) {transpose_weight} -> tensor<1x40x32xbf16>
// CHECK: return %[[Y]]
func.func @linear(%x: tensor<1x40x64xbf16>, %w: tensor<32x64xbf16>) -> tensor<1x40x32xbf16> {
  %zero = "tosa.const"() <{values = dense<0.0> : tensor<1xbf16>}> : () -> tensor<1xbf16>
  %shape = tosa.const_shape {values = dense<[1, 64, 32]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %t = tosa.transpose %w {perms = array<i32: 1, 0>} : (tensor<32x64xbf16>) -> tensor<64x32xbf16>
  %b = tosa.reshape %t, %shape : (tensor<64x32xbf16>, !tosa.shape<3>) -> tensor<1x64x32xbf16>
  %y = tosa.matmul %x, %b, %zero, %zero : (tensor<1x40x64xbf16>, tensor<1x64x32xbf16>, tensor<1xbf16>, tensor<1xbf16>) -> tensor<1x40x32xf32>
  %c = tosa.cast %y : (tensor<1x40x32xf32>) -> tensor<1x40x32xbf16>
  return %c : tensor<1x40x32xbf16>
}

// -----

// Operands widened by tosa.cast.
// CHECK-LABEL: func @widened
// CHECK-SAME: (%[[X:.*]]: tensor<1x40x64xf16>, %[[W:.*]]: tensor<1x64x32xf16>
// CHECK: %[[M:.*]] = tensor.collapse_shape %[[W]]
// CHECK: flashnorm.matmul ins(%[[X]], %[[M]] : tensor<1x40x64xf16>, tensor<64x32xf16>) outs(%{{.*}} : tensor<1x40x32xf32>)
func.func @widened(%x: tensor<1x40x64xf16>, %w: tensor<1x64x32xf16>) -> tensor<1x40x32xf32> {
  %zero = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %x32 = tosa.cast %x : (tensor<1x40x64xf16>) -> tensor<1x40x64xf32>
  %w32 = tosa.cast %w : (tensor<1x64x32xf16>) -> tensor<1x64x32xf32>
  %y = tosa.matmul %x32, %w32, %zero, %zero : (tensor<1x40x64xf32>, tensor<1x64x32xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x40x32xf32>
  return %y : tensor<1x40x32xf32>
}

// -----

// Attention stays.
// CHECK-LABEL: func @attention
// CHECK: tosa.matmul
// CHECK-NOT: flashnorm.matmul
func.func @attention(%q: tensor<4x40x64xbf16>, %k: tensor<4x64x40xbf16>) -> tensor<4x40x40xf32> {
  %zero = "tosa.const"() <{values = dense<0.0> : tensor<1xbf16>}> : () -> tensor<1xbf16>
  %y = tosa.matmul %q, %k, %zero, %zero : (tensor<4x40x64xbf16>, tensor<4x64x40xbf16>, tensor<1xbf16>, tensor<1xbf16>) -> tensor<4x40x40xf32>
  return %y : tensor<4x40x40xf32>
}
