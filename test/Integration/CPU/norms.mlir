// The truth path gives the numbers that a hand gives, in f32 and in f64. What
// differs between the two, the roundings, has a prefix of its own.
// REQUIRES: mlir-runner
// RUN: flashnorm-opt %s --flashnorm-lower-to-reference --flashnorm-lower-to-cpu | %mlir_runner | FileCheck %s --check-prefixes=CHECK,ROUNDED
// RUN: flashnorm-opt %s --flashnorm-lower-to-reference=f64 --flashnorm-lower-to-cpu | %mlir_runner | FileCheck %s --check-prefixes=CHECK,EXACT

func.func private @printMemrefF64(tensor<*xf64>)

func.func private @show(%y: tensor<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %y, %c0 : tensor<?x?xf32>
  %n = tensor.dim %y, %c1 : tensor<?x?xf32>
  %empty = tensor.empty(%m, %n) : tensor<?x?xf64>
  %wide = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x?xf32>) outs(%empty : tensor<?x?xf64>) {
  ^bb0(%in: f32, %out: f64):
    %e = arith.extf %in : f32 to f64
    linalg.yield %e : f64
  } -> tensor<?x?xf64>
  %cast = tensor.cast %wide : tensor<?x?xf64> to tensor<*xf64>
  call @printMemrefF64(%cast) : (tensor<*xf64>) -> ()
  return
}

func.func private @show_bf16(%y: tensor<?x?xbf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %y, %c0 : tensor<?x?xbf16>
  %n = tensor.dim %y, %c1 : tensor<?x?xbf16>
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %wide = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x?xbf16>) outs(%empty : tensor<?x?xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %e = arith.extf %in : bf16 to f32
    linalg.yield %e : f32
  } -> tensor<?x?xf32>
  call @show(%wide) : (tensor<?x?xf32>) -> ()
  return
}

// 1 2 3 4: the mean of the squares is 7.5.
func.func private @rms_norm() {
  %x = arith.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
  %w = arith.constant dense<[1.0, 2.0, 0.5, -1.0]> : tensor<4xf32>
  %empty = tensor.empty() : tensor<1x4xf32>
  %y = flashnorm.rms_norm ins(%x : tensor<1x4xf32>) weight(%w : tensor<4xf32>) outs(%empty : tensor<1x4xf32>) {eps = 0.0 : f64} -> tensor<1x4xf32>
  %d = tensor.cast %y : tensor<1x4xf32> to tensor<?x?xf32>
  call @show(%d) : (tensor<?x?xf32>) -> ()
  return
}

// eps belongs inside the root: 1 / sqrt(7.5 + 8.5) = 0.25.
func.func private @eps() {
  %x = arith.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
  %empty = tensor.empty() : tensor<1x4xf32>
  %y = flashnorm.rms_norm ins(%x : tensor<1x4xf32>) outs(%empty : tensor<1x4xf32>) {eps = 8.5 : f64} -> tensor<1x4xf32>
  %d = tensor.cast %y : tensor<1x4xf32> to tensor<?x?xf32>
  call @show(%d) : (tensor<?x?xf32>) -> ()
  return
}

