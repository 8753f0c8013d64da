// RUN: flashnorm-opt %s --flashnorm-fold-norm-weight --split-input-file \
// RUN:   | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-fold-norm-weight --split-input-file \
// RUN:   --remarks-filter-missed="flashnorm-fold-norm-weight" --remark-policy=all -o %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// The caller may pass another norm weight every time.
// REMARK: [Missed] NormWeightKept | {{.*}}Function=norm_weight_not_frozen | {{.*}}weight of flashnorm.rms_norm kept: its weight is neither made of arguments with 'flashnorm.frozen' nor a constant of at most 1 MB
// CHECK-LABEL: func @norm_weight_not_frozen(
// CHECK:         %[[N:.*]] = flashnorm.rms_norm {{.*}} weight(
// CHECK:         flashnorm.matmul ins(%[[N]],
// CHECK-NOT:   _prepare_weights
func.func @norm_weight_not_frozen(
    %x: tensor<2x8xbf16>, %g: tensor<8xbf16>,
    %w: tensor<8x8xbf16> {flashnorm.frozen}) -> tensor<2x8xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<2x8xbf16>) weight(%g : tensor<8xbf16>)
      outs(%x : tensor<2x8xbf16>) {eps = 1.000000e-05 : f64} -> tensor<2x8xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<2x8xbf16>, tensor<8x8xbf16>)
      outs(%x : tensor<2x8xbf16>) -> tensor<2x8xbf16>
  return %y : tensor<2x8xbf16>
}

// -----

// One of two matmuls has a weight that changes: neither is touched.
// REMARK: Function=matmul_weight_not_frozen | {{.*}}kept: the weight of a matmul after it is neither made of arguments with 'flashnorm.frozen' nor a constant
// CHECK-LABEL: func @matmul_weight_not_frozen(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x8xbf16>, %[[G:[^:]*]]: tensor<8xbf16> {flashnorm.frozen}, %[[W0:[^:]*]]: tensor<8x8xbf16> {flashnorm.frozen}, %[[W1:[^:]*]]: tensor<8x8xbf16>) ->
// CHECK:         %[[N:.*]] = flashnorm.rms_norm {{.*}} weight(%[[G]]
// CHECK:         flashnorm.matmul ins(%[[N]], %[[W0]] :
// CHECK:         flashnorm.matmul ins(%[[N]], %[[W1]] :
func.func @matmul_weight_not_frozen(
    %x: tensor<2x8xbf16>, %g: tensor<8xbf16> {flashnorm.frozen},
    %w0: tensor<8x8xbf16> {flashnorm.frozen}, %w1: tensor<8x8xbf16>)
    -> (tensor<2x8xbf16>, tensor<2x8xbf16>) {
  %n = flashnorm.rms_norm ins(%x : tensor<2x8xbf16>) weight(%g : tensor<8xbf16>)
      outs(%x : tensor<2x8xbf16>) {eps = 1.000000e-05 : f64} -> tensor<2x8xbf16>
  %y = flashnorm.matmul ins(%n, %w0 : tensor<2x8xbf16>, tensor<8x8xbf16>)
      outs(%x : tensor<2x8xbf16>) -> tensor<2x8xbf16>
  %z = flashnorm.matmul ins(%n, %w1 : tensor<2x8xbf16>, tensor<8x8xbf16>)
      outs(%x : tensor<2x8xbf16>) -> tensor<2x8xbf16>
  return %y, %z : tensor<2x8xbf16>, tensor<2x8xbf16>
}

// -----

