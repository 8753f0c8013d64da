// What the planner chooses for mma_sync is assembled without spills: epilogues
// that hold much at a time get smaller tiles.
// REQUIRES: ptxas
// RUN: flashnorm-opt %s --flashnorm-plan="chip=sm_80 family=mma_sync" \
// RUN:   --flashnorm-compile="format=cubin ptxas=%ptxas" \
// RUN:   | FileCheck %s --check-prefix=COMPILED
// RUN: flashnorm-opt %s --flashnorm-plan="chip=sm_80 family=mma_sync" | FileCheck %s

// COMPILED-COUNT-4: flashnorm.launch
// COMPILED:         gpu.binary

// A residual, a second result, GELU and two norms at once.
// CHECK-LABEL: func @everything(
// CHECK:         family = mma_sync
func.func @everything(%x: tensor<?x256xbf16>, %w: tensor<256x192xbf16>, %o: tensor<?x192xbf16>, %o2: tensor<?x192xbf16>,
    %b: tensor<192xbf16>, %r: tensor<?x192xbf16>, %g: tensor<192xbf16>) -> (tensor<?x192xbf16>, tensor<?x192xbf16>) {
  %y:2 = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x192xbf16>) bias(%b : tensor<192xbf16>)
      residual(%r : tensor<?x192xbf16>) norm_weight(%g : tensor<192xbf16>) outs(%o, %o2 : tensor<?x192xbf16>, tensor<?x192xbf16>)
      {pre_norm = #flashnorm.norm<rms, eps = 1.0e-5>, post_norm = #flashnorm.norm<rms, eps = 1.0e-5>, activation = #flashnorm.activation<gelu>}
      -> tensor<?x192xbf16>, tensor<?x192xbf16>
  return %y#0, %y#1 : tensor<?x192xbf16>, tensor<?x192xbf16>
}

// Columns beyond the end, and a sum in f32.
// CHECK-LABEL: func @masked_sum(
// CHECK:         family = mma_sync
func.func @masked_sum(%x: tensor<?x72xbf16>, %w: tensor<72x136xbf16>, %o: tensor<?x136xbf16>, %o2: tensor<?x136xf32>,
    %b: tensor<136xbf16>, %g: tensor<136xf16>) -> (tensor<?x136xbf16>, tensor<?x136xf32>) {
  %y:2 = flashnorm.matmul ins(%x, %w : tensor<?x72xbf16>, tensor<72x136xbf16>) bias(%b : tensor<136xbf16>)
      norm_weight(%g : tensor<136xf16>) outs(%o, %o2 : tensor<?x136xbf16>, tensor<?x136xf32>)
      {pre_norm = #flashnorm.norm<rms, eps = 1.0e-5>, post_norm = #flashnorm.norm<rms, eps = 1.0e-5>}
      -> tensor<?x136xbf16>, tensor<?x136xf32>
  return %y#0, %y#1 : tensor<?x136xbf16>, tensor<?x136xf32>
}

// A residual in f32, and columns beyond the end.
// CHECK-LABEL: func @wide_residual(
// CHECK:         family = mma_sync
func.func @wide_residual(%x: tensor<?x1024xbf16>, %w: tensor<1016x1024xbf16>, %o: tensor<?x1016xbf16>,
    %b: tensor<1016xbf16>, %r: tensor<?x1016xf32>) -> tensor<?x1016xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x1024xbf16>, tensor<1016x1024xbf16>) bias(%b : tensor<1016xbf16>)
      residual(%r : tensor<?x1016xf32>) outs(%o : tensor<?x1016xbf16>)
      {transpose_weight, pre_norm = #flashnorm.norm<rms, eps = 1.0e-5>, activation = #flashnorm.activation<silu>}
      -> tensor<?x1016xbf16>
  return %y : tensor<?x1016xbf16>
}

// No norm, and few columns, of which some are beyond the end.
// CHECK-LABEL: func @narrow(
// CHECK:         family = mma_sync
func.func @narrow(%x: tensor<?x256xbf16>, %w: tensor<88x256xbf16>, %o: tensor<?x88xbf16>, %b: tensor<88xf32>) -> tensor<?x88xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<88x256xbf16>) bias(%b : tensor<88xf32>)
      outs(%o : tensor<?x88xbf16>) {transpose_weight} -> tensor<?x88xbf16>
  return %y : tensor<?x88xbf16>
}
