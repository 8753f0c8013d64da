// RUN: flashnorm-opt %s --convert-kernel-to-nvvm --canonicalize --cse \
// RUN:   --split-input-file | FileCheck %s

!a = !kernel.smem<16x32xbf16>
!b = !kernel.smem<64x32xbf16>
!acc = !kernel.acc<16x64>
!frag = !kernel.frag<16x32>
!rows = !kernel.rowvec<16>

// A tile of 64 columns over an array of 40: two warps of 32 columns. Masks are
// of groups of 8 columns, which lie inside or outside as a whole, and the same
// for all lanes. Of 16-bit arrays each of the four lanes of a row reads and
// writes a whole group, which they exchange for two columns of each.
// CHECK-LABEL: llvm.func @masked(
// CHECK-SAME: %{{.+}}: !llvm.ptr<1>, %{{.+}}: !llvm.ptr<1>, %[[BIAS:[a-z0-9]+]]: !llvm.ptr<1>, %[[RES:[a-z0-9]+]]: !llvm.ptr<1>, %[[Y:[a-z0-9]+]]: !llvm.ptr<1>, %[[STATS:[a-z0-9]+]]: !llvm.ptr<1>, %[[ROWS:[a-z0-9]+]]: i32)
// Two stages of 5120 bytes, and one sum per row and warp.
// CHECK-SAME: shared_memory = 10368 : i64
// CHECK-DAG: %[[SMEM:.+]] = llvm.mlir.addressof @flashnorm_shared_memory
// CHECK-DAG: %[[WARP:.+]] = nvvm.shfl.sync idx
// CHECK: scf.for

// Padding columns read the last group of 8 instead, padding rows the last row.
// CHECK: %[[GROUP:.+]] = arith.muli %{{.+}}, %c32_i32
// CHECK: %[[CLAMPED:.+]] = arith.minsi %[[START:.+]], %c32_i32
// CHECK: %[[BEYOND:.+]] = arith.subi %[[START]], %[[CLAMPED]]
// CHECK: arith.subi %{{.+}}, %[[BEYOND]]
// CHECK: llvm.getelementptr %[[BIAS]]
// CHECK: llvm.load %{{.+}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xf32>
// CHECK: %[[LAST:.+]] = arith.subi %[[ROWS]], %c1_i32
// CHECK: arith.minsi %{{.+}}, %[[LAST]]
// CHECK: llvm.getelementptr %[[RES]]
// CHECK: %[[GROUP8:.+]] = llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: %[[WORD0:.+]] = llvm.extractelement %[[GROUP8]][%c0_i32 : i32]
// CHECK: %[[WORD1:.+]] = llvm.extractelement %[[GROUP8]][%c1_i32 : i32]
// CHECK: %[[WORD2:.+]] = llvm.extractelement %[[GROUP8]][%c2_i32 : i32]
// CHECK: %[[WORD3:.+]] = llvm.extractelement %[[GROUP8]][%c3_i32 : i32]
// CHECK: %[[BIT0:.+]] = arith.andi %[[LANE:.+]], %c1_i32
// CHECK: %[[EVEN:.+]] = arith.cmpi eq, %[[BIT0]], %c0_i32
// CHECK: %[[GIVES:.+]] = arith.select %[[EVEN]], %[[WORD1]], %[[WORD0]]
// CHECK: %[[TAKES:.+]] = nvvm.shfl.sync bfly %c-1_i32, %[[GIVES]], %c1_i32
// CHECK: %[[LOW:.+]] = arith.select %[[EVEN]], %[[WORD0]], %[[TAKES]]
// CHECK: arith.select %[[EVEN]], %[[TAKES]], %[[WORD1]]
// CHECK: arith.select %[[EVEN]], %[[WORD3]], %[[WORD2]]
// CHECK: nvvm.shfl.sync bfly %c-1_i32, %{{.+}}, %c1_i32
// CHECK: %[[HIGH:.+]] = arith.select %[[EVEN]], %[[WORD2]], %{{.+}}
// CHECK: %[[BIT1:.+]] = arith.andi %[[LANE]], %c2_i32
// CHECK: %[[FIRST2:.+]] = arith.cmpi eq, %[[BIT1]], %c0_i32
// CHECK: %[[GIVES2:.+]] = arith.select %[[FIRST2]], %[[HIGH]], %[[LOW]]
// CHECK: nvvm.shfl.sync bfly %c-1_i32, %[[GIVES2]], %c2_i32
// CHECK: llvm.fpext %{{.+}} : bf16 to f32

// Padding columns add 0 to the sums.
// CHECK: %[[IN:.+]] = arith.cmpi slt, %{{.+}}, %c40_i32
// CHECK: arith.select %[[IN]], %{{.+}}, %cst{{.*}} : f32
// CHECK: llvm.intr.fma

