// What follows a matmul becomes its epilogue.
// RUN: flashnorm-opt %s --flashnorm-fuse-epilogues --split-input-file | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-fuse-epilogues --split-input-file --remarks-filter-passed=flashnorm-fuse-epilogues -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// torch's linear: the bias is widened by an op of its own, added in f32, and the
// sum rounded. The bf16 bias is taken.
#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @bias_in_f32
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<32xbf16>
// CHECK-NOT: linalg.
// CHECK: %[[Y:.*]] = flashnorm.matmul {{.*}} bias(%[[B]] : tensor<32xbf16>) outs(%{{.*}} : tensor<?x32xbf16>) -> tensor<?x32xbf16>
// CHECK: return %[[Y]]
// REMARK: EpilogueFused{{.*}}bias
func.func @bias_in_f32(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<32xbf16>, %e: tensor<?x32xf32>, %o: tensor<?x32xf32>, %o16: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %eb = tensor.empty() : tensor<32xf32>
  %b32 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%b : tensor<32xbf16>) outs(%eb : tensor<32xf32>) {
  ^bb0(%i: bf16, %out: f32):
    %r = arith.extf %i : bf16 to f32
    linalg.yield %r : f32
  } -> tensor<32xf32>
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #v, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %b32 : tensor<?x32xf32>, tensor<32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %i1: f32, %out: f32):
    %r = arith.addf %i1, %i0 : f32
    linalg.yield %r : f32
  } -> tensor<?x32xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<?x32xf32>) outs(%o16 : tensor<?x32xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %r = arith.truncf %i0 : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<?x32xbf16>
  return %t : tensor<?x32xbf16>
}

// -----

// The bias is broadcast and added by named ops, in bf16.
// CHECK-LABEL: func @bias_by_named_ops
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<32xbf16>
// CHECK-NOT: linalg.
// CHECK: flashnorm.matmul {{.*}} bias(%[[B]] : tensor<32xbf16>)
func.func @bias_by_named_ops(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<32xbf16>, %e: tensor<?x32xbf16>, %o: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %bb = linalg.broadcast ins(%b : tensor<32xbf16>) outs(%o : tensor<?x32xbf16>) dimensions = [0]
  %s = linalg.add ins(%acc, %bb : tensor<?x32xbf16>, tensor<?x32xbf16>) outs(%o : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  return %s : tensor<?x32xbf16>
}

// -----

// ReLU as torch-mlir spells it: an unordered comparison and a select.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @relu_select
// CHECK-NOT: linalg.
// CHECK: flashnorm.matmul {{.*}} {activation = #flashnorm.activation<relu>}
// REMARK: EpilogueFused{{.*}}relu
func.func @relu_select(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xbf16>, %o: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %zero = arith.constant 0.0 : bf16
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc : tensor<?x32xbf16>) outs(%o : tensor<?x32xbf16>) {
  ^bb0(%i0: bf16, %out: bf16):
    %c = arith.cmpf ugt, %i0, %zero : bf16
    %r = arith.select %c, %i0, %zero : bf16
    linalg.yield %r : bf16
  } -> tensor<?x32xbf16>
  return %s : tensor<?x32xbf16>
}

// -----

// ReLU as a maximum with a tensor of zeros.
// CHECK-LABEL: func @relu_maximum
// CHECK-NOT: linalg.
// CHECK: flashnorm.matmul {{.*}} {activation = #flashnorm.activation<relu>}
func.func @relu_maximum(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xbf16>, %o: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %zero = arith.constant 0.0 : bf16
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %z = linalg.fill ins(%zero : bf16) outs(%o : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %s = linalg.max ins(%z, %acc : tensor<?x32xbf16>, tensor<?x32xbf16>) outs(%o : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  return %s : tensor<?x32xbf16>
}

// -----

// SiLU as torch-mlir spells it: widened, the logistic function, the product and
// the rounding in four ops. The bf16 rounding before it is skipped.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @silu_in_four_ops
// CHECK-NOT: linalg.
// CHECK: flashnorm.matmul {{.*}} outs(%{{.*}} : tensor<?x32xbf16>) {activation = #flashnorm.activation<silu>}
// REMARK: EpilogueFused{{.*}}silu
func.func @silu_in_four_ops(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xbf16>, %o: tensor<?x32xf32>, %o16: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %one = arith.constant 1.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %x32 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc : tensor<?x32xbf16>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: bf16, %out: f32):
    %r = arith.extf %i0 : bf16 to f32
    linalg.yield %r : f32
  } -> tensor<?x32xf32>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x32 : tensor<?x32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %out: f32):
    %n = arith.negf %i0 : f32
    %ex = math.exp %n : f32
    %d = arith.addf %ex, %one : f32
    %r = arith.divf %one, %d : f32
    linalg.yield %r : f32
  } -> tensor<?x32xf32>
  %p = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x32, %g : tensor<?x32xf32>, tensor<?x32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %i1: f32, %out: f32):
    %r = arith.mulf %i0, %i1 : f32
    linalg.yield %r : f32
  } -> tensor<?x32xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<?x32xf32>) outs(%o16 : tensor<?x32xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %r = arith.truncf %i0 : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<?x32xbf16>
  return %t : tensor<?x32xbf16>
}

