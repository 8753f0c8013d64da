// RUN: flashnorm-opt %s --flashnorm-verify-plan --split-input-file \
// RUN:   --verify-diagnostics

// Each case breaks one rule of a kernel family or one limit of a chip; the error
// names the value and the limit.

func.func @unknown_chip(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan is for unknown chip 'sm_70'; legal are sm_80,}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_70", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 3>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @family_of_other_chip(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: sm_90 has no wgmma; it has mma_sync}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90", family = wgmma,
                              tile = [64, 64, 64], warps = [1, 1], stages = 3>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @no_tcgen05(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: sm_120a has no tcgen05; it has mma_sync}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_120a", family = tcgen05,
                              tile = [128, 64, 64], warps = [1, 1], stages = 3>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @too_much_shared_memory(
    %x: tensor<?x256xbf16>, %w: tensor<256x512xbf16>, %init: tensor<?x512xbf16>)
    -> tensor<?x512xbf16> {
  // expected-error @below {{plan cannot run: needs 314368 bytes of shared memory; sm_90a has 232448}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x512xbf16>)
      outs(%init : tensor<?x512xbf16>)
      {post_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma,
                              tile = [64, 512, 64], warps = [1, 2], stages = 4>}
      -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}

// -----

func.func @too_little_on_sm_86(
    %x: tensor<?x256xbf16>, %w: tensor<256x512xbf16>, %init: tensor<?x512xbf16>)
    -> tensor<?x512xbf16> {
  // expected-error @below {{plan cannot run: needs 153600 bytes of shared memory; sm_86 has 101376}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x512xbf16>)
      outs(%init : tensor<?x512xbf16>)
      {post_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_86", family = mma_sync,
                              tile = [64, 512, 32], warps = [1, 8], stages = 4>}
      -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}

// -----

func.func @strategy_of_plain_matmul(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: strategy is wide_tile; a matmul with no norm needs gemm}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_80", family = mma_sync,
                              tile = [64, 256, 32], warps = [1, 4], stages = 2>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @strategy_of_post_norm(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: strategy is gemm; a matmul with a norm after it needs wide_tile}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {post_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 256, 32], warps = [1, 4], stages = 2>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @strategy_of_pre_norm(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: strategy is gemm; a matmul with only a norm before it needs lazy_pre_norm}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 256, 32], warps = [1, 4], stages = 2>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @row_wider_than_tile(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: wide_tile needs all 256 columns in one tile; the tile has 128}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {post_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_80", family = mma_sync,
                              tile = [64, 128, 32], warps = [1, 4], stages = 2>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @row_wider_than_any(
    %x: tensor<?x256xbf16>, %w: tensor<256x1024xbf16>, %init: tensor<?x1024xbf16>)
    -> tensor<?x1024xbf16> {
  // expected-error @below {{plan cannot run: rows of 1024 columns do not fit one CTA; wide_tile takes at most 512}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x1024xbf16>)
      outs(%init : tensor<?x1024xbf16>)
      {post_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_80", family = mma_sync,
                              tile = [16, 1024, 32], warps = [1, 16], stages = 2>}
      -> tensor<?x1024xbf16>
  return %y : tensor<?x1024xbf16>
}

// -----

func.func @accumulator_registers(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: needs 256 accumulator registers in a thread; mma_sync kernels have 128}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [128, 128, 32], warps = [1, 2], stages = 2>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @register_file(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: needs about 102400 registers for 512 threads; sm_80 has 65536}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [256, 256, 32], warps = [4, 4], stages = 2>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @registers_of_a_thread(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: needs about 256 registers in a thread; sm_80 has 255}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = lazy_pre_norm, chip = "sm_80", family = mma_sync,
                              tile = [128, 128, 64], warps = [2, 2], stages = 2>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @number_of_warps(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: number of warps 32 exceeds 16 for mma_sync}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [256, 256, 32], warps = [4, 8], stages = 2>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @rows_of_a_warp(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: tile rows 48 is not a multiple of 16 for each of 2 warps for mma_sync}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [48, 64, 32], warps = [2, 1], stages = 2>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @columns_of_a_warp(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: tile columns 96 is not a multiple of 32 for each of 2 warps for mma_sync}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 96, 32], warps = [1, 2], stages = 2>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @depth_of_mma_sync(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: tile depth 48 is not 32 or 64 for mma_sync}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 48], warps = [1, 1], stages = 2>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @warpgroups(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: number of consumer warpgroups 4 exceeds 2 for wgmma}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma,
                              tile = [128, 256, 64], warps = [2, 2], stages = 2>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @rows_of_a_warpgroup(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: tile rows 192 is not 64 or 128 for each of 1 warpgroups for wgmma}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma,
                              tile = [192, 64, 64], warps = [1, 1], stages = 2>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @columns_of_a_warpgroup(
    %x: tensor<?x256xbf16>, %w: tensor<256x512xbf16>, %init: tensor<?x512xbf16>)
    -> tensor<?x512xbf16> {
  // expected-error @below {{plan cannot run: tile columns 512 is not a multiple of 32 up to 256 for each of 1 warpgroups for wgmma}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x512xbf16>)
      outs(%init : tensor<?x512xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma,
                              tile = [64, 512, 64], warps = [1, 1], stages = 2>}
      -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}

