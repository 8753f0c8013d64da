// The same ops for every MMA family, as machine code. A spill or a serialised
// wgmma would be an error.
// REQUIRES: ptxas
// RUN: flashnorm-opt %s --flashnorm-compile=format=cubin --split-input-file \
// RUN:   | FileCheck %s

// CHECK-LABEL: func.func @gemm_mma_sync_sm_80
// CHECK: gpu.binary @kernels
// CHECK-SAME: chip = "sm_80"
// CHECK-SAME: family = "mma_sync", name = "gemm_512x256"
// CHECK-SAME: family = "mma_sync", name = "wide_tile_256x256"
// CHECK-SAME: bin = "\7FELF
func.func @gemm_mma_sync_sm_80(%x: tensor<?x256xbf16>, %w: tensor<512x256xbf16>,
    %init: tensor<?x512xbf16>) -> tensor<?x512xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<512x256xbf16>)
      outs(%init : tensor<?x512xbf16>)
      {transpose_weight,
       plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [128, 128, 32], warps = [2, 4], stages = 4>}
      -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}
func.func @wide_mma_sync_sm_80(%x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>,
    %init: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {transpose_weight,
       post_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_80", family = mma_sync,
                              tile = [64, 256, 32], warps = [1, 4], stages = 3>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

// CHECK-LABEL: func.func @gemm_wgmma_sm_90a
// CHECK: gpu.binary @kernels
// CHECK-SAME: chip = "sm_90a"
// CHECK-SAME: family = "wgmma", name = "gemm_512x256"
// CHECK-SAME: family = "wgmma", name = "wide_tile_256x256"
// CHECK-SAME: bin = "\7FELF
func.func @gemm_wgmma_sm_90a(%x: tensor<?x256xbf16>, %w: tensor<512x256xbf16>,
    %init: tensor<?x512xbf16>) -> tensor<?x512xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<512x256xbf16>)
      outs(%init : tensor<?x512xbf16>)
      {transpose_weight,
       plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma,
                              tile = [128, 128, 64], warps = [2, 1], stages = 4>}
      -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}
func.func @wide_wgmma_sm_90a(%x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>,
    %init: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {transpose_weight,
       post_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma,
                              tile = [128, 256, 64], warps = [2, 1], stages = 4>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

// CHECK-LABEL: func.func @gemm_tcgen05_sm_100a
// CHECK: gpu.binary @kernels
// CHECK-SAME: chip = "sm_100a"
// CHECK-SAME: family = "tcgen05", name = "gemm_512x256"
// CHECK-SAME: family = "tcgen05", name = "wide_tile_256x256"
// CHECK-SAME: bin = "\7FELF
func.func @gemm_tcgen05_sm_100a(%x: tensor<?x256xbf16>, %w: tensor<512x256xbf16>,
    %init: tensor<?x512xbf16>) -> tensor<?x512xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<512x256xbf16>)
      outs(%init : tensor<?x512xbf16>)
      {transpose_weight,
       plan = #flashnorm.plan<strategy = gemm, chip = "sm_100a", family = tcgen05,
                              tile = [128, 128, 64], warps = [1, 1], stages = 4>}
      -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}
func.func @wide_tcgen05_sm_100a(%x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>,
    %init: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {transpose_weight,
       post_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_100a", family = tcgen05,
                              tile = [128, 256, 64], warps = [1, 1], stages = 4>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

// CHECK-LABEL: func.func @gemm_mma_sync_sm_120
// CHECK: gpu.binary @kernels
// CHECK-SAME: chip = "sm_120"
// CHECK-SAME: family = "mma_sync", name = "gemm_512x256"
// CHECK-SAME: family = "mma_sync", name = "wide_tile_256x256"
// CHECK-SAME: bin = "\7FELF
func.func @gemm_mma_sync_sm_120(%x: tensor<?x256xbf16>, %w: tensor<512x256xbf16>,
    %init: tensor<?x512xbf16>) -> tensor<?x512xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<512x256xbf16>)
      outs(%init : tensor<?x512xbf16>)
      {transpose_weight,
       plan = #flashnorm.plan<strategy = gemm, chip = "sm_120", family = mma_sync,
                              tile = [128, 128, 32], warps = [2, 4], stages = 4>}
      -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}
func.func @wide_mma_sync_sm_120(%x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>,
    %init: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {transpose_weight,
       post_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_120", family = mma_sync,
                              tile = [64, 256, 32], warps = [1, 4], stages = 3>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}
