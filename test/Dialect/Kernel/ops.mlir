// Every op and type survives printing, parsing and bytecode.
// RUN: flashnorm-opt %s --verify-roundtrip | FileCheck %s

!slot = !kernel.smem<64x64xf16>
!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
!rows = !kernel.rowvec<64>
!columns = !kernel.colvec<32>

// CHECK-LABEL: kernel.func @all_ops
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x128xf16>
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<128x64xf16>
// CHECK-SAME: %[[BIAS:[a-z0-9]+]]: memref<64xf32>
// CHECK-SAME: %[[SUM:[a-z0-9]+]]: memref<?x64xf32>
// CHECK-SAME: %[[STATS:[a-z0-9]+]]: memref<?xf32>
// CHECK-SAME: index {test.name = "rows"}
// CHECK-SAME: config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1]>)
// CHECK-SAME: attributes {kernel.launch_info = {strategy = "test"}}
kernel.func @all_ops(%x: memref<?x128xf16>, %w: memref<128x64xf16>,
    %bias: memref<64xf32>, %sum: memref<?x64xf32>, %stats: memref<?xf32>,
    %count: index {test.name = "rows"})
    config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1]>)
    attributes {kernel.launch_info = {strategy = "test"}} {
  // CHECK: %[[ROW:.+]], %[[COLUMN:.+]] = kernel.tile_origin columns(64)
  %row, %column = kernel.tile_origin columns(64)
  // CHECK: %[[ZERO:.+]] = kernel.zero_acc : <64x64>
  %zero = kernel.zero_acc : !acc
  // CHECK: %[[FILL:.+]] = kernel.fill 0.000000e+00 : <64>
  %fill = kernel.fill 0.0 : !rows
  // CHECK: %[[P:.+]]:2 = kernel.pipeline bound(128) step(64) stages(3)
  // CHECK-SAME: init(%[[ZERO]], %[[FILL]] : !kernel.acc<64x64>, !kernel.rowvec<64>) produce {
  %p:2 = kernel.pipeline bound(128) step(64) stages(3)
      init(%zero, %fill : !acc, !rows) produce {
  // CHECK: ^bb0(%[[K:.+]]: index, %[[A:.+]]: !kernel.smem<64x64xf16>, %[[B:.+]]: !kernel.smem<64x64xf16>):
  ^bb0(%k: index, %a: !slot, %b: !slot):
    // CHECK: kernel.load %[[X]][%[[ROW]], %[[K]]] to %[[A]] prefetch(2) : memref<?x128xf16>, <64x64xf16>
    kernel.load %x[%row, %k] to %a prefetch(2) : memref<?x128xf16>, !slot
    // CHECK: kernel.load %[[W]][%[[K]], %[[COLUMN]]] to %[[B]] resident : memref<128x64xf16>, <64x64xf16>
    kernel.load %w[%k, %column] to %b resident : memref<128x64xf16>, !slot
    // CHECK: kernel.yield{{$}}
    kernel.yield
  // CHECK: } consume {
  } consume {
  // CHECK: ^bb0(%{{.+}}: index, %[[A:.+]]: !kernel.smem<64x64xf16>, %[[B:.+]]: !kernel.smem<64x64xf16>, %[[C:.+]]: !kernel.acc<64x64>, %[[S:.+]]: !kernel.rowvec<64>):
  ^bb0(%k: index, %a: !slot, %b: !slot, %c: !acc, %s: !rows):
    // CHECK: %[[D:.+]] = kernel.mma %[[A]], %[[B]], %[[C]] : <64x64xf16>, <64x64xf16>, <64x64>
    %d = kernel.mma %a, %b, %c : !slot, !slot, !acc
    // CHECK: %[[T:.+]] = kernel.accumulate_tile sumsq %[[A]] into %[[S]] : <64x64xf16>, <64>
    %t = kernel.accumulate_tile sumsq %a into %s : !slot, !rows
    // CHECK: kernel.yield %[[D]], %[[T]] : !kernel.acc<64x64>, !kernel.rowvec<64>
    kernel.yield %d, %t : !acc, !rows
  // CHECK: } -> !kernel.acc<64x64>, !kernel.rowvec<64>
  } -> !acc, !rows
  // CHECK: %[[SCALE:.+]] = kernel.row_combine %[[P]]#1 within_warp : <64>
  %scale = kernel.row_combine %p#1 within_warp : !rows
  // CHECK: %[[R:.+]]:2 = kernel.for_slices %[[P]]#0 init(%[[FILL]] : !kernel.rowvec<64>) : <64x64> {
  %r:2 = kernel.for_slices %p#0 init(%fill : !rows) : !acc {
  // CHECK: ^bb0(%[[FRAG:.+]]: !kernel.frag<64x32>, %[[COL:.+]]: index, %[[S:.+]]: !kernel.rowvec<64>):
  ^bb0(%frag: !frag, %col: index, %s: !rows):
    // CHECK: %[[BIASES:.+]] = kernel.load_colvec %[[BIAS]][%[[COL]]] : memref<64xf32>, <32>
    %b = kernel.load_colvec %bias[%col] : memref<64xf32>, !columns
    // CHECK: %[[OLD:.+]] = kernel.load_frag %[[SUM]][%[[ROW]], %[[COL]]] : memref<?x64xf32>, <64x32>
    %old = kernel.load_frag %sum[%row, %col] : memref<?x64xf32>, !frag
    // CHECK: %[[NEW:.+]] = kernel.map %[[FRAG]], %[[SCALE]], %[[BIASES]], %[[OLD]] : !kernel.frag<64x32>, !kernel.rowvec<64>, !kernel.colvec<32>, !kernel.frag<64x32> {
    %new = kernel.map %frag, %scale, %b, %old : !frag, !rows, !columns, !frag {
    // CHECK: ^bb0(%{{.+}}: f32, %{{.+}}: f32, %{{.+}}: f32, %{{.+}}: f32):
    ^bb0(%v: f32, %w1: f32, %w2: f32, %w3: f32):
      // CHECK: kernel.yield %{{.+}} : f32
      %u = math.fma %v, %w1, %w2 : f32
      kernel.yield %u : f32
    // CHECK: } -> !kernel.frag<64x32>
    } -> !frag
    // CHECK: kernel.store_frag %[[NEW]], %[[SUM]][%[[ROW]], %[[COL]]] : <64x32>, memref<?x64xf32>
    kernel.store_frag %new, %sum[%row, %col] : !frag, memref<?x64xf32>
    // CHECK: %[[S1:.+]] = kernel.accumulate sum %[[NEW]] into %[[S]] columns(%[[COL]], 64) : <64x32>, <64>
    %s1 = kernel.accumulate sum %new into %s columns(%col, 64) : !frag, !rows
    // CHECK: kernel.yield %[[NEW]], %[[S1]] : !kernel.frag<64x32>, !kernel.rowvec<64>
    kernel.yield %new, %s1 : !frag, !rows
  // CHECK: } -> !kernel.acc<64x64>, !kernel.rowvec<64>
  } -> !acc, !rows
  // CHECK: %[[TOTAL:.+]] = kernel.row_combine %[[R]]#1 : <64>
  %total = kernel.row_combine %r#1 : !rows
  // CHECK: kernel.store_rowvec %[[TOTAL]], %[[STATS]][%[[ROW]]] : <64>, memref<?xf32>
  kernel.store_rowvec %total, %stats[%row] : !rows, memref<?xf32>
  // CHECK: kernel.return
  kernel.return
}

