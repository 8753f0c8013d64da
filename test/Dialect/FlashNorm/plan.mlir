// RUN: flashnorm-opt %s --flashnorm-plan="chip=sm_80" --flashnorm-verify-plan \
// RUN:   --verify-roundtrip | FileCheck %s --check-prefixes=CHECK,SM80
// RUN: flashnorm-opt %s --flashnorm-plan="chip=sm_90a" --flashnorm-verify-plan --verify-roundtrip \
// RUN:   | FileCheck %s --check-prefixes=CHECK,SM90A
// RUN: flashnorm-opt %s --flashnorm-plan="chip=sm_100a family=tcgen05" \
// RUN:   --flashnorm-verify-plan --remarks-filter="flashnorm-plan" \
// RUN:   --remark-policy=all 2>&1 | FileCheck %s --check-prefix=SM100A

// All remarks come before the IR.
// SM100A: [Passed] MatmulPlanned | {{.*}}Function=gemm | {{.*}}gemm, tcgen05, tile 128x{{[0-9]+}}x64, warps 1x1, {{[0-9]+}} stages; 192 threads and {{[0-9]+}} bytes of shared memory in a CTA; estimated at {{[0-9.]+}} us
// SM100A: [Passed] MatmulPlanned | {{.*}}Function=wide_tile | {{.*}}wide_tile, tcgen05, tile 128x512x64
// SM100A: [Missed] MatmulNotPlanned | {{.*}}Function=scaled_rows | {{.*}}no plan for sm_100a: no kernel scales rows by a vector that it is given
// SM100A: [Missed] MatmulNotPlanned | {{.*}}Function=column_sums | {{.*}}no plan for sm_100a: no kernel takes the mean of x from the product
// SM100A: [Missed] MatmulNotPlanned | {{.*}}Function=centred | {{.*}}no plan for sm_100a: a layer norm before the matmul has no kernel; rms has
// SM100A: [Missed] MatmulNotPlanned | {{.*}}Function=statistics | {{.*}}no plan for sm_100a: no kernel returns statistics of its result
// SM100A: [Missed] MatmulNotPlanned | {{.*}}Function=too_wide | {{.*}}no plan for sm_100a: rows of 520 columns do not fit one CTA; wide_tile takes at most 512
// SM100A: [Missed] MatmulNotPlanned | {{.*}}Function=f64 | {{.*}}no plan for sm_100a: element type f64 has no kernel; bf16, f16 and f32 have

// A plain matmul; the automatic family is wgmma on sm_90a, mma_sync elsewhere.
// CHECK-LABEL: func @gemm(
// SM80:          #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync, tile =
// SM90A:         #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma, tile = [128, 128, 64], warps = [1, 1], stages = 6, schedule = ping_pong, cluster = [2, 1, 1]>
func.func @gemm(%x: tensor<8192x4096xbf16>, %w: tensor<4096x4096xbf16>,
                %init: tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<8192x4096xbf16>, tensor<4096x4096xbf16>)
      outs(%init : tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  return %y : tensor<8192x4096xbf16>
}

// Many tiles of 64x256 with a long K: x is asked of device memory ahead of its load.
// CHECK-LABEL: func @prefetched(
// SM90A:         tile = [64, 256, 64], warps = [1, 1], stages = {{[0-9]+}}, schedule = ping_pong, prefetch = 4>
func.func @prefetched(%x: tensor<65536x1024xbf16>, %w: tensor<1024x256xbf16>,
                      %init: tensor<65536x256xbf16>) -> tensor<65536x256xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<65536x1024xbf16>, tensor<1024x256xbf16>)
      outs(%init : tensor<65536x256xbf16>)
      {post_norm = #flashnorm.norm<rms, eps = 1.000000e-05>}
      -> tensor<65536x256xbf16>
  return %y : tensor<65536x256xbf16>
}

// Not where K is short.
// CHECK-LABEL: func @short_rows(
// SM90A:         tile = [64, 256, 64], warps = [1, 1], stages = {{[0-9]+}}, schedule = ping_pong>
func.func @short_rows(%x: tensor<65536x960xbf16>, %w: tensor<960x256xbf16>,
                      %init: tensor<65536x256xbf16>) -> tensor<65536x256xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<65536x960xbf16>, tensor<960x256xbf16>)
      outs(%init : tensor<65536x256xbf16>)
      {post_norm = #flashnorm.norm<rms, eps = 1.000000e-05>}
      -> tensor<65536x256xbf16>
  return %y : tensor<65536x256xbf16>
}

