// RUN: flashnorm-opt %s --flashnorm-defer-norms --split-input-file -o %t.mlir \
// RUN:   --remarks-filter-missed="flashnorm-defer-norms" --remark-policy=all 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s < %t.mlir

// What is not deferred stays as it is, with all of its readers.

// CHECK-LABEL: func @no_reader(
// CHECK: flashnorm.layer_norm
// REMARK: [Missed] NormNotDeferred | {{.*}}Function=no_reader | {{.*}}flashnorm.layer_norm not deferred: no flashnorm.matmul reads its result
func.func @no_reader(%x: tensor<8x64xbf16>, %out: tensor<8x64xbf16>) -> tensor<8x64xbf16> {
  %n = flashnorm.layer_norm ins(%x : tensor<8x64xbf16>) outs(%out : tensor<8x64xbf16>) {eps = 1.0e-05 : f64} -> tensor<8x64xbf16>
  return %n : tensor<8x64xbf16>
}

// -----

// CHECK-LABEL: func @returned(
// CHECK: %[[N:.*]] = flashnorm.layer_norm
// CHECK: flashnorm.matmul ins(%[[N]]
// REMARK: Function=returned | {{.*}}not deferred: 'func.return' needs the normalised value
func.func @returned(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %out: tensor<8x64xbf16>, %init: tensor<8x32xbf16>) -> (tensor<8x64xbf16>, tensor<8x32xbf16>) {
  %n = flashnorm.layer_norm ins(%x : tensor<8x64xbf16>) outs(%out : tensor<8x64xbf16>) {eps = 1.0e-05 : f64} -> tensor<8x64xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%init : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  return %n, %y : tensor<8x64xbf16>, tensor<8x32xbf16>
}

// -----

