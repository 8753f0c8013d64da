//===- DeferredNorm.h - Norms that run behind a product ---------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// norm(x) W = rstd(x) * (x W'): the matmuls that read a norm can multiply first
// and scale their rows afterwards.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_DEFERREDNORM_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_DEFERREDNORM_H

#include "NormWeightFolder.h"
#include "mlir/IR/PatternMatch.h"

namespace flashnorm {

/// Collects all readers of the norm's result in `matmuls`, if they are matmuls
/// that can scale the rows instead, all of them. Returns why they cannot, or
/// nothing. Changes nothing; the weights are not looked at.
std::string findDeferred(const NormView &norm,
                         llvm::SmallVectorImpl<MatmulOp> &matmuls);

/// How the mean of a layer_norm is taken out of a product.
enum class MeanRemoval {
  /// W is centred.
  CenteredWeight,
  /// Where nothing is multiplied into W, so that it is as exact as it was, the
  /// sums of its columns, times the mean, are subtracted; else it is centred.
  ColumnSums
};

/// Takes the sums of W's columns.
bool needsColumnSums(const NormView &norm, MeanRemoval removal);

/// The same for the weights: those of the norm and of the matmuls can be folded
/// into one, or nothing needs to be.
std::string checkDeferredWeights(const NormView &norm,
                                 llvm::ArrayRef<MatmulOp> matmuls,
                                 NormWeightFolder &folder, MeanRemoval removal);

/// Moves the norm into the matmuls; both checks have passed, and it has no
/// statistics.
void deferNorm(mlir::RewriterBase &rewriter, const NormView &norm,
               llvm::ArrayRef<MatmulOp> matmuls, NormWeightFolder &folder,
               MeanRemoval removal);

/// Computes statistics that are results of the norm by an op of their own, so
/// that the norm has none any more. Returns what the norm is then.
NormView splitStatistics(mlir::RewriterBase &rewriter, const NormView &norm);

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_DEFERREDNORM_H
