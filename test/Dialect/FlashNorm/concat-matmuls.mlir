// RUN: flashnorm-opt %s --flashnorm-concat-matmuls --split-input-file \
// RUN:   --verify-roundtrip | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-concat-matmuls --split-input-file \
// RUN:   --remarks-filter="flashnorm-concat-matmuls" --remark-policy=all -o %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: flashnorm-opt %s --flashnorm-concat-matmuls --flashnorm-defer-norms \
// RUN:   --flashnorm-prepare-weights --canonicalize --split-input-file \
// RUN:   | FileCheck %s --check-prefix=PREPARED

// q, k and v behind one norm: weights and biases side by side, and slices of the
// result, along the columns of either layout.
// REMARK: [Passed] MatmulsConcatenated | {{.*}}Function=qkv | {{.*}}3 matmuls of one input become one
// CHECK-LABEL: func @qkv(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x?x64xbf16>, %{{[^:]*}}: tensor<64xbf16> {flashnorm.frozen}, %[[WQ:[^:]*]]: tensor<48x64xbf16> {flashnorm.frozen}, %[[WK:[^:]*]]: tensor<16x64xbf16> {flashnorm.frozen}, %[[WV:[^:]*]]: tensor<16x64xbf16> {flashnorm.frozen}, %[[BQ:[^:]*]]: tensor<48xf32> {flashnorm.frozen}, %[[B:[^:]*]]: tensor<16xf32> {flashnorm.frozen}
// CHECK:         %[[N:.*]] = flashnorm.rms_norm
// CHECK-DAG:     %[[W:.*]] = tensor.concat dim(0) %[[WQ]], %[[WK]], %[[WV]] : {{.*}} -> tensor<80x64xbf16>
// CHECK-DAG:     %[[BIAS:.*]] = tensor.concat dim(0) %[[BQ]], %[[B]], %[[B]] : {{.*}} -> tensor<80xf32>
// CHECK:         %[[Y:.*]] = flashnorm.matmul ins(%[[N]], %[[W]] : {{.*}}) bias(%[[BIAS]] : tensor<80xf32>) outs(%{{.*}} : tensor<2x?x80xbf16>) {transpose_weight} -> tensor<2x?x80xbf16>
// CHECK:         %[[Q:.*]] = tensor.extract_slice %[[Y]][0, 0, 0] [2, %{{.*}}, 48] [1, 1, 1]
// CHECK:         %[[K:.*]] = tensor.extract_slice %[[Y]][0, 0, 48] [2, %{{.*}}, 16] [1, 1, 1]
// CHECK:         %[[V:.*]] = tensor.extract_slice %[[Y]][0, 0, 64] [2, %{{.*}}, 16] [1, 1, 1]
// CHECK:         return %[[Q]], %[[K]], %[[V]]
//
// The product with the norm's weight is taken of the whole, once.
// PREPARED-LABEL: func @qkv(
// PREPARED-SAME:    %[[P0:[^:]*]]: tensor<80x64xbf16> {flashnorm.prepared = 0 : i64}, %[[P1:[^:]*]]: tensor<80xf32> {flashnorm.prepared = 1 : i64})
// PREPARED-NOT:     tensor.concat
// PREPARED:         flashnorm.matmul ins(%{{.*}}, %[[P0]] : {{.*}}) bias(%[[P1]] : {{.*}} {pre_norm = #flashnorm.norm<rms, eps = 1.000000e-05>, transpose_weight}
// PREPARED-LABEL: func @qkv_prepare_weights(
// PREPARED:         %[[W:.*]] = tensor.concat dim(0)
// PREPARED:         %[[P:.*]] = call @weight_product(%{{.*}}, %[[W]])
// PREPARED:         %[[B:.*]] = tensor.concat dim(0)
// PREPARED:         return %[[P]], %[[B]]
func.func @qkv(%x: tensor<2x?x64xbf16>, %g: tensor<64xbf16> {flashnorm.frozen},
               %wq: tensor<48x64xbf16> {flashnorm.frozen}, %wk: tensor<16x64xbf16> {flashnorm.frozen}, %wv: tensor<16x64xbf16> {flashnorm.frozen},
               %bq: tensor<48xf32> {flashnorm.frozen}, %b: tensor<16xf32> {flashnorm.frozen},
               %out: tensor<2x?x64xbf16>, %init: tensor<2x?x48xbf16>, %init2: tensor<2x?x16xbf16>)
    -> (tensor<2x?x48xbf16>, tensor<2x?x16xbf16>, tensor<2x?x16xbf16>) {
  %n = flashnorm.rms_norm ins(%x : tensor<2x?x64xbf16>) weight(%g : tensor<64xbf16>) outs(%out : tensor<2x?x64xbf16>) {eps = 1.0e-05 : f64} -> tensor<2x?x64xbf16>
  %q = flashnorm.matmul ins(%n, %wq : tensor<2x?x64xbf16>, tensor<48x64xbf16>) bias(%bq : tensor<48xf32>) outs(%init : tensor<2x?x48xbf16>) {transpose_weight} -> tensor<2x?x48xbf16>
  %k = flashnorm.matmul ins(%n, %wk : tensor<2x?x64xbf16>, tensor<16x64xbf16>) bias(%b : tensor<16xf32>) outs(%init2 : tensor<2x?x16xbf16>) {transpose_weight} -> tensor<2x?x16xbf16>
  %v = flashnorm.matmul ins(%n, %wv : tensor<2x?x64xbf16>, tensor<16x64xbf16>) bias(%b : tensor<16xf32>) outs(%init2 : tensor<2x?x16xbf16>) {transpose_weight} -> tensor<2x?x16xbf16>
  return %q, %k, %v : tensor<2x?x48xbf16>, tensor<2x?x16xbf16>, tensor<2x?x16xbf16>
}

