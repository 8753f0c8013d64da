// REQUIRES: cuda
// RMSNorm and LayerNorm after a matmul, both weight layouts.
//
// Rows: one, not a multiple of a tile, and enough for the accuracy rule. Every
// function must be fused: flashnorm-run compares what it compiled.
// RUN: for f in layer_64x256_nk rms_64x256_nk layer_128x256_nk rms_128x256_nk layer_200x72_nk rms_200x72_nk layer_256x1000_nk rms_256x1000_nk layer_512x512_nk rms_512x512_nk affine_256x512_nk f16_128x256_nk layer_64x256_kn rms_64x256_kn layer_128x256_kn rms_128x256_kn layer_200x72_kn rms_200x72_kn layer_256x1000_kn rms_256x1000_kn layer_512x512_kn rms_512x512_kn affine_256x512_kn f16_128x256_kn; do for m in 1 333 2048; do flashnorm-run %s --entry=$f --device=cuda --rows=$m --check-guards || exit 1; done; done
// RUN: for f in layer_64x256_nk rms_64x256_nk layer_128x256_nk rms_128x256_nk layer_200x72_nk rms_200x72_nk layer_256x1000_nk rms_256x1000_nk layer_512x512_nk rms_512x512_nk affine_256x512_nk f16_128x256_nk layer_64x256_kn rms_64x256_kn layer_128x256_kn rms_128x256_kn layer_200x72_kn rms_200x72_kn layer_256x1000_kn rms_256x1000_kn layer_512x512_kn rms_512x512_kn affine_256x512_kn f16_128x256_kn; do flashnorm-run %s --entry=$f --device=cuda --family=mma_sync --rows=1111 --seed=7 --check-guards || exit 1; done
// RUN: flashnorm-opt %s --flashnorm-fuse=chip=sm_90a | FileCheck %s --implicit-check-not=_norm{{.}}ins

// CHECK: flashnorm.matmul

func.func @layer_64x256_nk(%x: tensor<?x256xbf16>, %w: tensor<64x256xbf16> {flashnorm.frozen}) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x256xbf16>
  %e = tensor.empty(%m) : tensor<?x64xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<64x256xbf16>) outs(%e : tensor<?x64xbf16>) {transpose_weight} -> tensor<?x64xbf16>
  %y = flashnorm.layer_norm ins(%p : tensor<?x64xbf16>) outs(%e : tensor<?x64xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

func.func @rms_64x256_nk(%x: tensor<?x256xbf16>, %w: tensor<64x256xbf16> {flashnorm.frozen}) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x256xbf16>
  %e = tensor.empty(%m) : tensor<?x64xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<64x256xbf16>) outs(%e : tensor<?x64xbf16>) {transpose_weight} -> tensor<?x64xbf16>
  %y = flashnorm.rms_norm ins(%p : tensor<?x64xbf16>) outs(%e : tensor<?x64xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

func.func @layer_128x256_nk(%x: tensor<?x256xbf16>, %w: tensor<128x256xbf16> {flashnorm.frozen}) -> tensor<?x128xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x256xbf16>
  %e = tensor.empty(%m) : tensor<?x128xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<128x256xbf16>) outs(%e : tensor<?x128xbf16>) {transpose_weight} -> tensor<?x128xbf16>
  %y = flashnorm.layer_norm ins(%p : tensor<?x128xbf16>) outs(%e : tensor<?x128xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

func.func @rms_128x256_nk(%x: tensor<?x256xbf16>, %w: tensor<128x256xbf16> {flashnorm.frozen}) -> tensor<?x128xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x256xbf16>
  %e = tensor.empty(%m) : tensor<?x128xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<128x256xbf16>) outs(%e : tensor<?x128xbf16>) {transpose_weight} -> tensor<?x128xbf16>
  %y = flashnorm.rms_norm ins(%p : tensor<?x128xbf16>) outs(%e : tensor<?x128xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

func.func @layer_200x72_nk(%x: tensor<?x72xbf16>, %w: tensor<200x72xbf16> {flashnorm.frozen}) -> tensor<?x200xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x72xbf16>
  %e = tensor.empty(%m) : tensor<?x200xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x72xbf16>, tensor<200x72xbf16>) outs(%e : tensor<?x200xbf16>) {transpose_weight} -> tensor<?x200xbf16>
  %y = flashnorm.layer_norm ins(%p : tensor<?x200xbf16>) outs(%e : tensor<?x200xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x200xbf16>
  return %y : tensor<?x200xbf16>
}

