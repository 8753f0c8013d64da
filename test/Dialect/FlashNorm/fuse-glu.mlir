// Gates and values become one matmul.
// RUN: flashnorm-opt %s --flashnorm-fuse-epilogues --flashnorm-fuse-glu --split-input-file --verify-roundtrip | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-fuse-epilogues=preserve-rounding --flashnorm-fuse-glu="layout=interleaved preserve-rounding" --split-input-file | FileCheck %s --check-prefix=INTERLEAVED
// RUN: flashnorm-opt %s --flashnorm-fuse-epilogues --flashnorm-fuse-glu --flashnorm-plan --split-input-file --remarks-filter="flashnorm-(fuse-glu|plan)" --remark-policy=all -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// SwiGLU of two matmuls, as Llama has it: the activation went into the gates'
// matmul before. The planner has no kernel for it.
// REMARK: [Passed] GluFused | {{.*}}Function=swiglu | {{.*}}gates (silu) and values of two matmuls, gate_first
// REMARK: [Missed] MatmulNotPlanned{{.*}}no kernel multiplies the gates and values of a GLU
// CHECK-LABEL: func @swiglu(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x64xbf16>, %[[W:[^:]*]]: tensor<48x64xbf16> {flashnorm.frozen}, %[[V:[^:]*]]: tensor<48x64xbf16>
// CHECK-NOT:     linalg.
// CHECK:         %[[C:.*]] = tensor.concat dim(0) %[[W]], %[[V]] : (tensor<48x64xbf16>, tensor<48x64xbf16>) -> tensor<96x64xbf16>
// CHECK:         %[[Y:.*]] = flashnorm.matmul ins(%[[X]], %[[C]] : {{.*}}) outs(%{{.*}} : tensor<?x48xbf16>) {activation = #flashnorm.activation<silu>, glu = #flashnorm.glu<gate_first>, transpose_weight} -> tensor<?x48xbf16>
// CHECK:         return %[[Y]]
//
// INTERLEAVED-LABEL: func @swiglu(
// INTERLEAVED-SAME:    %[[W:[^:]*]]: tensor<48x64xbf16> {flashnorm.frozen}, %[[V:[^:]*]]: tensor<48x64xbf16>
// INTERLEAVED-DAG:     %[[W3:.*]] = tensor.expand_shape %[[W]] {{\[\[}}0, 1], [2]] output_shape [48, 1, 64]
// INTERLEAVED-DAG:     %[[V3:.*]] = tensor.expand_shape %[[V]] {{\[\[}}0, 1], [2]] output_shape [48, 1, 64]
// INTERLEAVED:         %[[P:.*]] = tensor.concat dim(1) %[[W3]], %[[V3]] : (tensor<48x1x64xbf16>, tensor<48x1x64xbf16>) -> tensor<48x2x64xbf16>
// INTERLEAVED:         %[[C:.*]] = tensor.collapse_shape %[[P]] {{\[\[}}0, 1], [2]]
// INTERLEAVED:         flashnorm.matmul ins(%{{.*}}, %[[C]] : {{.*}}) outs({{.*}}) {activation = #flashnorm.activation<silu>, glu = #flashnorm.glu<interleaved>, roundings = #flashnorm.roundings<product = bf16, activation = bf16>, transpose_weight}
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @swiglu(%x: tensor<?x64xbf16>, %w: tensor<48x64xbf16> {flashnorm.frozen}, %v: tensor<48x64xbf16> {flashnorm.frozen}, %e: tensor<?x48xbf16>) -> tensor<?x48xbf16> {
  %one = arith.constant 1.0 : f32
  %g = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<48x64xbf16>) outs(%e : tensor<?x48xbf16>) {transpose_weight} -> tensor<?x48xbf16>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%g : tensor<?x48xbf16>) outs(%e : tensor<?x48xbf16>) {
  ^bb0(%i: bf16, %out: bf16):
    %s = arith.extf %i : bf16 to f32
    %n = arith.negf %s : f32
    %ex = math.exp %n : f32
    %d = arith.addf %ex, %one : f32
    %q = arith.divf %s, %d : f32
    %t = arith.truncf %q : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<?x48xbf16>
  %u = flashnorm.matmul ins(%x, %v : tensor<?x64xbf16>, tensor<48x64xbf16>) outs(%e : tensor<?x48xbf16>) {transpose_weight} -> tensor<?x48xbf16>
  %y = linalg.mul ins(%a, %u : tensor<?x48xbf16>, tensor<?x48xbf16>) outs(%e : tensor<?x48xbf16>) -> tensor<?x48xbf16>
  return %y : tensor<?x48xbf16>
}

