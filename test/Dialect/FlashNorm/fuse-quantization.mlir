// Scale, clamp and cast to fp8 become part of the matmul.
// RUN: flashnorm-opt %s --flashnorm-fuse-quantization --split-input-file --verify-roundtrip | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-fuse-quantization=preserve-rounding --split-input-file | FileCheck %s --check-prefix=PRESERVED
// RUN: flashnorm-opt %s --flashnorm-fuse-quantization --flashnorm-plan --split-input-file --remarks-filter="flashnorm-(fuse-quantization|plan)" --remark-policy=all -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// All of it, from f32; the scale is an argument. The planner has no kernel for it.
#id = affine_map<(d0, d1) -> (d0, d1)>
#one = affine_map<(d0, d1) -> ()>
// REMARK: [Passed] QuantizationFused | {{.*}}Function=per_tensor | {{.*}}scale, clamp to the range of f8E4M3FN, stored as f8E4M3FN
// REMARK: [Missed] MatmulNotPlanned{{.*}}f8E4M3FN has no kernel
// CHECK-LABEL: func @per_tensor(
// CHECK-SAME:    %[[S:[^:]*]]: tensor<f32>, %{{[^:]*}}: tensor<?x32xf32>, %[[O:[^:]*]]: tensor<?x32xf8E4M3FN>
// CHECK-NOT:     linalg.
// CHECK:         %[[Y:.*]] = flashnorm.matmul {{.*}} output_scale(%[[S]] : tensor<f32>) outs(%[[O]] : tensor<?x32xf8E4M3FN>) {saturate = f8E4M3FN} -> tensor<?x32xf8E4M3FN>
// CHECK:         return %[[Y]]
func.func @per_tensor(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %scale: tensor<f32>, %e: tensor<?x32xf32>, %o: tensor<?x32xf8E4M3FN>) -> tensor<?x32xf8E4M3FN> {
  %min = arith.constant -448.0 : f32
  %max = arith.constant 448.0 : f32
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %q = linalg.generic {indexing_maps = [#id, #one, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %scale : tensor<?x32xf32>, tensor<f32>) outs(%o : tensor<?x32xf8E4M3FN>) {
  ^bb0(%i: f32, %s: f32, %out: f8E4M3FN):
    %0 = arith.mulf %i, %s : f32
    %1 = arith.maximumf %0, %min : f32
    %2 = arith.minimumf %1, %max : f32
    %3 = arith.truncf %2 : f32 to f8E4M3FN
    linalg.yield %3 : f8E4M3FN
  } -> tensor<?x32xf8E4M3FN>
  return %q : tensor<?x32xf8E4M3FN>
}

// -----

// The result is bf16 before it is scaled, which is skipped, or kept. The scale is a
// bf16 of a longer tensor's type; the lower bound comes second; f8E5M2.
#id = affine_map<(d0, d1) -> (d0, d1)>
#one = affine_map<(d0, d1) -> (0, 0)>
// CHECK-LABEL: func @from_bf16(
// CHECK:         %[[E:.*]] = tensor.extract %{{.*}}[%{{.*}}, %{{.*}}] : tensor<1x1xbf16>
// CHECK:         %[[F:.*]] = arith.extf %[[E]] : bf16 to f32
// CHECK:         %[[S:.*]] = tensor.from_elements %[[F]] : tensor<f32>
// CHECK:         flashnorm.matmul {{.*}} residual({{.*}}) output_scale(%[[S]] : tensor<f32>) outs({{.*}}) {saturate = f8E5M2} -> tensor<8x32xf8E5M2>
// PRESERVED-LABEL: func @from_bf16(
// PRESERVED:         flashnorm.matmul {{.*}} {roundings = #flashnorm.roundings<residual = bf16>, saturate = f8E5M2} -> tensor<8x32xf8E5M2>
func.func @from_bf16(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<8x32xbf16>, %scale: tensor<1x1xbf16>, %e: tensor<8x32xbf16>, %o: tensor<8x32xf8E5M2>) -> tensor<8x32xf8E5M2> {
  %min = arith.constant -57344.0 : f32
  %max = arith.constant 57344.0 : f32
  %y = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) residual(%r : tensor<8x32xbf16>) outs(%e : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  %q = linalg.generic {indexing_maps = [#id, #one, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %scale : tensor<8x32xbf16>, tensor<1x1xbf16>) outs(%o : tensor<8x32xf8E5M2>) {
  ^bb0(%i: bf16, %s: bf16, %out: f8E5M2):
    %i32 = arith.extf %i : bf16 to f32
    %s32 = arith.extf %s : bf16 to f32
    %0 = arith.mulf %s32, %i32 : f32
    %1 = arith.minimumf %0, %max : f32
    %2 = arith.maximumf %1, %min : f32
    %3 = arith.truncf %2 : f32 to f8E5M2
    linalg.yield %3 : f8E5M2
  } -> tensor<8x32xf8E5M2>
  return %q : tensor<8x32xf8E5M2>
}

// -----

// A constant scale, and no clamp: what is too large becomes NaN. Behind a norm, and
// behind a reshape.
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// REMARK: [Passed] QuantizationFused | {{.*}}Function=behind_a_norm | {{.*}}scale, stored as f8E4M3FN
// CHECK-LABEL: func @behind_a_norm(
// CHECK:         %[[S:.*]] = arith.constant dense<2.500000e-01> : tensor<f32>
// CHECK:         %[[Y:.*]] = flashnorm.matmul {{.*}} output_scale(%[[S]] : tensor<f32>) outs(%{{.*}} : tensor<32x32xf8E4M3FN>) {post_norm = #flashnorm.norm<rms, eps = 1.000000e-05>} -> tensor<32x32xf8E4M3FN>
// CHECK:         tensor.expand_shape %[[Y]] {{.*}} : tensor<32x32xf8E4M3FN> into tensor<4x8x32xf8E4M3FN>
func.func @behind_a_norm(%x: tensor<32x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<32x32xf32>, %o: tensor<4x8x32xf8E4M3FN>) -> tensor<4x8x32xf8E4M3FN> {
  %scale = arith.constant 0.25 : f32
  %y = flashnorm.matmul ins(%x, %w : tensor<32x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<32x32xf32>) {post_norm = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<32x32xf32>
  %y3 = tensor.expand_shape %y [[0, 1], [2]] output_shape [4, 8, 32] : tensor<32x32xf32> into tensor<4x8x32xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%y3 : tensor<4x8x32xf32>) outs(%o : tensor<4x8x32xf8E4M3FN>) {
  ^bb0(%i: f32, %out: f8E4M3FN):
    %0 = arith.mulf %i, %scale : f32
    %3 = arith.truncf %0 : f32 to f8E4M3FN
    linalg.yield %3 : f8E4M3FN
  } -> tensor<4x8x32xf8E4M3FN>
  return %q : tensor<4x8x32xf8E4M3FN>
}

// -----

// A clamp to f16, as T5 has it, and the cast that follows; then only a cast, in
// three ops with a scalar argument.
#id = affine_map<(d0, d1) -> (d0, d1)>
// REMARK: [Passed] QuantizationFused | {{.*}}Function=clamped_f16 | {{.*}}clamp to the range of f16, stored as f16
// REMARK: [Missed] MatmulNotPlanned{{.*}}no kernel scales or clamps its result
// CHECK-LABEL: func @clamped_f16(
// CHECK-NOT:     linalg.
// CHECK:         flashnorm.matmul {{.*}} outs(%{{.*}} : tensor<?x32xf16>) {saturate = f16} -> tensor<?x32xf16>
func.func @clamped_f16(%x: tensor<?x64xf16>, %w: tensor<64x32xf16>, %e: tensor<?x32xf32>, %o: tensor<?x32xf16>) -> tensor<?x32xf16> {
  %min = arith.constant -65504.0 : f32
  %max = arith.constant 65504.0 : f32
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xf16>, tensor<64x32xf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x32xf32>) outs(%o : tensor<?x32xf16>) {
  ^bb0(%i: f32, %out: f16):
    %1 = arith.maximumf %i, %min : f32
    %2 = arith.minimumf %1, %max : f32
    %3 = arith.truncf %2 : f32 to f16
    linalg.yield %3 : f16
  } -> tensor<?x32xf16>
  return %q : tensor<?x32xf16>
}

// CHECK-LABEL: func @scalar_argument(
// CHECK-SAME:    %[[A:[^:]*]]: f32
// CHECK:         %[[S:.*]] = tensor.from_elements %[[A]] : tensor<f32>
// CHECK:         flashnorm.matmul {{.*}} output_scale(%[[S]] : tensor<f32>) outs(%{{.*}} : tensor<?x32xf8E5M2>) -> tensor<?x32xf8E5M2>
func.func @scalar_argument(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %a: f32, %e: tensor<?x32xf32>, %o: tensor<?x32xf8E5M2>) -> tensor<?x32xf8E5M2> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %s = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> ()>, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %a : tensor<?x32xf32>, f32) outs(%e : tensor<?x32xf32>) {
  ^bb0(%i: f32, %b: f32, %out: f32):
    %0 = arith.mulf %i, %b : f32
    linalg.yield %0 : f32
  } -> tensor<?x32xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<?x32xf32>) outs(%o : tensor<?x32xf8E5M2>) {
  ^bb0(%i: f32, %out: f8E5M2):
    %3 = arith.truncf %i : f32 to f8E5M2
    linalg.yield %3 : f8E5M2
  } -> tensor<?x32xf8E5M2>
  return %q : tensor<?x32xf8E5M2>
}

