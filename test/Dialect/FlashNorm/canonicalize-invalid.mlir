// Sizes that contradict each other, as in code that never runs: upstream folds the
// casts that hide it. Each of the two sizes was once cast to the other, for ever.
// RUN: flashnorm-opt %s --canonicalize --verify-diagnostics

func.func @contradicting_rows(%x: tensor<8x32xbf16>) -> tensor<?x32xbf16> {
  %c4 = arith.constant 4 : index
  %cast = tensor.cast %x : tensor<8x32xbf16> to tensor<?x32xbf16>
  %init = tensor.empty(%c4) : tensor<?x32xbf16>
  // expected-error @+1 {{output 'tensor<4x32xbf16>' does not have the shape of the input}}
  %y = flashnorm.rms_norm ins(%cast : tensor<?x32xbf16>) outs(%init : tensor<?x32xbf16>) {eps = 1.0e-05 : f64} -> tensor<?x32xbf16>
  return %y : tensor<?x32xbf16>
}
