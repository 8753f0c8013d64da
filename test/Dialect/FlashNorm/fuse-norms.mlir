// RUN: flashnorm-opt %s --flashnorm-fuse-norms="chip=sm_80" --split-input-file \
// RUN:   --verify-roundtrip | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-fuse-norms="chip=sm_80" --split-input-file \
// RUN:   --remarks-filter-passed="flashnorm-fuse-norms" --remark-policy=all \
// RUN:   -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// A layer norm with weight and bias goes into the epilogue of the matmul whose
// bias it follows; the element type of the result is that of the norm.
// REMARK: remark: [Passed] NormFused | {{.*}}Function=post_layer_norm {{.*}}flashnorm.layer_norm fused into the matmul before it: wide_tile, mma_sync, tile {{[0-9]+}}x256x{{[0-9]+}}
// CHECK-LABEL: func @post_layer_norm(
// CHECK-SAME:    %[[X:.*]]: tensor<?x512xbf16>, %[[W:.*]]: tensor<256x512xbf16>, %[[B:.*]]: tensor<256xbf16>, %[[G:.*]]: tensor<256xf32>, %[[NB:.*]]: tensor<256xf32>, %[[INIT:.*]]: tensor<?x256xbf16>, %{{.*}}: tensor<?x256xf32>)
// CHECK:         %[[EMPTY:.*]] = tensor.empty(%{{.*}}) : tensor<?x256xf32>
// CHECK-NEXT:    %[[Y:.*]] = flashnorm.matmul ins(%[[X]], %[[W]] :
// CHECK-SAME:      bias(%[[B]] : {{.*}}) norm_weight(%[[G]] : {{.*}}) norm_bias(%[[NB]] :
// CHECK-SAME:      outs(%[[EMPTY]] : tensor<?x256xf32>)
// CHECK-SAME:      post_norm = #flashnorm.norm<layer, eps = 1.000000e-05>, transpose_weight
// CHECK-NEXT:    return %[[Y]]
// CHECK-NOT:     flashnorm.layer_norm
func.func @post_layer_norm(
    %x: tensor<?x512xbf16>, %w: tensor<256x512xbf16>, %b: tensor<256xbf16>,
    %g: tensor<256xf32>, %nb: tensor<256xf32>, %init: tensor<?x256xbf16>,
    %out: tensor<?x256xf32>) -> tensor<?x256xf32> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x512xbf16>, tensor<256x512xbf16>)
      bias(%b : tensor<256xbf16>) outs(%init : tensor<?x256xbf16>)
      {transpose_weight} -> tensor<?x256xbf16>
  %n = flashnorm.layer_norm ins(%y : tensor<?x256xbf16>)
      weight(%g : tensor<256xf32>) bias(%nb : tensor<256xf32>)
      outs(%out : tensor<?x256xf32>) {eps = 1.000000e-05 : f64}
      -> tensor<?x256xf32>
  return %n : tensor<?x256xf32>
}

// -----

// Reshapes of the leading dimensions stand between the two; tensor.dim is no
// reader of the value, so that there is no second result.
// CHECK-LABEL: func @post_through_reshapes(
// CHECK-SAME:    %[[X:.*]]: tensor<12x512xbf16>, %{{.*}}, %[[INIT:.*]]: tensor<12x128xbf16>, %{{.*}}: tensor<3x4x128xbf16>)
// CHECK:         %[[Y:.*]] = flashnorm.matmul
// CHECK-SAME:      outs(%[[INIT]] : tensor<12x128xbf16>) {post_norm = #flashnorm.norm<rms, eps = 9.99{{[0-9]+}}E-7>} -> tensor<12x128xbf16>
// CHECK-NEXT:    %[[E:.*]] = tensor.expand_shape %[[Y]] {{\[}}[0, 1], [2]] output_shape [3, 4, 128] : tensor<12x128xbf16> into tensor<3x4x128xbf16>
// CHECK:         return %[[E]]
func.func @post_through_reshapes(
    %x: tensor<12x512xbf16>, %w: tensor<512x128xbf16>,
    %init: tensor<12x128xbf16>, %out: tensor<3x4x128xbf16>)
    -> (tensor<3x4x128xbf16>, index) {
  %c0 = arith.constant 0 : index
  %y = flashnorm.matmul ins(%x, %w : tensor<12x512xbf16>, tensor<512x128xbf16>)
      outs(%init : tensor<12x128xbf16>) -> tensor<12x128xbf16>
  %e = tensor.expand_shape %y [[0, 1], [2]] output_shape [3, 4, 128]
      : tensor<12x128xbf16> into tensor<3x4x128xbf16>
  %d = tensor.dim %e, %c0 : tensor<3x4x128xbf16>
  %n = flashnorm.rms_norm ins(%e : tensor<3x4x128xbf16>)
      outs(%out : tensor<3x4x128xbf16>) {eps = 9.9999999999999995E-7 : f64}
      -> tensor<3x4x128xbf16>
  return %n, %d : tensor<3x4x128xbf16>, index
}

