// The models and small functions reach the LLVM dialect with nothing left over.
// RUN: flashnorm-opt %s --flashnorm-lower-to-reference --flashnorm-lower-to-cpu | FileCheck %s
// RUN: flashnorm-opt %models/llama_block.mlir --flashnorm-lower-to-cpu | FileCheck %s --check-prefix=LLAMA
// RUN: flashnorm-opt %models/rec_tower.mlir --flashnorm-lower-to-cpu | FileCheck %s --check-prefix=TOWER

// A function is called through its C wrapper; the result's memref comes first.
// LLAMA: llvm.func @_mlir_ciface_llama_block(%{{.*}}: !llvm.ptr
// LLAMA-NOT: {{(linalg|scf|tensor|memref|arith|math|builtin)\.}}
// TOWER: llvm.func @_mlir_ciface_rec_tower(%{{.*}}: !llvm.ptr
// TOWER-NOT: {{(linalg|scf|tensor|memref|arith|math|builtin)\.}}

// What LLVM has no intrinsic for calls the C library.
// CHECK: llvm.func @erff(f32) -> f32
// CHECK-LABEL: llvm.func @erf_of(
// CHECK: llvm.call @erff
// CHECK: llvm.func @_mlir_ciface_erf_of(
func.func @erf_of(%x: f32) -> f32 {
  %y = math.erf %x : f32
  return %y : f32
}
