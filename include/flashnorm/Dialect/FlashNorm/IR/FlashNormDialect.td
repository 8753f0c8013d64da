//===- FlashNormDialect.td - The flashnorm dialect ---------*- tablegen -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_DIALECT_FLASHNORM_IR_FLASHNORMDIALECT_TD
#define FLASHNORM_DIALECT_FLASHNORM_IR_FLASHNORMDIALECT_TD

include "mlir/IR/OpBase.td"

def FlashNorm_Dialect : Dialect {
  let name = "flashnorm";
  let cppNamespace = "::flashnorm";
  let summary = "Normalisations and the matrix multiplications around them";
  let description = [{
    Says *what* is computed, on any target: norms over the last dimension, and
    matrix multiplications fused with norms, bias, activation and residual. Ops
    are destination-passing: they work on tensors and, after bufferization, on
    memrefs. Every op lowers back to linalg (`--flashnorm-lower-to-reference`),
    which defines its meaning.

    Discardable attributes on arguments of a function:
    - `flashnorm.frozen` (unit): the caller passes the same values on every
      call, so that work on them may move to the generated `prepare_weights`
      function.
    - `flashnorm.prepared = N : i64`: the caller passes result N of the function
      that `flashnorm.prepare_weights` names.
    - `flashnorm.source = N : i64`, on a prepare function: its caller passes what
      it passes as argument N to the function that it prepares for.

    Discardable attributes on a function:
    - `flashnorm.prepare_weights = @f`: @f computes the prepared arguments; see
      `--flashnorm-fold-norm-weight`.
    - `flashnorm.norm = #flashnorm.norm<…>`: the function computes this norm, as a
      library call does that a front end knows. Its arguments are x, then the
      weight and (`layer`) the bias, if there are any; its result is y, with
      shapes as the norm ops have them. `--flashnorm-raise-norms` turns calls of
      it into norm ops, whether it has a body or not.

    Compiled kernels have `flashnorm.launch_abi` and a `gpu.binary` of them
    `flashnorm.manifest` (dictionaries; docs/LaunchABI.md). Any other discardable
    attribute of the dialect is an error, so that a misspelt one is noticed.

    On tensors these are verified together: @f is a function of the module, a
    prepared argument has the type of the result that it names, and an argument
    of @f that of its source.

    On memrefs, no init of an op may be another operand, as elements of the output
    depend on whole rows of the inputs; the residual of a `flashnorm.matmul` may
    be its init.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let hasOperationAttrVerify = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
  let extraClassDeclaration = [{
    /// Unit attribute of a function argument: same values on every call.
    static constexpr ::llvm::StringLiteral getFrozenAttrName() {
      return "flashnorm.frozen";
    }
    /// Of a function argument: which result of the prepare function it takes.
    static constexpr ::llvm::StringLiteral getPreparedAttrName() {
      return "flashnorm.prepared";
    }
    /// Of a prepare function's argument: which argument of the entry it takes.
    static constexpr ::llvm::StringLiteral getSourceAttrName() {
      return "flashnorm.source";
    }
    /// Of a function: its prepare function.
    static constexpr ::llvm::StringLiteral getPrepareWeightsAttrName() {
      return "flashnorm.prepare_weights";
    }
    /// Of a function: the norm that it computes.
    static constexpr ::llvm::StringLiteral getNormAttrName() {
      return "flashnorm.norm";
    }
    void registerAttributes();
  }];
}

#endif // FLASHNORM_DIALECT_FLASHNORM_IR_FLASHNORMDIALECT_TD