// Rounding before or after the weight 1.296875 gives different bf16 values.
func.func private @cast_position() {
  %x = arith.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xbf16>
  %w = arith.constant dense<1.296875> : tensor<4xbf16>
  %empty = tensor.empty() : tensor<1x4xbf16>
  %a = flashnorm.rms_norm ins(%x : tensor<1x4xbf16>) weight(%w : tensor<4xbf16>) outs(%empty : tensor<1x4xbf16>) {eps = 0.0 : f64} -> tensor<1x4xbf16>
  %da = tensor.cast %a : tensor<1x4xbf16> to tensor<?x?xbf16>
  call @show_bf16(%da) : (tensor<?x?xbf16>) -> ()
  %b = flashnorm.rms_norm ins(%x : tensor<1x4xbf16>) weight(%w : tensor<4xbf16>) outs(%empty : tensor<1x4xbf16>) {eps = 0.0 : f64, cast = #flashnorm.cast_position<before_affine>} -> tensor<1x4xbf16>
  %db = tensor.cast %b : tensor<1x4xbf16> to tensor<?x?xbf16>
  call @show_bf16(%db) : (tensor<?x?xbf16>) -> ()
  return
}

// Rows on which E[x^2] - E[x]^2 in f32 gives 0, NaN or anything: a mean of 1e4
// with spread 1, 40000 to 40003, and a constant.
func.func private @cancellation() {
  %x = arith.constant dense<[[9999.0, 10001.0, 9999.0, 10001.0], [40000.0, 40001.0, 40002.0, 40003.0], [1234.0, 1234.0, 1234.0, 1234.0]]> : tensor<3x4xf32>
  %empty = tensor.empty() : tensor<3x4xf32>
  %rows = tensor.empty() : tensor<3xf32>
  %y:3 = flashnorm.layer_norm ins(%x : tensor<3x4xf32>) outs(%empty, %rows, %rows : tensor<3x4xf32>, tensor<3xf32>, tensor<3xf32>) {eps = 1.0e-8 : f64} -> tensor<3x4xf32>, tensor<3xf32>, tensor<3xf32>
  %d = tensor.cast %y#0 : tensor<3x4xf32> to tensor<?x?xf32>
  call @show(%d) : (tensor<?x?xf32>) -> ()
  %mean = tensor.expand_shape %y#1 [[0, 1]] output_shape [1, 3] : tensor<3xf32> into tensor<1x3xf32>
  %dm = tensor.cast %mean : tensor<1x3xf32> to tensor<?x?xf32>
  call @show(%dm) : (tensor<?x?xf32>) -> ()
  %rstd = tensor.expand_shape %y#2 [[0, 1]] output_shape [1, 3] : tensor<3xf32> into tensor<1x3xf32>
  %dr = tensor.cast %rstd : tensor<1x3xf32> to tensor<?x?xf32>
  call @show(%dr) : (tensor<?x?xf32>) -> ()
  return
}

// The squares of f16 values above 256 do not overflow.
func.func private @f16_range() {
  %x = arith.constant dense<[[60000.0, -60000.0, 60000.0, -60000.0]]> : tensor<1x4xf16>
  %empty = tensor.empty() : tensor<1x4xf32>
  %y = flashnorm.layer_norm ins(%x : tensor<1x4xf16>) outs(%empty : tensor<1x4xf32>) {eps = 1.0e-5 : f64} -> tensor<1x4xf32>
  %d = tensor.cast %y : tensor<1x4xf32> to tensor<?x?xf32>
  call @show(%d) : (tensor<?x?xf32>) -> ()
  return
}

// A vector is one row; no rows at all is nothing to do.
func.func private @vector_and_nothing() {
  %x = arith.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %empty = tensor.empty() : tensor<2xf32>
  %y = flashnorm.rms_norm ins(%x : tensor<2xf32>) outs(%empty : tensor<2xf32>) {eps = 3.5 : f64} -> tensor<2xf32>
  %matrix = tensor.expand_shape %y [[0, 1]] output_shape [1, 2] : tensor<2xf32> into tensor<1x2xf32>
  %d = tensor.cast %matrix : tensor<1x2xf32> to tensor<?x?xf32>
  call @show(%d) : (tensor<?x?xf32>) -> ()
  %c0 = arith.constant 0 : index
  %none = tensor.empty(%c0) : tensor<?x2xf32>
  %z = flashnorm.layer_norm ins(%none : tensor<?x2xf32>) outs(%none : tensor<?x2xf32>) {eps = 1.0e-5 : f64} -> tensor<?x2xf32>
  %dz = tensor.cast %z : tensor<?x2xf32> to tensor<?x?xf32>
  call @show(%dz) : (tensor<?x?xf32>) -> ()
  return
}

func.func @main() {
  // CHECK: sizes = [1, 4]
  // CHECK-NEXT: {{\[\[}}0.365148, 1.46059, 0.547723, -1.46059]]
  call @rms_norm() : () -> ()
  // CHECK: {{\[\[}}0.25, 0.5, 0.75, 1]]
  call @eps() : () -> ()
  // ROUNDED: {{\[\[}}0.472656, 0.945312, 1.42188, 1.89062]]
  // ROUNDED: {{\[\[}}0.474609, 0.949219, 1.42188, 1.89844]]
  // EXACT: {{\[\[}}0.473552, 0.947104, 1.42066, 1.89421]]
  // EXACT: {{\[\[}}0.473552, 0.947104, 1.42066, 1.89421]]
  call @cast_position() : () -> ()
  // CHECK: {{\[\[}}-1, 1, -1, 1],
  // CHECK-NEXT: [-1.34164, -0.447214, 0.447214, 1.34164],
  // CHECK-NEXT: [0, 0, 0, 0]]
  // CHECK: {{\[\[}}10000, 40001.5, 1234]]
  // CHECK: {{\[\[}}1, 0.894427, 10000]]
  call @cancellation() : () -> ()
  // CHECK: {{\[\[}}1, -1, 1, -1]]
  call @f16_range() : () -> ()
  // CHECK: {{\[\[}}0.75, 1]]
  // CHECK: sizes = [0, 2]
  call @vector_and_nothing() : () -> ()
  return
}