// CHECK-LABEL: func @weight_not_frozen(
// CHECK: flashnorm.layer_norm {{.*}} weight(
// REMARK: Function=weight_not_frozen | {{.*}}not deferred: its mean is not taken out of the weights of the matmuls after it: its weight is neither made of arguments with 'flashnorm.frozen' nor a constant of at most 1 MB
func.func @weight_not_frozen(%x: tensor<8x64xbf16>, %g: tensor<64xbf16>, %w: tensor<64x32xbf16> {flashnorm.frozen}, %out: tensor<8x64xbf16>, %init: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %n = flashnorm.layer_norm ins(%x : tensor<8x64xbf16>) weight(%g : tensor<64xbf16>) outs(%out : tensor<8x64xbf16>) {eps = 1.0e-05 : f64} -> tensor<8x64xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%init : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// -----

// CHECK-LABEL: func @bias_not_frozen(
// CHECK: flashnorm.layer_norm {{.*}} bias(
// REMARK: Function=bias_not_frozen | {{.*}}: its bias is neither made of
func.func @bias_not_frozen(%x: tensor<8x64xbf16>, %h: tensor<64xbf16>, %w: tensor<64x32xbf16> {flashnorm.frozen}, %out: tensor<8x64xbf16>, %init: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %n = flashnorm.layer_norm ins(%x : tensor<8x64xbf16>) bias(%h : tensor<64xbf16>) outs(%out : tensor<8x64xbf16>) {eps = 1.0e-05 : f64} -> tensor<8x64xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%init : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// -----

// One consumer is enough to keep the norm for both.
// CHECK-LABEL: func @one_weight_not_frozen(
// CHECK-NOT: flashnorm.prepared
// CHECK: %[[N:.*]] = flashnorm.layer_norm
// CHECK: flashnorm.matmul ins(%[[N]]
// CHECK: flashnorm.matmul ins(%[[N]]
// REMARK: Function=one_weight_not_frozen | {{.*}}: the weight of a matmul after it is neither made of
func.func @one_weight_not_frozen(%x: tensor<8x64xbf16>, %g: tensor<64xbf16> {flashnorm.frozen}, %w: tensor<64x32xbf16> {flashnorm.frozen}, %v: tensor<64x32xbf16>, %out: tensor<8x64xbf16>, %init: tensor<8x32xbf16>) -> (tensor<8x32xbf16>, tensor<8x32xbf16>) {
  %n = flashnorm.layer_norm ins(%x : tensor<8x64xbf16>) weight(%g : tensor<64xbf16>) outs(%out : tensor<8x64xbf16>) {eps = 1.0e-05 : f64} -> tensor<8x64xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%init : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  %z = flashnorm.matmul ins(%n, %v : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%init : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  return %y, %z : tensor<8x32xbf16>, tensor<8x32xbf16>
}

// -----

// The norm's bias goes into that of the matmul, which the caller may change.
// REMARK: Function=matmul_bias_not_frozen | {{.*}}: the bias of a matmul after it is neither made of
func.func @matmul_bias_not_frozen(%x: tensor<8x64xbf16>, %h: tensor<64xbf16> {flashnorm.frozen}, %w: tensor<64x32xbf16> {flashnorm.frozen}, %b: tensor<32xbf16>, %out: tensor<8x64xbf16>, %init: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %n = flashnorm.layer_norm ins(%x : tensor<8x64xbf16>) bias(%h : tensor<64xbf16>) outs(%out : tensor<8x64xbf16>) {eps = 1.0e-05 : f64} -> tensor<8x64xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) bias(%b : tensor<32xbf16>) outs(%init : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// -----

// REMARK: Function=f16 | {{.*}}: the centred W may overflow or underflow in f16
func.func @f16(%x: tensor<8x64xf16>, %g: tensor<64xf16> {flashnorm.frozen}, %w: tensor<64x32xf16> {flashnorm.frozen}, %out: tensor<8x64xf16>, %init: tensor<8x32xf16>) -> tensor<8x32xf16> {
  %n = flashnorm.layer_norm ins(%x : tensor<8x64xf16>) weight(%g : tensor<64xf16>) outs(%out : tensor<8x64xf16>) {eps = 1.0e-05 : f64} -> tensor<8x64xf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<8x64xf16>, tensor<64x32xf16>) outs(%init : tensor<8x32xf16>) -> tensor<8x32xf16>
  return %y : tensor<8x32xf16>
}

// -----

// REMARK: Function=short_columns | {{.*}}: K = 32, less than 64: the columns of so short a W may not be roundable to a sum of zero
func.func @short_columns(%x: tensor<8x32xbf16>, %g: tensor<32xbf16> {flashnorm.frozen}, %w: tensor<32x64xbf16> {flashnorm.frozen}, %out: tensor<8x32xbf16>, %init: tensor<8x64xbf16>) -> tensor<8x64xbf16> {
  %n = flashnorm.layer_norm ins(%x : tensor<8x32xbf16>) weight(%g : tensor<32xbf16>) outs(%out : tensor<8x32xbf16>) {eps = 1.0e-05 : f64} -> tensor<8x32xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<8x32xbf16>, tensor<32x64xbf16>) outs(%init : tensor<8x64xbf16>) -> tensor<8x64xbf16>
  return %y : tensor<8x64xbf16>
}

// -----

// A constant W is rounded and looked at: one column is a 100 among small numbers,
// the other has two values only.
// REMARK: Function=few_values | {{.*}}: rounding the centred W to columns that sum to zero makes the error 1.1{{[0-9]+}} times the original's, at most 1.05 is accepted
func.func @few_values(%x: tensor<8x66xbf16>, %out: tensor<8x66xbf16>, %init: tensor<8x2xbf16>) -> tensor<8x2xbf16> {
  %g = arith.constant dense<3.0> : tensor<66xbf16>
  %w = arith.constant dense<"0xC842803F243C803FA43C803F0000803F243C803FA43C803F0000803F243C803FA43C803F0000803F243C803FA43C803F0000803F243C803FA43C803F0000803F243C803FA43C803F0000803F243C803FA43C803F0000803F243C803FA43C803F0000803F243C803FA43C803F0000803F243C803FA43C803F0000803F243C803FA43C803F000081BF243C81BFA43C81BF000081BF243C81BFA43C81BF000081BF243C81BFA43C81BF000081BF243C81BFA43C81BF000081BF243C81BFA43C81BF000081BF243C81BFA43C81BF000081BF243C81BFA43C81BF000081BF243C81BFA43C81BF000081BF243C81BFA43C81BF000081BF243C81BFA43C81BF000081BF243C81BFA43C81BF"> : tensor<66x2xbf16>
  %n = flashnorm.layer_norm ins(%x : tensor<8x66xbf16>) weight(%g : tensor<66xbf16>) outs(%out : tensor<8x66xbf16>) {eps = 1.0e-05 : f64} -> tensor<8x66xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<8x66xbf16>, tensor<66x2xbf16>) outs(%init : tensor<8x2xbf16>) -> tensor<8x2xbf16>
  return %y : tensor<8x2xbf16>
}

// -----

// REMARK: Function=infinite | {{.*}}: the columns of the centred W sum to {{(inf|INF)}} of their length, at most 5.0{{(e|E)}}-06 is accepted
func.func @infinite(%x: tensor<8x64xbf16>, %out: tensor<8x64xbf16>, %init: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  %g = arith.constant dense<3.0> : tensor<64xbf16>
  %w = arith.constant dense<0x7F80> : tensor<64x16xbf16>
  %n = flashnorm.layer_norm ins(%x : tensor<8x64xbf16>) weight(%g : tensor<64xbf16>) outs(%out : tensor<8x64xbf16>) {eps = 1.0e-05 : f64} -> tensor<8x64xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<8x64xbf16>, tensor<64x16xbf16>) outs(%init : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// The caller of @used passes the arguments that it has.
// REMARK: Function=used | {{.*}}: @used, whose arguments would change, is used in the module
func.func private @used(%x: tensor<8x64xbf16>, %g: tensor<64xbf16> {flashnorm.frozen}, %w: tensor<64x32xbf16> {flashnorm.frozen}, %out: tensor<8x64xbf16>, %init: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %n = flashnorm.layer_norm ins(%x : tensor<8x64xbf16>) weight(%g : tensor<64xbf16>) outs(%out : tensor<8x64xbf16>) {eps = 1.0e-05 : f64} -> tensor<8x64xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%init : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}
func.func @caller(%x: tensor<8x64xbf16>, %g: tensor<64xbf16>, %w: tensor<64x32xbf16>, %out: tensor<8x64xbf16>, %init: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %y = call @used(%x, %g, %w, %out, %init) : (tensor<8x64xbf16>, tensor<64xbf16>, tensor<64x32xbf16>, tensor<8x64xbf16>, tensor<8x32xbf16>) -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// -----

// Rows that are scaled already.
// REMARK: Function=scaled | {{.*}}not deferred: a matmul after it has a norm before it already
func.func @scaled(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<8xf32>, %out: tensor<8x64xbf16>, %init: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<8x64xbf16>) outs(%out : tensor<8x64xbf16>) {eps = 1.0e-05 : f64} -> tensor<8x64xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) row_scale(%r : tensor<8xf32>) outs(%init : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}
