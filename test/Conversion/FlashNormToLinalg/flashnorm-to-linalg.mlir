// Each op becomes the linalg that its equations say, in f32 with one rounding.
// RUN: flashnorm-opt %s --convert-flashnorm-to-linalg --canonicalize --cse | FileCheck %s

// CHECK-DAG: #[[$CELL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[$COLUMN:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[$X3:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-DAG: #[[$W3:.*]] = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
// CHECK-DAG: #[[$ACC3:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>

// The sum of squares, its mean, eps inside the root, then x * rstd * weight,
// rounded once.
// CHECK-LABEL: func.func @rms_norm
// CHECK-SAME: (%[[X:.*]]: tensor<?x256xbf16>, %[[W:.*]]: tensor<256xf32>, %[[INIT:.*]]: tensor<?x256xbf16>)
// CHECK-DAG: %[[EPS:.*]] = arith.constant 9.99999974E-6 : f32
// CHECK-DAG: %[[COUNT:.*]] = arith.constant 2.560000e+02 : f32
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[FILL:.*]] = linalg.fill ins(%[[ZERO]] : f32) outs(%{{.*}} : tensor<?xf32>)
// CHECK: %[[SUM:.*]] = linalg.generic {indexing_maps = [#[[$CELL]], #[[$ROW]]], iterator_types = ["parallel", "reduction"]} ins(%[[X]] : tensor<?x256xbf16>) outs(%[[FILL]] : tensor<?xf32>)
// CHECK: ^bb0(%[[IN:.*]]: bf16, %[[OUT:.*]]: f32):
// CHECK: %[[E:.*]] = arith.extf %[[IN]] : bf16 to f32
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[E]], %[[E]] : f32
// CHECK: arith.addf %[[OUT]], %[[SQUARE]] : f32
// CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<?xf32>)
// CHECK: arith.divf %{{.*}}, %[[COUNT]] : f32
// CHECK: %[[RSTD:.*]] = linalg.generic {{.*}} ins(%[[MEAN]] : tensor<?xf32>)
// CHECK: %[[V:.*]] = arith.addf %{{.*}}, %[[EPS]] : f32
// CHECK: math.rsqrt %[[V]] : f32
// CHECK: linalg.generic {indexing_maps = [#[[$CELL]], #[[$ROW]], #[[$COLUMN]], #[[$CELL]]], iterator_types = ["parallel", "parallel"]} ins(%[[X]], %[[RSTD]], %[[W]] : {{.*}}) outs(%[[INIT]] : tensor<?x256xbf16>)
// CHECK: ^bb0(%[[XE:.*]]: bf16, %[[RE:.*]]: f32, %[[WE:.*]]: f32, %{{.*}}: bf16):
// CHECK: %[[XF:.*]] = arith.extf %[[XE]] : bf16 to f32
// CHECK: %[[N:.*]] = arith.mulf %[[XF]], %[[RE]] : f32
// CHECK: %[[Y:.*]] = arith.mulf %[[N]], %[[WE]] : f32
// CHECK: %[[T:.*]] = arith.truncf %[[Y]] : f32 to bf16
// CHECK: linalg.yield %[[T]] : bf16
func.func @rms_norm(%x: tensor<?x256xbf16>, %w: tensor<256xf32>, %init: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %y = flashnorm.rms_norm ins(%x : tensor<?x256xbf16>) weight(%w : tensor<256xf32>) outs(%init : tensor<?x256xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// before_affine: x * rstd is rounded, the weight is rounded too and multiplied
// in the type of y.
// CHECK-LABEL: func.func @before_affine
// CHECK: ^bb0(%[[XE:.*]]: bf16, %[[RE:.*]]: f32, %[[WE:.*]]: f32, %{{.*}}: bf16):
// CHECK-DAG: %[[N:.*]] = arith.mulf %{{.*}}, %[[RE]] : f32
// CHECK-DAG: %[[R:.*]] = arith.truncf %[[N]] : f32 to bf16
// CHECK-DAG: %[[WR:.*]] = arith.truncf %[[WE]] : f32 to bf16
// CHECK: %[[Y:.*]] = arith.mulf %[[R]], %[[WR]] : bf16
// CHECK: linalg.yield %[[Y]] : bf16
func.func @before_affine(%x: tensor<?x256xbf16>, %w: tensor<256xf32>, %init: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %y = flashnorm.rms_norm ins(%x : tensor<?x256xbf16>) weight(%w : tensor<256xf32>) outs(%init : tensor<?x256xbf16>) {eps = 1.0e-5 : f64, cast = #flashnorm.cast_position<before_affine>} -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// Two passes: the mean first, then the squares of what is left. The statistics
// are converted to the type of their inits.
// CHECK-LABEL: func.func @layer_norm
// CHECK-SAME: (%[[X:.*]]: tensor<?x256xf16>,
// CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} iterator_types = ["parallel"]
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.divf
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[MEAN]] : tensor<?x256xf16>, tensor<?xf32>)
// CHECK: %[[C:.*]] = arith.subf
// CHECK: arith.mulf %[[C]], %[[C]] : f32
// CHECK: math.rsqrt
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[RSTD:.*]], %[[MEAN]], %{{.*}}, %{{.*}} : {{.*}})
// CHECK: arith.subf
// CHECK: arith.mulf
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: %[[RSTD64:.*]] = linalg.generic {{.*}} ins(%[[RSTD]] : tensor<?xf32>) outs(%{{.*}} : tensor<?xf64>)
// CHECK: arith.extf
// CHECK: return %[[Y]], %[[MEAN]], %[[RSTD64]]
func.func @layer_norm(%x: tensor<?x256xf16>, %v: tensor<256xf16>, %init: tensor<?x256xbf16>, %mean: tensor<?xf32>, %rstd: tensor<?xf64>) -> (tensor<?x256xbf16>, tensor<?xf32>, tensor<?xf64>) {
  %y:3 = flashnorm.layer_norm ins(%x : tensor<?x256xf16>) weight(%v : tensor<256xf16>) bias(%v : tensor<256xf16>)
           outs(%init, %mean, %rstd : tensor<?x256xbf16>, tensor<?xf32>, tensor<?xf64>) {eps = 1.0e-5 : f64}
           -> tensor<?x256xbf16>, tensor<?xf32>, tensor<?xf64>
  return %y#0, %y#1, %y#2 : tensor<?x256xbf16>, tensor<?xf32>, tensor<?xf64>
}

