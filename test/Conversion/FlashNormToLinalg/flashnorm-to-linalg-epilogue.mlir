// Roundings between steps, gated linear units and scaled results, as the equations
// say.
// RUN: flashnorm-opt %s --convert-flashnorm-to-linalg --canonicalize --cse | FileCheck %s

// Each step is rounded to its type and widened again; the norm's last is the result.
// CHECK-LABEL: func.func @roundings
// CHECK: %[[ACC:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]
// CHECK: linalg.generic {{.*}} ins(%[[ACC]], %{{.*}}, %{{.*}} : tensor<8x16xf32>, tensor<16xbf16>, tensor<8x16xbf16>) outs(%{{.*}} : tensor<8x16xf32>)
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: bf16, %[[R:.*]]: bf16, %{{.*}}: f32):
// CHECK-DAG: %[[B32:.*]] = arith.extf %[[B]] : bf16 to f32
// CHECK-DAG: %[[R32:.*]] = arith.extf %[[R]] : bf16 to f32
// CHECK: %[[T:.*]] = arith.truncf %[[A]] : f32 to bf16
// CHECK: %[[E:.*]] = arith.extf %[[T]] : bf16 to f32
// CHECK: %[[S:.*]] = arith.addf %[[E]], %[[B32]] : f32
// CHECK: %[[T2:.*]] = arith.truncf %[[S]] : f32 to f16
// CHECK: %[[E2:.*]] = arith.extf %[[T2]] : f16 to f32
// CHECK: %[[M:.*]] = arith.maximumf %[[E2]]
// CHECK: %[[Q:.*]] = arith.addf %[[M]], %[[R32]] : f32
// CHECK: %[[T3:.*]] = arith.truncf %[[Q]] : f32 to bf16
// CHECK: %[[E3:.*]] = arith.extf %[[T3]] : bf16 to f32
// CHECK: linalg.yield %[[E3]] : f32
// CHECK: math.rsqrt
// CHECK: %[[N:.*]] = arith.mulf
// CHECK: %[[T4:.*]] = arith.truncf %[[N]] : f32 to bf16
// CHECK: %[[E4:.*]] = arith.extf %[[T4]] : bf16 to f32
// CHECK: %[[W:.*]] = arith.mulf %[[E4]]
// CHECK: arith.truncf %[[W]] : f32 to bf16
func.func @roundings(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %b: tensor<16xbf16>, %r: tensor<8x16xbf16>, %init: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) bias(%b : tensor<16xbf16>) residual(%r : tensor<8x16xbf16>) norm_weight(%b : tensor<16xbf16>) outs(%init : tensor<8x16xbf16>) {activation = #flashnorm.activation<relu>, post_norm = #flashnorm.norm<rms, eps = 1.0e-5>, roundings = #flashnorm.roundings<product = bf16, bias = f16, residual = bf16, norm = bf16>} -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// The bias is of all columns; gates and values are slices of the sum.
// CHECK-LABEL: func.func @glu
// CHECK: %[[H:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x32xf32>, tensor<32xf32>)
// CHECK: arith.addf
// CHECK: %[[GATE:.*]] = tensor.extract_slice %[[H]][0, 16] [%{{.*}}, 16] [1, 1]
// CHECK: %[[VALUE:.*]] = tensor.extract_slice %[[H]][0, 0] [%{{.*}}, 16] [1, 1]
// CHECK: linalg.generic {{.*}} ins(%[[GATE]], %[[VALUE]], %{{.*}} : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xbf16>)
// CHECK: ^bb0(%[[G:.*]]: f32, %[[V:.*]]: f32, %{{.*}}: bf16, %{{.*}}: bf16):
// CHECK: %[[ACT:.*]] = arith.divf %[[G]], %{{.*}} : f32
// CHECK: %[[P:.*]] = arith.mulf %[[ACT]], %[[V]] : f32
// CHECK: arith.addf %[[P]], %{{.*}} : f32
func.func @glu(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<32xf32>, %r: tensor<?x16xbf16>, %init: tensor<?x16xbf16>) -> tensor<?x16xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) bias(%b : tensor<32xf32>) residual(%r : tensor<?x16xbf16>) outs(%init : tensor<?x16xbf16>) {activation = #flashnorm.activation<silu>, glu = #flashnorm.glu<value_first>} -> tensor<?x16xbf16>
  return %y : tensor<?x16xbf16>
}

// CHECK-LABEL: func.func @glu_interleaved
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 0] [2, 3, 16] [1, 1, 2]
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 1] [2, 3, 16] [1, 1, 2]
func.func @glu_interleaved(%x: tensor<2x3x64xbf16>, %w: tensor<64x32xbf16>, %init: tensor<2x3x16xbf16>) -> tensor<2x3x16xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<2x3x64xbf16>, tensor<64x32xbf16>) outs(%init : tensor<2x3x16xbf16>) {glu = #flashnorm.glu<interleaved>} -> tensor<2x3x16xbf16>
  return %y : tensor<2x3x16xbf16>
}

// y in f32, then scaled, clamped and rounded once; the sum as it is.
// CHECK-LABEL: func.func @fp8
// CHECK-SAME: %[[SCALE:[^:]*]]: tensor<f32>
// CHECK-DAG: %[[LOW:.*]] = arith.constant -4.480000e+02 : f32
// CHECK-DAG: %[[HIGH:.*]] = arith.constant 4.480000e+02 : f32
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]
// CHECK: %[[Q:.*]] = linalg.generic {{.*}} ins(%[[SUM2:.*]], %[[SCALE]] : tensor<?x16xf32>, tensor<f32>) outs(%{{.*}} : tensor<?x16xf8E4M3FN>)
// CHECK: ^bb0(%[[Y:.*]]: f32, %[[S:.*]]: f32, %{{.*}}: f8E4M3FN):
// CHECK: %[[P:.*]] = arith.mulf %[[Y]], %[[S]] : f32
// CHECK: %[[L:.*]] = arith.maximumf %[[P]], %[[LOW]] : f32
// CHECK: %[[C:.*]] = arith.minimumf %[[L]], %[[HIGH]] : f32
// CHECK: arith.truncf %[[C]] : f32 to f8E4M3FN
// CHECK: return %[[Q]]
func.func @fp8(%x: tensor<?x64xbf16>, %w: tensor<64x16xbf16>, %s: tensor<f32>, %init: tensor<?x16xf8E4M3FN>, %sum: tensor<?x16xbf16>) -> (tensor<?x16xf8E4M3FN>, tensor<?x16xbf16>) {
  %y:2 = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x16xbf16>) output_scale(%s : tensor<f32>) outs(%init, %sum : tensor<?x16xf8E4M3FN>, tensor<?x16xbf16>) {saturate = f8E4M3FN} -> tensor<?x16xf8E4M3FN>, tensor<?x16xbf16>
  return %y#0, %y#1 : tensor<?x16xf8E4M3FN>, tensor<?x16xbf16>
}
