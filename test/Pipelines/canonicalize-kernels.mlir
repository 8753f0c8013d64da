// Kernels keep their meaning when they are cleaned up: loads and stores have
// effects, so that --canonicalize and --cse leave them. The PTX is the same with
// and without, for every strategy and family.

// DEFINE: %{chip} = sm_80
// DEFINE: %{family} = mma_sync
// DEFINE: %{device} = --pass-pipeline='builtin.module(gpu.module(convert-kernel-to-nvvm,canonicalize,cse,convert-scf-to-cf,convert-to-llvm,canonicalize,cse,convert-nvvm-to-llvm),flashnorm-serialize-kernels)'
// DEFINE: %{check} = flashnorm-opt %s --flashnorm-plan="chip=%{chip} family=%{family}" \
// DEFINE:   --flashnorm-compile=format=kernel -o %t.kernel.mlir && \
// DEFINE:   flashnorm-opt %t.kernel.mlir --canonicalize --cse -o %t.clean.mlir && \
// DEFINE:   FileCheck %s --input-file=%t.clean.mlir && \
// DEFINE:   flashnorm-opt %t.kernel.mlir %{device} -o %t.kernel.ptx && \
// DEFINE:   flashnorm-opt %t.clean.mlir %{device} -o %t.clean.ptx && \
// DEFINE:   FileCheck %s --check-prefix=PTX --input-file=%t.clean.ptx && \
// DEFINE:   cmp %t.kernel.ptx %t.clean.ptx

// RUN: %{check}
// REDEFINE: %{chip} = sm_90a
// REDEFINE: %{family} = wgmma
// RUN: %{check}
// REDEFINE: %{chip} = sm_100a
// REDEFINE: %{family} = tcgen05
// RUN: %{check}

// CHECK-LABEL: kernel.func @gemm_512x256(
// CHECK-COUNT-2: kernel.load %
// CHECK:         kernel.mma
// CHECK:         kernel.load_frag
// CHECK:         kernel.store_frag
// CHECK-LABEL: kernel.func @lazy_pre_norm_512x256(
// CHECK-COUNT-2: kernel.load %
// CHECK:         kernel.accumulate_tile
// CHECK:         kernel.row_combine
// CHECK:         kernel.store_frag
// CHECK-LABEL: kernel.func @wide_tile_256x256(
// CHECK-COUNT-2: kernel.load %
// CHECK:         kernel.row_combine
// CHECK-COUNT-2: kernel.store_frag

// PTX: .visible .entry gemm_512x256
// PTX: .visible .entry lazy_pre_norm_512x256
// PTX: .visible .entry wide_tile_256x256
func.func @gemm(%x: tensor<?x256xbf16>, %w: tensor<512x256xbf16>, %b: tensor<512xbf16>, %r: tensor<?x512xbf16>,
    %init: tensor<?x512xbf16>) -> tensor<?x512xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<512x256xbf16>) bias(%b : tensor<512xbf16>) residual(%r : tensor<?x512xbf16>)
      outs(%init : tensor<?x512xbf16>)
      {transpose_weight, activation = #flashnorm.activation<gelu>} -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}
func.func @lazy(%x: tensor<?x256xbf16>, %w: tensor<512x256xbf16>,
    %init: tensor<?x512xbf16>) -> tensor<?x512xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<512x256xbf16>)
      outs(%init : tensor<?x512xbf16>)
      {transpose_weight, pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}
func.func @wide(%x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %r: tensor<?x256xbf16>, %g: tensor<256xbf16>,
    %init: tensor<?x256xbf16>) -> (tensor<?x256xbf16>, tensor<?x256xbf16>) {
  %y, %s = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>) residual(%r : tensor<?x256xbf16>) norm_weight(%g : tensor<256xbf16>)
      outs(%init, %init : tensor<?x256xbf16>, tensor<?x256xbf16>)
      {transpose_weight, pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>, post_norm = #flashnorm.norm<layer, eps = 1.0e-05>} -> tensor<?x256xbf16>, tensor<?x256xbf16>
  return %y, %s : tensor<?x256xbf16>, tensor<?x256xbf16>
}
