//===- Passes.td - Tensor-level passes ---------------------*- tablegen -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_PASSES_TD
#define FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def RaiseNormsPass : Pass<"flashnorm-raise-norms", "::mlir::func::FuncOp"> {
  let summary = "recognises RMSNorm and LayerNorm in linalg, tosa, arith and math";
  let dependentDialects = ["::flashnorm::FlashNormDialect",
                           "::mlir::tensor::TensorDialect"];
}

def RaiseMatmulsPass : Pass<"flashnorm-raise-matmuls", "::mlir::func::FuncOp"> {
  let summary = "turns contractions with a weight matrix into flashnorm.matmul";
  let description = [{
    Finds `y[lead, n] = init + sum_k x[lead, k] * W[n, k]` in linalg and tosa and
    says it as one `flashnorm.matmul`, which the later passes give norms and an
    epilogue. Dimensions are inferred from the indexing maps and the body, and
    operands followed through transposes, broadcasts, unit dimensions and
    widenings (extf) to where they come from, so that named ops, generics,
    `transpose + matmul`, `batch_matmul` with a broadcast weight and torch's
    addmm are one case. A weight stored [N,K] is read as such
    (`transpose_weight`): a transpose is never materialised. An op that only
    rounds the result is folded in.

    ```mlir
    %t = linalg.transpose ins(%w : tensor<32x64xbf16>)
           outs(%e : tensor<64x32xbf16>) permutation = [1, 0]
    %y = linalg.matmul ins(%x, %t : tensor<?x64xbf16>, tensor<64x32xbf16>)
           outs(%zero : tensor<?x32xf32>) -> tensor<?x32xf32>
    ```
    becomes
    ```mlir
    %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>)
           outs(%init : tensor<?x32xf32>) {transpose_weight} -> tensor<?x32xf32>
    ```

    Preconditions: x and W are both bf16 or both f16 (before widening); N and K
    are static; the accumulator is f32, bf16 or f16; it starts as zero (a fill,
    a constant), as a broadcast vector, which becomes the bias, or as a whole
    tensor, which becomes the residual. Several contracted or several column
    dimensions are collapsed when they are contiguous.

    Left alone: operands that are truly f32; two activations (attention); an
    uninitialised accumulator (`tensor.empty` is not zero); a result stored
    transposed; vectors. Elementwise arith ops on tensors and tosa ops around
    the contraction are not looked into: run `convert-elementwise-to-linalg`
    and `tosa-to-linalg` before.

    Numerics: accumulates in f32 and rounds once. Exact where the source
    accumulates in f32, up to the order of summation; more accurate where the
    source rounds each product or partial sum to bf16 or f16. A start value is
    added after the products, not before.

    Remarks (category `flashnorm-raise-matmuls`): `matmul-raised` with M, N, K;
    `contraction-not-raised` with the condition that failed.
  }];
  let statistics = [
    Statistic<"found", "found", "Number of float contractions found">,
    Statistic<"raised", "raised", "Number of contractions raised">,
    Statistic<"declined", "declined", "Number of contractions left alone">];
  let dependentDialects = ["::flashnorm::FlashNormDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FuseEpiloguesPass : Pass<"flashnorm-fuse-epilogues", "::mlir::func::FuncOp"> {
  let summary = "moves bias, activation and residual into flashnorm.matmul";
  let description = [{
    Follows the elements of a matmul's result through linalg ops, casts and
    reshapes, and takes in what computes with them, in the order that the op
    knows: bias, activation, residual, with the rounding after each. One pass
    over the result's tile in registers instead of several over memory.

    ```mlir
    %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>)
           outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
    %s = linalg.add ins(%r, %y : tensor<?x32xbf16>, tensor<?x32xbf16>)
           outs(%o : tensor<?x32xbf16>) -> tensor<?x32xbf16>
    ```
    becomes
    ```mlir
    %s = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>)
           residual(%r : tensor<?x32xbf16>) outs(%o : tensor<?x32xbf16>)
           -> tensor<?x32xbf16>
    ```

    - bias: a vector of N, broadcast in any spelling; taken from before its own
      widening.
    - activation: relu, gelu (erf and tanh), silu, compared in a normal form, so
      that the spelling does not matter. Constants may be off by a rounding to
      their type. A relu that turns NaN into 0 is another function.
    - residual: a tensor of the result's shape; reshapes between the matmul and
      the addition are undone on the residual and repeated on the result.

    Where one op computes more than the epilogue (after
    `linalg-fuse-elementwise-ops`), it keeps the rest and reads the new result.

    Preconditions: nobody else uses the values that disappear; the residual sum
    itself may have any number of uses. All in one block. The matmul has no
    post-norm, second result or plan.

    Left alone: a residual before an activation, a second bias or residual,
    computations in f64, roundings to fewer than 16 bits.

    Numerics: everything runs in f32 and is rounded once; roundings of the
    source between the steps are skipped, which is more accurate.

    Remarks (category `flashnorm-fuse-epilogues`): `epilogue-fused` with the
    steps, `epilogue-not-fused` with what stood in the way.
  }];
  let statistics = [
    Statistic<"biases", "biases", "Number of biases fused">,
    Statistic<"activations", "activations", "Number of activations fused">,
    Statistic<"residuals", "residuals", "Number of residuals fused">,
    Statistic<"roundings", "roundings", "Number of roundings fused alone">];
  let dependentDialects = ["::flashnorm::FlashNormDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FoldNormWeightPass : Pass<"flashnorm-fold-norm-weight", "::mlir::ModuleOp"> {
  let summary = "folds the weight of an RMSNorm into the matmuls that follow it";
  let dependentDialects = ["::flashnorm::FlashNormDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FuseNormsPass : Pass<"flashnorm-fuse-norms", "::mlir::func::FuncOp"> {
  let summary = "fuses norms with the matmuls before or after them";
  let dependentDialects = ["::flashnorm::FlashNormDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_90a\"", "target chip">,
    Option<"family", "family", "std::string", "\"auto\"",
           "MMA family: auto, mma_sync, wgmma or tcgen05">];
}

def PlanPass : Pass<"flashnorm-plan", "::mlir::func::FuncOp"> {
  let summary = "chooses how each flashnorm.matmul runs";
  let dependentDialects = ["::flashnorm::FlashNormDialect"];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_90a\"", "target chip">,
    Option<"family", "family", "std::string", "\"auto\"",
           "MMA family: auto, mma_sync, wgmma or tcgen05">];
}

def VerifyPlanPass : Pass<"flashnorm-verify-plan", "::mlir::func::FuncOp"> {
  let summary = "rejects plans that cannot run, with the value and the limit";
}

#endif // FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_PASSES_TD
