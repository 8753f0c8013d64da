// RUN: flashnorm-opt %s --convert-flashnorm-to-kernel --split-input-file | FileCheck %s

// A plain GEMM: two loads and one MMA a stage, and one pass that stores.
// CHECK-LABEL: func.func @gemm(
// CHECK-SAME: %[[X:.+]]: tensor<?x128xbf16>, %[[W:.+]]: tensor<192x128xbf16>, %[[INIT:.+]]: tensor<?x192xbf16>)
// CHECK: %[[Y:.+]] = flashnorm.launch @kernels::@gemm_192x128 ins(%[[X]], %[[W]] : {{.+}}) outs(%[[INIT]] : {{.+}}) -> tensor<?x192xbf16>
// CHECK-NEXT: return %[[Y]]
func.func @gemm(%x: tensor<?x128xbf16>, %w: tensor<192x128xbf16>,
                %init: tensor<?x192xbf16>) -> tensor<?x192xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x128xbf16>, tensor<192x128xbf16>)
      outs(%init : tensor<?x192xbf16>)
      {transpose_weight,
       plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 128, 32], warps = [2, 2], stages = 3>}
      -> tensor<?x192xbf16>
  return %y : tensor<?x192xbf16>
}
// CHECK: gpu.module @kernels
// CHECK: kernel.func @gemm_192x128(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x128xbf16>, %[[W:[a-z0-9]+]]: memref<192x128xbf16>, %[[Y:[a-z0-9]+]]: memref<?x192xbf16>, %{{[a-z0-9]+}}: index)
// CHECK-SAME: config(<mma_sync, chip = "sm_80", tile = [64, 128, 32], warps = [2, 2]>)
// CHECK-SAME: kernel.launch_info = {strategy = "gemm"}
// CHECK: %[[ROW:.+]], %[[COLUMN:.+]] = kernel.tile_origin columns(192)
// CHECK: %[[ZERO:.+]] = kernel.zero_acc : <64x128>
// CHECK: %[[ACC:.+]] = kernel.pipeline bound(128) step(32) stages(3) init(%[[ZERO]] : !kernel.acc<64x128>) produce {
// CHECK-NEXT: ^bb0(%[[K:.+]]: index, %[[A:.+]]: !kernel.smem<64x32xbf16>, %[[B:.+]]: !kernel.smem<128x32xbf16>):
// CHECK-NEXT: kernel.load %[[X]][%[[ROW]], %[[K]]] to %[[A]]
// CHECK-NEXT: kernel.load %[[W]][%[[COLUMN]], %[[K]]] to %[[B]]
// CHECK-NEXT: kernel.yield
// CHECK-NEXT: } consume {
// CHECK-NEXT: ^bb0(%{{.+}}: index, %[[A:.+]]: !kernel.smem<64x32xbf16>, %[[B:.+]]: !kernel.smem<128x32xbf16>, %[[C:.+]]: !kernel.acc<64x128>):
// CHECK-NEXT: %[[D:.+]] = kernel.mma %[[A]], %[[B]], %[[C]] transpose_b
// CHECK-NEXT: kernel.yield %[[D]]
// CHECK-NEXT: } -> !kernel.acc<64x128>
// CHECK-NEXT: kernel.for_slices %[[ACC]]
// CHECK-NEXT: ^bb0(%[[F:.+]]: !kernel.frag<64x32>, %[[COL:.+]]: index):
// CHECK-NEXT: %[[AT:.+]] = arith.addi %[[COLUMN]], %[[COL]] : index
// CHECK-NEXT: kernel.store_frag %[[F]], %[[Y]][%[[ROW]], %[[AT]]]
// CHECK-NEXT: kernel.yield
// CHECK-NEXT: }
// CHECK-NEXT: kernel.return

// -----

