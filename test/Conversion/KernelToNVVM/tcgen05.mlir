// RUN: flashnorm-opt %s --convert-kernel-to-nvvm --canonicalize --cse \
// RUN:   --split-input-file | FileCheck %s

// Six warps. Behind the stages: barriers of three stages, the one that says that
// all MMAs are done, and the slot for the address of the TMEM columns. Without
// statistics only the MMA empties a stage.
// CHECK-LABEL: llvm.func @gemm(
// CHECK-SAME: block = 192 : i64
// CHECK-SAME: shared_memory = 73796 : i64
// CHECK-DAG: %[[SMEM:.+]] = llvm.mlir.addressof @flashnorm_shared_memory
// CHECK: nvvm.mbarrier.init %{{.+}}, %c1_i32
// CHECK-COUNT-7: nvvm.mbarrier.init %{{.+}}, %c1_i32
// CHECK-NEXT: nvvm.fence.mbarrier.init

// Warp 1 allocates, and everybody learns the address behind a barrier.
// CHECK: scf.if
// CHECK-NEXT: %[[SLOT:.+]] = llvm.getelementptr %[[SMEM]][73792]
// CHECK-NEXT: nvvm.tcgen05.alloc %[[SLOT]], %c64_i32
// CHECK-NEXT: nvvm.tcgen05.relinquish_alloc_permit
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.tcgen05.fence <before>
// CHECK-NEXT: nvvm.barrier
// CHECK-NEXT: nvvm.tcgen05.fence <after>
// CHECK: %[[TMEM:.+]] = llvm.load

// Warp 0 loads.
// CHECK: scf.if
// CHECK: nvvm.elect.sync
// CHECK: nvvm.cp.async.bulk.tensor
// CHECK: nvvm.cp.async.bulk.tensor

// Warp 1 multiplies: one thread issues and commits. 0x8100490 is m128n64, bf16
// times bf16 to f32, both K-major.
// CHECK: nvvm.elect.sync
// CHECK: scf.for %[[K:[a-z0-9]+]] = %c0_i32 to %c2_i32
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.tcgen05.fence <after>
// CHECK: %[[ACCUMULATE:.+]] = arith.cmpi ne, %[[K]], %c0_i32
// CHECK: nvvm.tcgen05.mma %[[ACC:.+]], %{{.+}}, %{{.+}}, %c135267472_i32, %[[ACCUMULATE]] {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>}
// CHECK-COUNT-3: nvvm.tcgen05.mma %[[ACC]], %{{.+}}, %{{.+}}, %c135267472_i32, %true
// CHECK-NOT: nvvm.tcgen05.mma
// CHECK: nvvm.tcgen05.commit
// CHECK: scf.yield
// CHECK: %[[DONE:.+]] = llvm.getelementptr %[[SMEM]][73784]
// CHECK-NEXT: nvvm.tcgen05.commit %[[DONE]]
// The elected threads come back before the barrier at the end.
// CHECK: nvvm.bar.warp.sync
// CHECK-NEXT: } else {

