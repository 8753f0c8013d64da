// RUN: flashnorm-opt %s --convert-kernel-to-nvvm --split-input-file \
// RUN:   --verify-diagnostics --allow-unregistered-dialect

// One kernel, of which each case breaks one thing. All of it is verifier-valid.
// Here: what the function and the ops in it may be. The pipeline and the
// epilogue have files of their own, and so have the MMA families.

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  // expected-error @below {{unknown chip 'sm_70'; one of sm_80, sm_86}}
  kernel.func @unknown_chip(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_70", tile = [64, 64, 64], warps = [2, 2]>) {
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
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  // expected-error @below {{needs one kernel.pipeline in its body, got 0}}
  kernel.func @no_pipeline(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  // expected-error @below {{needs one kernel.tile_origin in its body, got 0}}
  kernel.func @no_tile_origin(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row = arith.constant 0 : index
    %column = arith.constant 0 : index
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
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  // expected-error @below {{needs one kernel.tile_origin in its body, got 2}}
  kernel.func @two_tile_origins(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %r2, %c2 = kernel.tile_origin columns(128)
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
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @late_tile_origin(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row = arith.constant 0 : index
    %column = arith.constant 0 : index
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
    // expected-error @below {{must stand before the pipeline}}
    %r2, %c2 = kernel.tile_origin columns(64)
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @no_columns(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    // expected-error @below {{columns must be in 1 to 1073741824, got 0}}
    %row, %column = kernel.tile_origin columns(0)
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
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  // expected-error @below {{arrays must have a multiple of 8 columns, got 'memref<12xf32>'}}
  kernel.func @odd_columns(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %v: memref<12xf32>, %rows: index)
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
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  // expected-error @below {{sizes of arrays must be in 1 to 1073741824, got 'memref<0xf32>'}}
  kernel.func @empty_array(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %v: memref<0xf32>, %rows: index)
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
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  // expected-error @below {{sizes of arrays must be in 1 to 1073741824, got 'memref<8589934592xf32>'}}
  kernel.func @huge_array(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %v: memref<8589934592xf32>, %rows: index)
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
    kernel.return
  }
}

// -----

// The kernel itself may not take the name of shared memory.
!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  // expected-error @below {{symbol 'flashnorm_shared_memory' is reserved for shared memory}}
  kernel.func @flashnorm_shared_memory(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  // expected-error @below {{needs 262144 bytes of shared memory; sm_80 has 166912}}
  kernel.func @too_much_shared_memory(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(16) init(%zero : !acc) produce {
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
  kernel.func @other_op(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
    // expected-error @below {{'test.op' op cannot stand in the body of a kernel}}
    "test.op"() : () -> ()
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @other_op_in_slices(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
      // expected-error @below {{'test.op' op cannot stand in a kernel.for_slices}}
      "test.op"() : () -> ()
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
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @scf(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
    %true = arith.constant true
    // expected-error @below {{'scf.if' op cannot stand in the body of a kernel}}
    scf.if %true {
      kernel.for_slices %acc : !acc {
      ^bb0(%f: !frag, %col: index):
        kernel.yield
      }
    }
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @nested_slices(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
      // expected-error @below {{'kernel.for_slices' op cannot stand in a kernel.for_slices}}
      kernel.for_slices %acc : !acc {
      ^bb0(%g: !frag, %gcol: index):
        kernel.yield
      }
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
  kernel.func @slices_before_pipeline(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    // expected-error @below {{cannot stand before the pipeline}}
    kernel.for_slices %zero : !acc {
    ^bb0(%f: !frag, %col: index):
      kernel.yield
    }
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
    kernel.return
  }
}

// -----

// Of index arithmetic, a tile needs sums and products.
!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @index_subtraction(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
      // expected-error @below {{'arith.subi' op cannot stand in a kernel.for_slices}}
      %other = arith.subi %column, %col : index
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
  kernel.func @integer_constant(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    // expected-error @below {{cannot stand in a kernel: constants are index, f32 or i1, got 'i64'}}
    %seven = arith.constant 7 : i64
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
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
gpu.module @kernels {
  kernel.func @negative_index(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    // expected-error @below {{indices must be in 0 to 1073741824, got -8}}
    %index = arith.constant -8 : index
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
    kernel.return
  }
}

// -----

// PTX has no sine that is right everywhere, and no libdevice is linked.
!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @libdevice_in_map(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
      %e = kernel.map %f : !frag {
      ^bb0(%v: f32):
        // expected-error @below {{'math.sin' op cannot stand in a kernel.map: only arithmetic on f32, and roundings of it to bf16 and f16, can}}
        %u = math.sin %v : f32
        kernel.yield %u : f32
      } -> !frag
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
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @f64_in_map(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
      %e = kernel.map %f : !frag {
      ^bb0(%v: f32):
        // expected-error @below {{'arith.extf' op cannot stand in a kernel.map: only arithmetic on f32, and roundings of it to bf16 and f16, can}}
        %l = arith.extf %v : f32 to f64
        %u = arith.truncf %l : f64 to f32
        kernel.yield %u : f32
      } -> !frag
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
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @index_in_map(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
      %e = kernel.map %f : !frag {
      ^bb0(%v: f32):
        // expected-error @below {{'arith.cmpi' op cannot stand in a kernel.map: only arithmetic on f32, and roundings of it to bf16 and f16, can}}
        %p = arith.cmpi ult, %col, %column : index
        %u = arith.select %p, %v, %v : f32
        kernel.yield %u : f32
      } -> !frag
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
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @kernel_op_in_map(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
      %e = kernel.map %f : !frag {
      ^bb0(%v: f32):
        // expected-error @below {{'kernel.fill' op cannot stand in a kernel.map: only arithmetic on f32, and roundings of it to bf16 and f16, can}}
        %t = kernel.fill 0.0 : !kernel.rowvec<64>
        %u = arith.negf %v : f32
        kernel.yield %u : f32
      } -> !frag
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
  kernel.func @acc_of_other_tile(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
    // expected-error @below {{a tile of 64x64 needs '!kernel.acc<64x64>', got '!kernel.acc<64x128>'}}
    %other = kernel.zero_acc : !kernel.acc<64x128>
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x64>
gpu.module @kernels {
  kernel.func @frag_of_other_slice(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
    // expected-error @below {{a tile of 64x64 needs '!kernel.frag<64x32>', got '!kernel.frag<64x64>'}}
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
  kernel.func @rowvec_of_other_tile(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
    // expected-error @below {{a tile of 64x64 needs '!kernel.rowvec<64>', got '!kernel.rowvec<32>'}}
    %other = kernel.fill 0.0 : !kernel.rowvec<32>
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @colvec_of_other_slice(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
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
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      // expected-error @below {{a tile of 64x64 needs '!kernel.colvec<32>', got '!kernel.colvec<64>'}}
      %e = kernel.load_colvec %v[%at] : memref<64xf32>, !kernel.colvec<64>
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
  // expected-error @below {{rows must start a multiple of 16 bytes apart, at least 128 and at most 1073741824 elements, got 'memref<?x128xbf16, strided<[132, 1]>>'}}
  kernel.func @unaligned_rows(%x: memref<?x128xbf16, strided<[132, 1]>>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16, strided<[132, 1]>>, !slot
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
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  // expected-error @below {{rows must start a multiple of 16 bytes apart, at least 128 and}}
  kernel.func @overlapping_rows(%x: memref<?x128xbf16, strided<[64, 1]>>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16, strided<[64, 1]>>, !slot
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
    kernel.return
  }
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @strided_store(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xbf16, strided<[?, 1]>>, %rows: index)
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
      // expected-error @below {{needs a packed array, got 'memref<?x64xbf16, strided<[?, 1]>>'}}
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<?x64xbf16, strided<[?, 1]>>
      kernel.yield
    }
    kernel.return
  }
}