// -----

// SiLU as a quotient, fused with the product that follows: the op keeps the
// product and reads the new result.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @silu_fused_with_glu
// CHECK-SAME: %[[UP:[a-z0-9]+]]: tensor<?x32xbf16>, %{{[a-z0-9]+}}: tensor<?x32xf32>
// CHECK: %[[Y:.*]] = flashnorm.matmul {{.*}} outs(%{{.*}} : tensor<?x32xbf16>) {activation = #flashnorm.activation<silu>}
// CHECK: linalg.generic {{.*}} ins(%[[UP]], %[[Y]] :
// CHECK-NEXT: ^bb0(%[[I0:[a-z0-9_]+]]: bf16, %[[I1:[a-z0-9_]+]]: bf16, %{{.*}}: bf16):
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[I1]], %[[I0]] : bf16
// CHECK-NEXT: linalg.yield %[[P]]
func.func @silu_fused_with_glu(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %up: tensor<?x32xbf16>, %e: tensor<?x32xf32>, %o16: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %up : tensor<?x32xf32>, tensor<?x32xbf16>) outs(%o16 : tensor<?x32xbf16>) {
  ^bb0(%i0: f32, %i1: bf16, %out: bf16):
    %n = arith.subf %zero, %i0 : f32
    %ex = math.exp %n : f32
    %d = arith.addf %one, %ex : f32
    %q = arith.divf %i0, %d : f32
    %t = arith.truncf %q : f32 to bf16
    %p = arith.mulf %t, %i1 : bf16
    linalg.yield %p : bf16
  } -> tensor<?x32xbf16>
  return %s : tensor<?x32xbf16>
}

// -----

// GELU by erf, with torch-mlir's mean and deviation spelled out.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @gelu_erf
// CHECK-NOT: linalg.
// CHECK: flashnorm.matmul {{.*}} {activation = #flashnorm.activation<gelu>}
// REMARK: EpilogueFused{{.*}}gelu
func.func @gelu_erf(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>, %o16: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %root2 = arith.constant 1.41421354 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc : tensor<?x32xf32>) outs(%o16 : tensor<?x32xbf16>) {
  ^bb0(%i0: f32, %out: bf16):
    %m = arith.subf %i0, %zero : f32
    %d = arith.divf %m, %root2 : f32
    %f = math.erf %d : f32
    %a = arith.addf %one, %f : f32
    %h = arith.mulf %half, %a : f32
    %g = arith.mulf %i0, %h : f32
    %t = arith.truncf %g : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<?x32xbf16>
  return %s : tensor<?x32xbf16>
}

// -----

// GELU by erfc of the negated value.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @gelu_erfc
// CHECK-NOT: linalg.
// CHECK: flashnorm.matmul {{.*}} {activation = #flashnorm.activation<gelu>}
func.func @gelu_erfc(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>, %o: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %half = arith.constant 0.5 : f32
  %c = arith.constant -0.707106769 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc : tensor<?x32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %out: f32):
    %d = arith.mulf %i0, %c : f32
    %f = math.erfc %d : f32
    %h = arith.mulf %half, %i0 : f32
    %g = arith.mulf %h, %f : f32
    linalg.yield %g : f32
  } -> tensor<?x32xf32>
  return %s : tensor<?x32xf32>
}

// -----

// GELU by tanh, the cube as a power and in two ops.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @gelu_tanh
// CHECK-NOT: linalg.
// CHECK: flashnorm.matmul {{.*}} {activation = #flashnorm.activation<gelu_tanh>}
func.func @gelu_tanh(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>, %o: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %three = arith.constant 3 : i32
  %a = arith.constant 4.471500e-02 : f32
  %b = arith.constant 0.797884583 : f32
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %u = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc : tensor<?x32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %out: f32):
    %c = math.fpowi %i0, %three : f32, i32
    %d = arith.mulf %c, %a : f32
    %s = arith.addf %i0, %d : f32
    %r = arith.mulf %s, %b : f32
    linalg.yield %r : f32
  } -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %u : tensor<?x32xf32>, tensor<?x32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %i1: f32, %out: f32):
    %th = math.tanh %i1 : f32
    %p = arith.addf %th, %one : f32
    %h = arith.mulf %i0, %half : f32
    %g = arith.mulf %h, %p : f32
    linalg.yield %g : f32
  } -> tensor<?x32xf32>
  return %s : tensor<?x32xf32>
}

