// RUN: flashnorm-opt %s --flashnorm-raise-norms | FileCheck %s
// RUN: flashnorm-opt %models/llama_block.mlir --flashnorm-raise-norms | FileCheck %s --check-prefix=LLAMA --implicit-check-not=rsqrt
// RUN: flashnorm-opt %models/rec_tower.mlir --flashnorm-raise-norms | FileCheck %s --check-prefix=TOWER --implicit-check-not=rsqrt

// LLAMA-COUNT-2: flashnorm.rms_norm ins(%{{.+}} : tensor<1x?x256xbf16>) weight(%{{.+}} : tensor<256xbf16>) outs(%{{.+}} : tensor<1x?x256xbf16>) {cast = #flashnorm.cast_position<before_affine>
// LLAMA-NOT:     flashnorm.rms_norm

// TOWER:         flashnorm.layer_norm ins(%{{.+}} : tensor<?x128xbf16>)
// TOWER:         flashnorm.rms_norm ins(%{{.+}} : tensor<?x128xbf16>)
// TOWER:         flashnorm.layer_norm ins(%{{.+}} : tensor<?x256xbf16>)
// TOWER:         flashnorm.rms_norm ins(%{{.+}} : tensor<?x256xbf16>)
// TOWER:         flashnorm.layer_norm ins(%{{.+}} : tensor<?x512xbf16>)
// TOWER:         flashnorm.rms_norm ins(%{{.+}} : tensor<?x512xbf16>)
// TOWER-NOT:     {{flashnorm\..*_norm}}

#id2 = affine_map<(d0, d1) -> (d0, d1)>
#row2 = affine_map<(d0, d1) -> (d0)>

// One norm, three consumers.
// CHECK-LABEL: func @shared(
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm
// CHECK-NOT:     flashnorm
// CHECK:         return %[[Y]], %[[Y]], %[[Y]]
func.func @shared(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y, %y, %y : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>
}

// The residual sum in front of the norm has users of its own; it stays, and
// the norm reads it.
// CHECK-LABEL: func @residual(
// CHECK:         %[[SUM:.+]] = arith.addf %{{.+}}, %{{.+}} : tensor<8x64xf32>
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm ins(%[[SUM]] : tensor<8x64xf32>)
// CHECK:         return %[[Y]], %[[SUM]]
func.func @residual(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %x = arith.addf %a, %b : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y, %x : tensor<8x64xf32>, tensor<8x64xf32>
}

// The reciprocal root is returned too: a result of the norm.
// CHECK-LABEL: func @returned_statistic(
// CHECK-NOT:     math.rsqrt
// CHECK:         %[[Y:.+]]:2 = flashnorm.rms_norm {{.*}} -> tensor<8x64xf32>, tensor<8xf32>
// CHECK-NOT:     arith.mulf
// CHECK:         return %[[Y]]#0, %[[Y]]#1
func.func @returned_statistic(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = math.absf %x : tensor<8x64xf32>
  %two = arith.constant dense<2.0> : tensor<8x64xf32>
  %power = math.powf %square, %two : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%power : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y, %r : tensor<8x64xf32>, tensor<8xf32>
}

// The normalised value is used with and without its weight: two norms of one x.
// CHECK-LABEL: func @normalised_value_used(
// CHECK-SAME:    %[[X:.+]]: tensor<8x64xf32>, %[[W:.+]]: tensor<64xf32>)
// CHECK-DAG:     %[[Z:.+]] = flashnorm.rms_norm ins(%[[X]] : tensor<8x64xf32>) outs
// CHECK-DAG:     %[[Y:.+]] = flashnorm.rms_norm ins(%[[X]] : tensor<8x64xf32>) weight(%[[W]] : tensor<64xf32>) outs
// CHECK-NOT:     math.rsqrt
// CHECK:         return %[[Y]], %[[Z]]
func.func @normalised_value_used(%x: tensor<8x64xf32>, %w: tensor<64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %z = arith.mulf %x, %rows : tensor<8x64xf32>
  %ws = linalg.broadcast ins(%w : tensor<64xf32>) outs(%e : tensor<8x64xf32>) dimensions = [0]
  %y = arith.mulf %z, %ws : tensor<8x64xf32>
  return %y, %z : tensor<8x64xf32>, tensor<8x64xf32>
}

