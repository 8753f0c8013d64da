//===- ProductRounding.h - Error of a folded weight -------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_PRODUCTROUNDING_H
#define FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_PRODUCTROUNDING_H

#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"

namespace flashnorm {

/// What rounding diag(g) W does, where g is known.
struct FoldError {
  /// Predicted RMS error of a matmul with diag(g) W rounded and x exact, over
  /// that of one with g * x rounded and W as it is. Infinite where finite
  /// weights have a product that is not.
  double ratio;
  /// Share of entries of g with the significand 3.
  double shareOfThrees;
};

/// What folding the constant `normWeight` into the weight of `matmul` does to
/// rounding. `weight` is that weight and `product` their rounded product where
/// it is a constant, too; otherwise both are null, and its low bits are taken
/// to be random. `cast` is where the norm rounds.
FoldError predictFoldError(mlir::DenseElementsAttr normWeight,
                           mlir::DenseElementsAttr weight,
                           mlir::DenseElementsAttr product, MatmulOp matmul,
                           CastPosition cast);

} // namespace flashnorm

#endif // FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_PRODUCTROUNDING_H
