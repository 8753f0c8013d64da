// RUN: flashnorm-opt %s --flashnorm-raise-norms --canonicalize --verify-roundtrip \
// RUN:   | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-raise-norms \
// RUN:   --remarks-filter="flashnorm-raise-norms" --remark-policy=all -o %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// Means and roots that others read, besides the norm.

#id3 = affine_map<(b, s, d) -> (b, s, d)>
#row3 = affine_map<(b, s, d) -> (b, s)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
#keep = affine_map<(d0, d1) -> (d0, 0)>

// bf16 x, statistics in f32 of the widened x, both returned; the bodies are fused.
// REMARK: [Passed] StatisticsRaised | {{.*}}Function=layer | {{.*}}reciprocal root raised to a result of flashnorm.layer_norm
// REMARK: [Passed] StatisticsRaised | {{.*}}Function=layer | {{.*}}mean raised to a result of flashnorm.layer_norm
// CHECK-LABEL: func @layer(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x?x64xbf16>
// CHECK:         %[[Y:.*]]:3 = flashnorm.layer_norm ins(%[[X]] : tensor<2x?x64xbf16>) outs({{.*}}) {eps = 1.000000e-05 : f64} -> tensor<2x?x64xbf16>, tensor<2x?xf32>, tensor<2x?xf32>
// CHECK-NOT:     linalg.generic
// CHECK:         return %[[Y]]#0, %[[Y]]#1, %[[Y]]#2
func.func @layer(%x: tensor<2x?x64xbf16>, %init: tensor<2x?x64xbf16>, %rows: tensor<2x?xf32>)
    -> (tensor<2x?x64xbf16>, tensor<2x?xf32>, tensor<2x?xf32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 1.0e-05 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%rows : tensor<2x?xf32>) -> tensor<2x?xf32>
  %sum = linalg.generic {indexing_maps = [#id3, #row3], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<2x?x64xbf16>) outs(%fill : tensor<2x?xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %w = arith.extf %a : bf16 to f32
    %s = arith.addf %o, %w : f32
    linalg.yield %s : f32
  } -> tensor<2x?xf32>
  %mean = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%sum : tensor<2x?xf32>) outs(%rows : tensor<2x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.divf %a, %n : f32
    linalg.yield %m : f32
  } -> tensor<2x?xf32>
  %squares = linalg.generic {indexing_maps = [#id3, #row3, #row3], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %mean : tensor<2x?x64xbf16>, tensor<2x?xf32>) outs(%fill : tensor<2x?xf32>) {
  ^bb0(%a: bf16, %m: f32, %o: f32):
    %w = arith.extf %a : bf16 to f32
    %c = arith.subf %w, %m : f32
    %q = arith.mulf %c, %c : f32
    %s = arith.addf %o, %q : f32
    linalg.yield %s : f32
  } -> tensor<2x?xf32>
  %rstd = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%squares : tensor<2x?xf32>) outs(%rows : tensor<2x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.divf %a, %n : f32
    %v = arith.addf %m, %eps : f32
    %r = math.rsqrt %v : f32
    linalg.yield %r : f32
  } -> tensor<2x?xf32>
  %y = linalg.generic {indexing_maps = [#id3, #row3, #row3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %mean, %rstd : tensor<2x?x64xbf16>, tensor<2x?xf32>, tensor<2x?xf32>) outs(%init : tensor<2x?x64xbf16>) {
  ^bb0(%a: bf16, %m: f32, %r: f32, %o: bf16):
    %w = arith.extf %a : bf16 to f32
    %c = arith.subf %w, %m : f32
    %p = arith.mulf %c, %r : f32
    %t = arith.truncf %p : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<2x?x64xbf16>
  return %y, %mean, %rstd : tensor<2x?x64xbf16>, tensor<2x?xf32>, tensor<2x?xf32>
}

// Kept dimensions, 1 / sqrt(...), and a reader that squares the root.
// CHECK-LABEL: func @kept_dimension(
// CHECK:         %[[Y:.*]]:2 = flashnorm.rms_norm {{.*}} -> tensor<8x64xf32>, tensor<8xf32>
// CHECK:         %[[R:.*]] = linalg.generic {{.*}} ins(%[[Y]]#1 : tensor<8xf32>) outs(%{{.*}} : tensor<8x1xf32>)
// CHECK:         %[[S:.*]] = arith.mulf %[[R]], %[[R]] : tensor<8x1xf32>
// CHECK:         return %[[Y]]#0, %[[S]]
func.func @kept_dimension(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x1xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8x1xf32>
  %n = arith.constant dense<64.0> : tensor<8x1xf32>
  %one = arith.constant dense<1.0> : tensor<8x1xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8x1xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %sum = linalg.generic {indexing_maps = [#id2, #keep], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.mulf %a, %a : f32
    %s = arith.addf %o, %q : f32
    linalg.yield %s : f32
  } -> tensor<8x1xf32>
  %mean = arith.divf %sum, %n : tensor<8x1xf32>
  %var = arith.addf %mean, %eps : tensor<8x1xf32>
  %std = math.sqrt %var : tensor<8x1xf32>
  %r = arith.divf %one, %std : tensor<8x1xf32>
  %y = linalg.generic {indexing_maps = [#id2, #keep, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%x, %r : tensor<8x64xf32>, tensor<8x1xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<8x64xf32>
  %rr = arith.mulf %r, %r : tensor<8x1xf32>
  return %y, %rr : tensor<8x64xf32>, tensor<8x1xf32>
}

// Read in front of the norm (by what its weight is made of): computed for that,
// and the norm computes its own. So is one in bf16, and one of another epsilon.
// REMARK: [Missed] StatisticsNotRaised | {{.*}}Function=read_before | {{.*}}a statistic is read before the norm that it belongs to, and is computed for that
// CHECK-LABEL: func @read_before(
// CHECK:         %[[R:.*]] = math.rsqrt
// CHECK:         %[[V:.*]] = call @weight_of(%[[R]])
// CHECK:         %[[Y:.*]] = flashnorm.rms_norm {{.*}} -> tensor<8x64xf32>
// CHECK:         return %[[Y]], %[[R]]
func.func private @weight_of(tensor<8xf32>) -> tensor<64xf32>
func.func @read_before(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %w = call @weight_of(%r) : (tensor<8xf32>) -> tensor<64xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %z = arith.mulf %x, %rows : tensor<8x64xf32>
  %ws = linalg.broadcast ins(%w : tensor<64xf32>) outs(%e : tensor<8x64xf32>) dimensions = [0]
  %y = arith.mulf %z, %ws : tensor<8x64xf32>
  return %y, %r : tensor<8x64xf32>, tensor<8xf32>
}

// CHECK-LABEL: func @other_epsilon(
// CHECK:         %[[R:.*]] = math.rsqrt
// CHECK:         %[[Y:.*]] = flashnorm.rms_norm {{.*}} {eps = 1.000000e-05 : f64} -> tensor<8x64xf32>
// CHECK:         return %[[Y]], %[[R]]
func.func @other_epsilon(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %eps2 = arith.constant dense<1.0e-03> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %var2 = arith.addf %mean, %eps2 : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %r2 = math.rsqrt %var2 : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y, %r2 : tensor<8x64xf32>, tensor<8xf32>
}

// The mean of squares is no statistic of an RMSNorm, nor is the mean of x.
// CHECK-LABEL: func @other_means(
// CHECK:         flashnorm.rms_norm {{.*}} -> tensor<8x64xf32>{{$}}
func.func @other_means(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %total = linalg.reduce { arith.addf } ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %first = arith.divf %total, %n : tensor<8xf32>
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y, %mean, %first : tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
}

// A square x: the root of its columns is not that of its rows; a root in f64 of
// bf16 values is not what the norm computes, and one rounded to bf16 reads the
// result in f32.
// CHECK-LABEL: func @columns_and_casts(
// CHECK-DAG:     %[[C:.*]] = math.rsqrt %{{.*}} : tensor<8xf32>
// CHECK:         %[[Y:.*]]:2 = flashnorm.rms_norm {{.*}} -> tensor<8x8xf32>, tensor<8xf32>
// CHECK:         %[[T:.*]] = arith.truncf %[[Y]]#1 : tensor<8xf32> to tensor<8xbf16>
// CHECK:         return %[[Y]]#0, %[[C]], %[[T]]
func.func @columns_and_casts(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>, tensor<8xbf16>) {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<8.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  %square = arith.mulf %x, %x : tensor<8x8xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x8xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %sum0 = linalg.reduce { arith.addf } ins(%square : tensor<8x8xf32>) outs(%zero : tensor<8xf32>) dimensions = [0]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %mean0 = arith.divf %sum0, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %var0 = arith.addf %mean0, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %r0 = math.rsqrt %var0 : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x8xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x8xf32>
  %t = arith.truncf %r : tensor<8xf32> to tensor<8xbf16>
  return %y, %r0, %t : tensor<8x8xf32>, tensor<8xf32>, tensor<8xbf16>
}
