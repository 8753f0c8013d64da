// Dynamic sizes that the program cannot run with: an error with the op and the
// sizes of the call, not memory overrun.
// RUN: not flashnorm-run %s --entry=cast --rows=128 2>&1 | FileCheck %s --check-prefix=CAST
// RUN: flashnorm-run %s --entry=cast --rows=16 | FileCheck %s --check-prefix=FITS
// RUN: not flashnorm-run %s --entry=batch --rows=128 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not flashnorm-run %s --entry=depth --rows=128 2>&1 | FileCheck %s --check-prefix=DEPTH
// RUN: not flashnorm-run %s --entry=add --rows=128 2>&1 | FileCheck %s --check-prefix=ADD
// RUN: flashnorm-run %s --entry=add --rows=16 | FileCheck %s --check-prefix=FITS
// RUN: flashnorm-run %s --entry=add_rows --rows=0 --compare=none | FileCheck %s --check-prefix=NO-ROWS
// RUN: flashnorm-run %s --entry=add_rows --rows=3 | FileCheck %s --check-prefix=FITS

// FITS: PASS
// NO-ROWS: @add_rows

// CAST: flashnorm-run: error: sizes do not fit in @cast(f32 [128, 64]): {{.*}}tensor.cast {{.*}}tensor<?x64xf32> to tensor<16x64xf32>
func.func @cast(%x: tensor<?x64xf32>) -> tensor<16x64xf32> {
  %y = tensor.cast %x : tensor<?x64xf32> to tensor<16x64xf32>
  %z = arith.addf %y, %y : tensor<16x64xf32>
  return %z : tensor<16x64xf32>
}

// BATCH: flashnorm-run: error: sizes do not fit in @batch(bf16 [128, 128, 64], bf16 [1, 64, 64], f32 [128, 128, 64]):
func.func @batch(%x: tensor<?x?x64xbf16>, %w: tensor<1x64x64xbf16>, %o: tensor<?x?x64xf32>) -> tensor<?x?x64xf32> {
  %y = linalg.batch_matmul ins(%x, %w : tensor<?x?x64xbf16>, tensor<1x64x64xbf16>) outs(%o : tensor<?x?x64xf32>) -> tensor<?x?x64xf32>
  return %y : tensor<?x?x64xf32>
}

// DEPTH: flashnorm-run: error: sizes do not fit in @depth(bf16 [128, 128], bf16 [64, 64], f32 [128, 64]):
func.func @depth(%x: tensor<?x?xbf16>, %w: tensor<64x64xbf16>, %o: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = linalg.matmul ins(%x, %w : tensor<?x?xbf16>, tensor<64x64xbf16>) outs(%o : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// Arithmetic on tensors is checked, too.
// ADD: flashnorm-run: error: sizes do not fit in @add(f32 [128, 64], f32 [16, 64]):
func.func @add(%x: tensor<?x64xf32>, %b: tensor<16x64xf32>) -> tensor<?x64xf32> {
  %c = tensor.cast %b : tensor<16x64xf32> to tensor<?x64xf32>
  %y = arith.addf %x, %c : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// Sizes that agree, none at all among them.
func.func @add_rows(%x: tensor<?x64xf32>, %b: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = arith.addf %x, %b : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
