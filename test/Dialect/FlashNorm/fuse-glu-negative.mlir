// Products that are no gated linear units, or cannot be fused as one.
// RUN: flashnorm-opt %s --flashnorm-fuse-glu --split-input-file | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-fuse-glu --split-input-file --remarks-filter="flashnorm-fuse-glu" --remark-policy=all -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// The gates are also returned.
// REMARK: [Missed] GluNotFused | {{.*}}Function=gates_used | {{.*}}a gate or a value is also read by another op
// CHECK-LABEL: func @gates_used
// CHECK-COUNT-2: flashnorm.matmul
// CHECK: linalg.mul
func.func @gates_used(%x: tensor<?x64xbf16>, %w: tensor<64x48xbf16> {flashnorm.frozen}, %v: tensor<64x48xbf16> {flashnorm.frozen}, %e: tensor<?x48xbf16>) -> (tensor<?x48xbf16>, tensor<?x48xbf16>) {
  %g = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x48xbf16>) outs(%e : tensor<?x48xbf16>) {activation = #flashnorm.activation<silu>} -> tensor<?x48xbf16>
  %u = flashnorm.matmul ins(%x, %v : tensor<?x64xbf16>, tensor<64x48xbf16>) outs(%e : tensor<?x48xbf16>) -> tensor<?x48xbf16>
  %y = linalg.mul ins(%g, %u : tensor<?x48xbf16>, tensor<?x48xbf16>) outs(%e : tensor<?x48xbf16>) -> tensor<?x48xbf16>
  return %y, %g : tensor<?x48xbf16>, tensor<?x48xbf16>
}

// -----

// REMARK: [Missed] GluNotFused | {{.*}}Function=two_inputs | {{.*}}gates and values are of different inputs
// CHECK-LABEL: func @two_inputs
// CHECK: linalg.mul
func.func @two_inputs(%x: tensor<?x64xbf16>, %z: tensor<?x64xbf16>, %w: tensor<64x48xbf16> {flashnorm.frozen}, %v: tensor<64x48xbf16> {flashnorm.frozen}, %e: tensor<?x48xbf16>) -> tensor<?x48xbf16> {
  %g = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x48xbf16>) outs(%e : tensor<?x48xbf16>) {activation = #flashnorm.activation<silu>} -> tensor<?x48xbf16>
  %u = flashnorm.matmul ins(%z, %v : tensor<?x64xbf16>, tensor<64x48xbf16>) outs(%e : tensor<?x48xbf16>) -> tensor<?x48xbf16>
  %y = linalg.mul ins(%g, %u : tensor<?x48xbf16>, tensor<?x48xbf16>) outs(%e : tensor<?x48xbf16>) -> tensor<?x48xbf16>
  return %y : tensor<?x48xbf16>
}

// -----