// The weighted value is a residual of a matmul as well.
// REMARK: Function=value_needed | {{.*}}kept: 'flashnorm.matmul' needs the normalised value
// CHECK-LABEL: func @value_needed(
// CHECK:         %[[N:.*]] = flashnorm.rms_norm {{.*}} weight(
// CHECK:         flashnorm.matmul ins(%[[N]], {{.*}} residual(%[[N]] :
func.func @value_needed(
    %x: tensor<2x8xbf16>, %g: tensor<8xbf16> {flashnorm.frozen},
    %w: tensor<8x8xbf16> {flashnorm.frozen}) -> tensor<2x8xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<2x8xbf16>) weight(%g : tensor<8xbf16>)
      outs(%x : tensor<2x8xbf16>) {eps = 1.000000e-05 : f64} -> tensor<2x8xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<2x8xbf16>, tensor<8x8xbf16>)
      residual(%n : tensor<2x8xbf16>) outs(%x : tensor<2x8xbf16>)
      -> tensor<2x8xbf16>
  return %y : tensor<2x8xbf16>
}

// -----

// The matmul normalises its input once more: diag(g) does not pass through.
// REMARK: Function=second_norm | {{.*}}kept: a matmul after it has a norm before it already
// CHECK-LABEL: func @second_norm(
// CHECK:         %[[N:.*]] = flashnorm.rms_norm {{.*}} weight(
// CHECK:         flashnorm.matmul ins(%[[N]], {{.*}}pre_norm
func.func @second_norm(
    %x: tensor<2x8xbf16>, %g: tensor<8xbf16> {flashnorm.frozen},
    %w: tensor<8x8xbf16> {flashnorm.frozen}) -> tensor<2x8xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<2x8xbf16>) weight(%g : tensor<8xbf16>)
      outs(%x : tensor<2x8xbf16>) {eps = 1.000000e-05 : f64} -> tensor<2x8xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<2x8xbf16>, tensor<8x8xbf16>)
      outs(%x : tensor<2x8xbf16>)
      {pre_norm = #flashnorm.norm<rms, eps = 1.000000e-05>} -> tensor<2x8xbf16>
  return %y : tensor<2x8xbf16>
}

// -----

// A call in the module passes the old arguments.
// REMARK: Function=called | {{.*}}kept: @called, whose arguments would change, is used in the module
// CHECK-LABEL: func @called(
// CHECK:         flashnorm.rms_norm {{.*}} weight(
// CHECK-LABEL: func @caller(
// CHECK-NOT:   _prepare_weights
func.func @called(
    %x: tensor<2x8xbf16>, %g: tensor<8xbf16> {flashnorm.frozen},
    %w: tensor<8x8xbf16> {flashnorm.frozen}) -> tensor<2x8xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<2x8xbf16>) weight(%g : tensor<8xbf16>)
      outs(%x : tensor<2x8xbf16>) {eps = 1.000000e-05 : f64} -> tensor<2x8xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<2x8xbf16>, tensor<8x8xbf16>)
      outs(%x : tensor<2x8xbf16>) -> tensor<2x8xbf16>
  return %y : tensor<2x8xbf16>
}
func.func @caller(
    %x: tensor<2x8xbf16>, %g: tensor<8xbf16>, %w: tensor<8x8xbf16>)
    -> tensor<2x8xbf16> {
  %y = call @called(%x, %g, %w) : (tensor<2x8xbf16>, tensor<8xbf16>,
                                   tensor<8x8xbf16>) -> tensor<2x8xbf16>
  return %y : tensor<2x8xbf16>
}

// -----

// The prepare function has no body that could be extended.
// REMARK: Function=prepare_function_gone | {{.*}}kept: @gone is not a function with one block
// CHECK-LABEL: func @prepare_function_gone(
// CHECK:         flashnorm.rms_norm {{.*}} weight(
func.func @prepare_function_gone(
    %x: tensor<2x8xbf16>, %g: tensor<8xbf16> {flashnorm.frozen},
    %w: tensor<8x8xbf16> {flashnorm.frozen}) -> tensor<2x8xbf16>
    attributes {flashnorm.prepare_weights = @gone} {
  %n = flashnorm.rms_norm ins(%x : tensor<2x8xbf16>) weight(%g : tensor<8xbf16>)
      outs(%x : tensor<2x8xbf16>) {eps = 1.000000e-05 : f64} -> tensor<2x8xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<2x8xbf16>, tensor<8x8xbf16>)
      outs(%x : tensor<2x8xbf16>) -> tensor<2x8xbf16>
  return %y : tensor<2x8xbf16>
}
func.func private @gone()

