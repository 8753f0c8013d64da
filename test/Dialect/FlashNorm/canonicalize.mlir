// Canonical forms keep every value that an op returns.
// RUN: flashnorm-opt %s --canonicalize | FileCheck %s

// A weight of ones and biases of zeros (of either sign) do nothing; without an
// affine the cast position says nothing.
// CHECK-LABEL: func.func @neutral_operands
// CHECK: flashnorm.rms_norm ins(%{{.*}} : tensor<8x32xbf16>) outs(%{{.*}} : tensor<8x32xbf16>) {eps = 1.000000e-05 : f64} ->
// CHECK: flashnorm.layer_norm ins(%{{.*}} : tensor<8x32xbf16>) outs(%{{.*}} : tensor<8x32xbf16>) {eps = 1.000000e-05 : f64} ->
// CHECK: flashnorm.matmul ins(%{{.*}}, %{{.*}} : tensor<8x32xbf16>, tensor<32x32xbf16>) outs(%{{.*}} : tensor<8x32xbf16>) {post_norm = #flashnorm.norm<layer, eps = 1.000000e-05>} ->
func.func @neutral_operands(%x: tensor<8x32xbf16>, %w: tensor<32x32xbf16>, %init: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %one = arith.constant dense<1.0> : tensor<32xbf16>
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %minus_zero = arith.constant dense<-0.0> : tensor<32xbf16>
  %no_residual = arith.constant dense<0.0> : tensor<8x32xbf16>
  %a = flashnorm.rms_norm ins(%x : tensor<8x32xbf16>) weight(%one : tensor<32xbf16>) outs(%init : tensor<8x32xbf16>) {eps = 1.0e-5 : f64, cast = #flashnorm.cast_position<before_affine>} -> tensor<8x32xbf16>
  %b = flashnorm.layer_norm ins(%a : tensor<8x32xbf16>) weight(%one : tensor<32xbf16>) bias(%zero : tensor<32xf32>) outs(%init : tensor<8x32xbf16>) {eps = 1.0e-5 : f64} -> tensor<8x32xbf16>
  %c = flashnorm.matmul ins(%b, %w : tensor<8x32xbf16>, tensor<32x32xbf16>) bias(%minus_zero : tensor<32xbf16>) residual(%no_residual : tensor<8x32xbf16>) norm_weight(%one : tensor<32xbf16>) norm_bias(%zero : tensor<32xf32>) outs(%init : tensor<8x32xbf16>) {post_norm = #flashnorm.norm<layer, eps = 1.0e-5>} -> tensor<8x32xbf16>
  return %c : tensor<8x32xbf16>
}

// A step that rounds is not neutral; a scale of one is.
// CHECK-LABEL: func.func @rounding_steps
// CHECK: flashnorm.matmul {{.*}} bias({{.*}}) residual({{.*}}) outs({{.*}}) {roundings = #flashnorm.roundings<bias = bf16, residual = f16>} -> tensor<8x32xbf16>
func.func @rounding_steps(%x: tensor<8x32xbf16>, %w: tensor<32x32xbf16>, %init: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %no_residual = arith.constant dense<0.0> : tensor<8x32xbf16>
  %c = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x32xbf16>) bias(%zero : tensor<32xf32>) residual(%no_residual : tensor<8x32xbf16>) output_scale(%one : tensor<f32>) outs(%init : tensor<8x32xbf16>) {roundings = #flashnorm.roundings<bias = bf16, residual = f16>} -> tensor<8x32xbf16>
  return %c : tensor<8x32xbf16>
}

// Neither almost one, nor a vector that is not all ones, nor an argument.
// CHECK-LABEL: func.func @not_neutral
// CHECK: rms_norm {{.*}} weight(
// CHECK: rms_norm {{.*}} weight(
// CHECK: rms_norm {{.*}} weight(%{{.*}}) {{.*}} {cast = #flashnorm.cast_position<before_affine>
func.func @not_neutral(%x: tensor<8x2xbf16>, %w: tensor<2xbf16>, %init: tensor<8x2xbf16>) -> tensor<8x2xbf16> {
  %near_one = arith.constant dense<1.0000001> : tensor<2xf32>
  %one_two = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %a = flashnorm.rms_norm ins(%x : tensor<8x2xbf16>) weight(%near_one : tensor<2xf32>) outs(%init : tensor<8x2xbf16>) {eps = 1.0e-5 : f64} -> tensor<8x2xbf16>
  %b = flashnorm.rms_norm ins(%a : tensor<8x2xbf16>) weight(%one_two : tensor<2xf32>) outs(%init : tensor<8x2xbf16>) {eps = 1.0e-5 : f64} -> tensor<8x2xbf16>
  %c = flashnorm.rms_norm ins(%b : tensor<8x2xbf16>) weight(%w : tensor<2xbf16>) outs(%init : tensor<8x2xbf16>) {eps = 1.0e-5 : f64, cast = #flashnorm.cast_position<before_affine>} -> tensor<8x2xbf16>
  return %c : tensor<8x2xbf16>
}

// Statistics and sums that nobody reads are not computed.
// CHECK-LABEL: func.func @unused_results
// CHECK: flashnorm.layer_norm ins({{.*}}) outs(%{{[^,]*}} : tensor<8x32xbf16>) {eps = 1.000000e-05 : f64, note = "kept"} -> tensor<8x32xbf16>
// CHECK: flashnorm.matmul ins({{.*}}) outs(%{{[^,]*}} : tensor<8x32xbf16>) {transpose_weight} -> tensor<8x32xbf16>
func.func @unused_results(%x: tensor<8x32xbf16>, %w: tensor<32x32xbf16>, %init: tensor<8x32xbf16>, %s: tensor<8xf32>) -> tensor<8x32xbf16> {
  %y:3 = flashnorm.layer_norm ins(%x : tensor<8x32xbf16>) outs(%init, %s, %s : tensor<8x32xbf16>, tensor<8xf32>, tensor<8xf32>) {eps = 1.0e-5 : f64, note = "kept"} -> tensor<8x32xbf16>, tensor<8xf32>, tensor<8xf32>
  %z:2 = flashnorm.matmul ins(%y#0, %w : tensor<8x32xbf16>, tensor<32x32xbf16>) outs(%init, %init : tensor<8x32xbf16>, tensor<8x32xbf16>) {transpose_weight} -> tensor<8x32xbf16>, tensor<8x32xbf16>
  return %z#0 : tensor<8x32xbf16>
}

// Each of the results of a matmul goes by itself, with what asked for it; a mean
// goes without the root.
// CHECK-LABEL: func.func @unused_statistics
// CHECK: flashnorm.matmul ins({{.*}}) outs(%{{[^,]*}}, %{{[^,]*}} : tensor<8x32xbf16>, tensor<8xf32>) {statistics = #flashnorm.norm<rms, eps = 1.000000e-05>} -> tensor<8x32xbf16>, tensor<8xf32>
// CHECK: flashnorm.matmul ins({{.*}}) outs(%{{[^,]*}}, %{{[^,]*}} : tensor<8x32xbf16>, tensor<8x32xf32>) -> tensor<8x32xbf16>, tensor<8x32xf32>
// CHECK: flashnorm.row_statistics ins({{.*}}) outs(%{{[^,]*}} : tensor<8xf32>) {norm = #flashnorm.norm<layer, eps = 1.000000e-05>} -> tensor<8xf32>
// CHECK-NOT: flashnorm
func.func @unused_statistics(%x: tensor<8x32xbf16>, %w: tensor<32x32xbf16>, %init: tensor<8x32xbf16>, %wide: tensor<8x32xf32>, %s: tensor<8xf32>) -> (tensor<8x32xbf16>, tensor<8xf32>, tensor<8x32xbf16>, tensor<8x32xf32>, tensor<8xf32>) {
  %a:3 = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x32xbf16>) outs(%init, %wide, %s : tensor<8x32xbf16>, tensor<8x32xf32>, tensor<8xf32>) {statistics = #flashnorm.norm<rms, eps = 1.0e-5>} -> tensor<8x32xbf16>, tensor<8x32xf32>, tensor<8xf32>
  %b:3 = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x32xbf16>) outs(%init, %wide, %s : tensor<8x32xbf16>, tensor<8x32xf32>, tensor<8xf32>) {statistics = #flashnorm.norm<rms, eps = 1.0e-5>} -> tensor<8x32xbf16>, tensor<8x32xf32>, tensor<8xf32>
  %c:2 = flashnorm.row_statistics ins(%x : tensor<8x32xbf16>) outs(%s, %s : tensor<8xf32>, tensor<8xf32>) {norm = #flashnorm.norm<layer, eps = 1.0e-5>} -> tensor<8xf32>, tensor<8xf32>
  %d:2 = flashnorm.row_statistics ins(%x : tensor<8x32xbf16>) outs(%s, %s : tensor<8xf32>, tensor<8xf32>) {norm = #flashnorm.norm<layer, eps = 1.0e-5>} -> tensor<8xf32>, tensor<8xf32>
  return %a#0, %a#2, %b#0, %b#1, %c#1 : tensor<8x32xbf16>, tensor<8xf32>, tensor<8x32xbf16>, tensor<8x32xf32>, tensor<8xf32>
}

// Rows scaled by 1, a mean times 0.
// CHECK-LABEL: func.func @neutral_scales
// CHECK: flashnorm.matmul ins(%{{.*}}, %{{.*}} : tensor<8x32xbf16>, tensor<32x32xbf16>) outs(%{{.*}} : tensor<8x32xbf16>) ->
// CHECK: flashnorm.matmul ins(%{{.*}}, %{{.*}} : tensor<8x32xbf16>, tensor<32x32xbf16>) outs(%{{.*}} : tensor<8x32xbf16>) {pre_norm
func.func @neutral_scales(%x: tensor<8x32xbf16>, %w: tensor<32x32xbf16>, %init: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %a = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x32xbf16>) row_scale(%one : tensor<8xf32>) outs(%init : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  %b = flashnorm.matmul ins(%a, %w : tensor<8x32xbf16>, tensor<32x32xbf16>) column_sums(%zero : tensor<32xf32>) outs(%init : tensor<8x32xbf16>) {pre_norm = #flashnorm.norm<layer, eps = 1.0e-5>} -> tensor<8x32xbf16>
  return %b : tensor<8x32xbf16>
}

// The size of a row scale is that of the result.
// CHECK-LABEL: func.func @row_scale_size
// CHECK: flashnorm.matmul {{.*}} -> tensor<8x32xbf16>, tensor<8xf32>
func.func @row_scale_size(%x: tensor<?x32xbf16>, %w: tensor<32x32xbf16>, %r: tensor<8xf32>, %init: tensor<?x32xbf16>, %s: tensor<?xf32>) -> (tensor<?x32xbf16>, tensor<?xf32>) {
  %a:2 = flashnorm.matmul ins(%x, %w : tensor<?x32xbf16>, tensor<32x32xbf16>) row_scale(%r : tensor<8xf32>) outs(%init, %s : tensor<?x32xbf16>, tensor<?xf32>) {statistics = #flashnorm.norm<rms, eps = 1.0e-5>} -> tensor<?x32xbf16>, tensor<?xf32>
  return %a#0, %a#1 : tensor<?x32xbf16>, tensor<?xf32>
}

// One statistic that is read keeps the other.
// CHECK-LABEL: func.func @used_results
// CHECK: flashnorm.layer_norm {{.*}} -> tensor<8x32xbf16>, tensor<8xf32>, tensor<8xf32>
func.func @used_results(%x: tensor<8x32xbf16>, %init: tensor<8x32xbf16>, %s: tensor<8xf32>) -> (tensor<8x32xbf16>, tensor<8xf32>) {
  %y:3 = flashnorm.layer_norm ins(%x : tensor<8x32xbf16>) outs(%init, %s, %s : tensor<8x32xbf16>, tensor<8xf32>, tensor<8xf32>) {eps = 1.0e-5 : f64} -> tensor<8x32xbf16>, tensor<8xf32>, tensor<8xf32>
  return %y#0, %y#2 : tensor<8x32xbf16>, tensor<8xf32>
}

// CHECK-LABEL: func.func @no_rows
// CHECK-SAME: (%{{.*}}: tensor<0x32xbf16>, %[[INIT:.*]]: tensor<0x32xbf16>)
// CHECK-NEXT: return %[[INIT]]
func.func @no_rows(%x: tensor<0x32xbf16>, %init: tensor<0x32xbf16>) -> tensor<0x32xbf16> {
  %y = flashnorm.rms_norm ins(%x : tensor<0x32xbf16>) outs(%init : tensor<0x32xbf16>) {eps = 1.0e-5 : f64} -> tensor<0x32xbf16>
  return %y : tensor<0x32xbf16>
}

// An init's contents are not read: neither a fill, nor another op that wrote
// there, nor a constant is waited for.
// CHECK-LABEL: func.func @init_producers
// CHECK-SAME: (%[[X:.*]]: tensor<8x32xbf16>, %[[DEST:.*]]: tensor<8x32xbf16>)
// CHECK-NOT: linalg.fill
// CHECK: %[[FIRST:.*]] = flashnorm.rms_norm ins(%[[X]] : {{.*}}) outs(%[[DEST]] :
// CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<8x32xbf16>
// CHECK: flashnorm.rms_norm ins(%[[FIRST]] : {{.*}}) outs(%[[EMPTY]] :
func.func @init_producers(%x: tensor<8x32xbf16>, %dest: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %zero = arith.constant 0.0 : bf16
  %filled = linalg.fill ins(%zero : bf16) outs(%dest : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  %written = flashnorm.rms_norm ins(%x : tensor<8x32xbf16>) outs(%filled : tensor<8x32xbf16>) {eps = 1.0e-5 : f64} -> tensor<8x32xbf16>
  %a = flashnorm.rms_norm ins(%x : tensor<8x32xbf16>) outs(%written : tensor<8x32xbf16>) {eps = 1.0e-6 : f64} -> tensor<8x32xbf16>
  %zeros = arith.constant dense<0.0> : tensor<8x32xbf16>
  %b = flashnorm.rms_norm ins(%a : tensor<8x32xbf16>) outs(%zeros : tensor<8x32xbf16>) {eps = 1.0e-5 : f64} -> tensor<8x32xbf16>
  return %b : tensor<8x32xbf16>
}

// Casts that hide a size are looked through, and the size becomes part of the
// result; here M is known from the input, there from the residual.
// CHECK-LABEL: func.func @casts
// CHECK-DAG: %[[EMPTY:.*]] = tensor.empty() : tensor<8x32xbf16>
// CHECK: %[[Y:.*]] = flashnorm.rms_norm ins(%{{.*}} : tensor<8x32xbf16>) outs(%[[EMPTY]] : tensor<8x32xbf16>)
// CHECK: %[[Z:.*]] = flashnorm.matmul ins(%[[Y]], %{{.*}} : tensor<8x32xbf16>, {{.*}}) residual(%{{.*}} : tensor<8x16xbf16>) {{.*}} -> tensor<8x16xbf16>
// CHECK: %[[CAST:.*]] = tensor.cast %[[Z]] : tensor<8x16xbf16> to tensor<?x16xbf16>
// CHECK: return %[[CAST]]
func.func @casts(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %r: tensor<8x16xbf16>, %init: tensor<?x16xbf16>) -> tensor<?x16xbf16> {
  %c0 = arith.constant 0 : index
  %dyn = tensor.cast %x : tensor<8x32xbf16> to tensor<?x32xbf16>
  %m = tensor.dim %dyn, %c0 : tensor<?x32xbf16>
  %empty = tensor.empty(%m) : tensor<?x32xbf16>
  %y = flashnorm.rms_norm ins(%dyn : tensor<?x32xbf16>) outs(%empty : tensor<?x32xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x32xbf16>
  %z = flashnorm.matmul ins(%y, %w : tensor<?x32xbf16>, tensor<32x16xbf16>) residual(%r : tensor<8x16xbf16>) outs(%init : tensor<?x16xbf16>) -> tensor<?x16xbf16>
  return %z : tensor<?x16xbf16>
}

// The size of a result is the size of its init.
// CHECK-LABEL: func.func @dim_of_result
// CHECK-SAME: (%{{.*}}: tensor<?x32xbf16>, %[[INIT:.*]]: tensor<?x32xbf16>)
// CHECK: tensor.dim %[[INIT]]
func.func @dim_of_result(%x: tensor<?x32xbf16>, %init: tensor<?x32xbf16>) -> index {
  %c0 = arith.constant 0 : index
  %y = flashnorm.rms_norm ins(%x : tensor<?x32xbf16>) outs(%init : tensor<?x32xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x32xbf16>
  %m = tensor.dim %y, %c0 : tensor<?x32xbf16>
  return %m : index
}

// Memrefs have effects and no results: nothing happens to them.
// CHECK-LABEL: func.func @memrefs
// CHECK: flashnorm.layer_norm ins({{.*}}) outs(%{{.*}}, %{{.*}}, %{{.*}} : memref<0x32xbf16>, memref<0xf32>, memref<0xf32>)
func.func @memrefs(%x: memref<0x32xbf16>, %y: memref<0x32xbf16>, %m: memref<0xf32>, %r: memref<0xf32>) {
  flashnorm.layer_norm ins(%x : memref<0x32xbf16>) outs(%y, %m, %r : memref<0x32xbf16>, memref<0xf32>, memref<0xf32>) {eps = 1.0e-5 : f64}
  return
}