// W [K,N] is read as it lies; three leading sizes are rows.
// CHECK-LABEL: func.func @depth_by_columns
// CHECK: flashnorm.launch @kernels::@gemm_64x128
func.func @depth_by_columns(%x: tensor<2x?x128xf16>, %w: tensor<128x64xf16>,
    %init: tensor<2x?x64xf32>) -> tensor<2x?x64xf32> {
  %y = flashnorm.matmul ins(%x, %w : tensor<2x?x128xf16>, tensor<128x64xf16>)
      outs(%init : tensor<2x?x64xf32>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
      -> tensor<2x?x64xf32>
  return %y : tensor<2x?x64xf32>
}
// CHECK: kernel.func @gemm_64x128(%{{.+}}: memref<?x128xf16>, %[[W:.+]]: memref<128x64xf16>, %{{.+}}: memref<?x64xf32>, %{{.+}}: index)
// CHECK: %{{.+}}, %[[COLUMN:.+]] = kernel.tile_origin
// CHECK: kernel.load %[[W]][%[[K:.+]], %[[COLUMN]]] to %{{.+}} : memref<128x64xf16>, <32x64xf16>
// CHECK: kernel.mma %{{.+}}, %{{.+}}, %{{[a-z0-9]+}} : <64x32xf16>, <32x64xf16>, <64x64>

// -----

// wgmma has whole boxes of 64 columns of W [K,N], also for a tile of 96.
func.func @half_box(%x: tensor<?x128xf16>, %w: tensor<128x192xf16>,
    %init: tensor<?x192xf32>) -> tensor<?x192xf32> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x128xf16>, tensor<128x192xf16>)
      outs(%init : tensor<?x192xf32>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma,
                              tile = [64, 96, 64], warps = [1, 1], stages = 2>}
      -> tensor<?x192xf32>
  return %y : tensor<?x192xf32>
}
// CHECK-LABEL: kernel.func @gemm_192x128(
// CHECK: kernel.load %{{.+}} to %{{.+}} : memref<128x192xf16>, <64x128xf16>
// CHECK: kernel.mma %{{.+}}, %{{.+}}, %{{[a-z0-9]+}} : <64x64xf16>, <64x128xf16>, <64x96>

// -----

// RMSNorm of a wide tile: one pass for the sums of squares, one that scales.
// Nothing changes the accumulator, so nothing is written back.
// CHECK-LABEL: func.func @wide_rms
func.func @wide_rms(%x: tensor<?x128xbf16>, %w: tensor<64x128xbf16>,
    %gamma: tensor<64xf32>, %init: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x128xbf16>, tensor<64x128xbf16>)
      norm_weight(%gamma : tensor<64xf32>) outs(%init : tensor<?x64xbf16>)
      {transpose_weight, post_norm = #flashnorm.norm<rms, eps = 0.25>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma,
                              tile = [128, 64, 64], warps = [2, 1], stages = 4>}
      -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
