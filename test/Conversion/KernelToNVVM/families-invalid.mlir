// RUN: flashnorm-opt %s --convert-kernel-to-nvvm --split-input-file \
// RUN:   --verify-diagnostics

// What only one MMA family asks for: all kernels are legal for another one, or
// with another tile.

!a = !kernel.smem<40x64xbf16>
!b = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<40x64>
gpu.module @kernels {
  // expected-error @below {{mma_sync needs a multiple of 16 rows a warp; the tile has 40 rows for 2 warps}}
  kernel.func @mma_rows(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [40, 64, 64], warps = [2, 1]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x128xbf16>, !b
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
!b = !kernel.smem<96x64xbf16>
!acc = !kernel.acc<64x96>
gpu.module @kernels {
  // expected-error @below {{mma_sync needs a multiple of 32 columns a warp; the tile has 96 columns for 2 warps}}
  kernel.func @mma_columns(%x: memref<?x128xbf16>, %w: memref<192x128xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 96, 64], warps = [1, 2]>) {
    %row, %column = kernel.tile_origin columns(192)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<192x128xbf16>, !b
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

!a = !kernel.smem<128x32xbf16>
!b = !kernel.smem<64x32xbf16>
!acc = !kernel.acc<128x64>
gpu.module @kernels {
  // expected-error @below {{mma_sync holds 128 accumulators a thread; a warp's part of 128x64 needs 256}}
  kernel.func @mma_accumulators(%x: memref<?x64xbf16>, %w: memref<128x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [128, 64, 32], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(64) step(32) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x64xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x64xbf16>, !b
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

!a = !kernel.smem<512x16xbf16>
!b = !kernel.smem<128x16xbf16>
!acc = !kernel.acc<512x128>
gpu.module @kernels {
  // expected-error @below {{needs 2048 threads; a CTA has at most 1024}}
  kernel.func @mma_threads(%x: memref<?x32xbf16>, %w: memref<256x32xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [512, 128, 16], warps = [16, 4]>) {
    %row, %column = kernel.tile_origin columns(256)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(32) step(16) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x32xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<256x32xbf16>, !b
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

!a = !kernel.smem<64x8xbf16>
!b = !kernel.smem<64x8xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  // expected-error @below {{mma_sync needs a depth that is a multiple of 16, got 8}}
  kernel.func @mma_depth(%x: memref<?x16xbf16>, %w: memref<128x16xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 8], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(16) step(8) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x16xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x16xbf16>, !b
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
  // expected-error @below {{mma_sync needs at least 2 stages, got 1}}
  kernel.func @mma_stages(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(1) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x128xbf16>, !b
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

!a = !kernel.smem<64x48xbf16>
!b = !kernel.smem<64x48xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  // expected-error @below {{mma_sync needs 16, 32 or a multiple of 64 columns in a slot, got '!kernel.smem<64x48xbf16>'}}
  kernel.func @mma_swizzle_of_depth(%x: memref<?x96xbf16>, %w: memref<128x96xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 48], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(96) step(48) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x96xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x96xbf16>, !b
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

// W [K,N] brings the columns of the tile into the rows of a slot.
!a = !kernel.smem<64x64xbf16>
!b = !kernel.smem<64x96xbf16>
!acc = !kernel.acc<64x96>
gpu.module @kernels {
  // expected-error @below {{mma_sync needs 16, 32 or a multiple of 64 columns in a slot, got '!kernel.smem<64x96xbf16>'}}
  kernel.func @mma_swizzle_of_columns(%x: memref<?x128xbf16>, %w: memref<128x192xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 96, 64], warps = [2, 1]>) {
    %row, %column = kernel.tile_origin columns(192)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%k, %column] to %b : memref<128x192xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c : !a, !b, !acc
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
  // expected-error @below {{wgmma exists on sm_90a only, not on sm_100a}}
  kernel.func @wgmma_chip(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_100a", tile = [64, 64, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x128xbf16>, !b
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
  // expected-error @below {{wgmma exists on sm_90a only, not on sm_90}}
  kernel.func @wgmma_chip_without_a(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90", tile = [64, 64, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x128xbf16>, !b
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

!a = !kernel.smem<192x64xbf16>
!b = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<192x64>
gpu.module @kernels {
  // expected-error @below {{has registers for 2 consumer warpgroups, got 3}}
  kernel.func @wgmma_groups(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [192, 64, 64], warps = [3, 1]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x128xbf16>, !b
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

!a = !kernel.smem<192x64xbf16>
!b = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<192x64>
gpu.module @kernels {
  // expected-error @below {{wgmma needs 64 or 128 rows a warpgroup; the tile has 192 rows for 1 warpgroups}}
  kernel.func @wgmma_rows(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [192, 64, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x128xbf16>, !b
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
!b = !kernel.smem<320x64xbf16>
!acc = !kernel.acc<64x320>
gpu.module @kernels {
  // expected-error @below {{wgmma needs a multiple of 32 columns a warpgroup, at most 256; the tile has 320 columns for 1 warpgroups}}
  kernel.func @wgmma_columns(%x: memref<?x128xbf16>, %w: memref<640x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 320, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(640)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<640x128xbf16>, !b
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
!b = !kernel.smem<64x192xbf16>
!acc = !kernel.acc<64x192>
gpu.module @kernels {
  kernel.func @wgmma_split_block(%x: memref<?x128xbf16>, %w: memref<128x384xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 192, 64], warps = [1, 2]>) {
    %row, %column = kernel.tile_origin columns(384)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%k, %column] to %b : memref<128x384xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      // expected-error @below {{wgmma needs a multiple of 64 columns for each of 2 warpgroups side by side with B [k][n], got 96}}
      %d = kernel.mma %a, %b, %c : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

// Only wgmma prefetches, and only rows of x, up to those of the next tile.
!a = !kernel.smem<64x64xbf16>
!b = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @mma_sync_prefetch(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      // expected-error @below {{is prefetched: a load of wgmma, not mma_sync}}
      kernel.load %x[%row, %k] to %a prefetch(1) : memref<?x128xbf16>, !a
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
  kernel.func @far_prefetch(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      // expected-error @below {{is prefetched 3 steps ahead; a tile has 2}}
      kernel.load %x[%row, %k] to %a prefetch(3) : memref<?x128xbf16>, !a
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
  kernel.func @weight_prefetch(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      // expected-error @below {{is prefetched, and must start at the first row of the tile and the index of the pipeline}}
      kernel.load %w[%column, %k] to %b prefetch(1) : memref<64x128xbf16>, !b
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
  kernel.func @column_prefetch(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>, %z: memref<?x64xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !b
      // expected-error @below {{is prefetched, and must start at the first row of the tile and the index of the pipeline}}
      kernel.load %z[%row, %column] to %c prefetch(1) : memref<?x64xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %unused: !b, %c: !acc):
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
  kernel.func @resident_prefetch(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      // expected-error @below {{is prefetched and resident; what is resident is loaded once}}
      kernel.load %w[%column, %k] to %b resident prefetch(1) : memref<64x128xbf16>, !b
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

// wgmma has whole boxes of 64 columns of W [K,N], and no others.
!a = !kernel.smem<64x64xbf16>
!b = !kernel.smem<64x192xbf16>
!acc = !kernel.acc<64x96>
gpu.module @kernels {
  kernel.func @wgmma_three_boxes(%x: memref<?x128xbf16>, %w: memref<128x192xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 96, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(192)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      // expected-error @below {{dimension 1 of '!kernel.smem<64x192xbf16>' must be 128}}
      kernel.load %w[%k, %column] to %b : memref<128x192xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

!a = !kernel.smem<64x64xbf16>
!b = !kernel.smem<64x128xbf16>
!acc = !kernel.acc<64x96>
gpu.module @kernels {
  kernel.func @mma_sync_whole_boxes(%x: memref<?x128xbf16>, %w: memref<128x192xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 96, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(192)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      // expected-error @below {{dimension 1 of '!kernel.smem<64x128xbf16>' must be 96}}
      kernel.load %w[%k, %column] to %b : memref<128x192xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

// Nor is anything else wider than the tile: here a part of W along K.
!a = !kernel.smem<64x64xbf16>
!b = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x32>
gpu.module @kernels {
  kernel.func @mma_sync_wide(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 32, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(32)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%k, %k] to %b : memref<128x128xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      // expected-error @below {{needs B with 32 columns for a tile of 32, got 64}}
      %d = kernel.mma %a, %b, %c : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

!a = !kernel.smem<64x32xbf16>
!b = !kernel.smem<64x32xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  // expected-error @below {{TMA needs slots of a multiple of 8 rows and 64 columns, got '!kernel.smem<64x32xbf16>'}}
  kernel.func @tma_box(%x: memref<?x64xbf16>, %w: memref<128x64xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 64, 32], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(64) step(32) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x64xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x64xbf16>, !b
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

!a = !kernel.smem<64x128xbf16>
!b = !kernel.smem<64x128xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  // expected-error @below {{TMA stages are 64 deep, got 128}}
  kernel.func @tma_depth(%x: memref<?x256xbf16>, %w: memref<128x256xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 64, 128], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(256) step(128) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x256xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x256xbf16>, !b
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
  // expected-error @below {{needs at least 2 stages, got 1}}
  kernel.func @tma_stages(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(1) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x128xbf16>, !b
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
  // expected-error @below {{tcgen05 exists on sm_100a and sm_103a, not on sm_120a}}
  kernel.func @tcgen05_chip(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>, %rows: index)
      config(<tcgen05, chip = "sm_120a", tile = [128, 64, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x128xbf16>, !b
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
  // expected-error @below {{tcgen05 needs a tile of 128 rows, got 64}}
  kernel.func @tcgen05_rows(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>, %rows: index)
      config(<tcgen05, chip = "sm_100a", tile = [64, 64, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x128xbf16>, !b
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
  // expected-error @below {{tcgen05 does not split its tile over warps, got 1x2}}
  kernel.func @tcgen05_warps(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>, %rows: index)
      config(<tcgen05, chip = "sm_100a", tile = [128, 64, 64], warps = [1, 2]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x128xbf16>, !b
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
!b = !kernel.smem<544x64xbf16>
!acc = !kernel.acc<128x544>
gpu.module @kernels {
  // expected-error @below {{tcgen05 needs a multiple of 32 columns, at most 512, got 544}}
  kernel.func @tcgen05_columns(%x: memref<?x128xbf16>, %w: memref<1088x128xbf16>, %rows: index)
      config(<tcgen05, chip = "sm_103a", tile = [128, 544, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(1088)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<1088x128xbf16>, !b
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

// The blocks of 64 columns of W [K,N] cannot be split.
!a = !kernel.smem<128x64xbf16>
!b = !kernel.smem<64x96xbf16>
!acc = !kernel.acc<128x96>
gpu.module @kernels {
  // expected-error @below {{TMA needs slots of a multiple of 8 rows and 64 columns, got '!kernel.smem<64x96xbf16>'}}
  kernel.func @tcgen05_split_block(%x: memref<?x128xbf16>, %w: memref<128x192xbf16>, %rows: index)
      config(<tcgen05, chip = "sm_103a", tile = [128, 96, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(192)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%k, %column] to %b : memref<128x192xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c : !a, !b, !acc
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
  // expected-error @below {{needs 245860 bytes of shared memory; sm_100a has 232448}}
  kernel.func @tcgen05_shared_memory(%x: memref<?x128xbf16>, %w: memref<512x128xbf16>, %rows: index)
      config(<tcgen05, chip = "sm_100a", tile = [128, 256, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(512)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(5) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<512x128xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}
