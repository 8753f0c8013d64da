// A stock mlir-opt takes FlashNorm's dialects, passes and pipelines from the
// plugin: a norm is parsed and becomes linalg.
// REQUIRES: plugin
// RUN: mlir-opt %s --load-dialect-plugin=%flashnorm_lib/FlashNormPlugin.so --load-pass-plugin=%flashnorm_lib/FlashNormPlugin.so --pass-pipeline='builtin.module(flashnorm-lower-to-reference)' | FileCheck %s
// RUN: mlir-opt %s --load-dialect-plugin=%flashnorm_lib/FlashNormPlugin.so --load-pass-plugin=%flashnorm_lib/FlashNormPlugin.so --pass-pipeline='builtin.module(func.func(convert-flashnorm-to-linalg))' | FileCheck %s
// RUN: not mlir-opt %s 2>&1 | FileCheck %s --check-prefix=STOCK

// STOCK: Dialect `flashnorm' not found

// CHECK-LABEL: func.func @norm
// CHECK-NOT: flashnorm.rms_norm
// CHECK: linalg.generic
// CHECK: return
func.func @norm(%x: tensor<?x256xbf16>, %init: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %y = flashnorm.rms_norm ins(%x : tensor<?x256xbf16>) outs(%init : tensor<?x256xbf16>) {eps = 1.0e-05 : f64} -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}