// -----

// Whoever calls the prepare function expects the results that it has.
// REMARK: Function=prepare_function_called | {{.*}}kept: @prepare, which would get further results, is used elsewhere in the module
// CHECK-LABEL: func @prepare_function_called(
// CHECK:         flashnorm.rms_norm {{.*}} weight(
// CHECK-LABEL: func @prepare(
// CHECK-SAME:    -> tensor<4x8xf32> {
func.func @prepare_function_called(
    %x: tensor<2x4xf32>, %g: tensor<4xf32> {flashnorm.frozen},
    %w0: tensor<4x8xf32> {flashnorm.frozen},
    %w1: tensor<4x8xf32> {flashnorm.frozen}, %init: tensor<2x8xf32>,
    %p: tensor<4x8xf32> {flashnorm.prepared = 0 : i64}) -> tensor<2x8xf32>
    attributes {flashnorm.prepare_weights = @prepare} {
  %n = flashnorm.rms_norm ins(%x : tensor<2x4xf32>) weight(%g : tensor<4xf32>)
      outs(%x : tensor<2x4xf32>) {eps = 1.000000e-05 : f64} -> tensor<2x4xf32>
  %y = flashnorm.matmul ins(%n, %w1 : tensor<2x4xf32>, tensor<4x8xf32>)
      outs(%init : tensor<2x8xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}
func.func @prepare(%w0: tensor<4x8xf32> {flashnorm.source = 2 : i64})
    -> tensor<4x8xf32> {
  return %w0 : tensor<4x8xf32>
}
func.func @caller_of_prepare(%w0: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %p = call @prepare(%w0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %p : tensor<4x8xf32>
}

// -----

// Two functions share their prepared weights.
// REMARK: Function=prepare_function_shared | {{.*}}kept: @prepare, which would get further results, is used elsewhere in the module
// REMARK: Function=prepare_function_shared_too | {{.*}}kept: @prepare, which would get further results, is used elsewhere in the module
// CHECK-LABEL: func @prepare_function_shared(
// CHECK:         flashnorm.rms_norm {{.*}} weight(
// CHECK-LABEL: func @prepare_function_shared_too(
// CHECK:         flashnorm.rms_norm {{.*}} weight(
// CHECK-LABEL: func @prepare(
// CHECK-SAME:    -> tensor<4x8xf32> {
func.func @prepare_function_shared(
    %x: tensor<2x4xf32>, %g: tensor<4xf32> {flashnorm.frozen},
    %w0: tensor<4x8xf32> {flashnorm.frozen},
    %w1: tensor<4x8xf32> {flashnorm.frozen}, %init: tensor<2x8xf32>,
    %p: tensor<4x8xf32> {flashnorm.prepared = 0 : i64}) -> tensor<2x8xf32>
    attributes {flashnorm.prepare_weights = @prepare} {
  %n = flashnorm.rms_norm ins(%x : tensor<2x4xf32>) weight(%g : tensor<4xf32>)
      outs(%x : tensor<2x4xf32>) {eps = 1.000000e-05 : f64} -> tensor<2x4xf32>
  %y = flashnorm.matmul ins(%n, %w1 : tensor<2x4xf32>, tensor<4x8xf32>)
      outs(%init : tensor<2x8xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}
func.func @prepare_function_shared_too(
    %x: tensor<2x4xf32>, %g: tensor<4xf32> {flashnorm.frozen},
    %w0: tensor<4x8xf32> {flashnorm.frozen},
    %w1: tensor<4x8xf32> {flashnorm.frozen}, %init: tensor<2x8xf32>,
    %p: tensor<4x8xf32> {flashnorm.prepared = 0 : i64}) -> tensor<2x8xf32>
    attributes {flashnorm.prepare_weights = @prepare} {
  %n = flashnorm.rms_norm ins(%x : tensor<2x4xf32>) weight(%g : tensor<4xf32>)
      outs(%x : tensor<2x4xf32>) {eps = 1.000000e-05 : f64} -> tensor<2x4xf32>
  %y = flashnorm.matmul ins(%n, %w1 : tensor<2x4xf32>, tensor<4x8xf32>)
      outs(%init : tensor<2x8xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}
func.func @prepare(%w0: tensor<4x8xf32> {flashnorm.source = 2 : i64})
    -> tensor<4x8xf32> {
  return %w0 : tensor<4x8xf32>
}

// -----

// A resource is never folded into the IR.
// REMARK: Function=resource | {{.*}}kept: the weight of a matmul after it is neither
// CHECK-LABEL: func @resource(
// CHECK:         flashnorm.rms_norm {{.*}} weight(
func.func @resource(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %g = arith.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %w = arith.constant dense_resource<w> : tensor<2x2xf32>
  %n = flashnorm.rms_norm ins(%x : tensor<2x2xf32>) weight(%g : tensor<2xf32>)
      outs(%x : tensor<2x2xf32>) {eps = 1.000000e-05 : f64} -> tensor<2x2xf32>
  %y = flashnorm.matmul ins(%n, %w : tensor<2x2xf32>, tensor<2x2xf32>)
      outs(%x : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

{-#
  dialect_resources: {
    builtin: {
      w: "0x040000000000803F0000803F0000803F0000803F"
    }
  }
#-}

// -----

// 300 * 300 is finite in f32 but not in f16.
// REMARK: Function=f16_weight | {{.*}}kept: weight times W may overflow or underflow in f16
// CHECK-LABEL: func @f16_weight(
// CHECK:         %[[N:.*]] = flashnorm.rms_norm {{.*}} weight(
// CHECK:         flashnorm.matmul ins(%[[N]],
// CHECK-NOT:   _prepare_weights
func.func @f16_weight(
    %x: tensor<2x8xf16>, %g: tensor<8xf16> {flashnorm.frozen},
    %w: tensor<8x8xf16> {flashnorm.frozen}) -> tensor<2x8xf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<2x8xf16>) weight(%g : tensor<8xf16>)
      outs(%x : tensor<2x8xf16>) {eps = 1.000000e-05 : f64} -> tensor<2x8xf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<2x8xf16>, tensor<8x8xf16>)
      outs(%x : tensor<2x8xf16>) -> tensor<2x8xf16>
  return %y : tensor<2x8xf16>
}

// -----

// Products with 1.5 are often ties: rounding W again would cost accuracy.
// REMARK: Function=all_threes | {{.*}}kept: 75% of its weight are 1.5 times a power of two, whose products with W are often ties: predicted error 1.054 times the original's, at most 1.05 is accepted
// CHECK-LABEL: func @all_threes(
// CHECK:         %[[N:.*]] = flashnorm.rms_norm {{.*}} weight(
// CHECK:         flashnorm.matmul ins(%[[N]],
// CHECK-NOT:   _prepare_weights
func.func @all_threes(%x: tensor<2x4xbf16>,
    %w: tensor<4x4xbf16> {flashnorm.frozen}) -> tensor<2x4xbf16> {
  %g = arith.constant dense<[1.5, -3.0, 0.75, 0.0]> : tensor<4xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<2x4xbf16>) weight(%g : tensor<4xbf16>)
      outs(%x : tensor<2x4xbf16>) {eps = 1.000000e-05 : f64} -> tensor<2x4xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<2x4xbf16>, tensor<4x4xbf16>)
      outs(%x : tensor<2x4xbf16>) -> tensor<2x4xbf16>
  return %y : tensor<2x4xbf16>
}

// -----

// Without the rounding of a bf16 result beside it, half of them is too much.
// REMARK: Function=half_threes_f32_result | {{.*}}kept: 50% of its weight are 1.5 times a power of two, {{.*}} predicted error 1.079 times
// CHECK-LABEL: func @half_threes_f32_result(
// CHECK:         flashnorm.rms_norm {{.*}} weight(
// CHECK-NOT:   _prepare_weights
func.func @half_threes_f32_result(%x: tensor<2x4xbf16>,
    %w: tensor<4x4xbf16> {flashnorm.frozen}, %init: tensor<2x4xf32>)
    -> tensor<2x4xf32> {
  %g = arith.constant dense<[1.5, 1.5, 1.25, 1.25]> : tensor<4xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<2x4xbf16>) weight(%g : tensor<4xbf16>)
      outs(%x : tensor<2x4xbf16>) {eps = 1.000000e-05 : f64} -> tensor<2x4xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<2x4xbf16>, tensor<4x4xbf16>)
      outs(%init : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// Few products: their rounding errors do not average out.
// REMARK: Function=few_products | {{.*}}kept: W has 16 x 16 elements, fewer than 1024: their rounding errors would not average out
// CHECK-LABEL: func @few_products(
// CHECK:         flashnorm.rms_norm {{.*}} weight(
func.func @few_products(
    %x: tensor<2x16xbf16>, %g: tensor<16xbf16> {flashnorm.frozen},
    %w: tensor<16x16xbf16> {flashnorm.frozen}) -> tensor<2x16xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<2x16xbf16>) weight(%g : tensor<16xbf16>)
      outs(%x : tensor<2x16xbf16>) {eps = 1.000000e-05 : f64} -> tensor<2x16xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<2x16xbf16>, tensor<16x16xbf16>)
      outs(%x : tensor<2x16xbf16>) -> tensor<2x16xbf16>
  return %y : tensor<2x16xbf16>
}