// -----

// A residual, on the left, used twice afterwards.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @residual
// CHECK-SAME: %[[R:[a-z0-9]+]]: tensor<?x32xbf16>, %{{[a-z0-9]+}}: tensor<?x32xbf16>, %{{[a-z0-9]+}}: tensor<?x32xbf16>)
// CHECK: %[[Y:.*]] = flashnorm.matmul {{.*}} residual(%[[R]] : tensor<?x32xbf16>)
// CHECK: return %[[Y]], %[[Y]]
// REMARK: EpilogueFused{{.*}}residual
func.func @residual(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<?x32xbf16>, %e: tensor<?x32xbf16>, %o: tensor<?x32xbf16>) -> (tensor<?x32xbf16>, tensor<?x32xbf16>) {
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%r, %acc : tensor<?x32xbf16>, tensor<?x32xbf16>) outs(%o : tensor<?x32xbf16>) {
  ^bb0(%i0: bf16, %i1: bf16, %out: bf16):
    %a = arith.addf %i0, %i1 : bf16
    linalg.yield %a : bf16
  } -> tensor<?x32xbf16>
  return %s, %s : tensor<?x32xbf16>, tensor<?x32xbf16>
}

// -----

// The residual has a batch dimension that the matmul has not: the residual is
// collapsed, the result expanded.
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-LABEL: func @residual_behind_expand
// CHECK-SAME: %[[R:[a-z0-9]+]]: tensor<4x?x32xbf16>, %{{[a-z0-9]+}}: tensor<?x32xbf16>, %{{.*}}: tensor<4x?x32xbf16>, %[[N:[a-z0-9]+]]: index
// CHECK-NOT: linalg.
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[R]] {{\[}}[0, 1], [2]] : tensor<4x?x32xbf16> into tensor<?x32xbf16>
// CHECK: %[[Y:.*]] = flashnorm.matmul {{.*}} residual(%[[C]] : tensor<?x32xbf16>)
// CHECK: tensor.expand_shape %[[Y]] {{\[}}[0, 1], [2]] output_shape [4, %[[N]], 32]
func.func @residual_behind_expand(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<4x?x32xbf16>, %e: tensor<?x32xbf16>, %o: tensor<4x?x32xbf16>, %n: index) -> tensor<4x?x32xbf16> {
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %y = tensor.expand_shape %acc [[0, 1], [2]] output_shape [4, %n, 32] : tensor<?x32xbf16> into tensor<4x?x32xbf16>
  %s = linalg.generic {indexing_maps = [#id3, #id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%r, %y : tensor<4x?x32xbf16>, tensor<4x?x32xbf16>) outs(%o : tensor<4x?x32xbf16>) {
  ^bb0(%i0: bf16, %i1: bf16, %out: bf16):
    %a = arith.addf %i0, %i1 : bf16
    linalg.yield %a : bf16
  } -> tensor<4x?x32xbf16>
  return %s : tensor<4x?x32xbf16>
}

// -----

// The other way round: the result is collapsed, and the residual expanded.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @residual_behind_collapse
// CHECK-SAME: %[[R:[a-z0-9]+]]: tensor<?x32xf32>
// CHECK-NOT: linalg.
// CHECK: %[[C:.*]] = tensor.expand_shape %[[R]] {{\[}}[0, 1], [2]] output_shape [4, %{{.*}}, 32] : tensor<?x32xf32> into tensor<4x?x32xf32>
// CHECK: %[[Y:.*]] = flashnorm.matmul {{.*}} residual(%[[C]] : tensor<4x?x32xf32>)
// CHECK: tensor.collapse_shape %[[Y]] {{\[}}[0, 1], [2]]
func.func @residual_behind_collapse(%x: tensor<4x?x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<?x32xf32>, %e: tensor<4x?x32xf32>, %o: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %acc = flashnorm.matmul ins(%x, %w : tensor<4x?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<4x?x32xf32>) -> tensor<4x?x32xf32>
  %y = tensor.collapse_shape %acc [[0, 1], [2]] : tensor<4x?x32xf32> into tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %r : tensor<?x32xf32>, tensor<?x32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %i1: f32, %out: f32):
    %a = arith.addf %i0, %i1 : f32
    linalg.yield %a : f32
  } -> tensor<?x32xf32>
  return %s : tensor<?x32xf32>
}

// -----

