// RUN: flashnorm-opt %s --convert-flashnorm-launch-to-runtime --split-input-file | FileCheck %s
// RUN: flashnorm-opt %s --convert-flashnorm-launch-to-runtime --split-input-file \
// RUN:   --expand-strided-metadata --convert-scf-to-cf --lower-affine --convert-arith-to-llvm \
// RUN:   --finalize-memref-to-llvm --convert-func-to-llvm --convert-cf-to-llvm --reconcile-unrealized-casts \
// RUN:   | FileCheck %s --check-prefix=LLVM

// One operand after the other: address with its offset, rank, sizes, strides.
// The name is a C string.

// CHECK-DAG: llvm.mlir.global internal constant @[[$NAME:.*]]("kernels::gemm\00")
// CHECK-DAG: llvm.func @flashnorm_launch(!llvm.ptr, !llvm.ptr)
// CHECK-LABEL: func.func @operands
//  CHECK-SAME:   (%[[X:.*]]: memref<?x64xbf16, strided<[128, 1], offset: ?>>, %[[Y:.*]]: memref<?xf32>)
//   CHECK-DAG:   %[[BUFFER:.*]] = memref.alloca() : memref<11xi64>
//   CHECK-DAG:   %[[COUNT:.*]] = arith.constant 2 : index
//       CHECK:   %{{.*}}, %[[OFFSET:.*]], %[[SIZES:.*]]:2, %[[STRIDES:.*]]:2 = memref.extract_strided_metadata %[[X]]
//       CHECK:   %[[BASE:.*]] = memref.extract_aligned_pointer_as_index %[[X]]
//       CHECK:   %[[BYTES:.*]] = arith.muli %[[OFFSET]], %{{.*}} : index
//       CHECK:   %[[ADDRESS:.*]] = arith.addi %[[BASE]], %[[BYTES]] : index
//       CHECK:   %{{.*}}, %[[Y_OFFSET:.*]], %[[Y_SIZE:.*]], %[[Y_STRIDE:.*]] = memref.extract_strided_metadata %[[Y]]
//       CHECK:   %[[COUNT_WORD:.*]] = arith.index_cast %[[COUNT]] : index to i64
//       CHECK:   %[[ADDRESS_WORD:.*]] = arith.index_cast %[[ADDRESS]] : index to i64
//       CHECK:   %[[ROWS_WORD:.*]] = arith.index_cast %[[SIZES]]#0 : index to i64
//       CHECK:   %[[STRIDE_WORD:.*]] = arith.index_cast %[[STRIDES]]#0 : index to i64
//       CHECK:   %[[Y_SIZE_WORD:.*]] = arith.index_cast %[[Y_SIZE]] : index to i64
//       CHECK:   memref.store %[[COUNT_WORD]], %[[BUFFER]][%{{.*}}]
//       CHECK:   memref.store %[[ADDRESS_WORD]], %[[BUFFER]][%{{.*}}]
//       CHECK:   memref.store %[[ROWS_WORD]], %[[BUFFER]][%{{.*}}]
//       CHECK:   memref.store %[[STRIDE_WORD]], %[[BUFFER]][%{{.*}}]
//       CHECK:   memref.store %[[Y_SIZE_WORD]], %[[BUFFER]][%{{.*}}]
//       CHECK:   %[[TEXT:.*]] = llvm.mlir.addressof @[[$NAME]] : !llvm.ptr
//       CHECK:   %[[WORDS:.*]] = llvm.inttoptr %{{.*}} : i64 to !llvm.ptr
//       CHECK:   llvm.call @flashnorm_launch(%[[TEXT]], %[[WORDS]])
//   CHECK-NOT:   flashnorm.launch
// LLVM-LABEL: llvm.func @operands
//       LLVM:   llvm.call @flashnorm_launch
func.func @operands(%x: memref<?x64xbf16, strided<[128, 1], offset: ?>>, %y: memref<?xf32>) {
  flashnorm.launch @kernels::@gemm
    ins(%x : memref<?x64xbf16, strided<[128, 1], offset: ?>>)
    outs(%y : memref<?xf32>)
  return
}

// -----

// Launches of one kernel share its name; a name that is taken is left alone.

//   CHECK-DAG: llvm.mlir.global internal constant @[[$FIRST:.*]]("kernels::first\00")
//   CHECK-DAG: llvm.mlir.global internal constant @[[$SECOND:.*]]("kernels::second\00")
// CHECK-LABEL: func.func private @flashnorm_kernel_name()
// CHECK-LABEL: func.func @names
//       CHECK:   llvm.mlir.addressof @[[$FIRST]]
//       CHECK:   llvm.mlir.addressof @[[$SECOND]]
//       CHECK:   llvm.mlir.addressof @[[$FIRST]]
// LLVM-LABEL: llvm.func @names
func.func private @flashnorm_kernel_name()
func.func @names(%x: memref<4x8xf16>, %y: memref<4x8xf16>) {
  flashnorm.launch @kernels::@first ins(%x : memref<4x8xf16>) outs(%y : memref<4x8xf16>)
  flashnorm.launch @kernels::@second ins(%y : memref<4x8xf16>) outs(%x : memref<4x8xf16>)
  flashnorm.launch @kernels::@first ins(%x : memref<4x8xf16>) outs(%y : memref<4x8xf16>)
  return
}

// -----

// The buffer of a launch in a loop is allocated once.

// CHECK-LABEL: func.func @loop
//       CHECK:   memref.alloca() : memref<7xi64>
//       CHECK:   scf.for
//   CHECK-NOT:   memref.alloca
//       CHECK:     llvm.call @flashnorm_launch
// LLVM-LABEL: llvm.func @loop
func.func @loop(%y: memref<?x8xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    flashnorm.launch @kernels::@fill outs(%y : memref<?x8xbf16>)
  }
  return
}

// -----

// Nothing to convert: no declaration either.

//   CHECK-NOT: flashnorm_launch
// CHECK-LABEL: func.func @nothing
// LLVM-LABEL: llvm.func @nothing
func.func @nothing() {
  return
}
