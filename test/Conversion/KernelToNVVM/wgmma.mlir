// RUN: flashnorm-opt %s --convert-kernel-to-nvvm --canonicalize --cse \
// RUN:   --split-input-file | FileCheck %s

// One producer warpgroup and two consumers of 64 rows; arrays that are loaded or
// stored become tensor maps.
// CHECK-LABEL: llvm.func @gemm(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// CHECK-SAME: %[[W:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// CHECK-SAME: %[[Y:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// CHECK-SAME: %[[ROWS:[a-z0-9]+]]: i32)
// CHECK-SAME: {box = [64, 128], kind = "tensor_map", operand = 0 : i64, swizzle = 128 : i64}
// CHECK-SAME: {box = [64, 64], kind = "tensor_map", operand = 1 : i64, swizzle = 128 : i64}
// CHECK-SAME: {box = [32, 16], kind = "tensor_map", operand = 2 : i64, swizzle = 64 : i64}, {kind = "rows"}
// CHECK-SAME: block = 384 : i64
// CHECK-SAME: ctas_per_sm = 1 : i64
// CHECK-SAME: shared_memory = 91136 : i64
// CHECK-SAME: nvvm.reqntid = array<i32: 384, 1, 1>

// Behind three stages of 24576 bytes: full barriers, one arrival, empty ones, one
// arrival of each of the eight consumer warps, and one that nobody touches. One
// thread makes them.
// CHECK-DAG: %[[SMEM:.+]] = llvm.mlir.addressof @flashnorm_shared_memory
// CHECK: scf.if
// CHECK: %[[FULL:.+]] = llvm.getelementptr %[[SMEM]][73728]
// CHECK-NEXT: nvvm.mbarrier.init %[[FULL]], %c1_i32
// CHECK: %[[EMPTY:.+]] = llvm.getelementptr %[[SMEM]][73752]
// CHECK-NEXT: nvvm.mbarrier.init %[[EMPTY]], %c8_i32
// CHECK-COUNT-5: nvvm.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.barrier

// The producer: all its warps give registers up, one elected thread loads, tile
// after tile. It waits for the stage to be empty, starting with parity 1.
// CHECK: scf.if
// CHECK-NEXT: nvvm.setmaxregister decrease 40
// CHECK: %[[ELECTED:.+]] = nvvm.elect.sync
// CHECK-NEXT: scf.if %[[ELECTED]] {
// CHECK-NEXT: nvvm.prefetch tensormap, %[[X]]
// CHECK-NEXT: nvvm.prefetch tensormap, %[[W]]
// CHECK: %[[CTA:.+]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK: %[[CTAS:.+]] = nvvm.read.ptx.sreg.nctaid.x
// CHECK: scf.for %{{.+}} = %[[CTA]] to %{{.+}} step %[[CTAS]] iter_args(%[[STAGE:[a-z0-9]+]] = %c0_i32, %[[START:[a-z0-9]+]] = %c1_i32)
// CHECK: scf.for {{.+}} to %c2_i32 {{.+}} iter_args(%{{.+}} = %[[STAGE]], %[[PARITY:[a-z0-9]+]] = %[[START]])
// CHECK: scf.while
// CHECK-NEXT: nvvm.mbarrier.try_wait %{{.+}}, %[[PARITY]]
// CHECK: nvvm.mbarrier.arrive.expect_tx %[[ARRIVED:.+]], %c24576_i32
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[X]], %[[ARRIVED]], box[%[[DEPTH:.+]], %{{.+}}] {isCTAOnly = true}
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[W]], %[[ARRIVED]], box[%[[DEPTH]], %{{.+}}] {isCTAOnly = true}