// -----

// A small K in front of another norm.
// REMARK: Function=small_k_post_norm | {{.*}}kept: K = 32 in front of another norm, less than 64: its rounding errors would not average out
// CHECK-LABEL: func @small_k_post_norm(
// CHECK:         flashnorm.rms_norm {{.*}} weight(
func.func @small_k_post_norm(
    %x: tensor<2x32xbf16>, %g: tensor<32xbf16> {flashnorm.frozen},
    %w: tensor<32x64xbf16> {flashnorm.frozen}, %init: tensor<2x64xbf16>)
    -> tensor<2x64xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<2x32xbf16>) weight(%g : tensor<32xbf16>)
      outs(%x : tensor<2x32xbf16>) {eps = 1.000000e-05 : f64} -> tensor<2x32xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<2x32xbf16>, tensor<32x64xbf16>)
      outs(%init : tensor<2x64xbf16>)
      {post_norm = #flashnorm.norm<layer, eps = 1.000000e-05>} -> tensor<2x64xbf16>
  return %y : tensor<2x64xbf16>
}

// -----

// Constants whose product is infinite.
// REMARK: Function=product_overflows | {{.*}}kept: weight times W leaves the range of W's type
// CHECK-LABEL: func @product_overflows(
// CHECK:         flashnorm.rms_norm {{.*}} weight(
func.func @product_overflows(%x: tensor<2x2xbf16>) -> tensor<2x2xbf16> {
  %g = arith.constant dense<[1.0, 1.0e30]> : tensor<2xbf16>
  %w = arith.constant dense<1.0e10> : tensor<2x2xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<2x2xbf16>) weight(%g : tensor<2xbf16>)
      outs(%x : tensor<2x2xbf16>) {eps = 1.000000e-05 : f64} -> tensor<2x2xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<2x2xbf16>, tensor<2x2xbf16>)
      outs(%x : tensor<2x2xbf16>) -> tensor<2x2xbf16>
  return %y : tensor<2x2xbf16>
}