// -----

// The sum that feeds the next residual is read besides the norm: it becomes the
// second result, and the fused op stays where its first reader finds it.
// CHECK-LABEL: func @post_with_sum(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x512xf16>, %[[W:[^:]*]]: tensor<512x256xf16>, %[[R:[^:]*]]: tensor<?x256xf16>, %[[G:[^:]*]]: tensor<256xf16>, %[[INIT:[^:]*]]: tensor<?x256xf16>
// CHECK:         %[[EMPTY:.*]] = tensor.empty(%{{.*}}) : tensor<?x256xf16>
// CHECK-NEXT:    %[[Y:.*]]:2 = flashnorm.matmul ins(%[[X]], %[[W]] : {{.*}}) residual(%[[R]] : {{.*}}) norm_weight(%[[G]] :
// CHECK-SAME:      outs(%[[EMPTY]], %[[INIT]] :
// CHECK-SAME:      {post_norm = #flashnorm.norm<rms, eps = 1.000000e-05>} -> tensor<?x256xf16>, tensor<?x256xf16>
// CHECK-NEXT:    %[[A:.*]] = arith.addf %[[Y]]#1, %[[R]]
// CHECK-NEXT:    return %[[Y]]#0, %[[A]]
func.func @post_with_sum(
    %x: tensor<?x512xf16>, %w: tensor<512x256xf16>, %r: tensor<?x256xf16>,
    %g: tensor<256xf16>, %init: tensor<?x256xf16>, %out: tensor<?x256xf16>)
    -> (tensor<?x256xf16>, tensor<?x256xf16>) {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x512xf16>, tensor<512x256xf16>)
      residual(%r : tensor<?x256xf16>) outs(%init : tensor<?x256xf16>)
      -> tensor<?x256xf16>
  %a = arith.addf %y, %r : tensor<?x256xf16>
  %n = flashnorm.rms_norm ins(%y : tensor<?x256xf16>)
      weight(%g : tensor<256xf16>) outs(%out : tensor<?x256xf16>)
      {cast = #flashnorm.cast_position<before_affine>, eps = 1.000000e-05 : f64}
      -> tensor<?x256xf16>
  return %n, %a : tensor<?x256xf16>, tensor<?x256xf16>
}

// -----

