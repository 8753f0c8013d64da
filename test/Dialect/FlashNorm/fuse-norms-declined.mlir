// RUN: flashnorm-opt %s --flashnorm-fuse-norms="chip=sm_120" --split-input-file \
// RUN:   | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-fuse-norms="chip=sm_120" --split-input-file \
// RUN:   --remarks-filter-missed="flashnorm-fuse-norms" --remark-policy=all \
// RUN:   -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// A row does not fit into one CTA.
// REMARK: Function=row_too_wide | {{.*}}rms_norm left unfused; before: rows of 1024 columns do not fit one CTA; wide_tile takes at most 512; after: no flashnorm.matmul reads its result
// CHECK-LABEL: func @row_too_wide(
// CHECK:         flashnorm.matmul
// CHECK-NEXT:    flashnorm.rms_norm
func.func @row_too_wide(%x: tensor<?x512xbf16>, %w: tensor<512x1024xbf16>,
                        %init: tensor<?x1024xbf16>) -> tensor<?x1024xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x512xbf16>, tensor<512x1024xbf16>)
      outs(%init : tensor<?x1024xbf16>) -> tensor<?x1024xbf16>
  %n = flashnorm.rms_norm ins(%y : tensor<?x1024xbf16>)
      outs(%init : tensor<?x1024xbf16>) {eps = 1.000000e-05 : f64}
      -> tensor<?x1024xbf16>
  return %n : tensor<?x1024xbf16>
}

// -----

// The residual reads the normalised value, so that the norm would run anyway:
// neither matmul is deferred.
// REMARK: Function=consumer_needs_value | {{.*}}before: no flashnorm.matmul makes its input; after: 'flashnorm.matmul' needs the normalised value
// CHECK-LABEL: func @consumer_needs_value(
// CHECK:         %[[N:.*]] = flashnorm.rms_norm
// CHECK:         flashnorm.matmul ins(%[[N]],
// CHECK:         flashnorm.matmul ins({{.*}}) residual(%[[N]] :
// CHECK-NOT:     pre_norm
func.func @consumer_needs_value(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<?x256xbf16>)
      outs(%init : tensor<?x256xbf16>) {eps = 1.000000e-05 : f64}
      -> tensor<?x256xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>) -> tensor<?x256xbf16>
  %z = flashnorm.matmul ins(%y, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      residual(%n : tensor<?x256xbf16>) outs(%init : tensor<?x256xbf16>)
      -> tensor<?x256xbf16>
  return %z : tensor<?x256xbf16>
}

// -----

// The normalised value is returned.
// REMARK: Function=value_returned | {{.*}}after: 'func.return' needs the normalised value
// CHECK-LABEL: func @value_returned(
// CHECK:         %[[N:.*]] = flashnorm.rms_norm
// CHECK:         flashnorm.matmul ins(%[[N]],
func.func @value_returned(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> (tensor<?x256xbf16>, tensor<?x256xbf16>) {
  %n = flashnorm.rms_norm ins(%x : tensor<?x256xbf16>)
      outs(%init : tensor<?x256xbf16>) {eps = 1.000000e-05 : f64}
      -> tensor<?x256xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>) -> tensor<?x256xbf16>
  return %n, %y : tensor<?x256xbf16>, tensor<?x256xbf16>
}

// -----

// A weight that cannot be folded stays between the norm and the matmul.
// REMARK: Function=weight_not_folded | {{.*}}after: its weight stays in front of the matmuls after it: its weight is neither made of arguments with 'flashnorm.frozen' nor a constant of at most 1 MB
// CHECK-LABEL: func @weight_not_folded(
// CHECK:         %[[N:.*]] = flashnorm.rms_norm {{.*}} weight(
// CHECK:         flashnorm.matmul ins(%[[N]],
func.func @weight_not_folded(
    %x: tensor<?x256xbf16>, %g: tensor<256xbf16>, %w: tensor<256x256xbf16>,
    %init: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<?x256xbf16>)
      weight(%g : tensor<256xbf16>) outs(%init : tensor<?x256xbf16>)
      {eps = 1.000000e-05 : f64} -> tensor<?x256xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>) -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

