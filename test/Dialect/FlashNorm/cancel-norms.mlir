// An RMSNorm before a linear layer before an RMSNorm goes.
// RUN: flashnorm-opt %s --flashnorm-cancel-norms --split-input-file --verify-roundtrip | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-cancel-norms --split-input-file --remarks-filter="flashnorm-cancel-norms" --remark-policy=all -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// As ops, behind reshapes of the rows; relu keeps a positive factor; the second norm
// has a weight, and there are two of them.
// REMARK: [Passed] NormCancelled | {{.*}}Function=as_ops | {{.*}}flashnorm.rms_norm with eps 1.000000e-06 cancels in the RMSNorms behind the product; eps 1.000000e-05, 2.000000e-05 there is of rows that are not normalised any more
// CHECK-LABEL: func @as_ops(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x8x64xbf16>
// CHECK-NOT:     rms_norm
// CHECK:         %[[X2:.*]] = tensor.collapse_shape %[[X]]
// CHECK:         flashnorm.matmul ins(%[[X2]], %{{.*}} : {{.*}} {activation = #flashnorm.activation<relu>}
// CHECK:         flashnorm.rms_norm {{.*}} weight(
// CHECK:         flashnorm.rms_norm
// CHECK-NOT:     rms_norm
// CHECK:         return
func.func @as_ops(%x: tensor<?x8x64xbf16>, %w: tensor<64x32xbf16>, %g: tensor<32xbf16>, %i: tensor<?x8x64xbf16>, %e: tensor<?x32xbf16>) -> (tensor<?x32xbf16>, tensor<?x32xbf16>) {
  %n = flashnorm.rms_norm ins(%x : tensor<?x8x64xbf16>) outs(%i : tensor<?x8x64xbf16>) {eps = 1.0e-06 : f64} -> tensor<?x8x64xbf16>
  %n2 = tensor.collapse_shape %n [[0, 1], [2]] : tensor<?x8x64xbf16> into tensor<?x64xbf16>
  %v = flashnorm.matmul ins(%n2, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<?x32xbf16>) {activation = #flashnorm.activation<relu>} -> tensor<?x32xbf16>
  %y = flashnorm.rms_norm ins(%v : tensor<?x32xbf16>) weight(%g : tensor<32xbf16>) outs(%e : tensor<?x32xbf16>) {eps = 1.0e-05 : f64} -> tensor<?x32xbf16>
  %z = flashnorm.rms_norm ins(%v : tensor<?x32xbf16>) outs(%e : tensor<?x32xbf16>) {eps = 2.0e-05 : f64} -> tensor<?x32xbf16>
  return %y, %z : tensor<?x32xbf16>, tensor<?x32xbf16>
}

// -----

// In one matmul; f16 does not matter where the sum is not stored.
// REMARK: [Passed] NormCancelled | {{.*}}Function=in_one | {{.*}}the RMSNorm before a matmul with eps 1.000000e-06 cancels in the RMSNorm behind the product; eps 1.000000e-05 there
// CHECK-LABEL: func @in_one(
// CHECK:         flashnorm.matmul {{.*}} outs(%{{.*}} : tensor<8x32xf16>) {post_norm = #flashnorm.norm<rms, eps = 1.000000e-05>} -> tensor<8x32xf16>
func.func @in_one(%x: tensor<8x64xf16>, %w: tensor<64x32xf16>, %e: tensor<8x32xf16>) -> tensor<8x32xf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<8x64xf16>, tensor<64x32xf16>) outs(%e : tensor<8x32xf16>) {pre_norm = #flashnorm.norm<rms, eps = 1.0e-06>, post_norm = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<8x32xf16>
  return %y : tensor<8x32xf16>
}

// -----

// Of three norms in a chain, the second cancels in the third; then the first has
// none behind it that would divide it out at once.
// REMARK: [Passed] NormCancelled | {{.*}}Function=chain |
// REMARK: [Missed] NormNotCancelled | {{.*}}Function=chain | {{.*}}the result of the matmul after it is read by 'flashnorm.matmul', which is no RMSNorm of it
// CHECK-LABEL: func @chain(
// CHECK:         %[[N:.*]] = flashnorm.rms_norm
// CHECK:         %[[A:.*]] = flashnorm.matmul ins(%[[N]],
// CHECK:         %[[B:.*]] = flashnorm.matmul ins(%[[A]],
// CHECK:         flashnorm.rms_norm ins(%[[B]] :
func.func @chain(%x: tensor<8x32xbf16>, %w: tensor<32x32xbf16>, %e: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<8x32xbf16>) outs(%e : tensor<8x32xbf16>) {eps = 1.0e-06 : f64} -> tensor<8x32xbf16>
  %v = flashnorm.matmul ins(%n, %w : tensor<8x32xbf16>, tensor<32x32xbf16>) outs(%e : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  %m = flashnorm.rms_norm ins(%v : tensor<8x32xbf16>) outs(%e : tensor<8x32xbf16>) {eps = 1.0e-06 : f64} -> tensor<8x32xbf16>
  %u = flashnorm.matmul ins(%m, %w : tensor<8x32xbf16>, tensor<32x32xbf16>) outs(%e : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  %y = flashnorm.rms_norm ins(%u : tensor<8x32xbf16>) outs(%e : tensor<8x32xbf16>) {eps = 1.0e-06 : f64} -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}
