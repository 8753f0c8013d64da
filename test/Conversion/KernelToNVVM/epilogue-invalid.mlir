// RUN: flashnorm-opt %s --convert-kernel-to-nvvm --split-input-file \
// RUN:   --verify-diagnostics --allow-unregistered-dialect

// One kernel, in whose epilogue each case breaks one thing. All of it is
// verifier-valid.

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @store_other_row(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      // expected-error @below {{must start at the tile's first row}}
      kernel.store_frag %f, %y[%rows, %at] : !frag, memref<?x64xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @store_static_rows(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<64x64xbf16>, %rows: index)
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
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      // expected-error @below {{needs an array with a dynamic number of rows, got 'memref<64x64xbf16>'}}
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<64x64xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @store_other_column(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      // expected-error @below {{must start at the tile's first column plus the slice's}}
      kernel.store_frag %f, %y[%row, %column] : !frag, memref<?x64xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

// With several tiles across, the slice's column is not the array's.
!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @store_column_of_first_tile(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>,
      %y: memref<?x128xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !slot
      kernel.load %w[%column, %k] to %b : memref<128x128xbf16>, !slot
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !slot, %b: !slot, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !slot, !slot, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      // expected-error @below {{must start at the tile's first column plus the slice's}}
      kernel.store_frag %f, %y[%row, %col] : !frag, memref<?x128xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @store_other_width(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x128xbf16>, %rows: index)
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
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      // expected-error @below {{needs an array of 64 columns, got 'memref<?x128xbf16>'}}
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<?x128xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @load_frag_other_width(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %v: memref<?x32xf32>, %rows: index)
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
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      // expected-error @below {{needs an array of 64 columns, got 'memref<?x32xf32>'}}
      %e = kernel.load_frag %v[%row, %at] : memref<?x32xf32>, !frag
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<?x64xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @load_colvec_other_width(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %v: memref<32xf32>, %rows: index)
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
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      // expected-error @below {{needs an array of 64 columns, got 'memref<32xf32>'}}
      %e = kernel.load_colvec %v[%at] : memref<32xf32>, !kernel.colvec<32>
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<?x64xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @load_colvec_of_rows(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %v: memref<?xf32>, %rows: index)
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
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      // expected-error @below {{needs an array of 64 columns, got 'memref<?xf32>'}}
      %e = kernel.load_colvec %v[%at] : memref<?xf32>, !kernel.colvec<32>
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
  kernel.func @store_rowvec_static(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %v: memref<64xf32>, %rows: index)
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
      kernel.yield %d : !acc
    } -> !acc
    %e = kernel.fill 1.0 : !kernel.rowvec<64>
    // expected-error @below {{needs an array with a dynamic number of rows, got 'memref<64xf32>'}}
    kernel.store_rowvec %e, %v[%row] : !kernel.rowvec<64>, memref<64xf32>
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @accumulate_other_column(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<?x64xbf16>
      kernel.yield
    }
    %s0 = kernel.fill 0.0 : !kernel.rowvec<64>
    %s = kernel.for_slices %acc init(%s0 : !kernel.rowvec<64>) : !acc {
    ^bb0(%f: !frag, %col: index, %s1: !kernel.rowvec<64>):
      // expected-error @below {{must count from the slice's column}}
      %s2 = kernel.accumulate sum %f into %s1 columns(%column, 64) : !frag, !kernel.rowvec<64>
      kernel.yield %s2 : !kernel.rowvec<64>
    } -> !kernel.rowvec<64>
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @accumulate_odd_limit(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<?x64xbf16>
      kernel.yield
    }
    %s0 = kernel.fill 0.0 : !kernel.rowvec<64>
    %s = kernel.for_slices %acc init(%s0 : !kernel.rowvec<64>) : !acc {
    ^bb0(%f: !frag, %col: index, %s1: !kernel.rowvec<64>):
      // expected-error @below {{limit must be a multiple of 8, got 60}}
      %s2 = kernel.accumulate sum %f into %s1 columns(%col, 60) : !frag, !kernel.rowvec<64>
      kernel.yield %s2 : !kernel.rowvec<64>
    } -> !kernel.rowvec<64>
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @slices_of_zero(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
      kernel.yield %d : !acc
    } -> !acc
    // expected-error @below {{needs the accumulator of the pipeline or of other slices}}
    kernel.for_slices %zero : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<?x64xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

// In tensor memory slices are written back in place.
!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @slices_of_replaced_acc(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
      kernel.yield %d : !acc
    } -> !acc
    %new = kernel.for_slices %acc : !acc {
    ^bb0(%f: !frag, %col: index):
      kernel.yield %f : !frag
    } -> !acc
    // expected-error @below {{reads an accumulator that other slices have replaced}}
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<?x64xbf16>
      kernel.yield
    }
    kernel.return
  }
}