// A weight that could be folded stays where the fusion cannot be done: folded,
// it would cost accuracy for nothing.
// REMARK: Function=weight_kept | {{.*}}after: K = 20 is not a positive multiple of 8
// CHECK-LABEL: func @weight_kept(
// CHECK-NOT:     flashnorm.prepare
// CHECK:         %[[N:.*]] = flashnorm.rms_norm {{.*}} weight(
// CHECK:         flashnorm.matmul ins(%[[N]],
func.func @weight_kept(
    %x: tensor<?x20xbf16>, %g: tensor<20xbf16> {flashnorm.frozen},
    %w: tensor<20x64xbf16> {flashnorm.frozen},
    %out: tensor<?x20xbf16>, %init: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<?x20xbf16>)
      weight(%g : tensor<20xbf16>) outs(%out : tensor<?x20xbf16>)
      {eps = 1.000000e-05 : f64} -> tensor<?x20xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x20xbf16>, tensor<20x64xbf16>)
      outs(%init : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// -----

// A layer norm is not computed lazily, with a weight or without.
// REMARK: Function=layer_norm_before | {{.*}}after: a layer norm before the matmul has no kernel; rms has
// CHECK-LABEL: func @layer_norm_before(
// CHECK:         %[[N:.*]] = flashnorm.layer_norm
// CHECK:         flashnorm.matmul ins(%[[N]],
func.func @layer_norm_before(
    %x: tensor<?x256xbf16>, %g: tensor<256xbf16> {flashnorm.frozen}, %w: tensor<256x256xbf16> {flashnorm.frozen},
    %init: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %n = flashnorm.layer_norm ins(%x : tensor<?x256xbf16>) weight(%g : tensor<256xbf16>)
      outs(%init : tensor<?x256xbf16>) {eps = 1.000000e-05 : f64}
      -> tensor<?x256xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>) -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

// REMARK: Function=plain_layer_norm_before | {{.*}}after: a layer norm without weight has no kernel before a matmul: none takes the mean of x from the product
// CHECK-LABEL: func @plain_layer_norm_before(
// CHECK:         %[[N:.*]] = flashnorm.layer_norm
// CHECK:         flashnorm.matmul ins(%[[N]],
func.func @plain_layer_norm_before(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>,
    %init: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %n = flashnorm.layer_norm ins(%x : tensor<?x256xbf16>)
      outs(%init : tensor<?x256xbf16>) {eps = 1.000000e-05 : f64}
      -> tensor<?x256xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>) -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

// x is f32 and only its norm is bf16: the MMA cannot read x.
// REMARK: Function=input_of_other_type | {{.*}}after: its input is f32, but the matmuls after it multiply bf16
// CHECK-LABEL: func @input_of_other_type(
// CHECK:         %[[N:.*]] = flashnorm.rms_norm
// CHECK:         flashnorm.matmul ins(%[[N]],
func.func @input_of_other_type(
    %x: tensor<?x256xf32>, %w: tensor<256x256xbf16>,
    %init: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %n = flashnorm.rms_norm ins(%x : tensor<?x256xf32>)
      outs(%init : tensor<?x256xbf16>) {eps = 1.000000e-05 : f64}
      -> tensor<?x256xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>) -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

// f32 and odd sizes have no kernel.
// REMARK: Function=f32_matmul | {{.*}}before: inputs are f32; the kernels multiply bf16 and f16
// REMARK: Function=odd_rows | {{.*}}before: N = 100 is not a positive multiple of 8
// CHECK-LABEL: func @f32_matmul(
// CHECK:         flashnorm.matmul
// CHECK:         flashnorm.layer_norm
func.func @f32_matmul(%x: tensor<?x256xf32>, %w: tensor<256x256xf32>,
                      %init: tensor<?x256xf32>) -> tensor<?x256xf32> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xf32>, tensor<256x256xf32>)
      outs(%init : tensor<?x256xf32>) -> tensor<?x256xf32>
  %n = flashnorm.layer_norm ins(%y : tensor<?x256xf32>)
      outs(%init : tensor<?x256xf32>) {eps = 1.000000e-05 : f64}
      -> tensor<?x256xf32>
  return %n : tensor<?x256xf32>
}
// CHECK-LABEL: func @odd_rows(
// CHECK:         flashnorm.matmul
// CHECK:         flashnorm.layer_norm
func.func @odd_rows(%x: tensor<?x256xbf16>, %w: tensor<256x100xbf16>,
                    %init: tensor<?x100xbf16>) -> tensor<?x100xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x100xbf16>)
      outs(%init : tensor<?x100xbf16>) -> tensor<?x100xbf16>
  %n = flashnorm.layer_norm ins(%y : tensor<?x100xbf16>)
      outs(%init : tensor<?x100xbf16>) {eps = 1.000000e-05 : f64}
      -> tensor<?x100xbf16>
  return %n : tensor<?x100xbf16>
}

// -----

