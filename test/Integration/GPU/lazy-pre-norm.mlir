// REQUIRES: cuda
// RMSNorm with a frozen weight before a matmul, both weight layouts.
//
// Rows: one, not a multiple of a tile, and enough for the accuracy rule. Every
// function must be fused: flashnorm-run compares what it compiled.
// RUN: for f in lazy_1024x64_nk lazy_1024x512_nk lazy_200x1000_nk lazy_640x4096_nk f16_1024x512_nk lazy_1024x64_kn lazy_1024x512_kn lazy_200x1000_kn lazy_640x4096_kn f16_1024x512_kn; do for m in 1 333 2048; do flashnorm-run %s --entry=$f --device=cuda --rows=$m --check-guards || exit 1; done; done
// RUN: for f in lazy_1024x64_nk lazy_1024x512_nk lazy_200x1000_nk lazy_640x4096_nk f16_1024x512_nk lazy_1024x64_kn lazy_1024x512_kn lazy_200x1000_kn lazy_640x4096_kn f16_1024x512_kn; do flashnorm-run %s --entry=$f --device=cuda --family=mma_sync --rows=1111 --seed=7 --check-guards || exit 1; done
// RUN: flashnorm-opt %s --flashnorm-fuse=chip=sm_90a | FileCheck %s --implicit-check-not=_norm{{.}}ins

// CHECK: flashnorm.matmul

func.func @lazy_1024x64_nk(%x: tensor<?x64xbf16>, %w: tensor<1024x64xbf16> {flashnorm.frozen}, %g: tensor<64xbf16> {flashnorm.frozen}) -> tensor<?x1024xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %e = tensor.empty(%m) : tensor<?x64xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<?x64xbf16>) weight(%g : tensor<64xbf16>) outs(%e : tensor<?x64xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x64xbf16>
  %f = tensor.empty(%m) : tensor<?x1024xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x64xbf16>, tensor<1024x64xbf16>) outs(%f : tensor<?x1024xbf16>) {transpose_weight} -> tensor<?x1024xbf16>
  return %y : tensor<?x1024xbf16>
}

func.func @lazy_1024x512_nk(%x: tensor<?x512xbf16>, %w: tensor<1024x512xbf16> {flashnorm.frozen}, %g: tensor<512xbf16> {flashnorm.frozen}) -> tensor<?x1024xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x512xbf16>
  %e = tensor.empty(%m) : tensor<?x512xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<?x512xbf16>) weight(%g : tensor<512xbf16>) outs(%e : tensor<?x512xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x512xbf16>
  %f = tensor.empty(%m) : tensor<?x1024xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x512xbf16>, tensor<1024x512xbf16>) outs(%f : tensor<?x1024xbf16>) {transpose_weight} -> tensor<?x1024xbf16>
  return %y : tensor<?x1024xbf16>
}

func.func @lazy_200x1000_nk(%x: tensor<?x1000xbf16>, %w: tensor<200x1000xbf16> {flashnorm.frozen}, %g: tensor<1000xbf16> {flashnorm.frozen}) -> tensor<?x200xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x1000xbf16>
  %e = tensor.empty(%m) : tensor<?x1000xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<?x1000xbf16>) weight(%g : tensor<1000xbf16>) outs(%e : tensor<?x1000xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x1000xbf16>
  %f = tensor.empty(%m) : tensor<?x200xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x1000xbf16>, tensor<200x1000xbf16>) outs(%f : tensor<?x200xbf16>) {transpose_weight} -> tensor<?x200xbf16>
  return %y : tensor<?x200xbf16>
}

func.func @lazy_640x4096_nk(%x: tensor<?x4096xbf16>, %w: tensor<640x4096xbf16> {flashnorm.frozen}, %g: tensor<4096xbf16> {flashnorm.frozen}) -> tensor<?x640xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x4096xbf16>
  %e = tensor.empty(%m) : tensor<?x4096xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<?x4096xbf16>) weight(%g : tensor<4096xbf16>) outs(%e : tensor<?x4096xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x4096xbf16>
  %f = tensor.empty(%m) : tensor<?x640xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x4096xbf16>, tensor<640x4096xbf16>) outs(%f : tensor<?x640xbf16>) {transpose_weight} -> tensor<?x640xbf16>
  return %y : tensor<?x640xbf16>
}