// The consumers: 32 accumulators a thread. Fence, four MMAs and commit are one
// statement; the first one of a tile takes no accumulators.
// CHECK: } else {
// CHECK-NEXT: nvvm.setmaxregister increase 232
// CHECK: scf.for
// CHECK-SAME: iter_args(%{{[a-z0-9]+}} = %c0_i32, %[[PARITY:[a-z0-9]+]] = %c0_i32
// CHECK: nvvm.mbarrier.try_wait %{{.+}}, %[[PARITY]]
// CHECK: llvm.inline_asm has_side_effects {{.*}}"wgmma.fence.sync.aligned;\0A
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {$0, $1,
// CHECK-SAME: $31}, $32, $33, 0, 1, 1, 0, 0;
// CHECK-SAME: $31}, $34, $35, 1, 1, 1, 0, 0;
// CHECK-SAME: $31}, $36, $37, 1, 1, 1, 0, 0;
// CHECK-SAME: $31}, $38, $39, 1, 1, 1, 0, 0;
// CHECK-SAME: wgmma.commit_group.sync.aligned;"
// CHECK-SAME: "=f,=f,{{.*}}=f,l,l,l,l,l,l,l,l"

// The accumulators of the other stages are tied. A stage is released one stage
// later, when its MMAs are known to be done: by one lane, after all lanes of the
// warp.
// CHECK: llvm.inline_asm has_side_effects {{.*}}$31}, $32, $33, 1, 1, 1, 0, 0;
// CHECK-SAME: =f,l,l,l,l,l,l,l,l,0,1,2,{{.*}},31"
// CHECK: llvm.inline_asm has_side_effects {{.*}}"wgmma.wait_group.sync.aligned 1;", "=f,{{.*}},31"
// CHECK: nvvm.bar.warp.sync
// CHECK-NEXT: %[[FIRST:.+]] = arith.cmpi eq, %{{.+}}, %c0_i32
// CHECK-NEXT: scf.if %[[FIRST]]
// CHECK: nvvm.mbarrier.arrive

// The last stage is released before the epilogue: a wait that is over at once
// keeps the arithmetic behind the arrival.
// CHECK: llvm.inline_asm has_side_effects {{.*}}"wgmma.wait_group.sync.aligned 0;"
// CHECK: nvvm.mbarrier.arrive
// CHECK: scf.while
// CHECK-NEXT: nvvm.mbarrier.try_wait %{{.+}}, %c1_i32

// A warp's 16 rows of each slice, in two boxes: the one before the last has been
// read.
// CHECK-COUNT-2: nvvm.cp.async.bulk.wait_group 1 {read}
// CHECK: nvvm.bar.warp.sync
// CHECK-COUNT-2: nvvm.stmatrix
// CHECK: nvvm.fence.proxy
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[Y]]
// CHECK-NEXT: nvvm.cp.async.bulk.commit.group
// CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
!a = !kernel.smem<128x64xbf16>
!b = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<128x64>
!frag = !kernel.frag<128x32>
gpu.module @kernels {
  kernel.func @gemm(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>,
      %y: memref<?x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [128, 64, 64], warps = [2, 1]>) {
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

// B [k][n]: the MMA transposes, and blocks of 64 columns are 64 rows of 128
// bytes apart. One consumer: nobody moves registers.
// CHECK-LABEL: llvm.func @depth_by_columns
// CHECK-DAG: arith.constant 4611686293305360384 : i64
// CHECK-DAG: arith.constant 4611686293338849280 : i64
// CHECK-NOT: nvvm.setmaxregister
// CHECK: nvvm.cp.async.bulk.tensor
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor
// CHECK-NOT: nvvm.cp.async.bulk.tensor
// CHECK: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// CHECK-SAME: 0, 1, 1, 0, 1;
!a = !kernel.smem<64x64xbf16>
!b = !kernel.smem<64x128xbf16>
!acc = !kernel.acc<64x128>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @depth_by_columns(%x: memref<?x128xbf16>, %w: memref<128x256xbf16>,
      %y: memref<?x256xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 128, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(256)
    %zero = kernel.zero_acc : !acc
    %p = kernel.pipeline bound(128) step(64) stages(3)
        init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%k, %column] to %b : memref<128x256xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %p : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<?x256xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

// A tile of 96 columns of W [K,N]: two boxes of 64, of which the MMA reads one and a
// half. The second tile's boxes start at column 96.
// CHECK-LABEL: llvm.func @half_box
// CHECK:       %[[COLUMN:.+]] = arith.muli %{{.+}}, %c96_i32
// CHECK:       nvvm.mbarrier.arrive.expect_tx %{{.+}}, %c24576_i32
// CHECK:       nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%{{.+}}, %{{.+}}]
// CHECK:       nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%[[COLUMN]], %{{.+}}]
// CHECK:       %[[SECOND:.+]] = arith.addi %[[COLUMN]], %c64_i32
// CHECK:       nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%[[SECOND]], %{{.+}}]
// CHECK-NOT:   nvvm.cp.async.bulk.tensor
// CHECK:       wgmma.mma_async.sync.aligned.m64n96k16.f32.bf16.bf16
!a = !kernel.smem<64x64xbf16>
!b = !kernel.smem<64x128xbf16>
!acc = !kernel.acc<64x96>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @half_box(%x: memref<?x128xbf16>, %w: memref<128x192xbf16>,
      %y: memref<?x192xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 96, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(192)
    %zero = kernel.zero_acc : !acc
    %p = kernel.pipeline bound(128) step(64) stages(3)
        init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%k, %column] to %b : memref<128x192xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %p : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<?x192xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

// Two warpgroups take turns, each with a tile of its own. The second one starts
// where the first one's two stages end; a tile but the CTA's first waits for its
// turn at barrier 2 or 3, and gives it to the other one if that has a tile.
// CHECK-LABEL: llvm.func @ping_pong
// CHECK: %[[OTHER:.+]] = arith.cmpi eq, %{{.+}}, %c1_i32
// CHECK: %[[STAGE:.+]] = arith.select %[[OTHER]], %c2_i32, %c0_i32
// CHECK: scf.for %[[TILE:[a-z0-9]+]] =
// CHECK-SAME: iter_args(%{{.+}} = %[[STAGE]]
// CHECK: nvvm.barrier id = %{{.+}} number_of_threads = %c256_i32
// CHECK: wgmma.mma_async
// CHECK: nvvm.barrier.arrive id = %{{.+}} number_of_threads = %c256_i32
// CHECK: wgmma.wait_group.sync.aligned 0
!a = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @ping_pong(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>,
      %y: memref<?x64xf32>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1],
              schedule = ping_pong>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %p = kernel.pipeline bound(128) step(64) stages(3)
        init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !a):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !a
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !a, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !a, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %p : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<?x64xf32>
      kernel.yield
    }
    kernel.return
  }
}

