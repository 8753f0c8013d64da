// RUN: flashnorm-opt %s --flashnorm-raise-matmuls --split-input-file --verify-each | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-raise-matmuls --split-input-file --remarks-filter-passed=flashnorm-raise-matmuls -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// The plain case: [K,N], accumulator in f32, result used in f32.
// CHECK-LABEL: func @named
// CHECK-SAME: (%[[X:.*]]: tensor<?x64xbf16>, %[[W:.*]]: tensor<64x32xbf16>
// CHECK-NOT: linalg.
// CHECK: %[[Y:.*]] = flashnorm.matmul ins(%[[X]], %[[W]] : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%{{.*}} : tensor<?x32xf32>) -> tensor<?x32xf32>
// CHECK: return %[[Y]]
// REMARK: MatmulRaised{{.*}}M=? N=32 K=64, weight [K,N]
func.func @named(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%c : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// A transposed indexing map, and a result that is only used rounded.
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
// CHECK-LABEL: func @transposed_map_and_truncf
// CHECK-SAME: (%[[X:.*]]: tensor<8x64xf16>, %[[W:.*]]: tensor<32x64xf16>
// CHECK-NOT: linalg.
// CHECK: %[[Y:.*]] = flashnorm.matmul ins(%[[X]], %[[W]] : tensor<8x64xf16>, tensor<32x64xf16>) outs(%{{.*}} : tensor<8x32xf16>) {transpose_weight} -> tensor<8x32xf16>
// CHECK: return %[[Y]]
// REMARK: MatmulRaised{{.*}}M=8 N=32 K=64, weight [N,K]
func.func @transposed_map_and_truncf(%x: tensor<8x64xf16>, %w: tensor<32x64xf16>) -> tensor<8x32xf16> {
  %c = arith.constant dense<0.0> : tensor<8x32xf32>
  %y = linalg.matmul indexing_maps = [#a, #b, #c] ins(%x, %w : tensor<8x64xf16>, tensor<32x64xf16>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  %e = tensor.empty() : tensor<8x32xf16>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<8x32xf32>) outs(%e : tensor<8x32xf16>) {
  ^bb0(%in: f32, %out: f16):
    %v = arith.truncf %in : f32 to f16
    linalg.yield %v : f16
  } -> tensor<8x32xf16>
  return %t : tensor<8x32xf16>
}

// -----

// The rounded result is one of two uses: the matmul returns f32.
#id = affine_map<(m, n) -> (m, n)>
// CHECK-LABEL: func @truncf_and_another_use
// CHECK: %[[Y:.*]] = flashnorm.matmul {{.*}} -> tensor<8x32xf32>
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[Y]]
// CHECK: return %[[Y]], %[[T]]
func.func @truncf_and_another_use(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>) -> (tensor<8x32xf32>, tensor<8x32xbf16>) {
  %c = arith.constant dense<0.0> : tensor<8x32xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  %e = tensor.empty() : tensor<8x32xbf16>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<8x32xf32>) outs(%e : tensor<8x32xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %v = arith.truncf %in : f32 to bf16
    linalg.yield %v : bf16
  } -> tensor<8x32xbf16>
  return %y, %t : tensor<8x32xf32>, tensor<8x32xbf16>
}

// -----