func.func @f16_1024x512_nk(%x: tensor<?x512xf16>, %w: tensor<1024x512xf16> {flashnorm.frozen}) -> tensor<?x1024xf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x512xf16>
  %e = tensor.empty(%m) : tensor<?x512xf16>
  %n = flashnorm.rms_norm ins(%x : tensor<?x512xf16>) outs(%e : tensor<?x512xf16>) {eps = 1.0e-5 : f64} -> tensor<?x512xf16>
  %f = tensor.empty(%m) : tensor<?x1024xf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x512xf16>, tensor<1024x512xf16>) outs(%f : tensor<?x1024xf16>) {transpose_weight} -> tensor<?x1024xf16>
  return %y : tensor<?x1024xf16>
}

func.func @lazy_1024x64_kn(%x: tensor<?x64xbf16>, %w: tensor<64x1024xbf16> {flashnorm.frozen}, %g: tensor<64xbf16> {flashnorm.frozen}) -> tensor<?x1024xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %e = tensor.empty(%m) : tensor<?x64xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<?x64xbf16>) weight(%g : tensor<64xbf16>) outs(%e : tensor<?x64xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x64xbf16>
  %f = tensor.empty(%m) : tensor<?x1024xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x64xbf16>, tensor<64x1024xbf16>) outs(%f : tensor<?x1024xbf16>) {} -> tensor<?x1024xbf16>
  return %y : tensor<?x1024xbf16>
}

func.func @lazy_1024x512_kn(%x: tensor<?x512xbf16>, %w: tensor<512x1024xbf16> {flashnorm.frozen}, %g: tensor<512xbf16> {flashnorm.frozen}) -> tensor<?x1024xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x512xbf16>
  %e = tensor.empty(%m) : tensor<?x512xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<?x512xbf16>) weight(%g : tensor<512xbf16>) outs(%e : tensor<?x512xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x512xbf16>
  %f = tensor.empty(%m) : tensor<?x1024xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x512xbf16>, tensor<512x1024xbf16>) outs(%f : tensor<?x1024xbf16>) {} -> tensor<?x1024xbf16>
  return %y : tensor<?x1024xbf16>
}

func.func @lazy_200x1000_kn(%x: tensor<?x1000xbf16>, %w: tensor<1000x200xbf16> {flashnorm.frozen}, %g: tensor<1000xbf16> {flashnorm.frozen}) -> tensor<?x200xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x1000xbf16>
  %e = tensor.empty(%m) : tensor<?x1000xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<?x1000xbf16>) weight(%g : tensor<1000xbf16>) outs(%e : tensor<?x1000xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x1000xbf16>
  %f = tensor.empty(%m) : tensor<?x200xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x1000xbf16>, tensor<1000x200xbf16>) outs(%f : tensor<?x200xbf16>) {} -> tensor<?x200xbf16>
  return %y : tensor<?x200xbf16>
}

func.func @lazy_640x4096_kn(%x: tensor<?x4096xbf16>, %w: tensor<4096x640xbf16> {flashnorm.frozen}, %g: tensor<4096xbf16> {flashnorm.frozen}) -> tensor<?x640xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x4096xbf16>
  %e = tensor.empty(%m) : tensor<?x4096xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<?x4096xbf16>) weight(%g : tensor<4096xbf16>) outs(%e : tensor<?x4096xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x4096xbf16>
  %f = tensor.empty(%m) : tensor<?x640xbf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x4096xbf16>, tensor<4096x640xbf16>) outs(%f : tensor<?x640xbf16>) {} -> tensor<?x640xbf16>
  return %y : tensor<?x640xbf16>
}

func.func @f16_1024x512_kn(%x: tensor<?x512xf16>, %w: tensor<512x1024xf16> {flashnorm.frozen}) -> tensor<?x1024xf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x512xf16>
  %e = tensor.empty(%m) : tensor<?x512xf16>
  %n = flashnorm.rms_norm ins(%x : tensor<?x512xf16>) outs(%e : tensor<?x512xf16>) {eps = 1.0e-5 : f64} -> tensor<?x512xf16>
  %f = tensor.empty(%m) : tensor<?x1024xf16>
  %y = flashnorm.matmul ins(%n, %w : tensor<?x512xf16>, tensor<512x1024xf16>) outs(%f : tensor<?x1024xf16>) {} -> tensor<?x1024xf16>
  return %y : tensor<?x1024xf16>
}
