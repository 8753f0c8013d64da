// With preserve-rounding, what would lose a rounding when it is raised stays.
// RUN: flashnorm-opt %s --flashnorm-raise-matmuls=preserve-rounding --flashnorm-raise-norms=preserve-rounding --split-input-file | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-raise-matmuls=preserve-rounding --flashnorm-raise-norms=preserve-rounding --split-input-file --remarks-filter="flashnorm-raise-.*" --remark-policy=all -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Partial sums in bf16.
// REMARK: ContractionNotRaised{{.*}}linalg.matmul: its partial sums are rounded to bf16, which is to be preserved
// CHECK-LABEL: func @bf16_sums
// CHECK: linalg.matmul
func.func @bf16_sums(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %zero = arith.constant 0.0 : bf16
  %c = linalg.fill ins(%zero : bf16) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %y = linalg.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%c : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  return %y : tensor<?x32xbf16>
}

// -----

// Sums in f32, rounded once.
// REMARK: MatmulRaised
// CHECK-LABEL: func @f32_sums
// CHECK: flashnorm.matmul {{.*}} -> tensor<?x32xbf16>
// CHECK-NOT: linalg.
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @f32_sums(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>, %o: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %zero = arith.constant 0.0 : f32
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%c : tensor<?x32xf32>) -> tensor<?x32xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x32xf32>) outs(%o : tensor<?x32xbf16>) {
  ^bb0(%i: f32, %out: bf16):
    %t = arith.truncf %i : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<?x32xbf16>
  return %r : tensor<?x32xbf16>
}

// -----

// An RMSNorm that squares and sums in bf16; the same in f32.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// REMARK: NormNotRaised{{.*}}a value is rounded to bf16 on the way, which is to be preserved
// CHECK-LABEL: func @norm_in_bf16
// CHECK-NOT: flashnorm.rms_norm
// CHECK: math.rsqrt
func.func @norm_in_bf16(%x: tensor<8x64xbf16>) -> tensor<8x64xbf16> {
  %zero = arith.constant 0.0 : bf16
  %n = arith.constant 64.0 : bf16
  %eps = arith.constant 1.0e-05 : bf16
  %e = tensor.empty() : tensor<8xbf16>
  %o = tensor.empty() : tensor<8x64xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<8xbf16>) -> tensor<8xbf16>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x64xbf16>) outs(%f : tensor<8xbf16>) {
  ^bb0(%i: bf16, %out: bf16):
    %q = arith.mulf %i, %i : bf16
    %a = arith.addf %out, %q : bf16
    linalg.yield %a : bf16
  } -> tensor<8xbf16>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<8x64xbf16>, tensor<8xbf16>) outs(%o : tensor<8x64xbf16>) {
  ^bb0(%i: bf16, %t: bf16, %out: bf16):
    %m = arith.divf %t, %n : bf16
    %v = arith.addf %m, %eps : bf16
    %r = math.rsqrt %v : bf16
    %z = arith.mulf %i, %r : bf16
    linalg.yield %z : bf16
  } -> tensor<8x64xbf16>
  return %y : tensor<8x64xbf16>
}

// -----

// In f32, with one rounding in front of the weight.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>
// REMARK: NormRaised
// CHECK-LABEL: func @norm_in_f32
// CHECK: flashnorm.rms_norm {{.*}} weight(%{{.*}} : tensor<64xbf16>) {{.*}} {cast = #flashnorm.cast_position<before_affine>
func.func @norm_in_f32(%x: tensor<8x64xbf16>, %g: tensor<64xbf16>) -> tensor<8x64xbf16> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 1.0e-05 : f32
  %e = tensor.empty() : tensor<8xf32>
  %o = tensor.empty() : tensor<8x64xbf16>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x64xbf16>) outs(%f : tensor<8xf32>) {
  ^bb0(%i: bf16, %out: f32):
    %i32 = arith.extf %i : bf16 to f32
    %q = arith.mulf %i32, %i32 : f32
    %a = arith.addf %out, %q : f32
    linalg.yield %a : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %s, %g : tensor<8x64xbf16>, tensor<8xf32>, tensor<64xbf16>) outs(%o : tensor<8x64xbf16>) {
  ^bb0(%i: bf16, %t: f32, %w: bf16, %out: bf16):
    %i32 = arith.extf %i : bf16 to f32
    %m = arith.divf %t, %n : f32
    %v = arith.addf %m, %eps : f32
    %r = math.rsqrt %v : f32
    %z = arith.mulf %i32, %r : f32
    %c = arith.truncf %z : f32 to bf16
    %p = arith.mulf %c, %w : bf16
    linalg.yield %p : bf16
  } -> tensor<8x64xbf16>
  return %y : tensor<8x64xbf16>
}

// -----

// A term of an expanded LayerNorm is rounded.
// CHECK-LABEL: func @rounded_term
// CHECK-NOT: flashnorm.
// CHECK: math.rsqrt
func.func @rounded_term(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %mu_sum = linalg.reduce { arith.addf } ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mu = arith.divf %mu_sum, %n : tensor<8xf32>
  %mus = linalg.broadcast ins(%mu : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %c = arith.subf %x, %mus : tensor<8x64xf32>
  %sq = arith.mulf %c, %c : tensor<8x64xf32>
  %v_sum = linalg.reduce { arith.addf } ins(%sq : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %v = arith.divf %v_sum, %n : tensor<8xf32>
  %re = arith.addf %v, %eps : tensor<8xf32>
  %r = math.rsqrt %re : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %xf = arith.mulf %x, %rows : tensor<8x64xf32>
  %mf = arith.mulf %mus, %rows : tensor<8x64xf32>
  %mt = arith.truncf %mf : tensor<8x64xf32> to tensor<8x64xbf16>
  %me = arith.extf %mt : tensor<8x64xbf16> to tensor<8x64xf32>
  %y = arith.subf %xf, %me : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

// Somebody reads the root of a rounded mean.
// CHECK-LABEL: func @rounded_statistic
// CHECK: %[[Y:.+]] = flashnorm.rms_norm {{.*}} -> tensor<8x64xf32>
// CHECK: arith.truncf
// CHECK: %[[R:.+]] = math.rsqrt
// CHECK: return %[[Y]], %[[R]]
func.func @rounded_statistic(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %sq = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%sq : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %v = arith.divf %sum, %n : tensor<8xf32>
  %re = arith.addf %v, %eps : tensor<8xf32>
  %r = math.rsqrt %re : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  %vt = arith.truncf %v : tensor<8xf32> to tensor<8xbf16>
  %ve = arith.extf %vt : tensor<8xbf16> to tensor<8xf32>
  %re2 = arith.addf %ve, %eps : tensor<8xf32>
  %r2 = math.rsqrt %re2 : tensor<8xf32>
  return %y, %r2 : tensor<8x64xf32>, tensor<8xf32>
}
