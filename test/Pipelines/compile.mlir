// --flashnorm-compile stops where the format says. The host side is the same.
// RUN: flashnorm-opt %s --flashnorm-compile=format=kernel | FileCheck %s --check-prefixes=CHECK,KERNEL
// RUN: flashnorm-opt %s --flashnorm-compile=format=nvvm | FileCheck %s --check-prefixes=CHECK,NVVM
// RUN: flashnorm-opt %s --flashnorm-compile=format=ptx | FileCheck %s --check-prefixes=CHECK,PTX

// CHECK: module attributes {gpu.container_module}
// CHECK-LABEL: func.func @f(
// CHECK: flashnorm.launch @kernels::@wide_tile_64x128
// CHECK: return

// KERNEL: gpu.module @kernels
// KERNEL: kernel.func @wide_tile_64x128
// KERNEL-NOT: llvm.func

// NVVM: gpu.module @kernels
// NVVM-NOT: kernel.func
// NVVM: llvm.func @wide_tile_64x128
// NVVM-SAME: flashnorm.launch_abi = {
// NVVM-SAME: strategy = "wide_tile"
// NVVM-NOT: {{(scf|arith|cf)\.}}
// NVVM: nvvm.mma.sync

// PTX-NOT: gpu.module
// PTX: gpu.binary @kernels {flashnorm.manifest = {chip = "sm_80"
// PTX-SAME: block = 64 : i64, cluster = 1 : i64, column_tiles = 1 : i64, ctas_per_sm = 0 : i64, family = "mma_sync", name = "wide_tile_64x128"
// PTX-SAME: {role = "input", shape = [unit, 128], type = "bf16"}, {role = "input", shape = [64, 128], type = "bf16"}, {role = "output", shape = [unit, 64], type = "bf16"}
// PTX-SAME: shared_memory = 24576 : i64, strategy = "wide_tile", tile_rows = 64 : i64
// PTX-SAME: .visible .entry wide_tile_64x128(
// PTX-SAME: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
func.func @f(%x: tensor<?x128xbf16>, %w: tensor<64x128xbf16>,
    %init: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x128xbf16>, tensor<64x128xbf16>)
      outs(%init : tensor<?x64xbf16>)
      {transpose_weight,
       post_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 3>}
      -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