// Nor where rows may share lines of 128 bytes: their pitch is known at launch.
// CHECK-LABEL: func @strided(
// SM90A:         tile = [64, 256, 64], warps = [1, 1], stages = {{[0-9]+}}, schedule = ping_pong>
func.func @strided(%packed: tensor<65536x1544xbf16>, %w: tensor<1024x256xbf16>,
                   %init: tensor<65536x256xbf16>) -> tensor<65536x256xbf16> {
  %x = tensor.extract_slice %packed[0, 0] [65536, 1024] [1, 1]
      : tensor<65536x1544xbf16> to tensor<65536x1024xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<65536x1024xbf16>, tensor<1024x256xbf16>)
      outs(%init : tensor<65536x256xbf16>)
      {post_norm = #flashnorm.norm<rms, eps = 1.000000e-05>}
      -> tensor<65536x256xbf16>
  return %y : tensor<65536x256xbf16>
}

// 512 columns: eight warps, or two warpgroups, side by side own the row.
// CHECK-LABEL: func @wide_tile(
// SM80:          strategy = wide_tile, chip = "sm_80", family = mma_sync, tile = [64, 512, 32], warps = [1, 8]
// SM90A:         strategy = wide_tile, chip = "sm_90a", family = wgmma, tile = [64, 256, 64], warps = [1, 1], stages = 5, schedule = ping_pong, cluster = [1, 2, 1]>
func.func @wide_tile(%x: tensor<?x512xf16>, %w: tensor<512x512xf16>,
                     %init: tensor<?x512xf32>) -> tensor<?x512xf32> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x512xf16>, tensor<512x512xf16>)
      outs(%init : tensor<?x512xf32>)
      {post_norm = #flashnorm.norm<layer, eps = 1.000000e-05>}
      -> tensor<?x512xf32>
  return %y : tensor<?x512xf32>
}

// Rows that are no multiple of the slice get a tile that is, also of W [K,N], which
// comes in boxes of 64 columns; two CTAs share it.
// CHECK-LABEL: func @wide_tile_of_200(
// SM80:          tile = [{{[0-9]+}}, 256, {{[0-9]+}}]
// SM90A:         tile = [128, 224, 64], warps = [2, 1], stages = 4, cluster = [2, 1, 1]>
func.func @wide_tile_of_200(%x: tensor<?x512xbf16>, %w: tensor<512x200xbf16>,
                            %init: tensor<?x200xbf16>) -> tensor<?x200xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x512xbf16>, tensor<512x200xbf16>)
      outs(%init : tensor<?x200xbf16>)
      {post_norm = #flashnorm.norm<rms, eps = 1.000000e-05>}
      -> tensor<?x200xbf16>
  return %y : tensor<?x200xbf16>
}

// Few rows and few columns get a small tile, also with W [K,N], of which wgmma has
// boxes of 64 columns.
// CHECK-LABEL: func @small(
// SM80:          tile = [16, 32, {{32|64}}], warps = [1, 1]
// SM90A:         tile = [64, 32, 64], warps = [1, 1]
func.func @small(%x: tensor<16x512xbf16>, %w: tensor<512x32xbf16>,
                 %init: tensor<16x32xbf16>) -> tensor<16x32xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<16x512xbf16>, tensor<512x32xbf16>)
      outs(%init : tensor<16x32xbf16>)
      {pre_norm = #flashnorm.norm<rms, eps = 1.000000e-05>}
      -> tensor<16x32xbf16>
  return %y : tensor<16x32xbf16>
}

// What is fused gets a plan even where the planner would not have fused it.
// CHECK-LABEL: func @fused_already(
// SM80:          strategy = lazy_pre_norm
// SM90A:         strategy = lazy_pre_norm
func.func @fused_already(
    %x: tensor<8192x4096xbf16>, %w: tensor<4096x14336xbf16>,
    %init: tensor<8192x14336xbf16>) -> tensor<8192x14336xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<8192x4096xbf16>, tensor<4096x14336xbf16>)
      outs(%init : tensor<8192x14336xbf16>)
      {pre_norm = #flashnorm.norm<rms, eps = 1.000000e-05>}
      -> tensor<8192x14336xbf16>
  return %y : tensor<8192x14336xbf16>
}