// -----

// What is alike goes together; the others keep apart, with the reason of the
// first. Static sizes stay static.
// REMARK: [Passed] MatmulsConcatenated | {{.*}}Function=alike | {{.*}}2 matmuls of one input become one
// REMARK: [Missed] MatmulsNotConcatenated | {{.*}}Function=alike | {{.*}}2 of 4 matmuls of one input stay apart: the activations differ
// CHECK-LABEL: func @alike(
// CHECK:         tensor.concat dim(1) %{{.*}}, %{{.*}} : (tensor<64x16xbf16>, tensor<64x16xbf16>) -> tensor<64x32xbf16>
// CHECK:         flashnorm.matmul {{.*}} {pre_norm = #flashnorm.norm<rms, eps = 1.000000e-05>} -> tensor<8x32xbf16>
// CHECK:         flashnorm.matmul {{.*}} {activation = #flashnorm.activation<silu>, pre_norm
// CHECK:         flashnorm.matmul {{.*}} residual(
func.func @alike(%x: tensor<8x64xbf16>, %u: tensor<64x16xbf16> {flashnorm.frozen}, %v: tensor<64x16xbf16> {flashnorm.frozen}, %init: tensor<8x16xbf16>)
    -> (tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<8x16xbf16>) {
  %a = flashnorm.matmul ins(%x, %u : tensor<8x64xbf16>, tensor<64x16xbf16>) outs(%init : tensor<8x16xbf16>) {pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<8x16xbf16>
  %b = flashnorm.matmul ins(%x, %v : tensor<8x64xbf16>, tensor<64x16xbf16>) outs(%init : tensor<8x16xbf16>) {pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>, activation = #flashnorm.activation<silu>} -> tensor<8x16xbf16>
  %c = flashnorm.matmul ins(%x, %v : tensor<8x64xbf16>, tensor<64x16xbf16>) outs(%init : tensor<8x16xbf16>) {pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<8x16xbf16>
  %d = flashnorm.matmul ins(%x, %v : tensor<8x64xbf16>, tensor<64x16xbf16>) residual(%a : tensor<8x16xbf16>) outs(%init : tensor<8x16xbf16>) {pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<8x16xbf16>
  return %a, %b, %c, %d : tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<8x16xbf16>
}

// -----

// A copy of weights that may change would be made on every call.
// REMARK: Function=not_frozen | {{.*}}2 of 2 matmuls of one input stay apart: a weight or bias is neither an argument with 'flashnorm.frozen' nor a constant
// CHECK-LABEL: func @not_frozen(
// CHECK-NOT:     tensor.concat
func.func @not_frozen(%x: tensor<8x64xbf16>, %u: tensor<64x16xbf16> {flashnorm.frozen}, %v: tensor<64x16xbf16>, %w: tensor<64x16xbf16>, %init: tensor<8x16xbf16>)
    -> (tensor<8x16xbf16>, tensor<8x16xbf16>) {
  %a = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x16xbf16>) outs(%init : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  %b = flashnorm.matmul ins(%x, %v : tensor<8x64xbf16>, tensor<64x16xbf16>) outs(%init : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %a, %b : tensor<8x16xbf16>, tensor<8x16xbf16>
}

// -----

// REMARK: Function=layouts | {{.*}}stay apart: the layouts of the weights differ
// REMARK: Function=types | {{.*}}stay apart: the result types differ
// REMARK: Function=biases | {{.*}}stay apart: one has a bias, or one of another type
// REMARK: Function=norms | {{.*}}stay apart: the norms before them differ
// REMARK: Function=no_rows | {{.*}}stay apart: one has no rows or columns
func.func @layouts(%x: tensor<8x16xbf16>, %u: tensor<16x16xbf16> {flashnorm.frozen}, %init: tensor<8x16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>) {
  %a = flashnorm.matmul ins(%x, %u : tensor<8x16xbf16>, tensor<16x16xbf16>) outs(%init : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  %b = flashnorm.matmul ins(%x, %u : tensor<8x16xbf16>, tensor<16x16xbf16>) outs(%init : tensor<8x16xbf16>) {transpose_weight} -> tensor<8x16xbf16>
  return %a, %b : tensor<8x16xbf16>, tensor<8x16xbf16>
}
func.func @types(%x: tensor<8x16xbf16>, %u: tensor<16x16xbf16> {flashnorm.frozen}, %init: tensor<8x16xbf16>, %init2: tensor<8x16xf32>) -> (tensor<8x16xbf16>, tensor<8x16xf32>) {
  %a = flashnorm.matmul ins(%x, %u : tensor<8x16xbf16>, tensor<16x16xbf16>) outs(%init : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  %b = flashnorm.matmul ins(%x, %u : tensor<8x16xbf16>, tensor<16x16xbf16>) outs(%init2 : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %a, %b : tensor<8x16xbf16>, tensor<8x16xf32>
}
func.func @biases(%x: tensor<8x16xbf16>, %u: tensor<16x16xbf16> {flashnorm.frozen}, %v: tensor<16xbf16> {flashnorm.frozen}, %init: tensor<8x16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>) {
  %a = flashnorm.matmul ins(%x, %u : tensor<8x16xbf16>, tensor<16x16xbf16>) outs(%init : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  %b = flashnorm.matmul ins(%x, %u : tensor<8x16xbf16>, tensor<16x16xbf16>) bias(%v : tensor<16xbf16>) outs(%init : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %a, %b : tensor<8x16xbf16>, tensor<8x16xbf16>
}
func.func @norms(%x: tensor<8x16xbf16>, %u: tensor<16x16xbf16> {flashnorm.frozen}, %init: tensor<8x16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>) {
  %a = flashnorm.matmul ins(%x, %u : tensor<8x16xbf16>, tensor<16x16xbf16>) outs(%init : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  %b = flashnorm.matmul ins(%x, %u : tensor<8x16xbf16>, tensor<16x16xbf16>) outs(%init : tensor<8x16xbf16>) {pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<8x16xbf16>
  return %a, %b : tensor<8x16xbf16>, tensor<8x16xbf16>
}
func.func @no_rows(%x: tensor<0x16xbf16>, %u: tensor<16x16xbf16> {flashnorm.frozen}, %init: tensor<0x16xbf16>) -> (tensor<0x16xbf16>, tensor<0x16xbf16>) {
  %a = flashnorm.matmul ins(%x, %u : tensor<0x16xbf16>, tensor<16x16xbf16>) outs(%init : tensor<0x16xbf16>) -> tensor<0x16xbf16>
  %b = flashnorm.matmul ins(%x, %u : tensor<0x16xbf16>, tensor<16x16xbf16>) outs(%init : tensor<0x16xbf16>) -> tensor<0x16xbf16>
  return %a, %b : tensor<0x16xbf16>, tensor<0x16xbf16>
}

// -----

// Frozen weights with a dimension too many, as tosa has them.
// CHECK-LABEL: func @reshaped(
// CHECK:         %[[A:.+]] = tensor.collapse_shape
// CHECK:         %[[B:.+]] = tensor.collapse_shape
// CHECK:         tensor.concat dim(1) %[[A]], %[[B]]
// CHECK:         flashnorm.matmul
// CHECK-NOT:     flashnorm.matmul
// CHECK:         return
func.func @reshaped(%x: tensor<8x16xbf16>, %u: tensor<1x16x16xbf16> {flashnorm.frozen}, %v: tensor<1x16x8xbf16> {flashnorm.frozen}, %init: tensor<8x16xbf16>, %init2: tensor<8x8xbf16>) -> (tensor<8x16xbf16>, tensor<8x8xbf16>) {
  %u2 = tensor.collapse_shape %u [[0, 1], [2]] : tensor<1x16x16xbf16> into tensor<16x16xbf16>
  %a = flashnorm.matmul ins(%x, %u2 : tensor<8x16xbf16>, tensor<16x16xbf16>) outs(%init : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  %v2 = tensor.collapse_shape %v [[0, 1], [2]] : tensor<1x16x8xbf16> into tensor<16x8xbf16>
  %b = flashnorm.matmul ins(%x, %v2 : tensor<8x16xbf16>, tensor<16x8xbf16>) outs(%init2 : tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %a, %b : tensor<8x16xbf16>, tensor<8x8xbf16>
}
