// Functions that resemble a norm, or one norm and something beside it, further
// than raise-norms-negative.mlir goes: statistics of other rows, products that
// are no norm's, weights that are no vector of the row.
// RUN: flashnorm-opt %s --flashnorm-raise-norms --remarks-filter=".*" \
// RUN:   --remark-policy=all 2> %t.remarks | FileCheck %s --implicit-check-not=flashnorm.
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Epsilon is added to the standard deviation.
// CHECK-LABEL: func @layer_epsilon_outside(
// CHECK:         math.sqrt
// REMARK: Function=layer_epsilon_outside | Remark="sum of squares under a root is not raised: a value is added to the root, not under it"
func.func @layer_epsilon_outside(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %mu_sum = linalg.reduce { arith.addf } ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mu = arith.divf %mu_sum, %n : tensor<8xf32>
  %mus = linalg.broadcast ins(%mu : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %c = arith.subf %x, %mus : tensor<8x64xf32>
  %sq = arith.mulf %c, %c : tensor<8x64xf32>
  %v_sum = linalg.reduce { arith.addf } ins(%sq : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %v = arith.divf %v_sum, %n : tensor<8xf32>
  %std = math.sqrt %v : tensor<8xf32>
  %se = arith.addf %std, %eps : tensor<8xf32>
  %rows = linalg.broadcast ins(%se : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.divf %c, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The divisor is N - 1.
// CHECK-LABEL: func @unbiased_variance(
// CHECK:         math.rsqrt
// REMARK: Function=unbiased_variance | Remark="sum of squares under a root is not raised: the sum of 64 terms is divided by 63"
func.func @unbiased_variance(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %mu_sum = linalg.reduce { arith.addf } ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mu = arith.divf %mu_sum, %n : tensor<8xf32>
  %mus = linalg.broadcast ins(%mu : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %c = arith.subf %x, %mus : tensor<8x64xf32>
  %sq = arith.mulf %c, %c : tensor<8x64xf32>
  %n1 = arith.constant dense<63.0> : tensor<8xf32>
  %vs = linalg.reduce { arith.addf } ins(%sq : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %v = arith.divf %vs, %n1 : tensor<8xf32>
  %re = arith.addf %v, %eps : tensor<8xf32>
  %r = math.rsqrt %re : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %c, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The length of the row is divided by, not its root mean square.
// CHECK-LABEL: func @l2_normalised(
// CHECK:         math.rsqrt
// REMARK: Function=l2_normalised | Remark="sum of squares under a root is not raised: the sum is not divided by its number of terms"
func.func @l2_normalised(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %sq = arith.mulf %x, %x : tensor<8x64xf32>
  %s = linalg.reduce { arith.addf } ins(%sq : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %re = arith.addf %s, %eps : tensor<8xf32>
  %r = math.rsqrt %re : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The squares are weighted.
// CHECK-LABEL: func @masked_squares(
// CHECK:         math.rsqrt
func.func @masked_squares(%x: tensor<8x64xf32>, %mask: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %p = arith.mulf %x, %x : tensor<8x64xf32>
  %sq = arith.mulf %p, %mask : tensor<8x64xf32>
  %m_sum = linalg.reduce { arith.addf } ins(%sq : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %m = arith.divf %m_sum, %n : tensor<8xf32>
  %re = arith.addf %m, %eps : tensor<8xf32>
  %r = math.rsqrt %re : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The summed products are of two tensors.
// CHECK-LABEL: func @product_of_two(
// CHECK:         math.rsqrt
func.func @product_of_two(%x: tensor<8x64xf32>, %z: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %sq = arith.mulf %x, %z : tensor<8x64xf32>
  %m_sum = linalg.reduce { arith.addf } ins(%sq : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %m = arith.divf %m_sum, %n : tensor<8xf32>
  %re = arith.addf %m, %eps : tensor<8xf32>
  %r = math.rsqrt %re : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The squares are of x rounded to bf16, the product is of x.
// CHECK-LABEL: func @squares_of_rounded(
// CHECK:         math.rsqrt
// REMARK: Function=squares_of_rounded | Remark="sum of squares under a root is not raised: no product of the root and the tensor whose squares are summed was found"
func.func @squares_of_rounded(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %h = arith.truncf %x : tensor<8x64xf32> to tensor<8x64xbf16>
  %b = arith.extf %h : tensor<8x64xbf16> to tensor<8x64xf32>
  %sq = arith.mulf %b, %b : tensor<8x64xf32>
  %m_sum = linalg.reduce { arith.addf } ins(%sq : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %m = arith.divf %m_sum, %n : tensor<8xf32>
  %re = arith.addf %m, %eps : tensor<8xf32>
  %r = math.rsqrt %re : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// Epsilon is infinite.
// CHECK-LABEL: func @infinite_epsilon(
// CHECK:         math.rsqrt
// REMARK: Function=infinite_epsilon | Remark="sum of squares under a root is not raised: epsilon is inf, not finite and 0 or more"
func.func @infinite_epsilon(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %sq = arith.mulf %x, %x : tensor<8x64xf32>
  %m_sum = linalg.reduce { arith.addf } ins(%sq : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %m = arith.divf %m_sum, %n : tensor<8xf32>
  %bad = arith.constant dense<0x7F800000> : tensor<8xf32>
  %me = arith.addf %m, %bad : tensor<8xf32>
  %r = math.rsqrt %me : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// Epsilon is not a number.
// CHECK-LABEL: func @nan_epsilon(
// CHECK:         math.rsqrt
// REMARK: Function=nan_epsilon | Remark="sum of squares under a root is not raised: epsilon is nan, not finite and 0 or more"
func.func @nan_epsilon(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %sq = arith.mulf %x, %x : tensor<8x64xf32>
  %m_sum = linalg.reduce { arith.addf } ins(%sq : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %m = arith.divf %m_sum, %n : tensor<8xf32>
  %bad = arith.constant dense<0x7FC00000> : tensor<8xf32>
  %me = arith.addf %m, %bad : tensor<8xf32>
  %r = math.rsqrt %me : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The sum goes on from another sum.
// CHECK-LABEL: func @sum_continued(
// CHECK:         math.rsqrt
// REMARK: Function=sum_continued | Remark="sum of squares under a root is not raised: the sum does not start from a constant"
func.func @sum_continued(%x: tensor<8x64xf32>, %z: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %first = linalg.reduce { arith.addf } ins(%z : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %sq = arith.mulf %x, %x : tensor<8x64xf32>
  %s = linalg.reduce { arith.addf } ins(%sq : tensor<8x64xf32>) outs(%first : tensor<8xf32>) dimensions = [1]
  %m = arith.divf %s, %n : tensor<8xf32>
  %re = arith.addf %m, %eps : tensor<8xf32>
  %r = math.rsqrt %re : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The statistic of row 0 scales every row.
// CHECK-LABEL: func @row_zero(
// CHECK:         math.rsqrt
// REMARK: Function=row_zero | Remark="sum of squares under a root is not raised: no product of the root and the tensor whose squares are summed was found"
func.func @row_zero(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %sq = arith.mulf %x, %x : tensor<8x64xf32>
  %m_sum = linalg.reduce { arith.addf } ins(%sq : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %m = arith.divf %m_sum, %n : tensor<8xf32>
  %re = arith.addf %m, %eps : tensor<8xf32>
  %r = math.rsqrt %re : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (0)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %r : tensor<8x64xf32>, tensor<8xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %z = arith.mulf %a, %s : f32
    linalg.yield %z : f32
  } -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The statistics are of the first half of the row.
// CHECK-LABEL: func @half_a_row(
// CHECK:         math.rsqrt
// REMARK: Function=half_a_row | Remark="sum of squares under a root is not raised: no product of the root and the tensor whose squares are summed was found"
func.func @half_a_row(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %h0 = tensor.extract_slice %x[0, 0] [8, 32] [1, 1] : tensor<8x64xf32> to tensor<8x32xf32>
  %n32 = arith.constant dense<32.0> : tensor<8xf32>
  %sq = arith.mulf %h0, %h0 : tensor<8x32xf32>
  %s = linalg.reduce { arith.addf } ins(%sq : tensor<8x32xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %m = arith.divf %s, %n32 : tensor<8xf32>
  %re = arith.addf %m, %eps : tensor<8xf32>
  %r = math.rsqrt %re : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The sum runs over the rows of a square tensor, as a batch norm does.
// CHECK-LABEL: func @columns(
// CHECK:         math.rsqrt
// REMARK: Function=columns | Remark="sum of squares under a root is not raised: the sum runs over dimension 0 of tensor<64x64xf32>, not over the last"
func.func @columns(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %n = arith.constant dense<64.0> : tensor<64xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<64xf32>
  %e = tensor.empty() : tensor<64x64xf32>
  %sq = arith.mulf %x, %x : tensor<64x64xf32>
  %s = linalg.reduce { arith.addf } ins(%sq : tensor<64x64xf32>) outs(%zero : tensor<64xf32>) dimensions = [0]
  %m = arith.divf %s, %n : tensor<64xf32>
  %me = arith.addf %m, %eps : tensor<64xf32>
  %r = math.rsqrt %me : tensor<64xf32>
  %rows = linalg.broadcast ins(%r : tensor<64xf32>) outs(%e : tensor<64x64xf32>) dimensions = [0]
  %y = arith.mulf %x, %rows : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// The statistics of the rows of a square tensor scale its columns.
// CHECK-LABEL: func @rows_as_columns(
// CHECK:         math.rsqrt
// REMARK: Function=rows_as_columns | Remark="sum of squares under a root is not raised: no product of the root and the tensor whose squares are summed was found"
func.func @rows_as_columns(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %n = arith.constant dense<64.0> : tensor<64xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<64xf32>
  %e = tensor.empty() : tensor<64x64xf32>
  %sq = arith.mulf %x, %x : tensor<64x64xf32>
  %s = linalg.reduce { arith.addf } ins(%sq : tensor<64x64xf32>) outs(%zero : tensor<64xf32>) dimensions = [1]
  %m = arith.divf %s, %n : tensor<64xf32>
  %me = arith.addf %m, %eps : tensor<64xf32>
  %r = math.rsqrt %me : tensor<64xf32>
  %rows = linalg.broadcast ins(%r : tensor<64xf32>) outs(%e : tensor<64x64xf32>) dimensions = [0]
  %y = arith.mulf %x, %rows : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// The sum runs over two dimensions with another one between them.
// CHECK-LABEL: func @dimensions_apart(
// CHECK:         math.rsqrt
// REMARK: Function=dimensions_apart | Remark="sum of squares under a root is not raised: the sum runs over dimensions 0, 2 of tensor<4x8x16xf32>, not over the last ones"
func.func @dimensions_apart(%x: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<4x8x16xf32>
  %sq = arith.mulf %x, %x : tensor<4x8x16xf32>
  %s = linalg.reduce { arith.addf } ins(%sq : tensor<4x8x16xf32>) outs(%zero : tensor<8xf32>) dimensions = [0, 2]
  %m = arith.divf %s, %n : tensor<8xf32>
  %me = arith.addf %m, %eps : tensor<8xf32>
  %r = math.rsqrt %me : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<4x8x16xf32>) dimensions = [0, 2]
  %y = arith.mulf %x, %rows : tensor<4x8x16xf32>
  return %y : tensor<4x8x16xf32>
}

// The sum runs over all dimensions but the last.
// CHECK-LABEL: func @leading_dimensions(
// CHECK:         math.rsqrt
// REMARK: Function=leading_dimensions | Remark="sum of squares under a root is not raised: the sum runs over dimensions 0, 1 of tensor<4x8x16xf32>, not over the last ones"
func.func @leading_dimensions(%x: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<16xf32>
  %n = arith.constant dense<32.0> : tensor<16xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<16xf32>
  %e = tensor.empty() : tensor<4x8x16xf32>
  %sq = arith.mulf %x, %x : tensor<4x8x16xf32>
  %s = linalg.reduce { arith.addf } ins(%sq : tensor<4x8x16xf32>) outs(%zero : tensor<16xf32>) dimensions = [0, 1]
  %m = arith.divf %s, %n : tensor<16xf32>
  %me = arith.addf %m, %eps : tensor<16xf32>
  %r = math.rsqrt %me : tensor<16xf32>
  %rows = linalg.broadcast ins(%r : tensor<16xf32>) outs(%e : tensor<4x8x16xf32>) dimensions = [0, 1]
  %y = arith.mulf %x, %rows : tensor<4x8x16xf32>
  return %y : tensor<4x8x16xf32>
}

// The sum runs over two dimensions and is divided by the size of one.
// CHECK-LABEL: func @divided_by_one_dimension(
// CHECK:         math.rsqrt
// REMARK: Function=divided_by_one_dimension | Remark="sum of squares under a root is not raised: the sum of 128 terms is divided by 16"
func.func @divided_by_one_dimension(%x: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %n = arith.constant dense<16.0> : tensor<4xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<4xf32>
  %e = tensor.empty() : tensor<4x8x16xf32>
  %sq = arith.mulf %x, %x : tensor<4x8x16xf32>
  %s = linalg.reduce { arith.addf } ins(%sq : tensor<4x8x16xf32>) outs(%zero : tensor<4xf32>) dimensions = [1, 2]
  %m = arith.divf %s, %n : tensor<4xf32>
  %me = arith.addf %m, %eps : tensor<4xf32>
  %r = math.rsqrt %me : tensor<4xf32>
  %rows = linalg.broadcast ins(%r : tensor<4xf32>) outs(%e : tensor<4x8x16xf32>) dimensions = [1, 2]
  %y = arith.mulf %x, %rows : tensor<4x8x16xf32>
  return %y : tensor<4x8x16xf32>
}

// The rows of a collapsed view are taken apart another way: 3 x 2 instead of 2 x
// 3.
// CHECK-LABEL: func @rows_in_another_order(
// CHECK:         math.rsqrt
// REMARK: Function=rows_in_another_order | Remark="sum of squares under a root is not raised: no product of the root and the tensor whose squares are summed was found"
func.func @rows_in_another_order(%x: tensor<2x3x64xf32>) -> tensor<2x3x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<2x3xf32>
  %n = arith.constant dense<64.0> : tensor<2x3xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<2x3xf32>
  %e = tensor.empty() : tensor<2x3x64xf32>
  %sq = arith.mulf %x, %x : tensor<2x3x64xf32>
  %s = linalg.reduce { arith.addf } ins(%sq : tensor<2x3x64xf32>) outs(%zero : tensor<2x3xf32>) dimensions = [2]
  %m = arith.divf %s, %n : tensor<2x3xf32>
  %me = arith.addf %m, %eps : tensor<2x3xf32>
  %r = math.rsqrt %me : tensor<2x3xf32>
  %flat = tensor.collapse_shape %r [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
  %apart = tensor.expand_shape %flat [[0, 1]] output_shape [3, 2] : tensor<6xf32> into tensor<3x2xf32>
  %e23 = tensor.empty() : tensor<2x3xf32>
  %back = linalg.transpose ins(%apart : tensor<3x2xf32>) outs(%e23 : tensor<2x3xf32>) permutation = [1, 0]
  %rows = linalg.broadcast ins(%back : tensor<2x3xf32>) outs(%e : tensor<2x3x64xf32>) dimensions = [2]
  %y = arith.mulf %x, %rows : tensor<2x3x64xf32>
  return %y : tensor<2x3x64xf32>
}

// The statistics are of 32 elements each, the product is of rows of 128.
// CHECK-LABEL: func @parts_of_a_row(
// CHECK:         math.rsqrt
// REMARK: Function=parts_of_a_row | Remark="sum of squares under a root is not raised: no product of the root and the tensor whose squares are summed was found"
func.func @parts_of_a_row(%x: tensor<8x4x32xf32>) -> tensor<8x128xf32> {
  %zero = arith.constant dense<0.0> : tensor<8x4xf32>
  %n = arith.constant dense<32.0> : tensor<8x4xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8x4xf32>
  %e = tensor.empty() : tensor<8x4x32xf32>
  %sq = arith.mulf %x, %x : tensor<8x4x32xf32>
  %s = linalg.reduce { arith.addf } ins(%sq : tensor<8x4x32xf32>) outs(%zero : tensor<8x4xf32>) dimensions = [2]
  %m = arith.divf %s, %n : tensor<8x4xf32>
  %me = arith.addf %m, %eps : tensor<8x4xf32>
  %r = math.rsqrt %me : tensor<8x4xf32>
  %wide = tensor.collapse_shape %x [[0], [1, 2]] : tensor<8x4x32xf32> into tensor<8x128xf32>
  %e2 = tensor.empty() : tensor<8x128xf32>
  %first = tensor.extract_slice %r[0, 0] [8, 1] [1, 1] : tensor<8x4xf32> to tensor<8xf32>
  %rows = linalg.broadcast ins(%first : tensor<8xf32>) outs(%e2 : tensor<8x128xf32>) dimensions = [1]
  %y = arith.mulf %wide, %rows : tensor<8x128xf32>
  return %y : tensor<8x128xf32>
}

// The sum runs over windows that overlap, read by a map that is no permutation.
// CHECK-LABEL: func @windows(
// CHECK:         math.rsqrt
// REMARK: Function=windows | Remark="sum of squares under a root is not raised: the normalised value is not a tensor of its own"
func.func @windows(%x: tensor<8x67xf32>, %w: tensor<64xf32>) -> tensor<8x4xf32> {
  %init = arith.constant dense<0.0> : tensor<8x4xf32>
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j * 1 + k)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<8x67xf32>, tensor<64xf32>) outs(%init : tensor<8x4xf32>) {
  ^bb0(%a: f32, %u: f32, %acc: f32):
    %p = arith.mulf %a, %a : f32
    %d = arith.addf %acc, %p : f32
    linalg.yield %d : f32
  } -> tensor<8x4xf32>
  %n4 = arith.constant dense<64.0> : tensor<8x4xf32>
  %eps4 = arith.constant dense<1.0e-05> : tensor<8x4xf32>
  %m = arith.divf %sum, %n4 : tensor<8x4xf32>
  %me = arith.addf %m, %eps4 : tensor<8x4xf32>
  %y = math.rsqrt %me : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// The mean is added instead of subtracted.
// CHECK-LABEL: func @expanded_sum(
// CHECK:         math.rsqrt
// REMARK: Function=expanded_sum | Remark="sum of squares under a root is not raised: the squares are of centred values but the numerator is not centred"
func.func @expanded_sum(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %mu_sum = linalg.reduce { arith.addf } ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mu = arith.divf %mu_sum, %n : tensor<8xf32>
  %mus = linalg.broadcast ins(%mu : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %c = arith.subf %x, %mus : tensor<8x64xf32>
  %sq = arith.mulf %c, %c : tensor<8x64xf32>
  %v_sum = linalg.reduce { arith.addf } ins(%sq : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %v = arith.divf %v_sum, %n : tensor<8xf32>
  %re = arith.addf %v, %eps : tensor<8xf32>
  %r = math.rsqrt %re : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %xf = arith.mulf %x, %rows : tensor<8x64xf32>
  %mf = arith.mulf %mus, %rows : tensor<8x64xf32>
  %y = arith.addf %xf, %mf : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The mean is that of another tensor.
// CHECK-LABEL: func @expanded_other_mean(
// CHECK:         math.rsqrt
// REMARK: Function=expanded_other_mean | Remark="sum of squares under a root is not raised: the squares are of centred values but the numerator is not centred"
func.func @expanded_other_mean(%x: tensor<8x64xf32>, %z: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %mu_sum = linalg.reduce { arith.addf } ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mu = arith.divf %mu_sum, %n : tensor<8xf32>
  %mus = linalg.broadcast ins(%mu : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %c = arith.subf %x, %mus : tensor<8x64xf32>
  %sq = arith.mulf %c, %c : tensor<8x64xf32>
  %v_sum = linalg.reduce { arith.addf } ins(%sq : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %v = arith.divf %v_sum, %n : tensor<8xf32>
  %re = arith.addf %v, %eps : tensor<8xf32>
  %r = math.rsqrt %re : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %nu_sum = linalg.reduce { arith.addf } ins(%z : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %nu = arith.divf %nu_sum, %n : tensor<8xf32>
  %nus = linalg.broadcast ins(%nu : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %xf = arith.mulf %x, %rows : tensor<8x64xf32>
  %mf = arith.mulf %nus, %rows : tensor<8x64xf32>
  %y = arith.subf %xf, %mf : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The mean is scaled by another factor.
// CHECK-LABEL: func @expanded_other_factor(
// CHECK:         math.rsqrt
// REMARK: Function=expanded_other_factor | Remark="sum of squares under a root is not raised: the squares are of centred values but the numerator is not centred"
func.func @expanded_other_factor(%x: tensor<8x64xf32>, %w: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %mu_sum = linalg.reduce { arith.addf } ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mu = arith.divf %mu_sum, %n : tensor<8xf32>
  %mus = linalg.broadcast ins(%mu : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %c = arith.subf %x, %mus : tensor<8x64xf32>
  %sq = arith.mulf %c, %c : tensor<8x64xf32>
  %v_sum = linalg.reduce { arith.addf } ins(%sq : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %v = arith.divf %v_sum, %n : tensor<8xf32>
  %re = arith.addf %v, %eps : tensor<8xf32>
  %r = math.rsqrt %re : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %xf = arith.mulf %x, %rows : tensor<8x64xf32>
  %mf = arith.mulf %mus, %w : tensor<8x64xf32>
  %y = arith.subf %xf, %mf : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// x is subtracted from its mean.
// CHECK-LABEL: func @expanded_swapped(
// CHECK:         math.rsqrt
// REMARK: Function=expanded_swapped | Remark="sum of squares under a root is not raised: the squares are of centred values but the numerator is not centred"
func.func @expanded_swapped(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %mu_sum = linalg.reduce { arith.addf } ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mu = arith.divf %mu_sum, %n : tensor<8xf32>
  %mus = linalg.broadcast ins(%mu : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %c = arith.subf %x, %mus : tensor<8x64xf32>
  %sq = arith.mulf %c, %c : tensor<8x64xf32>
  %v_sum = linalg.reduce { arith.addf } ins(%sq : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %v = arith.divf %v_sum, %n : tensor<8xf32>
  %re = arith.addf %v, %eps : tensor<8xf32>
  %r = math.rsqrt %re : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %xf = arith.mulf %x, %rows : tensor<8x64xf32>
  %mf = arith.mulf %mus, %rows : tensor<8x64xf32>
  %y = arith.subf %mf, %xf : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// x and its mean are scaled by weights of their own.
// CHECK-LABEL: func @expanded_two_weights(
// CHECK:         math.rsqrt
// REMARK: Function=expanded_two_weights | Remark="sum of squares under a root is not raised: the squares are of centred values but the numerator is not centred"
func.func @expanded_two_weights(%x: tensor<8x64xf32>, %g: tensor<64xf32>, %h: tensor<64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %mu_sum = linalg.reduce { arith.addf } ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mu = arith.divf %mu_sum, %n : tensor<8xf32>
  %mus = linalg.broadcast ins(%mu : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %c = arith.subf %x, %mus : tensor<8x64xf32>
  %sq = arith.mulf %c, %c : tensor<8x64xf32>
  %v_sum = linalg.reduce { arith.addf } ins(%sq : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %v = arith.divf %v_sum, %n : tensor<8xf32>
  %re = arith.addf %v, %eps : tensor<8xf32>
  %r = math.rsqrt %re : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %gs = linalg.broadcast ins(%g : tensor<64xf32>) outs(%e : tensor<8x64xf32>) dimensions = [0]
  %hs = linalg.broadcast ins(%h : tensor<64xf32>) outs(%e : tensor<8x64xf32>) dimensions = [0]
  %f = arith.mulf %rows, %gs : tensor<8x64xf32>
  %k = arith.mulf %rows, %hs : tensor<8x64xf32>
  %xf = arith.mulf %x, %f : tensor<8x64xf32>
  %mf = arith.mulf %mus, %k : tensor<8x64xf32>
  %y = arith.subf %xf, %mf : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The mean is scaled by the root of another row.
// CHECK-LABEL: func @expanded_root_of_another_row(
// CHECK:         math.rsqrt
func.func @expanded_root_of_another_row(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %n = arith.constant dense<64.0> : tensor<64xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<64xf32>
  %e = tensor.empty() : tensor<64x64xf32>
  %mu_sum = linalg.reduce { arith.addf } ins(%x : tensor<64x64xf32>) outs(%zero : tensor<64xf32>) dimensions = [1]
  %mu = arith.divf %mu_sum, %n : tensor<64xf32>
  %mus = linalg.broadcast ins(%mu : tensor<64xf32>) outs(%e : tensor<64x64xf32>) dimensions = [1]
  %c = arith.subf %x, %mus : tensor<64x64xf32>
  %sq = arith.mulf %c, %c : tensor<64x64xf32>
  %v_sum = linalg.reduce { arith.addf } ins(%sq : tensor<64x64xf32>) outs(%zero : tensor<64xf32>) dimensions = [1]
  %v = arith.divf %v_sum, %n : tensor<64xf32>
  %re = arith.addf %v, %eps : tensor<64xf32>
  %r = math.rsqrt %re : tensor<64xf32>
  %rows = linalg.broadcast ins(%r : tensor<64xf32>) outs(%e : tensor<64x64xf32>) dimensions = [1]
  %columns = linalg.broadcast ins(%r : tensor<64xf32>) outs(%e : tensor<64x64xf32>) dimensions = [0]
  %xf = arith.mulf %x, %rows : tensor<64x64xf32>
  %mf = arith.mulf %mus, %columns : tensor<64x64xf32>
  %y = arith.subf %xf, %mf : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// 1/255, which in bf16 is one unit off 1/256.
// CHECK-LABEL: func @unbiased_in_bf16(
// CHECK:         math.rsqrt
// REMARK: Function=unbiased_in_bf16 | Remark="sum of squares under a root is not raised: the sum of 256 terms is multiplied by 0.0039367676"
func.func @unbiased_in_bf16(%x: tensor<8x256xf32>) -> tensor<8x256xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<256.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x256xf32>
  %mu_sum = linalg.reduce { arith.addf } ins(%x : tensor<8x256xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mu = arith.divf %mu_sum, %n : tensor<8xf32>
  %mus = linalg.broadcast ins(%mu : tensor<8xf32>) outs(%e : tensor<8x256xf32>) dimensions = [1]
  %c = arith.subf %x, %mus : tensor<8x256xf32>
  %sq = arith.mulf %c, %c : tensor<8x256xf32>
  %v_sum = linalg.reduce { arith.addf } ins(%sq : tensor<8x256xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %k = arith.constant dense<3.936770e-03> : tensor<8xbf16>
  %kf = arith.extf %k : tensor<8xbf16> to tensor<8xf32>
  %v = arith.mulf %v_sum, %kf : tensor<8xf32>
  %re = arith.addf %v, %eps : tensor<8xf32>
  %r = math.rsqrt %re : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x256xf32>) dimensions = [1]
  %y = arith.mulf %c, %rows : tensor<8x256xf32>
  return %y : tensor<8x256xf32>
}

// 1/384 as bf16 has it is not what a sum in f32 is divided by.
// CHECK-LABEL: func @mean_rounded_to_bf16(
// CHECK:         math.rsqrt
// REMARK: Function=mean_rounded_to_bf16 | Remark="sum of squares under a root is not raised: the sum of 384 terms is multiplied by 0.002609253"
func.func @mean_rounded_to_bf16(%x: tensor<8x384xf32>) -> tensor<8x384xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<384.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x384xf32>
  %mu_sum = linalg.reduce { arith.addf } ins(%x : tensor<8x384xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mu = arith.divf %mu_sum, %n : tensor<8xf32>
  %mus = linalg.broadcast ins(%mu : tensor<8xf32>) outs(%e : tensor<8x384xf32>) dimensions = [1]
  %c = arith.subf %x, %mus : tensor<8x384xf32>
  %sq = arith.mulf %c, %c : tensor<8x384xf32>
  %v_sum = linalg.reduce { arith.addf } ins(%sq : tensor<8x384xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %k = arith.constant dense<2.609250e-03> : tensor<8xbf16>
  %kf = arith.extf %k : tensor<8xbf16> to tensor<8xf32>
  %v = arith.mulf %v_sum, %kf : tensor<8xf32>
  %re = arith.addf %v, %eps : tensor<8xf32>
  %r = math.rsqrt %re : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x384xf32>) dimensions = [1]
  %y = arith.mulf %c, %rows : tensor<8x384xf32>
  return %y : tensor<8x384xf32>
}

// As an i8, 320 is 64.
// CHECK-LABEL: func @divisor_wraps_around(
// CHECK:         math.rsqrt
// REMARK: Function=divisor_wraps_around
func.func @divisor_wraps_around(%x: tensor<8x320xf32>) -> tensor<8x320xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<320.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x320xf32>
  %mu_sum = linalg.reduce { arith.addf } ins(%x : tensor<8x320xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mu = arith.divf %mu_sum, %n : tensor<8xf32>
  %mus = linalg.broadcast ins(%mu : tensor<8xf32>) outs(%e : tensor<8x320xf32>) dimensions = [1]
  %c = arith.subf %x, %mus : tensor<8x320xf32>
  %sq = arith.mulf %c, %c : tensor<8x320xf32>
  %v_sum = linalg.reduce { arith.addf } ins(%sq : tensor<8x320xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %c320 = arith.constant 320 : index
  %byte = arith.index_cast %c320 : index to i8
  %divisor = arith.sitofp %byte : i8 to f32
  %divisors = tensor.splat %divisor : tensor<8xf32>
  %v = arith.divf %v_sum, %divisors : tensor<8xf32>
  %re = arith.addf %v, %eps : tensor<8xf32>
  %r = math.rsqrt %re : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x320xf32>) dimensions = [1]
  %y = arith.mulf %c, %rows : tensor<8x320xf32>
  return %y : tensor<8x320xf32>
}

// The variance is computed in f64, and its epsilon is 0 or infinite in f32.

// CHECK-LABEL: func @tiny_epsilon(
// CHECK:         math.rsqrt
// REMARK: Function=tiny_epsilon | Remark="sum of squares under a root is not raised: epsilon is 1e-50, which f32 does not hold"
func.func @tiny_epsilon(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf64>
  %n = arith.constant 64.0 : f64
  %eps = arith.constant 1.0e-50 : f64
  %e = tensor.empty() : tensor<8x64xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf64>) {
  ^bb0(%in: f32, %acc: f64):
    %wide = arith.extf %in : f32 to f64
    %sq = arith.mulf %wide, %wide : f64
    %a = arith.addf %acc, %sq : f64
    linalg.yield %a : f64
  } -> tensor<8xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<8x64xf32>, tensor<8xf64>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%in: f32, %s: f64, %out: f32):
    %wide = arith.extf %in : f32 to f64
    %v = arith.divf %s, %n : f64
    %re = arith.addf %v, %eps : f64
    %r = math.rsqrt %re : f64
    %p = arith.mulf %wide, %r : f64
    %t = arith.truncf %p : f64 to f32
    linalg.yield %t : f32
  } -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// CHECK-LABEL: func @huge_epsilon(
// CHECK:         math.rsqrt
// REMARK: Function=huge_epsilon | Remark="sum of squares under a root is not raised: epsilon is 1e+39, which f32 does not hold"
func.func @huge_epsilon(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf64>
  %n = arith.constant 64.0 : f64
  %eps = arith.constant 1.0e+39 : f64
  %e = tensor.empty() : tensor<8x64xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf64>) {
  ^bb0(%in: f32, %acc: f64):
    %wide = arith.extf %in : f32 to f64
    %sq = arith.mulf %wide, %wide : f64
    %a = arith.addf %acc, %sq : f64
    linalg.yield %a : f64
  } -> tensor<8xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<8x64xf32>, tensor<8xf64>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%in: f32, %s: f64, %out: f32):
    %wide = arith.extf %in : f32 to f64
    %v = arith.divf %s, %n : f64
    %re = arith.addf %v, %eps : f64
    %r = math.rsqrt %re : f64
    %p = arith.mulf %wide, %r : f64
    %t = arith.truncf %p : f64 to f32
    linalg.yield %t : f32
  } -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}
