// The example of the README: RMSNorm before a matrix multiplication becomes one
// op, which multiplies first and scales the rows after.
// RUN: flashnorm-opt %s --flashnorm-fuse=chip=sm_90a | FileCheck %s

// CHECK-LABEL: func.func @norm_then_matmul
// CHECK-NEXT:    %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %[[M:.*]] = tensor.dim %[[X:.*]], %[[C0]]
// CHECK-NEXT:    %[[INIT:.*]] = tensor.empty(%[[M]]) : tensor<?x4096xbf16>
// CHECK-NEXT:    %[[Y:.*]] = flashnorm.matmul ins(%[[X]], %{{.*}} : tensor<?x4096xbf16>, tensor<4096x4096xbf16>) outs(%[[INIT]] : tensor<?x4096xbf16>)
// CHECK-SAME:      plan = #flashnorm.plan<strategy = lazy_pre_norm, chip = "sm_90a", family = wgmma
// CHECK-SAME:      pre_norm = #flashnorm.norm<rms, eps = 1.000000e-05>
// CHECK-NEXT:    return %[[Y]]


func.func @norm_then_matmul(%x: tensor<?x4096xbf16>, %w: tensor<4096x4096xbf16>)
    -> tensor<?x4096xbf16> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 4.096000e+03 : f32
  %eps = arith.constant 1.000000e-05 : f32
  %m = tensor.dim %x, %c0 : tensor<?x4096xbf16>
  %row = tensor.empty(%m) : tensor<?xf32>
  %row0 = linalg.fill ins(%zero : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %squares = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x4096xbf16>) outs(%row0 : tensor<?xf32>) {
  ^bb0(%a: bf16, %sum: f32):
    %b = arith.extf %a : bf16 to f32
    %c = arith.mulf %b, %b : f32
    %d = arith.addf %sum, %c : f32
    linalg.yield %d : f32
  } -> tensor<?xf32>
  %like = tensor.empty(%m) : tensor<?x4096xbf16>
  %normed = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                       affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %squares : tensor<?x4096xbf16>, tensor<?xf32>)
      outs(%like : tensor<?x4096xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %out: bf16):
    %b = arith.extf %a : bf16 to f32
    %mean = arith.divf %sum, %n : f32
    %c = arith.addf %mean, %eps : f32
    %rstd = math.rsqrt %c : f32
    %d = arith.mulf %b, %rstd : f32
    %e = arith.truncf %d : f32 to bf16
    linalg.yield %e : bf16
  } -> tensor<?x4096xbf16>
  %acc = tensor.empty(%m) : tensor<?x4096xf32>
  %acc0 = linalg.fill ins(%zero : f32) outs(%acc : tensor<?x4096xf32>) -> tensor<?x4096xf32>
  %y32 = linalg.matmul ins(%normed, %w : tensor<?x4096xbf16>, tensor<4096x4096xbf16>)
                       outs(%acc0 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%y32 : tensor<?x4096xf32>) outs(%like : tensor<?x4096xbf16>) {
  ^bb0(%a: f32, %out: bf16):
    %b = arith.truncf %a : f32 to bf16
    linalg.yield %b : bf16
  } -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}

