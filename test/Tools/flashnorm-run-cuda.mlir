// RUN: not %with_fake_cuda flashnorm-run %s --device=cuda --rows=200 --check-guards 2>&1 | FileCheck %s
// RUN: %with_fake_cuda flashnorm-run %s --device=cuda --rows=200 --compare=none --time=3 --family=mma_sync 2>&1 | FileCheck %s --check-prefix=TIME
// RUN: not %with_fake_cuda flashnorm-run %s --device=cuda --chip=sm_100a 2>&1 | FileCheck %s --check-prefix=CHIP

// All the way to a driver, whose device leaves the NaNs in the output that were
// there before the launch. What is launched is what the PTX says it takes.

// CHECK: tensor map type 9 rank 2 dims 256 200 stride 512 box {{.*}} fill 0
// CHECK: tensor map type 9 rank 2 dims 256 128 stride 512 box {{.*}} fill 0
// CHECK: launch wide_tile_128x256 grid
// CHECK: @linear_norm, seed 0, 1 launches on Fake device
// CHECK: result 0: bf16 [200, 128]
// CHECK: FAIL: 25600 elements are NaN or infinite where f64 and the original are not, the first at [0, 0]

// TIME: launch wide_tile_128x256 grid
// TIME: 1 launches on Fake device
// TIME-NEXT: wide_tile_128x256, 200 rows: 2.0000 ms

// CHIP: error: module 'kernels' is for sm_100a; Fake device is sm_90a
func.func @linear_norm(%x: tensor<?x256xbf16>, %w: tensor<128x256xbf16> {flashnorm.frozen}) -> tensor<?x128xbf16> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x256xbf16>
  %init = tensor.empty(%rows) : tensor<?x128xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<128x256xbf16>)
    outs(%init : tensor<?x128xbf16>) {transpose_weight} -> tensor<?x128xbf16>
  %z = flashnorm.rms_norm ins(%y : tensor<?x128xbf16>)
    outs(%init : tensor<?x128xbf16>) {eps = 1.0e-05 : f64} -> tensor<?x128xbf16>
  return %z : tensor<?x128xbf16>
}
