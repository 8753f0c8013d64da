// The loop over contiguous columns goes innermost.
// RUN: flashnorm-opt %s --flashnorm-order-loops | FileCheck %s

// CHECK-DAG: #[[$X:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[$W:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[$ACC:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>

// CHECK-LABEL: func.func @matmul
// CHECK: linalg.generic {indexing_maps = [#[[$X]], #[[$W]], #[[$ACC]]], iterator_types = ["parallel", "reduction", "parallel"]}
// CHECK: arith.extf
func.func @matmul(%x: tensor<?x8xbf16>, %w: tensor<8x4xbf16>, %acc: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = linalg.matmul ins(%x, %w : tensor<?x8xbf16>, tensor<8x4xbf16>) outs(%acc : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @batch_matmul
// CHECK: iterator_types = ["parallel", "parallel", "reduction", "parallel"]
func.func @batch_matmul(%x: tensor<2x3x8xf32>, %w: tensor<2x8x4xf32>, %acc: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %y = linalg.batch_matmul ins(%x, %w : tensor<2x3x8xf32>, tensor<2x8x4xf32>) outs(%acc : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %y : tensor<2x3x4xf32>
}

// An index keeps its meaning: it was the loop over k, the third.
// CHECK-LABEL: func.func @index
// CHECK: iterator_types = ["parallel", "reduction", "parallel"]
// CHECK: linalg.index 1
func.func @index(%x: tensor<3x8xindex>, %w: tensor<8x4xindex>, %acc: tensor<3x4xindex>) -> tensor<3x4xindex> {
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<3x8xindex>, tensor<8x4xindex>) outs(%acc : tensor<3x4xindex>) {
  ^bb0(%a: index, %b: index, %c: index):
    %k = linalg.index 2 : index
    %p = arith.muli %a, %k : index
    %q = arith.muli %p, %b : index
    %s = arith.addi %c, %q : index
    linalg.yield %s : index
  } -> tensor<3x4xindex>
  return %y : tensor<3x4xindex>
}

// A weight [N,K] is walked along k already.
// CHECK-LABEL: func.func @transposed_weight
// CHECK: iterator_types = ["parallel", "parallel", "reduction"]
func.func @transposed_weight(%x: tensor<3x8xf32>, %w: tensor<4x8xf32>, %acc: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<3x8xf32>, tensor<4x8xf32>) outs(%acc : tensor<3x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @row_sum
// CHECK: iterator_types = ["parallel", "reduction"]
func.func @row_sum(%x: tensor<3x8xf32>, %acc: tensor<3xf32>) -> tensor<3xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x8xf32>) outs(%acc : tensor<3xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %c, %a : f32
    linalg.yield %s : f32
  } -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// A scalar result has no column.
// CHECK-LABEL: func.func @dot
// CHECK: linalg.dot
func.func @dot(%x: tensor<8xf32>, %acc: tensor<f32>) -> tensor<f32> {
  %y = linalg.dot ins(%x, %x : tensor<8xf32>, tensor<8xf32>) outs(%acc : tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}

// The output's last index is not a loop.
// CHECK-LABEL: func.func @constant_column
// CHECK: iterator_types = ["parallel", "reduction"]
func.func @constant_column(%x: tensor<3x8xf32>, %acc: tensor<3x1xf32>) -> tensor<3x1xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, 0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x8xf32>) outs(%acc : tensor<3x1xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %c, %a : f32
    linalg.yield %s : f32
  } -> tensor<3x1xf32>
  return %y : tensor<3x1xf32>
}
