func.func @planned(%x: tensor<?x256xbf16>, %w: tensor<128x256xbf16>,
    %init: tensor<?x128xbf16>) -> tensor<?x128xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<128x256xbf16>)
      outs(%init : tensor<?x128xbf16>)
      {transpose_weight, post_norm = #flashnorm.norm<layer, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma,
                              tile = [128, 128, 64], warps = [2, 1], stages = 2>}
      -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}
