//===- MatmulMatcher.h - Contractions with a weight matrix ------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds `y[lead, n] = init + sum_k x[lead, k] * W[n, k]` in a multiply-add over
// any loops. Dimensions come from the indexing maps, operands from the values
// behind them, so that named ops, generics, transposed and broadcast weights
// and operands widened to f32 are one case.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_MATMULMATCHER_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_MATMULMATCHER_H

#include "ValueFlow.h"

namespace flashnorm {

/// out[outMap] = init[outMap] + sum lhs[lhsMap] * rhs[rhsMap], all maps from
/// the same loops.
struct Contraction {
  mlir::Operation *op;
  ElementRef lhs, rhs;
  mlir::AffineMap outMap;
  /// Null when the sum starts at zero by definition of the op.
  mlir::Value init;
  llvm::SmallVector<int64_t> loopSizes;

  mlir::RankedTensorType getResultType() const {
    return llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  }
};

/// A multiply-add of floats on tensors over at least one reduction loop.
std::optional<Contraction> matchContraction(mlir::Operation *op);

/// How a contraction reads as flashnorm.matmul. The operands still have the
/// dimensions of their source.
struct MatmulMatch {
  ElementRef x;
  /// x's first dimensions, of one element each, that no loop indexes.
  unsigned unitDims = 0;
  /// x is the result of an op that computes in `elementType` and widens at the
  /// end: `splitWidening` comes before anything else.
  bool narrowX = false;
  ElementRef weight;
  bool transposeWeight = false;
  /// Vector of N, or null.
  std::optional<ElementRef> bias;
  /// In the shape of the result, or null.
  mlir::Value residual;
  mlir::Type elementType;
  /// Loops, in the order of the result's leading dimensions, of x's contracted
  /// dimensions, and of the result's last dimensions.
  llvm::SmallVector<unsigned> lead, k, n;
  int64_t sizeK = 1, sizeN = 1;
};

/// Reads `contraction` as a matmul, or says in `reason` why it is none.
llvm::FailureOr<MatmulMatch> matchMatmul(const Contraction &contraction,
                                         std::string &reason);

/// Replaces the op that computes `tensor` and widens it at the end by one that
/// computes the narrow value and one that widens it. Exact.
void splitWidening(mlir::RewriterBase &rewriter, mlir::Value tensor);

/// Types that bias, residual and result may have: bf16, f16 and f32.
bool isEpilogueType(mlir::Type type);

/// The weight as [K, N] or [N, K].
mlir::Value materializeWeight(mlir::RewriterBase &rewriter, mlir::Location loc,
                              const MatmulMatch &match);
/// `value` with all its dimensions in one: a vector.
mlir::Value collapseToVector(mlir::RewriterBase &rewriter, mlir::Location loc,
                             mlir::Value value);
/// `value` with its last `count` dimensions in one.
mlir::Value collapseTrailing(mlir::RewriterBase &rewriter, mlir::Location loc,
                             mlir::Value value, unsigned count);

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_MATMULMATCHER_H
