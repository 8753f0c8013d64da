// RUN: flashnorm-opt %s --split-input-file --verify-diagnostics \
// RUN:   --allow-unregistered-dialect

// Every verifier of the dialect: attributes and types, the function, the
// pipeline, the epilogue, operand types and parents.

// expected-error @below {{needs 3 tile sizes, 2 warp counts and 3 cluster sizes, got 2, 2 and 3}}
kernel.func @config(%rows: index) config(<mma_sync, chip = "sm_80", tile = [64, 64], warps = [1, 1]>) {
  kernel.return
}

// -----

// expected-error @below {{needs 3 tile sizes, 2 warp counts and 3 cluster sizes, got 3, 1 and 3}}
kernel.func @config(%rows: index) config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [1]>) {
  kernel.return
}

// -----

// expected-error @below {{tile sizes must be in 1 to 1024, got 0}}
kernel.func @config(%rows: index) config(<mma_sync, chip = "sm_80", tile = [64, 0, 64], warps = [1, 1]>) {
  kernel.return
}

// -----

// expected-error @below {{tile sizes must be in 1 to 1024, got 2048}}
kernel.func @config(%rows: index) config(<mma_sync, chip = "sm_80", tile = [64, 64, 2048], warps = [1, 1]>) {
  kernel.return
}

// -----

// expected-error @below {{warp counts must be in 1 to 32, got 33}}
kernel.func @config(%rows: index) config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [33, 1]>) {
  kernel.return
}

// -----

// expected-error @below {{needs 3 tile sizes, 2 warp counts and 3 cluster sizes, got 3, 2 and 2}}
kernel.func @config(%rows: index) config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1], cluster = [1, 2]>) {
  kernel.return
}

// -----

// expected-error @below {{only wgmma has clusters, got 1x1x2}}
kernel.func @config(%rows: index) config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [1, 1], cluster = [1, 1, 2]>) {
  kernel.return
}

// -----

// expected-error @below {{clusters have one size above 1, got 2x1x2}}
kernel.func @config(%rows: index) config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1], cluster = [2, 1, 2]>) {
  kernel.return
}

// -----

// expected-error @below {{the cluster along M must be 1 or 2, got 4}}
kernel.func @config(%rows: index) config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1], cluster = [4, 1, 1]>) {
  kernel.return
}

// -----

// expected-error @below {{the cluster along N must be 1, or 2 or 4 with ping_pong, got 2}}
kernel.func @config(%rows: index) config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1], cluster = [1, 2, 1]>) {
  kernel.return
}

// -----

// expected-error @below {{the cluster along K must be 1, or 2, 4 or 8 with cooperative, got 2}}
kernel.func @config(%rows: index) config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1], schedule = ping_pong, cluster = [1, 1, 2]>) {
  kernel.return
}

// -----

// expected-error @below {{the cluster along K must be 1, or 2, 4 or 8 with cooperative, got 3}}
kernel.func @config(%rows: index) config(<wgmma, chip = "sm_90a", tile = [64, 64, 64], warps = [1, 1], cluster = [1, 1, 3]>) {
  kernel.return
}

// -----

// expected-error @below {{must have 2 dimensions, got 3}}
func.func private @type() -> !kernel.smem<64x64x64xbf16>

// -----

// expected-error @below {{element type must be bf16 or f16, got 'f32'}}
func.func private @type() -> !kernel.smem<64x64xf32>

// -----

// expected-error @below {{sizes must be positive, got 0}}
func.func private @type() -> !kernel.smem<0x64xbf16>

// -----

// expected-error @below {{expected rows x columns}}
func.func private @type() -> !kernel.acc<64>

// -----

// expected-error @below {{sizes must be positive, got 0}}
func.func private @type() -> !kernel.acc<64x0>

// -----

// expected-error @below {{sizes must be positive, got 0}}
func.func private @type() -> !kernel.frag<0x32>

// -----

// expected-error @below {{sizes must be positive, got -1}}
func.func private @type() -> !kernel.rowvec<-1>

// -----

// expected-error @below {{sizes must be positive, got 0}}
func.func private @type() -> !kernel.colvec<0>

