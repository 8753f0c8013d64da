// One function for each kind of plan, with tiles and stages so small that rings wrap
// and persistent CTAs have several tiles at a few hundred rows.

func.func @gemm(%x: tensor<?x192xbf16>, %w: tensor<128x192xbf16>) -> tensor<?x128xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x128xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<128x192xbf16>) outs(%e : tensor<?x128xbf16>) {transpose_weight, plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync, tile = [64, 64, 32], warps = [2, 2], stages = 3>} -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

func.func @wide_tile(%x: tensor<?x192xbf16>, %w: tensor<64x192xbf16>) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x64xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<64x192xbf16>) outs(%e : tensor<?x64xbf16>) {transpose_weight, post_norm = #flashnorm.norm<layer, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_80", family = mma_sync, tile = [32, 64, 32], warps = [1, 2], stages = 3>} -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

func.func @lazy(%x: tensor<?x192xbf16>, %w: tensor<192x192xbf16>) -> tensor<?x192xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x192xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<192x192xbf16>) outs(%e : tensor<?x192xbf16>) {transpose_weight, pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = lazy_pre_norm, chip = "sm_80", family = mma_sync, tile = [64, 64, 32], warps = [2, 2], stages = 3>} -> tensor<?x192xbf16>
  return %y : tensor<?x192xbf16>
}

func.func @pre_and_post_norm(%x: tensor<?x128xbf16>, %w: tensor<128x128xbf16>) -> tensor<?x128xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x128xbf16>
  %e = tensor.empty(%m) : tensor<?x128xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x128xbf16>, tensor<128x128xbf16>) outs(%e : tensor<?x128xbf16>) {transpose_weight, pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>, post_norm = #flashnorm.norm<rms, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_80", family = mma_sync, tile = [32, 128, 32], warps = [2, 4], stages = 2>} -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}