func.func @rms_200x72_nk(%x: tensor<?x72xbf16>, %w: tensor<200x72xbf16> {flashnorm.frozen}) -> tensor<?x200xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x72xbf16>
  %e = tensor.empty(%m) : tensor<?x200xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x72xbf16>, tensor<200x72xbf16>) outs(%e : tensor<?x200xbf16>) {transpose_weight} -> tensor<?x200xbf16>
  %y = flashnorm.rms_norm ins(%p : tensor<?x200xbf16>) outs(%e : tensor<?x200xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x200xbf16>
  return %y : tensor<?x200xbf16>
}

func.func @layer_256x1000_nk(%x: tensor<?x1000xbf16>, %w: tensor<256x1000xbf16> {flashnorm.frozen}) -> tensor<?x256xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x1000xbf16>
  %e = tensor.empty(%m) : tensor<?x256xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x1000xbf16>, tensor<256x1000xbf16>) outs(%e : tensor<?x256xbf16>) {transpose_weight} -> tensor<?x256xbf16>
  %y = flashnorm.layer_norm ins(%p : tensor<?x256xbf16>) outs(%e : tensor<?x256xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

func.func @rms_256x1000_nk(%x: tensor<?x1000xbf16>, %w: tensor<256x1000xbf16> {flashnorm.frozen}) -> tensor<?x256xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x1000xbf16>
  %e = tensor.empty(%m) : tensor<?x256xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x1000xbf16>, tensor<256x1000xbf16>) outs(%e : tensor<?x256xbf16>) {transpose_weight} -> tensor<?x256xbf16>
  %y = flashnorm.rms_norm ins(%p : tensor<?x256xbf16>) outs(%e : tensor<?x256xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

func.func @layer_512x512_nk(%x: tensor<?x512xbf16>, %w: tensor<512x512xbf16> {flashnorm.frozen}) -> tensor<?x512xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x512xbf16>
  %e = tensor.empty(%m) : tensor<?x512xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x512xbf16>, tensor<512x512xbf16>) outs(%e : tensor<?x512xbf16>) {transpose_weight} -> tensor<?x512xbf16>
  %y = flashnorm.layer_norm ins(%p : tensor<?x512xbf16>) outs(%e : tensor<?x512xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}

func.func @rms_512x512_nk(%x: tensor<?x512xbf16>, %w: tensor<512x512xbf16> {flashnorm.frozen}) -> tensor<?x512xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x512xbf16>
  %e = tensor.empty(%m) : tensor<?x512xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x512xbf16>, tensor<512x512xbf16>) outs(%e : tensor<?x512xbf16>) {transpose_weight} -> tensor<?x512xbf16>
  %y = flashnorm.rms_norm ins(%p : tensor<?x512xbf16>) outs(%e : tensor<?x512xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}

