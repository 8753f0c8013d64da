// RUN: not flashnorm-opt %s --flashnorm-compile=format=sass 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not flashnorm-opt %s --flashnorm-compile=chip=sm_90a 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not flashnorm-opt %s --flashnorm-compile=chip=sm_42 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// FORMAT: error: unknown format 'sass'; one of kernel, nvvm (both of --flashnorm-compile only), ptx, cubin
// CHIP: error: kernel 'gemm_64x128' is for sm_80, not for sm_90a; plan it again
// UNKNOWN: error: {{.*}}sm_42
func.func @f(%x: tensor<?x128xbf16>, %w: tensor<64x128xbf16>,
    %init: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x128xbf16>, tensor<64x128xbf16>)
      outs(%init : tensor<?x64xbf16>)
      {transpose_weight,
       plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 3>}
      -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