// Warps 2 to 5 read 32 columns at a time, in a loop; every use hangs on the
// wait.
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.tcgen05.fence <after>
// CHECK: scf.for %{{.+}} = %c0_i32 to %c2_i32 step %c1_i32
// CHECK: %[[COLUMNS:.+]] = nvvm.tcgen05.ld %{{.+}} {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>
// CHECK-COUNT-32: llvm.extractelement %[[COLUMNS]]
// CHECK-NEXT: llvm.inline_asm has_side_effects {{.*}}"tcgen05.wait::ld.sync.aligned;", "=r,{{.*}},31"
// CHECK-NOT: nvvm.tcgen05.ld
// CHECK: nvvm.tcgen05.fence <before>
// CHECK-NEXT: nvvm.barrier
// CHECK-NEXT: scf.if
// CHECK-NEXT: nvvm.tcgen05.fence <after>
// CHECK: nvvm.tcgen05.dealloc %{{.+}}, %c64_i32
!a = !kernel.smem<128x64xbf16>
!b = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<128x64>
!frag = !kernel.frag<128x32>
gpu.module @kernels {
  kernel.func @gemm(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>,
      %y: memref<?x128xbf16>, %rows: index)
      config(<tcgen05, chip = "sm_100a", tile = [128, 64, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %p = kernel.pipeline bound(128) step(64) stages(3)
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

// With statistics the four epilogue warps read the stage too: five arrivals
// empty it. A thread reads its own row, 8 times 16 bytes, and shuffles nothing.
// CHECK-LABEL: llvm.func @lazy
// CHECK: nvvm.mbarrier.init %{{.+}}, %c1_i32
// CHECK: nvvm.mbarrier.init %{{.+}}, %c5_i32
// CHECK: nvvm.tcgen05.mma
// CHECK: } else {
// CHECK: nvvm.mbarrier.try_wait
// CHECK-COUNT-8: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK: nvvm.bar.warp.sync
// CHECK: nvvm.mbarrier.arrive
// CHECK-NOT: nvvm.shfl.sync bfly
// CHECK: nvvm.tcgen05.ld
!a = !kernel.smem<128x64xbf16>
!b = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<128x64>
!frag = !kernel.frag<128x32>
!rows = !kernel.rowvec<128>
gpu.module @kernels {
  kernel.func @lazy(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>,
      %y: memref<?x128xbf16>, %rows: index)
      config(<tcgen05, chip = "sm_103a", tile = [128, 64, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %none = kernel.fill 0.0 : !rows
    %p:2 = kernel.pipeline bound(128) step(64) stages(3)
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

// 320 columns are two MMAs, of 256 (0x8400490) and of 64, whatever the layout of
// B; TMEM comes in powers of two. B [k][n] is MN-major (0x8410490, 0x8110490),
// and the second MMA starts four blocks of 64 columns further on.
// CHECK-LABEL: llvm.func @two_parts
// CHECK: nvvm.tcgen05.alloc %{{.+}}, %c512_i32
// CHECK-COUNT-4: nvvm.tcgen05.mma %{{.+}}, %{{.+}}, %{{.+}}, %c138413200_i32
// CHECK: %[[SECOND:.+]] = arith.addi %{{.+}}, %c256_i32
// CHECK: %[[AT:.+]] = llvm.inttoptr %[[SECOND]]
// CHECK-COUNT-4: nvvm.tcgen05.mma %[[AT]], %{{.+}}, %{{.+}}, %c135267472_i32
// CHECK-NOT: nvvm.tcgen05.mma
!a = !kernel.smem<128x64xbf16>
!b = !kernel.smem<320x64xbf16>
!acc = !kernel.acc<128x320>
!frag = !kernel.frag<128x32>
gpu.module @kernels {
  kernel.func @two_parts(%x: memref<?x128xbf16>, %w: memref<320x128xbf16>,
      %y: memref<?x320xbf16>, %rows: index)
      config(<tcgen05, chip = "sm_100a", tile = [128, 320, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(320)
    %zero = kernel.zero_acc : !acc
    %p = kernel.pipeline bound(128) step(64) stages(2)
        init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<320x128xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %p : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<?x320xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

// CHECK-LABEL: llvm.func @two_parts_depth_by_columns
// CHECK: nvvm.tcgen05.alloc %{{.+}}, %c512_i32
// CHECK: arith.addi %{{.+}}, %c16384_i32
// CHECK-COUNT-4: nvvm.tcgen05.mma %{{.+}}, %{{.+}}, %{{.+}}, %c138478736_i32
// CHECK: arith.addi %{{.+}}, %c49152_i32
// CHECK-COUNT-4: nvvm.tcgen05.mma %{{.+}}, %{{.+}}, %{{.+}}, %c135333008_i32
// CHECK-NOT: nvvm.tcgen05.mma
!a = !kernel.smem<128x64xbf16>
!b = !kernel.smem<64x320xbf16>
!acc = !kernel.acc<128x320>
!frag = !kernel.frag<128x32>
gpu.module @kernels {
  kernel.func @two_parts_depth_by_columns(%x: memref<?x128xbf16>, %w: memref<128x320xbf16>,
      %y: memref<?x320xbf16>, %rows: index)
      config(<tcgen05, chip = "sm_100a", tile = [128, 320, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(320)
    %zero = kernel.zero_acc : !acc
    %p = kernel.pipeline bound(128) step(64) stages(2)
        init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%k, %column] to %b : memref<128x320xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %p : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<?x320xbf16>
      kernel.yield
    }
    kernel.return
  }
}