// -----

// expected-error @below {{arguments must be an index or memrefs of rank 1 or 2, packed or strided<[?, 1]>, got 'i32'}}
kernel.func @arguments(%x: i32, %rows: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  kernel.return
}

// -----

// expected-error @below {{arguments must be an index or memrefs of rank 1 or 2, packed or strided<[?, 1]>, got 'memref<?x8x8xbf16>'}}
kernel.func @arguments(%x: memref<?x8x8xbf16>, %rows: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  kernel.return
}

// -----

// expected-error @below {{arguments must be an index or memrefs of rank 1 or 2, packed or strided<[?, 1]>, got 'memref<?x8xbf16, strided<[1, 16]>>'}}
kernel.func @arguments(%x: memref<?x8xbf16, strided<[1, 16]>>, %rows: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  kernel.return
}

// -----

// expected-error @below {{only the leading size may be dynamic, got 'memref<?x?xbf16>'}}
kernel.func @arguments(%x: memref<?x?xbf16>, %rows: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  kernel.return
}

// -----

// expected-error @below {{arrays hold bf16, f16 or f32, got 'memref<?x8xi32>'}}
kernel.func @arguments(%x: memref<?x8xi32>, %rows: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  kernel.return
}

// -----

// expected-error @below {{arrays lie in the default memory space, got 'memref<?x8xbf16, 3>'}}
kernel.func @arguments(%x: memref<?x8xbf16, 3>, %rows: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  kernel.return
}

// -----

// expected-error @below {{needs one index argument, the number of rows, got 0}}
kernel.func @arguments(%x: memref<?x8xbf16>)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  kernel.return
}

// -----

// expected-error @below {{needs one index argument, the number of rows, got 2}}
kernel.func @arguments(%rows: index, %more: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  kernel.return
}

// -----

// expected-error @below {{kernel.launch_info must be a dictionary, got 42 : i64}}
kernel.func @arguments(%rows: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>)
    attributes {kernel.launch_info = 42} {
  kernel.return
}

// -----

// expected-error @below {{kernel.launch_info holds the string 'strategy' and nothing else, got {block = 64 : i64, strategy = "gemm"}}}
kernel.func @launch_info_key(%rows: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>)
    attributes {kernel.launch_info = {block = 64 : i64, strategy = "gemm"}} {
  kernel.return
}

// -----

// expected-error @below {{kernel.launch_info holds the string 'strategy' and nothing else, got {strategy = 1 : i64}}}
kernel.func @launch_info_value(%rows: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>)
    attributes {kernel.launch_info = {strategy = 1 : i64}} {
  kernel.return
}

// -----

// expected-error @below {{kernels return nothing}}
"kernel.func"() <{sym_name = "results", function_type = (index) -> f32,
    config = #kernel.config<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>}> ({
^bb0(%rows: index):
  kernel.return
}) : () -> ()

// -----

