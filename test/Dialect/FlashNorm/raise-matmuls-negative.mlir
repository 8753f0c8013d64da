// What is no matmul with a weight stays as it is, and a remark says why.
// RUN: flashnorm-opt %s --flashnorm-raise-matmuls --split-input-file | FileCheck %s --implicit-check-not=flashnorm.matmul
// RUN: flashnorm-opt %s --flashnorm-raise-matmuls --split-input-file --remarks-filter-missed=flashnorm-raise-matmuls -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// IEEE f32 is not compiled.
// CHECK-LABEL: func @true_f32
// CHECK: linalg.matmul
// REMARK: ContractionNotRaised{{.*}}linalg.matmul: x is f32; only bf16 and f16 are compiled
func.func @true_f32(%x: tensor<?x64xf32>, %w: tensor<64x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x64xf32>, tensor<64x32xf32>) outs(%c : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// Only one operand was bf16 before.
#id = affine_map<(m, n) -> (m, n)>
// CHECK-LABEL: func @weight_in_f32
// CHECK: linalg.matmul
// REMARK: ContractionNotRaised{{.*}}linalg.matmul: x is bf16 but the weight f32
func.func @weight_in_f32(%x: tensor<8x64xbf16>, %w: tensor<64x32xf32>) -> tensor<8x32xf32> {
  %ex = tensor.empty() : tensor<8x64xf32>
  %x32 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x64xbf16>) outs(%ex : tensor<8x64xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %v = arith.extf %in : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<8x64xf32>
  %c = arith.constant dense<0.0> : tensor<8x32xf32>
  %y = linalg.matmul ins(%x32, %w : tensor<8x64xf32>, tensor<64x32xf32>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// Nobody set the accumulator to zero.
// CHECK-LABEL: func @uninitialised
// CHECK: linalg.matmul
// REMARK: ContractionNotRaised{{.*}}linalg.matmul: the accumulator starts from an uninitialised tensor
func.func @uninitialised(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>) -> tensor<8x32xf32> {
  %e = tensor.empty() : tensor<8x32xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// Attention: both operands are activations.
// CHECK-LABEL: func @attention_scores
// CHECK: linalg.batch_matmul
// REMARK: ContractionNotRaised{{.*}}linalg.batch_matmul: both operands vary along a leading dimension of the result: neither is a weight
func.func @attention_scores(%q: tensor<4x?x64xbf16>, %k: tensor<4x64x?xbf16>, %e: tensor<4x?x?xf32>) -> tensor<4x?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<4x?x?xf32>) -> tensor<4x?x?xf32>
  %y = linalg.batch_matmul ins(%q, %k : tensor<4x?x64xbf16>, tensor<4x64x?xbf16>) outs(%c : tensor<4x?x?xf32>) -> tensor<4x?x?xf32>
  return %y : tensor<4x?x?xf32>
}

// -----

// N is not static.
// CHECK-LABEL: func @dynamic_columns
// CHECK: linalg.matmul
// REMARK: ContractionNotRaised{{.*}}linalg.matmul: the weight tensor<64x?xbf16> is not static
func.func @dynamic_columns(%x: tensor<8x64xbf16>, %w: tensor<64x?xbf16>, %e: tensor<8x?xf32>) -> tensor<8x?xf32> {
  %zero = arith.constant 0.0 : f32
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<8x?xf32>) -> tensor<8x?xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x?xbf16>) outs(%c : tensor<8x?xf32>) -> tensor<8x?xf32>
  return %y : tensor<8x?xf32>
}

// -----

// A vector times a matrix.
// CHECK-LABEL: func @vector
// CHECK: linalg.vecmat
// REMARK: ContractionNotRaised{{.*}}linalg.vecmat: x is a vector, not a matrix
func.func @vector(%x: tensor<64xbf16>, %w: tensor<64x32xbf16>) -> tensor<32xf32> {
  %c = arith.constant dense<0.0> : tensor<32xf32>
  %y = linalg.vecmat ins(%x, %w : tensor<64xbf16>, tensor<64x32xbf16>) outs(%c : tensor<32xf32>) -> tensor<32xf32>
  return %y : tensor<32xf32>
}

// -----

// An f64 accumulator would lose precision.
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func @accumulator_in_f64
// CHECK: linalg.generic
// REMARK: ContractionNotRaised{{.*}}linalg.generic: the accumulator is f64; kernels accumulate in f32
func.func @accumulator_in_f64(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>) -> tensor<8x32xf64> {
  %c = arith.constant dense<0.0> : tensor<8x32xf64>
  %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%c : tensor<8x32xf64>) {
  ^bb0(%l: bf16, %r: bf16, %out: f64):
    %l32 = arith.extf %l : bf16 to f64
    %r32 = arith.extf %r : bf16 to f64
    %p = arith.mulf %l32, %r32 : f64
    %s = arith.addf %out, %p : f64
    linalg.yield %s : f64
  } -> tensor<8x32xf64>
  return %y : tensor<8x32xf64>
}