// An f64 input is computed in f64; f32 does not occur.
// CHECK-LABEL: func.func @f64
// CHECK-NOT: f32
// CHECK: math.rsqrt %{{.*}} : f64
// CHECK-NOT: f32
// CHECK: return
func.func @f64(%x: tensor<8xf64>, %init: tensor<8xf64>) -> tensor<8xf64> {
  %y = flashnorm.layer_norm ins(%x : tensor<8xf64>) outs(%init : tensor<8xf64>) {eps = 1.0e-5 : f64} -> tensor<8xf64>
  return %y : tensor<8xf64>
}

// A product alone: accumulated in f32, rounded once into the init.
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: (%[[X:.*]]: tensor<2x?x64xbf16>, %[[W:.*]]: tensor<64x32xbf16>, %[[INIT:.*]]: tensor<2x?x32xbf16>)
// CHECK: %[[FILL:.*]] = linalg.fill {{.*}} -> tensor<2x?x32xf32>
// CHECK: %[[ACC:.*]] = linalg.generic {indexing_maps = [#[[$X3]], #[[$W3]], #[[$ACC3]]], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%[[X]], %[[W]] : {{.*}}) outs(%[[FILL]] : tensor<2x?x32xf32>)
// CHECK: ^bb0(%[[XE:.*]]: bf16, %[[WE:.*]]: bf16, %[[A:.*]]: f32):
// CHECK: %[[XF:.*]] = arith.extf %[[XE]] : bf16 to f32
// CHECK: %[[WF:.*]] = arith.extf %[[WE]] : bf16 to f32
// CHECK: %[[P:.*]] = arith.mulf %[[XF]], %[[WF]] : f32
// CHECK: arith.addf %[[A]], %[[P]] : f32
// CHECK: linalg.generic {{.*}} ins(%[[ACC]] : tensor<2x?x32xf32>) outs(%[[INIT]] : tensor<2x?x32xbf16>)
// CHECK: arith.truncf
func.func @matmul(%x: tensor<2x?x64xbf16>, %w: tensor<64x32xbf16>, %init: tensor<2x?x32xbf16>) -> tensor<2x?x32xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<2x?x64xbf16>, tensor<64x32xbf16>) outs(%init : tensor<2x?x32xbf16>) -> tensor<2x?x32xbf16>
  return %y : tensor<2x?x32xbf16>
}