// expected-error @below {{must end in kernel.return}}
kernel.func @terminator(%rows: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  llvm.unreachable
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  // expected-error @below {{bound, step and stages must be positive, got 0, 64 and 2}}
  %r = kernel.pipeline bound(0) step(64) stages(2)
      init(%zero : !acc) produce {
  ^bb0(%k: index, %a: !slot):
    kernel.load %x[%n, %k] to %a : memref<?x128xbf16>, !slot
    kernel.yield
  } consume {
  ^bb0(%k: index, %a: !slot, %c: !acc):
    %d = kernel.mma %a, %a, %c transpose_b : !slot, !slot, !acc
    kernel.yield %d : !acc
  } -> !acc
  kernel.return
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  // expected-error @below {{bound, step and stages must be positive, got 128, 64 and -2}}
  %r = kernel.pipeline bound(128) step(64) stages(-2)
      init(%zero : !acc) produce {
  ^bb0(%k: index, %a: !slot):
    kernel.load %x[%n, %k] to %a : memref<?x128xbf16>, !slot
    kernel.yield
  } consume {
  ^bb0(%k: index, %a: !slot, %c: !acc):
    %d = kernel.mma %a, %a, %c transpose_b : !slot, !slot, !acc
    kernel.yield %d : !acc
  } -> !acc
  kernel.return
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!rows = !kernel.rowvec<64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  // expected-error @below {{results must have the types of the inits}}
  %r = kernel.pipeline bound(128) step(64) stages(2)
      init(%zero : !acc) produce {
  ^bb0(%k: index, %a: !slot):
    kernel.load %x[%n, %k] to %a : memref<?x128xbf16>, !slot
    kernel.yield
  } consume {
  ^bb0(%k: index, %a: !slot, %c: !acc):
    %d = kernel.mma %a, %a, %c transpose_b : !slot, !slot, !acc
    kernel.yield %d : !acc
  } -> !rows
  kernel.return
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
!rows = !kernel.rowvec<64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  %s = kernel.fill 0.0 : !rows
  // expected-error @below {{carries one accumulator, and that first}}
  %r:2 = kernel.pipeline bound(128) step(64) stages(2)
      init(%s, %zero : !rows, !acc) produce {
  ^bb0(%k: index, %a: !slot):
    kernel.load %x[%n, %k] to %a : memref<?x128xbf16>, !slot
    kernel.yield
  } consume {
  ^bb0(%k: index, %a: !slot, %c: !acc):
    %d = kernel.mma %a, %a, %c transpose_b : !slot, !slot, !acc
    kernel.yield %d : !acc
  } -> !rows, !acc
  kernel.return
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  // expected-error @below {{carries one accumulator, and that first}}
  %r:2 = kernel.pipeline bound(128) step(64) stages(2)
      init(%zero, %zero : !acc, !acc) produce {
  ^bb0(%k: index, %a: !slot):
    kernel.load %x[%n, %k] to %a : memref<?x128xbf16>, !slot
    kernel.yield
  } consume {
  ^bb0(%k: index, %a: !slot, %c: !acc):
    %d = kernel.mma %a, %a, %c transpose_b : !slot, !slot, !acc
    kernel.yield %d : !acc
  } -> !acc, !acc
  kernel.return
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  // expected-error @below {{produce needs the arguments (index, slots)}}
  %r = kernel.pipeline bound(128) step(64) stages(2)
      init(%zero : !acc) produce {
  ^bb0(%k: index, %a: !slot, %e: index):
    kernel.load %x[%n, %k] to %a : memref<?x128xbf16>, !slot
    kernel.yield
  } consume {
  ^bb0(%k: index, %a: !slot, %c: !acc):
    %d = kernel.mma %a, %a, %c transpose_b : !slot, !slot, !acc
    kernel.yield %d : !acc
  } -> !acc
  kernel.return
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  // expected-error @below {{region needs 3 arguments of the types it is given}}
  %r = kernel.pipeline bound(128) step(64) stages(2)
      init(%zero : !acc) produce {
  ^bb0(%k: index, %a: !slot):
    kernel.load %x[%n, %k] to %a : memref<?x128xbf16>, !slot
    kernel.yield
  } consume {
  ^bb0(%k: index, %a: !slot, %c: !acc, %e: !acc):
    %d = kernel.mma %a, %a, %c transpose_b : !slot, !slot, !acc
    kernel.yield %d : !acc
  } -> !acc
  kernel.return
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  %r = kernel.pipeline bound(128) step(64) stages(2)
      init(%zero : !acc) produce {
  ^bb0(%k: index, %a: !slot):
    kernel.load %x[%n, %k] to %a : memref<?x128xbf16>, !slot
    // expected-error @below {{yields other types than 'kernel.pipeline' expects}}
    kernel.yield %zero : !acc
  } consume {
  ^bb0(%k: index, %a: !slot, %c: !acc):
    %d = kernel.mma %a, %a, %c transpose_b : !slot, !slot, !acc
    kernel.yield %d : !acc
  } -> !acc
  kernel.return
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  %r = kernel.pipeline bound(128) step(64) stages(2)
      init(%zero : !acc) produce {
  ^bb0(%k: index, %a: !slot):
    kernel.load %x[%n, %k] to %a : memref<?x128xbf16>, !slot
    kernel.yield
  } consume {
  ^bb0(%k: index, %a: !slot, %c: !acc):
    %d = kernel.mma %a, %a, %c transpose_b : !slot, !slot, !acc
    // expected-error @below {{yields other types than 'kernel.pipeline' expects}}
    kernel.yield
  } -> !acc
  kernel.return
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  %r = kernel.pipeline bound(128) step(64) stages(2)
      init(%zero : !acc) produce {
  ^bb0(%k: index, %a: !slot):
    // expected-error @below {{is not a load, and stands in 'produce'}}
    %e = arith.addi %n, %k : index
    kernel.load %x[%n, %k] to %a : memref<?x128xbf16>, !slot
    kernel.yield
  } consume {
  ^bb0(%k: index, %a: !slot, %c: !acc):
    %d = kernel.mma %a, %a, %c transpose_b : !slot, !slot, !acc
    kernel.yield %d : !acc
  } -> !acc
  kernel.return
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  %r = kernel.pipeline bound(128) step(64) stages(2)
      init(%zero : !acc) produce {
  ^bb0(%k: index, %a: !slot):
    kernel.load %x[%n, %k] to %a : memref<?x128xbf16>, !slot
    kernel.yield
  } consume {
  ^bb0(%k: index, %a: !slot, %c: !acc):
    // expected-error @below {{is neither MMA nor row statistic, and stands in 'consume'}}
    kernel.load %x[%n, %k] to %a : memref<?x128xbf16>, !slot
    %d = kernel.mma %a, %a, %c transpose_b : !slot, !slot, !acc
    kernel.yield %d : !acc
  } -> !acc
  kernel.return
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  // expected-error @below {{regions must end in kernel.yield}}
  %r = kernel.pipeline bound(128) step(64) stages(2)
      init(%zero : !acc) produce {
  ^bb0(%k: index, %a: !slot):
    kernel.load %x[%n, %k] to %a : memref<?x128xbf16>, !slot
    kernel.yield
  } consume {
  ^bb0(%k: index, %a: !slot, %c: !acc):
    %d = kernel.mma %a, %a, %c transpose_b : !slot, !slot, !acc
    llvm.unreachable
  } -> !acc
  kernel.return
}

