// f32 to fp8 and back on the CPU, which has neither: each number is the nearest, and
// what is beyond the range is NaN in f8E4M3FN and an infinity in f8E5M2.
// RUN: rm -rf %t && mkdir %t && %python %S/Inputs/fp8.py write %t/x.npy
// RUN: flashnorm-run %s --entry=e4m3 --device=cpu --compare=none --input=%t/x.npy --output=%t/e4m3
// RUN: flashnorm-run %s --entry=e5m2 --device=cpu --compare=none --input=%t/x.npy --output=%t/e5m2
// RUN: %python %S/Inputs/fp8.py check e4m3 %t/x.npy %t/e4m3/fused_0.npy | FileCheck %s
// RUN: %python %S/Inputs/fp8.py check e5m2 %t/x.npy %t/e5m2/fused_0.npy | FileCheck %s
// CHECK-NOT: became
// CHECK: 8192 numbers, 0 wrong
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @e4m3(%x: tensor<?x256xf32>) -> tensor<?x256xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x256xf32>
  %e = tensor.empty(%m) : tensor<?x256xf8E4M3FN>
  %f = tensor.empty(%m) : tensor<?x256xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x256xf32>) outs(%e : tensor<?x256xf8E4M3FN>) {
  ^bb0(%i: f32, %out: f8E4M3FN):
    %0 = arith.truncf %i : f32 to f8E4M3FN
    linalg.yield %0 : f8E4M3FN
  } -> tensor<?x256xf8E4M3FN>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x256xf8E4M3FN>) outs(%f : tensor<?x256xf32>) {
  ^bb0(%i: f8E4M3FN, %out: f32):
    %0 = arith.extf %i : f8E4M3FN to f32
    linalg.yield %0 : f32
  } -> tensor<?x256xf32>
  return %z : tensor<?x256xf32>
}
func.func @e5m2(%x: tensor<?x256xf32>) -> tensor<?x256xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x256xf32>
  %e = tensor.empty(%m) : tensor<?x256xf8E5M2>
  %f = tensor.empty(%m) : tensor<?x256xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x256xf32>) outs(%e : tensor<?x256xf8E5M2>) {
  ^bb0(%i: f32, %out: f8E5M2):
    %0 = arith.truncf %i : f32 to f8E5M2
    linalg.yield %0 : f8E5M2
  } -> tensor<?x256xf8E5M2>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x256xf8E5M2>) outs(%f : tensor<?x256xf32>) {
  ^bb0(%i: f8E5M2, %out: f32):
    %0 = arith.extf %i : f8E5M2 to f32
    linalg.yield %0 : f32
  } -> tensor<?x256xf32>
  return %z : tensor<?x256xf32>
}