// -----

func.func @depth_of_wgmma(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: tile depth 32 is not 64 for wgmma}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma,
                              tile = [64, 64, 32], warps = [1, 1], stages = 2>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @warps_of_tcgen05(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: warps are 2x1; one MMA covers the tile, so tcgen05 needs 1x1}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_100a", family = tcgen05,
                              tile = [128, 64, 64], warps = [2, 1], stages = 2>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @rows_of_tcgen05(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: tile rows 64 is not 128 for tcgen05}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_100a", family = tcgen05,
                              tile = [64, 64, 64], warps = [1, 1], stages = 2>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @tensor_memory(
    %x: tensor<?x256xbf16>, %w: tensor<256x576xbf16>, %init: tensor<?x576xbf16>)
    -> tensor<?x576xbf16> {
  // expected-error @below {{plan cannot run: needs 1024 columns of tensor memory; sm_100a has 512}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x576xbf16>)
      outs(%init : tensor<?x576xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_100a", family = tcgen05,
                              tile = [128, 576, 64], warps = [1, 1], stages = 2>}
      -> tensor<?x576xbf16>
  return %y : tensor<?x576xbf16>
}

// -----

func.func @one_stage(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: number of stages 1 is not in 2 to 32}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 1>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @tile_out_of_range(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: tile size 4611686018427387904 is not in 1 to 1024}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [4611686018427387904, 64, 32], warps = [2, 1], stages = 2>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @warps_out_of_range(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: warp count 4611686018427387904 is not in 1 to 32}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [4611686018427387904, 1], stages = 2>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @odd_depth(
    %x: tensor<?x100xbf16>, %w: tensor<100x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: K = 100 is not a positive multiple of 8}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x100xbf16>, tensor<100x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

// W [K,N] brings the tile's columns into the rows of shared memory.
func.func @mma_sync_swizzle(
    %x: tensor<?x256xbf16>, %w: tensor<256x96xbf16>, %init: tensor<?x96xbf16>)
    -> tensor<?x96xbf16> {
  // expected-error @below {{plan cannot run: tile columns 96 with W [K,N] are neither 32 nor a multiple of 64 for mma_sync}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x96xbf16>)
      outs(%init : tensor<?x96xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 96, 64], warps = [2, 1], stages = 2>}
      -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}

// -----

func.func @wgmma_column_blocks(
    %x: tensor<?x256xbf16>, %w: tensor<256x192xbf16>, %init: tensor<?x192xbf16>)
    -> tensor<?x192xbf16> {
  // expected-error @below {{plan cannot run: tile columns 192 with W [K,N] are not a multiple of 64 for each of 2 warpgroups for wgmma}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x192xbf16>)
      outs(%init : tensor<?x192xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma,
                              tile = [64, 192, 64], warps = [1, 2], stages = 2>}
      -> tensor<?x192xbf16>
  return %y : tensor<?x192xbf16>
}

// -----

func.func @tcgen05_column_blocks(
    %x: tensor<?x256xbf16>, %w: tensor<256x96xbf16>, %init: tensor<?x96xbf16>)
    -> tensor<?x96xbf16> {
  // expected-error @below {{plan cannot run: tile columns 96 with W [K,N] are not a multiple of 64 for tcgen05}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x96xbf16>)
      outs(%init : tensor<?x96xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_103a", family = tcgen05,
                              tile = [128, 96, 64], warps = [1, 1], stages = 2>}
      -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}

// -----