// -----

!acc = !kernel.acc<64x64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  %r = kernel.pipeline bound(128) step(64) stages(2)
      init(%zero : !acc) produce {
  ^bb0(%k: index, %a: !kernel.smem<64x64xf16>):
    // expected-error @below {{source and target differ in element type}}
    kernel.load %x[%n, %k] to %a : memref<?x128xbf16>, !kernel.smem<64x64xf16>
    kernel.yield
  } consume {
  ^bb0(%k: index, %a: !kernel.smem<64x64xf16>, %c: !acc):
    %d = kernel.mma %a, %a, %c transpose_b : !kernel.smem<64x64xf16>, !kernel.smem<64x64xf16>, !acc
    kernel.yield %d : !acc
  } -> !acc
  kernel.return
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  %r = kernel.pipeline bound(128) step(64) stages(2)
      init(%zero : !acc) produce {
  ^bb0(%k: index, %a: !slot, %b: !kernel.smem<64x64xf16>):
    kernel.load %x[%n, %k] to %a : memref<?x128xbf16>, !slot
    kernel.yield
  } consume {
  ^bb0(%k: index, %a: !slot, %b: !kernel.smem<64x64xf16>, %c: !acc):
    // expected-error @below {{A and B differ in element type}}
    %d = kernel.mma %a, %b, %c transpose_b : !slot, !kernel.smem<64x64xf16>, !acc
    kernel.yield %d : !acc
  } -> !acc
  kernel.return
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  %r = kernel.pipeline bound(128) step(64) stages(2)
      init(%zero : !acc) produce {
  ^bb0(%k: index, %a: !slot, %b: !kernel.smem<64x32xbf16>):
    kernel.load %x[%n, %k] to %a : memref<?x128xbf16>, !slot
    kernel.yield
  } consume {
  ^bb0(%k: index, %a: !slot, %b: !kernel.smem<64x32xbf16>, %c: !acc):
    // expected-error @below {{cannot add 64x64 times 64x32 to 64x64}}
    %d = kernel.mma %a, %b, %c : !slot, !kernel.smem<64x32xbf16>, !acc
    kernel.yield %d : !acc
  } -> !acc
  kernel.return
}

