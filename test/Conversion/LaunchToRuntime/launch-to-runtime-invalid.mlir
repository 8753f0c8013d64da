// RUN: flashnorm-opt %s --convert-flashnorm-launch-to-runtime --split-input-file --verify-diagnostics

func.func @tensors(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{operand 0 has type 'tensor<4x8xf32>'; only launches on memrefs can be called: bufferize first}}
  %0 = flashnorm.launch @kernels::@gemm ins(%x : tensor<4x8xf32>) outs(%y : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @element_type(%x: memref<4x8xf32>, %y: memref<4x8xf64>) {
  // expected-error @below {{operand 1 has elements of type 'f64'; the launch ABI knows bf16, f16 and f32}}
  flashnorm.launch @kernels::@gemm ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xf64>)
  return
}

// -----

// expected-error @below {{the program's own @flashnorm_launch has the name of the runtime function that launches call, and another type: rename it}}
llvm.func @flashnorm_launch(i32)
func.func @taken(%y: memref<4x8xf32>) {
  flashnorm.launch @kernels::@gemm outs(%y : memref<4x8xf32>)
  return
}

// -----

// expected-error @below {{the program's own @flashnorm_launch has the name}}
func.func private @flashnorm_launch(memref<4x8xf32>)
func.func @taken_by_func(%y: memref<4x8xf32>) {
  flashnorm.launch @kernels::@gemm outs(%y : memref<4x8xf32>)
  return
}

// -----

func.func @shared(%x: memref<4x8xf32, 3>, %y: memref<4x8xf32>) {
  // expected-error @below {{operand 0 of type 'memref<4x8xf32, 3>' is not in global memory, which is all that a kernel can be given}}
  flashnorm.launch @kernels::@gemm ins(%x : memref<4x8xf32, 3>) outs(%y : memref<4x8xf32>)
  return
}
