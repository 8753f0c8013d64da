// With preserve-rounding, a gated linear unit that rounds where a matmul does not
// stays.
// RUN: flashnorm-opt %s --flashnorm-fuse-glu=preserve-rounding --split-input-file | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-fuse-glu=preserve-rounding --split-input-file --remarks-filter="flashnorm-fuse-glu" --remark-policy=all -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// relu in f32 of a bf16 product becomes f16: the step rounds to that.
#id = affine_map<(d0, d1) -> (d0, d1)>
// REMARK: [Passed] GluFused | {{.*}}Function=relu_in_f16
// CHECK-LABEL: func @relu_in_f16
// CHECK: flashnorm.matmul {{.*}} roundings = #flashnorm.roundings<product = bf16, activation = f16>
func.func @relu_in_f16(%x: tensor<8x64xbf16>, %w: tensor<64x96xbf16>, %e: tensor<8x96xbf16>, %o: tensor<8x48xf32>) -> tensor<8x48xf32> {
  %zero = arith.constant 0.0 : f32
  %h = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x96xbf16>) outs(%e : tensor<8x96xbf16>) -> tensor<8x96xbf16>
  %g = tensor.extract_slice %h[0, 0] [8, 48] [1, 1] : tensor<8x96xbf16> to tensor<8x48xbf16>
  %u = tensor.extract_slice %h[0, 48] [8, 48] [1, 1] : tensor<8x96xbf16> to tensor<8x48xbf16>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%g, %u : tensor<8x48xbf16>, tensor<8x48xbf16>) outs(%o : tensor<8x48xf32>) {
  ^bb0(%i: bf16, %j: bf16, %out: f32):
    %i32 = arith.extf %i : bf16 to f32
    %a = arith.maximumf %i32, %zero : f32
    %t = arith.truncf %a : f32 to f16
    %t32 = arith.extf %t : f16 to f32
    %j32 = arith.extf %j : bf16 to f32
    %p = arith.mulf %t32, %j32 : f32
    linalg.yield %p : f32
  } -> tensor<8x48xf32>
  return %y : tensor<8x48xf32>
}

// -----

// To f16 and then to bf16: no step rounds twice.
#id = affine_map<(d0, d1) -> (d0, d1)>
// REMARK: [Missed] GluNotFused | {{.*}}Function=twice | {{.*}}the source rounds gates or values where the epilogue cannot
// CHECK-LABEL: func @twice
// CHECK: arith.maximumf
func.func @twice(%x: tensor<8x64xbf16>, %w: tensor<64x96xbf16>, %e: tensor<8x96xf32>, %o: tensor<8x48xf32>) -> tensor<8x48xf32> {
  %zero = arith.constant 0.0 : f32
  %h = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x96xbf16>) outs(%e : tensor<8x96xf32>) -> tensor<8x96xf32>
  %g = tensor.extract_slice %h[0, 0] [8, 48] [1, 1] : tensor<8x96xf32> to tensor<8x48xf32>
  %u = tensor.extract_slice %h[0, 48] [8, 48] [1, 1] : tensor<8x96xf32> to tensor<8x48xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%g, %u : tensor<8x48xf32>, tensor<8x48xf32>) outs(%o : tensor<8x48xf32>) {
  ^bb0(%i: f32, %j: f32, %out: f32):
    %a = arith.maximumf %i, %zero : f32
    %t = arith.truncf %a : f32 to f16
    %t32 = arith.extf %t : f16 to f32
    %s = arith.truncf %t32 : f32 to bf16
    %s32 = arith.extf %s : bf16 to f32
    %p = arith.mulf %s32, %j : f32
    linalg.yield %p : f32
  } -> tensor<8x48xf32>
  return %y : tensor<8x48xf32>
}

// -----

// The logistic function is rounded within silu.
#id = affine_map<(d0, d1) -> (d0, d1)>
// REMARK: [Missed] GluNotFused | {{.*}}Function=within | {{.*}}the source rounds gates or values where the epilogue cannot
// CHECK-LABEL: func @within
// CHECK: math.exp
func.func @within(%x: tensor<8x64xbf16>, %w: tensor<64x96xbf16>, %e: tensor<8x96xf32>, %o: tensor<8x48xf32>) -> tensor<8x48xf32> {
  %one = arith.constant 1.0 : f32
  %h = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x96xbf16>) outs(%e : tensor<8x96xf32>) -> tensor<8x96xf32>
  %g = tensor.extract_slice %h[0, 0] [8, 48] [1, 1] : tensor<8x96xf32> to tensor<8x48xf32>
  %u = tensor.extract_slice %h[0, 48] [8, 48] [1, 1] : tensor<8x96xf32> to tensor<8x48xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%g, %u : tensor<8x48xf32>, tensor<8x48xf32>) outs(%o : tensor<8x48xf32>) {
  ^bb0(%i: f32, %j: f32, %out: f32):
    %n = arith.negf %i : f32
    %ex = math.exp %n : f32
    %d = arith.addf %ex, %one : f32
    %q = arith.divf %one, %d : f32
    %t = arith.truncf %q : f32 to bf16
    %t32 = arith.extf %t : bf16 to f32
    %a = arith.mulf %i, %t32 : f32
    %p = arith.mulf %a, %j : f32
    linalg.yield %p : f32
  } -> tensor<8x48xf32>
  return %y : tensor<8x48xf32>
}
