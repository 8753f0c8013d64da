// Sizes that the kernels' 32 bits do not hold. The planner leaves such matmuls
// alone; a plan by hand is refused.
// RUN: flashnorm-opt %s --flashnorm-verify-plan --split-input-file --verify-diagnostics

func.func @rows(%x: tensor<2x1073741824x64xbf16>, %w: tensor<64x64xbf16>, %init: tensor<2x1073741824x64xbf16>)
    -> tensor<2x1073741824x64xbf16> {
  // expected-error @below {{plan cannot run: the number of rows is 2147483648; kernels take at most 2147483647}}
  %y = flashnorm.matmul ins(%x, %w : tensor<2x1073741824x64xbf16>, tensor<64x64xbf16>)
      outs(%init : tensor<2x1073741824x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 3>}
      -> tensor<2x1073741824x64xbf16>
  return %y : tensor<2x1073741824x64xbf16>
}

// -----

// Their number does not even fit 64 bits.
func.func @rows_overflow(%x: tensor<4611686018427387904x4x64xbf16>, %w: tensor<64x64xbf16>, %init: tensor<4611686018427387904x4x64xbf16>)
    -> tensor<4611686018427387904x4x64xbf16> {
  // expected-error @below {{plan cannot run: the number of rows is 9223372036854775807; kernels take at most 2147483647}}
  %y = flashnorm.matmul ins(%x, %w : tensor<4611686018427387904x4x64xbf16>, tensor<64x64xbf16>)
      outs(%init : tensor<4611686018427387904x4x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 3>}
      -> tensor<4611686018427387904x4x64xbf16>
  return %y : tensor<4611686018427387904x4x64xbf16>
}

// -----

// No rows are no problem, whatever the other sizes.
func.func @no_rows(%x: tensor<4611686018427387904x4x0x64xbf16>, %w: tensor<64x64xbf16>, %init: tensor<4611686018427387904x4x0x64xbf16>)
    -> tensor<4611686018427387904x4x0x64xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<4611686018427387904x4x0x64xbf16>, tensor<64x64xbf16>)
      outs(%init : tensor<4611686018427387904x4x0x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 3>}
      -> tensor<4611686018427387904x4x0x64xbf16>
  return %y : tensor<4611686018427387904x4x0x64xbf16>
}

// -----

func.func @columns(%x: tensor<8x64xbf16>, %w: tensor<64x1073741832xbf16>, %init: tensor<8x1073741832xbf16>)
    -> tensor<8x1073741832xbf16> {
  // expected-error @below {{plan cannot run: N = 1073741832; kernels take at most 1073741824}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x1073741832xbf16>)
      outs(%init : tensor<8x1073741832xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 3>}
      -> tensor<8x1073741832xbf16>
  return %y : tensor<8x1073741832xbf16>
}

// -----

func.func @depth(%x: tensor<8x1073741832xbf16>, %w: tensor<1073741832x64xbf16>, %init: tensor<8x64xbf16>)
    -> tensor<8x64xbf16> {
  // expected-error @below {{plan cannot run: K = 1073741832; kernels take at most 1073741824}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x1073741832xbf16>, tensor<1073741832x64xbf16>)
      outs(%init : tensor<8x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 3>}
      -> tensor<8x64xbf16>
  return %y : tensor<8x64xbf16>
}
