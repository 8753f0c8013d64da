// A gated linear unit as one matmul: the same bits with preserve-rounding, and what
// the accuracy rule allows without; with the columns side by side or alternating, of
// two weights that are put together once, or of one, behind a norm.

// DEFINE: %{options} =
// DEFINE: %{entry} = swiglu
// DEFINE: %{input} = normal
// DEFINE: %{run} = flashnorm-run %s --entry=%{entry} --device=cpu --input=%{input} --rows=150 --passes='func.func(flashnorm-fuse-epilogues%{options}),func.func(flashnorm-fuse-glu%{options}),flashnorm-prepare-weights'

// RUN: %{run} | FileCheck %s --check-prefix=RULE
// RULE: ratio 0.{{[3-9]}}
// RULE: {{^}}PASS
// REDEFINE: %{entry} = geglu
// RUN: %{run} | FileCheck %s --check-prefix=RULE
// REDEFINE: %{input} = heavy-tail
// RUN: %{run} | FileCheck %s --check-prefix=RULE

// REDEFINE: %{options} = {preserve-rounding=true}
// RUN: %{run} | FileCheck %s --check-prefix=SAME
// SAME: fused against original: 0.000e+00
// SAME: {{^}}PASS
// REDEFINE: %{entry} = swiglu
// RUN: %{run} | FileCheck %s --check-prefix=SAME

// Alternating columns.
// RUN: flashnorm-run %s --entry=swiglu --device=cpu --rows=150 --passes='func.func(flashnorm-fuse-epilogues{preserve-rounding=true}),func.func(flashnorm-fuse-glu{preserve-rounding=true layout=interleaved}),flashnorm-prepare-weights' | FileCheck %s --check-prefix=SAME

// Behind a norm, which goes behind the product; its weight is folded into both.
// RUN: flashnorm-run %s --entry=normed --device=cpu --rows=150 --passes='func.func(flashnorm-fuse-glu),flashnorm-defer-norms,flashnorm-prepare-weights' | FileCheck %s --check-prefix=NORMED
// NORMED: 1 of 1 matmuls fused with norms, 0 norms left
// NORMED: {{^}}PASS

// Both become one matmul, and nothing else is left.
// RUN: flashnorm-opt %s --flashnorm-fuse-epilogues --flashnorm-fuse-glu | FileCheck %s --check-prefix=FUSED
// FUSED-LABEL: @swiglu
// FUSED: flashnorm.matmul {{.*}}glu = #flashnorm.glu<gate_first>
// FUSED-NOT: linalg.
// FUSED-LABEL: @geglu
// FUSED: flashnorm.matmul {{.*}}glu = #flashnorm.glu<value_first>
// FUSED-NOT: linalg.

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @swiglu(%x: tensor<?x128xbf16>, %w: tensor<96x128xbf16> {flashnorm.frozen}, %v: tensor<96x128xbf16> {flashnorm.frozen}, %b: tensor<96xf32> {flashnorm.frozen}, %c: tensor<96xf32> {flashnorm.frozen}) -> tensor<?x96xbf16> {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x128xbf16>
  %e = tensor.empty(%m) : tensor<?x96xbf16>
  %g = flashnorm.matmul ins(%x, %w : tensor<?x128xbf16>, tensor<96x128xbf16>) bias(%b : tensor<96xf32>) outs(%e : tensor<?x96xbf16>) {transpose_weight} -> tensor<?x96xbf16>
  %u = flashnorm.matmul ins(%x, %v : tensor<?x128xbf16>, tensor<96x128xbf16>) bias(%c : tensor<96xf32>) outs(%e : tensor<?x96xbf16>) {transpose_weight} -> tensor<?x96xbf16>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%g : tensor<?x96xbf16>) outs(%e : tensor<?x96xbf16>) {
  ^bb0(%i: bf16, %out: bf16):
    %s = arith.extf %i : bf16 to f32
    %n = arith.negf %s : f32
    %ex = math.exp %n : f32
    %d = arith.addf %one, %ex : f32
    %q = arith.divf %s, %d : f32
    %t = arith.truncf %q : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<?x96xbf16>
  %y = linalg.mul ins(%a, %u : tensor<?x96xbf16>, tensor<?x96xbf16>) outs(%e : tensor<?x96xbf16>) -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}

func.func @geglu(%x: tensor<?x128xf16>, %w: tensor<128x192xf16> {flashnorm.frozen}) -> tensor<?x96xf16> {
  %c0 = arith.constant 0 : index
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %root = arith.constant 0.707106769 : f32
  %m = tensor.dim %x, %c0 : tensor<?x128xf16>
  %e = tensor.empty(%m) : tensor<?x192xf16>
  %o = tensor.empty(%m) : tensor<?x96xf16>
  %h = flashnorm.matmul ins(%x, %w : tensor<?x128xf16>, tensor<128x192xf16>) outs(%e : tensor<?x192xf16>) {pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<?x192xf16>
  %u = tensor.extract_slice %h[0, 0] [%m, 96] [1, 1] : tensor<?x192xf16> to tensor<?x96xf16>
  %g = tensor.extract_slice %h[0, 96] [%m, 96] [1, 1] : tensor<?x192xf16> to tensor<?x96xf16>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%g, %u : tensor<?x96xf16>, tensor<?x96xf16>) outs(%o : tensor<?x96xf16>) {
  ^bb0(%i: f16, %j: f16, %out: f16):
    %s = arith.extf %i : f16 to f32
    %k = arith.mulf %s, %root : f32
    %f = math.erf %k : f32
    %a = arith.addf %one, %f : f32
    %c = arith.mulf %s, %half : f32
    %p = arith.mulf %c, %a : f32
    %t = arith.extf %j : f16 to f32
    %q = arith.mulf %p, %t : f32
    %r = arith.truncf %q : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x96xf16>
  return %y : tensor<?x96xf16>
}

func.func @normed(%x: tensor<?x128xbf16>, %g: tensor<128xbf16> {flashnorm.frozen}, %w: tensor<96x128xbf16> {flashnorm.frozen}, %v: tensor<96x128xbf16> {flashnorm.frozen}) -> tensor<?x96xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x128xbf16>
  %i = tensor.empty(%m) : tensor<?x128xbf16>
  %e = tensor.empty(%m) : tensor<?x96xbf16>
  %n = flashnorm.rms_norm ins(%x : tensor<?x128xbf16>) weight(%g : tensor<128xbf16>) outs(%i : tensor<?x128xbf16>) {eps = 1.0e-05 : f64} -> tensor<?x128xbf16>
  %a = flashnorm.matmul ins(%n, %w : tensor<?x128xbf16>, tensor<96x128xbf16>) outs(%e : tensor<?x96xbf16>) {transpose_weight, activation = #flashnorm.activation<silu>} -> tensor<?x96xbf16>
  %u = flashnorm.matmul ins(%n, %v : tensor<?x128xbf16>, tensor<96x128xbf16>) outs(%e : tensor<?x96xbf16>) {transpose_weight} -> tensor<?x96xbf16>
  %y = linalg.mul ins(%a, %u : tensor<?x96xbf16>, tensor<?x96xbf16>) outs(%e : tensor<?x96xbf16>) -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}
