// RUN: flashnorm-opt %s --flashnorm-decompose-for-host --split-input-file --verify-diagnostics | FileCheck %s

// A gathered dimension is dropped or stays as a 1; the others keep their order.
// CHECK-LABEL: func.func @gather(
// CHECK-SAME:    %[[X:.*]]: tensor<?x3x8xf32>, %[[I:.*]]: tensor<?x2xi32>
func.func @gather(%x: tensor<?x3x8xf32>, %i: tensor<?x2xi32>) -> (tensor<?x3xf32>, tensor<?x1x3x1xf32>) {
  // CHECK: %[[N:.*]] = tensor.dim %[[I]]
  // CHECK: tensor.generate %[[N]] {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: index, %[[B:.*]]: index):
  // CHECK: %[[E0:.*]] = tensor.extract %[[I]][%[[A]], %{{.*}}]
  // CHECK: %[[C0:.*]] = arith.index_cast %[[E0]] : i32 to index
  // CHECK: %[[E1:.*]] = tensor.extract %[[I]][%[[A]], %{{.*}}]
  // CHECK: %[[C2:.*]] = arith.index_cast %[[E1]] : i32 to index
  // CHECK: tensor.extract %[[X]][%[[C0]], %[[B]], %[[C2]]]
  %0 = tensor.gather %x[%i] gather_dims([0, 2]) : (tensor<?x3x8xf32>, tensor<?x2xi32>) -> tensor<?x3xf32>
  // CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[B:.*]]: index, %{{.*}}: index):
  // CHECK: tensor.extract %[[X]][%{{.*}}, %[[B]], %{{.*}}]
  %1 = tensor.gather %x[%i] gather_dims([0, 2]) : (tensor<?x3x8xf32>, tensor<?x2xi32>) -> tensor<?x1x3x1xf32>
  return %0, %1 : tensor<?x3xf32>, tensor<?x1x3x1xf32>
}

// CHECK-LABEL: func.func @others(
// CHECK-NOT: linalg.softmax
// CHECK-NOT: linalg.pack
// CHECK-NOT: linalg.unpack
// CHECK: linalg.transpose
// CHECK: arith.bitcast %{{.*}} : tensor<4x8xf32> to tensor<4x8xi32>
func.func @others(%x: tensor<4x8xf32>, %p: tensor<2x2x2x4xf32>) -> tensor<4x8xi32> {
  %0 = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%x : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.pack %0 inner_dims_pos = [0, 1] inner_tiles = [2, 4] into %p : tensor<4x8xf32> -> tensor<2x2x2x4xf32>
  %2 = linalg.unpack %1 inner_dims_pos = [0, 1] inner_tiles = [2, 4] into %x : tensor<2x2x2x4xf32> -> tensor<4x8xf32>
  %3 = tensor.bitcast %2 : tensor<4x8xf32> to tensor<4x8xi32>
  return %3 : tensor<4x8xi32>
}

// CHECK-LABEL: func.func @poison(
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK: tensor.empty(%[[ZERO]]) : tensor<?x4xf32>
func.func @poison() -> tensor<?x4xf32> {
  %0 = ub.poison : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

func.func @scatter(%x: tensor<4x8xf32>, %s: tensor<2x1x8xf32>, %i: tensor<2x1xindex>) -> tensor<4x8xf32> {
  // expected-error @+1 {{'tensor.scatter' op cannot run on the CPU: it has no form on buffers}}
  %0 = tensor.scatter %s into %x[%i] scatter_dims([0]) unique : (tensor<2x1x8xf32>, tensor<4x8xf32>, tensor<2x1xindex>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
