// RUN: flashnorm-opt %s --flashnorm-raise-norms --canonicalize --cse | FileCheck %s
// RUN: flashnorm-opt %models/llama_block.mlir --linalg-fuse-elementwise-ops \
// RUN:   --linalg-fold-unit-extent-dims --flashnorm-raise-norms | FileCheck %s --check-prefix=LLAMA --implicit-check-not=rsqrt
// RUN: flashnorm-opt %models/rec_tower.mlir --linalg-fuse-elementwise-ops \
// RUN:   --flashnorm-raise-norms | FileCheck %s --check-prefix=TOWER --implicit-check-not=rsqrt

// LLAMA-COUNT-2: flashnorm.rms_norm ins(%{{.+}} : tensor<?x256xbf16>) weight(%{{.+}} : tensor<256xbf16>) outs(%{{.+}} : tensor<?x256xbf16>) {cast = #flashnorm.cast_position<before_affine>, eps = 1.000000e-05 : f64}
// LLAMA-NOT:     flashnorm.rms_norm

// TOWER:      flashnorm.layer_norm ins(%{{.+}} : tensor<?x128xbf16>)
// TOWER:      flashnorm.rms_norm ins(%{{.+}} : tensor<?x128xbf16>)
// TOWER:      flashnorm.layer_norm ins(%{{.+}} : tensor<?x256xbf16>)
// TOWER:      flashnorm.rms_norm ins(%{{.+}} : tensor<?x256xbf16>)
// TOWER:      flashnorm.layer_norm ins(%{{.+}} : tensor<?x512xbf16>)
// TOWER:      flashnorm.rms_norm ins(%{{.+}} : tensor<?x512xbf16>)
// TOWER-NOT:  flashnorm

#id2 = affine_map<(d0, d1) -> (d0, d1)>
#row2 = affine_map<(d0, d1) -> (d0)>
#col2 = affine_map<(d0, d1) -> (d1)>

// x is f32 but holds bf16 values, because the cast back was fused into its
// producer; the result likewise. The norm works on bf16, and casts move out.
// CHECK-LABEL: func @rounded_f32(
// CHECK:         %[[X:.+]] = linalg.generic {{.*}} ins(%{{.+}} : tensor<8x64xf32>) outs(%{{.+}} : tensor<8x64xbf16>)
// CHECK:           arith.truncf
// CHECK-NEXT:      linalg.yield
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm ins(%[[X]] : tensor<8x64xbf16>) outs(%{{.+}} : tensor<8x64xbf16>)
// CHECK:         %[[WIDE:.+]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<8x64xbf16>) outs(%{{.+}} : tensor<8x64xf32>)
// CHECK:           arith.extf
// CHECK:         return %[[WIDE]]
func.func @rounded_f32(%a: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 1.0e-05 : f32
  %e = tensor.empty() : tensor<8x64xf32>
  %x = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.truncf %in : f32 to bf16
    %1 = arith.extf %0 : bf16 to f32
    linalg.yield %1 : f32
  } -> tensor<8x64xf32>
  %sum = linalg.generic {indexing_maps = [#id2, #row2], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.addf %0, %out : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id2, #row2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<8x64xf32>, tensor<8xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.divf %in_0, %n : f32
    %1 = arith.addf %0, %eps : f32
    %2 = math.rsqrt %1 : f32
    %3 = arith.mulf %in, %2 : f32
    %4 = arith.truncf %3 : f32 to bf16
    %5 = arith.extf %4 : bf16 to f32
    linalg.yield %5 : f32
  } -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The norm ends in the middle of a body: a residual is added after it, as in
// Gemma. It becomes an input of the rest.
// CHECK-LABEL: func @residual_after(
// CHECK-SAME:    %[[X:.+]]: tensor<8x64xbf16>, %[[R:.+]]: tensor<8x64xbf16>, %[[W:.+]]: tensor<64xbf16>)
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm ins(%[[X]] : tensor<8x64xbf16>) weight(%[[W]] : tensor<64xbf16>)
// CHECK:         linalg.generic {{.*}} ins(%[[R]], %[[Y]] : tensor<8x64xbf16>, tensor<8x64xbf16>)
// CHECK-NEXT:    ^bb0(%[[RE:.+]]: bf16, %[[YE:.+]]: bf16, %{{.+}}: bf16):
// CHECK-NEXT:      %[[S:.+]] = arith.addf %[[RE]], %[[YE]]
// CHECK-NEXT:      linalg.yield %[[S]]
func.func @residual_after(%x: tensor<8x64xbf16>, %res: tensor<8x64xbf16>, %w: tensor<64xbf16>) -> tensor<8x64xbf16> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 1.0e-05 : f32
  %e = tensor.empty() : tensor<8x64xbf16>
  %sum = linalg.generic {indexing_maps = [#id2, #row2], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x64xbf16>) outs(%zero : tensor<8xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    %1 = arith.mulf %0, %0 : f32
    %2 = arith.addf %1, %out : f32
    linalg.yield %2 : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id2, #id2, #row2, #col2, #id2], iterator_types = ["parallel", "parallel"]} ins(%res, %x, %sum, %w : tensor<8x64xbf16>, tensor<8x64xbf16>, tensor<8xf32>, tensor<64xbf16>) outs(%e : tensor<8x64xbf16>) {
  ^bb0(%r: bf16, %in: bf16, %in_0: f32, %in_1: bf16, %out: bf16):
    %0 = arith.divf %in_0, %n : f32
    %1 = arith.addf %0, %eps : f32
    %2 = math.rsqrt %1 : f32
    %3 = arith.extf %in : bf16 to f32
    %4 = arith.mulf %3, %2 : f32
    %5 = arith.extf %in_1 : bf16 to f32
    %6 = arith.mulf %4, %5 : f32
    %7 = arith.truncf %6 : f32 to bf16
    %8 = arith.addf %r, %7 : bf16
    linalg.yield %8 : bf16
  } -> tensor<8x64xbf16>
  return %y : tensor<8x64xbf16>
}

// QK-norm: a transpose of heads has been fused into the last body.
// CHECK-LABEL: func @transposed_result(
// CHECK-SAME:    %[[X:.+]]: tensor<1x?x4x64xbf16>, %[[W:.+]]: tensor<64xbf16>
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm ins(%[[X]] : tensor<1x?x4x64xbf16>) weight(%[[W]] : tensor<64xbf16>)
// CHECK-SAME:      -> tensor<1x?x4x64xbf16>
// CHECK:         linalg.generic {{.*}} ins(%[[Y]] : tensor<1x?x4x64xbf16>) outs(%{{.+}} : tensor<1x4x?x64xbf16>)
func.func @transposed_result(%x: tensor<1x?x4x64xbf16>, %w: tensor<64xbf16>, %t: index) -> tensor<1x4x?x64xbf16> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 1.0e-06 : f32
  %s = tensor.empty(%t) : tensor<?x4xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%s : tensor<?x4xf32>) -> tensor<?x4xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<1x?x4x64xbf16>) outs(%fill : tensor<?x4xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    %1 = arith.mulf %0, %0 : f32
    %2 = arith.addf %1, %out : f32
    linalg.yield %2 : f32
  } -> tensor<?x4xf32>
  %e = tensor.empty(%t) : tensor<1x4x?x64xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %sum, %w : tensor<1x?x4x64xbf16>, tensor<?x4xf32>, tensor<64xbf16>) outs(%e : tensor<1x4x?x64xbf16>) {
  ^bb0(%in: bf16, %in_0: f32, %in_1: bf16, %out: bf16):
    %0 = arith.divf %in_0, %n : f32
    %1 = arith.addf %0, %eps : f32
    %2 = math.rsqrt %1 : f32
    %3 = arith.extf %in : bf16 to f32
    %4 = arith.mulf %3, %2 : f32
    %5 = arith.truncf %4 : f32 to bf16
    %6 = arith.mulf %5, %in_1 : bf16
    linalg.yield %6 : bf16
  } -> tensor<1x4x?x64xbf16>
  return %y : tensor<1x4x?x64xbf16>
}

