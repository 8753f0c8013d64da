// One function for each kind of plan, with tiles and stages so small that rings wrap
// and persistent CTAs have several tiles at a few hundred rows (those of 128 rows and
// more at a thousand).

func.func @gemm_cooperative(%x: tensor<?x192xbf16>, %w: tensor<128x192xbf16>) -> tensor<?x128xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x128xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<128x192xbf16>) outs(%e : tensor<?x128xbf16>) {transpose_weight, plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma, tile = [128, 64, 64], warps = [2, 1], stages = 2>} -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

func.func @gemm_ping_pong(%x: tensor<?x192xbf16>, %w: tensor<192x256xbf16>) -> tensor<?x256xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x256xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<192x256xbf16>) outs(%e : tensor<?x256xbf16>) {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma, tile = [64, 64, 64], warps = [1, 1], stages = 2, schedule = ping_pong>} -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

func.func @wide_tile_cooperative(%x: tensor<?x192xbf16>, %w: tensor<64x192xbf16>) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x64xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<64x192xbf16>) outs(%e : tensor<?x64xbf16>) {transpose_weight, post_norm = #flashnorm.norm<layer, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma, tile = [128, 64, 64], warps = [2, 1], stages = 2>} -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

func.func @wide_tile_columns(%x: tensor<?x192xbf16>, %w: tensor<128x192xbf16>) -> tensor<?x128xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x128xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<128x192xbf16>) outs(%e : tensor<?x128xbf16>) {transpose_weight, post_norm = #flashnorm.norm<rms, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma, tile = [64, 128, 64], warps = [1, 2], stages = 2>} -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

func.func @wide_tile_ping_pong(%x: tensor<?x192xbf16>, %w: tensor<96x192xbf16>) -> tensor<?x96xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x96xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<96x192xbf16>) outs(%e : tensor<?x96xbf16>) {transpose_weight, post_norm = #flashnorm.norm<layer, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma, tile = [64, 96, 64], warps = [1, 1], stages = 2, schedule = ping_pong>} -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}

func.func @wide_tile_cluster(%x: tensor<?x192xbf16>, %w: tensor<192x192xbf16>) -> tensor<?x192xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x192xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<192x192xbf16>) outs(%e : tensor<?x192xbf16>) {transpose_weight, post_norm = #flashnorm.norm<layer, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma, tile = [64, 96, 64], warps = [1, 1], stages = 2, schedule = ping_pong, cluster = [1, 2, 1]>} -> tensor<?x192xbf16>
  return %y : tensor<?x192xbf16>
}

func.func @lazy_cooperative(%x: tensor<?x192xbf16>, %w: tensor<320x192xbf16>) -> tensor<?x320xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x320xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<320x192xbf16>) outs(%e : tensor<?x320xbf16>) {transpose_weight, pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = lazy_pre_norm, chip = "sm_90a", family = wgmma, tile = [128, 64, 64], warps = [2, 1], stages = 2>} -> tensor<?x320xbf16>
  return %y : tensor<?x320xbf16>
}

func.func @lazy_ping_pong(%x: tensor<?x192xbf16>, %w: tensor<384x192xbf16>) -> tensor<?x384xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x384xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<384x192xbf16>) outs(%e : tensor<?x384xbf16>) {transpose_weight, pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = lazy_pre_norm, chip = "sm_90a", family = wgmma, tile = [64, 64, 64], warps = [1, 1], stages = 2, schedule = ping_pong>} -> tensor<?x384xbf16>
  return %y : tensor<?x384xbf16>
}

func.func @pre_and_post_norm(%x: tensor<?x128xbf16>, %w: tensor<128x128xbf16>) -> tensor<?x128xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x128xbf16>
  %e = tensor.empty(%m) : tensor<?x128xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x128xbf16>, tensor<128x128xbf16>) outs(%e : tensor<?x128xbf16>) {transpose_weight, pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>, post_norm = #flashnorm.norm<layer, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma, tile = [128, 128, 64], warps = [2, 1], stages = 2>} -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

func.func @gemm_split_k(%x: tensor<?x192xbf16>, %w: tensor<192x192xbf16>) -> tensor<?x192xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x192xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<192x192xbf16>) outs(%e : tensor<?x192xbf16>) {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma, tile = [64, 192, 64], warps = [1, 1], stages = 2, cluster = [1, 1, 2]>} -> tensor<?x192xbf16>
  return %y : tensor<?x192xbf16>
}