// The whole epilogue, in its order: scale by the pre-norm, bias, activation,
// residual; all in f32 up to the post-norm, whose weight comes last. The sum is
// rounded for its result only.
// CHECK-LABEL: func.func @epilogue
// CHECK-SAME: (%[[X:.*]]: tensor<?x64xbf16>, %[[W:.*]]: tensor<32x64xbf16>, %[[B:.*]]: tensor<32xbf16>, %[[R:.*]]: tensor<?x32xbf16>, %[[G:.*]]: tensor<32xbf16>, %[[INIT:.*]]: tensor<?x32xbf16>, %[[SUMINIT:.*]]: tensor<?x32xbf16>)
// CHECK: %[[WT:.*]] = linalg.transpose ins(%[[W]] : tensor<32x64xbf16>) {{.*}} permutation = [1, 0]
// CHECK: %[[ACC:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[WT]] :
// CHECK: linalg.generic {{.*}} ins(%[[X]] : tensor<?x64xbf16>) outs(%{{.*}} : tensor<?xf32>)
// CHECK: math.rsqrt
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[ACC]], %{{.*}}, %[[B]], %[[R]] : {{.*}}) outs(%{{.*}} : tensor<?x32xf32>)
// CHECK: ^bb0(%[[AE:.*]]: f32, %[[PE:.*]]: f32, %[[BE:.*]]: bf16, %[[RE:.*]]: bf16, %{{.*}}: f32):
// CHECK-DAG: %[[BF:.*]] = arith.extf %[[BE]]
// CHECK-DAG: %[[RF:.*]] = arith.extf %[[RE]]
// CHECK: %[[S0:.*]] = arith.mulf %[[AE]], %[[PE]] : f32
// CHECK: %[[S1:.*]] = arith.addf %[[S0]], %[[BF]] : f32
// CHECK: %[[S2:.*]] = arith.maximumf %[[S1]], %{{.*}} : f32
// CHECK: %[[S3:.*]] = arith.addf %[[S2]], %[[RF]] : f32
// CHECK: linalg.yield %[[S3]] : f32
// CHECK: linalg.generic {{.*}} ins(%[[SUM]] : tensor<?x32xf32>) outs(%{{.*}} : tensor<?xf32>)
// CHECK: math.rsqrt
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%[[SUM]], %{{.*}}, %[[G]] : {{.*}}) outs(%[[INIT]] : tensor<?x32xbf16>)
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<?x32xf32>) outs(%[[SUMINIT]] : tensor<?x32xbf16>)
// CHECK: return %[[Y]], %[[S]]
func.func @epilogue(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %b: tensor<32xbf16>, %r: tensor<?x32xbf16>, %g: tensor<32xbf16>, %init: tensor<?x32xbf16>, %suminit: tensor<?x32xbf16>) -> (tensor<?x32xbf16>, tensor<?x32xbf16>) {
  %y:2 = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>)
           bias(%b : tensor<32xbf16>) residual(%r : tensor<?x32xbf16>) norm_weight(%g : tensor<32xbf16>)
           outs(%init, %suminit : tensor<?x32xbf16>, tensor<?x32xbf16>)
           {transpose_weight, activation = #flashnorm.activation<relu>, pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>, post_norm = #flashnorm.norm<rms, eps = 1.0e-06>}
           -> tensor<?x32xbf16>, tensor<?x32xbf16>
  return %y#0, %y#1 : tensor<?x32xbf16>, tensor<?x32xbf16>
}

// An op in a loop is lowered where it stands.
// CHECK-LABEL: func.func @nested
// CHECK: scf.for
// CHECK: math.rsqrt
// CHECK: scf.yield
func.func @nested(%x: tensor<8x16xf32>, %n: index) -> tensor<8x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> tensor<8x16xf32> {
    %e = tensor.empty() : tensor<8x16xf32>
    %z = flashnorm.rms_norm ins(%v : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {eps = 1.0e-5 : f64} -> tensor<8x16xf32>
    scf.yield %z : tensor<8x16xf32>
  }
  return %y : tensor<8x16xf32>
}