// -----

// Constants whose products all lie nearly half an ulp off: 255/128 times 1, and
// 1.5 ulp of a factor of few bits. What rounding does is computed.
// REMARK: Function=few_values | {{.*}}kept: rounding weight times W makes the error {{1\.[3-9].*}} times the original's, at most 1.05 is accepted
// CHECK-LABEL: func @few_values(
// CHECK:         flashnorm.rms_norm {{.*}} weight(
func.func @few_values(%x: tensor<2x64xbf16>) -> tensor<2x64xbf16> {
  %g = arith.constant dense<1.9921875> : tensor<64xbf16>
  %w = arith.constant dense<1.0078125> : tensor<64x64xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<2x64xbf16>) weight(%g : tensor<64xbf16>)
      outs(%x : tensor<2x64xbf16>) {eps = 1.000000e-05 : f64} -> tensor<2x64xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<2x64xbf16>, tensor<64x64xbf16>)
      outs(%x : tensor<2x64xbf16>) -> tensor<2x64xbf16>
  return %y : tensor<2x64xbf16>
}

// -----

// A splat of 2^60 elements is no small constant, though 2^64 bytes are 0 in 64
// bits.
// REMARK: Function=huge_splat | {{.*}}kept: the weight of a matmul after it is neither made of arguments with 'flashnorm.frozen' nor a constant of at most 1 MB
// CHECK-LABEL: func @huge_splat(
// CHECK:         flashnorm.rms_norm {{.*}} weight(
func.func @huge_splat(%x: tensor<2x8xbf16>, %i: tensor<2x144115188075855872xbf16>)
    -> tensor<2x144115188075855872xbf16> {
  %g = arith.constant dense<2.0> : tensor<8xbf16>
  %w = arith.constant dense<2.0> : tensor<8x144115188075855872xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<2x8xbf16>) weight(%g : tensor<8xbf16>)
      outs(%x : tensor<2x8xbf16>) {eps = 1.000000e-05 : f64} -> tensor<2x8xbf16>
  %y = flashnorm.matmul
      ins(%n, %w : tensor<2x8xbf16>, tensor<8x144115188075855872xbf16>)
      outs(%i : tensor<2x144115188075855872xbf16>) -> tensor<2x144115188075855872xbf16>
  return %y : tensor<2x144115188075855872xbf16>
}

