// RUN: flashnorm-opt %s --flashnorm-defer-norms --split-input-file \
// RUN:   --verify-roundtrip | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-defer-norms --split-input-file \
// RUN:   --remarks-filter-passed="flashnorm-defer-norms" --remark-policy=all -o %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: flashnorm-opt %s --flashnorm-defer-norms=center-all --split-input-file \
// RUN:   | FileCheck %s --check-prefix=CENTER

// A LayerNorm in front of two matmuls: both weights are centred, with the norm's
// weight in them, and both biases take in the norm's bias. The arguments that
// were there stay, and so does the other reader of a weight.
// REMARK: [Passed] NormDeferred | {{.*}}Function=layer | {{.*}}flashnorm.layer_norm deferred behind the products of 2 matmuls
// CHECK-LABEL: func @layer(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x64xbf16>, %[[G:[^:]*]]: tensor<64xf32> {flashnorm.frozen}, %[[H:[^:]*]]: tensor<64xbf16> {flashnorm.frozen}, %[[W:[^:]*]]: tensor<64x32xbf16> {flashnorm.frozen}, %[[V:[^:]*]]: tensor<48x64xbf16> {flashnorm.frozen},
// CHECK-SAME:    %[[P0:[^:]*]]: tensor<48xf32> {flashnorm.prepared = 0 : i64}, %[[P1:[^:]*]]: tensor<48x64xbf16> {flashnorm.prepared = 1 : i64}, %[[P2:[^:]*]]: tensor<32xf32> {flashnorm.prepared = 2 : i64}, %[[P3:[^:]*]]: tensor<64x32xbf16> {flashnorm.prepared = 3 : i64})
// CHECK-NOT:     layer_norm
// CHECK-DAG:     flashnorm.matmul ins(%[[X]], %[[P3]] : {{.*}}) bias(%[[P2]] : tensor<32xf32>) outs({{.*}}) {pre_norm = #flashnorm.norm<layer, eps = 1.000000e-05>} ->
// CHECK-DAG:     flashnorm.matmul ins(%[[X]], %[[P1]] : {{.*}}) bias(%[[P0]] : tensor<48xf32>) outs({{.*}}) {activation = #flashnorm.activation<gelu>, pre_norm = #flashnorm.norm<layer, eps = 1.000000e-05>, transpose_weight} ->
// CHECK:         flashnorm.matmul ins(%[[X]], %[[W]] : {{.*}}) outs(
// CHECK-LABEL: func @layer_prepare_weights(
// CHECK-SAME:    %[[PH:[^:]*]]: tensor<64xbf16> {flashnorm.source = 2 : i64}, %[[PV:[^:]*]]: tensor<48x64xbf16> {flashnorm.source = 4 : i64}, %[[PB:[^:]*]]: tensor<48xbf16> {flashnorm.source = 7 : i64}, %[[PG:[^:]*]]: tensor<64xf32> {flashnorm.source = 1 : i64}, %[[PW:[^:]*]]: tensor<64x32xbf16> {flashnorm.source = 3 : i64})
// CHECK-DAG:     call @folded_bias(%[[PH]], %[[PV]], %[[PB]])
// CHECK-DAG:     call @centered_weight{{.*}}(%[[PV]], %[[PG]])
// CHECK-DAG:     call @folded_bias{{.*}}(%[[PH]], %[[PW]])
// CHECK-DAG:     call @centered_weight{{.*}}(%[[PW]], %[[PG]])
func.func @layer(
    %x: tensor<?x64xbf16>, %g: tensor<64xf32> {flashnorm.frozen},
    %h: tensor<64xbf16> {flashnorm.frozen}, %w: tensor<64x32xbf16> {flashnorm.frozen},
    %v: tensor<48x64xbf16> {flashnorm.frozen}, %out: tensor<?x64xbf16>,
    %init: tensor<?x32xbf16>, %b: tensor<48xbf16> {flashnorm.frozen}, %init2: tensor<?x48xbf16>)
    -> (tensor<?x32xbf16>, tensor<?x48xbf16>, tensor<?x32xbf16>) {
  %n = flashnorm.layer_norm ins(%x : tensor<?x64xbf16>) weight(%g : tensor<64xf32>) bias(%h : tensor<64xbf16>)
      outs(%out : tensor<?x64xbf16>) {eps = 1.000000e-05 : f64} -> tensor<?x64xbf16>
  %a = flashnorm.matmul ins(%n, %w : tensor<?x64xbf16>, tensor<64x32xbf16>)
      outs(%init : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %c = flashnorm.matmul ins(%n, %v : tensor<?x64xbf16>, tensor<48x64xbf16>) bias(%b : tensor<48xbf16>)
      outs(%init2 : tensor<?x48xbf16>) {transpose_weight, activation = #flashnorm.activation<gelu>} -> tensor<?x48xbf16>
  %d = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>)
      outs(%init : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  return %a, %c, %d : tensor<?x32xbf16>, tensor<?x48xbf16>, tensor<?x32xbf16>
}

// -----

// Without weight and bias nothing is folded: W stays as it is, frozen or not, and
// the sums of its columns are taken; prepared where that can be.
// CHECK-LABEL: func @plain_layer(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x64xbf16>, %[[W:[^:]*]]: tensor<64x32xbf16> {flashnorm.frozen}, %[[V:[^:]*]]: tensor<48x64xbf16>,
// CHECK-SAME:    %[[P:[^:]*]]: tensor<32xf32> {flashnorm.prepared = 0 : i64})
// CHECK:         flashnorm.matmul ins(%[[X]], %[[W]] : {{.*}}) column_sums(%[[P]] : tensor<32xf32>) {{.*}} {pre_norm = #flashnorm.norm<layer
// CHECK:         %[[S:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[V]] : tensor<48x64xbf16>)
// CHECK:         %[[S32:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<48xf64>)
// CHECK:         flashnorm.matmul ins(%[[X]], %[[V]] : {{.*}}) column_sums(%[[S32]] : tensor<48xf32>) bias({{.*}} {pre_norm = #flashnorm.norm<layer
// CHECK:       func private @column_sums(
//
// Asked for, W is centred if it is frozen, and else the norm stays.
// CENTER-LABEL: func @plain_layer(
// CENTER:         flashnorm.layer_norm
// CENTER-NOT:     column_sums
func.func @plain_layer(
    %x: tensor<?x64xbf16>, %w: tensor<64x32xbf16> {flashnorm.frozen},
    %v: tensor<48x64xbf16>, %b: tensor<48xbf16>, %out: tensor<?x64xbf16>, %init: tensor<?x32xbf16>, %init2: tensor<?x48xbf16>)
    -> (tensor<?x32xbf16>, tensor<?x48xbf16>) {
  %n = flashnorm.layer_norm ins(%x : tensor<?x64xbf16>) outs(%out : tensor<?x64xbf16>) {eps = 1.000000e-05 : f64} -> tensor<?x64xbf16>
  %a = flashnorm.matmul ins(%n, %w : tensor<?x64xbf16>, tensor<64x32xbf16>)
      outs(%init : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %c = flashnorm.matmul ins(%n, %v : tensor<?x64xbf16>, tensor<48x64xbf16>) bias(%b : tensor<48xbf16>)
      outs(%init2 : tensor<?x48xbf16>) {transpose_weight} -> tensor<?x48xbf16>
  return %a, %c : tensor<?x32xbf16>, tensor<?x48xbf16>
}

// -----

// CHECK-LABEL: func @plain_frozen_layer(
// CHECK:         column_sums(
// CENTER-LABEL: func @plain_frozen_layer(
// CENTER-SAME:    %[[P:[^:]*]]: tensor<64x32xbf16> {flashnorm.prepared = 0 : i64})
// CENTER:         flashnorm.matmul ins(%{{.*}}, %[[P]] : {{.*}}) outs({{.*}} {pre_norm = #flashnorm.norm<layer
// CENTER:       func private @centered_weight(%{{[^,]*}}) -> tensor<64x32xbf16>
func.func @plain_frozen_layer(
    %x: tensor<?x64xbf16>, %w: tensor<64x32xbf16> {flashnorm.frozen}, %out: tensor<?x64xbf16>, %init: tensor<?x32xbf16>)
    -> tensor<?x32xbf16> {
  %n = flashnorm.layer_norm ins(%x : tensor<?x64xbf16>) outs(%out : tensor<?x64xbf16>) {eps = 1.000000e-05 : f64} -> tensor<?x64xbf16>
  %a = flashnorm.matmul ins(%n, %w : tensor<?x64xbf16>, tensor<64x32xbf16>)
      outs(%init : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  return %a : tensor<?x32xbf16>
}

// -----

// An RMSNorm without weight asks nothing of W; its statistic is computed from x.
// Reshapes of the rows stay where they are.
// CHECK-LABEL: func @rms_with_statistic(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x?x64xbf16>
// CHECK-DAG:     %[[S:.*]] = flashnorm.row_statistics ins(%[[X]] : tensor<2x?x64xbf16>) outs({{.*}}) {norm = #flashnorm.norm<rms, eps = 1.000000e-05>} -> tensor<2x?xf32>
// CHECK-DAG:     %[[C:.*]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1], [2]]
// CHECK:         %[[Y:.*]] = flashnorm.matmul ins(%[[C]], {{.*}} {pre_norm = #flashnorm.norm<rms, eps = 1.000000e-05>}
// CHECK:         return %[[Y]], %[[S]]
func.func @rms_with_statistic(
    %x: tensor<2x?x64xbf16>, %w: tensor<64x32xbf16>, %out: tensor<2x?x64xbf16>, %rows: tensor<2x?xf32>, %init: tensor<?x32xbf16>)
    -> (tensor<?x32xbf16>, tensor<2x?xf32>) {
  %n:2 = flashnorm.rms_norm ins(%x : tensor<2x?x64xbf16>) outs(%out, %rows : tensor<2x?x64xbf16>, tensor<2x?xf32>)
      {eps = 1.000000e-05 : f64} -> tensor<2x?x64xbf16>, tensor<2x?xf32>
  %c = tensor.collapse_shape %n#0 [[0, 1], [2]] : tensor<2x?x64xbf16> into tensor<?x64xbf16>
  %a = flashnorm.matmul ins(%c, %w : tensor<?x64xbf16>, tensor<64x32xbf16>)
      outs(%init : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  return %a, %n#1 : tensor<?x32xbf16>, tensor<2x?xf32>
}

// -----

// An RMSNorm's weight is folded as --flashnorm-fold-norm-weight does it.
// CHECK-LABEL: func @weighted_rms(
// CHECK-SAME:    %[[P:[^:]*]]: tensor<64x32xbf16> {flashnorm.prepared = 0 : i64})
// CHECK:         flashnorm.matmul ins(%{{.*}}, %[[P]] : {{.*}}) outs({{.*}}) {pre_norm = #flashnorm.norm<rms, eps = 1.000000e-05>} ->
// CHECK:       func private @weight_product(
func.func @weighted_rms(
    %x: tensor<?x64xbf16>, %g: tensor<64xbf16> {flashnorm.frozen},
    %w: tensor<64x32xbf16> {flashnorm.frozen}, %out: tensor<?x64xbf16>, %init: tensor<?x32xbf16>)
    -> tensor<?x32xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<?x64xbf16>) weight(%g : tensor<64xbf16>)
      outs(%out : tensor<?x64xbf16>) {eps = 1.000000e-05 : f64} -> tensor<?x64xbf16>
  %a = flashnorm.matmul ins(%n, %w : tensor<?x64xbf16>, tensor<64x32xbf16>)
      outs(%init : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  return %a : tensor<?x32xbf16>
}

// -----

// The bias by itself is folded, the weight stays.
// CHECK-LABEL: func @bias_alone(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x64xbf16>, %{{[^:]*}}: tensor<64xbf16> {flashnorm.frozen}, %[[W:[^:]*]]: tensor<64x32xbf16> {flashnorm.frozen}
// CHECK-SAME:    %[[B:[^:]*]]: tensor<32xf32> {flashnorm.prepared = 0 : i64}, %[[S:[^:]*]]: tensor<32xf32> {flashnorm.prepared = 1 : i64})
// CHECK:         flashnorm.matmul ins(%[[X]], %[[W]] : {{.*}}) column_sums(%[[S]] : tensor<32xf32>) bias(%[[B]] : tensor<32xf32>)
// CENTER-LABEL: func @bias_alone(
// CENTER-NOT:     column_sums
func.func @bias_alone(
    %x: tensor<?x64xbf16>, %h: tensor<64xbf16> {flashnorm.frozen},
    %w: tensor<64x32xbf16> {flashnorm.frozen}, %out: tensor<?x64xbf16>, %init: tensor<?x32xbf16>)
    -> tensor<?x32xbf16> {
  %n = flashnorm.layer_norm ins(%x : tensor<?x64xbf16>) bias(%h : tensor<64xbf16>)
      outs(%out : tensor<?x64xbf16>) {eps = 1.000000e-05 : f64} -> tensor<?x64xbf16>
  %a = flashnorm.matmul ins(%n, %w : tensor<?x64xbf16>, tensor<64x32xbf16>)
      outs(%init : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  return %a : tensor<?x32xbf16>
}
