// Epilogues that keep a whole row in a thread, up to all columns of TMEM, must
// not spill: ptxas decides.
// REQUIRES: ptxas
// RUN: flashnorm-opt %s --flashnorm-compile=format=cubin --split-input-file \
// RUN:   | FileCheck %s

// CHECK-LABEL: func.func @n512_sm_100a
// CHECK: gpu.binary @kernels
// CHECK-SAME: chip = "sm_100a"
// CHECK-SAME: bin = "\7FELF
func.func @n512_sm_100a(%x: tensor<?x256xbf16>, %w: tensor<512x256xbf16>,
    %init: tensor<?x512xbf16>) -> tensor<?x512xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<512x256xbf16>)
      outs(%init : tensor<?x512xbf16>)
      {transpose_weight,
       post_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_100a", family = tcgen05,
                              tile = [128, 512, 64], warps = [1, 1], stages = 2>}
      -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}
func.func @n320_sm_100a(%x: tensor<?x256xbf16>, %w: tensor<320x256xbf16>,
    %init: tensor<?x320xbf16>) -> tensor<?x320xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<320x256xbf16>)
      outs(%init : tensor<?x320xbf16>)
      {transpose_weight,
       post_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_100a", family = tcgen05,
                              tile = [128, 320, 64], warps = [1, 1], stages = 3>}
      -> tensor<?x320xbf16>
  return %y : tensor<?x320xbf16>
}
func.func @n320_depth_by_columns_sm_100a(%x: tensor<?x256xbf16>, %w: tensor<256x320xbf16>,
    %init: tensor<?x320xbf16>) -> tensor<?x320xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x320xbf16>)
      outs(%init : tensor<?x320xbf16>)
      {post_norm = #flashnorm.norm<layer, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_100a", family = tcgen05,
                              tile = [128, 320, 64], warps = [1, 1], stages = 3>}
      -> tensor<?x320xbf16>
  return %y : tensor<?x320xbf16>
}
func.func @n32_sm_100a(%x: tensor<?x256xbf16>, %w: tensor<32x256xbf16>,
    %init: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<32x256xbf16>)
      outs(%init : tensor<?x32xbf16>)
      {transpose_weight,
       post_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_100a", family = tcgen05,
                              tile = [128, 32, 64], warps = [1, 1], stages = 4>}
      -> tensor<?x32xbf16>
  return %y : tensor<?x32xbf16>
}
func.func @lazy_sm_100a(%x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>,
    %b: tensor<256xf32>, %init: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      bias(%b : tensor<256xf32>)
      outs(%init : tensor<?x256xbf16>)
      {transpose_weight,
       activation = #flashnorm.activation<silu>,
       pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = lazy_pre_norm, chip = "sm_100a", family = tcgen05,
                              tile = [128, 256, 64], warps = [1, 1], stages = 3>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}
func.func @gelu_sm_100a(%x: tensor<?x256xbf16>, %w: tensor<248x256xbf16>,
    %init: tensor<?x248xbf16>) -> tensor<?x248xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<248x256xbf16>)
      outs(%init : tensor<?x248xbf16>)
      {transpose_weight,
       activation = #flashnorm.activation<gelu>,
       post_norm = #flashnorm.norm<layer, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_100a", family = tcgen05,
                              tile = [128, 256, 64], warps = [1, 1], stages = 3>}
      -> tensor<?x248xbf16>
  return %y : tensor<?x248xbf16>
}
func.func @everything_sm_100a(%x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>,
    %b: tensor<256xf32>, %r: tensor<?x256xbf16>,
    %g: tensor<256xf32>, %h: tensor<256xf32>,
    %init: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      bias(%b : tensor<256xf32>)
      residual(%r : tensor<?x256xbf16>)
      norm_weight(%g : tensor<256xf32>)
      norm_bias(%h : tensor<256xf32>)
      outs(%init : tensor<?x256xbf16>)
      {transpose_weight,
       activation = #flashnorm.activation<silu>,
       post_norm = #flashnorm.norm<layer, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_100a", family = tcgen05,
                              tile = [128, 256, 64], warps = [1, 1], stages = 3>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}
func.func @everything_n512_sm_100a(%x: tensor<?x256xf16>, %w: tensor<512x256xf16>,
    %b: tensor<512xf32>, %r: tensor<?x512xf16>,
    %g: tensor<512xf32>, %h: tensor<512xf32>,
    %init: tensor<?x512xf32>) -> tensor<?x512xf32> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xf16>, tensor<512x256xf16>)
      bias(%b : tensor<512xf32>)
      residual(%r : tensor<?x512xf16>)
      norm_weight(%g : tensor<512xf32>)
      norm_bias(%h : tensor<512xf32>)
      outs(%init : tensor<?x512xf32>)
      {transpose_weight,
       activation = #flashnorm.activation<gelu_tanh>,
       post_norm = #flashnorm.norm<layer, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_100a", family = tcgen05,
                              tile = [128, 512, 64], warps = [1, 1], stages = 2>}
      -> tensor<?x512xf32>
  return %y : tensor<?x512xf32>
}

// -----

// CHECK-LABEL: func.func @n320_depth_by_columns_sm_103a
// CHECK: gpu.binary @kernels
// CHECK-SAME: chip = "sm_103a"
// CHECK-SAME: bin = "\7FELF
func.func @n320_depth_by_columns_sm_103a(%x: tensor<?x256xbf16>, %w: tensor<256x320xbf16>,
    %init: tensor<?x320xbf16>) -> tensor<?x320xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x320xbf16>)
      outs(%init : tensor<?x320xbf16>)
      {post_norm = #flashnorm.norm<layer, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_103a", family = tcgen05,
                              tile = [128, 320, 64], warps = [1, 1], stages = 3>}
      -> tensor<?x320xbf16>
  return %y : tensor<?x320xbf16>
}
func.func @lazy_sm_103a(%x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>,
    %b: tensor<256xf32>, %init: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      bias(%b : tensor<256xf32>)
      outs(%init : tensor<?x256xbf16>)
      {transpose_weight,
       activation = #flashnorm.activation<silu>,
       pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = lazy_pre_norm, chip = "sm_103a", family = tcgen05,
                              tile = [128, 256, 64], warps = [1, 1], stages = 3>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}
func.func @everything_n512_sm_103a(%x: tensor<?x256xf16>, %w: tensor<512x256xf16>,
    %b: tensor<512xf32>, %r: tensor<?x512xf16>,
    %g: tensor<512xf32>, %h: tensor<512xf32>,
    %init: tensor<?x512xf32>) -> tensor<?x512xf32> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xf16>, tensor<512x256xf16>)
      bias(%b : tensor<512xf32>)
      residual(%r : tensor<?x512xf16>)
      norm_weight(%g : tensor<512xf32>)
      norm_bias(%h : tensor<512xf32>)
      outs(%init : tensor<?x512xf32>)
      {transpose_weight,
       activation = #flashnorm.activation<gelu_tanh>,
       post_norm = #flashnorm.norm<layer, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_103a", family = tcgen05,
                              tile = [128, 512, 64], warps = [1, 1], stages = 2>}
      -> tensor<?x512xf32>
  return %y : tensor<?x512xf32>
}
