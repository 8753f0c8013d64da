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
  let dependentDialects = ["::flashnorm::FlashNormDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FuseEpiloguesPass : Pass<"flashnorm-fuse-epilogues", "::mlir::func::FuncOp"> {
  let summary = "moves bias, activation and residual into flashnorm.matmul";
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