func.func @rows_of_columns_side_by_side(
    %x: tensor<?x256xbf16>, %w: tensor<256x128xbf16>, %init: tensor<?x128xbf16>)
    -> tensor<?x128xbf16> {
  // expected-error @below {{plan cannot run: tile rows 128 that two warpgroups share are not 64 for wgmma}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x128xbf16>)
      outs(%init : tensor<?x128xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma,
                              tile = [128, 128, 64], warps = [1, 2], stages = 2>}
      -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

// -----

func.func @rows_of_a_shared_tile(
    %x: tensor<?x256xbf16>, %w: tensor<256x128xbf16>, %init: tensor<?x128xbf16>)
    -> tensor<?x128xbf16> {
  // expected-error @below {{plan cannot run: tile rows 128 that a cluster along K shares are not 64 for wgmma}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x128xbf16>)
      outs(%init : tensor<?x128xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma,
                              tile = [128, 128, 64], warps = [1, 1], stages = 2,
                              cluster = [1, 1, 2]>}
      -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

// -----

func.func @accumulators_of_wgmma(
    %x: tensor<?x256xbf16>, %w: tensor<256x192xbf16>, %init: tensor<?x192xbf16>)
    -> tensor<?x192xbf16> {
  // expected-error @below {{plan cannot run: needs 192 accumulator registers in a thread; wgmma kernels have 160}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x192xbf16>)
      outs(%init : tensor<?x192xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma,
                              tile = [128, 192, 64], warps = [1, 1], stages = 2>}
      -> tensor<?x192xbf16>
  return %y : tensor<?x192xbf16>
}

// -----

func.func @resident_weight_of_another_family(
    %x: tensor<?x256xbf16>, %w: tensor<256x128xbf16>, %init: tensor<?x128xbf16>)
    -> tensor<?x128xbf16> {
  // expected-error @below {{plan cannot run: resident_weight is for wgmma, not for mma_sync}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x128xbf16>)
      outs(%init : tensor<?x128xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = mma_sync,
                              tile = [64, 128, 64], warps = [2, 2], stages = 2,
                              resident_weight>}
      -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

// -----

func.func @prefetch_of_another_family(
    %x: tensor<?x256xbf16>, %w: tensor<256x128xbf16>, %init: tensor<?x128xbf16>)
    -> tensor<?x128xbf16> {
  // expected-error @below {{plan cannot run: prefetch is for wgmma, not for mma_sync}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x128xbf16>)
      outs(%init : tensor<?x128xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = mma_sync,
                              tile = [64, 128, 64], warps = [2, 2], stages = 2,
                              prefetch = 1>}
      -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

// -----

func.func @prefetch_beyond_the_next_tile(
    %x: tensor<?x256xbf16>, %w: tensor<256x128xbf16>, %init: tensor<?x128xbf16>)
    -> tensor<?x128xbf16> {
  // expected-error @below {{plan cannot run: prefetch 3 is not in 1 to 2, the steps of a tile}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x128xbf16>)
      outs(%init : tensor<?x128xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma,
                              tile = [64, 128, 64], warps = [1, 1], stages = 2,
                              cluster = [1, 1, 2], prefetch = 3>}
      -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

// -----

func.func @resident_weight_of_few_columns(
    %x: tensor<?x256xbf16>, %w: tensor<256x128xbf16>, %init: tensor<?x128xbf16>)
    -> tensor<?x128xbf16> {
  // expected-error @below {{plan cannot run: resident_weight needs all 128 columns in the tiles of one cluster, which have 64}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x128xbf16>)
      outs(%init : tensor<?x128xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma,
                              tile = [64, 64, 64], warps = [1, 1], stages = 2,
                              resident_weight>}
      -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

// -----

func.func @resident_weight_of_a_shared_tile(
    %x: tensor<?x256xbf16>, %w: tensor<256x128xbf16>, %init: tensor<?x128xbf16>)
    -> tensor<?x128xbf16> {
  // expected-error @below {{plan cannot run: resident_weight stands beside clusters along N only; cluster is 1x1x2}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x128xbf16>)
      outs(%init : tensor<?x128xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma,
                              tile = [64, 128, 64], warps = [1, 1], stages = 2,
                              cluster = [1, 1, 2], resident_weight>}
      -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

// -----

func.func @resident_weight_too_large(
    %x: tensor<?x1024xbf16>, %w: tensor<1024x128xbf16>, %init: tensor<?x128xbf16>)
    -> tensor<?x128xbf16> {
  // expected-error @below {{plan cannot run: needs 296960 bytes of shared memory; sm_90a has 232448}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x1024xbf16>, tensor<1024x128xbf16>)
      outs(%init : tensor<?x128xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma,
                              tile = [64, 128, 64], warps = [1, 1], stages = 2,
                              schedule = ping_pong, resident_weight>}
      -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

// -----

// Of W [K,N], 128 columns are kept for a tile of 96.
func.func @resident_weight_of_half_boxes(
    %x: tensor<?x1024xbf16>, %w: tensor<1024x96xbf16>, %init: tensor<?x96xbf16>)
    -> tensor<?x96xbf16> {
  // expected-error @below {{plan cannot run: needs 296960 bytes of shared memory; sm_90a has 232448}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x1024xbf16>, tensor<1024x96xbf16>)
      outs(%init : tensor<?x96xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma,
                              tile = [64, 96, 64], warps = [1, 1], stages = 2,
                              schedule = ping_pong, resident_weight>}
      -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}

// -----

func.func @some_of_the_columns_in_a_cluster(
    %x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>, %init: tensor<?x256xbf16>)
    -> tensor<?x256xbf16> {
  // expected-error @below {{plan cannot run: cluster is 1x2x1; along N it has all tiles of a row, of which there are 4}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma,
                              tile = [64, 64, 64], warps = [1, 1], stages = 2,
                              schedule = ping_pong, cluster = [1, 2, 1]>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

func.func @residual_that_is_not_staged(
    %x: tensor<?x256xbf16>, %w: tensor<256x128xbf16>, %r: tensor<?x128xf32>,
    %init: tensor<?x128xbf16>) -> tensor<?x128xbf16> {
  // expected-error @below {{plan cannot run: needs about 256 registers in a thread; two consumer warpgroups of wgmma have 232}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x128xbf16>)
      residual(%r : tensor<?x128xf32>) outs(%init : tensor<?x128xbf16>)
      {post_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma,
                              tile = [128, 128, 64], warps = [1, 1], stages = 2,
                              schedule = ping_pong>}
      -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}
