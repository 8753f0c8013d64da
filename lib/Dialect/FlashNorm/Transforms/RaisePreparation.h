//===- RaisePreparation.h - What hides a norm from its matcher --*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters leave choices to run time that are known before, and upstream joins
// a product and a sum in one op. Both are taken apart before norms are matched,
// so that the matcher knows nothing of them.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_RAISEPREPARATION_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_RAISEPREPARATION_H

namespace mlir {
class Operation;
} // namespace mlir

namespace flashnorm {

/// Replaces, everywhere in `root`,
///  - `scf.if`s in which tosa-to-linalg repeats a tensor that turns out to have
///    one row, where it has as many as are wanted;
///  - `arith.select`s by a comparison of constants, as jax guards a variance.
/// Exact.
void decideChoices(mlir::Operation *root);

/// Splits each `math.fma` in a product and a sum.
void splitFmas(mlir::Operation *root);
/// Joins again what `splitFmas` has split, where both are still there.
void joinFmas(mlir::Operation *root);

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_RAISEPREPARATION_H