// Both have an activation: neither is a value.
// REMARK: [Missed] GluNotFused | {{.*}}Function=two_activations | {{.*}}the values have an activation, too
// CHECK-LABEL: func @two_activations
// CHECK: linalg.mul
func.func @two_activations(%x: tensor<?x64xbf16>, %w: tensor<64x48xbf16> {flashnorm.frozen}, %v: tensor<64x48xbf16> {flashnorm.frozen}, %e: tensor<?x48xbf16>) -> tensor<?x48xbf16> {
  %g = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x48xbf16>) outs(%e : tensor<?x48xbf16>) {activation = #flashnorm.activation<silu>} -> tensor<?x48xbf16>
  %u = flashnorm.matmul ins(%x, %v : tensor<?x64xbf16>, tensor<64x48xbf16>) outs(%e : tensor<?x48xbf16>) {activation = #flashnorm.activation<relu>} -> tensor<?x48xbf16>
  %y = linalg.mul ins(%g, %u : tensor<?x48xbf16>, tensor<?x48xbf16>) outs(%e : tensor<?x48xbf16>) -> tensor<?x48xbf16>
  return %y : tensor<?x48xbf16>
}

// -----

// Weights that may change from call to call would be put together on each.
// REMARK: [Missed] GluNotFused | {{.*}}Function=not_frozen | {{.*}}a weight or bias is neither an argument with 'flashnorm.frozen' nor a constant
// CHECK-LABEL: func @not_frozen
// CHECK: linalg.mul
func.func @not_frozen(%x: tensor<?x64xbf16>, %w: tensor<64x48xbf16> {flashnorm.frozen}, %v: tensor<64x48xbf16>, %e: tensor<?x48xbf16>) -> tensor<?x48xbf16> {
  %g = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x48xbf16>) outs(%e : tensor<?x48xbf16>) {activation = #flashnorm.activation<silu>} -> tensor<?x48xbf16>
  %u = flashnorm.matmul ins(%x, %v : tensor<?x64xbf16>, tensor<64x48xbf16>) outs(%e : tensor<?x48xbf16>) -> tensor<?x48xbf16>
  %y = linalg.mul ins(%g, %u : tensor<?x48xbf16>, tensor<?x48xbf16>) outs(%e : tensor<?x48xbf16>) -> tensor<?x48xbf16>
  return %y : tensor<?x48xbf16>
}

// -----

// A residual has been added to the values.
// REMARK: [Missed] GluNotFused | {{.*}}Function=residual | {{.*}}a matmul has a residual, a post-norm or a second result
// CHECK-LABEL: func @residual
// CHECK: linalg.mul
func.func @residual(%x: tensor<?x64xbf16>, %w: tensor<64x48xbf16> {flashnorm.frozen}, %v: tensor<64x48xbf16> {flashnorm.frozen}, %r: tensor<?x48xbf16>, %e: tensor<?x48xbf16>) -> tensor<?x48xbf16> {
  %g = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x48xbf16>) outs(%e : tensor<?x48xbf16>) {activation = #flashnorm.activation<silu>} -> tensor<?x48xbf16>
  %u = flashnorm.matmul ins(%x, %v : tensor<?x64xbf16>, tensor<64x48xbf16>) residual(%r : tensor<?x48xbf16>) outs(%e : tensor<?x48xbf16>) -> tensor<?x48xbf16>
  %y = linalg.mul ins(%g, %u : tensor<?x48xbf16>, tensor<?x48xbf16>) outs(%e : tensor<?x48xbf16>) -> tensor<?x48xbf16>
  return %y : tensor<?x48xbf16>
}

// -----

// Thirds are not halves; halves that overlap are not, either.
// REMARK: [Missed] GluNotFused | {{.*}}Function=thirds | {{.*}}gates and values are not the two halves of the columns
// CHECK-LABEL: func @thirds
// CHECK: linalg.mul
func.func @thirds(%x: tensor<8x64xbf16>, %w: tensor<64x96xbf16>, %e: tensor<8x96xbf16>, %o: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %h = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x96xbf16>) outs(%e : tensor<8x96xbf16>) -> tensor<8x96xbf16>
  %g = tensor.extract_slice %h[0, 0] [8, 32] [1, 1] : tensor<8x96xbf16> to tensor<8x32xbf16>
  %u = tensor.extract_slice %h[0, 32] [8, 32] [1, 1] : tensor<8x96xbf16> to tensor<8x32xbf16>
  %y = linalg.mul ins(%g, %u : tensor<8x32xbf16>, tensor<8x32xbf16>) outs(%o : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// -----

// The size of the slices is an argument: they may have fewer rows.
// REMARK: [Missed] GluNotFused | {{.*}}Function=some_rows | {{.*}}gates and values are not the two halves of the columns
// CHECK-LABEL: func @some_rows
// CHECK: linalg.mul
func.func @some_rows(%x: tensor<?x64xbf16>, %w: tensor<64x96xbf16>, %e: tensor<?x96xbf16>, %o: tensor<?x48xbf16>, %m: index) -> tensor<?x48xbf16> {
  %h = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x96xbf16>) outs(%e : tensor<?x96xbf16>) -> tensor<?x96xbf16>
  %g = tensor.extract_slice %h[0, 0] [%m, 48] [1, 1] : tensor<?x96xbf16> to tensor<?x48xbf16>
  %u = tensor.extract_slice %h[0, 48] [%m, 48] [1, 1] : tensor<?x96xbf16> to tensor<?x48xbf16>
  %y = linalg.mul ins(%g, %u : tensor<?x48xbf16>, tensor<?x48xbf16>) outs(%o : tensor<?x48xbf16>) -> tensor<?x48xbf16>
  return %y : tensor<?x48xbf16>
}

// -----

// The gates are the odd columns: no layout has that.
#id = affine_map<(d0, d1) -> (d0, d1)>
// REMARK: [Missed] GluNotFused | {{.*}}Function=odd_gates | {{.*}}the values are in the even columns, the gates in the odd ones
// CHECK-LABEL: func @odd_gates
// CHECK: arith.mulf
func.func @odd_gates(%x: tensor<8x64xbf16>, %w: tensor<64x96xbf16>, %e: tensor<8x96xf32>, %o: tensor<8x48xf32>) -> tensor<8x48xf32> {
  %zero = arith.constant 0.0 : f32
  %h = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x96xbf16>) outs(%e : tensor<8x96xf32>) -> tensor<8x96xf32>
  %g = tensor.extract_slice %h[0, 1] [8, 48] [1, 2] : tensor<8x96xf32> to tensor<8x48xf32>
  %u = tensor.extract_slice %h[0, 0] [8, 48] [1, 2] : tensor<8x96xf32> to tensor<8x48xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%g, %u : tensor<8x48xf32>, tensor<8x48xf32>) outs(%o : tensor<8x48xf32>) {
  ^bb0(%i: f32, %j: f32, %out: f32):
    %a = arith.maximumf %i, %zero : f32
    %p = arith.mulf %a, %j : f32
    linalg.yield %p : f32
  } -> tensor<8x48xf32>
  return %y : tensor<8x48xf32>
}