// -----

// [n][k]: the same tile is 32 deep.
!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  %r = kernel.pipeline bound(128) step(64) stages(2)
      init(%zero : !acc) produce {
  ^bb0(%k: index, %a: !slot, %b: !kernel.smem<64x32xbf16>):
    kernel.load %x[%n, %k] to %a : memref<?x128xbf16>, !slot
    kernel.yield
  } consume {
  ^bb0(%k: index, %a: !slot, %b: !kernel.smem<64x32xbf16>, %c: !acc):
    // expected-error @below {{cannot add 64x64 times 32x64 to 64x64}}
    %d = kernel.mma %a, %b, %c transpose_b : !slot, !kernel.smem<64x32xbf16>, !acc
    kernel.yield %d : !acc
  } -> !acc
  kernel.return
}

// -----

// Columns behind those of the accumulator are for B [k][n].
// [n][k]: the same tile is 32 deep.
!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  %r = kernel.pipeline bound(128) step(64) stages(2)
      init(%zero : !acc) produce {
  ^bb0(%k: index, %a: !slot, %b: !kernel.smem<128x64xbf16>):
    kernel.load %x[%n, %k] to %a : memref<?x128xbf16>, !slot
    kernel.yield
  } consume {
  ^bb0(%k: index, %a: !slot, %b: !kernel.smem<128x64xbf16>, %c: !acc):
    // expected-error @below {{cannot add 64x64 times 64x128 to 64x64}}
    %d = kernel.mma %a, %b, %c transpose_b : !slot, !kernel.smem<128x64xbf16>, !acc
    kernel.yield %d : !acc
  } -> !acc
  kernel.return
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  %s = kernel.fill 0.0 : !kernel.rowvec<32>
  %r = kernel.pipeline bound(128) step(64) stages(2)
      init(%zero : !acc) produce {
  ^bb0(%k: index, %a: !slot):
    kernel.load %x[%n, %k] to %a : memref<?x128xbf16>, !slot
    kernel.yield
  } consume {
  ^bb0(%k: index, %a: !slot, %c: !acc):
    // expected-error @below {{tile and rowvec differ in rows}}
    %t = kernel.accumulate_tile sum %a into %s : !slot, !kernel.rowvec<32>
    %d = kernel.mma %a, %a, %c transpose_b : !slot, !slot, !acc
    kernel.yield %d : !acc
  } -> !acc
  kernel.return
}

// -----

!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  // expected-error @below {{region needs a frag and an index}}
  kernel.for_slices %zero : !acc {
  ^bb0(%f: !frag):
    kernel.yield
  }
  kernel.return
}

// -----

!acc = !kernel.acc<64x64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  // expected-error @below {{region's first argument must be a frag of 64 rows}}
  kernel.for_slices %zero : !acc {
  ^bb0(%f: !kernel.frag<32x32>, %col: index):
    kernel.yield
  }
  kernel.return
}

// -----

!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
!rows = !kernel.rowvec<64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  // expected-error @below {{region needs 2 arguments of the types it is given}}
  kernel.for_slices %zero : !acc {
  ^bb0(%f: !frag, %col: index, %s: !rows):
    kernel.yield
  }
  kernel.return
}

// -----

!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
!rows = !kernel.rowvec<64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  // expected-error @below {{results must be the accumulator, when slices are written back, and the carried rowvecs}}
  %r = kernel.for_slices %zero : !acc {
  ^bb0(%f: !frag, %col: index):
    kernel.yield %f : !frag
  } -> !rows
  kernel.return
}

// -----