// CHECK: kernel.func @wide_tile_64x128(%{{.+}}: {{.+}}, %{{.+}}: {{.+}}, %[[GAMMA:.+]]: memref<64xf32>, %[[Y:.+]]: memref<?x64xbf16>, %{{.+}}: index)
// CHECK: %[[ACC:.+]] = kernel.pipeline
// CHECK: %[[ZERO:.+]] = kernel.fill 0.000000e+00 : <128>
// CHECK: %[[PARTIAL:.+]] = kernel.for_slices %[[ACC]] init(%[[ZERO]] : !kernel.rowvec<128>)
// CHECK-NEXT: ^bb0(%[[F:.+]]: !kernel.frag<128x32>, %[[COL:.+]]: index, %[[S:.+]]: !kernel.rowvec<128>):
// CHECK: %[[NEXT:.+]] = kernel.accumulate sumsq %[[F]] into %[[S]] columns(%[[COL]], 64)
// CHECK-NEXT: kernel.yield %[[NEXT]] : !kernel.rowvec<128>
// CHECK: %[[TOTAL:.+]] = kernel.row_combine %[[PARTIAL]] : <128>
// CHECK-DAG: %[[N:.+]] = arith.constant 6.400000e+01 : f32
// CHECK-DAG: %[[EPS:.+]] = arith.constant 2.500000e-01 : f32
// CHECK: %[[SCALE:.+]] = kernel.map %[[TOTAL]]
// CHECK-NEXT: ^bb0(%[[V:.+]]: f32):
// CHECK-NEXT: %[[MEAN:.+]] = arith.divf %[[V]], %[[N]] : f32
// CHECK-NEXT: %[[SUM:.+]] = arith.addf %[[MEAN]], %[[EPS]] : f32
// CHECK-NEXT: %[[R:.+]] = math.rsqrt %[[SUM]] : f32
// CHECK-NEXT: kernel.yield %[[R]] : f32
// CHECK: kernel.for_slices %[[ACC]] :
// CHECK-NEXT: ^bb0(%[[F:.+]]: !kernel.frag<128x32>, %{{.+}}: index):
// CHECK: %[[G:.+]] = kernel.load_colvec %[[GAMMA]]
// CHECK: kernel.map %[[F]], %[[SCALE]], %[[G]]
// CHECK-NEXT: ^bb0(%[[V:.+]]: f32, %[[R:.+]]: f32, %[[G:.+]]: f32):
// CHECK-NEXT: %[[SCALED:.+]] = arith.mulf %[[V]], %[[R]] : f32
// CHECK-NEXT: arith.mulf %[[SCALED]], %[[G]] : f32
// CHECK: kernel.store_frag %{{.+}}, %[[Y]]
// CHECK-NOT: kernel.for_slices

// -----

