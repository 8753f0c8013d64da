// A whole kernel survives printing, parsing and bytecode.
// RUN: flashnorm-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: kernel.func @rms_gemm
// CHECK: kernel.pipeline bound(512) step(64) stages(4)
// CHECK: kernel.row_combine
gpu.module @kernels {
  kernel.func @rms_gemm(%x: memref<?x512xbf16>, %w: memref<256x512xbf16>, %y: memref<?x256xbf16>, %rows: index) config(<mma_sync, chip = "sm_80", tile = [128, 256, 64], warps = [2, 4]>) {
    %m0, %n0 = kernel.tile_origin columns(256)
    %z = kernel.zero_acc : !kernel.acc<128x256>
    %acc = kernel.pipeline bound(512) step(64) stages(4) init(%z : !kernel.acc<128x256>) produce {
    ^bb0(%k: index, %a: !kernel.smem<128x64xbf16>, %b: !kernel.smem<256x64xbf16>):
      kernel.load %x[%m0, %k] to %a : memref<?x512xbf16>, !kernel.smem<128x64xbf16>
      kernel.load %w[%n0, %k] to %b : memref<256x512xbf16>, !kernel.smem<256x64xbf16>
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !kernel.smem<128x64xbf16>, %b: !kernel.smem<256x64xbf16>, %c: !kernel.acc<128x256>):
      %d = kernel.mma %a, %b, %c transpose_b : !kernel.smem<128x64xbf16>, !kernel.smem<256x64xbf16>, !kernel.acc<128x256>
      kernel.yield %d : !kernel.acc<128x256>
    } -> !kernel.acc<128x256>
    %s0 = kernel.fill 0.0 : !kernel.rowvec<128>
    %ss = kernel.for_slices %acc init(%s0 : !kernel.rowvec<128>) : !kernel.acc<128x256> {
    ^bb0(%f: !kernel.frag<128x32>, %col: index, %s: !kernel.rowvec<128>):
      %s1 = kernel.accumulate sumsq %f into %s columns(%col, 256) : !kernel.frag<128x32>, !kernel.rowvec<128>
      kernel.yield %s1 : !kernel.rowvec<128>
    } -> !kernel.rowvec<128>
    %t = kernel.row_combine %ss : !kernel.rowvec<128>
    %n = arith.constant 256.0 : f32
    %r = kernel.map %t : !kernel.rowvec<128> {
    ^bb0(%v: f32):
      %q = arith.divf %v, %n : f32
      %u = math.rsqrt %q : f32
      kernel.yield %u : f32
    } -> !kernel.rowvec<128>
    kernel.for_slices %acc : !kernel.acc<128x256> {
    ^bb0(%f: !kernel.frag<128x32>, %col: index):
      %o = kernel.map %f, %r : !kernel.frag<128x32>, !kernel.rowvec<128> {
      ^bb0(%v: f32, %w1: f32):
        %u = arith.mulf %v, %w1 : f32
        kernel.yield %u : f32
      } -> !kernel.frag<128x32>
      kernel.store_frag %o, %y[%m0, %col] : !kernel.frag<128x32>, memref<?x256xbf16>
      kernel.yield
    }
    kernel.return
  }
}
