// Where f64 is NaN everywhere, there is nothing to agree with: no PASS.

// RUN: not flashnorm-run %s --device=cpu --rows=2 | FileCheck %s
// CHECK: FAIL: f64 has no finite element, so that there is nothing to compare with
// CHECK: FAIL

func.func @root_of_minus_one(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %minus = arith.constant -1.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%m) : tensor<?x8xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %zero = arith.mulf %a, %minus : f32
    %square = arith.mulf %zero, %zero : f32
    %negative = arith.addf %minus, %minus : f32
    %root = math.sqrt %negative : f32
    %sum = arith.addf %square, %root : f32
    linalg.yield %sum : f32
  } -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