!acc = !kernel.acc<64x64>
!frag = !kernel.frag<64x32>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %zero = kernel.zero_acc : !acc
  %r = kernel.for_slices %zero : !acc {
  ^bb0(%f: !frag, %col: index):
    // expected-error @below {{yields other types than 'kernel.for_slices' expects}}
    kernel.yield
  } -> !acc
  kernel.return
}

// -----

!rows = !kernel.rowvec<64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %s = kernel.fill 0.0 : !rows
  // expected-error @below {{needs an input}}
  %r = "kernel.map"() ({
    %c = arith.constant 0.0 : f32
    kernel.yield %c : f32
  }) : () -> !rows
  kernel.return
}

// -----

!rows = !kernel.rowvec<64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %s = kernel.fill 0.0 : !rows
  // expected-error @below {{region needs 1 arguments of the types it is given}}
  %r = kernel.map %s : !rows {
  ^bb0(%v: f32, %w: f32):
    kernel.yield %v : f32
  } -> !rows
  kernel.return
}

// -----

!rows = !kernel.rowvec<64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %s = kernel.fill 0.0 : !rows
  %r = kernel.map %s : !rows {
  ^bb0(%v: f32):
    // expected-error @below {{yields other types than 'kernel.map' expects}}
    kernel.yield %s : !rows
  } -> !rows
  kernel.return
}

// -----

!frag = !kernel.frag<64x32>
!rows = !kernel.rowvec<64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %s = kernel.fill 0.0 : !rows
  // expected-error @below {{result must be a frag exactly when an input is}}
  %r = kernel.map %s : !rows {
  ^bb0(%v: f32):
    kernel.yield %v : f32
  } -> !frag
  kernel.return
}

// -----

!frag = !kernel.frag<64x32>
!rows = !kernel.rowvec<64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %s = kernel.fill 0.0 : !rows
  %f = "test.frag"() : () -> !frag
  // expected-error @below {{result must be a frag exactly when an input is}}
  %r = kernel.map %f : !frag {
  ^bb0(%v: f32):
    kernel.yield %v : f32
  } -> !rows
  kernel.return
}

// -----

!rows = !kernel.rowvec<64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %s = kernel.fill 0.0 : !rows
  %c = "test.colvec"() : () -> !kernel.colvec<32>
  // expected-error @below {{a colvec needs a frag beside it}}
  %r = kernel.map %s, %c : !rows, !kernel.colvec<32> {
  ^bb0(%v: f32, %w: f32):
    kernel.yield %v : f32
  } -> !rows
  kernel.return
}

// -----

!frag = !kernel.frag<64x32>
!rows = !kernel.rowvec<64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %s = kernel.fill 0.0 : !rows
  %f = "test.frag"() : () -> !frag
  %o = "test.other"() : () -> !kernel.frag<64x16>
  // expected-error @below {{input '!kernel.frag<64x16>' does not fit the result '!kernel.frag<64x32>'}}
  %r = kernel.map %f, %o : !frag, !kernel.frag<64x16> {
  ^bb0(%v: f32, %w: f32):
    kernel.yield %v : f32
  } -> !frag
  kernel.return
}

// -----

!frag = !kernel.frag<64x32>
!rows = !kernel.rowvec<64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %s = kernel.fill 0.0 : !rows
  %f = "test.frag"() : () -> !frag
  %o = "test.other"() : () -> !kernel.rowvec<32>
  // expected-error @below {{input '!kernel.rowvec<32>' does not fit the result '!kernel.frag<64x32>'}}
  %r = kernel.map %f, %o : !frag, !kernel.rowvec<32> {
  ^bb0(%v: f32, %w: f32):
    kernel.yield %v : f32
  } -> !frag
  kernel.return
}

// -----

!frag = !kernel.frag<64x32>
!rows = !kernel.rowvec<64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %s = kernel.fill 0.0 : !rows
  %f = "test.frag"() : () -> !frag
  %o = "test.other"() : () -> !kernel.colvec<16>
  // expected-error @below {{input '!kernel.colvec<16>' does not fit the result '!kernel.frag<64x32>'}}
  %r = kernel.map %f, %o : !frag, !kernel.colvec<16> {
  ^bb0(%v: f32, %w: f32):
    kernel.yield %v : f32
  } -> !frag
  kernel.return
}