// The other reduction, B [n][k], and slices that carry nothing.
// CHECK-LABEL: kernel.func @variants
kernel.func @variants(%x: memref<?x64xf16>, %rows: index)
    config(<tcgen05, chip = "sm_100a", tile = [128, 64, 64], warps = [1, 1]>) {
  %row, %column = kernel.tile_origin columns(64)
  %zero = kernel.zero_acc : !kernel.acc<64x64>
  %fill = kernel.fill 1.5 : !rows
  %p:2 = kernel.pipeline bound(64) step(64) stages(1)
      init(%zero, %fill : !acc, !rows) produce {
  ^bb0(%k: index, %a: !slot):
    kernel.load %x[%row, %k] to %a : memref<?x64xf16>, !slot
    kernel.yield
  } consume {
  ^bb0(%k: index, %a: !slot, %c: !acc, %s: !rows):
    // CHECK: kernel.mma %[[A:.+]], %[[A]], %{{.+}} transpose_b : <64x64xf16>
    %d = kernel.mma %a, %a, %c transpose_b : !slot, !slot, !acc
    // CHECK: kernel.accumulate_tile sum %[[A]] into
    %t = kernel.accumulate_tile sum %a into %s : !slot, !rows
    kernel.yield %d, %t : !acc, !rows
  } -> !acc, !rows
  // CHECK: kernel.for_slices %{{.+}} : <64x64> {
  // CHECK: kernel.yield{{$}}
  // CHECK-NEXT: }{{$}}
  kernel.for_slices %p#0 : !acc {
  ^bb0(%frag: !frag, %col: index):
    kernel.yield
  }
  // CHECK: kernel.map %{{.+}} : !kernel.rowvec<64> {
  // CHECK: } -> !kernel.rowvec<64>
  %m = kernel.map %p#1 : !rows {
  ^bb0(%v: f32):
    kernel.yield %v : f32
  } -> !rows
  kernel.return
}