// -----

// Nor is one of 2^63, which 64 bits hold as a negative number only.
// CHECK-LABEL: func @huge_splat_negative(
// CHECK:         flashnorm.rms_norm {{.*}} weight(
func.func @huge_splat_negative(%x: tensor<2x64xbf16>, %i: tensor<2x144115188075855872xbf16>)
    -> tensor<2x144115188075855872xbf16> {
  %g = arith.constant dense<2.0> : tensor<64xbf16>
  %w = arith.constant dense<2.0> : tensor<64x144115188075855872xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<2x64xbf16>) weight(%g : tensor<64xbf16>)
      outs(%x : tensor<2x64xbf16>) {eps = 1.000000e-05 : f64} -> tensor<2x64xbf16>
  %y = flashnorm.matmul
      ins(%n, %w : tensor<2x64xbf16>, tensor<64x144115188075855872xbf16>)
      outs(%i : tensor<2x144115188075855872xbf16>) -> tensor<2x144115188075855872xbf16>
  return %y : tensor<2x144115188075855872xbf16>
}

// -----

// What stands in a module inside a function is not the function's.
// CHECK-LABEL: func @outer(
// CHECK-NEXT:    builtin.module {
// CHECK:           flashnorm.rms_norm {{.*}} weight(
func.func @outer() {
  builtin.module {
    func.func @inner(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %g = arith.constant dense<2.0> : tensor<2xf32>
      %w = arith.constant dense<2.0> : tensor<2x2xf32>
      %n = flashnorm.rms_norm ins(%x : tensor<2x2xf32>) weight(%g : tensor<2xf32>)
          outs(%x : tensor<2x2xf32>) {eps = 1.000000e-05 : f64} -> tensor<2x2xf32>
      %y = flashnorm.matmul ins(%n, %w : tensor<2x2xf32>, tensor<2x2xf32>)
          outs(%x : tensor<2x2xf32>) -> tensor<2x2xf32>
      return %y : tensor<2x2xf32>
    }
  }
  return
}

