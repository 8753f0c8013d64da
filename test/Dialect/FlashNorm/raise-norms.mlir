// RUN: flashnorm-opt %s --flashnorm-raise-norms --remarks-filter=".*" \
// RUN:   --remark-policy=all 2> %t.remarks \
// RUN:   | FileCheck %s --implicit-check-not=rsqrt
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

#rows = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#keep = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#last = affine_map<(d0, d1, d2) -> (d2)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
#row2 = affine_map<(d0, d1) -> (d0)>
#col2 = affine_map<(d0, d1) -> (d1)>

// As Hugging Face's Llama in bf16: statistics in f32 with kept dimensions, the
// constant of epsilon in f64, rounded before the weight.
// CHECK-LABEL: func @rms_before_affine(
// CHECK-SAME:    %[[X:.+]]: tensor<1x?x256xbf16>, %[[W:.+]]: tensor<256xbf16>)
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm ins(%[[X]] : tensor<1x?x256xbf16>)
// CHECK-SAME:      weight(%[[W]] : tensor<256xbf16>)
// CHECK-SAME:      {cast = #flashnorm.cast_position<before_affine>, eps = 1.000000e-05 : f64}
// CHECK-NEXT:    return %[[Y]]
// REMARK: Function=rms_before_affine | Remark="raised to flashnorm.rms_norm over 256 elements"
func.func @rms_before_affine(%x: tensor<1x?x256xbf16>, %w: tensor<256xbf16>) -> tensor<1x?x256xbf16> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : i64
  %zero = arith.constant 0.0 : f32
  %eps = arith.constant 1.0e-05 : f64
  %n = arith.constant 256.0 : f32
  %dim = tensor.dim %x, %c1 : tensor<1x?x256xbf16>
  %f32 = tensor.empty(%dim) : tensor<1x?x256xf32>
  %wide = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<1x?x256xbf16>) outs(%f32 : tensor<1x?x256xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    linalg.yield %0 : f32
  } -> tensor<1x?x256xf32>
  %square = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel", "parallel"]} ins(%wide : tensor<1x?x256xf32>) outs(%f32 : tensor<1x?x256xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.fpowi %in, %c2 : f32, i64
    linalg.yield %0 : f32
  } -> tensor<1x?x256xf32>
  %stat = tensor.empty(%dim) : tensor<1x?x1xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%stat : tensor<1x?x1xf32>) -> tensor<1x?x1xf32>
  %sum = linalg.generic {indexing_maps = [#rows, #keep], iterator_types = ["parallel", "parallel", "reduction"]} ins(%square : tensor<1x?x256xf32>) outs(%fill : tensor<1x?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<1x?x1xf32>
  %mean = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel", "parallel"]} ins(%sum : tensor<1x?x1xf32>) outs(%stat : tensor<1x?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.divf %in, %n : f32
    linalg.yield %0 : f32
  } -> tensor<1x?x1xf32>
  %r = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel", "parallel"]} ins(%mean : tensor<1x?x1xf32>) outs(%stat : tensor<1x?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.truncf %eps : f64 to f32
    %1 = arith.addf %in, %0 : f32
    %2 = math.rsqrt %1 : f32
    linalg.yield %2 : f32
  } -> tensor<1x?x1xf32>
  %scaled = linalg.generic {indexing_maps = [#rows, #keep, #rows], iterator_types = ["parallel", "parallel", "parallel"]} ins(%wide, %r : tensor<1x?x256xf32>, tensor<1x?x1xf32>) outs(%f32 : tensor<1x?x256xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.mulf %in, %in_0 : f32
    linalg.yield %0 : f32
  } -> tensor<1x?x256xf32>
  %bf16 = tensor.empty(%dim) : tensor<1x?x256xbf16>
  %narrow = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel", "parallel"]} ins(%scaled : tensor<1x?x256xf32>) outs(%bf16 : tensor<1x?x256xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %0 = arith.truncf %in : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<1x?x256xbf16>
  %y = linalg.generic {indexing_maps = [#last, #rows, #rows], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w, %narrow : tensor<256xbf16>, tensor<1x?x256xbf16>) outs(%bf16 : tensor<1x?x256xbf16>) {
  ^bb0(%in: bf16, %in_0: bf16, %out: bf16):
    %0 = arith.mulf %in, %in_0 : bf16
    linalg.yield %0 : bf16
  } -> tensor<1x?x256xbf16>
  return %y : tensor<1x?x256xbf16>
}

// Weight in f32 (of another type than x), rounded after it. The mean is a
// product with 1/N; the root is divided by.
// CHECK-LABEL: func @rms_after_affine(
// CHECK-SAME:    %[[X:.+]]: tensor<8x64xbf16>, %[[W:.+]]: tensor<64xf32>
// CHECK:         flashnorm.rms_norm ins(%[[X]] : tensor<8x64xbf16>) weight(%[[W]] : tensor<64xf32>)
// CHECK-SAME:      outs(%{{.+}} : tensor<8x64xbf16>) {eps = 1.000000e-05 : f64}
// CHECK-NOT:     arith
// CHECK:         return
// REMARK: Function=rms_after_affine
func.func @rms_after_affine(%x: tensor<8x64xbf16>, %w: tensor<64xf32>) -> tensor<8x64xbf16> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %scale = arith.constant dense<0.015625> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %wide = arith.extf %x : tensor<8x64xbf16> to tensor<8x64xf32>
  %square = arith.mulf %wide, %wide : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.mulf %scale, %sum : tensor<8xf32>
  %var = arith.addf %eps, %mean : tensor<8xf32>
  %root = math.sqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%root : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %scaled = arith.divf %wide, %rows : tensor<8x64xf32>
  %weights = linalg.broadcast ins(%w : tensor<64xf32>) outs(%e : tensor<8x64xf32>) dimensions = [0]
  %weighted = arith.mulf %scaled, %weights : tensor<8x64xf32>
  %y = arith.truncf %weighted : tensor<8x64xf32> to tensor<8x64xbf16>
  return %y : tensor<8x64xbf16>
}