// -----

// Someone else reads all of what the halves are of.
// REMARK: [Missed] GluNotFused | {{.*}}Function=whole_used | {{.*}}what the halves are of is also read by 'func.return'
// CHECK-LABEL: func @whole_used
// CHECK: linalg.mul
func.func @whole_used(%x: tensor<8x64xbf16>, %w: tensor<64x96xbf16>, %e: tensor<8x96xbf16>, %o: tensor<8x48xbf16>) -> (tensor<8x48xbf16>, tensor<8x96xbf16>) {
  %h = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x96xbf16>) outs(%e : tensor<8x96xbf16>) -> tensor<8x96xbf16>
  %g = tensor.extract_slice %h[0, 0] [8, 48] [1, 1] : tensor<8x96xbf16> to tensor<8x48xbf16>
  %u = tensor.extract_slice %h[0, 48] [8, 48] [1, 1] : tensor<8x96xbf16> to tensor<8x48xbf16>
  %y = linalg.mul ins(%g, %u : tensor<8x48xbf16>, tensor<8x48xbf16>) outs(%o : tensor<8x48xbf16>) -> tensor<8x48xbf16>
  return %y, %h : tensor<8x48xbf16>, tensor<8x96xbf16>
}

// -----

// Gates and values differ in what their products are rounded to.
// REMARK: [Missed] GluNotFused | {{.*}}Function=rounded_differently | {{.*}}gates and values are rounded differently
// CHECK-LABEL: func @rounded_differently
// CHECK: linalg.mul
func.func @rounded_differently(%x: tensor<?x64xbf16>, %w: tensor<64x48xbf16> {flashnorm.frozen}, %v: tensor<64x48xbf16> {flashnorm.frozen}, %e: tensor<?x48xbf16>) -> tensor<?x48xbf16> {
  %g = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x48xbf16>) outs(%e : tensor<?x48xbf16>) {activation = #flashnorm.activation<silu>, roundings = #flashnorm.roundings<product = bf16>} -> tensor<?x48xbf16>
  %u = flashnorm.matmul ins(%x, %v : tensor<?x64xbf16>, tensor<64x48xbf16>) outs(%e : tensor<?x48xbf16>) -> tensor<?x48xbf16>
  %y = linalg.mul ins(%g, %u : tensor<?x48xbf16>, tensor<?x48xbf16>) outs(%e : tensor<?x48xbf16>) -> tensor<?x48xbf16>
  return %y : tensor<?x48xbf16>
}

// -----

// A square is no product of two.
// REMARK-NOT: GluNotFused
// CHECK-LABEL: func @square
// CHECK: flashnorm.matmul
// CHECK: linalg.mul
func.func @square(%x: tensor<?x64xbf16>, %w: tensor<64x48xbf16> {flashnorm.frozen}, %e: tensor<?x48xbf16>) -> tensor<?x48xbf16> {
  %g = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x48xbf16>) outs(%e : tensor<?x48xbf16>) -> tensor<?x48xbf16>
  %y = linalg.mul ins(%g, %g : tensor<?x48xbf16>, tensor<?x48xbf16>) outs(%e : tensor<?x48xbf16>) -> tensor<?x48xbf16>
  return %y : tensor<?x48xbf16>
}
