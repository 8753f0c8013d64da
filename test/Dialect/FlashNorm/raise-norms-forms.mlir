// Forms of a norm, each once. raise-norms-passes.test takes the file through
// upstream's passes, and Integration/CPU/raised-forms.test runs each function as
// it was and as it is raised.
// RUN: flashnorm-opt %s --flashnorm-raise-norms --canonicalize --cse | FileCheck %s --implicit-check-not=rsqrt --implicit-check-not=math.powf --implicit-check-not=math.sqrt

#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>
#row3 = affine_map<(i, j, k) -> (i, j)>
#keep3 = affine_map<(i, j, k) -> (i, j, 0)>
#one3 = affine_map<(i, j, k) -> (i)>
#col3 = affine_map<(i, j, k) -> (k)>
#cols3 = affine_map<(i, j, k) -> (j, k)>
#all3 = affine_map<(i, j, k) -> (i, j, k)>

// No epsilon.
// CHECK-LABEL: func @rms_no_epsilon(
// CHECK:         flashnorm.rms_norm {{.*}} {eps = 0.000000e+00 : f64}
func.func @rms_no_epsilon(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %r = math.rsqrt %mean : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The standard deviation is divided by.
// CHECK-LABEL: func @layer_no_epsilon(
// CHECK:         flashnorm.layer_norm {{.*}} {eps = 0.000000e+00 : f64}
func.func @layer_no_epsilon(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %s, %n : tensor<8xf32>
  %means = linalg.broadcast ins(%mean : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %c = arith.subf %x, %means : tensor<8x64xf32>
  %square = arith.mulf %c, %c : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %var = arith.divf %sum, %n : tensor<8xf32>
  %std = math.sqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%std : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.divf %c, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The statistics are of a view with collapsed rows, the product is not.
// CHECK-LABEL: func @collapsed_statistics(
// CHECK-SAME:    %[[X:.+]]: tensor<?x8x64xf32>
// CHECK:         flashnorm.rms_norm ins(%[[X]] : tensor<?x8x64xf32>)
func.func @collapsed_statistics(%x: tensor<?x8x64xf32>) -> tensor<?x8x64xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %b = tensor.dim %x, %c0 : tensor<?x8x64xf32>
  %flat = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x8x64xf32> into tensor<?x64xf32>
  %m = tensor.dim %flat, %c0 : tensor<?x64xf32>
  %row = tensor.empty(%m) : tensor<?xf32>
  %row0 = linalg.fill ins(%zero : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%flat : tensor<?x64xf32>) outs(%row0 : tensor<?xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.mulf %a, %a : f32
    %d = arith.addf %acc, %s : f32
    linalg.yield %d : f32
  } -> tensor<?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%sum : tensor<?xf32>) outs(%row : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.divf %a, %n : f32
    %p = arith.addf %q, %eps : f32
    %t = math.rsqrt %p : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  %kept = tensor.expand_shape %r [[0, 1]] output_shape [%b, 8] : tensor<?xf32> into tensor<?x8xf32>
  %like = tensor.empty(%b) : tensor<?x8x64xf32>
  %y = linalg.generic {indexing_maps = [#all3, #row3, #all3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %kept : tensor<?x8x64xf32>, tensor<?x8xf32>) outs(%like : tensor<?x8x64xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %z = arith.mulf %a, %s : f32
    linalg.yield %z : f32
  } -> tensor<?x8x64xf32>
  return %y : tensor<?x8x64xf32>
}

// The other way round.
// CHECK-LABEL: func @collapsed_product(
// CHECK-SAME:    %[[X:.+]]: tensor<2x3x8x64xf32>
// CHECK:         %[[FLAT:.+]] = tensor.collapse_shape %[[X]]
// CHECK:         flashnorm.layer_norm ins(%[[FLAT]] : tensor<48x64xf32>)
func.func @collapsed_product(%x: tensor<2x3x8x64xf32>) -> tensor<48x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<2x3x8xf32>
  %n = arith.constant dense<64.0> : tensor<2x3x8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<2x3x8xf32>
  %e = tensor.empty() : tensor<2x3x8x64xf32>
  %ef = tensor.empty() : tensor<48x64xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<2x3x8x64xf32>) outs(%zero : tensor<2x3x8xf32>) dimensions = [3]
  %mean = arith.divf %s, %n : tensor<2x3x8xf32>
  %means = linalg.broadcast ins(%mean : tensor<2x3x8xf32>) outs(%e : tensor<2x3x8x64xf32>) dimensions = [3]
  %c = arith.subf %x, %means : tensor<2x3x8x64xf32>
  %square = arith.mulf %c, %c : tensor<2x3x8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<2x3x8x64xf32>) outs(%zero : tensor<2x3x8xf32>) dimensions = [3]
  %var = arith.divf %sum, %n : tensor<2x3x8xf32>
  %sh = arith.addf %var, %eps : tensor<2x3x8xf32>
  %r = math.rsqrt %sh : tensor<2x3x8xf32>
  %flat = tensor.collapse_shape %x [[0, 1, 2], [3]] : tensor<2x3x8x64xf32> into tensor<48x64xf32>
  %meanf = tensor.collapse_shape %mean [[0, 1, 2]] : tensor<2x3x8xf32> into tensor<48xf32>
  %rf = tensor.collapse_shape %r [[0, 1, 2]] : tensor<2x3x8xf32> into tensor<48xf32>
  %meansf = linalg.broadcast ins(%meanf : tensor<48xf32>) outs(%ef : tensor<48x64xf32>) dimensions = [1]
  %rows = linalg.broadcast ins(%rf : tensor<48xf32>) outs(%ef : tensor<48x64xf32>) dimensions = [1]
  %cf = arith.subf %flat, %meansf : tensor<48x64xf32>
  %y = arith.mulf %cf, %rows : tensor<48x64xf32>
  return %y : tensor<48x64xf32>
}