// -----

// Two CTAs with 64 columns each add up their row sums: the first lane of a row
// sends, one thread expects 64 sums, and slots alternate.
// CHECK-LABEL: llvm.func @cluster
// CHECK-SAME: cluster = 2 : i64
// CHECK-SAME: nvvm.cluster_dim = array<i32: 2, 1, 1>
// CHECK: nvvm.cluster.arrive.relaxed
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: nvvm.mbarrier.arrive.expect_tx %{{.+}}, %c256_i32
// CHECK: nvvm.mapa %{{.+}}, %[[PEER:.+]] :
// CHECK: nvvm.mapa %{{.+}}, %[[PEER]] :
// CHECK: st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32
// CHECK: nvvm.mbarrier.try_wait {{.*}}scope = #nvvm.mem_scope<cluster>
// CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
!a = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
!rowvec = !kernel.rowvec<64>
gpu.module @kernels {
  kernel.func @cluster(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>,
      %y: memref<?x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1],
              schedule = ping_pong, cluster = [1, 2, 1]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %p = kernel.pipeline bound(128) step(64) stages(3)
        init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !a):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x128xbf16>, !a
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !a, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !a, !acc
      kernel.yield %d : !acc
    } -> !acc
    %none = kernel.fill 0.0 : !rowvec
    %partial = kernel.for_slices %p init(%none : !rowvec) : !acc {
    ^bb0(%f: !frag, %col: index, %s: !rowvec):
      %at = arith.addi %column, %col : index
      %t = kernel.accumulate sumsq %f into %s columns(%at, 128) : !frag, !rowvec
      kernel.yield %t : !rowvec
    } -> !rowvec
    %total = kernel.row_combine %partial : !rowvec
    kernel.for_slices %p : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      %o = kernel.map %f, %total : !frag, !rowvec {
      ^bb0(%v: f32, %r: f32):
        %u = arith.mulf %v, %r : f32
        kernel.yield %u : f32
      } -> !frag
      kernel.store_frag %o, %y[%row, %at] : !frag, memref<?x128xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

// Two CTAs that share columns: each loads half of W's rows for both, and a warp
// that has multiplied a stage tells both.
// CHECK-LABEL: llvm.func @multicast
// CHECK-SAME: {box = [64, 64], kind = "tensor_map", operand = 0 : i64,
// CHECK-SAME: {box = [64, 32], kind = "tensor_map", operand = 1 : i64,
// CHECK-SAME: tile_rows = 128 : i64
// CHECK-SAME: nvvm.cluster_dim = array<i32: 2, 1, 1>
// CHECK-COUNT-3: nvvm.mbarrier.init %{{.+}}, %c8_i32
// CHECK: nvvm.mbarrier.arrive.expect_tx %{{.+}}, %c16384_i32
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} {isCTAOnly = true}
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} multicast_mask = %{{.+}}
// CHECK: mbarrier.arrive.shared::cluster.b64
!a = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @multicast(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>,
      %y: memref<?x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1],
              cluster = [2, 1, 1]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %p = kernel.pipeline bound(128) step(64) stages(3)
        init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !a):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x128xbf16>, !a
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !a, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !a, !acc
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

