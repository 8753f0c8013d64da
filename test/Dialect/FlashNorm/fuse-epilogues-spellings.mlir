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

// -----

// GELU by tanh in tosa. As rows are dynamic, upstream's conversion leaves
// choices behind every sum of two; what comes after one is converted, too.
// CHECK-LABEL: func @tosa_gelu(
// CHECK:         %[[Y:.+]] = flashnorm.matmul {{.*}} bias(%arg2 : {{.*}}) {{.*}} {activation = #flashnorm.activation<gelu_tanh>}
// CHECK-NEXT:    return %[[Y]]
func.func @tosa_gelu(%x: tensor<?x64xf16>, %w: tensor<64x32xf16>, %b: tensor<32xf16>) -> tensor<?x32xf16> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xf16>
  %e = tensor.empty(%rows) : tensor<?x32xf16>
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %half = "tosa.const"() <{values = dense<0.5> : tensor<1x1xf16>}> : () -> tensor<1x1xf16>
  %one = "tosa.const"() <{values = dense<1.0> : tensor<1x1xf16>}> : () -> tensor<1x1xf16>
  %three = "tosa.const"() <{values = dense<3.0> : tensor<1x1xf16>}> : () -> tensor<1x1xf16>
  %cubic = "tosa.const"() <{values = dense<4.470830e-02> : tensor<1x1xf16>}> : () -> tensor<1x1xf16>
  %root = "tosa.const"() <{values = dense<7.978520e-01> : tensor<1x1xf16>}> : () -> tensor<1x1xf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xf16>, tensor<64x32xf16>) bias(%b : tensor<32xf16>) outs(%e : tensor<?x32xf16>) -> tensor<?x32xf16>
  %0 = tosa.pow %y, %three : (tensor<?x32xf16>, tensor<1x1xf16>) -> tensor<?x32xf16>
  %1 = tosa.mul %0, %cubic, %shift : (tensor<?x32xf16>, tensor<1x1xf16>, tensor<1xi8>) -> tensor<?x32xf16>
  %2 = tosa.add %y, %1 : (tensor<?x32xf16>, tensor<?x32xf16>) -> tensor<?x32xf16>
  %3 = tosa.mul %2, %root, %shift : (tensor<?x32xf16>, tensor<1x1xf16>, tensor<1xi8>) -> tensor<?x32xf16>
  %4 = tosa.tanh %3 : (tensor<?x32xf16>) -> tensor<?x32xf16>
  %5 = tosa.add %4, %one : (tensor<?x32xf16>, tensor<1x1xf16>) -> tensor<?x32xf16>
  %6 = tosa.mul %y, %half, %shift : (tensor<?x32xf16>, tensor<1x1xf16>, tensor<1xi8>) -> tensor<?x32xf16>
  %7 = tosa.mul %6, %5, %shift : (tensor<?x32xf16>, tensor<?x32xf16>, tensor<1xi8>) -> tensor<?x32xf16>
  return %7 : tensor<?x32xf16>
}

// -----

