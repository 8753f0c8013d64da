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
    - `flashnorm.prepared = @f[i]`-style: see `--flashnorm-fold-norm-weight`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasRegionArgAttrVerify = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
  let extraClassDeclaration = [{
    /// Unit attribute of a function argument: same values on every call.
    static constexpr ::llvm::StringLiteral getFrozenAttrName() {
      return "flashnorm.frozen";
    }
    void registerAttributes();
  }];
}

#endif // FLASHNORM_DIALECT_FLASHNORM_IR_FLASHNORMDIALECT_TD
