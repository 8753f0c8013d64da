// RUN: flashnorm-opt %s --flashnorm-share-statistics --split-input-file \
// RUN:   --verify-roundtrip | FileCheck %s
// RUN: flashnorm-opt %s --flashnorm-share-statistics=producer=false --split-input-file \
// RUN:   | FileCheck %s --check-prefix=APART
// RUN: flashnorm-opt %s --flashnorm-share-statistics --split-input-file \
// RUN:   --remarks-filter="flashnorm-share-statistics" --remark-policy=all -o %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// q and k read an argument: one op makes the statistics, in front of the first of
// them. Another epsilon is another norm.
// REMARK: [Passed] StatisticsShared | {{.*}}Function=readers | {{.*}}statistics of 2 readers made by flashnorm.row_statistics
// REMARK: [Missed] StatisticsNotShared | {{.*}}Function=readers | {{.*}}statistics have one reader and no producer: no flashnorm.matmul makes x
// CHECK-LABEL: func @readers(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x?x64xbf16>
// CHECK:         %[[EMPTY:.*]] = tensor.empty(%{{.*}}) : tensor<2x?xf32>
// CHECK:         %[[S:.*]] = flashnorm.row_statistics ins(%[[X]] : tensor<2x?x64xbf16>) outs(%[[EMPTY]] : tensor<2x?xf32>) {drops_constant_rows, norm = #flashnorm.norm<layer, eps = 1.000000e-05>} -> tensor<2x?xf32>
// CHECK:         flashnorm.matmul ins(%[[X]], {{.*}}) row_scale(%[[S]] : tensor<2x?xf32>) outs({{.*}}) -> tensor<2x?x32xbf16>
// CHECK:         flashnorm.matmul ins(%[[X]], {{.*}}) row_scale(%[[S]] : tensor<2x?xf32>) bias({{.*}}) outs({{.*}}) -> tensor<2x?x32xbf16>
// CHECK:         flashnorm.matmul ins(%[[X]], {{.*}}) outs({{.*}}) {pre_norm = #flashnorm.norm<layer, eps = 1.000000e-02>} -> tensor<2x?x32xbf16>
func.func @readers(%x: tensor<2x?x64xbf16>, %w: tensor<64x32xbf16>, %b: tensor<32xbf16>, %init: tensor<2x?x32xbf16>)
    -> (tensor<2x?x32xbf16>, tensor<2x?x32xbf16>, tensor<2x?x32xbf16>) {
  %q = flashnorm.matmul ins(%x, %w : tensor<2x?x64xbf16>, tensor<64x32xbf16>) outs(%init : tensor<2x?x32xbf16>) {pre_norm = #flashnorm.norm<layer, eps = 1.0e-05>} -> tensor<2x?x32xbf16>
  %k = flashnorm.matmul ins(%x, %w : tensor<2x?x64xbf16>, tensor<64x32xbf16>) bias(%b : tensor<32xbf16>) outs(%init : tensor<2x?x32xbf16>) {pre_norm = #flashnorm.norm<layer, eps = 1.0e-05>} -> tensor<2x?x32xbf16>
  %v = flashnorm.matmul ins(%x, %w : tensor<2x?x64xbf16>, tensor<64x32xbf16>) outs(%init : tensor<2x?x32xbf16>) {pre_norm = #flashnorm.norm<layer, eps = 0.01>} -> tensor<2x?x32xbf16>
  return %q, %k, %v : tensor<2x?x32xbf16>, tensor<2x?x32xbf16>, tensor<2x?x32xbf16>
}

// -----

// matmul and residual, norm, matmul, and so on: each returns the statistics that
// the next one scales by; the last one's reader is a result of the function.
// REMARK: Function=chain | {{.*}}statistics of 1 readers made by the matmul that makes x
// CHECK-LABEL: func @chain(
// CHECK:         %[[A:.*]]:2 = flashnorm.matmul ins({{.*}}) residual({{.*}}) outs({{.*}}) {statistics = #flashnorm.norm<rms, eps = 1.000000e-05>} -> tensor<?x64xbf16>, tensor<?xf32>
// CHECK:         %[[B:.*]]:2 = flashnorm.matmul ins(%[[A]]#0, {{.*}}) row_scale(%[[A]]#1 : tensor<?xf32>) residual(%[[A]]#0 : {{.*}}) outs({{.*}}) {activation = #flashnorm.activation<silu>, statistics = #flashnorm.norm<rms, eps = 1.000000e-05>} -> tensor<?x64xbf16>, tensor<?xf32>
// CHECK:         %[[C:.*]] = flashnorm.matmul ins(%[[B]]#0, {{.*}}) row_scale(%[[B]]#1 : tensor<?xf32>) outs({{.*}}) -> tensor<?x64xbf16>
// CHECK:         return %[[C]], %[[B]]#1
// CHECK-NOT:     row_statistics
// APART-LABEL: func @chain(
// APART:         flashnorm.matmul {{.*}} -> tensor<?x64xbf16>
// APART-NOT:     statistics
// APART:         flashnorm.matmul {{.*}} {activation = #flashnorm.activation<silu>, pre_norm = #flashnorm.norm<rms, eps = 1.000000e-05>} -> tensor<?x64xbf16>
// APART:         %[[S:.*]] = flashnorm.row_statistics ins(
// APART:         flashnorm.matmul {{.*}} row_scale(%[[S]] :
// APART:         return %{{.*}}, %[[S]]
func.func @chain(%x: tensor<?x64xbf16>, %w: tensor<64x64xbf16>, %init: tensor<?x64xbf16>, %rows: tensor<?xf32>)
    -> (tensor<?x64xbf16>, tensor<?xf32>) {
  %a = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x64xbf16>) residual(%x : tensor<?x64xbf16>) outs(%init : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  %b = flashnorm.matmul ins(%a, %w : tensor<?x64xbf16>, tensor<64x64xbf16>) residual(%a : tensor<?x64xbf16>) outs(%init : tensor<?x64xbf16>) {activation = #flashnorm.activation<silu>, pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<?x64xbf16>
  %c = flashnorm.matmul ins(%b, %w : tensor<?x64xbf16>, tensor<64x64xbf16>) outs(%init : tensor<?x64xbf16>) {pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<?x64xbf16>
  %s = flashnorm.row_statistics ins(%b : tensor<?x64xbf16>) outs(%rows : tensor<?xf32>) {norm = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<?xf32>
  return %c, %s : tensor<?x64xbf16>, tensor<?xf32>
}

// -----

// Two norms of one x: the producer returns the statistics of the first.
// REMARK: Function=two_norms | {{.*}}statistics of 1 readers made by the matmul that makes x
// REMARK: [Missed] {{.*}}Function=two_norms | {{.*}}no producer: the matmul that makes x returns other statistics of it
// CHECK-LABEL: func @two_norms(
// CHECK:         %[[A:.*]]:2 = flashnorm.matmul {{.*}} {statistics = #flashnorm.norm<rms, eps = 1.000000e-05>}
// CHECK:         flashnorm.matmul ins(%[[A]]#0, {{.*}} row_scale(%[[A]]#1 :
// CHECK:         flashnorm.matmul ins(%[[A]]#0, {{.*}} {pre_norm = #flashnorm.norm<layer, eps = 1.000000e-05>}
func.func @two_norms(%x: tensor<?x64xbf16>, %w: tensor<64x64xbf16>, %init: tensor<?x64xbf16>)
    -> (tensor<?x64xbf16>, tensor<?x64xbf16>) {
  %a = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x64xbf16>) outs(%init : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  %b = flashnorm.matmul ins(%a, %w : tensor<?x64xbf16>, tensor<64x64xbf16>) outs(%init : tensor<?x64xbf16>) {pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<?x64xbf16>
  %c = flashnorm.matmul ins(%a, %w : tensor<?x64xbf16>, tensor<64x64xbf16>) outs(%init : tensor<?x64xbf16>) {pre_norm = #flashnorm.norm<layer, eps = 1.0e-05>} -> tensor<?x64xbf16>
  return %b, %c : tensor<?x64xbf16>, tensor<?x64xbf16>
}

// -----

// Neither what a post-norm made, nor the value before it, nor a matmul that has
// its plan; and a mean or a root that is not 0 for equal elements is another
// statistic.
// REMARK: Function=not_shared | {{.*}}the matmul carries a plan; run this pass before it is planned
// REMARK: Function=not_shared | {{.*}}no producer: the matmul that makes x normalises it
// REMARK: Function=not_shared | {{.*}}no producer: x is the second result of the matmul that makes it
// CHECK-LABEL: func @not_shared(
// CHECK-NOT:     row_scale
// CHECK-COUNT-2: flashnorm.row_statistics
// CHECK:         return
func.func @not_shared(%x: tensor<?x64xbf16>, %w: tensor<64x64xbf16>, %init: tensor<?x64xbf16>, %rows: tensor<?xf32>)
    -> (tensor<?x64xbf16>, tensor<?x64xbf16>, tensor<?x64xbf16>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %a:2 = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x64xbf16>) outs(%init, %init : tensor<?x64xbf16>, tensor<?x64xbf16>) {post_norm = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<?x64xbf16>, tensor<?x64xbf16>
  %b = flashnorm.matmul ins(%a#0, %w : tensor<?x64xbf16>, tensor<64x64xbf16>) outs(%init : tensor<?x64xbf16>) {pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>} -> tensor<?x64xbf16>
  %c = flashnorm.matmul ins(%a#1, %w : tensor<?x64xbf16>, tensor<64x64xbf16>) outs(%init : tensor<?x64xbf16>) {pre_norm = #flashnorm.norm<layer, eps = 1.0e-05>} -> tensor<?x64xbf16>
  %d = flashnorm.matmul ins(%a#1, %w : tensor<?x64xbf16>, tensor<64x64xbf16>) outs(%init : tensor<?x64xbf16>)
      {pre_norm = #flashnorm.norm<layer, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = lazy_pre_norm, chip = "sm_80", family = mma_sync, tile = [64, 64, 32], warps = [2, 2], stages = 2>} -> tensor<?x64xbf16>
  %s:2 = flashnorm.row_statistics ins(%a#1 : tensor<?x64xbf16>) outs(%rows, %rows : tensor<?xf32>, tensor<?xf32>) {drops_constant_rows, norm = #flashnorm.norm<layer, eps = 1.0e-05>} -> tensor<?xf32>, tensor<?xf32>
  %t = flashnorm.row_statistics ins(%a#1 : tensor<?x64xbf16>) outs(%rows : tensor<?xf32>) {norm = #flashnorm.norm<layer, eps = 1.0e-05>} -> tensor<?xf32>
  return %b, %c, %d, %s#0, %s#1, %t : tensor<?x64xbf16>, tensor<?x64xbf16>, tensor<?x64xbf16>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}