// One norm feeds q, k and v, each behind its own reshape: all three are
// deferred and read the norm's input.
// REMARK: remark: [Passed] NormFused | {{.*}}Function=pre_shared {{.*}}flashnorm.rms_norm fused into the 3 matmuls after it: lazy_pre_norm
// CHECK-LABEL: func @pre_shared(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<1x?x512xbf16>
// CHECK-NOT:     flashnorm.rms_norm
// CHECK:         flashnorm.matmul ins(%[[X]], {{.*}} {pre_norm = #flashnorm.norm<rms, eps = 1.000000e-05>, transpose_weight} -> tensor<1x?x1024xbf16>
// CHECK:         %[[C:.*]] = tensor.collapse_shape %[[X]]
// CHECK-COUNT-2: flashnorm.matmul ins(%[[C]], {{.*}} {pre_norm = #flashnorm.norm<rms, eps = 1.000000e-05>, transpose_weight} -> tensor<?x1024xbf16>
func.func @pre_shared(
    %x: tensor<1x?x512xbf16>, %wq: tensor<1024x512xbf16>,
    %wk: tensor<1024x512xbf16>, %wv: tensor<1024x512xbf16>,
    %out: tensor<1x?x512xbf16>, %q_init: tensor<1x?x1024xbf16>,
    %kv_init: tensor<?x1024xbf16>)
    -> (tensor<1x?x1024xbf16>, tensor<?x1024xbf16>, tensor<?x1024xbf16>) {
  %n = flashnorm.rms_norm ins(%x : tensor<1x?x512xbf16>)
      outs(%out : tensor<1x?x512xbf16>) {eps = 1.000000e-05 : f64}
      -> tensor<1x?x512xbf16>
  %q = flashnorm.matmul ins(%n, %wq : tensor<1x?x512xbf16>, tensor<1024x512xbf16>)
      outs(%q_init : tensor<1x?x1024xbf16>) {transpose_weight}
      -> tensor<1x?x1024xbf16>
  %c = tensor.collapse_shape %n [[0, 1], [2]]
      : tensor<1x?x512xbf16> into tensor<?x512xbf16>
  %k = flashnorm.matmul ins(%c, %wk : tensor<?x512xbf16>, tensor<1024x512xbf16>)
      outs(%kv_init : tensor<?x1024xbf16>) {transpose_weight}
      -> tensor<?x1024xbf16>
  %v = flashnorm.matmul ins(%c, %wv : tensor<?x512xbf16>, tensor<1024x512xbf16>)
      outs(%kv_init : tensor<?x1024xbf16>) {transpose_weight}
      -> tensor<?x1024xbf16>
  return %q, %k, %v
      : tensor<1x?x1024xbf16>, tensor<?x1024xbf16>, tensor<?x1024xbf16>
}

// -----

// The weight of a norm that is computed lazily is folded; that of one that goes
// into the epilogue before it is not, though it could be.
// REMARK: remark: [Passed] NormFused | {{.*}}Function=weights {{.*}}flashnorm.rms_norm fused into the matmul after it, its weight into that: lazy_pre_norm
// REMARK: remark: [Passed] NormFused | {{.*}}Function=weights {{.*}}flashnorm.rms_norm fused into the matmul before it: wide_tile
// CHECK-LABEL: func @weights(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x512xbf16>, {{.*}} %[[P:[^:]*]]: tensor<512x1024xbf16> {flashnorm.prepared = 0 : i64})
// CHECK-SAME:    flashnorm.prepare_weights = @weights_prepare_weights
// CHECK:         flashnorm.matmul ins(%[[X]], %[[P]] : {{.*}}pre_norm =
// CHECK:         flashnorm.matmul {{.*}} norm_weight({{.*}}post_norm =
// CHECK:         flashnorm.matmul
// CHECK-LABEL: func @weights_prepare_weights(
func.func @weights(
    %x: tensor<?x512xbf16>, %g0: tensor<512xbf16> {flashnorm.frozen},
    %w0: tensor<512x1024xbf16> {flashnorm.frozen},
    %w1: tensor<1024x128xbf16> {flashnorm.frozen},
    %g1: tensor<128xbf16> {flashnorm.frozen},
    %w2: tensor<128x12xbf16> {flashnorm.frozen}, %out: tensor<?x512xbf16>,
    %wide: tensor<?x1024xbf16>, %narrow: tensor<?x128xbf16>,
    %last: tensor<?x12xbf16>) -> tensor<?x12xbf16> {
  %n0 = flashnorm.rms_norm ins(%x : tensor<?x512xbf16>)
      weight(%g0 : tensor<512xbf16>) outs(%out : tensor<?x512xbf16>)
      {eps = 1.000000e-05 : f64} -> tensor<?x512xbf16>
  %a = flashnorm.matmul ins(%n0, %w0 : tensor<?x512xbf16>, tensor<512x1024xbf16>)
      outs(%wide : tensor<?x1024xbf16>) -> tensor<?x1024xbf16>
  %b = flashnorm.matmul ins(%a, %w1 : tensor<?x1024xbf16>, tensor<1024x128xbf16>)
      outs(%narrow : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  %n1 = flashnorm.rms_norm ins(%b : tensor<?x128xbf16>)
      weight(%g1 : tensor<128xbf16>) outs(%narrow : tensor<?x128xbf16>)
      {eps = 1.000000e-05 : f64} -> tensor<?x128xbf16>
  %c = flashnorm.matmul ins(%n1, %w2 : tensor<?x128xbf16>, tensor<128x12xbf16>)
      outs(%last : tensor<?x12xbf16>) -> tensor<?x12xbf16>
  return %c : tensor<?x12xbf16>
}

// -----

// A matmul between two norms takes the first lazily and the second in its wide
// tile.
// CHECK-LABEL: func @pre_and_post(
// CHECK-NOT:     flashnorm.rms_norm
// CHECK:         flashnorm.matmul
// CHECK-SAME:      {post_norm = #flashnorm.norm<rms, eps = 2.000000e-05>, pre_norm = #flashnorm.norm<rms, eps = 1.000000e-05>}
// CHECK-NOT:     flashnorm.rms_norm
func.func @pre_and_post(
    %x: tensor<?x256xbf16>, %w: tensor<256x128xbf16>,
    %out: tensor<?x256xbf16>, %init: tensor<?x128xbf16>) -> tensor<?x128xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<?x256xbf16>)
      outs(%out : tensor<?x256xbf16>) {eps = 1.000000e-05 : f64}
      -> tensor<?x256xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x256xbf16>, tensor<256x128xbf16>)
      outs(%init : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  %m = flashnorm.rms_norm ins(%y : tensor<?x128xbf16>)
      outs(%init : tensor<?x128xbf16>) {eps = 2.000000e-05 : f64}
      -> tensor<?x128xbf16>
  return %m : tensor<?x128xbf16>
}