// A bf16 rounding followed by an f32 weight is neither position of the cast:
// the norm ends at the rounding, and the weight stays.
// CHECK-LABEL: func @f32_weight_after_rounding(
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm ins(%{{.+}} : tensor<8x64xbf16>) outs(%{{.+}} : tensor<8x64xbf16>)
// CHECK:         %[[WIDE:.+]] = arith.extf %[[Y]]
// CHECK:         arith.mulf %[[WIDE]]
func.func @f32_weight_after_rounding(%x: tensor<8x64xbf16>, %w: tensor<64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %wide = arith.extf %x : tensor<8x64xbf16> to tensor<8x64xf32>
  %square = arith.mulf %wide, %wide : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %scaled = arith.mulf %wide, %rows : tensor<8x64xf32>
  %rounded = arith.truncf %scaled : tensor<8x64xf32> to tensor<8x64xbf16>
  %again = arith.extf %rounded : tensor<8x64xbf16> to tensor<8x64xf32>
  %ws = linalg.broadcast ins(%w : tensor<64xf32>) outs(%e : tensor<8x64xf32>) dimensions = [0]
  %y = arith.mulf %again, %ws : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// A weight that is not a vector over the row is applied after the norm: one of
// shape [S, D], and one of a single element.
// CHECK-LABEL: func @other_weights(
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm ins(%{{.+}} : tensor<8x64xf32>) outs
// CHECK:         %[[Z:.+]] = arith.mulf %[[Y]], %{{.+}}
// CHECK:         arith.mulf %[[Z]], %{{.+}}
func.func @other_weights(%x: tensor<8x64xf32>, %w: tensor<8x64xf32>, %scalar: tensor<f32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  %z = arith.mulf %y, %w : tensor<8x64xf32>
  %s = linalg.broadcast ins(%scalar : tensor<f32>) outs(%e : tensor<8x64xf32>) dimensions = [0, 1]
  %scaled = arith.mulf %z, %s : tensor<8x64xf32>
  return %scaled : tensor<8x64xf32>
}

// The product is larger than x: the norm has the shape of x and is broadcast.
// CHECK-LABEL: func @product_enlarges_shape(
// CHECK-SAME:    %[[X:.+]]: tensor<64xf32>
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm ins(%[[X]] : tensor<64xf32>) outs(%{{.+}} : tensor<64xf32>)
// CHECK:         linalg.generic {{.*}} ins({{.*}}%[[Y]] : {{.*}}tensor<64xf32>) outs(%{{.+}} : tensor<8x64xf32>)
func.func @product_enlarges_shape(%x: tensor<64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 1.0e-05 : f32
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<64xf32>) outs(%zero : tensor<f32>) dimensions = [0]
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> ()>, #id2], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64xf32>, tensor<f32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.divf %in_0, %n : f32
    %1 = arith.addf %0, %eps : f32
    %2 = math.rsqrt %1 : f32
    %3 = arith.mulf %in, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The normalised value is rounded to f8 before it meets a weight: that rounding
// stays, and the weight is none of the norm's.
// CHECK-LABEL: func @normalised_in_f8(
// CHECK:         %[[N:.+]] = flashnorm.rms_norm ins(%{{.+}} : tensor<8x64xf32>) outs(
// CHECK:         %[[R:.+]] = arith.truncf %[[N]] : tensor<8x64xf32> to tensor<8x64xf8E5M2>
// CHECK:         %[[X:.+]] = arith.extf %[[R]]
// CHECK:         arith.mulf %[[X]],
func.func @normalised_in_f8(%x: tensor<8x64xf32>, %w: tensor<64xbf16>) -> tensor<8x64xbf16> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %eb = tensor.empty() : tensor<8x64xbf16>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %z = arith.mulf %x, %rows : tensor<8x64xf32>
  %z8 = arith.truncf %z : tensor<8x64xf32> to tensor<8x64xf8E5M2>
  %zb = arith.extf %z8 : tensor<8x64xf8E5M2> to tensor<8x64xbf16>
  %ws = linalg.broadcast ins(%w : tensor<64xbf16>) outs(%eb : tensor<8x64xbf16>) dimensions = [0]
  %y = arith.mulf %zb, %ws : tensor<8x64xbf16>
  return %y : tensor<8x64xbf16>
}

