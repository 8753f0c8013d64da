//===- Problem.h - What the planner is asked --------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the planner is asked: one matrix multiplication with the norms and the
// epilogue around it. Plain data; no MLIR here.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_PLANNING_PROBLEM_H
#define FLASHNORM_PLANNING_PROBLEM_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <tuple>

namespace flashnorm {

/// Element types that a kernel reads, multiplies or writes.
enum class ElementType { BF16, F16, F32 };

/// Bytes of one element.
inline int64_t sizeInBytes(ElementType type) {
  return type == ElementType::F32 ? 4 : 2;
}
llvm::StringRef stringify(ElementType type);

/// Which normalisation runs over a row, if any.
enum class Norm { None, RMS, Layer };
llvm::StringRef stringify(Norm norm);

/// y[M,N] = post_norm(act(pre_norm(x)[M,K] * W[K,N] + bias) + residual).
struct Problem {
  /// Rows; none when only known at run time.
  std::optional<int64_t> m;
  int64_t n = 0;
  int64_t k = 0;
  ElementType inputType = ElementType::BF16;  ///< of x and W
  ElementType outputType = ElementType::BF16; ///< of y
  ElementType residualType = ElementType::BF16;
  /// W is stored [N,K] (K contiguous), as torch.nn.Linear keeps it.
  bool transposeWeight = false;
  /// Norm of x, without weight: the rows of x*W are scaled afterwards.
  Norm preNorm = Norm::None;
  /// Norm of the rows of the result, in the epilogue.
  Norm postNorm = Norm::None;
  bool hasBias = false;
  bool hasResidual = false;
  bool hasActivation = false;
  bool hasNormWeight = false;
  bool hasNormBias = false;
  /// The value before the post-norm is a result too.
  bool returnsSum = false;
  /// An input's rows have gaps between them.
  bool hasRowStride = false;
  /// How many matmuls read the pre-norm's result, this one included: unfused,
  /// they share the cost of the norm.
  int64_t preNormConsumers = 1;

  /// All fields, to compare and to order problems.
  auto tie() const {
    return std::tie(m, n, k, inputType, outputType, residualType,
                    transposeWeight, preNorm, postNorm, hasBias, hasResidual,
                    hasActivation, hasNormWeight, hasNormBias, returnsSum,
                    hasRowStride, preNormConsumers);
  }
};
inline bool operator<(const Problem &a, const Problem &b) {
  return a.tie() < b.tie();
}

} // namespace flashnorm

#endif // FLASHNORM_PLANNING_PROBLEM_H
