// RUN: flashnorm-run %s --device=cpu --entry=linear_norm --seed=7 --output=%t | FileCheck %s --check-prefix=PASS
// RUN: not flashnorm-run %s --device=cpu --entry=linear_norm --seed=7 --tolerance=1e-6 | FileCheck %s --check-prefix=TOLERANCE
// RUN: flashnorm-run %s --device=cpu --entry=folded --rows=9 | FileCheck %s --check-prefix=FOLDED

// A matmul and its norm: the fused form rounds once less, and is nearer to f64.
// 512 rows of 128 are enough for the accuracy rule.
// PASS: @linear_norm, seed 7; 1 of 1 matmuls fused with norms, 0 norms left
// PASS-NEXT: result 0: bf16 [512, 128]
// PASS-NEXT:   RMS error against f64: fused 1.{{[0-9]+}}e-03, original 2.{{[0-9]+}}e-03, ratio 0.{{[5-9][0-9]+}}{{$}}
// PASS-NEXT:   fused against original: {{[12]}}.{{[0-9]+}}e-03
// PASS-NEXT:   largest error {{.*}} at [{{[0-9]+}}, {{[0-9]+}}]: fused {{.*}}, original {{.*}}, f64
// PASS-NEXT: PASS

// TOLERANCE: FAIL: error 1.{{[0-9]+}}e-03 exceeds the tolerance of 1.000e-06
// TOLERANCE: FAIL
func.func @linear_norm(%x: tensor<512x64xbf16>, %w: tensor<128x64xbf16> {flashnorm.frozen}) -> tensor<512x128xbf16> {
  %init = tensor.empty() : tensor<512x128xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<512x64xbf16>, tensor<128x64xbf16>)
    outs(%init : tensor<512x128xbf16>) {transpose_weight} -> tensor<512x128xbf16>
  %z = flashnorm.rms_norm ins(%y : tensor<512x128xbf16>)
    outs(%init : tensor<512x128xbf16>) {eps = 1.0e-05 : f64} -> tensor<512x128xbf16>
  return %z : tensor<512x128xbf16>
}

// The norm's weight moves to prepare_weights, which runs first.
// FOLDED: @folded, seed 0; 1 of 1 matmuls fused with norms, 0 norms left
// FOLDED: result 0: bf16 [9, 256]
// FOLDED: PASS
func.func @folded(%x: tensor<?x64xbf16>, %g: tensor<64xbf16> {flashnorm.frozen}, %w: tensor<256x64xbf16> {flashnorm.frozen}) -> tensor<?x256xbf16> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %norm_init = tensor.empty(%rows) : tensor<?x64xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<?x64xbf16>) weight(%g : tensor<64xbf16>)
    outs(%norm_init : tensor<?x64xbf16>) {eps = 1.0e-05 : f64} -> tensor<?x64xbf16>
  %init = tensor.empty(%rows) : tensor<?x256xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x64xbf16>, tensor<256x64xbf16>)
    outs(%init : tensor<?x256xbf16>) {transpose_weight} -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}