func.func @wide_tile_split_k(%x: tensor<?x512xbf16>, %w: tensor<128x512xbf16>, %v: tensor<128xbf16>) -> tensor<?x128xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x512xbf16>
  %e = tensor.empty(%m) : tensor<?x128xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x512xbf16>, tensor<128x512xbf16>) bias(%v : tensor<128xbf16>) outs(%e : tensor<?x128xbf16>) {transpose_weight, post_norm = #flashnorm.norm<layer, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma, tile = [64, 128, 64], warps = [1, 1], stages = 2, cluster = [1, 1, 4]>} -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

func.func @lazy_split_k(%x: tensor<?x192xbf16>, %w: tensor<96x192xbf16>) -> tensor<?x96xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x96xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<96x192xbf16>) outs(%e : tensor<?x96xbf16>) {transpose_weight, pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = lazy_pre_norm, chip = "sm_90a", family = wgmma, tile = [128, 32, 64], warps = [2, 1], stages = 2, cluster = [1, 1, 2]>} -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}

func.func @gemm_multicast(%x: tensor<?x192xbf16>, %w: tensor<192x128xbf16>) -> tensor<?x128xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x128xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<192x128xbf16>) outs(%e : tensor<?x128xbf16>) {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma, tile = [64, 64, 64], warps = [1, 1], stages = 2, schedule = ping_pong, cluster = [2, 1, 1]>} -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

func.func @wide_tile_multicast(%x: tensor<?x192xbf16>, %w: tensor<64x192xbf16>) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x64xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<64x192xbf16>) outs(%e : tensor<?x64xbf16>) {transpose_weight, post_norm = #flashnorm.norm<rms, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma, tile = [128, 64, 64], warps = [2, 1], stages = 2, cluster = [2, 1, 1]>} -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

func.func @gemm_resident(%x: tensor<?x192xbf16>, %w: tensor<96x192xbf16>) -> tensor<?x96xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x96xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<96x192xbf16>) outs(%e : tensor<?x96xbf16>) {transpose_weight, plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma, tile = [128, 96, 64], warps = [2, 1], stages = 2, resident_weight>} -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}

func.func @wide_tile_resident(%x: tensor<?x192xbf16>, %w: tensor<192x64xbf16>) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x64xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<192x64xbf16>) outs(%e : tensor<?x64xbf16>) {post_norm = #flashnorm.norm<layer, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma, tile = [64, 64, 64], warps = [1, 1], stages = 2, schedule = ping_pong, resident_weight>} -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

func.func @wide_tile_resident_cluster(%x: tensor<?x136xbf16>, %w: tensor<120x136xbf16>) -> tensor<?x120xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x136xbf16>
  %e = tensor.empty(%m) : tensor<?x120xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x136xbf16>, tensor<120x136xbf16>) outs(%e : tensor<?x120xbf16>) {transpose_weight, post_norm = #flashnorm.norm<layer, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma, tile = [64, 32, 64], warps = [1, 1], stages = 2, schedule = ping_pong, cluster = [1, 4, 1], resident_weight>} -> tensor<?x120xbf16>
  return %y : tensor<?x120xbf16>
}

func.func @lazy_resident_cluster(%x: tensor<?x192xbf16>, %w: tensor<128x192xbf16>) -> tensor<?x128xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x128xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<128x192xbf16>) outs(%e : tensor<?x128xbf16>) {transpose_weight, pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = lazy_pre_norm, chip = "sm_90a", family = wgmma, tile = [64, 64, 64], warps = [1, 1], stages = 2, schedule = ping_pong, cluster = [1, 2, 1], resident_weight>} -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

func.func @gemm_tall(%x: tensor<?x192xbf16>, %w: tensor<192x96xbf16>) -> tensor<?x96xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x96xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<192x96xbf16>) outs(%e : tensor<?x96xbf16>) {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma, tile = [256, 64, 64], warps = [2, 1], stages = 2, cluster = [2, 1, 1]>} -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}

