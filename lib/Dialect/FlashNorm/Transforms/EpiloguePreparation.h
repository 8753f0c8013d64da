//===- EpiloguePreparation.h - What hides an epilogue -----------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_EPILOGUEPREPARATION_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_EPILOGUEPREPARATION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace flashnorm {

/// Writes what `function` computes element by element with results of
/// flashnorm.matmul without a plan as linalg ops that read their inputs only:
///  - elementwise ops, casts and reshapes of tosa, and of arith and math on
///    tensors, become linalg ops, by upstream's patterns;
///  - inits that are only overwritten, as convert-elementwise-to-linalg takes
///    them from an operand, become new tensors: they are no use of the result;
///  - inits that elementwise ops read become inputs;
///  - sizes are asked for where they come from, in all of the function.
/// What nobody reads is erased in any case. Exact.
void prepareEpilogues(mlir::func::FuncOp function);

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_EPILOGUEPREPARATION_H