// -----

// A prepare function that never returns cannot return more.
// REMARK: Function=prepared_by_unreachable | {{.*}}kept: @unreachable is not a function with one block that ends in func.return
// CHECK-LABEL: func @prepared_by_unreachable(
// CHECK:         flashnorm.rms_norm {{.*}} weight(
func.func @prepared_by_unreachable(
    %x: tensor<2x64xbf16>, %g: tensor<64xbf16> {flashnorm.frozen},
    %w: tensor<64x64xbf16> {flashnorm.frozen}) -> tensor<2x64xbf16>
    attributes {flashnorm.prepare_weights = @unreachable} {
  %n = flashnorm.rms_norm ins(%x : tensor<2x64xbf16>) weight(%g : tensor<64xbf16>)
      outs(%x : tensor<2x64xbf16>) {eps = 1.000000e-05 : f64} -> tensor<2x64xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<2x64xbf16>, tensor<64x64xbf16>)
      outs(%x : tensor<2x64xbf16>) -> tensor<2x64xbf16>
  return %y : tensor<2x64xbf16>
}
func.func @unreachable() {
  ub.unreachable
}

// -----

// The weight is computed from one argument that is frozen and one that is not.
// REMARK: Function=computed_from_any | {{.*}}kept: its weight is neither made of arguments with 'flashnorm.frozen' nor a constant
// CHECK-LABEL: func @computed_from_any(
// CHECK:         flashnorm.rms_norm {{.*}} weight(
// CHECK-NOT:   _prepare_weights
func.func @computed_from_any(
    %x: tensor<2x8xbf16>, %g: tensor<8xbf16> {flashnorm.frozen}, %h: tensor<8xbf16>,
    %w: tensor<8x8xbf16> {flashnorm.frozen}) -> tensor<2x8xbf16> {
  %gh = arith.addf %g, %h : tensor<8xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<2x8xbf16>) weight(%gh : tensor<8xbf16>)
      outs(%x : tensor<2x8xbf16>) {eps = 1.000000e-05 : f64} -> tensor<2x8xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<2x8xbf16>, tensor<8x8xbf16>)
      outs(%x : tensor<2x8xbf16>) -> tensor<2x8xbf16>
  return %y : tensor<2x8xbf16>
}

// -----

// A call may do more than compute.
// REMARK: Function=computed_by_call | {{.*}}kept: its weight is neither made of arguments with 'flashnorm.frozen' nor a constant
// CHECK-LABEL: func @computed_by_call(
// CHECK:         flashnorm.rms_norm {{.*}} weight(
// CHECK-NOT:   _prepare_weights
func.func private @counted(tensor<8xbf16>) -> tensor<8xbf16>
func.func @computed_by_call(
    %x: tensor<2x8xbf16>, %g: tensor<8xbf16> {flashnorm.frozen},
    %w: tensor<8x8xbf16> {flashnorm.frozen}) -> tensor<2x8xbf16> {
  %g1 = func.call @counted(%g) : (tensor<8xbf16>) -> tensor<8xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<2x8xbf16>) weight(%g1 : tensor<8xbf16>)
      outs(%x : tensor<2x8xbf16>) {eps = 1.000000e-05 : f64} -> tensor<2x8xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<2x8xbf16>, tensor<8x8xbf16>)
      outs(%x : tensor<2x8xbf16>) -> tensor<2x8xbf16>
  return %y : tensor<2x8xbf16>
}
