// RUN: flashnorm-opt %s --convert-kernel-to-nvvm --canonicalize --cse \
// RUN:   --split-input-file | FileCheck %s

// Two warps, one below the other; three stages of (32 + 64) x 32 bf16 = 6144
// bytes; four stages' worth of depth.
// CHECK: llvm.mlir.global external @flashnorm_shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64}
// CHECK-LABEL: llvm.func @gemm(
// CHECK-SAME: %[[X:.+]]: !llvm.ptr<1>, %[[W:.+]]: !llvm.ptr<1>, %[[Y:.+]]: !llvm.ptr<1>, %[[ROWS:.+]]: i32)
// CHECK-SAME: block = 64 : i64, chip = "sm_80", cluster = 1 : i64, column_tiles = 2 : i64, ctas_per_sm = 0 : i64, family = "mma_sync"
// CHECK-SAME: shared_memory = 18432 : i64, strategy = "custom", tile_rows = 32 : i64
// CHECK-SAME: nvvm.reqntid = array<i32: 64, 1, 1>
// CHECK-DAG: %[[SMEM:.+]] = llvm.mlir.addressof @flashnorm_shared_memory
// CHECK-DAG: %[[THREAD:.+]] = nvvm.read.ptx.sreg.tid.x range <i32, 0, 64>

// Rows of x beyond the last one arrive as zeros: 0 of 16 bytes are read. The
// rows of W fill its tiles.
// CHECK: %[[INSIDE:.+]] = arith.cmpi slt, %{{.+}}, %[[ROWS]] : i32
// CHECK: %[[BYTES:.+]] = arith.select %[[INSIDE]], %c16_i32, %c0_i32
// CHECK: nvvm.cp.async.shared.global %{{.+}}, %{{.+}}, 16, cache = cg, %[[BYTES]]
// CHECK: nvvm.cp.async.shared.global %{{.+}}, %{{.+}}, 16, cache = cg, %
// CHECK-COUNT-4: nvvm.cp.async.shared.global %{{[0-9]+}}, %{{[0-9]+}}, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
// CHECK: nvvm.cp.async.commit.group
// CHECK-COUNT-6: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group

// The loop waits for its stage and for all threads, loads two stages ahead
// while there is one, and commits a group in any case.
// CHECK: %[[LOOP:.+]]:33 = scf.for %[[K:.+]] = %c0_i32 to %c4_i32 step %c1_i32 iter_args(%[[STAGE:[a-z0-9]+]] = %c0_i32
// CHECK-NEXT: nvvm.cp.async.wait.group 1
// CHECK-NEXT: nvvm.barrier
// CHECK: %[[AHEAD:.+]] = arith.addi %[[K]], %c2_i32
// CHECK: %[[MORE:.+]] = arith.cmpi slt, %[[AHEAD]], %c4_i32
// CHECK: scf.if %[[MORE]] {
// CHECK-COUNT-6: nvvm.cp.async.shared.global
// CHECK: }
// CHECK: nvvm.cp.async.commit.group

// A warp's part of a stage is 16x64x32: per step of 16, one fragment of A, and
// one of B for each two of the eight n8 steps.
// CHECK: nvvm.ldmatrix %{{.+}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>}
// CHECK: nvvm.ldmatrix
// CHECK-COUNT-2: nvvm.mma.sync {{.*}}layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>}
// CHECK: nvvm.ldmatrix
// CHECK-COUNT-14: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: scf.yield
// CHECK: nvvm.cp.async.wait.group 0

