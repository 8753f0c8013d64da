// Without an epsilon, a row of zeros is NaN and other rows are not: in the
// original and in f64 as in the fused form.

// RUN: rm -rf %t && mkdir %t
// RUN: flashnorm-opt %s --flashnorm-fuse | FileCheck %s --check-prefix=FUSED
// FUSED: flashnorm.matmul {{.*}}pre_norm = #flashnorm.norm<rms, eps = 0.000000e+00>
// FUSED-NOT: rsqrt
// RUN: not flashnorm-run %s --device=cpu --rows=2 --arg=0:zeros --output=%t/zeros
// RUN: for form in fused original reference; do %test_runtime npy %t/zeros/${form}_0.npy | cut -c1-80 | FileCheck %s --check-prefix=NAN || exit 1; done
// NAN: [2, 64] {{-?}}nan {{-?}}nan {{-?}}nan
// RUN: flashnorm-run %s --device=cpu --rows=64 | FileCheck %s --check-prefix=PASS
// PASS: PASS

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @f(%x: tensor<?x64xbf16>, %w: tensor<64x64xbf16> {flashnorm.frozen}) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %row = tensor.empty(%m) : tensor<?xf32>
  %row0 = linalg.fill ins(%zero : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %squares = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x64xbf16>) outs(%row0 : tensor<?xf32>) {
  ^bb0(%a: bf16, %sum: f32):
    %b = arith.extf %a : bf16 to f32
    %c = arith.mulf %b, %b : f32
    %d = arith.addf %sum, %c : f32
    linalg.yield %d : f32
  } -> tensor<?xf32>
  %like = tensor.empty(%m) : tensor<?x64xbf16>
  %normed = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %squares : tensor<?x64xbf16>, tensor<?xf32>) outs(%like : tensor<?x64xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %out: bf16):
    %b = arith.extf %a : bf16 to f32
    %mean = arith.divf %sum, %n : f32
    %c = arith.addf %mean, %eps : f32
    %rstd = math.rsqrt %c : f32
    %d = arith.mulf %b, %rstd : f32
    %e = arith.truncf %d : f32 to bf16
    linalg.yield %e : bf16
  } -> tensor<?x64xbf16>
  %acc = tensor.empty(%m) : tensor<?x64xf32>
  %acc0 = linalg.fill ins(%zero : f32) outs(%acc : tensor<?x64xf32>) -> tensor<?x64xf32>
  %y32 = linalg.matmul ins(%normed, %w : tensor<?x64xbf16>, tensor<64x64xbf16>) outs(%acc0 : tensor<?x64xf32>) -> tensor<?x64xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y32 : tensor<?x64xf32>) outs(%like : tensor<?x64xbf16>) {
  ^bb0(%a: f32, %out: bf16):
    %b = arith.truncf %a : f32 to bf16
    linalg.yield %b : bf16
  } -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