// -----

// GEGLU of one matmul that is cut into halves, values first, with a bias, behind a
// norm and an expansion of the rows; activation and product in one body, in f32.
// REMARK: [Passed] GluFused | {{.*}}Function=geglu_of_halves | {{.*}}gates (gelu) and values of one matmul, value_first
// CHECK-LABEL: func @geglu_of_halves(
// CHECK:         %[[Y:.*]] = flashnorm.matmul ins(%{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<64x96xbf16>) bias(%{{.*}} : tensor<96xf32>) outs(%{{.*}} : tensor<?x48xbf16>) {activation = #flashnorm.activation<gelu>, glu = #flashnorm.glu<value_first>, pre_norm = #flashnorm.norm<rms, eps = 1.000000e-05>} -> tensor<?x48xbf16>
// CHECK:         %[[R:.*]] = tensor.expand_shape %[[Y]] {{\[\[}}0, 1], [2]] output_shape [%{{.*}}, 8, 48] : tensor<?x48xbf16> into tensor<?x8x48xbf16>
// CHECK-NOT:     linalg.
// CHECK:         return %[[R]]
// INTERLEAVED-LABEL: func @geglu_of_halves(
// INTERLEAVED:         glu = #flashnorm.glu<value_first>, pre_norm = #flashnorm.norm<rms, eps = 1.000000e-05>, roundings = #flashnorm.roundings<bias = bf16>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
func.func @geglu_of_halves(%x: tensor<?x64xbf16>, %w: tensor<64x96xbf16>, %b: tensor<96xf32>, %m: index, %rows: index) -> tensor<?x8x48xbf16> {
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %root = arith.constant 0.707106769 : f32
  %e = tensor.empty(%rows) : tensor<?x96xbf16>
  %h = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x96xbf16>) bias(%b : tensor<96xf32>) outs(%e : tensor<?x96xbf16>) {pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<?x96xbf16>
  %h3 = tensor.expand_shape %h [[0, 1], [2]] output_shape [%m, 8, 96] : tensor<?x96xbf16> into tensor<?x8x96xbf16>
  %u = tensor.extract_slice %h3[0, 0, 0] [%m, 8, 48] [1, 1, 1] : tensor<?x8x96xbf16> to tensor<?x8x48xbf16>
  %g = tensor.extract_slice %h3[0, 0, 48] [%m, 8, 48] [1, 1, 1] : tensor<?x8x96xbf16> to tensor<?x8x48xbf16>
  %o = tensor.empty(%m) : tensor<?x8x48xbf16>
  %y = linalg.generic {indexing_maps = [#id3, #id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%g, %u : tensor<?x8x48xbf16>, tensor<?x8x48xbf16>) outs(%o : tensor<?x8x48xbf16>) {
  ^bb0(%i: bf16, %j: bf16, %out: bf16):
    %s = arith.extf %i : bf16 to f32
    %k = arith.mulf %s, %root : f32
    %f = math.erf %k : f32
    %a = arith.addf %f, %one : f32
    %c = arith.mulf %s, %half : f32
    %p = arith.mulf %c, %a : f32
    %t = arith.extf %j : bf16 to f32
    %q = arith.mulf %p, %t : f32
    %r = arith.truncf %q : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<?x8x48xbf16>
  return %y : tensor<?x8x48xbf16>
}

// -----

// ReGLU of the even and odd columns, in f32, with a residual that goes on in
// fuse-epilogues; the rows are those of x.
// REMARK: [Passed] GluFused | {{.*}}Function=reglu_of_columns | {{.*}}gates (relu) and values of one matmul, interleaved
// CHECK-LABEL: func @reglu_of_columns(
// CHECK:         %[[Y:.*]] = flashnorm.matmul {{.*}} outs(%{{.*}} : tensor<?x48xf32>) {activation = #flashnorm.activation<relu>, glu = #flashnorm.glu<interleaved>} -> tensor<?x48xf32>
// CHECK:         linalg.add ins(%[[Y]], %{{.*}} : tensor<?x48xf32>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @reglu_of_columns(%x: tensor<?x64xbf16>, %w: tensor<64x96xbf16>, %r: tensor<?x48xf32>, %e: tensor<?x96xf32>, %o: tensor<?x48xf32>) -> tensor<?x48xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %h = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x96xbf16>) outs(%e : tensor<?x96xf32>) -> tensor<?x96xf32>
  %g = tensor.extract_slice %h[0, 0] [%m, 48] [1, 2] : tensor<?x96xf32> to tensor<?x48xf32>
  %u = tensor.extract_slice %h[0, 1] [%m, 48] [1, 2] : tensor<?x96xf32> to tensor<?x48xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%g, %u : tensor<?x48xf32>, tensor<?x48xf32>) outs(%o : tensor<?x48xf32>) {
  ^bb0(%i: f32, %j: f32, %out: f32):
    %a = arith.maximumf %i, %zero : f32
    %p = arith.mulf %j, %a : f32
    linalg.yield %p : f32
  } -> tensor<?x48xf32>
  %s = linalg.add ins(%y, %r : tensor<?x48xf32>, tensor<?x48xf32>) outs(%o : tensor<?x48xf32>) -> tensor<?x48xf32>
  return %s : tensor<?x48xf32>
}