// Bias, activation and residual in one fused body, with roundings between them.
#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @all_in_one_body
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<32xf32>, %[[R:[a-z0-9]+]]: tensor<?x32xbf16>
// CHECK-NOT: linalg.
// CHECK: flashnorm.matmul {{.*}} bias(%[[B]] : tensor<32xf32>) residual(%[[R]] : tensor<?x32xbf16>) outs(%{{.*}} : tensor<?x32xbf16>) {activation = #flashnorm.activation<relu>}
// REMARK: EpilogueFused{{.*}}bias, relu, residual
func.func @all_in_one_body(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<32xf32>, %r: tensor<?x32xbf16>, %e: tensor<?x32xf32>, %o16: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %zero = arith.constant 0.0 : bf16
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #v, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc, %b, %r : tensor<?x32xf32>, tensor<32xf32>, tensor<?x32xbf16>) outs(%o16 : tensor<?x32xbf16>) {
  ^bb0(%i0: f32, %i1: f32, %i2: bf16, %out: bf16):
    %a = arith.addf %i0, %i1 : f32
    %t = arith.truncf %a : f32 to bf16
    %m = arith.maximumf %t, %zero : bf16
    %y = arith.addf %m, %i2 : bf16
    linalg.yield %y : bf16
  } -> tensor<?x32xbf16>
  return %s : tensor<?x32xbf16>
}

// -----

// A rounding alone, in front of something else in the same body.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @rounding_in_a_body
// CHECK: %[[Y:.*]] = flashnorm.matmul {{.*}} -> tensor<?x32xbf16>
// CHECK: linalg.generic {{.*}} ins(%[[Y]] : tensor<?x32xbf16>)
// CHECK-NOT: arith.truncf
// REMARK: EpilogueFused{{.*}}rounding
func.func @rounding_in_a_body(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>, %o: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%acc : tensor<?x32xf32>) outs(%o : tensor<?x32xf32>) {
  ^bb0(%i0: f32, %out: f32):
    %t = arith.truncf %i0 : f32 to bf16
    %a = arith.extf %t : bf16 to f32
    %y = arith.mulf %a, %a : f32
    linalg.yield %y : f32
  } -> tensor<?x32xf32>
  return %s : tensor<?x32xf32>
}

// -----

// A dimension of size 1 read at 0, as some front ends write it.
#m = affine_map<(d0, d1, d2) -> (0, d1, d2)>
#i = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-LABEL: func @unit_dimension_at_zero
// CHECK-SAME: %[[R:[a-z0-9]+]]: tensor<1x?x32xbf16>, %{{[a-z0-9]+}}: tensor<1x?x32xbf16>)
// CHECK-NOT: linalg.
// CHECK: flashnorm.matmul {{.*}} residual(%[[R]] : tensor<1x?x32xbf16>)
func.func @unit_dimension_at_zero(%x: tensor<1x?x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<1x?x32xbf16>, %e: tensor<1x?x32xbf16>) -> tensor<1x?x32xbf16> {
  %acc = flashnorm.matmul ins(%x, %w : tensor<1x?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<1x?x32xbf16>) -> tensor<1x?x32xbf16>
  %s = linalg.generic {indexing_maps = [#m, #m, #i], iterator_types = ["parallel", "parallel", "parallel"]} ins(%acc, %r : tensor<1x?x32xbf16>, tensor<1x?x32xbf16>) outs(%e : tensor<1x?x32xbf16>) {
  ^bb0(%i0: bf16, %i1: bf16, %out: bf16):
    %a = arith.addf %i0, %i1 : bf16
    linalg.yield %a : bf16
  } -> tensor<1x?x32xbf16>
  return %s : tensor<1x?x32xbf16>
}

// -----

// A residual of whose rows less is known than of the result's.
// CHECK-LABEL: func @residual_of_unknown_rows
// CHECK-SAME: %[[R:[a-z0-9]+]]: tensor<1x?x32xf32>
// CHECK: %[[CAST:.*]] = tensor.cast %[[R]] : tensor<1x?x32xf32> to tensor<1x2x32xf32>
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[CAST]] {{\[\[}}0, 1], [2]] : tensor<1x2x32xf32> into tensor<2x32xf32>
// CHECK: flashnorm.matmul {{.*}} residual(%[[FLAT]] : tensor<2x32xf32>)
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
func.func @residual_of_unknown_rows(%x: tensor<2x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<1x?x32xf32>, %e: tensor<2x32xf32>, %o: tensor<1x2x32xf32>) -> tensor<1x2x32xf32> {
  %y = flashnorm.matmul ins(%x, %w : tensor<2x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<2x32xf32>) -> tensor<2x32xf32>
  %b = tensor.expand_shape %y [[0, 1], [2]] output_shape [1, 2, 32] : tensor<2x32xf32> into tensor<1x2x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%b, %r : tensor<1x2x32xf32>, tensor<1x?x32xf32>) outs(%o : tensor<1x2x32xf32>) {
  ^bb0(%i0: f32, %i1: f32, %out: f32):
    %t = arith.addf %i0, %i1 : f32
    linalg.yield %t : f32
  } -> tensor<1x2x32xf32>
  return %s : tensor<1x2x32xf32>
}