func.func @wide_tile_tall(%x: tensor<?x136xbf16>, %w: tensor<64x136xbf16>, %r: tensor<?x64xbf16>) -> (tensor<?x64xbf16>, tensor<?x64xbf16>) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x136xbf16>
  %e = tensor.empty(%m) : tensor<?x64xbf16>
  %y:2 = flashnorm.matmul ins(%x, %w : tensor<?x136xbf16>, tensor<64x136xbf16>) residual(%r : tensor<?x64xbf16>) outs(%e, %e : tensor<?x64xbf16>, tensor<?x64xbf16>) {transpose_weight, post_norm = #flashnorm.norm<layer, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma, tile = [128, 64, 64], warps = [1, 1], stages = 2, schedule = ping_pong>} -> tensor<?x64xbf16>, tensor<?x64xbf16>
  return %y#0, %y#1 : tensor<?x64xbf16>, tensor<?x64xbf16>
}

func.func @wide_tile_tall_cluster(%x: tensor<?x136xbf16>, %w: tensor<64x136xbf16>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x136xbf16>
  %e = tensor.empty(%m) : tensor<?x64xf32>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x136xbf16>, tensor<64x136xbf16>) outs(%e : tensor<?x64xf32>) {transpose_weight, post_norm = #flashnorm.norm<layer, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma, tile = [128, 32, 64], warps = [1, 1], stages = 2, schedule = ping_pong, cluster = [1, 2, 1], resident_weight>} -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

func.func @lazy_tall(%x: tensor<?x200xbf16>, %w: tensor<160x200xbf16>) -> tensor<?x160xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x200xbf16>
  %e = tensor.empty(%m) : tensor<?x160xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x200xbf16>, tensor<160x200xbf16>) outs(%e : tensor<?x160xbf16>) {transpose_weight, pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = lazy_pre_norm, chip = "sm_90a", family = wgmma, tile = [256, 160, 64], warps = [2, 1], stages = 2>} -> tensor<?x160xbf16>
  return %y : tensor<?x160xbf16>
}

func.func @gemm_half_box(%x: tensor<?x192xbf16>, %w: tensor<192x200xbf16>) -> tensor<?x200xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x200xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<192x200xbf16>) outs(%e : tensor<?x200xbf16>) {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma, tile = [64, 96, 64], warps = [1, 1], stages = 2, schedule = ping_pong, cluster = [2, 1, 1]>} -> tensor<?x200xbf16>
  return %y : tensor<?x200xbf16>
}

func.func @wide_tile_half_box(%x: tensor<?x136xbf16>, %w: tensor<136x160xbf16>, %r: tensor<?x160xbf16>) -> tensor<?x160xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x136xbf16>
  %e = tensor.empty(%m) : tensor<?x160xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x136xbf16>, tensor<136x160xbf16>) residual(%r : tensor<?x160xbf16>) outs(%e : tensor<?x160xbf16>) {post_norm = #flashnorm.norm<layer, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma, tile = [64, 96, 64], warps = [1, 1], stages = 2, schedule = ping_pong, cluster = [1, 2, 1], resident_weight>} -> tensor<?x160xbf16>
  return %y : tensor<?x160xbf16>
}

func.func @gemm_prefetch(%x: tensor<?x192xbf16>, %w: tensor<192x192xbf16>) -> tensor<?x192xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x192xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<192x192xbf16>) outs(%e : tensor<?x192xbf16>) {transpose_weight, plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma, tile = [64, 96, 64], warps = [1, 1], stages = 2, schedule = ping_pong, prefetch = 2>} -> tensor<?x192xbf16>
  return %y : tensor<?x192xbf16>
}

func.func @wide_tile_prefetch_cluster(%x: tensor<?x192xbf16>, %w: tensor<64x192xbf16>) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %e = tensor.empty(%m) : tensor<?x64xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x192xbf16>, tensor<64x192xbf16>) outs(%e : tensor<?x64xbf16>) {transpose_weight, post_norm = #flashnorm.norm<layer, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma, tile = [64, 32, 64], warps = [1, 1], stages = 2, schedule = ping_pong, cluster = [1, 2, 1], prefetch = 3>} -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

func.func @wide_tile_paced(%x: tensor<?x1024xbf16>, %w: tensor<128x1024xbf16>) -> tensor<?x128xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x1024xbf16>
  %e = tensor.empty(%m) : tensor<?x128xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x1024xbf16>, tensor<128x1024xbf16>) outs(%e : tensor<?x128xbf16>) {transpose_weight, post_norm = #flashnorm.norm<rms, eps = 1.0e-05>, plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma, tile = [64, 64, 64], warps = [1, 1], stages = 3, schedule = ping_pong, cluster = [1, 2, 1]>} -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}