// The narrowest tensor that holds x does not say how long its rows are: it is
// cast.
// CHECK-LABEL: func @input_behind_cast(
// CHECK-SAME:    %[[X0:.+]]: tensor<?x?xbf16>
// CHECK:         %[[X:.+]] = tensor.cast %[[X0]] : tensor<?x?xbf16> to tensor<?x64xbf16>
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm ins(%[[X]] : tensor<?x64xbf16>)
// CHECK:         return %[[Y]]
func.func @input_behind_cast(%x0: tensor<?x?xbf16>, %row: tensor<?xf32>, %like: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %xe = arith.extf %x0 : tensor<?x?xbf16> to tensor<?x?xf32>
  %x = tensor.cast %xe : tensor<?x?xf32> to tensor<?x64xf32>
  %row0 = linalg.fill ins(%zero : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i)>], iterator_types = ["parallel","reduction"]} ins(%x : tensor<?x64xf32>) outs(%row0 : tensor<?xf32>) {
  ^bb0(%b: f32, %acc: f32):
    %s = arith.mulf %b, %b : f32
    %d = arith.addf %acc, %s : f32
    linalg.yield %d : f32
  } -> tensor<?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%x, %sum : tensor<?x64xf32>, tensor<?xf32>) outs(%like : tensor<?x64xf32>) {
  ^bb0(%b: f32, %q: f32, %o: f32):
    %mean = arith.divf %q, %n : f32
    %e = arith.addf %mean, %eps : f32
    %r = math.rsqrt %e : f32
    %z = arith.mulf %b, %r : f32
    linalg.yield %z : f32
  } -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// x's type does not say the length of its rows: the sum's loop does.
// CHECK-LABEL: func @dynamic_row(
// CHECK-SAME:    %[[X:.+]]: tensor<?x?xf32>, %[[W:.+]]: tensor<64xf32>
// CHECK:         %[[ROWS:.+]] = tensor.cast %[[X]] : tensor<?x?xf32> to tensor<?x64xf32>
// CHECK:         flashnorm.rms_norm ins(%[[ROWS]] : tensor<?x64xf32>) weight(%[[W]] : tensor<64xf32>)
func.func @dynamic_row(%x: tensor<?x?xf32>, %w: tensor<64xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %k = tensor.dim %x, %c1 : tensor<?x?xf32>
  %row = tensor.empty(%m) : tensor<?xf32>
  %like = tensor.empty(%m, %k) : tensor<?x?xf32>
  %row0 = linalg.fill ins(%zero : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%w, %x : tensor<64xf32>, tensor<?x?xf32>) outs(%row0 : tensor<?xf32>) {
  ^bb0(%g: f32, %a: f32, %acc: f32):
    %s = arith.mulf %a, %a : f32
    %d = arith.addf %acc, %s : f32
    linalg.yield %d : f32
  } -> tensor<?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %sum, %w : tensor<?x?xf32>, tensor<?xf32>, tensor<64xf32>) outs(%like : tensor<?x?xf32>) {
  ^bb0(%a: f32, %q: f32, %g: f32, %o: f32):
    %mean = arith.divf %q, %n : f32
    %p = arith.addf %mean, %eps : f32
    %r = math.rsqrt %p : f32
    %z = arith.mulf %a, %r : f32
    %zg = arith.mulf %z, %g : f32
    linalg.yield %zg : f32
  } -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// Weights of a row of two dimensions that are not vectors over it: stored in the
// other order, though as many, and along one of the two. They stay.
// CHECK-LABEL: func @weights_of_part_of_a_row(
// CHECK:         flashnorm.rms_norm ins(%{{.+}} : tensor<4x256xf32>) outs(
// CHECK-NOT:     flashnorm
// CHECK:         arith.mulf
// CHECK:         arith.mulf
func.func @weights_of_part_of_a_row(%x: tensor<4x16x16xf32>, %w: tensor<16x16xf32>, %v: tensor<16xf32>) -> tensor<4x16x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %n = arith.constant dense<256.0> : tensor<4xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<4xf32>
  %e = tensor.empty() : tensor<4x16x16xf32>
  %square = arith.mulf %x, %x : tensor<4x16x16xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<4x16x16xf32>) outs(%zero : tensor<4xf32>) dimensions = [1, 2]
  %mean = arith.divf %sum, %n : tensor<4xf32>
  %var = arith.addf %mean, %eps : tensor<4xf32>
  %r = math.rsqrt %var : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %r, %w, %v : tensor<4x16x16xf32>, tensor<4xf32>, tensor<16x16xf32>, tensor<16xf32>) outs(%e : tensor<4x16x16xf32>) {
  ^bb0(%a: f32, %s: f32, %g: f32, %h: f32, %o: f32):
    %z = arith.mulf %a, %s : f32
    %zg = arith.mulf %z, %g : f32
    %zh = arith.mulf %zg, %h : f32
    linalg.yield %zh : f32
  } -> tensor<4x16x16xf32>
  return %y : tensor<4x16x16xf32>
}