// Two CTAs that share a tile: one step of two each, 64 bytes of each thread's
// slice to either, and one slice of two for the epilogue.
// CHECK-LABEL: llvm.func @split_k
// CHECK-SAME: column_tiles = 4 : i64
// CHECK: wgmma.mma_async
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK-COUNT-8: st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32
// CHECK-NOT: st.async
// CHECK: nvvm.mbarrier.arrive.expect_tx %{{.+}}, %c16384_i32
// CHECK: mbarrier.arrive.release.cluster.shared::cluster.b64
// CHECK-COUNT-1: nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK-NOT: nvvm.cp.async.bulk.tensor.global.shared.cta
!a = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
gpu.module @kernels {
  kernel.func @split_k(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>,
      %y: memref<?x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1],
              cluster = [1, 1, 2]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %p = kernel.pipeline bound(128) step(64) stages(3)
        init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !a):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x128xbf16>, !a
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !a, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !a, !acc
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

// The statistics run under the MMAs: between the commit and the wait.
// CHECK-LABEL: llvm.func @lazy
// CHECK: wgmma.commit_group
// CHECK-COUNT-4: nvvm.ldmatrix
// CHECK: llvm.intr.fma
// CHECK: wgmma.wait_group.sync.aligned 1
!a = !kernel.smem<64x64xbf16>
!b = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
!rows = !kernel.rowvec<64>
gpu.module @kernels {
  kernel.func @lazy(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>,
      %y: memref<?x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1]>) {
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

// A residual comes through the ring: a tensor map with boxes of all rows, a stage
// behind those of the tile, ldmatrix, a release. Bias and weight are copied to
// shared memory before the first tile, and read 16 bytes at a time. Rows of x and
// of the residual may be at any distance: tensor maps have it.
// CHECK-LABEL: llvm.func @epilogue
// CHECK-SAME: {box = [64, 64], kind = "tensor_map", operand = 3 : i64, swizzle = 128 : i64}
// CHECK-SAME: {kind = "rows"}]
// CHECK-SAME: operands = [{role = "input", row_stride, shape = [unit, 128], type = "bf16"}
// CHECK-SAME: {role = "input", row_stride = 192 : i64, shape = [unit, 64], type = "bf16"}
// CHECK: nvvm.mbarrier.arrive.expect_tx %{{.+}}, %c16384_i32
// CHECK: nvvm.mbarrier.arrive.expect_tx %{{.+}}, %c8192_i32
// CHECK-COUNT-1: nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK: llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<1> -> vector<2xbf16>
// CHECK: llvm.store %{{.+}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
// CHECK: nvvm.barrier id = %c4_i32 number_of_threads = %c128_i32
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: nvvm.mbarrier.try_wait
// CHECK-NOT: llvm.load %{{.+}} !llvm.ptr<1>
// CHECK: nvvm.ldmatrix
// CHECK: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK: nvvm.bar.warp.sync
// CHECK: nvvm.mbarrier.arrive
// CHECK: nvvm.stmatrix
!a = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
!columns = !kernel.colvec<32>
gpu.module @kernels {
  kernel.func @epilogue(%x: memref<?x128xbf16, strided<[?, 1]>>,
      %w: memref<64x128xbf16>, %g: memref<64xbf16>,
      %r: memref<?x64xbf16, strided<[192, 1]>>, %y: memref<?x64xbf16>,
      %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %p = kernel.pipeline bound(128) step(64) stages(3)
        init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !a):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16, strided<[?, 1]>>, !a
      kernel.load %w[%column, %k] to %b : memref<64x128xbf16>, !a
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !a, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !a, !acc
      kernel.yield %d : !acc
    } -> !acc
    %sum = kernel.for_slices %p : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      %s = kernel.load_frag %r[%row, %at] : memref<?x64xbf16, strided<[192, 1]>>, !frag
      %c = kernel.load_colvec %g[%at] : memref<64xbf16>, !columns
      %o = kernel.map %f, %s, %c : !frag, !frag, !columns {
      ^bb0(%v: f32, %u: f32, %t: f32):
        %m = math.fma %v, %t, %u : f32
        kernel.yield %m : f32
      } -> !frag
      kernel.yield %o : !frag
    } -> !acc
    kernel.for_slices %sum : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      kernel.store_frag %f, %y[%row, %at] : !frag, memref<?x64xbf16>
      kernel.yield
    }
    kernel.return
  }
}
