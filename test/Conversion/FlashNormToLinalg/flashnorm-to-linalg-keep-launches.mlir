// RUN: flashnorm-opt %s --flashnorm-lower-to-reference=keep-launches | FileCheck %s

// The host half of a compiled program: launches stay, all else is lowered.

// CHECK-LABEL: func.func @host
//   CHECK-NOT:   flashnorm.rms_norm
//       CHECK:   flashnorm.launch @kernels::@gemm
//   CHECK-NOT:   flashnorm.rms_norm
func.func @host(%x: tensor<4x8xf32>, %init: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = flashnorm.rms_norm ins(%x : tensor<4x8xf32>) outs(%init : tensor<4x8xf32>) {eps = 1.0e-05 : f64} -> tensor<4x8xf32>
  %1 = flashnorm.launch @kernels::@gemm ins(%0 : tensor<4x8xf32>) outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