// linalg's named ops; the reciprocal of the root; the weight on the root.
// CHECK-LABEL: func @rms_named_ops(
// CHECK-SAME:    %[[X:.+]]: tensor<8x64xf32>, %[[W:.+]]: tensor<64xf32>
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm ins(%[[X]] : tensor<8x64xf32>) weight(%[[W]] : tensor<64xf32>)
// CHECK:         return %[[Y]]
// REMARK: Function=rms_named_ops
func.func @rms_named_ops(%x: tensor<8x64xf32>, %w: tensor<64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 1.0e-6 : f32
  %e = tensor.empty() : tensor<8x64xf32>
  %s = tensor.empty() : tensor<8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%s : tensor<8xf32>) -> tensor<8xf32>
  %ns = linalg.fill ins(%n : f32) outs(%s : tensor<8xf32>) -> tensor<8xf32>
  %epss = tensor.splat %eps : tensor<8xf32>
  %square = linalg.square ins(%x : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%fill : tensor<8xf32>) dimensions = [1]
  %mean = linalg.div ins(%sum, %ns : tensor<8xf32>, tensor<8xf32>) outs(%s : tensor<8xf32>) -> tensor<8xf32>
  %var = linalg.add ins(%mean, %epss : tensor<8xf32>, tensor<8xf32>) outs(%s : tensor<8xf32>) -> tensor<8xf32>
  %root = linalg.sqrt ins(%var : tensor<8xf32>) outs(%s : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.reciprocal ins(%root : tensor<8xf32>) outs(%s : tensor<8xf32>) -> tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %weights = linalg.broadcast ins(%w : tensor<64xf32>) outs(%e : tensor<8x64xf32>) dimensions = [0]
  %scale = linalg.mul ins(%rows, %weights : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  %y = linalg.mul ins(%scale, %x : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The sum is a contraction of x with itself, the root a power. Kept dimensions
// are added by a reshape after epsilon; sizes are dynamic.
// CHECK-LABEL: func @rms_contraction(
// CHECK-SAME:    %[[X:.+]]: tensor<?x?x384xf32>)
// CHECK:         flashnorm.rms_norm ins(%[[X]] : tensor<?x?x384xf32>)
// CHECK-NOT:     math.powf
// CHECK:         return
// REMARK: Function=rms_contraction
func.func @rms_contraction(%x: tensor<?x?x384xf32>) -> tensor<?x?x384xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %n = arith.constant 384.0 : f32
  %eps = arith.constant 1.0e-6 : f32
  %power = arith.constant -0.5 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x384xf32>
  %t = tensor.dim %x, %c1 : tensor<?x?x384xf32>
  %s = tensor.empty(%b, %t) : tensor<?x?xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%s : tensor<?x?xf32>) -> tensor<?x?xf32>
  %sum = linalg.generic {indexing_maps = [#rows, #rows, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %x : tensor<?x?x384xf32>, tensor<?x?x384xf32>) outs(%fill : tensor<?x?xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.mulf %in, %in_0 : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<?x?xf32>
  %var = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%sum : tensor<?x?xf32>) outs(%s : tensor<?x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %inv = arith.divf %one, %n : f32
    %0 = arith.mulf %in, %inv : f32
    %1 = arith.addf %0, %eps : f32
    linalg.yield %1 : f32
  } -> tensor<?x?xf32>
  %keep = tensor.expand_shape %var [[0], [1, 2]] output_shape [%b, %t, 1] : tensor<?x?xf32> into tensor<?x?x1xf32>
  %e = tensor.empty(%b, %t) : tensor<?x?x384xf32>
  %y = linalg.generic {indexing_maps = [#rows, #keep, #rows], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %keep : tensor<?x?x384xf32>, tensor<?x?x1xf32>) outs(%e : tensor<?x?x384xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = math.powf %in_0, %power : f32
    %1 = arith.mulf %in, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<?x?x384xf32>
  return %y : tensor<?x?x384xf32>
}

// The variance in f64, the mean that is subtracted in f32, as torch-mlir writes
// nn.LayerNorm. Weight and bias have further dimensions of one element.
// CHECK-LABEL: func @layer_norm_f64_variance(
// CHECK-SAME:    %[[X:.+]]: tensor<8x64xbf16>, %[[W:.+]]: tensor<1x64xf32>, %[[B:.+]]: tensor<64xf32>
// CHECK:         %[[V:.+]] = tensor.collapse_shape %[[W]] {{\[}}[0, 1]] : tensor<1x64xf32> into tensor<64xf32>
// CHECK:         %[[Y:.+]] = flashnorm.layer_norm ins(%[[X]] : tensor<8x64xbf16>) weight(%[[V]] : tensor<64xf32>) bias(%[[B]] : tensor<64xf32>)
// CHECK-SAME:      {eps = 1.000000e-05 : f64} -> tensor<8x64xbf16>
// CHECK:         return %[[Y]]
// REMARK: Function=layer_norm_f64_variance | Remark="raised to flashnorm.layer_norm over 64 elements"
func.func @layer_norm_f64_variance(%x: tensor<8x64xbf16>, %w: tensor<1x64xf32>, %b: tensor<64xf32>) -> tensor<8x64xbf16> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %zero64 = arith.constant dense<0.0> : tensor<8xf64>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %n64 = arith.constant dense<64.0> : tensor<8xf64>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %e64 = tensor.empty() : tensor<8x64xf64>
  %x32 = arith.extf %x : tensor<8x64xbf16> to tensor<8x64xf32>
  %x64 = arith.extf %x32 : tensor<8x64xf32> to tensor<8x64xf64>
  %sum64 = linalg.reduce { arith.addf } ins(%x64 : tensor<8x64xf64>) outs(%zero64 : tensor<8xf64>) dimensions = [1]
  %mean64 = arith.divf %sum64, %n64 : tensor<8xf64>
  %means64 = linalg.broadcast ins(%mean64 : tensor<8xf64>) outs(%e64 : tensor<8x64xf64>) dimensions = [1]
  %centred64 = arith.subf %x64, %means64 : tensor<8x64xf64>
  %square64 = arith.mulf %centred64, %centred64 : tensor<8x64xf64>
  %squares64 = linalg.reduce { arith.addf } ins(%square64 : tensor<8x64xf64>) outs(%zero64 : tensor<8xf64>) dimensions = [1]
  %var64 = arith.divf %squares64, %n64 : tensor<8xf64>
  %var = arith.truncf %var64 : tensor<8xf64> to tensor<8xf32>
  %sum = linalg.reduce { arith.addf } ins(%x32 : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %means = linalg.broadcast ins(%mean : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %centred = arith.subf %x32, %means : tensor<8x64xf32>
  %vareps = arith.addf %var, %eps : tensor<8xf32>
  %r = math.rsqrt %vareps : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %scaled = arith.mulf %centred, %rows : tensor<8x64xf32>
  %y = linalg.generic {indexing_maps = [#id2, affine_map<(d0, d1) -> (0, d1)>, #col2, #id2], iterator_types = ["parallel", "parallel"]} ins(%scaled, %w, %b : tensor<8x64xf32>, tensor<1x64xf32>, tensor<64xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%in: f32, %in_0: f32, %in_1: f32, %out: f32):
    %0 = arith.mulf %in_0, %in : f32
    %1 = arith.addf %0, %in_1 : f32
    linalg.yield %1 : f32
  } -> tensor<8x64xf32>
  %narrow = arith.truncf %y : tensor<8x64xf32> to tensor<8x64xbf16>
  return %narrow : tensor<8x64xbf16>
}

// mean(x^2) - mean(x)^2, cut off at zero: the op centres first, and says so.
// CHECK-LABEL: func @layer_norm_raw_moments(
// CHECK-SAME:    %[[X:.+]]: tensor<8x64xf32>)
// CHECK:         flashnorm.layer_norm ins(%[[X]] : tensor<8x64xf32>)
// REMARK: Function=layer_norm_raw_moments | Remark="raised to flashnorm.layer_norm over 64 elements; computes the variance from centred values, not as mean(x^2) - mean(x)^2"
func.func @layer_norm_raw_moments(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %squares = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean2 = arith.divf %squares, %n : tensor<8xf32>
  %meansq = arith.mulf %mean, %mean : tensor<8xf32>
  %diff = arith.subf %mean2, %meansq : tensor<8xf32>
  %var = arith.maximumf %diff, %zero : tensor<8xf32>
  %vareps = arith.addf %var, %eps : tensor<8xf32>
  %r = math.rsqrt %vareps : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id2, #row2, #row2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x, %mean, %r : tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%in: f32, %in_0: f32, %in_1: f32, %out: f32):
    %0 = arith.subf %in, %in_0 : f32
    %1 = arith.mulf %0, %in_1 : f32
    linalg.yield %1 : f32
  } -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// A weight of 1 + w, computed in f32 within the body, becomes a vector.
// CHECK-LABEL: func @rms_one_plus_weight(
// CHECK-SAME:    %[[X:.+]]: tensor<8x64xbf16>, %[[R:.+]]: tensor<64xbf16>
// CHECK:         %[[V:.+]] = linalg.generic {{.*}} ins(%[[R]] : tensor<64xbf16>)
// CHECK:           arith.extf
// CHECK:           arith.addf
// CHECK:         flashnorm.rms_norm ins(%[[X]] : tensor<8x64xbf16>) weight(%[[V]] : tensor<64xf32>)
// CHECK-SAME:      outs(%{{.+}} : tensor<8x64xbf16>) {eps = 1.000000e-05 : f64}
// REMARK: Function=rms_one_plus_weight
func.func @rms_one_plus_weight(%x: tensor<8x64xbf16>, %w: tensor<64xbf16>) -> tensor<8x64xbf16> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %one = arith.constant 1.0 : f32
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 1.0e-05 : f32
  %square = tensor.empty() : tensor<8x64xbf16>
  %sum = linalg.generic {indexing_maps = [#id2, #row2], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x64xbf16>) outs(%zero : tensor<8xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    %1 = arith.mulf %0, %0 : f32
    %2 = arith.addf %1, %out : f32
    linalg.yield %2 : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id2, #row2, #col2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x, %sum, %w : tensor<8x64xbf16>, tensor<8xf32>, tensor<64xbf16>) outs(%square : tensor<8x64xbf16>) {
  ^bb0(%in: bf16, %in_0: f32, %in_1: bf16, %out: bf16):
    %0 = arith.divf %in_0, %n : f32
    %1 = arith.addf %0, %eps : f32
    %2 = math.rsqrt %1 : f32
    %3 = arith.extf %in : bf16 to f32
    %4 = arith.mulf %3, %2 : f32
    %5 = arith.extf %in_1 : bf16 to f32
    %6 = arith.addf %one, %5 : f32
    %7 = arith.mulf %4, %6 : f32
    %8 = arith.truncf %7 : f32 to bf16
    linalg.yield %8 : bf16
  } -> tensor<8x64xbf16>
  return %y : tensor<8x64xbf16>
}

// A single row.
// CHECK-LABEL: func @rms_one_row(
// CHECK-SAME:    %[[X:.+]]: tensor<64xf32>)
// CHECK:         flashnorm.rms_norm ins(%[[X]] : tensor<64xf32>)
// REMARK: Function=rms_one_row
func.func @rms_one_row(%x: tensor<64xf32>) -> tensor<64xf32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %n = arith.constant dense<64.0> : tensor<f32>
  %eps = arith.constant dense<1.0e-05> : tensor<f32>
  %e = tensor.empty() : tensor<64xf32>
  %square = arith.mulf %x, %x : tensor<64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<64xf32>) outs(%zero : tensor<f32>) dimensions = [0]
  %mean = arith.divf %sum, %n : tensor<f32>
  %var = arith.addf %mean, %eps : tensor<f32>
  %r = math.rsqrt %var : tensor<f32>
  %rows = linalg.broadcast ins(%r : tensor<f32>) outs(%e : tensor<64xf32>) dimensions = [0]
  %y = arith.mulf %x, %rows : tensor<64xf32>
  return %y : tensor<64xf32>
}

// bf16 throughout: the op computes in f32, and says so. 1/N is rounded to bf16.
// CHECK-LABEL: func @rms_in_bf16(
// CHECK-SAME:    %[[X:.+]]: tensor<8x96xbf16>)
// CHECK:         flashnorm.rms_norm ins(%[[X]] : tensor<8x96xbf16>)
// REMARK: Function=rms_in_bf16 | Remark="raised to flashnorm.rms_norm over 96 elements; computes in f32 what was rounded to bf16"
func.func @rms_in_bf16(%x: tensor<8x96xbf16>) -> tensor<8x96xbf16> {
  %zero = arith.constant dense<0.0> : tensor<8xbf16>
  %scale = arith.constant dense<0.0104166> : tensor<8xbf16>
  %eps = arith.constant dense<1.0e-05> : tensor<8xbf16>
  %e = tensor.empty() : tensor<8x96xbf16>
  %square = arith.mulf %x, %x : tensor<8x96xbf16>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x96xbf16>) outs(%zero : tensor<8xbf16>) dimensions = [1]
  %mean = arith.mulf %sum, %scale : tensor<8xbf16>
  %var = arith.addf %mean, %eps : tensor<8xbf16>
  %r = math.rsqrt %var : tensor<8xbf16>
  %rows = linalg.broadcast ins(%r : tensor<8xbf16>) outs(%e : tensor<8x96xbf16>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x96xbf16>
  return %y : tensor<8x96xbf16>
}

// f64 stays f64, with the exact epsilon.
// CHECK-LABEL: func @rms_in_f64(
// CHECK-SAME:    %[[X:.+]]: tensor<8x64xf64>)
// CHECK:         flashnorm.rms_norm ins(%[[X]] : tensor<8x64xf64>) outs(%{{.+}} : tensor<8x64xf64>) {eps = 1.001358{{.*}}E-5 : f64}
// REMARK: Function=rms_in_f64
func.func @rms_in_f64(%x: tensor<8x64xf64>) -> tensor<8x64xf64> {
  %zero = arith.constant dense<0.0> : tensor<8xf64>
  %n = arith.constant dense<64.0> : tensor<8xf64>
  %eps16 = arith.constant dense<1.0e-05> : tensor<8xbf16>
  %eps = arith.extf %eps16 : tensor<8xbf16> to tensor<8xf64>
  %e = tensor.empty() : tensor<8x64xf64>
  %square = arith.mulf %x, %x : tensor<8x64xf64>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf64>) outs(%zero : tensor<8xf64>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf64>
  %var = arith.addf %mean, %eps : tensor<8xf64>
  %r = math.rsqrt %var : tensor<8xf64>
  %rows = linalg.broadcast ins(%r : tensor<8xf64>) outs(%e : tensor<8x64xf64>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf64>
  return %y : tensor<8x64xf64>
}

// An epsilon of zero, of either sign: a row of zeros is NaN before and after.
// CHECK-LABEL: func @rms_zero_epsilon(
// CHECK:         flashnorm.rms_norm {{.*}} {eps = 0.000000e+00 : f64}
// REMARK: Function=rms_zero_epsilon | Remark="raised to flashnorm.rms_norm over 64 elements"
func.func @rms_zero_epsilon(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<-0.0> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}
