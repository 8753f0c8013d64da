// RUN: flashnorm-opt %s --flashnorm-fold-norm-weight --split-input-file \
// RUN:   --verify-roundtrip | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-fold-norm-weight --flashnorm-fold-norm-weight \
// RUN:   --split-input-file | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-fold-norm-weight --split-input-file \
// RUN:   --remarks-filter-passed="flashnorm-fold-norm-weight" --remark-policy=all -o %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// Both layouts: the norm's weight runs along K. Two consumers of one weight
// share the product, and the weight's other reader keeps the old argument. The
// second RUN line shows that another run changes nothing.
// REMARK: [Passed] NormWeightFolded | {{.*}}Function=layouts | {{.*}}weight of flashnorm.rms_norm folded into the weights of 3 matmuls after it
// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[$ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$COLUMN:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @layouts(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x64xbf16>, %[[G:[^:]*]]: tensor<64xbf16> {flashnorm.frozen}, %[[KN:[^:]*]]: tensor<64x32xbf16> {flashnorm.frozen}, %[[NK:[^:]*]]: tensor<32x64xbf16> {flashnorm.frozen}, %[[OUT:[^:]*]]: tensor<?x64xbf16>, %[[INIT:[^:]*]]: tensor<?x32xbf16>
// CHECK-SAME:    %[[P0:[^:]*]]: tensor<64x32xbf16> {flashnorm.prepared = 0 : i64}, %[[P1:[^:]*]]: tensor<32x64xbf16> {flashnorm.prepared = 1 : i64})
// CHECK-SAME:    attributes {flashnorm.prepare_weights = @layouts_prepare_weights}
// CHECK:         %[[N:.*]] = flashnorm.rms_norm ins(%[[X]] : tensor<?x64xbf16>) outs(
// CHECK-SAME:      {eps = 1.000000e-05 : f64} ->
// CHECK:         flashnorm.matmul ins(%[[N]], %[[P0]] :
// CHECK:         flashnorm.matmul ins(%[[N]], %[[P1]] : {{.*}}transpose_weight
// CHECK:         flashnorm.matmul ins(%[[N]], %[[P0]] :
// CHECK:         flashnorm.matmul ins(%[[X]], %[[KN]] :
// CHECK-LABEL: func @layouts_prepare_weights(
// CHECK-SAME:    %[[PG:[^:]*]]: tensor<64xbf16> {flashnorm.source = 1 : i64}, %[[PKN:[^:]*]]: tensor<64x32xbf16> {flashnorm.source = 2 : i64}, %[[PNK:[^:]*]]: tensor<32x64xbf16> {flashnorm.source = 3 : i64}) -> (tensor<64x32xbf16>, tensor<32x64xbf16>)
// CHECK:         %[[R0:.*]] = call @[[KN_PRODUCT:[^(]*]](%[[PG]], %[[PKN]])
// CHECK:         %[[R1:.*]] = call @[[NK_PRODUCT:[^(]*]](%[[PG]], %[[PNK]])
// CHECK:         return %[[R0]], %[[R1]]
// CHECK:       func.func private @[[KN_PRODUCT]](%[[PG:.*]]: tensor<64xbf16>, %[[PKN:.*]]: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
//                Sums of the errors and of the sizes of each column.
// CHECK:         %[[S0:.*]]:2 = linalg.generic {indexing_maps = [#[[$ROW]], #[[$ALL]], #[[$COLUMN]], #[[$COLUMN]]], iterator_types = ["reduction", "parallel"]} ins(%[[PG]], %[[PKN]] :
// CHECK-NEXT:    ^bb0(%[[A:.*]]: bf16, %[[B:.*]]: bf16, %[[SUM:.*]]: f32, %[[SIZE:.*]]: f32):
// CHECK-NEXT:      %[[A32:.*]] = arith.extf %[[A]] : bf16 to f32
// CHECK-NEXT:      %[[B32:.*]] = arith.extf %[[B]] : bf16 to f32
// CHECK-NEXT:      %[[AB:.*]] = arith.mulf %[[A32]], %[[B32]] : f32
// CHECK:           linalg.index 0
// CHECK:           %[[T:.*]] = arith.truncf %{{.*}} : f32 to bf16
// CHECK-NEXT:      %[[T32:.*]] = arith.extf %[[T]] : bf16 to f32
// CHECK-NEXT:      %[[ERROR:.*]] = arith.subf %[[AB]], %[[T32]] : f32
// CHECK-NEXT:      %[[SUM1:.*]] = arith.addf %[[SUM]], %[[ERROR]] : f32
// CHECK:           linalg.yield %[[SUM1]],
//                The first shift, and the secant through its sum.
// CHECK:         %[[T1:.*]] = linalg.generic {{.*}}["parallel"]} ins(%[[S0]]#0, %[[S0]]#1 :
// CHECK:         %[[S1:.*]] = linalg.generic {{.*}}["reduction", "parallel"]} ins(%[[PG]], %[[PKN]], %[[T1]] :
// CHECK:         %[[T2:.*]] = linalg.generic {{.*}}["parallel"]} ins(%[[S0]]#0, %[[S1]], %[[T1]] :
// CHECK:         %[[S2:.*]] = linalg.generic {{.*}}["reduction", "parallel"]} ins(%[[PG]], %[[PKN]], %[[T2]] :
// CHECK:         %[[SHIFT:.*]] = linalg.generic {{.*}}["parallel"]} ins(%[[S0]]#0, %[[S2]], %[[T2]] :
// CHECK:         %[[R0:.*]] = linalg.generic {indexing_maps = [#[[$ROW]], #[[$ALL]], #[[$COLUMN]], #[[$ALL]]], iterator_types = ["parallel", "parallel"]} ins(%[[PG]], %[[PKN]], %[[SHIFT]] :
// CHECK:           %[[T:.*]] = arith.truncf %{{.*}} : f32 to bf16
// CHECK-NEXT:      linalg.yield %[[T]]
// CHECK:         return %[[R0]]
// CHECK:       func.func private @[[NK_PRODUCT]](%[[PG:.*]]: tensor<64xbf16>, %[[PNK:.*]]: tensor<32x64xbf16>) -> tensor<32x64xbf16> {
// CHECK:         linalg.generic {indexing_maps = [#[[$COLUMN]], #[[$ALL]], #[[$ROW]], #[[$ROW]]], iterator_types = ["parallel", "reduction"]} ins(%[[PG]], %[[PNK]] :
// CHECK:           linalg.index 1
// CHECK:         %[[R1:.*]] = linalg.generic {indexing_maps = [#[[$COLUMN]], #[[$ALL]], #[[$ROW]], #[[$ALL]]], iterator_types = ["parallel", "parallel"]} ins(%[[PG]], %[[PNK]],
// CHECK:         return %[[R1]]
func.func @layouts(
    %x: tensor<?x64xbf16>, %g: tensor<64xbf16> {flashnorm.frozen},
    %kn: tensor<64x32xbf16> {flashnorm.frozen},
    %nk: tensor<32x64xbf16> {flashnorm.frozen}, %out: tensor<?x64xbf16>,
    %init: tensor<?x32xbf16>)
    -> (tensor<?x32xbf16>, tensor<?x32xbf16>, tensor<?x32xbf16>, tensor<?x32xbf16>) {
  %n = flashnorm.rms_norm ins(%x : tensor<?x64xbf16>)
      weight(%g : tensor<64xbf16>) outs(%out : tensor<?x64xbf16>)
      {cast = #flashnorm.cast_position<before_affine>, eps = 1.000000e-05 : f64}
      -> tensor<?x64xbf16>
  %a = flashnorm.matmul ins(%n, %kn : tensor<?x64xbf16>, tensor<64x32xbf16>)
      outs(%init : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %b = flashnorm.matmul ins(%n, %nk : tensor<?x64xbf16>, tensor<32x64xbf16>)
      outs(%init : tensor<?x32xbf16>) {transpose_weight} -> tensor<?x32xbf16>
  %c = flashnorm.matmul ins(%n, %kn : tensor<?x64xbf16>, tensor<64x32xbf16>)
      residual(%a : tensor<?x32xbf16>) outs(%init : tensor<?x32xbf16>)
      -> tensor<?x32xbf16>
  %d = flashnorm.matmul ins(%x, %kn : tensor<?x64xbf16>, tensor<64x32xbf16>)
      outs(%init : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  return %a, %b, %c, %d : tensor<?x32xbf16>, tensor<?x32xbf16>,
                          tensor<?x32xbf16>, tensor<?x32xbf16>
}

// -----

// A reshape of leading dimensions stands in between; the norm's weight is f32,
// and tensor.dim is no reader.
// CHECK-LABEL: func @through_reshape(
// CHECK-SAME:    %[[P:[^:]*]]: tensor<64x32xbf16> {flashnorm.prepared = 0 : i64})
// CHECK:         %[[N:.*]] = flashnorm.rms_norm ins(%{{.*}}) outs(
// CHECK:         %[[C:.*]] = tensor.collapse_shape %[[N]]
// CHECK:         flashnorm.matmul ins(%[[C]], %[[P]] :
// CHECK-LABEL: func @through_reshape_prepare_weights(
// CHECK:         call @[[PRODUCT:[^(]*]](
// CHECK:       func.func private @[[PRODUCT]](
// CHECK:           ^bb0(%[[G:.*]]: f32, %[[W:.*]]: bf16, %{{.*}}: f32, %{{.*}}: f32):
// CHECK-NEXT:        %[[W32:.*]] = arith.extf %[[W]] : bf16 to f32
// CHECK-NEXT:        arith.mulf %[[G]], %[[W32]] : f32
func.func @through_reshape(
    %x: tensor<2x?x64xbf16>, %g: tensor<64xf32> {flashnorm.frozen},
    %w: tensor<64x32xbf16> {flashnorm.frozen}, %init: tensor<?x32xbf16>)
    -> (tensor<?x32xbf16>, index) {
  %c1 = arith.constant 1 : index
  %n = flashnorm.rms_norm ins(%x : tensor<2x?x64xbf16>)
      weight(%g : tensor<64xf32>) outs(%x : tensor<2x?x64xbf16>)
      {eps = 1.000000e-05 : f64} -> tensor<2x?x64xbf16>
  %d = tensor.dim %n, %c1 : tensor<2x?x64xbf16>
  %c = tensor.collapse_shape %n [[0, 1], [2]]
      : tensor<2x?x64xbf16> into tensor<?x64xbf16>
  %y = flashnorm.matmul ins(%c, %w : tensor<?x64xbf16>, tensor<64x32xbf16>)
      outs(%init : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  return %y, %d : tensor<?x32xbf16>, index
}

// -----

// Weights behind static reshapes, as TOSA needs them: the prepare function
// reshapes, too.
// CHECK-LABEL: func @weights_behind_reshapes(
// CHECK-SAME:    %[[P:[^:]*]]: tensor<64x32xbf16> {flashnorm.prepared = 0 : i64})
// CHECK:         flashnorm.matmul ins(%{{.*}}, %[[P]] :
// CHECK-LABEL: func @weights_behind_reshapes_prepare_weights(
// CHECK-SAME:    %[[G:.*]]: tensor<1x64xbf16> {flashnorm.source = 1 : i64}, %[[W:.*]]: tensor<1x64x32xbf16> {flashnorm.source = 2 : i64}) -> tensor<64x32xbf16>
// CHECK:         %[[G1:.*]] = tensor.collapse_shape %[[G]] {{\[}}[0, 1]]
// CHECK:         %[[W1:.*]] = tensor.collapse_shape %[[W]] {{\[}}[0, 1], [2]]
// CHECK:         call @{{.*}}(%[[G1]], %[[W1]])
func.func @weights_behind_reshapes(
    %x: tensor<8x64xbf16>, %g: tensor<1x64xbf16> {flashnorm.frozen},
    %w: tensor<1x64x32xbf16> {flashnorm.frozen}, %init: tensor<8x32xbf16>)
    -> tensor<8x32xbf16> {
  %g1 = tensor.collapse_shape %g [[0, 1]] : tensor<1x64xbf16> into tensor<64xbf16>
  %w1 = tensor.collapse_shape %w [[0, 1], [2]]
      : tensor<1x64x32xbf16> into tensor<64x32xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<8x64xbf16>)
      weight(%g1 : tensor<64xbf16>) outs(%x : tensor<8x64xbf16>)
      {eps = 1.000000e-05 : f64} -> tensor<8x64xbf16>
  %y = flashnorm.matmul ins(%n, %w1 : tensor<8x64xbf16>, tensor<64x32xbf16>)
      outs(%init : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// -----

// A prepare function that is there is extended: the norm's weight, which it has
// already, is not asked for twice.
// CHECK-LABEL: func @extended(
// CHECK-SAME:    %{{[^:]*}}: tensor<4x8xf32> {flashnorm.prepared = 0 : i64}, %[[P:[^:]*]]: tensor<4x8xf32> {flashnorm.prepared = 1 : i64})
// CHECK:         flashnorm.matmul ins(%{{.*}}, %[[P]] :
// CHECK-LABEL: func @prepare(
// CHECK-SAME:    %[[G:[^:]*]]: tensor<4xf32> {flashnorm.source = 1 : i64}, %[[W0:[^:]*]]: tensor<4x8xf32> {flashnorm.source = 2 : i64}, %[[W1:[^:]*]]: tensor<4x8xf32> {flashnorm.source = 3 : i64}) -> (tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK:         %[[R:.*]] = call @{{.*}}(%[[G]], %[[W1]])
// CHECK:         return %[[W0]], %[[R]]
func.func @extended(
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
func.func @prepare(%g: tensor<4xf32> {flashnorm.source = 1 : i64},
                   %w0: tensor<4x8xf32> {flashnorm.source = 2 : i64})
    -> tensor<4x8xf32> {
  return %w0 : tensor<4x8xf32>
}

// -----

// A constant beside a frozen argument goes into the prepare function; the name
// that it would get is taken.
// CHECK-LABEL: func @constant_norm_weight(
// CHECK-SAME:    flashnorm.prepared = 0 : i64
// CHECK-SAME:    attributes {flashnorm.prepare_weights = @[[PREPARE:.*]]}
// CHECK:       func.func @[[PREPARE]](%[[W:.*]]: tensor<2x8xf32> {flashnorm.source = 1 : i64}) -> tensor<2x8xf32>
// CHECK:         %[[G:.*]] = arith.constant dense<[2.000000e+00, 3.000000e+00]>
// CHECK:         call @[[PRODUCT:[^(]*]](%[[G]], %[[W]])
// CHECK:       func.func private @constant_norm_weight_prepare_weights()
//              f32 needs no rounding.
// CHECK:       func.func private @[[PRODUCT]](%[[G:.*]]: tensor<2xf32>, %[[W:.*]]: tensor<2x8xf32>
// CHECK-NOT:     "reduction"
// CHECK:         linalg.generic {{.*}} ins(%[[G]], %[[W]] :
func.func @constant_norm_weight(
    %x: tensor<2x2xf32>, %w: tensor<2x8xf32> {flashnorm.frozen},
    %init: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %g = arith.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %n = flashnorm.rms_norm ins(%x : tensor<2x2xf32>) weight(%g : tensor<2xf32>)
      outs(%x : tensor<2x2xf32>) {eps = 1.000000e-05 : f64} -> tensor<2x2xf32>
  %y = flashnorm.matmul ins(%n, %w : tensor<2x2xf32>, tensor<2x8xf32>)
      outs(%init : tensor<2x8xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}
func.func private @constant_norm_weight_prepare_weights()

// -----

// Two constants make a third, in both layouts; 1.0078125 squared rounds to
// 1.015625 in bf16. Nothing of the signature changes, so that callers may stay.
// CHECK-LABEL: func @constants(
// CHECK-SAME:    %{{[^:]*}}: tensor<2x2xbf16>, %{{[^:]*}}: tensor<2x3xbf16>) ->
// CHECK-DAG:     %[[KN:.*]] = arith.constant dense<{{\[}}[1.015630e+00, 2.015630e+00, 3.031250e+00], [2.000000e+00, 4.000000e+00, 6.000000e+00]]> : tensor<2x3xbf16>
// CHECK-DAG:     %[[NK:.*]] = arith.constant dense<{{\[}}[1.007810e+00, 4.000000e+00], [3.031250e+00, 8.000000e+00], [5.031250e+00, 1.200000e+01]]> : tensor<3x2xbf16>
// CHECK:         flashnorm.matmul ins(%{{.*}}, %[[KN]] :
// CHECK:         flashnorm.matmul ins(%{{.*}}, %[[NK]] :
func.func @constants(%x: tensor<2x2xbf16>, %init: tensor<2x3xbf16>)
    -> (tensor<2x3xbf16>, tensor<2x3xbf16>) {
  %g = arith.constant dense<[1.0078125, 2.0]> : tensor<2xf32>
  %kn = arith.constant dense<[[1.0078125, 2.0, 3.0], [1.0, 2.0, 3.0]]> : tensor<2x3xbf16>
  %nk = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<2x2xbf16>) weight(%g : tensor<2xf32>)
      outs(%x : tensor<2x2xbf16>) {eps = 1.000000e-05 : f64} -> tensor<2x2xbf16>
  %y = flashnorm.matmul ins(%n, %kn : tensor<2x2xbf16>, tensor<2x3xbf16>)
      outs(%init : tensor<2x3xbf16>) -> tensor<2x3xbf16>
  %z = flashnorm.matmul ins(%n, %nk : tensor<2x2xbf16>, tensor<3x2xbf16>)
      outs(%init : tensor<2x3xbf16>) {transpose_weight} -> tensor<2x3xbf16>
  return %y, %z : tensor<2x3xbf16>, tensor<2x3xbf16>
}
func.func @caller_of_constants(%x: tensor<2x2xbf16>, %init: tensor<2x3xbf16>)
    -> tensor<2x3xbf16> {
  %y, %z = call @constants(%x, %init) : (tensor<2x2xbf16>, tensor<2x3xbf16>)
      -> (tensor<2x3xbf16>, tensor<2x3xbf16>)
  return %y : tensor<2x3xbf16>
}

// -----

// Half of 1.5 beside the rounding of the result is accurate enough, and all of
// it where the original rounds its products with 1.5, too.
// CHECK-LABEL: func @half_threes(
// CHECK-SAME:    attributes {flashnorm.prepare_weights
// CHECK-NOT:     weight(
// CHECK:       func.func @half_threes_prepare_weights(
func.func @half_threes(%x: tensor<2x4xbf16>,
    %w: tensor<4x256xbf16> {flashnorm.frozen}, %init: tensor<2x256xbf16>) -> tensor<2x256xbf16> {
  %g = arith.constant dense<[1.5, 1.5, 1.25, 1.25]> : tensor<4xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<2x4xbf16>) weight(%g : tensor<4xbf16>)
      outs(%x : tensor<2x4xbf16>) {eps = 1.000000e-05 : f64} -> tensor<2x4xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<2x4xbf16>, tensor<4x256xbf16>)
      outs(%init : tensor<2x256xbf16>) -> tensor<2x256xbf16>
  return %y : tensor<2x256xbf16>
}
// CHECK-LABEL: func @threes_rounded_before(
// CHECK-NOT:     weight(
// CHECK:       func.func @threes_rounded_before_prepare_weights(
func.func @threes_rounded_before(%x: tensor<2x4xbf16>,
    %w: tensor<4x256xbf16> {flashnorm.frozen}, %init: tensor<2x256xbf16>) -> tensor<2x256xbf16> {
  %g = arith.constant dense<1.5> : tensor<4xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<2x4xbf16>) weight(%g : tensor<4xbf16>)
      outs(%x : tensor<2x4xbf16>)
      {eps = 1.000000e-05 : f64, cast = #flashnorm.cast_position<before_affine>}
      -> tensor<2x4xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<2x4xbf16>, tensor<4x256xbf16>)
      outs(%init : tensor<2x256xbf16>) -> tensor<2x256xbf16>
  return %y : tensor<2x256xbf16>
}

// -----

// A weight computed from a frozen argument, as Gemma's 1 + g: the prepare
// function computes it again. Both products read one copy.
// REMARK: Function=computed | {{.*}}folded into the weights of 2 matmuls after it
// CHECK-LABEL: func @computed(
// CHECK-SAME:    %[[P0:[^:]*]]: tensor<64x16xbf16> {flashnorm.prepared = 0 : i64}, %[[P1:[^:]*]]: tensor<64x32xbf16> {flashnorm.prepared = 1 : i64})
// CHECK:         flashnorm.rms_norm ins(%{{.+}} : tensor<?x64xbf16>) outs(
// CHECK:         flashnorm.matmul ins(%{{.+}}, %[[P1]] :
// CHECK:         flashnorm.matmul ins(%{{.+}}, %[[P0]] :
// CHECK-LABEL: func @computed_prepare_weights(
// CHECK-SAME:    %[[G:[^:]*]]: tensor<64xbf16> {flashnorm.source = 1 : i64}, %[[B:[^:]*]]: tensor<64x16xbf16> {flashnorm.source = 3 : i64}, %[[A:[^:]*]]: tensor<64x32xbf16> {flashnorm.source = 2 : i64})
// CHECK-DAG:     %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<64xf32>
// CHECK-DAG:     %[[WIDE:.*]] = arith.extf %[[G]]
// CHECK:         %[[G1:.*]] = arith.addf %[[WIDE]], %[[ONE]]
// CHECK-NOT:     arith.addf
// CHECK:         call @{{.+}}(%[[G1]], %[[B]])
// CHECK-NOT:     arith.addf
// CHECK:         call @{{.+}}(%[[G1]], %[[A]])
func.func @computed(
    %x: tensor<?x64xbf16>, %g: tensor<64xbf16> {flashnorm.frozen},
    %a: tensor<64x32xbf16> {flashnorm.frozen}, %b: tensor<64x16xbf16> {flashnorm.frozen},
    %n_init: tensor<?x64xbf16>, %a_init: tensor<?x32xbf16>, %b_init: tensor<?x16xbf16>)
    -> (tensor<?x32xbf16>, tensor<?x16xbf16>) {
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %wide = arith.extf %g : tensor<64xbf16> to tensor<64xf32>
  %g1 = arith.addf %wide, %one : tensor<64xf32>
  %n = flashnorm.rms_norm ins(%x : tensor<?x64xbf16>) weight(%g1 : tensor<64xf32>) outs(%n_init : tensor<?x64xbf16>) {eps = 1.0e-05 : f64} -> tensor<?x64xbf16>
  %y = flashnorm.matmul ins(%n, %a : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%a_init : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  %z = flashnorm.matmul ins(%n, %b : tensor<?x64xbf16>, tensor<64x16xbf16>) outs(%b_init : tensor<?x16xbf16>) -> tensor<?x16xbf16>
  return %y, %z : tensor<?x32xbf16>, tensor<?x16xbf16>
}
