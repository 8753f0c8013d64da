//===- RowStatistic.h - Means, variances and their roots --------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a norm computes of each row: 1 / sqrt(mean(x * x) + eps). Everything
// that a match assumes is checked; the first condition that does not hold is
// named in `why`.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_ROWSTATISTIC_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_ROWSTATISTIC_H

#include "NearMiss.h"
#include "ScalarFlow.h"
#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"

namespace flashnorm {

/// The narrowest type that intermediate values are rounded to.
struct Precision {
  mlir::Type narrowest;
  void see(mlir::Type type);
  /// Narrower than f32.
  bool isNarrow() const;
  /// Narrower than bf16 and f16: such a rounding is meant, and may not be left
  /// out. Says so in `why`.
  bool isTooNarrow(NearMiss &why) const;
};
bool isNarrow(mlir::Type type);
bool isTooNarrow(mlir::Type type);

/// 1 / sqrt(mean(x * x) + eps), where x may be centred first.
struct RowStatistic {
  NormKind kind = NormKind::RMS;
  Element x;
  int64_t length = 0;
  double eps = 0;
  /// The operation that takes the root.
  mlir::Operation *root = nullptr;
  /// Whoever builds a norm has to refuse it when it is too narrow.
  Precision precision;
  /// The variance is computed as mean(x * x) - mean(x) * mean(x).
  bool isRawMoments = false;
};

/// x - mean(x), or what belongs to it.
struct Centered {
  Element x;
  int64_t length;
};

/// `root` is a Rsqrt, Sqrt or Pow; with `inverse`, the product is divided by
/// it.
std::optional<RowStatistic> matchRowStatistic(const Node &root, bool inverse,
                                              NearMiss &why);

/// Roundings on the way are added to `precision` if `element` is centred.
std::optional<Centered> matchCentered(Element element, Precision &precision);
bool isCentered(Element element);

/// mean(x), with roundings on the way added to `precision`.
std::optional<Centered> matchMeanOfRow(Element element, Precision &precision);

/// `element` is mean(x) of the statistic's rows.
bool isMeanOf(Element element, const RowStatistic &statistic,
              Precision &precision);

/// A sum of squares is among the operations below `element`, however they go
/// on.
bool hasSumOfSquares(Element element);

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_ROWSTATISTIC_H
