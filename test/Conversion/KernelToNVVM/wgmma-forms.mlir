// A resident W, 128 rows a warpgroup, and rows of x that are prefetched.
// RUN: flashnorm-opt %s --convert-kernel-to-nvvm --canonicalize --cse \
// RUN:   --split-input-file | FileCheck %s
// RUN: sed s/1024/960/g %s | flashnorm-opt --convert-kernel-to-nvvm --canonicalize --cse \
// RUN:   --split-input-file | FileCheck %s --check-prefix=SHORT

// Under the first tile of a CTA each stage brings a part of W, too: 8192 bytes of x
// and 8192 of W. The parts of W lie behind the two stages, which hold x alone.
!a = !kernel.smem<64x64xbf16>
!b = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
// CHECK-LABEL: llvm.func @resident(
// CHECK-SAME:  %[[X:[^:]+]]: !llvm.ptr {{{[^}]*}}}, %[[W:[^:]+]]: !llvm.ptr {
// CHECK:       %[[CTA:.+]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK:       scf.for %[[TILE:.+]] = %[[CTA]] to
// CHECK:       %[[ROUND:.+]] = arith.subi %[[TILE]], %[[CTA]]
// CHECK:       %[[FIRST:.+]] = arith.cmpi eq, %[[ROUND]], %c0_i32
// CHECK:       %[[BYTES:.+]] = arith.select %[[FIRST]], %c16384_i32, %c8192_i32
// CHECK:       scf.for %[[STEP:.+]] = %c0_i32 to %c2_i32
// CHECK:       nvvm.mbarrier.arrive.expect_tx %[[ARRIVED:.+]], %[[BYTES]]
// CHECK:       nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[X]], %[[ARRIVED]]
// CHECK:       scf.if %[[FIRST]] {
// CHECK:         %[[PART:.+]] = arith.muli %[[STEP]], %c8192_i32
// CHECK:         %[[AT:.+]] = llvm.getelementptr %{{.+}}[%[[PART]]]
// CHECK:         %[[SLOT:.+]] = llvm.getelementptr %[[AT]][16384]
// CHECK:         nvvm.cp.async.bulk.tensor.shared.cluster.global %[[SLOT]], %[[W]], %[[ARRIVED]]
// CHECK:       }
gpu.module @kernels {
  kernel.func @resident(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>, %y: memref<?x64xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b resident : memref<64x128xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !kernel.frag<64x32>, %col: index):
      %at = arith.addi %column, %col : index
      kernel.store_frag %f, %y[%row, %at] : !kernel.frag<64x32>, memref<?x64xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

// Two blocks of 64 rows: 16 accumulators of each, and the MMAs of a step one
// after the other, with one descriptor of B. A warp stores a slice in two boxes.
!a = !kernel.smem<128x64xbf16>
!b = !kernel.smem<32x64xbf16>
!acc = !kernel.acc<128x32>
// CHECK-LABEL: llvm.func @two_blocks(
// CHECK:       llvm.inline_asm has_side_effects {{.*}}"wgmma.fence.sync.aligned;\0A
// CHECK-SAME:  wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {$0, $1,
// CHECK-SAME:  $15}, $32, $34, 0, 1, 1, 0, 0;
// CHECK-SAME:  wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {$16, $17,
// CHECK-SAME:  $31}, $33, $34, 0, 1, 1, 0, 0;
// CHECK-SAME:  $15}, $35, $37, 1, 1, 1, 0, 0;
// CHECK:       nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK:       nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK-NOT:   nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK:       llvm.return
gpu.module @kernels {
  kernel.func @two_blocks(%x: memref<?x128xbf16>, %w: memref<32x128xbf16>, %y: memref<?x32xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [128, 32, 64], warps = [1, 1]>) {
    %row, %column = kernel.tile_origin columns(32)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(128) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a : memref<?x128xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<32x128xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !kernel.frag<128x32>, %col: index):
      %at = arith.addi %column, %col : index
      kernel.store_frag %f, %y[%row, %at] : !kernel.frag<128x32>, memref<?x32xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

// Two steps ahead, behind the load: of this tile's rows, or of the next one's if there
// is one. Two CTAs side by side take turns.
!a = !kernel.smem<64x64xbf16>
!b = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
// CHECK-LABEL: llvm.func @prefetched(
// CHECK-SAME:  %[[X:[^:]+]]: !llvm.ptr {
// CHECK:       %[[NEXT:.+]] = arith.select %{{.+}}, %{{.+}}, %c-1_i32
// CHECK:       scf.for %[[STEP:.+]] = %c0_i32 to %c3_i32
// CHECK:       nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[X]],
// CHECK:       %[[AHEAD:.+]] = arith.addi %[[STEP]], %c2_i32
// CHECK:       %[[HERE:.+]] = arith.cmpi {{[su]}}lt, %[[AHEAD]], %c3_i32
// CHECK:       scf.if
// CHECK:         arith.select %[[HERE]], %{{.+}}, %[[NEXT]]
// CHECK:         scf.if
// CHECK:           nvvm.cp.async.bulk.tensor.prefetch %[[X]], box
gpu.module @kernels {
  kernel.func @prefetched(%x: memref<?x192xbf16>, %w: memref<128x192xbf16>, %y: memref<?x128xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1], schedule = ping_pong, cluster = [1, 2, 1]>) {
    %row, %column = kernel.tile_origin columns(128)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(192) step(64) stages(2) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !b):
      kernel.load %x[%row, %k] to %a prefetch(2) : memref<?x192xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<128x192xbf16>, !b
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !b, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !b, !acc
      kernel.yield %d : !acc
    } -> !acc
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !kernel.frag<64x32>, %col: index):
      %at = arith.addi %column, %col : index
      kernel.store_frag %f, %y[%row, %at] : !kernel.frag<64x32>, memref<?x128xbf16>
      kernel.yield
    }
    kernel.return
  }
}

