// The input is a slice of packed QKV: kernels read its rows where they lie. Where
// those are not aligned, the launcher makes a copy and says so.
// DEFINE: %{entry} = middle
// DEFINE: %{options} =
// DEFINE: %{run} = flashnorm-run %s --device=emulator --rows=70 --check-guards --entry=%{entry} %{options} 2>&1
// RUN: %{run} | FileCheck %s --check-prefix=IN-PLACE
// REDEFINE: %{options} = --family=mma_sync
// RUN: %{run} | FileCheck %s --check-prefix=IN-PLACE
// REDEFINE: %{entry} = leading
// RUN: %{run} | FileCheck %s --check-prefix=IN-PLACE
// REDEFINE: %{options} =
// RUN: %{run} | FileCheck %s --check-prefix=IN-PLACE
// IN-PLACE-NOT: note
// IN-PLACE: 1 launches
// IN-PLACE: PASS

// REDEFINE: %{entry} = base
// RUN: %{run} | FileCheck %s --check-prefix=BASE
// REDEFINE: %{options} = --family=mma_sync
// RUN: %{run} | FileCheck %s --check-prefix=BASE
// BASE: flashnorm-run: note: {{.+}}: operand 0: the first row starts 8 bytes after a multiple of 16; it was copied
// BASE: PASS

// REDEFINE: %{entry} = rows
// RUN: %{run} | FileCheck %s --check-prefix=ROWS
// REDEFINE: %{options} =
// RUN: %{run} | FileCheck %s --check-prefix=ROWS
// ROWS: flashnorm-run: note: {{.+}}: operand 0: rows start 392 bytes apart, not a multiple of 16; it was copied
// ROWS: PASS

func.func @middle(%qkv: tensor<?x192xbf16>, %w: tensor<64x64xbf16>) -> tensor<?x64xbf16> {
  %c = arith.constant 0 : index
  %m = tensor.dim %qkv, %c : tensor<?x192xbf16>
  %x = tensor.extract_slice %qkv[0, 64] [%m, 64] [1, 1] : tensor<?x192xbf16> to tensor<?x64xbf16>
  %e = tensor.empty(%m) : tensor<?x64xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x64xbf16>) outs(%e : tensor<?x64xbf16>) {transpose_weight} -> tensor<?x64xbf16>
  %y = flashnorm.layer_norm ins(%p : tensor<?x64xbf16>) outs(%e : tensor<?x64xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

func.func @leading(%qkv: tensor<2x?x192xbf16>, %w: tensor<64x64xbf16>) -> tensor<2x?x64xbf16> {
  %c = arith.constant 1 : index
  %m = tensor.dim %qkv, %c : tensor<2x?x192xbf16>
  %x = tensor.extract_slice %qkv[0, 0, 64] [2, %m, 64] [1, 1, 1] : tensor<2x?x192xbf16> to tensor<2x?x64xbf16>
  %e = tensor.empty(%m) : tensor<2x?x64xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<2x?x64xbf16>, tensor<64x64xbf16>) outs(%e : tensor<2x?x64xbf16>) {transpose_weight} -> tensor<2x?x64xbf16>
  %y = flashnorm.layer_norm ins(%p : tensor<2x?x64xbf16>) outs(%e : tensor<2x?x64xbf16>) {eps = 1.0e-5 : f64} -> tensor<2x?x64xbf16>
  return %y : tensor<2x?x64xbf16>
}

func.func @base(%qkv: tensor<?x192xbf16>, %w: tensor<64x64xbf16>) -> tensor<?x64xbf16> {
  %c = arith.constant 0 : index
  %m = tensor.dim %qkv, %c : tensor<?x192xbf16>
  %x = tensor.extract_slice %qkv[0, 4] [%m, 64] [1, 1] : tensor<?x192xbf16> to tensor<?x64xbf16>
  %e = tensor.empty(%m) : tensor<?x64xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x64xbf16>) outs(%e : tensor<?x64xbf16>) {transpose_weight} -> tensor<?x64xbf16>
  %y = flashnorm.layer_norm ins(%p : tensor<?x64xbf16>) outs(%e : tensor<?x64xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

func.func @rows(%qkv: tensor<?x196xbf16>, %w: tensor<64x64xbf16>) -> tensor<?x64xbf16> {
  %c = arith.constant 0 : index
  %m = tensor.dim %qkv, %c : tensor<?x196xbf16>
  %x = tensor.extract_slice %qkv[0, 0] [%m, 64] [1, 1] : tensor<?x196xbf16> to tensor<?x64xbf16>
  %e = tensor.empty(%m) : tensor<?x64xbf16>
  %p = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x64xbf16>) outs(%e : tensor<?x64xbf16>) {transpose_weight} -> tensor<?x64xbf16>
  %y = flashnorm.layer_norm ins(%p : tensor<?x64xbf16>) outs(%e : tensor<?x64xbf16>) {eps = 1.0e-5 : f64} -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
