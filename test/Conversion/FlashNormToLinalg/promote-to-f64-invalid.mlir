// What depends on the width of a float is refused, and nothing is changed.
// RUN: flashnorm-opt %s --flashnorm-promote-to-f64 --split-input-file --verify-diagnostics

func.func @bits(%x: f32) -> i32 {
  // expected-error @+1 {{cannot be computed in f64: its meaning depends on the width of 'f32'}}
  %y = arith.bitcast %x : f32 to i32
  return %y : i32
}

// -----

// expected-error @+1 {{is external: its type '(f32) -> f32' cannot become f64}}
func.func private @external(f32) -> f32

// -----

func.func @wide(%x: f64) -> f64 {
  // expected-error @+1 {{cannot be computed in f64: type 'f128'}}
  %y = arith.extf %x : f64 to f128
  %z = arith.truncf %y : f128 to f64
  return %z : f64
}

// -----

// expected-error @+1 {{cannot be computed in f64: type 'complex<f32>'}}
func.func @complex(%x: complex<f32>) -> complex<f32> {
  return %x : complex<f32>
}

// -----

// expected-error @+1 {{cannot be computed in f64: type 'memref<4xf32>'}}
func.func @memref(%x: memref<4xf32>) {
  return
}

// -----

func.func @other_dialect(%x: f32) -> f32 {
  // expected-error @+1 {{cannot be computed in f64: not an op of arith, cf, flashnorm, func, linalg, math, scf, tensor or vector}}
  %y = gpu.subgroup_reduce add %x : (f32) -> f32
  return %y : f32
}

// -----

func.func @no_data() -> tensor<2xf32> {
  // expected-error @+1 {{cannot be computed in f64: value dense_resource<absent> : tensor<2xf32>}}
  %x = arith.constant dense_resource<absent> : tensor<2xf32>
  return %x : tensor<2xf32>
}

// -----

func.func @launch(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error @+1 {{cannot be computed in f64: its meaning depends on the width of 'tensor<8x16xf32>'}}
  %y = flashnorm.launch @kernels::@gemm outs(%x : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