// TensorFlow multiplies the difference out:
// x * (r * gamma) + (beta - mean * (r * gamma)).
// CHECK-LABEL: func @expanded(
// CHECK-SAME:    %[[X:.+]]: tensor<8x64xf32>, %[[G:.+]]: tensor<64xf32>, %[[B:.+]]: tensor<64xf32>
// CHECK:         flashnorm.layer_norm ins(%[[X]] : tensor<8x64xf32>) weight(%[[G]] : tensor<64xf32>) bias(%[[B]] : tensor<64xf32>)
// CHECK-NOT:     arith
// CHECK:         return
func.func @expanded(%x: tensor<8x64xf32>, %gamma: tensor<64xf32>, %beta: tensor<64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<1.562500e-02> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-03> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.mulf %s, %n : tensor<8xf32>
  %means = linalg.broadcast ins(%mean : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %c = arith.subf %x, %means : tensor<8x64xf32>
  %square = arith.mulf %c, %c : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %var = arith.mulf %sum, %n : tensor<8xf32>
  %sh = arith.addf %var, %eps : tensor<8xf32>
  %r = math.rsqrt %sh : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %g = linalg.broadcast ins(%gamma : tensor<64xf32>) outs(%e : tensor<8x64xf32>) dimensions = [0]
  %bb = linalg.broadcast ins(%beta : tensor<64xf32>) outs(%e : tensor<8x64xf32>) dimensions = [0]
  %f = arith.mulf %rows, %g : tensor<8x64xf32>
  %xf = arith.mulf %x, %f : tensor<8x64xf32>
  %mf = arith.mulf %means, %f : tensor<8x64xf32>
  %shift = arith.subf %bb, %mf : tensor<8x64xf32>
  %y = arith.addf %xf, %shift : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The same without affine, in bf16 with one rounding.
// CHECK-LABEL: func @expanded_plain(
// CHECK:         flashnorm.layer_norm ins(%{{.+}} : tensor<8x64xbf16>) outs(%{{.+}} : tensor<8x64xbf16>)
func.func @expanded_plain(%x0: tensor<8x64xbf16>) -> tensor<8x64xbf16> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %x = arith.extf %x0 : tensor<8x64xbf16> to tensor<8x64xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %s, %n : tensor<8xf32>
  %means = linalg.broadcast ins(%mean : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %c = arith.subf %x, %means : tensor<8x64xf32>
  %square = arith.mulf %c, %c : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %var = arith.divf %sum, %n : tensor<8xf32>
  %sh = arith.addf %var, %eps : tensor<8xf32>
  %r = math.rsqrt %sh : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %xf = arith.mulf %x, %rows : tensor<8x64xf32>
  %mf = arith.mulf %rows, %means : tensor<8x64xf32>
  %d = arith.subf %xf, %mf : tensor<8x64xf32>
  %y = arith.truncf %d : tensor<8x64xf32> to tensor<8x64xbf16>
  return %y : tensor<8x64xbf16>
}

// The weight's type does not say its length: the loop does, which x gives.
// CHECK-LABEL: func @dynamic_weight(
// CHECK-SAME:    %[[X:.+]]: tensor<?x64xf32>, %[[W:.+]]: tensor<?xf32>
// CHECK:         %[[V:.+]] = tensor.cast %[[W]] : tensor<?xf32> to tensor<64xf32>
// CHECK:         flashnorm.rms_norm ins(%[[X]] : tensor<?x64xf32>) weight(%[[V]] : tensor<64xf32>)
func.func @dynamic_weight(%x: tensor<?x64xf32>, %w: tensor<?xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %m = tensor.dim %x, %c0 : tensor<?x64xf32>
  %row = tensor.empty(%m) : tensor<?xf32>
  %like = tensor.empty(%m) : tensor<?x64xf32>
  %row0 = linalg.fill ins(%zero : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x64xf32>) outs(%row0 : tensor<?xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.mulf %a, %a : f32
    %d = arith.addf %acc, %s : f32
    linalg.yield %d : f32
  } -> tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #col, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %sum, %w : tensor<?x64xf32>, tensor<?xf32>, tensor<?xf32>) outs(%like : tensor<?x64xf32>) {
  ^bb0(%a: f32, %q: f32, %g: f32, %o: f32):
    %mean = arith.divf %q, %n : f32
    %p = arith.addf %mean, %eps : f32
    %r = math.rsqrt %p : f32
    %z = arith.mulf %a, %r : f32
    %zg = arith.mulf %z, %g : f32
    linalg.yield %zg : f32
  } -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// Rows of two dimensions, as nn.LayerNorm([8, 16]) has: collapsing is free.
// CHECK-LABEL: func @two_dimensions(
// CHECK-SAME:    %[[X:.+]]: tensor<?x8x16xf32>, %[[G:.+]]: tensor<8x16xf32>, %[[B:.+]]: tensor<8x16xf32>
// CHECK-DAG:     %[[ROWS:.+]] = tensor.collapse_shape %[[X]] {{\[}}[0], [1, 2]] : tensor<?x8x16xf32> into tensor<?x128xf32>
// CHECK-DAG:     %[[GV:.+]] = tensor.collapse_shape %[[G]] {{\[}}[0, 1]]
// CHECK-DAG:     %[[BV:.+]] = tensor.collapse_shape %[[B]] {{\[}}[0, 1]]
// CHECK:         %[[Y:.+]] = flashnorm.layer_norm ins(%[[ROWS]] : tensor<?x128xf32>) weight(%[[GV]] : tensor<128xf32>) bias(%[[BV]] : tensor<128xf32>)
// CHECK:         tensor.expand_shape %[[Y]] {{\[}}[0], [1, 2]]
func.func @two_dimensions(%x: tensor<?x8x16xf32>, %gamma: tensor<8x16xf32>, %beta: tensor<8x16xf32>) -> tensor<?x8x16xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 128.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %m = tensor.dim %x, %c0 : tensor<?x8x16xf32>
  %row = tensor.empty(%m) : tensor<?xf32>
  %like = tensor.empty(%m) : tensor<?x8x16xf32>
  %row0 = linalg.fill ins(%zero : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [#all3, #one3], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : tensor<?x8x16xf32>) outs(%row0 : tensor<?xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %d = arith.addf %acc, %a : f32
    linalg.yield %d : f32
  } -> tensor<?xf32>
  %c = linalg.generic {indexing_maps = [#all3, #one3, #all3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %sum : tensor<?x8x16xf32>, tensor<?xf32>) outs(%like : tensor<?x8x16xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %mean = arith.divf %s, %n : f32
    %d = arith.subf %a, %mean : f32
    linalg.yield %d : f32
  } -> tensor<?x8x16xf32>
  %squares = linalg.generic {indexing_maps = [#all3, #one3], iterator_types = ["parallel", "reduction", "reduction"]} ins(%c : tensor<?x8x16xf32>) outs(%row0 : tensor<?xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.mulf %a, %a : f32
    %d = arith.addf %acc, %s : f32
    linalg.yield %d : f32
  } -> tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#all3, #one3, #cols3, #cols3, #all3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%c, %squares, %gamma, %beta : tensor<?x8x16xf32>, tensor<?xf32>, tensor<8x16xf32>, tensor<8x16xf32>) outs(%like : tensor<?x8x16xf32>) {
  ^bb0(%a: f32, %q: f32, %g: f32, %b: f32, %o: f32):
    %var = arith.divf %q, %n : f32
    %p = arith.addf %var, %eps : f32
    %r = math.rsqrt %p : f32
    %z = arith.mulf %a, %r : f32
    %zg = arith.mulf %z, %g : f32
    %zb = arith.addf %zg, %b : f32
    linalg.yield %zb : f32
  } -> tensor<?x8x16xf32>
  return %y : tensor<?x8x16xf32>
}

// The same in named ops; the sum's dimensions are listed backwards.
// CHECK-LABEL: func @two_dimensions_named(
// CHECK:         flashnorm.rms_norm ins(%{{.+}} : tensor<4x128xf32>)
func.func @two_dimensions_named(%x: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %n = arith.constant dense<128.0> : tensor<4xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<4xf32>
  %e = tensor.empty() : tensor<4x8x16xf32>
  %square = arith.mulf %x, %x : tensor<4x8x16xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<4x8x16xf32>) outs(%zero : tensor<4xf32>) dimensions = [1, 2]
  %mean = arith.divf %sum, %n : tensor<4xf32>
  %var = arith.addf %mean, %eps : tensor<4xf32>
  %r = math.rsqrt %var : tensor<4xf32>
  %rows = linalg.broadcast ins(%r : tensor<4xf32>) outs(%e : tensor<4x8x16xf32>) dimensions = [1, 2]
  %y = arith.mulf %x, %rows : tensor<4x8x16xf32>
  return %y : tensor<4x8x16xf32>
}

// Channels are in the middle, but x is a transposition of a tensor that has
// them last, and the result is transposed back.
// CHECK-LABEL: func @channels_first(
// CHECK-SAME:    %[[X:.+]]: tensor<2x9x64xf32>
// CHECK:         flashnorm.rms_norm ins(%[[X]] : tensor<2x9x64xf32>)
func.func @channels_first(%last: tensor<2x9x64xf32>) -> tensor<2x9x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<2x9xf32>
  %n = arith.constant dense<64.0> : tensor<2x9xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<2x9xf32>
  %e = tensor.empty() : tensor<2x64x9xf32>
  %el = tensor.empty() : tensor<2x9x64xf32>
  %x = linalg.transpose ins(%last : tensor<2x9x64xf32>) outs(%e : tensor<2x64x9xf32>) permutation = [0, 2, 1]
  %square = arith.mulf %x, %x : tensor<2x64x9xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<2x64x9xf32>) outs(%zero : tensor<2x9xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<2x9xf32>
  %var = arith.addf %mean, %eps : tensor<2x9xf32>
  %r = math.rsqrt %var : tensor<2x9xf32>
  %rows = linalg.broadcast ins(%r : tensor<2x9xf32>) outs(%e : tensor<2x64x9xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<2x64x9xf32>
  %back = linalg.transpose ins(%y : tensor<2x64x9xf32>) outs(%el : tensor<2x9x64xf32>) permutation = [0, 2, 1]
  return %back : tensor<2x9x64xf32>
}

// Widened long before, rounded after a further op: the norm is of f32 with a
// bf16 x, and the rounding belongs to what follows.
// CHECK-LABEL: func @early_and_late_casts(
// CHECK-SAME:    %[[X:.+]]: tensor<8x64xbf16>, %[[R:.+]]: tensor<8x64xf32>, %[[W:.+]]: tensor<1x1x64xf32>
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm ins(%[[X]] : tensor<8x64xbf16>) weight(%{{.+}} : tensor<64xf32>) outs(%{{.+}} : tensor<8x64xf32>)
// CHECK:         arith.truncf
func.func @early_and_late_casts(%x0: tensor<8x64xbf16>, %res: tensor<8x64xf32>, %w: tensor<1x1x64xf32>) -> tensor<8x64xbf16> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8x1xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %x = arith.extf %x0 : tensor<8x64xbf16> to tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %kept = tensor.expand_shape %mean [[0, 1]] output_shape [8, 1] : tensor<8xf32> into tensor<8x1xf32>
  %var = arith.addf %kept, %eps : tensor<8x1xf32>
  %root = math.sqrt %var : tensor<8x1xf32>
  %flat = tensor.collapse_shape %root [[0, 1]] : tensor<8x1xf32> into tensor<8xf32>
  %rows = linalg.broadcast ins(%flat : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %wv = tensor.collapse_shape %w [[0, 1, 2]] : tensor<1x1x64xf32> into tensor<64xf32>
  %g = linalg.broadcast ins(%wv : tensor<64xf32>) outs(%e : tensor<8x64xf32>) dimensions = [0]
  %z = arith.divf %x, %rows : tensor<8x64xf32>
  %zg = arith.mulf %g, %z : tensor<8x64xf32>
  %s = arith.addf %zg, %res : tensor<8x64xf32>
  %y = arith.truncf %s : tensor<8x64xf32> to tensor<8x64xbf16>
  return %y : tensor<8x64xbf16>
}

// Gemma's weight by an op of its own.
// CHECK-LABEL: func @one_plus_weight(
// CHECK:         %[[W:.+]] = {{arith.addf|linalg.generic}}
// CHECK:         flashnorm.rms_norm {{.*}} weight(%{{.+}} : tensor<64xf32>)
func.func @one_plus_weight(%x: tensor<8x64xf32>, %w: tensor<64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %w1 = arith.addf %w, %one : tensor<64xf32>
  %g = linalg.broadcast ins(%w1 : tensor<64xf32>) outs(%e : tensor<8x64xf32>) dimensions = [0]
  %z = arith.mulf %x, %rows : tensor<8x64xf32>
  %y = arith.mulf %z, %g : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// Dynamic sizes, on tensors that a reshape of unit dimensions separates from x.
// CHECK-LABEL: func @dynamic_tensors(
// CHECK-SAME:    %[[X:.+]]: tensor<?x1x64xf32>
// CHECK:         flashnorm.rms_norm
func.func @dynamic_tensors(%x: tensor<?x1x64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x1x64xf32>
  %n0 = arith.constant 64.0 : f32
  %eps0 = arith.constant 1.0e-5 : f32
  %row = tensor.empty(%m) : tensor<?xf32>
  %like = tensor.empty(%m) : tensor<?x64xf32>
  %row0 = linalg.fill ins(%zero : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %n = linalg.fill ins(%n0 : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %eps = linalg.fill ins(%eps0 : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %square = arith.mulf %x, %x : tensor<?x1x64xf32>
  %flat = tensor.collapse_shape %square [[0, 1], [2]] : tensor<?x1x64xf32> into tensor<?x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%flat : tensor<?x64xf32>) outs(%row0 : tensor<?xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<?xf32>
  %var = arith.addf %mean, %eps : tensor<?xf32>
  %r = math.rsqrt %var : tensor<?xf32>
  %rows = linalg.broadcast ins(%r : tensor<?xf32>) outs(%like : tensor<?x64xf32>) dimensions = [1]
  %xf = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x64xf32> into tensor<?x64xf32>
  %y = arith.mulf %rows, %xf : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// Both sums in one op; the variance as the difference of two means.
// CHECK-LABEL: func @two_sums(
// CHECK:         flashnorm.layer_norm ins(%{{.+}} : tensor<8x64xf32>) weight(%{{.+}} : tensor<64xf32>)
func.func @two_sums(%x: tensor<8x64xf32>, %w: tensor<64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %e = tensor.empty() : tensor<8x64xf32>
  %s:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x64xf32>) outs(%zero, %zero : tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%a: f32, %acc: f32, %acc2: f32):
    %q = arith.mulf %a, %a : f32
    %d = arith.addf %acc, %a : f32
    %d2 = arith.addf %acc2, %q : f32
    linalg.yield %d, %d2 : f32, f32
  } -> (tensor<8xf32>, tensor<8xf32>)
  %y = linalg.generic {indexing_maps = [#all, #row, #row, #col, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %s#0, %s#1, %w : tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>, tensor<64xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%a: f32, %s1: f32, %s2: f32, %g: f32, %o: f32):
    %mean = arith.divf %s1, %n : f32
    %sq = arith.divf %s2, %n : f32
    %mm = arith.mulf %mean, %mean : f32
    %var = arith.subf %sq, %mm : f32
    %p = arith.addf %var, %eps : f32
    %r = math.rsqrt %p : f32
    %c = arith.subf %a, %mean : f32
    %z = arith.mulf %c, %r : f32
    %zg = arith.mulf %g, %z : f32
    linalg.yield %zg : f32
  } -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// linalg's named elementwise ops, with a reciprocal.
// CHECK-LABEL: func @named_elementwise(
// CHECK:         flashnorm.rms_norm ins(%{{.+}} : tensor<8x64xf32>)
func.func @named_elementwise(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %e1 = tensor.empty() : tensor<8xf32>
  %sq = linalg.square ins(%x : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%sq : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %m = linalg.div ins(%sum, %n : tensor<8xf32>, tensor<8xf32>) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %me = linalg.add ins(%m, %eps : tensor<8xf32>, tensor<8xf32>) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %rt = linalg.sqrt ins(%me : tensor<8xf32>) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.reciprocal ins(%rt : tensor<8xf32>) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = linalg.mul ins(%x, %rows : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}