// torch-mlir's addmm: x and the transposed weight are widened by ops of their
// own. The transpose disappears.
#id = affine_map<(m, n) -> (m, n)>
// CHECK-LABEL: func @widened_operands
// CHECK-SAME: (%[[X:.*]]: tensor<?x64xbf16>, %[[W:.*]]: tensor<32x64xbf16>
// CHECK-NOT: linalg.
// CHECK: flashnorm.matmul ins(%[[X]], %[[W]] : tensor<?x64xbf16>, tensor<32x64xbf16>) outs(%{{.*}} : tensor<?x32xf32>) {transpose_weight}
func.func @widened_operands(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %ex: tensor<?x64xf32>, %c: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %et = tensor.empty() : tensor<64x32xbf16>
  %t = linalg.transpose ins(%w : tensor<32x64xbf16>) outs(%et : tensor<64x32xbf16>) permutation = [1, 0]
  %x32 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x64xbf16>) outs(%ex : tensor<?x64xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %v = arith.extf %in : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<?x64xf32>
  %ew = tensor.empty() : tensor<64x32xf32>
  %w32 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%t : tensor<64x32xbf16>) outs(%ew : tensor<64x32xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %v = arith.extf %in : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<64x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%c : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.matmul ins(%x32, %w32 : tensor<?x64xf32>, tensor<64x32xf32>) outs(%f : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// After elementwise fusion x is computed and widened in one op: it is split
// before the widening.
#id = affine_map<(m, n) -> (m, n)>
// CHECK-LABEL: func @widening_fused_into_producer
// CHECK: %[[X:.*]] = linalg.generic
// CHECK: arith.mulf %{{.*}} : f32
// CHECK: %[[N:.*]] = arith.truncf
// CHECK-NOT: arith.extf
// CHECK: linalg.yield %[[N]] : bf16
// CHECK: flashnorm.matmul ins(%[[X]], %{{.*}} : tensor<8x64xbf16>, tensor<64x32xbf16>)
func.func @widening_fused_into_producer(%a: tensor<8x64xf32>, %w: tensor<64x32xbf16>) -> tensor<8x32xf32> {
  %ex = tensor.empty() : tensor<8x64xf32>
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x64xf32>) outs(%ex : tensor<8x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %p = arith.mulf %in, %in : f32
    %t = arith.truncf %p : f32 to bf16
    %v = arith.extf %t : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<8x64xf32>
  %ew = tensor.empty() : tensor<64x32xf32>
  %w32 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<64x32xbf16>) outs(%ew : tensor<64x32xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %v = arith.extf %in : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<64x32xf32>
  %c = arith.constant dense<0.0> : tensor<8x32xf32>
  %y = linalg.matmul ins(%x, %w32 : tensor<8x64xf32>, tensor<64x32xf32>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// The producer reads its init as an input, too: only the init is narrowed.
#id = affine_map<(m, n) -> (m, n)>
// CHECK-LABEL: func @widening_fused_into_producer_of_init
// CHECK-SAME: (%[[A:.*]]: tensor<8x64xf32>
// CHECK: linalg.generic {{.*}} ins(%[[A]] : tensor<8x64xf32>) outs(%{{.*}} : tensor<8x64xbf16>)
// CHECK: flashnorm.matmul
func.func @widening_fused_into_producer_of_init(%a: tensor<8x64xf32>, %w: tensor<64x32xbf16>) -> tensor<8x32xf32> {
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x64xf32>) outs(%a : tensor<8x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %p = arith.mulf %in, %in : f32
    %t = arith.truncf %p : f32 to bf16
    %v = arith.extf %t : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<8x64xf32>
  %ew = tensor.empty() : tensor<64x32xf32>
  %w32 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<64x32xbf16>) outs(%ew : tensor<64x32xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %v = arith.extf %in : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<64x32xf32>
  %c = arith.constant dense<0.0> : tensor<8x32xf32>
  %y = linalg.matmul ins(%x, %w32 : tensor<8x64xf32>, tensor<64x32xf32>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// A weight of batch 1, by expansion.
// CHECK-LABEL: func @batch_of_one
// CHECK-SAME: (%[[X:.*]]: tensor<1x?x64xbf16>, %[[W:.*]]: tensor<64x32xbf16>
// CHECK: flashnorm.matmul ins(%[[X]], %[[W]] : tensor<1x?x64xbf16>, tensor<64x32xbf16>) outs(%{{.*}} : tensor<1x?x32xf32>) -> tensor<1x?x32xf32>
func.func @batch_of_one(%x: tensor<1x?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<1x?x32xf32>) -> tensor<1x?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %b = tensor.expand_shape %w [[0, 1], [2]] output_shape [1, 64, 32] : tensor<64x32xbf16> into tensor<1x64x32xbf16>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<1x?x32xf32>) -> tensor<1x?x32xf32>
  %y = linalg.batch_matmul ins(%x, %b : tensor<1x?x64xbf16>, tensor<1x64x32xbf16>) outs(%c : tensor<1x?x32xf32>) -> tensor<1x?x32xf32>
  return %y : tensor<1x?x32xf32>
}

// -----

// A weight argument of batch 1 becomes a matrix.
// CHECK-LABEL: func @batch_of_one_argument
// CHECK-SAME: (%[[X:.*]]: tensor<1x8x64xbf16>, %[[B:.*]]: tensor<1x64x32xbf16>
// CHECK: %[[W:.*]] = tensor.collapse_shape %[[B]] {{\[}}[0, 1], [2]] : tensor<1x64x32xbf16> into tensor<64x32xbf16>
// CHECK: flashnorm.matmul ins(%[[X]], %[[W]]
func.func @batch_of_one_argument(%x: tensor<1x8x64xbf16>, %b: tensor<1x64x32xbf16>) -> tensor<1x8x32xf32> {
  %c = arith.constant dense<0.0> : tensor<1x8x32xf32>
  %y = linalg.batch_matmul ins(%x, %b : tensor<1x8x64xbf16>, tensor<1x64x32xbf16>) outs(%c : tensor<1x8x32xf32>) -> tensor<1x8x32xf32>
  return %y : tensor<1x8x32xf32>
}

// -----

// A weight broadcast to every batch by linalg.broadcast, transposed before.
// CHECK-LABEL: func @broadcast_weight
// CHECK-SAME: (%[[X:.*]]: tensor<4x?x64xbf16>, %[[W:.*]]: tensor<32x64xbf16>
// CHECK-NOT: linalg.
// CHECK: flashnorm.matmul ins(%[[X]], %[[W]] : tensor<4x?x64xbf16>, tensor<32x64xbf16>) outs(%{{.*}} : tensor<4x?x32xf32>) {transpose_weight}
func.func @broadcast_weight(%x: tensor<4x?x64xbf16>, %w: tensor<32x64xbf16>, %e: tensor<4x?x32xf32>) -> tensor<4x?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %et = tensor.empty() : tensor<64x32xbf16>
  %t = linalg.transpose ins(%w : tensor<32x64xbf16>) outs(%et : tensor<64x32xbf16>) permutation = [1, 0]
  %eb = tensor.empty() : tensor<4x64x32xbf16>
  %b = linalg.broadcast ins(%t : tensor<64x32xbf16>) outs(%eb : tensor<4x64x32xbf16>) dimensions = [0]
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<4x?x32xf32>) -> tensor<4x?x32xf32>
  %y = linalg.batch_matmul ins(%x, %b : tensor<4x?x64xbf16>, tensor<4x64x32xbf16>) outs(%c : tensor<4x?x32xf32>) -> tensor<4x?x32xf32>
  return %y : tensor<4x?x32xf32>
}

// -----

// The same broadcast by a generic, from [1,K,N] at a constant index, widening
// on the way; x widened too.
#id = affine_map<(b, m, n) -> (b, m, n)>
#bc = affine_map<(b, m, n) -> (0, m, n)>
// CHECK-LABEL: func @broadcast_weight_by_generic
// CHECK-SAME: (%[[X:.*]]: tensor<4x8x64xbf16>, %[[W:.*]]: tensor<1x64x32xbf16>
// CHECK-NOT: linalg.
// CHECK: %[[M:.*]] = tensor.collapse_shape %[[W]]
// CHECK: flashnorm.matmul ins(%[[X]], %[[M]] : tensor<4x8x64xbf16>, tensor<64x32xbf16>)
func.func @broadcast_weight_by_generic(%x: tensor<4x8x64xbf16>, %w: tensor<1x64x32xbf16>) -> tensor<4x8x32xf32> {
  %ex = tensor.empty() : tensor<4x8x64xf32>
  %x32 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x8x64xbf16>) outs(%ex : tensor<4x8x64xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %v = arith.extf %in : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<4x8x64xf32>
  %eb = tensor.empty() : tensor<4x64x32xf32>
  %b = linalg.generic {indexing_maps = [#bc, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w : tensor<1x64x32xbf16>) outs(%eb : tensor<4x64x32xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %v = arith.extf %in : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<4x64x32xf32>
  %c = arith.constant dense<0.0> : tensor<4x8x32xf32>
  %y = linalg.batch_matmul ins(%x32, %b : tensor<4x8x64xf32>, tensor<4x64x32xf32>) outs(%c : tensor<4x8x32xf32>) -> tensor<4x8x32xf32>
  return %y : tensor<4x8x32xf32>
}

// -----

// A generic with the widening inside, leading dimensions of its own and the
// operands swapped in the body.
#a = affine_map<(b, m, n, k) -> (b, m, k)>
#b = affine_map<(b, m, n, k) -> (n, k)>
#c = affine_map<(b, m, n, k) -> (b, m, n)>
// CHECK-LABEL: func @generic_with_extf
// CHECK-SAME: (%[[X:.*]]: tensor<2x?x64xbf16>, %[[W:.*]]: tensor<32x64xbf16>
// CHECK-NOT: linalg.
// CHECK: flashnorm.matmul ins(%[[X]], %[[W]] {{.*}} outs(%{{.*}} : tensor<2x?x32xf32>) {transpose_weight}
func.func @generic_with_extf(%x: tensor<2x?x64xbf16>, %w: tensor<32x64xbf16>, %e: tensor<2x?x32xf32>) -> tensor<2x?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<2x?x32xf32>) -> tensor<2x?x32xf32>
  %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<2x?x64xbf16>, tensor<32x64xbf16>) outs(%c : tensor<2x?x32xf32>) {
  ^bb0(%l: bf16, %r: bf16, %out: f32):
    %l32 = arith.extf %l : bf16 to f32
    %r32 = arith.extf %r : bf16 to f32
    %p = arith.mulf %r32, %l32 : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x?x32xf32>
  return %y : tensor<2x?x32xf32>
}

// -----

// Several contracted and several column dimensions, and the weight first.
#w = affine_map<(m, h, d, p, q) -> (h, d, p, q)>
#x = affine_map<(m, h, d, p, q) -> (m, p, q)>
#y = affine_map<(m, h, d, p, q) -> (m, h, d)>
// CHECK-LABEL: func @several_dimensions
// CHECK-SAME: (%[[X:.*]]: tensor<?x4x16xbf16>, %[[W:.*]]: tensor<2x16x4x16xbf16>
// CHECK-DAG: %[[X2:.*]] = tensor.collapse_shape %[[X]] {{\[}}[0], [1, 2]] : tensor<?x4x16xbf16> into tensor<?x64xbf16>
// CHECK-DAG: %[[W2:.*]] = tensor.collapse_shape %[[W]] {{\[}}[0, 1], [2, 3]] : tensor<2x16x4x16xbf16> into tensor<32x64xbf16>
// CHECK: %[[Y:.*]] = flashnorm.matmul ins(%[[X2]], %[[W2]] {{.*}} {transpose_weight} -> tensor<?x32xf32>
// CHECK: tensor.expand_shape %[[Y]] {{\[}}[0], [1, 2]] output_shape [%{{.*}}, 2, 16]
func.func @several_dimensions(%x: tensor<?x4x16xbf16>, %w: tensor<2x16x4x16xbf16>, %e: tensor<?x2x16xf32>) -> tensor<?x2x16xf32> {
  %zero = arith.constant 0.0 : f32
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<?x2x16xf32>) -> tensor<?x2x16xf32>
  %y = linalg.generic {indexing_maps = [#w, #x, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%w, %x : tensor<2x16x4x16xbf16>, tensor<?x4x16xbf16>) outs(%c : tensor<?x2x16xf32>) {
  ^bb0(%l: bf16, %r: bf16, %out: f32):
    %l32 = arith.extf %l : bf16 to f32
    %r32 = arith.extf %r : bf16 to f32
    %p = arith.mulf %l32, %r32 : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<?x2x16xf32>
  return %y : tensor<?x2x16xf32>
}

// -----

// The accumulator starts as a broadcast bias, widened.
#v = affine_map<(m, n) -> (n)>
#id = affine_map<(m, n) -> (m, n)>
// CHECK-LABEL: func @bias_as_start_value
// CHECK-SAME: (%[[X:.*]]: tensor<8x64xbf16>, %[[W:.*]]: tensor<64x32xbf16>, %[[B:.*]]: tensor<32xbf16>
// CHECK-NOT: linalg.
// CHECK: flashnorm.matmul ins(%[[X]], %[[W]] {{.*}} bias(%[[B]] : tensor<32xbf16>)
// REMARK: MatmulRaised{{.*}}M=8 N=32 K=64, weight [K,N], bias
func.func @bias_as_start_value(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<32xbf16>) -> tensor<8x32xf32> {
  %e = tensor.empty() : tensor<8x32xf32>
  %c = linalg.generic {indexing_maps = [#v, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<32xbf16>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %v = arith.extf %in : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<8x32xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// The accumulator starts as a whole tensor: a residual.
// CHECK-LABEL: func @tensor_as_start_value
// CHECK-SAME: %[[R:[a-z0-9]+]]: tensor<8x32xf32>
// CHECK: flashnorm.matmul {{.*}} residual(%[[R]] : tensor<8x32xf32>)
func.func @tensor_as_start_value(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %r: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %y = linalg.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%r : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// The op that rounds stands in a loop: the matmul stays outside.
#id = affine_map<(m, n) -> (m, n)>
// CHECK-LABEL: func @truncf_in_a_loop
// CHECK: flashnorm.matmul {{.*}} -> tensor<8x32xf32>
// CHECK: scf.for
// CHECK: arith.truncf
func.func @truncf_in_a_loop(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<8x32xbf16>, %n: index) -> tensor<8x32xbf16> {
  %c = arith.constant dense<0.0> : tensor<8x32xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = linalg.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %e) -> tensor<8x32xbf16> {
    %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<8x32xf32>) outs(%acc : tensor<8x32xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    } -> tensor<8x32xbf16>
    scf.yield %t : tensor<8x32xbf16>
  }
  return %r : tensor<8x32xbf16>
}

// -----

// Widened by arith on tensors.
// CHECK-LABEL: func @arith_widening(
// CHECK:         flashnorm.matmul ins(%arg0, %arg1 : tensor<?x64xbf16>, tensor<64x32xbf16>)
func.func @arith_widening(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %xf = arith.extf %x : tensor<?x64xbf16> to tensor<?x64xf32>
  %wf = arith.extf %w : tensor<64x32xbf16> to tensor<64x32xf32>
  %y = linalg.matmul ins(%xf, %wf : tensor<?x64xf32>, tensor<64x32xf32>) outs(%c : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// x has a dimension that the matmul does not know.
// CHECK-LABEL: func @unit_dimension(
// CHECK:         %[[X:.+]] = tensor.collapse_shape %arg0 {{\[}}[0, 1], [2]] : tensor<1x?x64xbf16> into tensor<?x64xbf16>
// CHECK:         flashnorm.matmul ins(%[[X]], %arg1 : tensor<?x64xbf16>, tensor<64x32xbf16>)
func.func @unit_dimension(%x: tensor<1x?x64xbf16>, %w: tensor<64x32xbf16>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %wide = arith.extf %x : tensor<1x?x64xbf16> to tensor<1x?x64xf32>
  %xf = tensor.collapse_shape %wide [[0, 1], [2]] : tensor<1x?x64xf32> into tensor<?x64xf32>
  %wf = arith.extf %w : tensor<64x32xbf16> to tensor<64x32xf32>
  %y = linalg.matmul ins(%xf, %wf : tensor<?x64xf32>, tensor<64x32xf32>) outs(%c : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// The op that rounds one product takes another one, and does not read it.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @unread_product(
// CHECK:         flashnorm.matmul ins(%arg0, %arg1
// CHECK-NOT:     linalg.
// CHECK:         return
func.func @unread_product(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %v: tensor<64x32xbf16>, %o: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  %z = linalg.matmul ins(%x, %v : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  %q = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %z : tensor<8x32xf32>, tensor<8x32xf32>) outs(%o : tensor<8x32xbf16>) {
  ^bb0(%i: f32, %j: f32, %out: bf16):
    %0 = arith.truncf %i : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<8x32xbf16>
  return %q : tensor<8x32xbf16>
}
