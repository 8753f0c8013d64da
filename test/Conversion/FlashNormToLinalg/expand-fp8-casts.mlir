// Casts to and from fp8 become arithmetic on bits; test/Integration/CPU/fp8-casts.test
// runs it on all values.
// RUN: flashnorm-opt %s --flashnorm-expand-fp8-casts --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @from_f16
// CHECK-SAME: %[[X:.*]]: f16
// CHECK: %[[W:.*]] = arith.extf %[[X]] : f16 to f32
// CHECK: arith.bitcast %[[W]] : f32 to i32
// CHECK: %[[B:.*]] = arith.trunci %{{.*}} : i32 to i8
// CHECK: %[[Y:.*]] = arith.bitcast %[[B]] : i8 to f8E4M3FN
// CHECK-NOT: arith.truncf
// CHECK: return %[[Y]]
func.func @from_f16(%x: f16) -> f8E4M3FN {
  %y = arith.truncf %x : f16 to f8E4M3FN
  return %y : f8E4M3FN
}

// CHECK-LABEL: func.func @to_bf16
// CHECK-SAME: %[[X:.*]]: f8E5M2
// CHECK: arith.bitcast %[[X]] : f8E5M2 to i8
// CHECK: %[[BITS:.*]] = arith.ori
// CHECK: %[[W:.*]] = arith.bitcast %[[BITS]] : i32 to f32
// CHECK: arith.truncf %[[W]] : f32 to bf16
func.func @to_bf16(%x: f8E5M2) -> bf16 {
  %y = arith.extf %x : f8E5M2 to bf16
  return %y : bf16
}

// Two roundings in a row, another mode, other formats and vectors stay.
// CHECK-LABEL: func.func @others
// CHECK: arith.truncf %{{.*}} : f64 to f8E5M2
// CHECK: arith.truncf %{{.*}} toward_zero : f32 to f8E5M2
// CHECK: arith.truncf %{{.*}} : f32 to f8E4M3FNUZ
// CHECK: arith.truncf %{{.*}} : vector<4xf32> to vector<4xf8E5M2>
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @others(%d: f64, %x: f32, %v: vector<4xf32>) -> (f8E5M2, f8E5M2, f8E4M3FNUZ, vector<4xf8E5M2>, bf16) {
  %a = arith.truncf %d : f64 to f8E5M2
  %b = arith.truncf %x toward_zero : f32 to f8E5M2
  %c = arith.truncf %x : f32 to f8E4M3FNUZ
  %e = arith.truncf %v : vector<4xf32> to vector<4xf8E5M2>
  %f = arith.truncf %x : f32 to bf16
  return %a, %b, %c, %e, %f : f8E5M2, f8E5M2, f8E4M3FNUZ, vector<4xf8E5M2>, bf16
}