// -----

// The result is stored transposed, and the row count is not static.
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (n, m)>
// CHECK-LABEL: func @transposed_result
// CHECK: linalg.generic
// REMARK: ContractionNotRaised{{.*}}linalg.generic: the result's last dimension is none of the weight's columns
func.func @transposed_result(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<32x?xf32>) -> tensor<32x?xf32> {
  %zero = arith.constant 0.0 : f32
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<32x?xf32>) -> tensor<32x?xf32>
  %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%c : tensor<32x?xf32>) {
  ^bb0(%l: bf16, %r: bf16, %out: f32):
    %l32 = arith.extf %l : bf16 to f32
    %r32 = arith.extf %r : bf16 to f32
    %p = arith.mulf %l32, %r32 : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<32x?xf32>
  return %y : tensor<32x?xf32>
}

// -----

// A squared difference, not a product: no contraction at all, so no remark.
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func @not_a_product
// CHECK: linalg.generic
// REMARK-NOT: ContractionNotRaised
func.func @not_a_product(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>) -> tensor<8x32xf32> {
  %c = arith.constant dense<0.0> : tensor<8x32xf32>
  %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%c : tensor<8x32xf32>) {
  ^bb0(%l: bf16, %r: bf16, %out: f32):
    %l32 = arith.extf %l : bf16 to f32
    %r32 = arith.extf %r : bf16 to f32
    %p = arith.subf %l32, %r32 : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// Every row has a weight of its own.
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (m, k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func @weight_varies_with_rows
// CHECK: linalg.generic
// REMARK: ContractionNotRaised{{.*}}linalg.generic: both operands vary along a leading dimension
func.func @weight_varies_with_rows(%x: tensor<8x64xbf16>, %w: tensor<8x64x32xbf16>) -> tensor<8x32xf32> {
  %c = arith.constant dense<0.0> : tensor<8x32xf32>
  %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<8x64xbf16>, tensor<8x64x32xbf16>) outs(%c : tensor<8x32xf32>) {
  ^bb0(%l: bf16, %r: bf16, %out: f32):
    %l32 = arith.extf %l : bf16 to f32
    %r32 = arith.extf %r : bf16 to f32
    %p = arith.mulf %l32, %r32 : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// The weight's depth is known, x's is not.
// CHECK-LABEL: func @dynamic_depth
// CHECK: linalg.matmul
// REMARK: Remark="linalg.matmul: x's contracted dimensions are not static
func.func @dynamic_depth(%x: tensor<?x?xbf16>, %w: tensor<64x32xbf16>, %o: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %y = linalg.matmul ins(%x, %w : tensor<?x?xbf16>, tensor<64x32xbf16>) outs(%o : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// Whoever reads the result does not know its columns.
// CHECK-LABEL: func @dynamic_columns
// CHECK: linalg.matmul
// REMARK: Remark="linalg.matmul: the result's columns are not static
func.func @dynamic_columns(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = linalg.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%o : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// -----

// Behind a cast, sizes that no run can have.
// CHECK-LABEL: func @other_depth
// CHECK: linalg.matmul
// REMARK: Remark="linalg.matmul: x contracts 48 elements but the weight 64
func.func @other_depth(%x: tensor<?x48xbf16>, %w: tensor<64x32xbf16>, %o: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %u = tensor.cast %x : tensor<?x48xbf16> to tensor<?x?xbf16>
  %y = linalg.matmul ins(%u, %w : tensor<?x?xbf16>, tensor<64x32xbf16>) outs(%o : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// How the weight is stored is not ours to change: no contraction of ours.
// CHECK-LABEL: func @encoding
// CHECK: linalg.matmul
func.func @encoding(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16, "rows">, %o: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %y = linalg.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16, "rows">) outs(%o : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// A size of 0 passes upstream's verifier as any.
// CHECK-LABEL: func @no_columns
// CHECK: linalg.matmul
// CHECK-NOT: flashnorm.matmul
func.func @no_columns(%x: tensor<0x64xbf16>, %w: tensor<64x32xbf16>, %y: tensor<0x0xf32>) -> tensor<0x0xf32> {
  %0 = linalg.matmul ins(%x, %w : tensor<0x64xbf16>, tensor<64x32xbf16>) outs(%y : tensor<0x0xf32>) -> tensor<0x0xf32>
  return %0 : tensor<0x0xf32>
}
