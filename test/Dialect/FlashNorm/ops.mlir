// Every form of every op survives printing, parsing and bytecode.
// RUN: flashnorm-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @rms_norm
// CHECK: flashnorm.rms_norm ins(%{{.*}} : tensor<?x256xbf16>) outs(%{{.*}} : tensor<?x256xbf16>) {eps = 9.9999999999999995E-7 : f64} -> tensor<?x256xbf16>
func.func @rms_norm(%x: tensor<?x256xbf16>, %init: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %y = flashnorm.rms_norm ins(%x : tensor<?x256xbf16>)
         outs(%init : tensor<?x256xbf16>) {eps = 1.0e-6 : f64} -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// The default cast position is not printed, the other one is.
// CHECK-LABEL: func.func @rms_norm_statistics
// CHECK: flashnorm.rms_norm {{.*}} weight(%{{.*}} : tensor<256xf32>) {{.*}} {cast = #flashnorm.cast_position<before_affine>, eps
// CHECK-NOT: cast =
func.func @rms_norm_statistics(%x: tensor<2x?x256xf16>, %w: tensor<256xf32>, %init: tensor<2x?x256xbf16>, %rstd: tensor<2x?xf32>) -> (tensor<2x?x256xbf16>, tensor<2x?xf32>) {
  %y:2 = flashnorm.rms_norm ins(%x : tensor<2x?x256xf16>) weight(%w : tensor<256xf32>)
           outs(%init, %rstd : tensor<2x?x256xbf16>, tensor<2x?xf32>)
           {eps = 1.0e-6 : f64, cast = #flashnorm.cast_position<before_affine>}
           -> tensor<2x?x256xbf16>, tensor<2x?xf32>
  %z:2 = flashnorm.rms_norm ins(%x : tensor<2x?x256xf16>) weight(%w : tensor<256xf32>)
           outs(%y#0, %rstd : tensor<2x?x256xbf16>, tensor<2x?xf32>)
           {eps = 1.0e-6 : f64, cast = #flashnorm.cast_position<after_affine>}
           -> tensor<2x?x256xbf16>, tensor<2x?xf32>
  return %z#0, %z#1 : tensor<2x?x256xbf16>, tensor<2x?xf32>
}

// A vector has one row; its statistics are scalars.
// CHECK-LABEL: func.func @layer_norm_vector
// CHECK: flashnorm.layer_norm ins(%{{.*}} : tensor<256xf64>) weight(%{{.*}} : tensor<256xf64>) bias(%{{.*}} : tensor<256xf64>)
func.func @layer_norm_vector(%x: tensor<256xf64>, %w: tensor<256xf64>, %init: tensor<256xf64>, %stat: tensor<f64>) -> (tensor<256xf64>, tensor<f64>, tensor<f64>) {
  %y:3 = flashnorm.layer_norm ins(%x : tensor<256xf64>) weight(%w : tensor<256xf64>) bias(%w : tensor<256xf64>)
           outs(%init, %stat, %stat : tensor<256xf64>, tensor<f64>, tensor<f64>)
           {eps = 0.0 : f64} -> tensor<256xf64>, tensor<f64>, tensor<f64>
  return %y#0, %y#1, %y#2 : tensor<256xf64>, tensor<f64>, tensor<f64>
}

// CHECK-LABEL: func.func @matmul_plain
// CHECK: flashnorm.matmul ins(%{{.*}}, %{{.*}} : tensor<8x512xbf16>, tensor<512x256xbf16>) outs(%{{.*}} : tensor<8x256xf32>) -> tensor<8x256xf32>
func.func @matmul_plain(%x: tensor<8x512xbf16>, %w: tensor<512x256xbf16>, %init: tensor<8x256xf32>) -> tensor<8x256xf32> {
  %y = flashnorm.matmul ins(%x, %w : tensor<8x512xbf16>, tensor<512x256xbf16>)
         outs(%init : tensor<8x256xf32>) -> tensor<8x256xf32>
  return %y : tensor<8x256xf32>
}

// CHECK-LABEL: func.func @matmul_full
// CHECK: flashnorm.matmul
// CHECK-SAME: bias(
// CHECK-SAME: residual(
// CHECK-SAME: norm_weight(
// CHECK-SAME: norm_bias(
// CHECK-SAME: activation = #flashnorm.activation<silu>
// CHECK-SAME: plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma, tile = [128, 256, 64], warps = [2, 1], stages = 4>
// CHECK-SAME: post_norm = #flashnorm.norm<layer, eps = 1.000000e-05>
// CHECK-SAME: pre_norm = #flashnorm.norm<rms, eps = 1.000000e-05>
// CHECK-SAME: transpose_weight
func.func @matmul_full(%x: tensor<2x?x512xbf16>, %w: tensor<256x512xbf16>, %v: tensor<256xf32>, %r: tensor<2x?x256xbf16>, %init: tensor<2x?x256xbf16>) -> (tensor<2x?x256xbf16>, tensor<2x?x256xbf16>) {
  %y:2 = flashnorm.matmul ins(%x, %w : tensor<2x?x512xbf16>, tensor<256x512xbf16>)
           bias(%v : tensor<256xf32>) residual(%r : tensor<2x?x256xbf16>)
           norm_weight(%v : tensor<256xf32>) norm_bias(%v : tensor<256xf32>)
           outs(%init, %init : tensor<2x?x256xbf16>, tensor<2x?x256xbf16>)
           {transpose_weight, activation = #flashnorm.activation<silu>,
            pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
            post_norm = #flashnorm.norm<layer, eps = 1.0e-05>,
            plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma, tile = [128, 256, 64], warps = [2, 1], stages = 4>}
           -> tensor<2x?x256xbf16>, tensor<2x?x256xbf16>
  return %y#0, %y#1 : tensor<2x?x256xbf16>, tensor<2x?x256xbf16>
}

// Statistics by themselves, the matmuls that take and return them, and a layer
// pre-norm whose W is centred or comes with the sums of its columns.
// CHECK-LABEL: func.func @statistics
// CHECK: flashnorm.row_statistics ins(%{{.*}} : tensor<2x?x512xbf16>) outs(%{{.*}}, %{{.*}} : tensor<2x?xf32>, tensor<2x?xf32>) {norm = #flashnorm.norm<layer, eps = 1.000000e-05>} -> tensor<2x?xf32>, tensor<2x?xf32>
// CHECK: flashnorm.matmul ins({{.*}}) row_scale(%{{.*}} : tensor<2x?xf32>) bias({{.*}}) outs({{.*}}) {statistics = #flashnorm.norm<rms, eps = 1.000000e-05>, transpose_weight} -> tensor<2x?x256xbf16>, tensor<2x?xf32>
// CHECK: flashnorm.matmul ins({{.*}}) outs({{.*}}) {pre_norm = #flashnorm.norm<layer, eps = 1.000000e-05>, transpose_weight} -> tensor<2x?x256xbf16>
// CHECK: flashnorm.matmul ins({{.*}}) column_sums(%{{.*}} : tensor<256xf32>) outs({{.*}}) {pre_norm = #flashnorm.norm<layer, eps = 1.000000e-05>, transpose_weight}
func.func @statistics(%x: tensor<2x?x512xbf16>, %w: tensor<256x512xbf16>, %v: tensor<256xf32>, %init: tensor<2x?x256xbf16>, %rows: tensor<2x?xf32>) -> (tensor<2x?x256xbf16>, tensor<2x?xf32>, tensor<2x?xf32>, tensor<2x?x256xbf16>, tensor<2x?x256xbf16>) {
  %s:2 = flashnorm.row_statistics ins(%x : tensor<2x?x512xbf16>) outs(%rows, %rows : tensor<2x?xf32>, tensor<2x?xf32>) {norm = #flashnorm.norm<layer, eps = 1.0e-05>} -> tensor<2x?xf32>, tensor<2x?xf32>
  %a:2 = flashnorm.matmul ins(%x, %w : tensor<2x?x512xbf16>, tensor<256x512xbf16>) row_scale(%s#1 : tensor<2x?xf32>) bias(%v : tensor<256xf32>)
      outs(%init, %rows : tensor<2x?x256xbf16>, tensor<2x?xf32>) {transpose_weight, statistics = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<2x?x256xbf16>, tensor<2x?xf32>
  %b = flashnorm.matmul ins(%x, %w : tensor<2x?x512xbf16>, tensor<256x512xbf16>) outs(%init : tensor<2x?x256xbf16>) {transpose_weight, pre_norm = #flashnorm.norm<layer, eps = 1.0e-05>} -> tensor<2x?x256xbf16>
  %c = flashnorm.matmul ins(%x, %w : tensor<2x?x512xbf16>, tensor<256x512xbf16>) column_sums(%v : tensor<256xf32>) outs(%init : tensor<2x?x256xbf16>) {transpose_weight, pre_norm = #flashnorm.norm<layer, eps = 1.0e-05>} -> tensor<2x?x256xbf16>
  return %a#0, %a#1, %s#0, %b, %c : tensor<2x?x256xbf16>, tensor<2x?xf32>, tensor<2x?xf32>, tensor<2x?x256xbf16>, tensor<2x?x256xbf16>
}

// No rows at all is fine.
// CHECK-LABEL: func.func @no_rows
// CHECK: flashnorm.rms_norm
func.func @no_rows(%x: tensor<0x256xf32>, %init: tensor<0x256xf32>) -> tensor<0x256xf32> {
  %y = flashnorm.rms_norm ins(%x : tensor<0x256xf32>) outs(%init : tensor<0x256xf32>) {eps = 1.0e-6 : f64} -> tensor<0x256xf32>
  return %y : tensor<0x256xf32>
}

// Memrefs of any layout and rank; nothing is returned.
// CHECK-LABEL: func.func @memrefs
// CHECK: flashnorm.layer_norm ins({{.*}}) outs({{.*}}) {eps = 1.000000e-05 : f64}{{$}}
// CHECK: flashnorm.matmul ins({{.*}}) outs({{.*}} : memref<?x16xbf16>){{$}}
// CHECK: flashnorm.rms_norm
func.func @memrefs(%x: memref<?x32xbf16, strided<[?, 1], offset: ?>>, %w: memref<32x16xbf16, affine_map<(d0, d1) -> (d1, d0)>>, %z: memref<?x16xbf16>, %deep: memref<1x1x1x1x1x1x1x8xf16, 3>, %xs: memref<?x32xbf16, strided<[?, 1], offset: ?>>, %deeps: memref<1x1x1x1x1x1x1x8xf16, 3>) {
  flashnorm.layer_norm ins(%x : memref<?x32xbf16, strided<[?, 1], offset: ?>>) outs(%xs : memref<?x32xbf16, strided<[?, 1], offset: ?>>) {eps = 1.0e-5 : f64}
  flashnorm.matmul ins(%x, %w : memref<?x32xbf16, strided<[?, 1], offset: ?>>, memref<32x16xbf16, affine_map<(d0, d1) -> (d1, d0)>>) outs(%z : memref<?x16xbf16>)
  flashnorm.rms_norm ins(%deep : memref<1x1x1x1x1x1x1x8xf16, 3>) outs(%deeps : memref<1x1x1x1x1x1x1x8xf16, 3>) {eps = 1.0e-5 : f64}
  return
}

// CHECK-LABEL: func.func @launch
// CHECK: flashnorm.launch @kernels::@gemm ins(%{{.*}} : tensor<?x512xbf16>) outs(%{{.*}} : tensor<?x256xbf16>) -> tensor<?x256xbf16>
// CHECK: flashnorm.launch @kernels::@fill outs(%{{.*}} : tensor<?x256xbf16>) -> tensor<?x256xbf16>
func.func @launch(%x: tensor<?x512xbf16>, %init: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %y = flashnorm.launch @kernels::@gemm ins(%x : tensor<?x512xbf16>) outs(%init : tensor<?x256xbf16>) -> tensor<?x256xbf16>
  %z = flashnorm.launch @kernels::@fill outs(%y : tensor<?x256xbf16>) -> tensor<?x256xbf16>
  return %z : tensor<?x256xbf16>
}

// CHECK-LABEL: func.func @frozen(%{{.*}}: tensor<256xbf16> {flashnorm.frozen})
func.func @frozen(%w: tensor<256xbf16> {flashnorm.frozen}) { return }

// Roundings behind each of the steps.
// CHECK-LABEL: func.func @roundings
// CHECK: flashnorm.matmul {{.*}} roundings = #flashnorm.roundings<product = bf16, bias = f16, activation = bf16, residual = bf16, norm = bf16, norm_weight = bf16, norm_bias = bf16>
func.func @roundings(%x: tensor<?x32xbf16>, %w: tensor<32x16xbf16>, %b: tensor<16xbf16>, %r: tensor<?x16xbf16>, %init: tensor<?x16xbf16>) -> tensor<?x16xbf16> {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x32xbf16>, tensor<32x16xbf16>) bias(%b : tensor<16xbf16>) residual(%r : tensor<?x16xbf16>) norm_weight(%b : tensor<16xbf16>) norm_bias(%b : tensor<16xbf16>) outs(%init : tensor<?x16xbf16>) {activation = #flashnorm.activation<gelu>, post_norm = #flashnorm.norm<layer, eps = 1.0e-5>, roundings = #flashnorm.roundings<product = bf16, bias = f16, activation = bf16, residual = bf16, norm = bf16, norm_weight = bf16, norm_bias = bf16>} -> tensor<?x16xbf16>
  return %y : tensor<?x16xbf16>
}

// Gates and values in one weight, in each layout, with what else there is of 2J or J
// columns.
// CHECK-LABEL: func.func @glu
// CHECK: glu = #flashnorm.glu<gate_first>, post_norm = {{.*}}, roundings = #flashnorm.roundings<glu = bf16>
// CHECK: glu = #flashnorm.glu<value_first>
// CHECK: glu = #flashnorm.glu<interleaved>
func.func @glu(%x: tensor<2x?x32xbf16>, %w: tensor<32x32xbf16>, %b: tensor<32xf32>, %g: tensor<16xf32>, %r: tensor<2x?x16xbf16>, %init: tensor<2x?x16xbf16>) -> (tensor<2x?x16xbf16>, tensor<2x?x16xbf16>) {
  %y = flashnorm.matmul ins(%x, %w : tensor<2x?x32xbf16>, tensor<32x32xbf16>) bias(%b : tensor<32xf32>) residual(%r : tensor<2x?x16xbf16>) norm_weight(%g : tensor<16xf32>) outs(%init : tensor<2x?x16xbf16>) {activation = #flashnorm.activation<silu>, glu = #flashnorm.glu<gate_first>, post_norm = #flashnorm.norm<rms, eps = 1.0e-5>, roundings = #flashnorm.roundings<glu = bf16>} -> tensor<2x?x16xbf16>
  %z = flashnorm.matmul ins(%x, %w : tensor<2x?x32xbf16>, tensor<32x32xbf16>) column_sums(%b : tensor<32xf32>) outs(%init : tensor<2x?x16xbf16>) {glu = #flashnorm.glu<value_first>, pre_norm = #flashnorm.norm<layer, eps = 1.0e-5>} -> tensor<2x?x16xbf16>
  %v:2 = flashnorm.matmul ins(%x, %w : tensor<2x?x32xbf16>, tensor<32x32xbf16>) outs(%init, %init : tensor<2x?x16xbf16>, tensor<2x?x16xbf16>) {glu = #flashnorm.glu<interleaved>, transpose_weight} -> tensor<2x?x16xbf16>, tensor<2x?x16xbf16>
  return %z, %v#1 : tensor<2x?x16xbf16>, tensor<2x?x16xbf16>
}

// y in 8 bits, scaled and clamped; sum in 16.
// CHECK-LABEL: func.func @fp8
// CHECK: flashnorm.matmul {{.*}} output_scale(%{{.*}} : tensor<f32>) outs(%{{.*}} : tensor<?x16xf8E4M3FN>) {saturate = f8E4M3FN} -> tensor<?x16xf8E4M3FN>
// CHECK: flashnorm.matmul {{.*}} outs(%{{.*}}, %{{.*}} : tensor<?x16xf8E5M2>, tensor<?x16xbf16>)
// CHECK: flashnorm.matmul {{.*}} output_scale(%{{.*}} : memref<f32>) outs(%{{.*}} : memref<8x16xf8E5M2>)
func.func @fp8(%x: tensor<?x32xbf16>, %w: tensor<32x16xbf16>, %s: tensor<f32>, %init: tensor<?x16xf8E4M3FN>, %init2: tensor<?x16xf8E5M2>, %sum: tensor<?x16xbf16>, %mx: memref<8x32xbf16>, %mw: memref<32x16xbf16>, %ms: memref<f32>, %my: memref<8x16xf8E5M2>) -> (tensor<?x16xf8E4M3FN>, tensor<?x16xf8E5M2>) {
  %y = flashnorm.matmul ins(%x, %w : tensor<?x32xbf16>, tensor<32x16xbf16>) output_scale(%s : tensor<f32>) outs(%init : tensor<?x16xf8E4M3FN>) {saturate = f8E4M3FN} -> tensor<?x16xf8E4M3FN>
  %z:2 = flashnorm.matmul ins(%x, %w : tensor<?x32xbf16>, tensor<32x16xbf16>) outs(%init2, %sum : tensor<?x16xf8E5M2>, tensor<?x16xbf16>) {post_norm = #flashnorm.norm<rms, eps = 1.0e-5>} -> tensor<?x16xf8E5M2>, tensor<?x16xbf16>
  flashnorm.matmul ins(%mx, %mw : memref<8x32xbf16>, memref<32x16xbf16>) output_scale(%ms : memref<f32>) outs(%my : memref<8x16xf8E5M2>)
  return %y, %z#0 : tensor<?x16xf8E4M3FN>, tensor<?x16xf8E5M2>
}
