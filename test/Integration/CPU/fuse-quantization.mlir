// A matmul that stores fp8 gives the bits of the ops that it replaces, which are
// read back as f32.

// DEFINE: %{entry} = e4m3
// DEFINE: %{input} = normal
// DEFINE: %{run} = flashnorm-run %s --entry=%{entry} --device=cpu --input=%{input} --rows=150 --tolerance=0.1 --passes='func.func(flashnorm-fuse-quantization{preserve-rounding=true})'

// RUN: %{run} | FileCheck %s --check-prefix=SAME
// SAME: fused against original: 0.000e+00
// SAME: {{^}}PASS
// REDEFINE: %{input} = heavy-tail
// RUN: %{run} | FileCheck %s --check-prefix=SAME
// REDEFINE: %{entry} = e5m2
// RUN: %{run} | FileCheck %s --check-prefix=SAME
// REDEFINE: %{input} = normal
// RUN: %{run} | FileCheck %s --check-prefix=SAME

// RUN: flashnorm-opt %s --flashnorm-fuse-quantization | FileCheck %s --check-prefix=FUSED
// FUSED-LABEL: @e4m3
// FUSED: flashnorm.matmul {{.*}} output_scale({{.*}}) outs({{.*}}) {post_norm = {{.*}}, saturate = f8E4M3FN} -> tensor<?x128xf8E4M3FN>
// FUSED-LABEL: @e5m2
// FUSED: flashnorm.matmul {{.*}} outs({{.*}}) {saturate = f8E5M2} -> tensor<?x128xf8E5M2>

#id = affine_map<(d0, d1) -> (d0, d1)>
#one = affine_map<(d0, d1) -> ()>
func.func @e4m3(%x: tensor<?x128xbf16>, %w: tensor<128x128xbf16> {flashnorm.frozen}) -> tensor<?x128xf32> {
  %c0 = arith.constant 0 : index
  %min = arith.constant -448.0 : f32
  %max = arith.constant 448.0 : f32
  %scale = arith.constant dense<300.0> : tensor<f32>
  %m = tensor.dim %x, %c0 : tensor<?x128xbf16>
  %e = tensor.empty(%m) : tensor<?x128xbf16>
  %o = tensor.empty(%m) : tensor<?x128xf8E4M3FN>
  %f = tensor.empty(%m) : tensor<?x128xf32>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x128xbf16>, tensor<128x128xbf16>) outs(%e : tensor<?x128xbf16>) {post_norm = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<?x128xbf16>
  %q = linalg.generic {indexing_maps = [#id, #one, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %scale : tensor<?x128xbf16>, tensor<f32>) outs(%o : tensor<?x128xf8E4M3FN>) {
  ^bb0(%i: bf16, %s: f32, %out: f8E4M3FN):
    %i32 = arith.extf %i : bf16 to f32
    %0 = arith.mulf %i32, %s : f32
    %1 = arith.maximumf %0, %min : f32
    %2 = arith.minimumf %1, %max : f32
    %3 = arith.truncf %2 : f32 to f8E4M3FN
    linalg.yield %3 : f8E4M3FN
  } -> tensor<?x128xf8E4M3FN>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<?x128xf8E4M3FN>) outs(%f : tensor<?x128xf32>) {
  ^bb0(%i: f8E4M3FN, %out: f32):
    %0 = arith.extf %i : f8E4M3FN to f32
    linalg.yield %0 : f32
  } -> tensor<?x128xf32>
  return %z : tensor<?x128xf32>
}

func.func @e5m2(%x: tensor<?x128xf16>, %w: tensor<128x128xf16> {flashnorm.frozen}) -> tensor<?x128xf32> {
  %c0 = arith.constant 0 : index
  %min = arith.constant -57344.0 : f32
  %max = arith.constant 57344.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x128xf16>
  %e = tensor.empty(%m) : tensor<?x128xf32>
  %o = tensor.empty(%m) : tensor<?x128xf8E5M2>
  %f = tensor.empty(%m) : tensor<?x128xf32>
  %y = flashnorm.matmul ins(%x, %w : tensor<?x128xf16>, tensor<128x128xf16>) outs(%e : tensor<?x128xf32>) -> tensor<?x128xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x128xf32>) outs(%o : tensor<?x128xf8E5M2>) {
  ^bb0(%i: f32, %out: f8E5M2):
    %1 = arith.minimumf %i, %max : f32
    %2 = arith.maximumf %1, %min : f32
    %3 = arith.truncf %2 : f32 to f8E5M2
    linalg.yield %3 : f8E5M2
  } -> tensor<?x128xf8E5M2>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<?x128xf8E5M2>) outs(%f : tensor<?x128xf32>) {
  ^bb0(%i: f8E5M2, %out: f32):
    %0 = arith.extf %i : f8E5M2 to f32
    linalg.yield %0 : f32
  } -> tensor<?x128xf32>
  return %z : tensor<?x128xf32>
}
