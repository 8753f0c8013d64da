// Statistics that are shared, and matmuls that are concatenated, give the same
// bits; and behind the norms that they come from, what the accuracy rule allows.

// DEFINE: %{passes} = "func.func(flashnorm-share-statistics)"
// DEFINE: %{input} = normal
// DEFINE: %{entry} = deferred
// DEFINE: %{run} = flashnorm-run %s --entry=%{entry} --device=cpu --input=%{input} --rows=150 --passes=%{passes}

// RUN: %{run} | FileCheck %s --check-prefix=SAME
// SAME-COUNT-3: fused against original: 0.000e+00
// SAME: {{^}}PASS
// REDEFINE: %{input} = heavy-tail
// RUN: %{run} | FileCheck %s --check-prefix=SAME
// REDEFINE: %{passes} = 'func.func(flashnorm-share-statistics{producer=false})'
// RUN: %{run} | FileCheck %s --check-prefix=SAME
// REDEFINE: %{passes} = 'func.func(flashnorm-concat-matmuls),flashnorm-prepare-weights,func.func(flashnorm-share-statistics)'
// RUN: %{run} | FileCheck %s --check-prefix=SAME

// REDEFINE: %{passes} = 'func.func(flashnorm-concat-matmuls),flashnorm-defer-norms,flashnorm-prepare-weights,func.func(flashnorm-share-statistics)'
// REDEFINE: %{entry} = norms
// RUN: %{run} | FileCheck %s --check-prefix=RULE
// REDEFINE: %{input} = large-mean
// RUN: %{run} | FileCheck %s --check-prefix=RULE
// REDEFINE: %{input} = constant
// RUN: %{run} | FileCheck %s --check-prefix=RULE
// RULE: 0 norms left
// RULE: {{^}}PASS

// q and k read one x, which a matmul makes; a third matmul reads q by another
// norm.
func.func @deferred(%x: tensor<?x128xbf16>, %w: tensor<128x128xbf16> {flashnorm.frozen}, %v: tensor<128x128xbf16> {flashnorm.frozen}, %b: tensor<128xf32> {flashnorm.frozen})
    -> (tensor<?x128xbf16>, tensor<?x128xbf16>, tensor<?x128xbf16>) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x128xbf16>
  %init = tensor.empty(%m) : tensor<?x128xbf16>
  %a = flashnorm.matmul ins(%x, %w : tensor<?x128xbf16>, tensor<128x128xbf16>) residual(%x : tensor<?x128xbf16>) outs(%init : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  %q = flashnorm.matmul ins(%a, %v : tensor<?x128xbf16>, tensor<128x128xbf16>) bias(%b : tensor<128xf32>) outs(%init : tensor<?x128xbf16>) {pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<?x128xbf16>
  %k = flashnorm.matmul ins(%a, %w : tensor<?x128xbf16>, tensor<128x128xbf16>) bias(%b : tensor<128xf32>) outs(%init : tensor<?x128xbf16>) {pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<?x128xbf16>
  %o = flashnorm.matmul ins(%q, %v : tensor<?x128xbf16>, tensor<128x128xbf16>) outs(%init : tensor<?x128xbf16>) {transpose_weight, activation = #flashnorm.activation<gelu>, pre_norm = #flashnorm.norm<rms, eps = 1.0e-02>} -> tensor<?x128xbf16>
  return %q, %k, %o : tensor<?x128xbf16>, tensor<?x128xbf16>, tensor<?x128xbf16>
}

func.func @norms(%x: tensor<?x512xbf16>, %g: tensor<512xbf16> {flashnorm.frozen}, %h: tensor<512xbf16> {flashnorm.frozen}, %wq: tensor<256x512xbf16> {flashnorm.frozen}, %wk: tensor<128x512xbf16> {flashnorm.frozen}, %b: tensor<128xf32> {flashnorm.frozen}, %bq: tensor<256xf32> {flashnorm.frozen})
    -> (tensor<?x256xbf16>, tensor<?x128xbf16>) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x512xbf16>
  %out = tensor.empty(%m) : tensor<?x512xbf16>
  %n = flashnorm.layer_norm ins(%x : tensor<?x512xbf16>) weight(%g : tensor<512xbf16>) bias(%h : tensor<512xbf16>) outs(%out : tensor<?x512xbf16>) {eps = 1.0e-05 : f64} -> tensor<?x512xbf16>
  %init = tensor.empty(%m) : tensor<?x256xbf16>
  %q = flashnorm.matmul ins(%n, %wq : tensor<?x512xbf16>, tensor<256x512xbf16>) bias(%bq : tensor<256xf32>) outs(%init : tensor<?x256xbf16>) {transpose_weight} -> tensor<?x256xbf16>
  %init2 = tensor.empty(%m) : tensor<?x128xbf16>
  %k = flashnorm.matmul ins(%n, %wk : tensor<?x512xbf16>, tensor<128x512xbf16>) bias(%b : tensor<128xf32>) outs(%init2 : tensor<?x128xbf16>) {transpose_weight} -> tensor<?x128xbf16>
  return %q, %k : tensor<?x256xbf16>, tensor<?x128xbf16>
}