// -----

// Between two matmuls, the norm of rows too wide for one CTA goes into the
// second, as the first cannot have it.
// CHECK-LABEL: func @pre_where_post_is_too_wide(
// CHECK:         %[[Y:.*]] = flashnorm.matmul ins(%{{.*}}, %{{.*}} : tensor<?x512xbf16>, tensor<512x1024xbf16>)
// CHECK-NOT:       norm
// CHECK:         flashnorm.matmul ins(%[[Y]], {{.*}} {pre_norm = #flashnorm.norm<rms, eps = 1.000000e-05>}
func.func @pre_where_post_is_too_wide(
    %x: tensor<?x512xbf16>, %w0: tensor<512x1024xbf16>,
    %w1: tensor<1024x256xbf16>, %mid: tensor<?x1024xbf16>,
    %init: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %y = flashnorm.matmul ins(%x, %w0 : tensor<?x512xbf16>, tensor<512x1024xbf16>)
      outs(%mid : tensor<?x1024xbf16>) -> tensor<?x1024xbf16>
  %n = flashnorm.rms_norm ins(%y : tensor<?x1024xbf16>)
      outs(%mid : tensor<?x1024xbf16>) {eps = 1.000000e-05 : f64}
      -> tensor<?x1024xbf16>
  %z = flashnorm.matmul ins(%n, %w1 : tensor<?x1024xbf16>, tensor<1024x256xbf16>)
      outs(%init : tensor<?x256xbf16>) -> tensor<?x256xbf16>
  return %z : tensor<?x256xbf16>
}

// -----

