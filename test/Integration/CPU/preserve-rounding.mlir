// With preserve-rounding, the fused form gives the bits of the original: it rounds
// where that does, and sums in the same order. Without, it gives others, which are
// more accurate.

// DEFINE: %{passes} = 'func.func(flashnorm-fuse-epilogues{preserve-rounding=true})'
// DEFINE: %{input} = normal
// DEFINE: %{entry} = epilogue
// DEFINE: %{run} = flashnorm-run %s --entry=%{entry} --device=cpu --input=%{input} --rows=150 --passes=%{passes}

// RUN: %{run} | FileCheck %s --check-prefix=SAME
// SAME: fused against original: 0.000e+00
// SAME: {{^}}PASS
// REDEFINE: %{input} = heavy-tail
// RUN: %{run} | FileCheck %s --check-prefix=SAME
// REDEFINE: %{input} = subnormal
// RUN: %{run} | FileCheck %s --check-prefix=SAME
// REDEFINE: %{input} = large-mean
// RUN: %{run} | FileCheck %s --check-prefix=SAME

// REDEFINE: %{entry} = epilogue_f16
// RUN: %{run} | FileCheck %s --check-prefix=SAME
// REDEFINE: %{input} = normal
// RUN: %{run} | FileCheck %s --check-prefix=SAME

// A norm behind, with its weight multiplied in bf16.
// REDEFINE: %{entry} = norm
// REDEFINE: %{passes} = 'flashnorm-fuse-norms{preserve-rounding=true}'
// RUN: %{run} | FileCheck %s --check-prefix=NORM
// NORM: 1 of 1 matmuls fused with norms, 0 norms left
// NORM: fused against original: 0.000e+00
// NORM: {{^}}PASS
// REDEFINE: %{input} = heavy-tail
// RUN: %{run} | FileCheck %s --check-prefix=NORM

// REDEFINE: %{passes} = flashnorm-fuse-norms
// RUN: %{run} | FileCheck %s --check-prefix=OTHER
// OTHER: ratio 0.{{[5-9]}}
// OTHER: fused against original: {{[1-9]}}
// REDEFINE: %{entry} = epilogue
// REDEFINE: %{passes} = 'func.func(flashnorm-fuse-epilogues)'
// RUN: %{run} | FileCheck %s --check-prefix=OTHER

func.func @epilogue(%x: tensor<?x128xbf16>, %w: tensor<128x128xbf16> {flashnorm.frozen}, %b: tensor<128xbf16>, %r: tensor<?x128xbf16>) -> tensor<?x128xbf16> {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x128xbf16>
  %e = tensor.empty(%m) : tensor<?x128xbf16>
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x128xbf16>, tensor<128x128xbf16>) outs(%e : tensor<?x128xbf16>) {transpose_weight} -> tensor<?x128xbf16>
  %bb = linalg.broadcast ins(%b : tensor<128xbf16>) outs(%e : tensor<?x128xbf16>) dimensions = [0]
  %s = linalg.add ins(%acc, %bb : tensor<?x128xbf16>, tensor<?x128xbf16>) outs(%e : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  %a = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<?x128xbf16>) outs(%e : tensor<?x128xbf16>) {
  ^bb0(%i: bf16, %out: bf16):
    %i32 = arith.extf %i : bf16 to f32
    %n = arith.negf %i32 : f32
    %ex = math.exp %n : f32
    %d = arith.addf %one, %ex : f32
    %q = arith.divf %i32, %d : f32
    %t = arith.truncf %q : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<?x128xbf16>
  %y = linalg.add ins(%a, %r : tensor<?x128xbf16>, tensor<?x128xbf16>) outs(%e : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}

// The residual is f32, the sum rounded; the bias is added in f16.
func.func @epilogue_f16(%x: tensor<?x128xf16>, %w: tensor<128x128xf16> {flashnorm.frozen}, %b: tensor<128xf16>, %r: tensor<?x128xf32>) -> tensor<?x128xf16> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f16
  %m = tensor.dim %x, %c0 : tensor<?x128xf16>
  %e = tensor.empty(%m) : tensor<?x128xf16>
  %acc = flashnorm.matmul ins(%x, %w : tensor<?x128xf16>, tensor<128x128xf16>) outs(%e : tensor<?x128xf16>) {transpose_weight} -> tensor<?x128xf16>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%acc, %b, %r : tensor<?x128xf16>, tensor<128xf16>, tensor<?x128xf32>) outs(%e : tensor<?x128xf16>) {
  ^bb0(%i: f16, %j: f16, %k: f32, %out: f16):
    %s = arith.addf %i, %j : f16
    %a = arith.maximumf %s, %zero : f16
    %a32 = arith.extf %a : f16 to f32
    %q = arith.addf %a32, %k : f32
    %t = arith.truncf %q : f32 to f16
    linalg.yield %t : f16
  } -> tensor<?x128xf16>
  return %y : tensor<?x128xf16>
}

func.func @norm(%x: tensor<?x256xbf16>, %w: tensor<128x256xbf16> {flashnorm.frozen}, %g: tensor<128xbf16>, %h: tensor<128xbf16>) -> tensor<?x128xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x256xbf16>
  %e = tensor.empty(%m) : tensor<?x128xbf16>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<128x256xbf16>) outs(%e : tensor<?x128xbf16>) {transpose_weight} -> tensor<?x128xbf16>
  %n = flashnorm.layer_norm ins(%y : tensor<?x128xbf16>) weight(%g : tensor<128xbf16>) bias(%h : tensor<128xbf16>) outs(%e : tensor<?x128xbf16>) {eps = 1.0e-05 : f64, cast = #flashnorm.cast_position<before_affine>} -> tensor<?x128xbf16>
  return %n : tensor<?x128xbf16>
}