// tosa repeats a dimension that has one element when it runs: this weight may be
// a scalar.
// CHECK-LABEL: func @weight_of_unknown_length(
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm ins(%{{.+}} : tensor<8x64xf32>) outs(
// CHECK:         tosa.mul %[[Y]], %{{.+}}
func.func @weight_of_unknown_length(%x: tensor<8x64xf32>, %w: tensor<1x?xf32>) -> tensor<8x64xf32> {
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %n = "tosa.const"() <{values = dense<0.015625> : tensor<8x1xf32>}> : () -> tensor<8x1xf32>
  %eps = "tosa.const"() <{values = dense<1.0e-05> : tensor<8x1xf32>}> : () -> tensor<8x1xf32>
  %sq = tosa.mul %x, %x, %shift : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<1xi8>) -> tensor<8x64xf32>
  %s = tosa.reduce_sum %sq {axis = 1 : i32} : (tensor<8x64xf32>) -> tensor<8x1xf32>
  %m = tosa.mul %s, %n, %shift : (tensor<8x1xf32>, tensor<8x1xf32>, tensor<1xi8>) -> tensor<8x1xf32>
  %me = tosa.add %m, %eps : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
  %r = tosa.rsqrt %me : (tensor<8x1xf32>) -> tensor<8x1xf32>
  %z = tosa.mul %x, %r, %shift : (tensor<8x64xf32>, tensor<8x1xf32>, tensor<1xi8>) -> tensor<8x64xf32>
  %y = tosa.mul %z, %w, %shift : (tensor<8x64xf32>, tensor<1x?xf32>, tensor<1xi8>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// AdaLN: a scale per sample is no weight of the norm.
// CHECK-LABEL: func @weight_per_sample(
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm ins(%{{.+}} : tensor<2x8x64xf32>) outs(
// CHECK:         linalg.generic {{.*}} ins(%{{.+}}, %[[Y]] :
func.func @weight_per_sample(%x: tensor<2x8x64xf32>, %w: tensor<2x1x64xf32>) -> tensor<2x8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<2x8xf32>
  %n = arith.constant dense<64.0> : tensor<2x8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<2x8xf32>
  %e = tensor.empty() : tensor<2x8x64xf32>
  %square = arith.mulf %x, %x : tensor<2x8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<2x8x64xf32>) outs(%zero : tensor<2x8xf32>) dimensions = [2]
  %mean = arith.divf %sum, %n : tensor<2x8xf32>
  %var = arith.addf %mean, %eps : tensor<2x8xf32>
  %r = math.rsqrt %var : tensor<2x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, 0, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %r, %w : tensor<2x8x64xf32>, tensor<2x8xf32>, tensor<2x1x64xf32>) outs(%e : tensor<2x8x64xf32>) {
  ^bb0(%a: f32, %s: f32, %g: f32, %o: f32):
    %z = arith.mulf %a, %s : f32
    %zg = arith.mulf %z, %g : f32
    linalg.yield %zg : f32
  } -> tensor<2x8x64xf32>
  return %y : tensor<2x8x64xf32>
}

// A producer that widens from f8 is not narrowed: no norm op reads that type.
// CHECK-LABEL: func @widened_from_f8(
// CHECK:         flashnorm.rms_norm ins(%{{.*}} : tensor<8x64xf32>)
func.func @widened_from_f8(%a: tensor<8x64xf8E4M3FN>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x64xf8E4M3FN>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%in: f8E4M3FN, %out: f32):
    %s = arith.addf %in, %in : f8E4M3FN
    %w = arith.extf %s : f8E4M3FN to f32
    linalg.yield %w : f32
  } -> tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// What the producer widens is a constant from outside of its body.
// CHECK-LABEL: func @widened_constant(
// CHECK:         flashnorm.rms_norm ins(%{{.*}} : tensor<8x64xbf16>)
func.func @widened_constant(%a: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %two = arith.constant 2.0 : bf16
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %w = arith.extf %two : bf16 to f32
    linalg.yield %w : f32
  } -> tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// Something else in the body reads what is widened.
// CHECK-LABEL: func @widened_and_read(
// CHECK:         flashnorm.rms_norm ins(%{{.*}} : tensor<8x64xbf16>)
func.func @widened_and_read(%a: tensor<8x64xbf16>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x64xbf16>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %w = arith.extf %in : bf16 to f32
    %unused = arith.negf %w : f32
    linalg.yield %w : f32
  } -> tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}