// The reshape splits the rows that are normalised: QK-norm per head is not a
// norm of the matmul's rows.
// REMARK: Function=reshape_of_last_dimension | {{.*}}before: its rows are other than those of the matmul before it, as heads are parts of rows
// CHECK-LABEL: func @reshape_of_last_dimension(
// CHECK:         flashnorm.matmul
// CHECK:         tensor.expand_shape
// CHECK:         flashnorm.rms_norm
func.func @reshape_of_last_dimension(
    %x: tensor<16x256xbf16>, %w: tensor<256x256xbf16>,
    %init: tensor<16x256xbf16>, %out: tensor<16x4x64xbf16>)
    -> tensor<16x4x64xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<16x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<16x256xbf16>) -> tensor<16x256xbf16>
  %e = tensor.expand_shape %y [[0], [1, 2]] output_shape [16, 4, 64]
      : tensor<16x256xbf16> into tensor<16x4x64xbf16>
  %n = flashnorm.rms_norm ins(%e : tensor<16x4x64xbf16>)
      outs(%out : tensor<16x4x64xbf16>) {eps = 1.000000e-05 : f64}
      -> tensor<16x4x64xbf16>
  return %n : tensor<16x4x64xbf16>
}

// -----

// The sum has another reader, so that the fused op cannot move behind the weight
// that is computed in between.
// REMARK: Function=weight_after_matmul | {{.*}}before: its weight or bias is computed after the matmul
// CHECK-LABEL: func @weight_after_matmul(
// CHECK:         flashnorm.matmul
// CHECK:         arith.addf
// CHECK:         flashnorm.rms_norm
func.func @weight_after_matmul(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %g: tensor<256xbf16>,
    %init: tensor<?x256xbf16>) -> (tensor<?x256xbf16>, tensor<?x256xbf16>) {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>) -> tensor<?x256xbf16>
  %g1 = arith.addf %g, %g : tensor<256xbf16>
  %n = flashnorm.rms_norm ins(%y : tensor<?x256xbf16>)
      weight(%g1 : tensor<256xbf16>) outs(%init : tensor<?x256xbf16>)
      {eps = 1.000000e-05 : f64} -> tensor<?x256xbf16>
  return %n, %y : tensor<?x256xbf16>, tensor<?x256xbf16>
}

// -----

// A plan by hand is for the op as it stands.
// REMARK: Function=plan_by_hand | {{.*}}before: the matmul before it carries a plan for itself alone
// CHECK-LABEL: func @plan_by_hand(
// CHECK:         flashnorm.matmul {{.*}}strategy = gemm
// CHECK:         flashnorm.rms_norm
func.func @plan_by_hand(%x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>,
                        %init: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 3>}
      -> tensor<?x256xbf16>
  %n = flashnorm.rms_norm ins(%y : tensor<?x256xbf16>)
      outs(%init : tensor<?x256xbf16>) {eps = 1.000000e-05 : f64}
      -> tensor<?x256xbf16>
  return %n : tensor<?x256xbf16>
}

// -----

// Inside a loop the matmul would run again on every trip.
// REMARK: Function=norm_in_loop | {{.*}}before: the matmul before it stands in another block
// CHECK-LABEL: func @norm_in_loop(
// CHECK:         flashnorm.matmul
// CHECK:         scf.for
// CHECK:         flashnorm.rms_norm
func.func @norm_in_loop(%x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>,
                        %init: tensor<?x256xbf16>, %n: index)
    -> tensor<?x256xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>) -> tensor<?x256xbf16>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init)
      -> tensor<?x256xbf16> {
    %m = flashnorm.rms_norm ins(%y : tensor<?x256xbf16>)
        outs(%acc : tensor<?x256xbf16>) {eps = 1.000000e-05 : f64}
        -> tensor<?x256xbf16>
    scf.yield %m : tensor<?x256xbf16>
  }
  return %r : tensor<?x256xbf16>
}

// -----

// The wide tile reads more from L2 than two tiles of half the columns.
// REMARK: Function=estimated_slower | {{.*}}before: estimated at {{[0-9.]+}} us fused, {{[0-9.]+}} us unfused
// CHECK-LABEL: func @estimated_slower(
// CHECK:         %[[Y:.*]] = flashnorm.matmul
// CHECK-NOT:       post_norm
// CHECK:         flashnorm.layer_norm ins(%[[Y]]
func.func @estimated_slower(
    %x: tensor<65536x2048xbf16>, %w: tensor<2048x512xbf16>,
    %init: tensor<65536x512xbf16>) -> tensor<65536x512xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<65536x2048xbf16>, tensor<2048x512xbf16>)
      outs(%init : tensor<65536x512xbf16>) -> tensor<65536x512xbf16>
  %n = flashnorm.layer_norm ins(%y : tensor<65536x512xbf16>)
      outs(%init : tensor<65536x512xbf16>) {eps = 1.000000e-05 : f64}
      -> tensor<65536x512xbf16>
  return %n : tensor<65536x512xbf16>
}
