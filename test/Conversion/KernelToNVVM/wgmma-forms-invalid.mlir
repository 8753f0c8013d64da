// Which tiles stay in shared memory, and which tiles of 128 rows there are.
// RUN: flashnorm-opt %s --convert-kernel-to-nvvm --split-input-file \
// RUN:   --verify-diagnostics

!a = !kernel.smem<64x64xbf16>
!b = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @resident_x(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      // expected-error @below {{is resident and depends on the tile's row}}
      kernel.load %x[%row, %k] to %a resident : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

!a = !kernel.smem<64x64xbf16>
!b = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @resident_without_persistence(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      // expected-error @below {{is resident, which needs persistent CTAs: wgmma, not mma_sync}}
      kernel.load %w[%column, %k] to %b resident : memref<64x128xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

!a = !kernel.smem<64x64xbf16>
!b = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @resident_of_a_cluster(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1], cluster = [2, 1, 1]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      // expected-error @below {{is resident, which has no clusters along M or K}}
      kernel.load %w[%column, %k] to %b resident : memref<64x128xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

!a = !kernel.smem<64x64xbf16>
!b = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @resident_of_other_columns(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      // expected-error @below {{is resident, which needs all 128 columns in the tiles of one cluster; they have 64}}
      kernel.load %w[%column, %k] to %b resident : memref<128x128xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

!a = !kernel.smem<128x64xbf16>
!b = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<128x64>
gpu.module @kernels {
  // expected-error @below {{wgmma shares tiles of 64 rows a warpgroup over a cluster, not of 128}}
  kernel.func @shared_rows(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [128, 64, 64], warps = [1, 1], cluster = [1, 1, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

!a = !kernel.smem<128x64xbf16>
!b = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<128x64>
gpu.module @kernels {
  // expected-error @below {{wgmma has tiles of 64 rows for warpgroups side by side, not of 128}}
  kernel.func @rows_side_by_side(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [128, 64, 64], warps = [1, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

!a = !kernel.smem<128x64xbf16>
!b = !kernel.smem<256x64xbf16>
!acc = !kernel.acc<128x256>
gpu.module @kernels {
  // expected-error @below {{wgmma holds 160 accumulators a thread; the tile has 128x256 for a warpgroup, 256 a thread}}
  kernel.func @accumulators(%x: memref<?x128xbf16>, %w: memref<256x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [128, 256, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(256)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<256x128xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}