// -----

// The op that casts takes another result, and does not read it.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @unread_result(
// CHECK:         flashnorm.matmul ins(%arg0, %arg1 : {{.*}}) outs({{.*}} : tensor<8x32xf8E4M3FN>)
// CHECK-NOT:     flashnorm.matmul
// CHECK:         return
func.func @unread_result(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %v: tensor<64x32xbf16>, %e: tensor<8x32xf32>, %o: tensor<8x32xf8E4M3FN>) -> tensor<8x32xf8E4M3FN> {
  %y = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %z = flashnorm.matmul ins(%x, %v : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %q = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %z : tensor<8x32xf32>, tensor<8x32xf32>) outs(%o : tensor<8x32xf8E4M3FN>) {
  ^bb0(%i: f32, %j: f32, %out: f8E4M3FN):
    %0 = arith.truncf %i : f32 to f8E4M3FN
    linalg.yield %0 : f8E4M3FN
  } -> tensor<8x32xf8E4M3FN>
  return %q : tensor<8x32xf8E4M3FN>
}

// -----

// Behind a norm; what reads its result, too, is read by nobody.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @dead_reader(
// CHECK:         flashnorm.matmul {{.*}} outs({{.*}} : tensor<8x32xf8E4M3FN>) {post_norm
// CHECK-NOT:     linalg.generic
// CHECK:         return
func.func @dead_reader(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<8x32xf32>, %o: tensor<8x32xf8E4M3FN>) -> tensor<8x32xf8E4M3FN> {
  %y = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<8x32xf32>) {post_norm = #flashnorm.norm<rms, eps = 1.0e-5>} -> tensor<8x32xf32>
  %dead = linalg.exp ins(%y : tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<8x32xf32>) outs(%o : tensor<8x32xf8E4M3FN>) {
  ^bb0(%i: f32, %out: f8E4M3FN):
    %0 = arith.truncf %i : f32 to f8E4M3FN
    linalg.yield %0 : f8E4M3FN
  } -> tensor<8x32xf8E4M3FN>
  return %q : tensor<8x32xf8E4M3FN>
}