// Sums of a row: over its four lanes, then over its warps, in shared memory and
// in the order of the warps.
// CHECK-COUNT-2: nvvm.shfl.sync bfly %c-1_i32, %{{.+}}, %c1_i32, %c31_i32
// CHECK-COUNT-2: nvvm.shfl.sync bfly %c-1_i32, %{{.+}}, %c2_i32, %c31_i32
// CHECK: llvm.getelementptr %{{.+}}[10240]
// CHECK: llvm.store %{{.+}}, %{{.+}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
// CHECK: llvm.getelementptr %{{.+}}[10272]
// CHECK: llvm.store %{{.+}}, %{{.+}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
// CHECK: nvvm.barrier
// CHECK: %[[FIRST:.+]] = llvm.load %{{.+}} : !llvm.ptr<3> -> f32
// CHECK: llvm.getelementptr %{{.+}}[10304]
// CHECK: %[[SECOND:.+]] = llvm.load %{{.+}} : !llvm.ptr<3> -> f32
// CHECK: arith.addf %[[FIRST]], %[[SECOND]] : f32

// One thread of each row writes the sum.
// CHECK: %[[ISFIRST:.+]] = arith.cmpi eq, %{{.+}}, %c0_i32
// CHECK: %[[WRITES:.+]] = arith.andi %[[ISFIRST]], %{{.+}} : i1
// CHECK: scf.if %[[WRITES]]
// CHECK: llvm.getelementptr %[[STATS]]
// CHECK: llvm.store %{{.+}}, %{{.+}} {alignment = 4 : i64} : f32, !llvm.ptr<1>

