// Every float becomes f64; casts between floats vanish.
// RUN: flashnorm-opt %s --flashnorm-promote-to-f64 | FileCheck %s
// RUN: flashnorm-opt %models/llama_block.mlir --flashnorm-promote-to-f64 | FileCheck %s --check-prefix=NOFLOATS --implicit-check-not=f32 --implicit-check-not=bf16
// RUN: flashnorm-opt %models/rec_tower.mlir --flashnorm-promote-to-f64 | FileCheck %s --check-prefix=NOFLOATS --implicit-check-not=f32 --implicit-check-not=bf16

// NOFLOATS: func.func {{.*}} -> tensor<{{.*}}xf64>

// A constant keeps its value exactly, as its own type had rounded it: 0.1 in
// bf16 is 0.10009765625.
// CHECK-LABEL: func.func @constants() -> (f64, f64, f64, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xi32>)
// CHECK-DAG: arith.constant 0.10009765625 : f64
// CHECK-DAG: arith.constant -3.3895313892515355E+38 : f64
// CHECK-DAG: arith.constant 0xFFF0000000000000 : f64
// CHECK-DAG: arith.constant dense<1.000000e+00> : tensor<2xf64>
// CHECK-DAG: arith.constant dense<[5.000000e-01, 6.550400e+04]> : tensor<2xf64>
// CHECK-DAG: arith.constant dense<[1.000000e+00, -2.000000e+00]> : tensor<2xf64>
// CHECK-DAG: arith.constant dense<[1, 2]> : tensor<2xi32>
func.func @constants() -> (bf16, bf16, f32, tensor<2xbf16>, tensor<2xf16>, tensor<2xf32>, tensor<2xi32>) {
  %tenth = arith.constant 0.1 : bf16
  %mask = arith.constant -3.389530e+38 : bf16
  %infinity = arith.constant 0xFF800000 : f32
  %splat = arith.constant dense<1.0> : tensor<2xbf16>
  %dense = arith.constant dense<[0.5, 65504.0]> : tensor<2xf16>
  %resource = arith.constant dense_resource<one_minus_two> : tensor<2xf32>
  %ints = arith.constant dense<[1, 2]> : tensor<2xi32>
  return %tenth, %mask, %infinity, %splat, %dense, %resource, %ints : bf16, bf16, f32, tensor<2xbf16>, tensor<2xf16>, tensor<2xf32>, tensor<2xi32>
}

// CHECK-LABEL: func.func @casts
// CHECK-SAME: (%[[X:.*]]: f64, %[[N:.*]]: i32) -> (f64, f64, i32)
// CHECK-NEXT: %[[I:.*]] = arith.sitofp %[[N]] : i32 to f64
// CHECK-NEXT: %[[T:.*]] = arith.fptosi %[[X]] : f64 to i32
// CHECK-NEXT: return %[[X]], %[[I]], %[[T]]
func.func @casts(%x: f32, %n: i32) -> (f64, f32, i32) {
  %narrow = arith.truncf %x : f32 to bf16
  %wide = arith.extf %narrow : bf16 to f64
  %i = arith.sitofp %n : i32 to f32
  %t = arith.fptosi %x : f32 to i32
  return %wide, %i, %t : f64, f32, i32
}

// The body of a named op is promoted with it.
// CHECK-LABEL: func.func @named_ops
// CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<?x8xf64>, tensor<8x4xf64>) outs(%{{.*}} : tensor<?x4xf64>)
// CHECK: linalg.generic
// CHECK-NEXT: ^bb0(%[[IN:.*]]: f64, %{{.*}}: f64):
// CHECK-NEXT: linalg.yield %[[IN]] : f64
func.func @named_ops(%x: tensor<?x8xbf16>, %w: tensor<8x4xbf16>, %acc: tensor<?x4xf32>, %init: tensor<?x4xbf16>) -> tensor<?x4xbf16> {
  %y = linalg.matmul ins(%x, %w : tensor<?x8xbf16>, tensor<8x4xbf16>) outs(%acc : tensor<?x4xf32>) -> tensor<?x4xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x4xf32>) outs(%init : tensor<?x4xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %t = arith.truncf %in : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<?x4xbf16>
  return %z : tensor<?x4xbf16>
}

// Control flow, calls and blocks.
// CHECK-LABEL: func.func private @callee(%{{.*}}: tensor<4xf64>) -> tensor<4xf64>
// CHECK-LABEL: func.func @control
// CHECK: scf.for {{.*}} -> (tensor<4xf64>)
// CHECK: func.call @callee(%{{.*}}) : (tensor<4xf64>) -> tensor<4xf64>
// CHECK: cf.br ^[[BB:.*]](%{{.*}} : tensor<4xf64>)
// CHECK: ^[[BB]](%{{.*}}: tensor<4xf64>):
func.func private @callee(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  return %x : tensor<4xbf16>
}
func.func @control(%x: tensor<4xbf16>, %n: index) -> tensor<4xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> tensor<4xbf16> {
    %z = func.call @callee(%v) : (tensor<4xbf16>) -> tensor<4xbf16>
    scf.yield %z : tensor<4xbf16>
  }
  cf.br ^exit(%y : tensor<4xbf16>)
^exit(%r: tensor<4xbf16>):
  return %r : tensor<4xbf16>
}

// CHECK-LABEL: func.func @flashnorm
// CHECK: flashnorm.layer_norm ins(%{{.*}} : tensor<?x4xf64>) outs(%{{.*}} : tensor<?x4xf64>, tensor<?xf64>, tensor<?xf64>)
func.func @flashnorm(%x: tensor<?x4xbf16>, %init: tensor<?x4xbf16>, %s: tensor<?xf32>) -> tensor<?xf32> {
  %y:3 = flashnorm.layer_norm ins(%x : tensor<?x4xbf16>) outs(%init, %s, %s : tensor<?x4xbf16>, tensor<?xf32>, tensor<?xf32>) {eps = 1.0e-5 : f64} -> tensor<?x4xbf16>, tensor<?xf32>, tensor<?xf32>
  return %y#1 : tensor<?xf32>
}

// What has no float stays as it is, whatever dialect it is of.
// CHECK-LABEL: func.func @no_floats
// CHECK: memref.alloc() : memref<4xi32>
func.func @no_floats() {
  %m = memref.alloc() : memref<4xi32>
  memref.dealloc %m : memref<4xi32>
  return
}

// What a matmul rounds in between is a rounding, too; a clamp is not.
// CHECK-LABEL: func.func @roundings
// CHECK: flashnorm.matmul {{.*}} outs(%{{.*}} : tensor<8x16xf64>) {saturate = f16} -> tensor<8x16xf64>
func.func @roundings(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %init: tensor<8x16xf8E5M2>) -> tensor<8x16xf8E5M2> {
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) outs(%init : tensor<8x16xf8E5M2>) {roundings = #flashnorm.roundings<product = bf16>, saturate = f16} -> tensor<8x16xf8E5M2>
  return %y : tensor<8x16xf8E5M2>
}

{-#
  dialect_resources: {
    builtin: {
      one_minus_two: "0x040000000000803F000000C0"
    }
  }
#-}
