// Spellings of one piece each, all else the same: RMSNorm of 8 rows of 64, on
// tensors. raise-norms-passes.test takes the file through upstream's passes.
// RUN: flashnorm-opt %s --flashnorm-raise-norms --canonicalize --cse | FileCheck %s --implicit-check-not=rsqrt --implicit-check-not=math.powf --implicit-check-not=math.sqrt

// CHECK-COUNT-17: flashnorm.{{rms|layer}}_norm ins(%{{.+}} : tensor<{{.*}}x64x{{b?}}f{{32|16}}>)
// CHECK-NOT:      flashnorm.{{rms|layer}}

#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d0, 0)>

// The square as a power of a float.
func.func @square_powf(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %two = arith.constant dense<2.0> : tensor<8x64xf32>
  %square = math.powf %x, %two : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// ... of an integer of 32 bits.
func.func @square_fpowi_i32(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %two = arith.constant dense<2> : tensor<8x64xi32>
  %square = math.fpowi %x, %two : tensor<8x64xf32>, tensor<8x64xi32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// ... of 64 bits.
func.func @square_fpowi_i64(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %two = arith.constant dense<2> : tensor<8x64xi64>
  %square = math.fpowi %x, %two : tensor<8x64xf32>, tensor<8x64xi64>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The square of the magnitude.
func.func @square_of_magnitude(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %two = arith.constant dense<2.0> : tensor<8x64xf32>
  %abs = math.absf %x : tensor<8x64xf32>
  %square = math.powf %abs, %two : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// 1/N, a unit in the last place above it.
func.func @mean_by_factor_rounded_up(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %part = arith.constant dense<0x3C800001> : tensor<8xf32>
  %mean = arith.mulf %part, %sum : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// 1/N computed; N in casts.
func.func @mean_by_computed_factor(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %n64 = arith.constant dense<64> : tensor<8xi64>
  %nf = arith.sitofp %n64 : tensor<8xi64> to tensor<8xf64>
  %nt = arith.truncf %nf : tensor<8xf64> to tensor<8xf32>
  %part = arith.divf %one, %nt : tensor<8xf32>
  %mean = arith.mulf %sum, %part : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The squares are divided, not their sum.
func.func @mean_of_divided_squares(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %ns = arith.constant dense<64.0> : tensor<8x64xf32>
  %sq = arith.mulf %x, %x : tensor<8x64xf32>
  %square = arith.divf %sq, %ns : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %var = arith.addf %sum, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// Epsilon in f64, rounded to f32, and on the left.
func.func @epsilon_in_casts(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %eps64 = arith.constant dense<1.0e-5> : tensor<8xf64>
  %epst = arith.truncf %eps64 : tensor<8xf64> to tensor<8xf32>
  %var = arith.addf %epst, %mean : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// Kept dimensions are added before epsilon; broadcasts by ops that only yield.
func.func @reshape_before_epsilon(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %epsk = arith.constant dense<1.0e-5> : tensor<8x1xf32>
  %keep = tensor.expand_shape %mean [[0, 1]] output_shape [8, 1] : tensor<8xf32> into tensor<8x1xf32>
  %var = arith.addf %keep, %epsk : tensor<8x1xf32>
  %r = math.rsqrt %var : tensor<8x1xf32>
  %rows = linalg.generic {indexing_maps = [#col, #id], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<8x1xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x64xf32>
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// ... after it.
func.func @reshape_after_epsilon(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %keep = tensor.expand_shape %var [[0, 1]] output_shape [8, 1] : tensor<8xf32> into tensor<8x1xf32>
  %r = math.rsqrt %keep : tensor<8x1xf32>
  %rows = linalg.generic {indexing_maps = [#col, #id], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<8x1xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x64xf32>
  %y = arith.mulf %rows, %x : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The root of 1/v.
func.func @root_of_reciprocal(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %inverse = arith.divf %one, %var : tensor<8xf32>
  %r = math.sqrt %inverse : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// 1 over the root.
func.func @reciprocal_of_root(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %root = math.sqrt %var : tensor<8xf32>
  %r = arith.divf %one, %root : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// A power of -1/2.
func.func @power_minus_half(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %half = arith.constant dense<-0.5> : tensor<8xf32>
  %r = math.powf %var, %half : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// x over a power of 1/2.
func.func @divided_by_power(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %half = arith.constant dense<0.5> : tensor<8xf32>
  %r = math.powf %var, %half : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.divf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

func.func private @rtclock() -> f64
func.func private @report(f64)

// Side effects between the ops.
func.func @timed(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %t0 = call @rtclock() : () -> f64
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %t1 = call @rtclock() : () -> f64
  %t = arith.subf %t1, %t0 : f64
  call @report(%t) : (f64) -> ()
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %t2 = call @rtclock() : () -> f64
  call @report(%t2) : (f64) -> ()
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// One norm feeds three, each with a collapse of its own.
func.func @three_collapses(%x: tensor<2x4x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) {
  %zero = arith.constant dense<0.0> : tensor<2x4xf32>
  %n = arith.constant dense<64.0> : tensor<2x4xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<2x4xf32>
  %e = tensor.empty() : tensor<2x4x64xf32>
  %square = arith.mulf %x, %x : tensor<2x4x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<2x4x64xf32>) outs(%zero : tensor<2x4xf32>) dimensions = [2]
  %mean = arith.divf %sum, %n : tensor<2x4xf32>
  %var = arith.addf %mean, %eps : tensor<2x4xf32>
  %r = math.rsqrt %var : tensor<2x4xf32>
  %rows = linalg.broadcast ins(%r : tensor<2x4xf32>) outs(%e : tensor<2x4x64xf32>) dimensions = [2]
  %y = arith.mulf %x, %rows : tensor<2x4x64xf32>
  %q = tensor.collapse_shape %y [[0, 1], [2]] : tensor<2x4x64xf32> into tensor<8x64xf32>
  %k = tensor.collapse_shape %y [[0, 1], [2]] : tensor<2x4x64xf32> into tensor<8x64xf32>
  %v = tensor.collapse_shape %y [[0, 1], [2]] : tensor<2x4x64xf32> into tensor<8x64xf32>
  %k2 = arith.addf %k, %k : tensor<8x64xf32>
  %v2 = arith.mulf %v, %v : tensor<8x64xf32>
  return %q, %k2, %v2 : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>
}

// Heads of q in bf16: the weight on the left, by its own index, then a transpose.
func.func @heads(%x: tensor<8x4x64xbf16>, %w: tensor<64xbf16>) -> tensor<4x8x64xbf16> {
  %zero = arith.constant dense<0.0> : tensor<8x4xf32>
  %n = arith.constant dense<64.0> : tensor<8x4xf32>
  %eps = arith.constant dense<1.0e-6> : tensor<8x4xf32>
  %e = tensor.empty() : tensor<8x4x64xf32>
  %e16 = tensor.empty() : tensor<8x4x64xbf16>
  %t = tensor.empty() : tensor<4x8x64xbf16>
  %wide = arith.extf %x : tensor<8x4x64xbf16> to tensor<8x4x64xf32>
  %square = arith.mulf %wide, %wide : tensor<8x4x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x4x64xf32>) outs(%zero : tensor<8x4xf32>) dimensions = [2]
  %mean = arith.divf %sum, %n : tensor<8x4xf32>
  %var = arith.addf %mean, %eps : tensor<8x4xf32>
  %r = math.rsqrt %var : tensor<8x4xf32>
  %rows = linalg.broadcast ins(%r : tensor<8x4xf32>) outs(%e : tensor<8x4x64xf32>) dimensions = [2]
  %normalised = arith.mulf %wide, %rows : tensor<8x4x64xf32>
  %rounded = arith.truncf %normalised : tensor<8x4x64xf32> to tensor<8x4x64xbf16>
  %weights = linalg.broadcast ins(%w : tensor<64xbf16>) outs(%e16 : tensor<8x4x64xbf16>) dimensions = [0, 1]
  %y = arith.mulf %weights, %rounded : tensor<8x4x64xbf16>
  %heads = linalg.transpose ins(%y : tensor<8x4x64xbf16>) outs(%t : tensor<4x8x64xbf16>) permutation = [1, 0, 2]
  return %heads : tensor<4x8x64xbf16>
}