// Two slices of 32 columns; a thread has two rows, and stores eight columns of each.
// CHECK-COUNT-4: nvvm.shfl.sync bfly
// CHECK: %[[INSIDE:.+]] = arith.cmpi slt, %{{.+}}, %[[ROWS]]
// CHECK: scf.if %[[INSIDE]]
// CHECK: llvm.store %{{.+}}, %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK-COUNT-4: nvvm.shfl.sync bfly
// CHECK: llvm.store
// CHECK-COUNT-2: llvm.store
// CHECK-NOT: llvm.store
// CHECK: llvm.return
!a = !kernel.smem<32x32xbf16>
!b = !kernel.smem<64x32xbf16>
!acc = !kernel.acc<32x64>
!frag = !kernel.frag<32x32>
gpu.module @kernels {
  kernel.func @gemm(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>,
      %y: memref<?x128xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [32, 64, 32], warps = [2, 1]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %p = kernel.pipeline bound(128) step(32) stages(3)
        init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x128xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %p : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<?x128xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

// B [k][n]: transposed on the way to registers. A slot's rows are 128 bytes
// now.
// CHECK-LABEL: llvm.func @depth_by_columns
// CHECK: scf.for
// CHECK: nvvm.ldmatrix %{{.+}}layout = #nvvm.mma_layout<row>
// CHECK: nvvm.ldmatrix %{{.+}}layout = #nvvm.mma_layout<col>
// CHECK: nvvm.mma.sync
!a = !kernel.smem<32x32xbf16>
!b = !kernel.smem<32x64xbf16>
!acc = !kernel.acc<32x64>
!frag = !kernel.frag<32x32>
gpu.module @kernels {
  kernel.func @depth_by_columns(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>,
      %y: memref<?x128xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [32, 64, 32], warps = [2, 1]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %p = kernel.pipeline bound(128) step(32) stages(3)
        init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%k, %column] to %b : memref<128x128xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %p : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<?x128xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

// Statistics of x's rows: squares of the same fragments that ldmatrix brings,
// two rows a thread, then two shuffles over the four lanes of a row. Both warps
// of a row read it whole: nothing goes through shared memory.
// CHECK-LABEL: llvm.func @lazy
// CHECK: %[[LOOP:.+]]:19 = scf.for
// CHECK: nvvm.ldmatrix
// CHECK: llvm.intr.fma
// CHECK: scf.yield
// CHECK-COUNT-2: nvvm.shfl.sync bfly %c-1_i32, %{{.+}}, %c1_i32, %c31_i32
// CHECK-COUNT-2: nvvm.shfl.sync bfly %c-1_i32, %{{.+}}, %c2_i32, %c31_i32
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.return
!a = !kernel.smem<16x32xbf16>
!b = !kernel.smem<64x32xbf16>
!acc = !kernel.acc<16x64>
!frag = !kernel.frag<16x32>
!rows = !kernel.rowvec<16>
gpu.module @kernels {
  kernel.func @lazy(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>,
      %y: memref<?x128xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [16, 64, 32], warps = [1, 2]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %none = kernel.fill 0.0 : !rows
    %p:2 = kernel.pipeline bound(128) step(32) stages(3)
        init(%zero, %none : !acc, !rows) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x128xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc, %s: !rows):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !b, !acc
      %t = kernel.accumulate_tile sumsq %a into %s : !a, !rows
      kernel.yield %d, %t : !acc, !rows
    } -> !acc, !rows
    %scale = kernel.row_combine %p#1 within_warp : !rows
    kernel.for_slices %p#0 : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      %g = kernel.map %f, %scale : !frag, !rows {
      ^bb0(%v: f32, %r: f32):
        %u = arith.mulf %v, %r : f32
        kernel.yield %u : f32
      } -> !frag
      kernel.store_frag %g, %y[%row, %at] : !frag, memref<?x128xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

// Rows at a distance: a parameter behind the pointer where only the launch knows
// it, a constant where the type has it.
// CHECK-LABEL: llvm.func @strided(
// CHECK-SAME: %[[X:.+]]: !llvm.ptr<1>, %[[STRIDE:.+]]: i64, %[[W:.+]]: !llvm.ptr<1>, %[[Y:.+]]: !llvm.ptr<1>, %{{.+}}: i32)
// CHECK-SAME: arguments = [{kind = "pointer", operand = 0 : i64}, {kind = "row_stride", operand = 0 : i64}, {kind = "pointer", operand = 1 : i64}, {kind = "pointer", operand = 2 : i64}, {kind = "rows"}]
// CHECK-SAME: operands = [{role = "input", row_stride, shape = [unit, 64], type = "bf16"}, {role = "input", row_stride = 96 : i64, shape = [64, 64], type = "bf16"}
// CHECK-DAG: %[[C96:.+]] = arith.constant 96 : i64
// CHECK: arith.muli %{{.+}}, %[[STRIDE]] : i64
// CHECK: arith.muli %{{.+}}, %[[C96]] : i64
!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @strided(%x: memref<?x64xbf16, strided<[?, 1]>>,
      %w: memref<64x64xbf16, strided<[96, 1]>>, %y: memref<?x64xbf16>,
      %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(64) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !slot, %b: !slot):
      kernel.load %x[%row, %k] to %a : memref<?x64xbf16, strided<[?, 1]>>, !slot
      kernel.load %w[%column, %k] to %b : memref<64x64xbf16, strided<[96, 1]>>, !slot
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