// Rows and groups of columns outside are not stored.
// CHECK: llvm.fptrunc %{{.+}} : f32 to f16
// CHECK-COUNT-2: nvvm.shfl.sync bfly %c-1_i32, %{{.+}}, %c1_i32
// CHECK-COUNT-2: nvvm.shfl.sync bfly %c-1_i32, %{{.+}}, %c2_i32
// CHECK: %[[TO:.+]] = llvm.getelementptr %[[Y]]
// CHECK: %[[INSIDE:.+]] = arith.andi %{{.+}}, %{{.+}} : i1
// CHECK: scf.if %[[INSIDE]] {
// CHECK: llvm.store %{{.+}}, %[[TO]] {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
gpu.module @kernels {
  kernel.func @masked(%x: memref<?x64xbf16>, %w: memref<40x64xbf16>,
      %bias: memref<40xf32>, %res: memref<?x40xbf16>, %y: memref<?x40xf16>,
      %stats: memref<?xf32>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [16, 64, 32], warps = [1, 2]>) {
    %row, %column = kernel.tile_origin columns(40)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(64) step(32) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x64xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<40x64xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    %none = kernel.fill 0.0 : !rows
    %new:2 = kernel.for_slices %acc init(%none : !rows) : !acc {
    ^bb0(%f: !frag, %col: index, %s: !rows):
      %at = arith.addi %column, %col : index
      %b = kernel.load_colvec %bias[%at] : memref<40xf32>, !kernel.colvec<32>
      %r = kernel.load_frag %res[%row, %at] : memref<?x40xbf16>, !frag
      %sum = kernel.map %f, %b, %r : !frag, !kernel.colvec<32>, !frag {
      ^bb0(%v: f32, %v1: f32, %v2: f32):
        %u = math.fma %v, %v1, %v2 : f32
        kernel.yield %u : f32
      } -> !frag
      %t = kernel.accumulate sumsq %sum into %s columns(%col, 40) : !frag, !rows
      kernel.yield %sum, %t : !frag, !rows
    } -> !acc, !rows
    %total = kernel.row_combine %new#1 : !rows
    kernel.store_rowvec %total, %stats[%row] : !rows, memref<?xf32>
    kernel.for_slices %new#0 : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<?x40xf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

!a = !kernel.smem<128x64xbf16>
!b = !kernel.smem<32x64xbf16>
!acc = !kernel.acc<128x32>
!frag = !kernel.frag<128x32>
!rows = !kernel.rowvec<128>

// With tcgen05 a thread holds its whole row: sums need neither shuffles nor
// shared memory, accesses are 16 bytes, and new values go back to TMEM before
// they are read again.
// CHECK-LABEL: llvm.func @own_row
// CHECK-NOT: nvvm.shfl.sync bfly
// CHECK: nvvm.tcgen05.ld
// CHECK: nvvm.tcgen05.st %{{.+}}, %{{.+}} {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>
// CHECK: nvvm.tcgen05.wait <store>
// CHECK-NOT: nvvm.shfl.sync bfly
// CHECK: nvvm.tcgen05.ld
// CHECK: scf.if
// CHECK-COUNT-4: llvm.store %{{.+}}, %{{.+}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// CHECK-NOT: llvm.store
gpu.module @kernels {
  kernel.func @own_row(%x: memref<?x64xbf16>, %w: memref<32x64xbf16>,
      %y: memref<?x32xbf16>, %rows: index)
      config(<tcgen05, chip = "sm_100a", tile = [128, 32, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(32)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(64) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x64xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<32x64xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    %none = kernel.fill 0.0 : !rows
    %new:2 = kernel.for_slices %acc init(%none : !rows) : !acc {
    ^bb0(%f: !frag, %col: index, %s: !rows):
      %t = kernel.accumulate sum %f into %s columns(%col, 32) : !frag, !rows
      %neg = kernel.map %f : !frag {
      ^bb0(%v: f32):
        %u = arith.negf %v : f32
        kernel.yield %u : f32
      } -> !frag
      kernel.yield %neg, %t : !frag, !rows
    } -> !acc, !rows
    %total = kernel.row_combine %new#1 : !rows
    kernel.for_slices %new#0 : !acc {
    ^bb0(%f: !frag, %col: index):
      %scaled = kernel.map %f, %total : !frag, !rows {
      ^bb0(%v: f32, %t: f32):
        %u = arith.mulf %v, %t : f32
        kernel.yield %u : f32
      } -> !frag
      kernel.store_frag %scaled, %y[%row, %col] : !frag, memref<?x32xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

!a = !kernel.smem<16x32xbf16>
!b = !kernel.smem<32x32xbf16>
!acc = !kernel.acc<16x32>
!frag = !kernel.frag<16x32>
!rows = !kernel.rowvec<16>

// The rows argument may stand anywhere. Scalars from outside of a map are seen
// inside; erf becomes a polynomial, exp and tanh use exp2.
// CHECK-LABEL: llvm.func @scalars(
// CHECK-SAME: %{{[a-z0-9]+}}: !llvm.ptr<1>, %{{[a-z0-9]+}}: !llvm.ptr<1>, %[[Y:[a-z0-9]+]]: !llvm.ptr<1>, %[[ROWS:[a-z0-9]+]]: i32)
// CHECK: arith.cmpi slt, %{{.+}}, %[[ROWS]]
// CHECK-NOT: math.
// CHECK: llvm.intr.exp2
// CHECK: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"
// CHECK-NOT: math.erf
// CHECK: llvm.return
gpu.module @kernels {
  kernel.func @scalars(%rows: index, %x: memref<?x32xbf16>,
      %w: memref<32x32xbf16>, %y: memref<?x32xf32>)
      config(<mma_sync, chip = "sm_80", tile = [16, 32, 32], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(32)
    %two = arith.constant 2.0 : f32
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(32) step(32) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x32xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<32x32xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !frag, %col: index):
      %g = kernel.map %f : !frag {
      ^bb0(%v: f32):
        %v0 = arith.mulf %v, %two : f32
        %v1 = math.erf %v0 : f32
        %v2 = math.exp %v1 : f32
        %v3 = math.rsqrt %v2 : f32
        %v4 = math.tanh %v3 : f32
        %v5 = math.absf %v4 : f32
        kernel.yield %v5 : f32
      } -> !frag
      kernel.store_frag %g, %y[%row, %col] : !frag, memref<?x32xf32>
      kernel.yield
    }
    kernel.return
  }
}

// -----

// The second slice of the tile has nothing but padding: nobody reads, exchanges or
// writes it.
!a = !kernel.smem<16x32xbf16>
!b = !kernel.smem<64x32xbf16>
!acc = !kernel.acc<16x64>
!frag = !kernel.frag<16x32>
// CHECK-LABEL: llvm.func @padding(
// CHECK-SAME: %{{[a-z0-9]+}}: !llvm.ptr<1>, %{{[a-z0-9]+}}: !llvm.ptr<1>, %[[RES:[a-z0-9]+]]: !llvm.ptr<1>, %[[Y:[a-z0-9]+]]: !llvm.ptr<1>,
// CHECK-COUNT-2: llvm.getelementptr %[[RES]]
// CHECK-COUNT-2: llvm.getelementptr %[[Y]]
// CHECK-NOT: llvm.getelementptr %[[RES]]
// CHECK-NOT: llvm.getelementptr %[[Y]]
// CHECK-NOT: nvvm.shfl.sync bfly
// CHECK: llvm.return
gpu.module @kernels {
  kernel.func @padding(%x: memref<?x64xbf16>, %w: memref<8x64xbf16>, %res: memref<?x8xbf16>,
      %y: memref<?x8xbf16>, %rows: index)
      config(<mma_sync, chip = "sm_80", tile = [16, 64, 32], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(8)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(64) step(32) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x64xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<8x64xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      %r = kernel.load_frag %res[%row, %at] : memref<?x8xbf16>, !frag
      %sum = kernel.map %f, %r : !frag, !frag {
      ^bb0(%p: f32, %q: f32):
        %s = arith.addf %p, %q : f32
        kernel.yield %s : f32
      } -> !frag
      kernel.store_frag %sum, %y[%row, %at] : !frag, memref<?x8xbf16>
      kernel.yield
    }
    kernel.return
  }
}