func.func @affine_256x512_nk(%x: tensor<?x512xbf16>, %w: tensor<256x512xbf16> {flashnorm.frozen}, %b: tensor<256xbf16> {flashnorm.frozen}, %g: tensor<256xbf16> {flashnorm.frozen}, %h: tensor<256xbf16> {flashnorm.frozen}) -> tensor<?x256xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x512xbf16>
  %e = tensor.empty(%m) : tensor<?x256xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x512xbf16>, tensor<256x512xbf16>) bias(%b : tensor<256xbf16>) outs(%e : tensor<?x256xbf16>) {transpose_weight} -> tensor<?x256xbf16>
  %y = flashnorm.layer_norm ins(%p : tensor<?x256xbf16>) weight(%g : tensor<256xbf16>) bias(%h : tensor<256xbf16>) outs(%e : tensor<?x256xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

func.func @f16_128x256_nk(%x: tensor<?x256xf16>, %w: tensor<128x256xf16> {flashnorm.frozen}, %b: tensor<128xf16> {flashnorm.frozen}) -> tensor<?x128xf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x256xf16>
  %e = tensor.empty(%m) : tensor<?x128xf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x256xf16>, tensor<128x256xf16>) bias(%b : tensor<128xf16>) outs(%e : tensor<?x128xf16>) {transpose_weight} -> tensor<?x128xf16>
  %y = flashnorm.layer_norm ins(%p : tensor<?x128xf16>) outs(%e : tensor<?x128xf16>) {eps = 1.0e-5 : f64} -> tensor<?x128xf16>
  return %y : tensor<?x128xf16>
}

func.func @layer_64x256_kn(%x: tensor<?x256xbf16>, %w: tensor<256x64xbf16> {flashnorm.frozen}) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x256xbf16>
  %e = tensor.empty(%m) : tensor<?x64xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x64xbf16>) outs(%e : tensor<?x64xbf16>) {} -> tensor<?x64xbf16>
  %y = flashnorm.layer_norm ins(%p : tensor<?x64xbf16>) outs(%e : tensor<?x64xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

func.func @rms_64x256_kn(%x: tensor<?x256xbf16>, %w: tensor<256x64xbf16> {flashnorm.frozen}) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x256xbf16>
  %e = tensor.empty(%m) : tensor<?x64xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x64xbf16>) outs(%e : tensor<?x64xbf16>) {} -> tensor<?x64xbf16>
  %y = flashnorm.rms_norm ins(%p : tensor<?x64xbf16>) outs(%e : tensor<?x64xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

func.func @layer_128x256_kn(%x: tensor<?x256xbf16>, %w: tensor<256x128xbf16> {flashnorm.frozen}) -> tensor<?x128xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x256xbf16>
  %e = tensor.empty(%m) : tensor<?x128xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x128xbf16>) outs(%e : tensor<?x128xbf16>) {} -> tensor<?x128xbf16>
  %y = flashnorm.layer_norm ins(%p : tensor<?x128xbf16>) outs(%e : tensor<?x128xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

func.func @rms_128x256_kn(%x: tensor<?x256xbf16>, %w: tensor<256x128xbf16> {flashnorm.frozen}) -> tensor<?x128xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x256xbf16>
  %e = tensor.empty(%m) : tensor<?x128xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x128xbf16>) outs(%e : tensor<?x128xbf16>) {} -> tensor<?x128xbf16>
  %y = flashnorm.rms_norm ins(%p : tensor<?x128xbf16>) outs(%e : tensor<?x128xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

func.func @layer_200x72_kn(%x: tensor<?x72xbf16>, %w: tensor<72x200xbf16> {flashnorm.frozen}) -> tensor<?x200xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x72xbf16>
  %e = tensor.empty(%m) : tensor<?x200xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x72xbf16>, tensor<72x200xbf16>) outs(%e : tensor<?x200xbf16>) {} -> tensor<?x200xbf16>
  %y = flashnorm.layer_norm ins(%p : tensor<?x200xbf16>) outs(%e : tensor<?x200xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x200xbf16>
  return %y : tensor<?x200xbf16>
}

func.func @rms_200x72_kn(%x: tensor<?x72xbf16>, %w: tensor<72x200xbf16> {flashnorm.frozen}) -> tensor<?x200xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x72xbf16>
  %e = tensor.empty(%m) : tensor<?x200xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x72xbf16>, tensor<72x200xbf16>) outs(%e : tensor<?x200xbf16>) {} -> tensor<?x200xbf16>
  %y = flashnorm.rms_norm ins(%p : tensor<?x200xbf16>) outs(%e : tensor<?x200xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x200xbf16>
  return %y : tensor<?x200xbf16>
}

