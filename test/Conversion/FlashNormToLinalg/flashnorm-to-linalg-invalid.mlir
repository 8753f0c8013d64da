// What has no linalg form is an error.
// RUN: flashnorm-opt %s --convert-flashnorm-to-linalg --split-input-file --verify-diagnostics

func.func @memref(%x: memref<8x16xf32>, %y: memref<8x16xf32>) {
  // expected-error @+1 {{cannot be lowered to linalg on memrefs (input 'memref<8x16xf32>'); lower it before bufferization}}
  flashnorm.rms_norm ins(%x : memref<8x16xf32>) outs(%y : memref<8x16xf32>) {eps = 1.0e-5 : f64}
  return
}

// -----

func.func @launch(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error @+1 {{has no linalg form: its kernel @kernels::@gemm is compiled code}}
  %y = flashnorm.launch @kernels::@gemm outs(%x : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