// -----

// Bilinear, of static size, with biases; the body goes on with the product.
// REMARK: [Passed] GluFused | {{.*}}Function=bilinear | {{.*}}gates (none) and values of two matmuls, gate_first
// CHECK-LABEL: func @bilinear(
// CHECK:         %[[B:.*]] = tensor.concat dim(0) %{{.*}}, %{{.*}} : (tensor<48xf32>, tensor<48xf32>) -> tensor<96xf32>
// CHECK:         %[[Y:.*]] = flashnorm.matmul {{.*}} bias(%[[B]] : tensor<96xf32>) outs(%{{.*}} : tensor<8x48xf32>) {glu = #flashnorm.glu<gate_first>} -> tensor<8x48xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[Y]] : tensor<8x48xf32>)
// CHECK:           math.sin
// INTERLEAVED-LABEL: func @bilinear(
// INTERLEAVED:         tensor.expand_shape %{{.*}} {{\[\[}}0, 1]] output_shape [48, 1]
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @bilinear(%x: tensor<8x64xbf16>, %w: tensor<64x48xbf16> {flashnorm.frozen}, %v: tensor<64x48xbf16> {flashnorm.frozen}, %b: tensor<48xf32> {flashnorm.frozen}, %c: tensor<48xf32> {flashnorm.frozen}, %e: tensor<8x48xf32>) -> tensor<8x48xf32> {
  %g = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x48xbf16>) bias(%b : tensor<48xf32>) outs(%e : tensor<8x48xf32>) -> tensor<8x48xf32>
  %u = flashnorm.matmul ins(%x, %v : tensor<8x64xbf16>, tensor<64x48xbf16>) bias(%c : tensor<48xf32>) outs(%e : tensor<8x48xf32>) -> tensor<8x48xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%g, %u : tensor<8x48xf32>, tensor<8x48xf32>) outs(%e : tensor<8x48xf32>) {
  ^bb0(%i: f32, %j: f32, %out: f32):
    %p = arith.mulf %i, %j : f32
    %s = math.sin %p : f32
    linalg.yield %s : f32
  } -> tensor<8x48xf32>
  return %y : tensor<8x48xf32>
}
