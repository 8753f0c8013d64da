// Plans whose epilogue would spill, by what each part of it holds.
// RUN: flashnorm-opt %s --flashnorm-verify-plan --split-input-file --verify-diagnostics

func.func @residual(%x: tensor<?x256xbf16>, %w: tensor<256x128xbf16>, %r: tensor<?x128xbf16>, %init: tensor<?x128xbf16>)
    -> tensor<?x128xbf16> {
  // expected-error @below {{plan cannot run: needs about 256 registers in a thread; sm_80 has 255}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x128xbf16>) residual(%r : tensor<?x128xbf16>)
      outs(%init : tensor<?x128xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [128, 128, 32], warps = [2, 2], stages = 2>}
      -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

// -----

// Without a residual it fits.
func.func @plain(%x: tensor<?x256xbf16>, %w: tensor<256x128xbf16>, %init: tensor<?x128xbf16>)
    -> tensor<?x128xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x128xbf16>)
      outs(%init : tensor<?x128xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [128, 128, 32], warps = [2, 2], stages = 2>}
      -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

// -----

func.func @masked_sum(%x: tensor<?x256xbf16>, %w: tensor<256x120xbf16>, %init: tensor<?x120xbf16>)
    -> (tensor<?x120xbf16>, tensor<?x120xbf16>) {
  // expected-error @below {{plan cannot run: needs about 264 registers in a thread; sm_80 has 255}}
  %y:2 = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x120xbf16>)
      outs(%init, %init : tensor<?x120xbf16>, tensor<?x120xbf16>)
      {post_norm = #flashnorm.norm<rms, eps = 1.0e-5>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_80", family = mma_sync,
                              tile = [128, 128, 32], warps = [2, 2], stages = 2>}
      -> tensor<?x120xbf16>, tensor<?x120xbf16>
  return %y#0, %y#1 : tensor<?x120xbf16>, tensor<?x120xbf16>
}

// -----

func.func @tall_warps(%x: tensor<?x56xbf16>, %w: tensor<136x56xbf16>, %r: tensor<?x136xbf16>, %init: tensor<?x136xbf16>)
    -> tensor<?x136xbf16> {
  // expected-error @below {{plan cannot run: needs about 448 registers in a thread; sm_86 has 255}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x56xbf16>, tensor<136x56xbf16>) residual(%r : tensor<?x136xbf16>)
      outs(%init : tensor<?x136xbf16>)
      {transpose_weight, pre_norm = #flashnorm.norm<rms, eps = 1.0e-5>,
       plan = #flashnorm.plan<strategy = lazy_pre_norm, chip = "sm_86", family = mma_sync,
                              tile = [256, 32, 32], warps = [2, 1], stages = 5>}
      -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}

// -----

func.func @masked_slice(%x: tensor<?x256xbf16>, %w: tensor<88x256xbf16>, %init: tensor<?x88xbf16>)
    -> tensor<?x88xbf16> {
  // expected-error @below {{plan cannot run: needs about 296 registers in a thread; sm_80 has 255}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<88x256xbf16>)
      outs(%init : tensor<?x88xbf16>)
      {transpose_weight,
       plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 32, 64], warps = [1, 1], stages = 2>}
      -> tensor<?x88xbf16>
  return %y : tensor<?x88xbf16>
}

// -----

// Two consumer warpgroups, columns beyond N, an activation and a residual.
func.func @wgmma_masked(%x: tensor<?x512xbf16>, %w: tensor<232x512xbf16>, %r: tensor<?x232xbf16>,
                        %o: tensor<?x232xbf16>) -> tensor<?x232xbf16> {
  // expected-error @below {{plan cannot run: needs about 256 registers in a thread; two consumer warpgroups of wgmma have 232}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x512xbf16>, tensor<232x512xbf16>) residual(%r : tensor<?x232xbf16>)
      outs(%o : tensor<?x232xbf16>)
      {transpose_weight, activation = #flashnorm.activation<gelu_tanh>,
       post_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma,
                              tile = [64, 256, 64], warps = [1, 1], stages = 4, schedule = ping_pong>}
      -> tensor<?x232xbf16>
  return %y : tensor<?x232xbf16>
}