// SiLU as x / (1 + exp(-x)).
// CHECK-LABEL: func @tosa_silu(
// CHECK:         %[[Y:.+]] = flashnorm.matmul {{.*}} {activation = #flashnorm.activation<silu>}
// CHECK-NEXT:    return %[[Y]]
func.func @tosa_silu(%x: tensor<8x64xf32>, %w: tensor<64x32xf32>, %e: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %zero = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %one = "tosa.const"() <{values = dense<1.0> : tensor<1x1xf32>}> : () -> tensor<1x1xf32>
  %y = flashnorm.matmul ins(%x, %w : tensor<8x64xf32>, tensor<64x32xf32>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %0 = tosa.negate %y, %zero, %zero : (tensor<8x32xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<8x32xf32>
  %1 = tosa.exp %0 : (tensor<8x32xf32>) -> tensor<8x32xf32>
  %2 = tosa.add %1, %one : (tensor<8x32xf32>, tensor<1x1xf32>) -> tensor<8x32xf32>
  %3 = tosa.reciprocal %2 : (tensor<8x32xf32>) -> tensor<8x32xf32>
  %4 = tosa.mul %y, %3, %shift : (tensor<8x32xf32>, tensor<8x32xf32>, tensor<1xi8>) -> tensor<8x32xf32>
  return %4 : tensor<8x32xf32>
}

// -----

// To one dimension and back, columns are columns again.
#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @there_and_back(
// CHECK:         flashnorm.matmul {{.*}} bias(%arg2 : {{.*}})
// CHECK-NOT:     linalg.generic
// CHECK:         return
func.func @there_and_back(%x: tensor<8x64xf32>, %w: tensor<64x32xf32>, %b: tensor<32xf32>, %e: tensor<8x32xf32>, %f: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %y = flashnorm.matmul ins(%x, %w : tensor<8x64xf32>, tensor<64x32xf32>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %c = tensor.collapse_shape %y [[0, 1]] : tensor<8x32xf32> into tensor<256xf32>
  %d = tensor.expand_shape %c [[0, 1]] output_shape [8, 32] : tensor<256xf32> into tensor<8x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #v, #id], iterator_types = ["parallel", "parallel"]} ins(%d, %b : tensor<8x32xf32>, tensor<32xf32>) outs(%f : tensor<8x32xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %a = arith.addf %i, %j : f32
    linalg.yield %a : f32
  } -> tensor<8x32xf32>
  return %s : tensor<8x32xf32>
}

// -----

// Rows of N elements, of which the type says nothing, are rows of N all the same.
#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @rows_again(
// CHECK:         flashnorm.matmul {{.*}} bias(%arg2 : {{.*}})
// CHECK-NOT:     linalg.generic
// CHECK:         return
func.func @rows_again(%x: tensor<16x64xf32>, %w: tensor<64x8xf32>, %b: tensor<8xf32>, %e: tensor<16x8xf32>, %f: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = flashnorm.matmul ins(%x, %w : tensor<16x64xf32>, tensor<64x8xf32>) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
  %c = tensor.collapse_shape %y [[0, 1]] : tensor<16x8xf32> into tensor<128xf32>
  %g = tensor.expand_shape %c [[0, 1]] output_shape [16, 8] : tensor<128xf32> into tensor<16x8xf32>
  %d = tensor.cast %g : tensor<16x8xf32> to tensor<?x?xf32>
  %s = linalg.generic {indexing_maps = [#id, #v, #id], iterator_types = ["parallel", "parallel"]} ins(%d, %b : tensor<?x?xf32>, tensor<8xf32>) outs(%f : tensor<?x?xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %a = arith.addf %i, %j : f32
    linalg.yield %a : f32
  } -> tensor<?x?xf32>
  return %s : tensor<?x?xf32>
}

// -----

// A vector for rows of another length is none of N.
#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @other_rows(
// CHECK:         flashnorm.matmul ins({{.*}}) outs(
// CHECK:         linalg.generic
func.func @other_rows(%x: tensor<16x64xf32>, %w: tensor<64x8xf32>, %b: tensor<16xf32>, %e: tensor<16x8xf32>, %f: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %y = flashnorm.matmul ins(%x, %w : tensor<16x64xf32>, tensor<64x8xf32>) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
  %c = tensor.collapse_shape %y [[0, 1]] : tensor<16x8xf32> into tensor<128xf32>
  %d = tensor.expand_shape %c [[0, 1]] output_shape [8, 16] : tensor<128xf32> into tensor<8x16xf32>
  %s = linalg.generic {indexing_maps = [#id, #v, #id], iterator_types = ["parallel", "parallel"]} ins(%d, %b : tensor<8x16xf32>, tensor<16xf32>) outs(%f : tensor<8x16xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %a = arith.addf %i, %j : f32
    linalg.yield %a : f32
  } -> tensor<8x16xf32>
  return %s : tensor<8x16xf32>
}

// -----

// The op that rounds one result takes another one, and does not read it.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @unread_result(
// CHECK:         %[[Y:.+]] = flashnorm.matmul ins(%arg0, %arg1 : {{.*}}) bias(%arg3 : {{.*}}) {{.*}} -> tensor<8x32xbf16>
// CHECK-NOT:     flashnorm.matmul
// CHECK:         linalg.generic {{.*}} ins(%[[Y]] : tensor<8x32xbf16>)
func.func @unread_result(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %v: tensor<64x32xbf16>, %b: tensor<32xf32>, %e: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %y = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) bias(%b : tensor<32xf32>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %z = flashnorm.matmul ins(%x, %v : tensor<8x64xbf16>, tensor<64x32xbf16>) bias(%b : tensor<32xf32>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %z : tensor<8x32xf32>, tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %t = arith.truncf %i : f32 to bf16
    %u = arith.extf %t : bf16 to f32
    %a = math.sin %u : f32
    linalg.yield %a : f32
  } -> tensor<8x32xf32>
  return %s : tensor<8x32xf32>
}

// -----

// What an op holds dies with it, and with that the second matmul's only reader.
#id = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @unread_region(
// CHECK:         flashnorm.matmul ins(%arg0, %arg1 : {{.*}} -> tensor<8x32xbf16>
// CHECK-NOT:     flashnorm.matmul
// CHECK-NOT:     tensor.generate
// CHECK:         return
func.func @unread_region(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %v: tensor<64x32xbf16>, %b: tensor<32xf32>, %e: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %y = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %z = flashnorm.matmul ins(%x, %v : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #v, #id], iterator_types = ["parallel", "parallel"]} ins(%z, %b : tensor<8x32xf32>, tensor<32xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %a = arith.addf %i, %j : f32
    %c = math.sin %a : f32
    linalg.yield %c : f32
  } -> tensor<8x32xf32>
  %u = tensor.generate {
  ^bb0(%i: index, %j: index):
    %a = tensor.extract %s[%i, %j] : tensor<8x32xf32>
    tensor.yield %a : f32
  } : tensor<8x32xf32>
  %t = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %u : tensor<8x32xf32>, tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %a = arith.truncf %i : f32 to bf16
    %c = arith.extf %a : bf16 to f32
    %d = math.sin %c : f32
    linalg.yield %d : f32
  } -> tensor<8x32xf32>
  return %t : tensor<8x32xf32>
}

// -----

// tosa.identity may change what is known of a type.
// CHECK-LABEL: func @identities(
// CHECK:         %[[Y:.+]] = flashnorm.matmul {{.*}} residual(
// CHECK:         tosa.identity
// CHECK-NOT:     unrealized_conversion_cast
func.func @identities(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<?x32xf32>, %e: tensor<?x32xf32>) -> tensor<8x32xf32> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %i = tosa.identity %y : (tensor<?x32xf32>) -> tensor<?x32xf32>
  %s = arith.addf %i, %r : tensor<?x32xf32>
  %j = tosa.identity %s : (tensor<?x32xf32>) -> tensor<8x32xf32>
  return %j : tensor<8x32xf32>
}

// -----

// Upstream has no arith for a cast from f16 to bf16: what follows one stays.
// CHECK-LABEL: func @cast_of_same_width(
// CHECK:         flashnorm.matmul {{.*}} bias(
// CHECK-NEXT:    tosa.cast {{.*}} -> tensor<8x32xbf16>
// CHECK-NEXT:    tosa.add
func.func @cast_of_same_width(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<1x32xf16>, %c: tensor<1x32xbf16>, %e: tensor<8x32xf16>) -> tensor<8x32xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<8x32xf16>) -> tensor<8x32xf16>
  %s = tosa.add %y, %b : (tensor<8x32xf16>, tensor<1x32xf16>) -> tensor<8x32xf16>
  %i = tosa.cast %s : (tensor<8x32xf16>) -> tensor<8x32xbf16>
  %t = tosa.add %i, %c : (tensor<8x32xbf16>, tensor<1x32xbf16>) -> tensor<8x32xbf16>
  return %t : tensor<8x32xbf16>
}

