// Choices that a program makes when it runs, though they are known before, and
// such as are not.
// RUN: flashnorm-opt %s --flashnorm-raise-norms | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (0, d1)>

// jnp.var divides by N - 0 and selects NaN unless that is positive.
// CHECK-LABEL: func @jax_variance(
// CHECK-SAME:    %[[X:.+]]: tensor<8x64xf32>
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm ins(%[[X]] : tensor<8x64xf32>)
// CHECK-NOT:     arith.select
// CHECK:         return %[[Y]]
func.func @jax_variance(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %nan = arith.constant dense<0x7FC00000> : tensor<8xf32>
  %n = arith.constant 64.0 : f32
  %ddof = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x64xf32>
  %freedom = arith.subf %n, %ddof : f32
  %positive = arith.cmpf ogt, %freedom, %ddof : f32
  %divisor = tensor.splat %freedom : tensor<8xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %divisor : tensor<8xf32>
  %guarded = arith.select %positive, %mean, %nan : tensor<8xf32>
  %var = arith.addf %guarded, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The condition is an argument.
// CHECK-LABEL: func @unknown_condition(
// CHECK:         arith.select
// CHECK:         math.rsqrt
// CHECK-NOT:     flashnorm
// CHECK:         return
func.func @unknown_condition(%x: tensor<8x64xf32>, %c: i1) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %guarded = arith.select %c, %mean, %zero : tensor<8xf32>
  %var = arith.addf %guarded, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// As tosa-to-linalg writes an op on x and what was computed of x's rows: x is
// repeated if it has one row, to as many as the larger of the two has.
// CHECK-LABEL: func @repeated_to_own_rows(
// CHECK-SAME:    %[[X:.+]]: tensor<?x64xf32>
// CHECK-NOT:     scf.if
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm ins(%[[X]] : tensor<?x64xf32>)
// CHECK:         return %[[Y]]
func.func @repeated_to_own_rows(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %s0 = tensor.empty(%rows) : tensor<?xf32>
  %start = linalg.fill ins(%zero : f32) outs(%s0 : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x64xf32>) outs(%start : tensor<?xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %sq = arith.mulf %in, %in : f32
    %a = arith.addf %sq, %acc : f32
    linalg.yield %a : f32
  } -> tensor<?xf32>
  %rows1 = tensor.dim %sum, %c0 : tensor<?xf32>
  %target = arith.maxui %rows, %rows1 : index
  %one = arith.cmpi eq, %rows, %c1 : index
  %xs = scf.if %one -> (tensor<?x64xf32>) {
    %e = tensor.empty(%target) : tensor<?x64xf32>
    %repeated = linalg.generic {indexing_maps = [#first, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x64xf32>) outs(%e : tensor<?x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<?x64xf32>
    scf.yield %repeated : tensor<?x64xf32>
  } else {
    scf.yield %x : tensor<?x64xf32>
  }
  %e = tensor.empty(%target) : tensor<?x64xf32>
  %y = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d0)>, #id], iterator_types = ["parallel", "parallel"]} ins(%xs, %sum : tensor<?x64xf32>, tensor<?xf32>) outs(%e : tensor<?x64xf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %mean = arith.divf %s, %n : f32
    %var = arith.addf %mean, %eps : f32
    %r = math.rsqrt %var : f32
    %p = arith.mulf %in, %r : f32
    linalg.yield %p : f32
  } -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// Another tensor may have more rows than x has.
// CHECK-LABEL: func @repeated_to_other_rows(
// CHECK-SAME:    %[[X:.+]]: tensor<?x64xf32>, %[[Z:.+]]: tensor<?x64xf32>
// CHECK:         %[[XS:.+]] = scf.if
// CHECK:         linalg.generic {{.*}} ins(%[[XS]], %[[Z]]
// CHECK-NOT:     ins(%[[X]]
// CHECK:         return
func.func @repeated_to_other_rows(%x: tensor<?x64xf32>, %z: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %rows1 = tensor.dim %z, %c0 : tensor<?x64xf32>
  %target = arith.maxui %rows, %rows1 : index
  %one = arith.cmpi eq, %rows, %c1 : index
  %xs = scf.if %one -> (tensor<?x64xf32>) {
    %e = tensor.empty(%target) : tensor<?x64xf32>
    %repeated = linalg.generic {indexing_maps = [#first, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x64xf32>) outs(%e : tensor<?x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<?x64xf32>
    scf.yield %repeated : tensor<?x64xf32>
  } else {
    scf.yield %x : tensor<?x64xf32>
  }
  %e = tensor.empty(%target) : tensor<?x64xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%xs, %z : tensor<?x64xf32>, tensor<?x64xf32>) outs(%e : tensor<?x64xf32>) {
  ^bb0(%in: f32, %other: f32, %out: f32):
    %r = math.rsqrt %other : f32
    %p = arith.mulf %in, %r : f32
    linalg.yield %p : f32
  } -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// The first of several rows is repeated: the condition is of another size.
// CHECK-LABEL: func @first_row_repeated(
// CHECK:         scf.if
// CHECK:         math.rsqrt
func.func @first_row_repeated(%x: tensor<?x64xf32>, %other: index) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %one = arith.cmpi eq, %other, %c1 : index
  %xs = scf.if %one -> (tensor<?x64xf32>) {
    %e = tensor.empty(%rows) : tensor<?x64xf32>
    %repeated = linalg.generic {indexing_maps = [#first, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x64xf32>) outs(%e : tensor<?x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<?x64xf32>
    scf.yield %repeated : tensor<?x64xf32>
  } else {
    scf.yield %x : tensor<?x64xf32>
  }
  %y = math.rsqrt %xs : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// The sum of x and z has been computed: they have as many rows.
// CHECK-LABEL: func @repeated_to_rows_of_a_sum(
// CHECK-SAME:    %[[X:.+]]: tensor<?x64xf32>, %[[Z:.+]]: tensor<?x64xf32>
// CHECK-NOT:     scf.if
// CHECK:         math.rsqrt %[[X]]
func.func @repeated_to_rows_of_a_sum(%x: tensor<?x64xf32>, %z: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %rows1 = tensor.dim %z, %c0 : tensor<?x64xf32>
  %init = tensor.empty(%rows) : tensor<?x64xf32>
  %sum = linalg.add ins(%x, %z : tensor<?x64xf32>, tensor<?x64xf32>) outs(%init : tensor<?x64xf32>) -> tensor<?x64xf32>
  %target = arith.maxui %rows, %rows1 : index
  %one = arith.cmpi eq, %rows1, %c1 : index
  %xs = scf.if %one -> (tensor<?x64xf32>) {
    %e = tensor.empty(%target) : tensor<?x64xf32>
    %repeated = linalg.generic {indexing_maps = [#first, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x64xf32>) outs(%e : tensor<?x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<?x64xf32>
    scf.yield %repeated : tensor<?x64xf32>
  } else {
    scf.yield %x : tensor<?x64xf32>
  }
  %y = math.rsqrt %xs : tensor<?x64xf32>
  return %y, %sum : tensor<?x64xf32>, tensor<?x64xf32>
}

// Here the sum may not be computed, or only afterwards.
// CHECK-LABEL: func @repeated_before_the_sum(
// CHECK:         arith.cmpi
// CHECK:         %[[XS:.+]] = scf.if
// CHECK:         math.rsqrt %[[XS]]
func.func @repeated_before_the_sum(%x: tensor<?x64xf32>, %z: tensor<?x64xf32>, %c: i1) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %rows1 = tensor.dim %z, %c0 : tensor<?x64xf32>
  %init = tensor.empty(%rows) : tensor<?x64xf32>
  %sum = scf.if %c -> (tensor<?x64xf32>) {
    %both = linalg.add ins(%x, %z : tensor<?x64xf32>, tensor<?x64xf32>) outs(%init : tensor<?x64xf32>) -> tensor<?x64xf32>
    scf.yield %both : tensor<?x64xf32>
  } else {
    scf.yield %x : tensor<?x64xf32>
  }
  %target = arith.maxui %rows, %rows1 : index
  %one = arith.cmpi eq, %rows, %c1 : index
  %xs = scf.if %one -> (tensor<?x64xf32>) {
    %e = tensor.empty(%target) : tensor<?x64xf32>
    %repeated = linalg.generic {indexing_maps = [#first, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x64xf32>) outs(%e : tensor<?x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<?x64xf32>
    scf.yield %repeated : tensor<?x64xf32>
  } else {
    scf.yield %x : tensor<?x64xf32>
  }
  %y = math.rsqrt %xs : tensor<?x64xf32>
  %last = linalg.add ins(%sum, %y : tensor<?x64xf32>, tensor<?x64xf32>) outs(%init : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y, %last : tensor<?x64xf32>, tensor<?x64xf32>
}

// A column, repeated without the dimension of one element that it has.
// CHECK-LABEL: func @repeated_column(
// CHECK-SAME:    %[[X:.+]]: tensor<?x?x1xf32>
// CHECK-NOT:     scf.if
// CHECK:         math.rsqrt %[[X]]
func.func @repeated_column(%x: tensor<?x?x1xf32>) -> tensor<?x?x1xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %x, %c0 : tensor<?x?x1xf32>
  %rows = tensor.dim %x, %c1 : tensor<?x?x1xf32>
  %one = arith.cmpi eq, %rows, %c1 : index
  %xs = scf.if %one -> (tensor<?x?x1xf32>) {
    %flat = tensor.collapse_shape %x [[0], [1, 2]] : tensor<?x?x1xf32> into tensor<?x?xf32>
    %e = tensor.empty(%batch, %rows) : tensor<?x?xf32>
    %repeated = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, #id], iterator_types = ["parallel", "parallel"]} ins(%flat : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<?x?xf32>
    %column = tensor.expand_shape %repeated [[0], [1, 2]] output_shape [%batch, %rows, 1] : tensor<?x?xf32> into tensor<?x?x1xf32>
    scf.yield %column : tensor<?x?x1xf32>
  } else {
    scf.yield %x : tensor<?x?x1xf32>
  }
  %y = math.rsqrt %xs : tensor<?x?x1xf32>
  return %y : tensor<?x?x1xf32>
}

// What is expanded may come out in another shape.
// CHECK-LABEL: func @repeated_in_another_shape(
// CHECK:         %[[XS:.+]] = scf.if
// CHECK:         math.rsqrt %[[XS]]
func.func @repeated_in_another_shape(%x: tensor<?x?xf32>, %rows: index, %columns: index) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  %size = tensor.dim %flat, %c0 : tensor<?xf32>
  %one = arith.cmpi eq, %size, %c1 : index
  %xs = scf.if %one -> (tensor<?x?xf32>) {
    %e = tensor.empty(%size) : tensor<?xf32>
    %repeated = linalg.generic {indexing_maps = [affine_map<(d0) -> (0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%flat : tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<?xf32>
    %shaped = tensor.expand_shape %repeated [[0, 1]] output_shape [%rows, %columns] : tensor<?xf32> into tensor<?x?xf32>
    scf.yield %shaped : tensor<?x?xf32>
  } else {
    scf.yield %x : tensor<?x?xf32>
  }
  %y = math.rsqrt %xs : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
