// What overflows in the original, too, is no fault of the fused form; but where
// nothing else is left, nothing was compared, and that is no PASS.

// RUN: not flashnorm-run %s --device=cpu --entry=product --input=large | FileCheck %s --check-prefix=ALL
// ALL: result 0: f16 [16, 32]
// ALL-NEXT: not compared, as they overflow in the program's types: 512 elements
// ALL-NEXT: FAIL: no element is finite in the fused form, so that there is nothing to compare
// ALL-NEXT: {{^}}FAIL

// Some overflow: the others are compared among themselves, and not with the size of
// those that are left out.
// RUN: flashnorm-run %s --device=cpu --entry=product --input=large --arg=1:uniform | FileCheck %s --check-prefix=SOME
// SOME: RMS error against f64: fused {{[12]}}.{{[0-9]+}}e-04, original {{[12]}}.{{[0-9]+}}e-04, ratio
// SOME: not compared, as they overflow in the program's types: [[#]] elements
// SOME-NEXT: {{^}}PASS

// f8E4M3FN has no infinity: it is NaN in both forms.
// RUN: flashnorm-run %s --device=cpu --entry=cast --input=heavy-tail --tolerance=0.05 | FileCheck %s --check-prefix=CAST
// CAST: RMS error against f64: fused [[ERROR:[0-9.e-]+]], original [[ERROR]], ratio 1.000
// CAST-NEXT: fused against original: 0.000e+00
// CAST: not compared, as they overflow in the program's types: [[#]] elements
// CAST-NEXT: {{^}}PASS

func.func @product(%x: tensor<16x64xf16>, %w: tensor<64x32xf16>) -> tensor<16x32xf16> {
  %init = tensor.empty() : tensor<16x32xf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<16x64xf16>, tensor<64x32xf16>)
    outs(%init : tensor<16x32xf16>) -> tensor<16x32xf16>
  return %y : tensor<16x32xf16>
}

func.func @cast(%x: tensor<16x64xf16>, %w: tensor<64x32xf16>) -> tensor<16x32xf32> {
  %init = tensor.empty() : tensor<16x32xf32>
  %scale = arith.constant dense<16.0> : tensor<16x32xf32>
  %y = flashnorm.matmul ins(%x, %w : tensor<16x64xf16>, tensor<64x32xf16>)
    outs(%init : tensor<16x32xf32>) -> tensor<16x32xf32>
  %s = arith.mulf %y, %scale : tensor<16x32xf32>
  %q = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xf8E4M3FN>
  %z = arith.extf %q : tensor<16x32xf8E4M3FN> to tensor<16x32xf32>
  return %z : tensor<16x32xf32>
}