// -----

!rows = !kernel.rowvec<64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %s = kernel.fill 0.0 : !rows
  %o = "test.other"() : () -> !kernel.rowvec<32>
  // expected-error @below {{input '!kernel.rowvec<32>' does not fit the result '!kernel.rowvec<64>'}}
  %r = kernel.map %s, %o : !rows, !kernel.rowvec<32> {
  ^bb0(%v: f32, %w: f32):
    kernel.yield %v : f32
  } -> !rows
  kernel.return
}

// -----

!frag = !kernel.frag<64x32>
!rows = !kernel.rowvec<64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %s = kernel.fill 0.0 : !rows
  %f = "test.frag"() : () -> !frag
  %t = kernel.fill 0.0 : !kernel.rowvec<32>
  // expected-error @below {{cannot add rows of '!kernel.frag<64x32>' to '!kernel.rowvec<32>'}}
  %r = kernel.accumulate sum %f into %t columns(%n, 64) : !frag, !kernel.rowvec<32>
  kernel.return
}

// -----

!frag = !kernel.frag<64x32>
!rows = !kernel.rowvec<64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %s = kernel.fill 0.0 : !rows
  %f = "test.frag"() : () -> !frag
  // expected-error @below {{limit must be positive, got -8}}
  %r = kernel.accumulate sum %f into %s columns(%n, -8) : !frag, !rows
  kernel.return
}

// -----

kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  // expected-error @below {{operand #0 must be 1D memref of}}
  %r = kernel.load_colvec %x[%n] : memref<?x128xbf16>, !kernel.colvec<32>
  kernel.return
}

// -----

!frag = !kernel.frag<64x32>
kernel.func @body(%x: memref<128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  // expected-error @below {{operand #0 must be 2D memref of}}
  %r = kernel.load_frag %x[%n, %n] : memref<128xbf16>, !frag
  kernel.return
}

// -----

!frag = !kernel.frag<64x32>
kernel.func @body(%x: memref<128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %f = "test.frag"() : () -> !frag
  // expected-error @below {{operand #1 must be 2D memref of}}
  kernel.store_frag %f, %x[%n, %n] : !frag, memref<128xbf16>
  kernel.return
}

// -----

!rows = !kernel.rowvec<64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %s = kernel.fill 0.0 : !rows
  // expected-error @below {{operand #1 must be 1D memref of}}
  kernel.store_rowvec %s, %x[%n] : !rows, memref<?x128xbf16>
  kernel.return
}

// -----

!slot = !kernel.smem<64x64xbf16>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %a = "test.slot"() : () -> !slot
  // expected-error @below {{expects parent op 'kernel.pipeline'}}
  kernel.load %x[%n, %n] to %a : memref<?x128xbf16>, !slot
  kernel.return
}

// -----

!slot = !kernel.smem<64x64xbf16>
!acc = !kernel.acc<64x64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %a = "test.slot"() : () -> !slot
  %c = kernel.zero_acc : !acc
  // expected-error @below {{expects parent op 'kernel.pipeline'}}
  %d = kernel.mma %a, %a, %c transpose_b : !slot, !slot, !acc
  kernel.return
}

// -----

!slot = !kernel.smem<64x64xbf16>
!rows = !kernel.rowvec<64>
kernel.func @body(%x: memref<?x128xbf16>, %n: index)
    config(<mma_sync, chip = "sm_80", tile = [64, 64, 64], warps = [2, 2]>) {
  %a = "test.slot"() : () -> !slot
  %s = kernel.fill 0.0 : !rows
  // expected-error @below {{expects parent op 'kernel.pipeline'}}
  %d = kernel.accumulate_tile sum %a into %s : !slot, !rows
  kernel.return
}

// -----

func.func @outside() {
  // expected-error @below {{expects parent op 'kernel.func'}}
  kernel.return
}

// -----

func.func @outside() {
  // expected-error @below {{expects parent op to be one of 'kernel.pipeline, kernel.for_slices, kernel.map'}}
  kernel.yield
}
