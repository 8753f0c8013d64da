// RUN: flashnorm-opt %s --convert-kernel-to-nvvm --split-input-file \
// RUN:   --verify-diagnostics --allow-unregistered-dialect

// One kernel, in whose pipeline each case breaks one thing. All of it is
// verifier-valid.

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @too_many_stages(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    // expected-error @below {{has at most 32 stages, got 33}}
    %acc = kernel.pipeline bound(128) step(64) stages(33) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !slot
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !slot
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !slot, %b: !slot, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !slot, !slot, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @huge_bound(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    // expected-error @below {{bound must be at most 1073741824, got 4294967296}}
    %acc = kernel.pipeline bound(4294967296) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !slot
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !slot
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !slot, %b: !slot, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !slot, !slot, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @step_of_other_depth(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    // expected-error @below {{step must be the depth of the tile, 64, got 32}}
    %acc = kernel.pipeline bound(128) step(32) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !slot
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !slot
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !slot, %b: !slot, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !slot, !slot, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

// A pipeline starts from zero, and cannot go on from another one.
!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @init_not_zero(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = "test.acc"() : () -> !acc
    // expected-error @below {{must start from kernel.zero_acc}}
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !slot
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !slot
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !slot, %b: !slot, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !slot, !slot, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @load_twice(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    // expected-error @below {{slot 0 needs one load, has 2}}
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !slot
      kernel.load %w[%column, %k] to %a : memref<64x128xbf16>, !slot
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !slot, %b: !slot, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !slot, !slot, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @load_missing(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    // expected-error @below {{slot 1 needs one load, has 0}}
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !slot
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !slot, %b: !slot, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !slot, !slot, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @load_other_row(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot):
      // expected-error @below {{must start at the tile's first row, its first column or the pipeline's index in dimension 0}}
      kernel.load %x[%rows, %k] to %a : memref<?x128xbf16>, !slot
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !slot
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !slot, %b: !slot, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !slot, !slot, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

// The rows of the result are known at run time only.
!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @load_static_rows(%x: memref<64x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot):
      // expected-error @below {{dimension 0 of 'memref<64x128xbf16>' must be dynamic}}
      kernel.load %x[%row, %k] to %a : memref<64x128xbf16>, !slot
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !slot
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !slot, %b: !slot, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !slot, !slot, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

// With fewer columns than the tiles cover, a load would leave the array.
!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @load_other_columns(%x: memref<?x128xbf16>, %w: memref<32x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !slot
      // expected-error @below {{dimension 0 of 'memref<32x128xbf16>' must be 64}}
      kernel.load %w[%column, %k] to %b : memref<32x128xbf16>, !slot
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !slot, %b: !slot, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !slot, !slot, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @load_other_depth(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(64) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot):
      // expected-error @below {{dimension 1 of 'memref<?x128xbf16>' must be 64}}
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !slot
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !slot
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !slot, %b: !slot, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !slot, !slot, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!tall = !kernel.smem<128x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @load_other_slot(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot, %t: !tall):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !slot
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !slot
      // expected-error @below {{dimension 0 of '!kernel.smem<128x64xbf16>' must be 64}}
      kernel.load %x[%row, %k] to %t : memref<?x128xbf16>, !tall
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !slot, %b: !slot, %t: !tall, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !slot, !slot, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

// A tensor map has one box.
!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x32>
!low = !kernel.smem<32x64xbf16>
!thin = !kernel.smem<64x32xbf16>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @array_in_two_boxes(%x: memref<?x64xbf16>, %w: memref<64x64xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 32, 64], warps = [2, 1]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(64) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !low, %e: !thin):
      kernel.load %x[%row, %k] to %a : memref<?x64xbf16>, !slot
      kernel.load %w[%column, %k] to %b : memref<64x64xbf16>, !low
      // expected-error @below {{loads the array of another load as '!kernel.smem<64x32xbf16>', not as '!kernel.smem<32x64xbf16>'}}
      kernel.load %w[%k, %column] to %e : memref<64x64xbf16>, !thin
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !slot, %b: !low, %e: !thin, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !slot, !low, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<?x64xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!half = !kernel.smem<64x64xf16>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @slots_of_two_types(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %v: memref<?x128xf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    // expected-error @below {{slots differ in element type: 'bf16' and 'f16'}}
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot, %e: !half):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !slot
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !slot
      kernel.load %v[%row, %k] to %e : memref<?x128xf16>, !half
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !slot, %b: !slot, %e: !half, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !slot, !slot, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<?x64xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @no_mma(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    // expected-error @below {{needs one kernel.mma, got 0}}
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !slot
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !slot
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !slot, %b: !slot, %c: !acc):
      kernel.yield %c : !acc
    } -> !acc
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @two_mmas(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    // expected-error @below {{needs one kernel.mma, got 2}}
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !slot
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !slot
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !slot, %b: !slot, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !slot, !slot, !acc
      %e = kernel.mma %b, %a, %d transpose_b : !slot, !slot, !acc
      kernel.yield %e : !acc
    } -> !acc
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @mma_on_other_acc(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !slot
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !slot
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !slot, %b: !slot, %c: !acc):
      // expected-error @below {{must add to the accumulator of the stage before}}
      %d = kernel.mma %a, %b, %zero transpose_b : !slot, !slot, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @mma_not_passed_on(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !slot
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !slot
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !slot, %b: !slot, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !slot, !slot, !acc
      // expected-error @below {{must pass on the result of kernel.mma}}
      kernel.yield %c : !acc
    } -> !acc
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!rows = !kernel.rowvec<64>
gpu.module @kernels {
  kernel.func @sums_from_outside(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %none = kernel.fill 0.0 : !rows
    %p:2 = kernel.pipeline bound(128) step(64) stages(2) init(%zero, %none : !acc, !rows) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !slot
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !slot
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !slot, %b: !slot, %c: !acc, %s: !rows):
      %d = kernel.mma %a, %b, %c transpose_b : !slot, !slot, !acc
      // expected-error @below {{must pass on, as value 1, a kernel.accumulate_tile into what the stage before passed}}
      kernel.yield %d, %none : !acc, !rows
    } -> !acc, !rows
    kernel.return
  }
}