// Both matmuls could take the norm; the first makes the statistics only once.
// REMARK: remark: [Passed] NormFused | {{.*}}Function=between_two_matmuls | {{.*}}flashnorm.rms_norm fused into the matmul before it
// CHECK-LABEL: func @between_two_matmuls(
// CHECK:         %[[Y:.*]] = flashnorm.matmul {{.*}} {post_norm = #flashnorm.norm<rms, eps = 1.000000e-05>}
// CHECK-NEXT:    flashnorm.matmul ins(%[[Y]],
// CHECK-NOT:       norm
// CHECK:         return
func.func @between_two_matmuls(
    %x: tensor<?x512xbf16>, %w0: tensor<512x128xbf16>,
    %w1: tensor<128x1024xbf16>, %mid: tensor<?x128xbf16>,
    %init: tensor<?x1024xbf16>) -> tensor<?x1024xbf16> {
  %y = flashnorm.matmul ins(%x, %w0 : tensor<?x512xbf16>, tensor<512x128xbf16>)
      outs(%mid : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  %n = flashnorm.rms_norm ins(%y : tensor<?x128xbf16>)
      outs(%mid : tensor<?x128xbf16>) {eps = 1.000000e-05 : f64}
      -> tensor<?x128xbf16>
  %z = flashnorm.matmul ins(%n, %w1 : tensor<?x128xbf16>, tensor<128x1024xbf16>)
      outs(%init : tensor<?x1024xbf16>) -> tensor<?x1024xbf16>
  return %z : tensor<?x1024xbf16>
}

// -----

// Statistics that are results are computed by an op of their own, from what the
// norm reads: here the second result of the matmul.
// REMARK: remark: [Passed] NormFused | {{.*}}Function=statistics_after | {{.*}}flashnorm.layer_norm fused into the matmul before it
// CHECK-LABEL: func @statistics_after(
// CHECK:         %[[Y:.*]]:2 = flashnorm.matmul {{.*}} {post_norm = #flashnorm.norm<layer, eps = 1.000000e-05>} -> tensor<?x128xbf16>, tensor<?x128xbf16>
// CHECK:         %[[S:.*]]:2 = flashnorm.row_statistics ins(%[[Y]]#1 : tensor<?x128xbf16>) {{.*}} {norm = #flashnorm.norm<layer, eps = 1.000000e-05>} -> tensor<?xf32>, tensor<?xf32>
// CHECK:         return %[[Y]]#0, %[[S]]#0, %[[S]]#1
func.func @statistics_after(
    %x: tensor<?x512xbf16>, %w: tensor<512x128xbf16>,
    %init: tensor<?x128xbf16>, %rows: tensor<?xf32>)
    -> (tensor<?x128xbf16>, tensor<?xf32>, tensor<?xf32>) {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x512xbf16>, tensor<512x128xbf16>)
      outs(%init : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  %n:3 = flashnorm.layer_norm ins(%y : tensor<?x128xbf16>)
      outs(%init, %rows, %rows : tensor<?x128xbf16>, tensor<?xf32>, tensor<?xf32>)
      {eps = 1.000000e-05 : f64} -> tensor<?x128xbf16>, tensor<?xf32>, tensor<?xf32>
  return %n#0, %n#1, %n#2 : tensor<?x128xbf16>, tensor<?xf32>, tensor<?xf32>
}

// -----

// The same in front of a matmul: of x.
// REMARK: remark: [Passed] NormFused | {{.*}}Function=statistics_before | {{.*}}flashnorm.rms_norm fused into the matmul after it
// CHECK-LABEL: func @statistics_before(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x1024xbf16>
// CHECK:         %[[S:.*]] = flashnorm.row_statistics ins(%[[X]] : tensor<?x1024xbf16>) outs({{.*}}) {norm = #flashnorm.norm<rms, eps = 1.000000e-05>} -> tensor<?xf32>
// CHECK:         %[[Y:.*]] = flashnorm.matmul ins(%[[X]], {{.*}} {pre_norm = #flashnorm.norm<rms, eps = 1.000000e-05>}
// CHECK:         return %[[Y]], %[[S]]
func.func @statistics_before(
    %x: tensor<?x1024xbf16>, %w: tensor<1024x128xbf16>, %out: tensor<?x1024xbf16>,
    %init: tensor<?x128xbf16>, %rows: tensor<?xf32>)
    -> (tensor<?x128xbf16>, tensor<?xf32>) {
  %n:2 = flashnorm.rms_norm ins(%x : tensor<?x1024xbf16>)
      outs(%out, %rows : tensor<?x1024xbf16>, tensor<?xf32>)
      {eps = 1.000000e-05 : f64} -> tensor<?x1024xbf16>, tensor<?xf32>
  %y = flashnorm.matmul ins(%n#0, %w : tensor<?x1024xbf16>, tensor<1024x128xbf16>)
      outs(%init : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  return %y, %n#1 : tensor<?x128xbf16>, tensor<?xf32>
}