// A plan by hand stays, though it is for another chip.
// CHECK-LABEL: func @plan_by_hand(
// SM80:          plan = #flashnorm.plan<strategy = gemm, chip = "sm_86", family = mma_sync, tile = [64, 64, 32], warps = [2, 1], stages = 3>
// SM90A:         plan = #flashnorm.plan<strategy = gemm, chip = "sm_86", family = mma_sync, tile = [64, 64, 32], warps = [2, 1], stages = 3>
func.func @plan_by_hand(%x: tensor<?x256xbf16>, %w: tensor<256x256xbf16>,
                        %init: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x256xbf16>)
      outs(%init : tensor<?x256xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_86", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 3>}
      -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// What an op can say and no kernel does yet.
// CHECK-LABEL: func @scaled_rows(
// CHECK-NOT:     #flashnorm.plan
func.func @scaled_rows(%x: tensor<8x64xbf16>, %w: tensor<64x64xbf16>, %r: tensor<8xf32>, %init: tensor<8x64xbf16>) -> tensor<8x64xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x64xbf16>) row_scale(%r : tensor<8xf32>) outs(%init : tensor<8x64xbf16>) -> tensor<8x64xbf16>
  return %y : tensor<8x64xbf16>
}

// CHECK-LABEL: func @column_sums(
// CHECK-NOT:     #flashnorm.plan
func.func @column_sums(%x: tensor<8x64xbf16>, %w: tensor<64x64xbf16>, %s: tensor<64xf32>, %init: tensor<8x64xbf16>) -> tensor<8x64xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x64xbf16>) column_sums(%s : tensor<64xf32>) outs(%init : tensor<8x64xbf16>) {pre_norm = #flashnorm.norm<layer, eps = 1.0e-5>} -> tensor<8x64xbf16>
  return %y : tensor<8x64xbf16>
}

// CHECK-LABEL: func @centred(
// CHECK-NOT:     #flashnorm.plan
func.func @centred(%x: tensor<8x64xbf16>, %w: tensor<64x64xbf16>, %init: tensor<8x64xbf16>) -> tensor<8x64xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x64xbf16>) outs(%init : tensor<8x64xbf16>) {pre_norm = #flashnorm.norm<layer, eps = 1.0e-5>} -> tensor<8x64xbf16>
  return %y : tensor<8x64xbf16>
}

// CHECK-LABEL: func @statistics(
// CHECK-NOT:     #flashnorm.plan
func.func @statistics(%x: tensor<8x64xbf16>, %w: tensor<64x64xbf16>, %r: tensor<8xf32>, %init: tensor<8x64xbf16>) -> (tensor<8x64xbf16>, tensor<8xf32>) {
  %y:2 = flashnorm.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x64xbf16>) outs(%init, %r : tensor<8x64xbf16>, tensor<8xf32>) {statistics = #flashnorm.norm<rms, eps = 1.0e-5>} -> tensor<8x64xbf16>, tensor<8xf32>
  return %y#0, %y#1 : tensor<8x64xbf16>, tensor<8xf32>
}

// No kernel: the op stays as it is, without a plan.
// CHECK-LABEL: func @too_wide(
// CHECK:         flashnorm.matmul
// CHECK-NOT:     plan
// CHECK-LABEL: func @f64(
// CHECK:         flashnorm.matmul
// CHECK-NOT:     plan
func.func @too_wide(%x: tensor<?x512xbf16>, %w: tensor<512x520xbf16>,
                    %init: tensor<?x520xbf16>) -> tensor<?x520xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x512xbf16>, tensor<512x520xbf16>)
      outs(%init : tensor<?x520xbf16>)
      {post_norm = #flashnorm.norm<rms, eps = 1.000000e-05>}
      -> tensor<?x520xbf16>
  return %y : tensor<?x520xbf16>
}
func.func @f64(%x: tensor<?x512xf64>, %w: tensor<512x520xf64>,
               %init: tensor<?x520xf64>) -> tensor<?x520xf64> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x512xf64>, tensor<512x520xf64>)
      outs(%init : tensor<?x520xf64>) -> tensor<?x520xf64>
  return %y : tensor<?x520xf64>
}

// A kernel is built for a number of columns.
// CHECK-LABEL: func.func @dynamic_columns
// CHECK: flashnorm.matmul
// CHECK-NOT: plan =
// CHECK: return
func.func @dynamic_columns(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<?x?xbf16>, %i: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) residual(%r : tensor<?x?xbf16>) outs(%i : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  return %y : tensor<?x32xbf16>
}