// The body of a contraction has taken in the norm of its left operand.
// CHECK-LABEL: func @in_contraction(
// CHECK-SAME:    %[[X:.+]]: tensor<8x64xf32>, %[[M:.+]]: tensor<64x16xf32>)
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm ins(%[[X]] : tensor<8x64xf32>)
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[M]], %[[Y]] : tensor<64x16xf32>, tensor<8x64xf32>)
// CHECK-NOT:     rsqrt
// CHECK:         return
func.func @in_contraction(%x: tensor<8x64xf32>, %m: tensor<64x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %acc = arith.constant dense<0.0> : tensor<8x16xf32>
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 1.0e-06 : f32
  %sum = linalg.generic {indexing_maps = [#id2, #row2], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.addf %0, %out : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %sum, %m : tensor<8x64xf32>, tensor<8xf32>, tensor<64x16xf32>) outs(%acc : tensor<8x16xf32>) {
  ^bb0(%in: f32, %in_0: f32, %in_1: f32, %out: f32):
    %0 = arith.divf %in_0, %n : f32
    %1 = arith.addf %0, %eps : f32
    %2 = math.rsqrt %1 : f32
    %3 = arith.mulf %in, %2 : f32
    %4 = arith.mulf %3, %in_1 : f32
    %5 = arith.addf %out, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// Two results of one body: the norm, and something else of the same row.
// CHECK-LABEL: func @two_results(
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm ins(%[[X:.+]] : tensor<8x64xf32>)
// CHECK:         %[[Z:.+]]:2 = linalg.generic
// CHECK-NOT:       rsqrt
// CHECK:           math.exp
// CHECK:         return %[[Y]], %[[Z]]#1
func.func @two_results(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 1.0e-06 : f32
  %e = tensor.empty() : tensor<8x64xf32>
  %sum = linalg.generic {indexing_maps = [#id2, #row2], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.addf %0, %out : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %y:2 = linalg.generic {indexing_maps = [#id2, #row2, #id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<8x64xf32>, tensor<8xf32>) outs(%e, %e : tensor<8x64xf32>, tensor<8x64xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32, %out_0: f32):
    %0 = arith.divf %in_0, %n : f32
    %1 = arith.addf %0, %eps : f32
    %2 = math.rsqrt %1 : f32
    %3 = arith.mulf %in, %2 : f32
    %4 = math.exp %in : f32
    linalg.yield %3, %4 : f32, f32
  } -> (tensor<8x64xf32>, tensor<8x64xf32>)
  return %y#0, %y#1 : tensor<8x64xf32>, tensor<8x64xf32>
}
