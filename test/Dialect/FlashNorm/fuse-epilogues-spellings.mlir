// Epilogues as tosa and arith on tensors write them, and with inits that are
// the matmul's own result.
// RUN: flashnorm-opt %s --flashnorm-fuse-epilogues --canonicalize --cse --split-input-file --verify-roundtrip | FileCheck %s

// A bias, a relu and a residual in arith.
// CHECK-LABEL: func @arith_on_tensors(
// CHECK:         %[[Y:.+]] = flashnorm.matmul {{.*}} bias(%arg2 : {{.*}}) residual(%arg3 : {{.*}}) {{.*}} {activation = #flashnorm.activation<relu>}
// CHECK-NEXT:    return %[[Y]]
func.func @arith_on_tensors(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<32xbf16>, %r: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %e = tensor.empty(%rows) : tensor<?x32xbf16>
  %zero = arith.constant 0.0 : bf16
  %zeros = linalg.fill ins(%zero : bf16) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %bias = linalg.broadcast ins(%b : tensor<32xbf16>) outs(%e : tensor<?x32xbf16>) dimensions = [0]
  %s = arith.addf %y, %bias : tensor<?x32xbf16>
  %a = arith.maximumf %s, %zeros : tensor<?x32xbf16>
  %z = arith.addf %a, %r : tensor<?x32xbf16>
  return %z : tensor<?x32xbf16>
}

// -----

// What only gives its memory is no second use.
// CHECK-LABEL: func @overwritten(
// CHECK:         %[[Y:.+]] = flashnorm.matmul {{.*}} residual(%arg2 : {{.*}})
// CHECK-NEXT:    return %[[Y]]
func.func @overwritten(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<?x32xbf16>, %e: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %s = linalg.add ins(%y, %r : tensor<?x32xbf16>, tensor<?x32xbf16>) outs(%y : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  return %s : tensor<?x32xbf16>
}

// -----

// A bias added to an init.
#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @accumulated(
// CHECK:         %[[Y:.+]] = flashnorm.matmul {{.*}} bias(%arg2 : {{.*}})
// CHECK-NEXT:    return %[[Y]]
func.func @accumulated(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#v, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<32xf32>) outs(%y : tensor<?x32xf32>) {
  ^bb0(%i: f32, %o: f32):
    %a = arith.addf %o, %i : f32
    linalg.yield %a : f32
  } -> tensor<?x32xf32>
  return %s : tensor<?x32xf32>
}

// -----

// Somebody else reads what the init is read of, too.
#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @accumulated_and_returned(
// CHECK:         %[[Y:.+]] = flashnorm.matmul ins({{.*}}) outs(
// CHECK:         %[[S:.+]] = linalg.generic
// CHECK:         return %[[Y]], %[[S]]
func.func @accumulated_and_returned(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<32xf32>, %e: tensor<?x32xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#v, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<32xf32>) outs(%y : tensor<?x32xf32>) {
  ^bb0(%i: f32, %o: f32):
    %a = arith.addf %o, %i : f32
    linalg.yield %a : f32
  } -> tensor<?x32xf32>
  return %y, %s : tensor<?x32xf32>, tensor<?x32xf32>
}

// -----

// A rounding, a bias, another shape and a residual in tosa. The batch is dynamic,
// and both sides of the last addition have it.
// CHECK-LABEL: func @tosa_ops(
// CHECK:         %[[BIAS:.+]] = tensor.collapse_shape %arg2
// CHECK:         flashnorm.matmul {{.*}} bias(%[[BIAS]] : {{.*}}) residual(
// CHECK-NOT:     tosa.
// CHECK-NOT:     scf.if
// CHECK:         return
func.func @tosa_ops(%x: tensor<1x8x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<1x1x32xbf16>, %r: tensor<?x4x32xbf16>) -> tensor<?x4x32xbf16> {
  %e = tensor.empty() : tensor<1x8x32xf32>
  %y = flashnorm.matmul ins(%x, %w : tensor<1x8x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<1x8x32xf32>) -> tensor<1x8x32xf32>
  %c = tosa.cast %y : (tensor<1x8x32xf32>) -> tensor<1x8x32xbf16>
  %s = tosa.add %c, %b : (tensor<1x8x32xbf16>, tensor<1x1x32xbf16>) -> tensor<1x8x32xbf16>
  %shape = tosa.const_shape {values = dense<[2, 4, 32]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %v = tosa.reshape %s, %shape : (tensor<1x8x32xbf16>, !tosa.shape<3>) -> tensor<2x4x32xbf16>
  %rs = tensor.cast %r : tensor<?x4x32xbf16> to tensor<2x4x32xbf16>
  %z = tosa.add %v, %rs : (tensor<2x4x32xbf16>, tensor<2x4x32xbf16>) -> tensor<2x4x32xbf16>
  %o = tensor.cast %z : tensor<2x4x32xbf16> to tensor<?x4x32xbf16>
  return %o : tensor<?x4x32xbf16>
}

// -----

// Not computed from a matmul: left in tosa.
// CHECK-LABEL: func @elsewhere(
// CHECK:         tosa.add
func.func @elsewhere(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %a: tensor<8x64xbf16>) -> tensor<8x32xbf16> {
  %e = tensor.empty() : tensor<8x32xbf16>
  %s = tosa.add %x, %a : (tensor<8x64xbf16>, tensor<8x64xbf16>) -> tensor<8x64xbf16>
  %y = flashnorm.matmul ins(%s, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// -----

// Nobody reads the sum, which gives its memory only.
// CHECK-LABEL: func @dead_sum(
// CHECK-NOT:     flashnorm.matmul
// CHECK:         return
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @dead_sum(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<?x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %r : tensor<?x32xf32>, tensor<?x32xf32>) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %a = arith.addf %i, %j : f32
    %t = arith.truncf %a : f32 to bf16
    %u = arith.extf %t : bf16 to f32
    linalg.yield %u : f32
  } -> tensor<?x32xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%e : tensor<?x32xf32>) outs(%s : tensor<?x32xf32>) {
  ^bb0(%i: f32, %o: f32):
    %a = arith.maximumf %i, %zero : f32
    linalg.yield %a : f32
  } -> tensor<?x32xf32>
  return %z : tensor<?x32xf32>
}
