// RUN: flashnorm-opt %s --flashnorm-prepare-weights --split-input-file \
// RUN:   --verify-roundtrip | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-prepare-weights --flashnorm-prepare-weights \
// RUN:   --split-input-file | FileCheck %s

// Frozen weights side by side are the same on every call; a reshape costs
// nothing, and what a caller may change stays. Two readers share the argument.
// CHECK-LABEL: func @prepared(
// CHECK-SAME:    %{{[^:]*}}: tensor<8x16xbf16>, %[[A:[^:]*]]: tensor<16x16xbf16> {flashnorm.frozen}, %{{[^:]*}}: tensor<16xf32>, %{{[^:]*}}: tensor<8x16xbf16>, %[[W:[^:]*]]: tensor<16x32xbf16> {flashnorm.prepared = 0 : i64})
// CHECK-SAME:    attributes {flashnorm.prepare_weights = @prepared_prepare_weights}
// CHECK-DAG:     flashnorm.matmul ins(%{{.*}}, %[[W]] : {{.*}} bias(%[[SUM:.*]] : tensor<32xf32>)
// CHECK-DAG:     flashnorm.matmul ins(%{{.*}}, %[[W]] :
// CHECK:         %[[R:.*]] = tensor.expand_shape
// CHECK:         flashnorm.matmul ins(%{{.*}}, %[[R]] :
// CHECK:       func.func @prepared_prepare_weights(%[[PA:.*]]: tensor<16x16xbf16> {flashnorm.source = 1 : i64}) -> tensor<16x32xbf16> {
// CHECK-NEXT:    %[[PW:.*]] = tensor.concat dim(1) %[[PA]], %[[PA]]
// CHECK-NEXT:    return %[[PW]]
func.func @prepared(%x: tensor<8x16xbf16>, %a: tensor<16x16xbf16> {flashnorm.frozen}, %b: tensor<16xf32>, %res: tensor<8x16xbf16>)
    -> (tensor<8x32xbf16>, tensor<8x32xbf16>, tensor<8x16xbf16>) {
  %w = tensor.concat dim(1) %a, %a : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x32xbf16>
  %bb = tensor.concat dim(0) %b, %b : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  %init = tensor.empty() : tensor<8x32xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<8x16xbf16>, tensor<16x32xbf16>) bias(%bb : tensor<32xf32>) outs(%init : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  %z = flashnorm.matmul ins(%x, %w : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%init : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  %v = tensor.collapse_shape %a [[0, 1]] : tensor<16x16xbf16> into tensor<256xbf16>
  %u = tensor.expand_shape %v [[0, 1]] output_shape [16, 16] : tensor<256xbf16> into tensor<16x16xbf16>
  %init2 = tensor.empty() : tensor<8x16xbf16>
  %t = flashnorm.matmul ins(%x, %u : tensor<8x16xbf16>, tensor<16x16xbf16>) residual(%res : tensor<8x16xbf16>) outs(%init2 : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %y, %z, %t : tensor<8x32xbf16>, tensor<8x32xbf16>, tensor<8x16xbf16>
}

// -----

// Another function calls this one.
// CHECK-LABEL: func private @used(
// CHECK-NOT:     prepare
func.func private @used(%x: tensor<8x16xbf16>, %a: tensor<16x16xbf16> {flashnorm.frozen}) -> tensor<8x32xbf16> {
  %w = tensor.concat dim(1) %a, %a : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x32xbf16>
  %init = tensor.empty() : tensor<8x32xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%init : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}
func.func @caller(%x: tensor<8x16xbf16>, %a: tensor<16x16xbf16>) -> tensor<8x32xbf16> {
  %y = call @used(%x, %a) : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}