func.func @layer_256x1000_kn(%x: tensor<?x1000xbf16>, %w: tensor<1000x256xbf16> {flashnorm.frozen}) -> tensor<?x256xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x1000xbf16>
  %e = tensor.empty(%m) : tensor<?x256xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x1000xbf16>, tensor<1000x256xbf16>) outs(%e : tensor<?x256xbf16>) {} -> tensor<?x256xbf16>
  %y = flashnorm.layer_norm ins(%p : tensor<?x256xbf16>) outs(%e : tensor<?x256xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

func.func @rms_256x1000_kn(%x: tensor<?x1000xbf16>, %w: tensor<1000x256xbf16> {flashnorm.frozen}) -> tensor<?x256xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x1000xbf16>
  %e = tensor.empty(%m) : tensor<?x256xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x1000xbf16>, tensor<1000x256xbf16>) outs(%e : tensor<?x256xbf16>) {} -> tensor<?x256xbf16>
  %y = flashnorm.rms_norm ins(%p : tensor<?x256xbf16>) outs(%e : tensor<?x256xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

func.func @layer_512x512_kn(%x: tensor<?x512xbf16>, %w: tensor<512x512xbf16> {flashnorm.frozen}) -> tensor<?x512xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x512xbf16>
  %e = tensor.empty(%m) : tensor<?x512xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x512xbf16>, tensor<512x512xbf16>) outs(%e : tensor<?x512xbf16>) {} -> tensor<?x512xbf16>
  %y = flashnorm.layer_norm ins(%p : tensor<?x512xbf16>) outs(%e : tensor<?x512xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}

func.func @rms_512x512_kn(%x: tensor<?x512xbf16>, %w: tensor<512x512xbf16> {flashnorm.frozen}) -> tensor<?x512xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x512xbf16>
  %e = tensor.empty(%m) : tensor<?x512xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x512xbf16>, tensor<512x512xbf16>) outs(%e : tensor<?x512xbf16>) {} -> tensor<?x512xbf16>
  %y = flashnorm.rms_norm ins(%p : tensor<?x512xbf16>) outs(%e : tensor<?x512xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}

func.func @affine_256x512_kn(%x: tensor<?x512xbf16>, %w: tensor<512x256xbf16> {flashnorm.frozen}, %b: tensor<256xbf16> {flashnorm.frozen}, %g: tensor<256xbf16> {flashnorm.frozen}, %h: tensor<256xbf16> {flashnorm.frozen}) -> tensor<?x256xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x512xbf16>
  %e = tensor.empty(%m) : tensor<?x256xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x512xbf16>, tensor<512x256xbf16>) bias(%b : tensor<256xbf16>) outs(%e : tensor<?x256xbf16>) {} -> tensor<?x256xbf16>
  %y = flashnorm.layer_norm ins(%p : tensor<?x256xbf16>) weight(%g : tensor<256xbf16>) bias(%h : tensor<256xbf16>) outs(%e : tensor<?x256xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

func.func @f16_128x256_kn(%x: tensor<?x256xf16>, %w: tensor<256x128xf16> {flashnorm.frozen}, %b: tensor<128xf16> {flashnorm.frozen}) -> tensor<?x128xf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x256xf16>
  %e = tensor.empty(%m) : tensor<?x128xf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x256xf16>, tensor<256x128xf16>) bias(%b : tensor<128xf16>) outs(%e : tensor<?x128xf16>) {} -> tensor<?x128xf16>
  %y = flashnorm.layer_norm ins(%p : tensor<?x128xf16>) outs(%e : tensor<?x128xf16>) {eps = 1.0e-5 : f64} -> tensor<?x128xf16>
  return %y : tensor<?x128xf16>
}
