// Products and sums joined in one rounding, as --math-uplift-to-fma leaves them.
// RUN: flashnorm-opt %s --flashnorm-raise-norms --verify-roundtrip | FileCheck %s

#row = affine_map<(d0, d1) -> (d0, d1)>
#stat = affine_map<(d0, d1) -> (d0)>
#vec = affine_map<(d0, d1) -> (d1)>

// The sum of squares, epsilon and the bias.
// CHECK-LABEL: func @layer_norm(
// CHECK-SAME:    %[[X:.+]]: tensor<8x64xf32>, %[[G:.+]]: tensor<64xf32>, %[[B:.+]]: tensor<64xf32>
// CHECK:         %[[Y:.+]] = flashnorm.layer_norm ins(%[[X]] : tensor<8x64xf32>) weight(%[[G]] : tensor<64xf32>) bias(%[[B]] : tensor<64xf32>)
// CHECK-SAME:      eps = 1.000000e-05
// CHECK-NOT:     math.
// CHECK:         return %[[Y]]
func.func @layer_norm(%x: tensor<8x64xf32>, %g: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant 0.0 : f32
  %part = arith.constant 0.015625 : f32
  %eps = arith.constant 1.0e-5 : f32
  %s0 = tensor.empty() : tensor<8xf32>
  %y0 = tensor.empty() : tensor<8x64xf32>
  %start = linalg.fill ins(%zero : f32) outs(%s0 : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#row, #stat], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x64xf32>) outs(%start : tensor<8xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %a = arith.addf %in, %acc : f32
    linalg.yield %a : f32
  } -> tensor<8xf32>
  %squares = linalg.generic {indexing_maps = [#row, #stat, #stat], iterator_types = ["parallel", "reduction"]} ins(%x, %sum : tensor<8x64xf32>, tensor<8xf32>) outs(%start : tensor<8xf32>) {
  ^bb0(%in: f32, %s: f32, %acc: f32):
    %m = arith.mulf %s, %part : f32
    %c = arith.subf %in, %m : f32
    %a = math.fma %c, %c, %acc : f32
    linalg.yield %a : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#row, #stat, #stat, #vec, #vec, #row], iterator_types = ["parallel", "parallel"]} ins(%x, %sum, %squares, %g, %b : tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>, tensor<64xf32>, tensor<64xf32>) outs(%y0 : tensor<8x64xf32>) {
  ^bb0(%in: f32, %s: f32, %sq: f32, %gamma: f32, %beta: f32, %out: f32):
    %m = arith.mulf %s, %part : f32
    %c = arith.subf %in, %m : f32
    %v = math.fma %sq, %part, %eps : f32
    %r = math.rsqrt %v : f32
    %n = arith.mulf %c, %r : f32
    %a = math.fma %n, %gamma, %beta : f32
    linalg.yield %a : f32
  } -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The norm is the product; what is added is no bias. On tensors.
// CHECK-LABEL: func @product_and_residual(
// CHECK-SAME:    %[[X:.+]]: tensor<8x64xf32>, %[[Z:.+]]: tensor<8x64xf32>
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm ins(%[[X]] : tensor<8x64xf32>)
// CHECK:         %[[S:.+]] = arith.addf %[[Y]], %[[Z]] : tensor<8x64xf32>
// CHECK:         return %[[S]]
func.func @product_and_residual(%x: tensor<8x64xf32>, %z: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = math.fma %x, %rows, %z : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// Those that belong to no norm stay one op: of the near miss, and beside a norm.
// CHECK-LABEL: func @others(
// CHECK-SAME:    %[[X:.+]]: tensor<8x64xf32>, %[[Z:.+]]: tensor<8x64xf32>
// CHECK-DAG:     math.fma %{{.+}}, %{{.+}}, %{{.+}} fastmath<nnan> : tensor<8xf32>
// CHECK-DAG:     math.fma %[[X]], %[[Z]], %[[X]] : tensor<8x64xf32>
// CHECK-NOT:     half_of_fma
// CHECK:         return
func.func @others(%x: tensor<8x64xf32>, %z: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %part = arith.constant dense<0.02> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %var = math.fma %sum, %part, %eps fastmath<nnan> : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  %other = math.fma %x, %z, %x : tensor<8x64xf32>
  return %y, %other : tensor<8x64xf32>, tensor<8x64xf32>
}