// LayerNorm takes the mean first, and then the squares of what is left. Bias,
// activation and residual change the accumulator in the first pass, and the sum
// is a result of its own.
// CHECK-LABEL: func.func @wide_layer
func.func @wide_layer(%x: tensor<?x128xbf16>, %w: tensor<64x128xbf16>,
    %b: tensor<64xf32>, %res: tensor<?x64xbf16>, %beta: tensor<64xf32>,
    %gamma: tensor<64xf32>, %init: tensor<?x64xbf16>, %sum: tensor<?x64xf32>)
    -> (tensor<?x64xbf16>, tensor<?x64xf32>) {
  %y:2 = flashnorm.matmul ins(%x, %w : tensor<?x128xbf16>, tensor<64x128xbf16>)
      bias(%b : tensor<64xf32>) residual(%res : tensor<?x64xbf16>)
      norm_weight(%gamma : tensor<64xf32>) norm_bias(%beta : tensor<64xf32>)
      outs(%init, %sum : tensor<?x64xbf16>, tensor<?x64xf32>)
      {transpose_weight, activation = #flashnorm.activation<relu>,
       post_norm = #flashnorm.norm<layer, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 2], stages = 2>}
      -> tensor<?x64xbf16>, tensor<?x64xf32>
  return %y#0, %y#1 : tensor<?x64xbf16>, tensor<?x64xf32>
}
// CHECK: kernel.func @wide_tile_64x128(%{{.+}}: {{.+}}, %{{.+}}: {{.+}}, %[[BIAS:.+]]: memref<64xf32>, %[[RES:.+]]: memref<?x64xbf16>, %[[GAMMA:.+]]: memref<64xf32>, %[[BETA:.+]]: memref<64xf32>, %[[Y:.+]]: memref<?x64xbf16>, %[[SUM:.+]]: memref<?x64xf32>, %{{.+}}: index)
// CHECK: %[[ACC:.+]] = kernel.pipeline
// CHECK: %[[PASS1:.+]]:2 = kernel.for_slices %[[ACC]] init
// CHECK-DAG: kernel.load_colvec %[[BIAS]]
// CHECK-DAG: kernel.load_frag %[[RES]]
// CHECK: %[[NEW:.+]] = kernel.map
// CHECK-NEXT: ^bb0(%[[V:.+]]: f32, %[[B:.+]]: f32, %[[R:.+]]: f32):
// CHECK-NEXT: %[[BIASED:.+]] = arith.addf %[[V]], %[[B]] : f32
// CHECK: %[[ACTIVE:.+]] = arith.maximumf %[[BIASED]]
// CHECK-NEXT: arith.addf %[[ACTIVE]], %[[R]] : f32
// CHECK: kernel.store_frag %[[NEW]], %[[SUM]]
// CHECK: %[[S:.+]] = kernel.accumulate sum %[[NEW]]
// CHECK-NEXT: kernel.yield %[[NEW]], %[[S]]
// CHECK: %[[TOTAL:.+]] = kernel.row_combine %[[PASS1]]#1
// CHECK: %[[MEAN:.+]] = kernel.map %[[TOTAL]]
// CHECK: arith.divf
// CHECK: %[[PASS2:.+]]:2 = kernel.for_slices %[[PASS1]]#0 init
// CHECK: %[[CENTRED:.+]] = kernel.map %{{.+}}, %[[MEAN]]
// CHECK: arith.subf
// CHECK: %[[Q:.+]] = kernel.accumulate sumsq %[[CENTRED]]
// CHECK-NEXT: kernel.yield %[[CENTRED]], %[[Q]]
// CHECK: %[[SQUARES:.+]] = kernel.row_combine %[[PASS2]]#1
// CHECK: %[[SCALE:.+]] = kernel.map %[[SQUARES]]
// CHECK: math.rsqrt
// CHECK: kernel.for_slices %[[PASS2]]#0 :
// CHECK-DAG: %[[G:.+]] = kernel.load_colvec %[[GAMMA]]
// CHECK-DAG: %[[BT:.+]] = kernel.load_colvec %[[BETA]]
// CHECK: kernel.map %{{.+}}, %[[SCALE]], %[[G]], %[[BT]]
// CHECK-NEXT: ^bb0(%[[V:.+]]: f32, %[[R:.+]]: f32, %[[G:.+]]: f32, %[[B:.+]]: f32):
// CHECK-NEXT: %[[E:.+]] = arith.mulf %[[V]], %[[R]] : f32
// CHECK-NEXT: math.fma %[[E]], %[[G]], %[[B]] : f32
// CHECK: kernel.store_frag %{{.+}}, %[[Y]]

// -----

// Each step rounds where the op says so; a product that is rounded is no part of an
// fma, and an accumulator that is rounded is written back.
// CHECK-LABEL: func.func @roundings
func.func @roundings(%x: tensor<?x128xbf16>, %w: tensor<64x128xbf16>,
    %g: tensor<64xbf16>, %init: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x128xbf16>, tensor<64x128xbf16>)
      norm_weight(%g : tensor<64xbf16>) norm_bias(%g : tensor<64xbf16>)
      outs(%init : tensor<?x64xbf16>)
      {transpose_weight, post_norm = #flashnorm.norm<layer, eps = 1.0e-05>,
       roundings = #flashnorm.roundings<product = bf16, norm = f16, norm_weight = bf16>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 2], stages = 2>}
      -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
// CHECK: kernel.for_slices
// CHECK: %[[NEW:.+]] = kernel.map
// CHECK-NEXT: ^bb0(%[[V:.+]]: f32):
// CHECK-NEXT: %[[T:.+]] = arith.truncf %[[V]] : f32 to bf16
// CHECK-NEXT: arith.extf %[[T]] : bf16 to f32
// CHECK: %[[S:.+]] = kernel.accumulate sum %[[NEW]]
// CHECK-NEXT: kernel.yield %[[NEW]], %[[S]]
// CHECK: math.rsqrt
// CHECK: %[[N:.+]] = arith.mulf
// CHECK-NEXT: %[[T:.+]] = arith.truncf %[[N]] : f32 to f16
// CHECK-NEXT: %[[E:.+]] = arith.extf %[[T]] : f16 to f32
// CHECK-NEXT: %[[P:.+]] = arith.mulf %[[E]], %{{.+}} : f32
// CHECK-NEXT: %[[T:.+]] = arith.truncf %[[P]] : f32 to bf16
// CHECK-NEXT: %[[E:.+]] = arith.extf %[[T]] : bf16 to f32
// CHECK-NEXT: arith.addf %[[E]], %{{.+}} : f32

// -----

// In tensor memory the accumulator stays as it is: the mean is subtracted twice.
// CHECK-LABEL: func.func @wide_layer_tmem
func.func @wide_layer_tmem(%x: tensor<?x128xbf16>, %w: tensor<64x128xbf16>,
    %init: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x128xbf16>, tensor<64x128xbf16>)
      outs(%init : tensor<?x64xbf16>)
      {transpose_weight, post_norm = #flashnorm.norm<layer, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_100a", family = tcgen05,
                              tile = [128, 64, 64], warps = [1, 1], stages = 4>}
      -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
// CHECK: %[[ACC:.+]] = kernel.pipeline
// CHECK: kernel.for_slices %[[ACC]] init
// CHECK: kernel.for_slices %[[ACC]] init
// CHECK: arith.subf
// CHECK: kernel.for_slices %[[ACC]] :
// CHECK: arith.subf

// -----

// Rows at a distance: the layout says which, or that the launch does. A slice of
// columns becomes a view when it is bufferized.
// CHECK-LABEL: func.func @strided
func.func @strided(%x: memref<4x?x128xbf16, strided<[?, 384, 1], offset: ?>>,
    %w: memref<128x64xbf16, strided<[192, 1]>>, %r: memref<4x?x64xbf16, strided<[?, ?, ?], offset: ?>>,
    %y: memref<4x?x64xbf16>) {
  flashnorm.matmul
      ins(%x, %w : memref<4x?x128xbf16, strided<[?, 384, 1], offset: ?>>, memref<128x64xbf16, strided<[192, 1]>>)
      residual(%r : memref<4x?x64xbf16, strided<[?, ?, ?], offset: ?>>)
      outs(%y : memref<4x?x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
  return
}
// CHECK: kernel.func @gemm_64x128(%{{.+}}: memref<?x128xbf16, strided<[?, 1]>>, %{{.+}}: memref<128x64xbf16, strided<[192, 1]>>, %{{.+}}: memref<?x64xbf16, strided<[?, 1]>>, %{{.+}}: memref<?x64xbf16>,

// -----

// CHECK-LABEL: func.func @slices
func.func @slices(%qkv: tensor<?x384xbf16>, %w: tensor<128x64xbf16>,
    %init: tensor<?x64xbf16>) -> (tensor<?x64xbf16>, tensor<?x64xbf16>) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %qkv, %c0 : tensor<?x384xbf16>
  %x = tensor.extract_slice %qkv[0, 128] [%m, 128] [1, 1] : tensor<?x384xbf16> to tensor<?x128xbf16>
  // CHECK: flashnorm.launch @kernels::@[[STRIDED:.+]] ins
  %y = flashnorm.matmul ins(%x, %w : tensor<?x128xbf16>, tensor<128x64xbf16>)
      outs(%init : tensor<?x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
      -> tensor<?x64xbf16>
  // Of whole rows it is packed: another kernel.
  %all = tensor.empty(%m) : tensor<?x128xbf16>
  %rows = tensor.extract_slice %all[8, 0] [%m, 128] [1, 1] : tensor<?x128xbf16> to tensor<?x128xbf16>
  // CHECK: flashnorm.launch @kernels::@[[PACKED:.+]] ins
  %z = flashnorm.matmul ins(%rows, %w : tensor<?x128xbf16>, tensor<128x64xbf16>)
      outs(%init : tensor<?x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
      -> tensor<?x64xbf16>
  return %y, %z : tensor<?x64xbf16>, tensor<?x64xbf16>
}
// CHECK: kernel.func @[[STRIDED]](%{{.+}}: memref<?x128xbf16, strided<[?, 1]>>
// CHECK: kernel.func @[[PACKED]](%{{.+}}: memref<?x128xbf16>

// -----

// Lazy pre-norm: the squares of x's rows are summed beside the MMA, and its
// rows are scaled before the bias.
// CHECK-LABEL: func.func @lazy
func.func @lazy(%x: tensor<?x128xbf16>, %w: tensor<64x128xbf16>,
    %b: tensor<64xbf16>, %init: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x128xbf16>, tensor<64x128xbf16>)
      bias(%b : tensor<64xbf16>) outs(%init : tensor<?x64xbf16>)
      {transpose_weight, pre_norm = #flashnorm.norm<rms, eps = 1.0e-06>,
       plan = #flashnorm.plan<strategy = lazy_pre_norm, chip = "sm_100a", family = tcgen05,
                              tile = [128, 64, 64], warps = [1, 1], stages = 4>}
      -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
// CHECK: kernel.func @lazy_pre_norm_64x128
// CHECK: %[[P:.+]]:2 = kernel.pipeline
// CHECK: } consume {
// CHECK-NEXT: ^bb0(%{{.+}}: index, %[[A:.+]]: !kernel.smem<128x64xbf16>, %{{.+}}: !kernel.smem<64x64xbf16>, %{{.+}}: !kernel.acc<128x64>, %[[S:.+]]: !kernel.rowvec<128>):
// CHECK-NEXT: %[[D:.+]] = kernel.mma %[[A]]
// CHECK-NEXT: %[[T:.+]] = kernel.accumulate_tile sumsq %[[A]] into %[[S]]
// CHECK-NEXT: kernel.yield %[[D]], %[[T]]
// CHECK: %[[TOTAL:.+]] = kernel.row_combine %[[P]]#1 within_warp
// CHECK: %[[K:.+]] = arith.constant 1.280000e+02 : f32
// CHECK: %[[SCALE:.+]] = kernel.map %[[TOTAL]]
// CHECK: arith.divf %{{.+}}, %[[K]] : f32
// CHECK: kernel.for_slices %[[P]]#0
// CHECK: kernel.map %{{.+}}, %[[SCALE]], %{{.+}} :
// CHECK-NEXT: ^bb0(%[[V:.+]]: f32, %[[R:.+]]: f32, %[[B:.+]]: f32):
// CHECK-NEXT: %[[SCALED:.+]] = arith.mulf %[[V]], %[[R]] : f32
// CHECK-NEXT: arith.addf %[[SCALED]], %[[B]] : f32

// -----

// Ops that differ in nothing but the number of rows share a kernel. The first
// adds its own input, the second does not: each operand has its own argument.
// CHECK-LABEL: func.func @shared
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x64xbf16>, %[[Z:[a-z0-9]+]]: tensor<7x64xbf16>, %[[RES:[a-z0-9]+]]: tensor<7x64xbf16>, %[[W:[a-z0-9]+]]: tensor<64x64xbf16>
// CHECK: flashnorm.launch @kernels::@gemm_64x64 ins(%[[X]], %[[W]], %[[X]] :
// CHECK: flashnorm.launch @kernels::@gemm_64x64 ins(%[[Z]], %[[W]], %[[RES]] :
func.func @shared(%x: tensor<?x64xbf16>, %z: tensor<7x64xbf16>,
    %res: tensor<7x64xbf16>, %w: tensor<64x64xbf16>, %i: tensor<?x64xbf16>,
    %j: tensor<7x64xbf16>) -> (tensor<?x64xbf16>, tensor<7x64xbf16>) {
  %y0 = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x64xbf16>)
      residual(%x : tensor<?x64xbf16>) outs(%i : tensor<?x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
      -> tensor<?x64xbf16>
  %y1 = flashnorm.matmul ins(%z, %w : tensor<7x64xbf16>, tensor<64x64xbf16>)
      residual(%res : tensor<7x64xbf16>) outs(%j : tensor<7x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
      -> tensor<7x64xbf16>
  return %y0, %y1 : tensor<?x64xbf16>, tensor<7x64xbf16>
}
// CHECK: kernel.func @gemm_64x64(%[[X:.+]]: memref<?x64xbf16>, %[[W:.+]]: memref<64x64xbf16>, %[[RES:.+]]: memref<?x64xbf16>, %{{.+}}: memref<?x64xbf16>, %{{.+}}: index)
// CHECK: kernel.load %[[X]]
// CHECK: kernel.load_frag %[[RES]]
// CHECK-NOT: kernel.func

// -----

// x as its own weight: the rows of one operand are dynamic, those of the other
// are not.
// CHECK-LABEL: func.func @self
func.func @self(%x: tensor<64x64xbf16>, %i: tensor<64x64xbf16>)
    -> tensor<64x64xbf16> {
  %y = flashnorm.matmul ins(%x, %x : tensor<64x64xbf16>, tensor<64x64xbf16>)
      outs(%i : tensor<64x64xbf16>)
      {transpose_weight,
       plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
      -> tensor<64x64xbf16>
  return %y : tensor<64x64xbf16>
}
// CHECK: kernel.func @gemm_64x64(%[[X:.+]]: memref<?x64xbf16>, %[[W:.+]]: memref<64x64xbf16>, %{{.+}}: memref<?x64xbf16>, %{{.+}}: index)
// CHECK: kernel.load %[[X]]
// CHECK: kernel.load %[[W]]

// -----

// Other sizes or another epilogue: another kernel. An op without a plan stays.
// CHECK-LABEL: func.func @not_shared
// CHECK: flashnorm.launch @kernels::@gemm_64x64 ins
// CHECK: flashnorm.launch @kernels::@gemm_64x64_0 ins
// CHECK: flashnorm.matmul
func.func @not_shared(%x: memref<?x64xbf16>, %w: memref<64x64xbf16>,
                      %y: memref<?x64xbf16>) {
  flashnorm.matmul ins(%x, %w : memref<?x64xbf16>, memref<64x64xbf16>)
      outs(%y : memref<?x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
  flashnorm.matmul ins(%x, %w : memref<?x64xbf16>, memref<64x64xbf16>)
      outs(%y : memref<?x64xbf16>)
      {activation = #flashnorm.activation<relu>,
       plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
  flashnorm.matmul ins(%x, %w : memref<?x64xbf16>, memref<64x64xbf16>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

// The residual may be the output, and views that do not overlap share a buffer.
// CHECK-LABEL: func.func @in_place
// CHECK-COUNT-2: flashnorm.launch
func.func @in_place(%x: memref<32x64xbf16, #gpu.address_space<global>>,
                    %w: memref<64x64xbf16, 1>, %y: memref<32x64xbf16>,
                    %buffer: memref<65536xi8>) {
  flashnorm.matmul
      ins(%x, %w : memref<32x64xbf16, #gpu.address_space<global>>, memref<64x64xbf16, 1>)
      residual(%y : memref<32x64xbf16>) outs(%y : memref<32x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
  %c0 = arith.constant 0 : index
  %c4096 = arith.constant 4096 : index
  %a = memref.view %buffer[%c0][] : memref<65536xi8> to memref<32x64xbf16>
  %b = memref.view %buffer[%c4096][] : memref<65536xi8> to memref<32x64xbf16>
  flashnorm.matmul
      ins(%a, %w : memref<32x64xbf16>, memref<64x64xbf16, 1>)
      outs(%b : memref<32x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
  return
}
