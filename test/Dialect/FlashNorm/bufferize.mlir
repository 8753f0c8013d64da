// One-shot bufferization turns each op into its memref form.
// RUN: flashnorm-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" --canonicalize --split-input-file | FileCheck %s

// An empty init becomes an allocation that the op writes; the results are it.
// CHECK-LABEL: func.func @norms
// CHECK-SAME: (%[[X:.*]]: memref<?x32xbf16>, %[[W:.*]]: memref<32xbf16>)
// CHECK-NOT: memref.copy
// CHECK: flashnorm.rms_norm ins(%[[X]] : memref<?x32xbf16>) weight(%[[W]] : memref<32xbf16>) outs(%[[A:.*]], %[[R:.*]] : memref<?x32xbf16>, memref<?xf32>) {cast = #flashnorm.cast_position<before_affine>, eps = 1.000000e-05 : f64, note = "kept"}{{$}}
// CHECK: flashnorm.layer_norm ins(%[[A]] : memref<?x32xbf16>) bias(%[[W]] : memref<32xbf16>) outs(%[[B:.*]] : memref<?x32xbf16>)
// CHECK: return %[[B]], %[[R]]
func.func @norms(%x: tensor<?x32xbf16>, %w: tensor<32xbf16>) -> (tensor<?x32xbf16>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x32xbf16>
  %empty = tensor.empty(%m) : tensor<?x32xbf16>
  %rows = tensor.empty(%m) : tensor<?xf32>
  %y:2 = flashnorm.rms_norm ins(%x : tensor<?x32xbf16>) weight(%w : tensor<32xbf16>)
           outs(%empty, %rows : tensor<?x32xbf16>, tensor<?xf32>)
           {eps = 1.0e-5 : f64, cast = #flashnorm.cast_position<before_affine>, note = "kept"} -> tensor<?x32xbf16>, tensor<?xf32>
  %z = flashnorm.layer_norm ins(%y#0 : tensor<?x32xbf16>) bias(%w : tensor<32xbf16>)
         outs(%empty : tensor<?x32xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x32xbf16>
  return %z, %y#1 : tensor<?x32xbf16>, tensor<?xf32>
}

// -----

// What a fill wrote is dead: the buffer is taken as it is.
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: (%[[X:.*]]: memref<8x32xbf16>, %[[W:.*]]: memref<16x32xbf16>, %[[D:.*]]: memref<8x16xbf16>)
// CHECK-NOT: memref.copy
// CHECK: flashnorm.matmul ins(%[[X]], %[[W]] : memref<8x32xbf16>, memref<16x32xbf16>) outs(%[[D]] : memref<8x16xbf16>) {pre_norm = #flashnorm.norm<rms, eps = 1.000000e-05>, transpose_weight}
// CHECK: return %[[D]]
func.func @matmul(%x: tensor<8x32xbf16>, %w: tensor<16x32xbf16>, %dest: tensor<8x16xbf16> {bufferization.writable = true}) -> tensor<8x16xbf16> {
  %zero = arith.constant 0.0 : bf16
  %filled = linalg.fill ins(%zero : bf16) outs(%dest : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<16x32xbf16>) outs(%filled : tensor<8x16xbf16>)
         {transpose_weight, pre_norm = #flashnorm.norm<rms, eps = 1.0e-5>} -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// A kernel reads whole rows while it writes: never into its own input.
// CHECK-LABEL: func.func @init_is_input
// CHECK-SAME: (%[[X:.*]]: memref<8x32xbf16>)
// CHECK: %[[A:.*]] = memref.alloc
// CHECK-NOT: memref.copy
// CHECK: flashnorm.rms_norm ins(%[[X]] : memref<8x32xbf16>) outs(%[[A]] : memref<8x32xbf16>)
// CHECK: return %[[A]]
func.func @init_is_input(%x: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %y = flashnorm.rms_norm ins(%x : tensor<8x32xbf16>) outs(%x : tensor<8x32xbf16>) {eps = 1.0e-5 : f64} -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// -----

// The init is read later: it is not overwritten.
// CHECK-LABEL: func.func @init_read_later
// CHECK-SAME: (%[[X:.*]]: memref<8x32xbf16>, %[[D:.*]]: memref<8x32xbf16>)
// CHECK: %[[A:.*]] = memref.alloc
// CHECK: flashnorm.rms_norm ins(%[[X]] : memref<8x32xbf16>) outs(%[[A]] : memref<8x32xbf16>)
// CHECK: return %[[A]], %[[D]]
func.func @init_read_later(%x: tensor<8x32xbf16>, %dest: tensor<8x32xbf16>) -> (tensor<8x32xbf16>, tensor<8x32xbf16>) {
  %y = flashnorm.rms_norm ins(%x : tensor<8x32xbf16>) outs(%dest : tensor<8x32xbf16>) {eps = 1.0e-5 : f64} -> tensor<8x32xbf16>
  return %y, %dest : tensor<8x32xbf16>, tensor<8x32xbf16>
}

// -----

// CHECK-LABEL: func.func @launch
// CHECK-SAME: (%[[X:.*]]: memref<?x512xbf16>, %[[D:.*]]: memref<?x256xbf16>)
// CHECK: flashnorm.launch @kernels::@gemm ins(%[[X]] : memref<?x512xbf16>) outs(%[[D]] : memref<?x256xbf16>){{$}}
// CHECK: return %[[D]]
func.func @launch(%x: tensor<?x512xbf16>, %dest: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %y = flashnorm.launch @kernels::@gemm ins(%x : tensor<?x512xbf16>) outs(%dest : tensor<?x256xbf16>) -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

// CHECK-LABEL: func.func @statistics
// CHECK: flashnorm.row_statistics ins(%{{.*}} : memref<?x32xbf16>) outs(%[[R:.*]] : memref<?xf32>) {norm = #flashnorm.norm<rms, eps = 1.000000e-05>}{{$}}
// CHECK: flashnorm.matmul ins({{.*}}) row_scale(%[[R]] : memref<?xf32>) outs(%{{.*}}, %{{.*}} : memref<?x32xbf16>, memref<?xf32>) {statistics = #flashnorm.norm<layer, eps = 1.000000e-05>}{{$}}
func.func @statistics(%x: tensor<?x32xbf16>, %w: tensor<32x32xbf16>) -> (tensor<?x32xbf16>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x32xbf16>
  %empty = tensor.empty(%m) : tensor<?x32xbf16>
  %rows = tensor.empty(%m) : tensor<?xf32>
  %r = flashnorm.row_statistics ins(%x : tensor<?x32xbf16>) outs(%rows : tensor<?xf32>) {norm = #flashnorm.norm<rms, eps = 1.0e-5>} -> tensor<?xf32>
  %y:2 = flashnorm.matmul ins(%x, %w : tensor<?x32xbf16>, tensor<32x32xbf16>) row_scale(%r : tensor<?xf32>)
         outs(%empty, %rows : tensor<?x32xbf16>, tensor<?xf32>) {statistics = #flashnorm.norm<layer, eps = 1.0e-5>} -> tensor<?x32xbf16>, tensor<?xf32>
  return %y#0, %y#1 : tensor<?x32xbf16>, tensor<?xf32>
}