// -----

// The type of a result states its sizes, whatever output_shape states.
// CHECK-LABEL: func @wrong_output_shape(
// CHECK:         %[[Y:.+]] = flashnorm.matmul {{.*}} bias(
// CHECK-NEXT:    return %[[Y]]
func.func @wrong_output_shape(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<32xf32>, %e: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %y = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %c = tensor.collapse_shape %y [[0, 1]] : tensor<8x32xf32> into tensor<256xf32>
  %s = tensor.expand_shape %c [[0, 1]] output_shape [9, 32] : tensor<256xf32> into tensor<8x32xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<32xf32>) outs(%s : tensor<8x32xf32>) {
  ^bb0(%i: f32, %o: f32):
    %a = arith.addf %o, %i : f32
    linalg.yield %a : f32
  } -> tensor<8x32xf32>
  return %t : tensor<8x32xf32>
}

// -----

// In code that is never reached, values may depend on themselves.
// CHECK-LABEL: func @never_reached(
func.func private @use(tensor<?x8xf32>)
func.func @never_reached(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %y = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
^bb1:
  %c0 = arith.constant 0 : index
  %a = linalg.exp ins(%a : tensor<?x8xf32>) outs(%a : tensor<?x8xf32>) -> tensor<?x8xf32>
  %d = tensor.dim %a, %c0 : tensor<?x8xf32>
  %f = tensor.empty(%d) : tensor<?x8xf32>
  func.call @use(%f) : (tensor<?x8xf32>) -> ()
  cf.br ^bb1
}