// -----

// A norm without vectors behind a long K: while the CTA has another tile, a warp
// waits until the store before has read its box; else two are under way.
// CHECK-LABEL: llvm.func @paced(
// CHECK:       wgmma.wait_group.sync.aligned 1
// CHECK:       nvvm.mbarrier.arrive
// CHECK:       scf.if %[[HAS_NEXT:.+]] {
// CHECK-NEXT:    arith.subi
// CHECK-NEXT:    nvvm.barrier.arrive
// CHECK:       wgmma.wait_group.sync.aligned 0
// CHECK:       scf.if %[[HAS_NEXT]] {
// CHECK-NEXT:    nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK-NEXT:  }
// CHECK-NEXT:  nvvm.cp.async.bulk.wait_group 1 {read}
// CHECK:       nvvm.stmatrix
// CHECK:       nvvm.cp.async.bulk.commit.group
// CHECK:       scf.if %[[HAS_NEXT]] {
// CHECK-NEXT:    nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK-NEXT:  }
// CHECK-NEXT:  nvvm.cp.async.bulk.wait_group 1 {read}
// SHORT-LABEL: llvm.func @paced(
// SHORT-NOT:   nvvm.cp.async.bulk.wait_group 0 {read}
// SHORT:       nvvm.cp.async.bulk.wait_group 1 {read}
// SHORT:       nvvm.cp.async.bulk.commit.group
// SHORT-NOT:   nvvm.cp.async.bulk.wait_group 0 {read}
// SHORT:       nvvm.cp.async.bulk.wait_group 1 {read}
// SHORT:       nvvm.cp.async.bulk.commit.group
!a = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
!rowvec = !kernel.rowvec<64>
gpu.module @kernels {
  kernel.func @paced(%x: memref<?x1024xbf16>, %w: memref<64x1024xbf16>, %y: memref<?x64xbf16>, %rows: index)
      config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1], schedule = ping_pong>) {
    %row, %column = kernel.tile_origin columns(64)
    %zero = kernel.zero_acc : !acc
    %acc = kernel.pipeline bound(1024) step(64) stages(3) init(%zero : !acc) produce {
    ^bb0(%k: index, %a: !a, %b: !a):
      kernel.load %x[%row, %k] to %a : memref<?x1024xbf16>, !a
      kernel.load %w[%column, %k] to %b : memref<64x1024xbf16>, !a
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !a, %b: !a, %c: !acc):
      %d = kernel.mma %a, %b, %c transpose_b : !a, !a, !acc
      kernel.yield %d : !acc
    } -> !acc
    %none = kernel.fill 0.0 : !rowvec
    %partial = kernel.for_slices %acc init(%none : !rowvec) : !acc {
    ^bb0(%f: !frag, %col: index, %s: !rowvec):
      %t = kernel.accumulate sumsq %f into %s columns(%col, 64) : !frag, !rowvec
      kernel.yield %t : !rowvec
    } -> !rowvec
    %total = kernel.row_combine %partial : !rowvec
    kernel.for_slices %acc : !acc {
    ^bb0(%f: !frag, %col: index):
      %at = arith.addi %column, %col : index
      %o = kernel.map %f, %total : !frag, !rowvec {
      ^bb0(%v: f32, %r: f32):
        %u = arith.mulf %v, %r : f32
        kernel.yield %u : f32
      } -> !frag
      kernel.store_frag %o, %y[%row, %at] : !frag, memref<?x64xbf16>
      kernel.yield
    }
    kernel.return
  }
}
