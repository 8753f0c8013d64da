// RMSNorms that stay before their matmul.
// RUN: flashnorm-opt %s --flashnorm-cancel-norms --split-input-file | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-cancel-norms --split-input-file --remarks-filter-missed="flashnorm-cancel-norms" -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: [Missed] NormNotCancelled | {{.*}}Function=bias | {{.*}}the matmul after it has a bias, which is not scaled
// CHECK-LABEL: func @bias(
// CHECK: flashnorm.rms_norm ins(%{{.*}} : tensor<8x64xbf16>)
func.func @bias(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<32xbf16>, %i: tensor<8x64xbf16>, %e: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<8x64xbf16>) outs(%i : tensor<8x64xbf16>) {eps = 1.0e-06 : f64} -> tensor<8x64xbf16>
  %v = flashnorm.matmul ins(%n, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) bias(%b : tensor<32xbf16>) outs(%e : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  %y = flashnorm.rms_norm ins(%v : tensor<8x32xbf16>) outs(%e : tensor<8x32xbf16>) {eps = 1.0e-05 : f64} -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// -----

// REMARK: [Missed] NormNotCancelled | {{.*}}Function=residual | {{.*}}the matmul after it has a residual, a glu or a row scale
// CHECK-LABEL: func @residual(
// CHECK: flashnorm.rms_norm ins(%{{.*}} : tensor<8x64xbf16>)
func.func @residual(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<8x32xbf16>, %i: tensor<8x64xbf16>, %e: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<8x64xbf16>) outs(%i : tensor<8x64xbf16>) {eps = 1.0e-06 : f64} -> tensor<8x64xbf16>
  %v = flashnorm.matmul ins(%n, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) residual(%r : tensor<8x32xbf16>) outs(%e : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  %y = flashnorm.rms_norm ins(%v : tensor<8x32xbf16>) outs(%e : tensor<8x32xbf16>) {eps = 1.0e-05 : f64} -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// -----

// REMARK: [Missed] NormNotCancelled | {{.*}}Function=gelu | {{.*}}the matmul after it has an activation, gelu, that is not homogeneous
// CHECK-LABEL: func @gelu(
// CHECK: flashnorm.rms_norm ins(%{{.*}} : tensor<8x64xbf16>)
func.func @gelu(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %i: tensor<8x64xbf16>, %e: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<8x64xbf16>) outs(%i : tensor<8x64xbf16>) {eps = 1.0e-06 : f64} -> tensor<8x64xbf16>
  %v = flashnorm.matmul ins(%n, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<8x32xbf16>) {activation = #flashnorm.activation<gelu>} -> tensor<8x32xbf16>
  %y = flashnorm.rms_norm ins(%v : tensor<8x32xbf16>) outs(%e : tensor<8x32xbf16>) {eps = 1.0e-05 : f64} -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// -----

// REMARK: [Missed] NormNotCancelled | {{.*}}Function=layer_norm | {{.*}}the result of the matmul after it is read by 'flashnorm.layer_norm', which is no RMSNorm of it
// CHECK-LABEL: func @layer_norm(
// CHECK: flashnorm.rms_norm ins(%{{.*}} : tensor<8x64xbf16>)
func.func @layer_norm(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %i: tensor<8x64xbf16>, %e: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<8x64xbf16>) outs(%i : tensor<8x64xbf16>) {eps = 1.0e-06 : f64} -> tensor<8x64xbf16>
  %v = flashnorm.matmul ins(%n, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  %y = flashnorm.layer_norm ins(%v : tensor<8x32xbf16>) outs(%e : tensor<8x32xbf16>) {eps = 1.0e-05 : f64} -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// -----

// REMARK: [Missed] NormNotCancelled | {{.*}}Function=sum_returned | {{.*}}the result of the matmul after it is read by 'func.return', which is no RMSNorm of it
// CHECK-LABEL: func @sum_returned(
// CHECK: flashnorm.rms_norm ins(%{{.*}} : tensor<8x64xbf16>)
func.func @sum_returned(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %i: tensor<8x64xbf16>, %e: tensor<8x32xbf16>) -> (tensor<8x32xbf16>, tensor<8x32xbf16>) {
  %n = flashnorm.rms_norm ins(%x : tensor<8x64xbf16>) outs(%i : tensor<8x64xbf16>) {eps = 1.0e-06 : f64} -> tensor<8x64xbf16>
  %v = flashnorm.matmul ins(%n, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  %y = flashnorm.rms_norm ins(%v : tensor<8x32xbf16>) outs(%e : tensor<8x32xbf16>) {eps = 1.0e-05 : f64} -> tensor<8x32xbf16>
  return %y, %v : tensor<8x32xbf16>, tensor<8x32xbf16>
}

// -----

// REMARK: [Missed] NormNotCancelled | {{.*}}Function=normalised_returned | {{.*}}'func.return' needs the normalised value
// CHECK-LABEL: func @normalised_returned(
// CHECK: flashnorm.rms_norm ins(%{{.*}} : tensor<8x64xbf16>)
func.func @normalised_returned(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %i: tensor<8x64xbf16>, %e: tensor<8x32xbf16>) -> (tensor<8x32xbf16>, tensor<8x64xbf16>) {
  %n = flashnorm.rms_norm ins(%x : tensor<8x64xbf16>) outs(%i : tensor<8x64xbf16>) {eps = 1.0e-06 : f64} -> tensor<8x64xbf16>
  %v = flashnorm.matmul ins(%n, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  %y = flashnorm.rms_norm ins(%v : tensor<8x32xbf16>) outs(%e : tensor<8x32xbf16>) {eps = 1.0e-05 : f64} -> tensor<8x32xbf16>
  return %y, %n : tensor<8x32xbf16>, tensor<8x64xbf16>
}

// -----

// REMARK: [Missed] NormNotCancelled | {{.*}}Function=weight | {{.*}}its weight does not cancel; --flashnorm-fold-norm-weight folds it
// CHECK-LABEL: func @weight(
// CHECK: flashnorm.rms_norm ins(%{{.*}} : tensor<8x64xbf16>)
func.func @weight(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %g: tensor<64xbf16>, %i: tensor<8x64xbf16>, %e: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<8x64xbf16>) weight(%g : tensor<64xbf16>) outs(%i : tensor<8x64xbf16>) {eps = 1.0e-06 : f64} -> tensor<8x64xbf16>
  %v = flashnorm.matmul ins(%n, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  %y = flashnorm.rms_norm ins(%v : tensor<8x32xbf16>) outs(%e : tensor<8x32xbf16>) {eps = 1.0e-05 : f64} -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// -----

// Without the norm, the sum may leave the range of f16.
// REMARK: [Missed] NormNotCancelled | {{.*}}Function=stored_f16 | {{.*}}the matmul after it stores its sum as f16, whose range the sum may leave without the norm
// CHECK-LABEL: func @stored_f16(
// CHECK: pre_norm
func.func @stored_f16(%x: tensor<8x64xf16>, %w: tensor<64x32xf16>, %e: tensor<8x32xf16>) -> tensor<8x32xf16> {
  %v = flashnorm.matmul ins(%x, %w : tensor<8x64xf16>, tensor<64x32xf16>) outs(%e : tensor<8x32xf16>) {pre_norm = #flashnorm.norm<rms, eps = 1.0e-06>} -> tensor<8x32xf16>
  %y = flashnorm.rms_norm ins(%v : tensor<8x32xf16>) outs(%e : tensor<8x32xf16>) {eps = 1.0e-05 : f64} -> tensor<8x32xf16>
  return %y : tensor<8x32xf16>
}

// -----

// What the statistics scale with is the first norm.
// REMARK: [Missed] NormNotCancelled | {{.*}}Function=statistics | {{.*}}the norm behind the matmul after it returns statistics
// CHECK-LABEL: func @statistics(
// CHECK: pre_norm
func.func @statistics(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<8x32xbf16>, %s: tensor<8xf32>) -> (tensor<8x32xbf16>, tensor<8xf32>) {
  %v = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<8x32xbf16>) {pre_norm = #flashnorm.norm<rms, eps = 1.0e-06>} -> tensor<8x32xbf16>
  %y, %t = flashnorm.rms_norm ins(%v : tensor<8x32xbf16>) outs(%e, %s : tensor<8x32xbf16>, tensor<8xf32>) {eps = 1.0e-05 : f64} -> tensor<8x32xbf16>, tensor<8xf32>
  return %y, %t : tensor<8x32xbf16>, tensor<8xf32>
}

// -----

// A norm before nothing of the kind: no word of it.
// REMARK-NOT: NormNotCancelled
// CHECK-LABEL: func @alone(
// CHECK: flashnorm.rms_norm
func.func @alone(%x: tensor<8x64xbf16>, %i: tensor<8x64xbf16>) -> tensor<8x64xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<8x64xbf16>) outs(%i : tensor<8x64xbf16>) {eps = 1.0e-06 : f64} -> tensor<8x64xbf16>
  return %n : tensor<8x64xbf16>
}
