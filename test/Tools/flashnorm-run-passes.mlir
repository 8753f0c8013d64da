// --passes names passes as the flags of flashnorm-opt do: those on functions need no
// func.func(...) around them, and upstream's that bring a program into form are known.

// DEFINE: %{run} = flashnorm-run %s --rows=6

// RUN: %{run} --device=cpu --entry=spelled '--passes=func.func(tosa-to-linalg-named,tosa-to-linalg),canonicalize{max-iterations=4 top-down=true},flashnorm-raise-matmuls,flashnorm-fuse-epilogues' --mlir-print-ir-after=flashnorm-fuse-epilogues 2>&1 | FileCheck %s --check-prefix=NESTED
// NESTED: func.func @spelled
// NESTED: flashnorm.matmul {{.*}} residual(
// NESTED: @spelled, seed 0; 0 of 1 matmuls fused with norms, 0 norms left
// NESTED: PASS
func.func @spelled(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %zero = arith.constant 0.0 : f32
  %init = tensor.empty() : tensor<8x32xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%init : tensor<8x32xf32>) -> tensor<8x32xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%acc : tensor<8x32xf32>) -> tensor<8x32xf32>
  %z = tosa.cast %y : (tensor<8x32xf32>) -> tensor<8x32xbf16>
  %s = tosa.add %z, %r : (tensor<8x32xbf16>, tensor<8x32xbf16>) -> tensor<8x32xbf16>
  return %s : tensor<8x32xbf16>
}

// Passes that plan do not hear of --chip.
// RUN: not %{run} --device=emulator --entry=outer --chip=sm_80 --passes=flashnorm-fuse 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: is for sm_90a, not for sm_80
// CHIP: error: compiling for sm_80 failed; passes that plan have a chip of their own: name it in --passes, as flashnorm-fuse{chip=sm_80}, and in --chip
// RUN: %{run} --device=emulator --entry=outer --chip=sm_80 --passes='flashnorm-fuse{chip=sm_80}' | FileCheck %s --check-prefix=COUNT

// Fusion is counted in what the entry calls, too; rows that are scaled by statistics
// of another op count as fused.
// RUN: %{run} --device=emulator --entry=outer | FileCheck %s --check-prefix=COUNT
// COUNT: @outer, seed 0, 1 launches on {{.*}}; 1 of 1 matmuls fused with norms, 0 norms left
// COUNT: PASS
// RUN: %{run} --device=cpu --entry=scaled | FileCheck %s --check-prefix=SCALED
// SCALED: @scaled, seed 0; 1 of 2 matmuls fused with norms, 0 norms left
func.func private @inner(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>) -> tensor<?x32xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %init = tensor.empty(%m) : tensor<?x32xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>)
    outs(%init : tensor<?x32xbf16>) {transpose_weight} -> tensor<?x32xbf16>
  %z = flashnorm.rms_norm ins(%y : tensor<?x32xbf16>)
    outs(%init : tensor<?x32xbf16>) {eps = 1.0e-05 : f64} -> tensor<?x32xbf16>
  return %z : tensor<?x32xbf16>
}
func.func @outer(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16> {flashnorm.frozen}) -> tensor<?x32xbf16> {
  %y = call @inner(%x, %w) : (tensor<?x64xbf16>, tensor<32x64xbf16>) -> tensor<?x32xbf16>
  return %y : tensor<?x32xbf16>
}
func.func @scaled(%x: tensor<8x64xbf16>, %w: tensor<64x64xbf16> {flashnorm.frozen}) -> tensor<8x64xbf16> {
  %init = tensor.empty() : tensor<8x64xbf16>
  %rows = tensor.empty() : tensor<8xf32>
  %y, %rstd = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x64xbf16>)
    outs(%init, %rows : tensor<8x64xbf16>, tensor<8xf32>)
    {transpose_weight, statistics = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<8x64xbf16>, tensor<8xf32>
  %z = flashnorm.matmul ins(%y, %w : tensor<8x64xbf16>, tensor<64x64xbf16>)
    row_scale(%rstd : tensor<8xf32>) outs(%init : tensor<8x64xbf16>) {transpose_weight} -> tensor<8x64xbf16>
  return %z : tensor<8x64xbf16>
}
