//===- NormMatcher.h - The mathematics of norms -----------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A norm is a product of a numerator, the reciprocal root of a statistic of it,
// and perhaps a weight; a bias may be added. LayerNorm is RMSNorm of a centred
// numerator: one matcher, two uses.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_NORMMATCHER_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_NORMMATCHER_H

#include "RowStatistic.h"
#include "VectorOperand.h"
#include "llvm/ADT/DenseMap.h"

namespace flashnorm {

struct NormMatch {
  RowStatistic statistic;
  /// The tensor to normalise, and where the matched element reads it.
  Element input;
  std::optional<VectorOperand> weight, bias;
  /// What the weight was made of.
  Element weightFactor;
  CastPosition cast = CastPosition::AfterAffine;

  /// The norm computes in f32 what is rounded to fewer bits.
  bool losesRounding() const;
};

/// What a product scales by a root: x, centred if the squares are of centred
/// values, or one of the two parts of that difference.
enum class Numerator { Normalized, Raw, Mean };

class NormMatcher {
public:
  /// With `preserveRounding`, no norm that would compute in f32 what is rounded
  /// to fewer bits.
  explicit NormMatcher(bool preserveRounding)
      : preserveRounding(preserveRounding) {}

  /// The norm whose last operation computes `element`. Among the tensors that
  /// hold its input, one that is read at `place` is preferred.
  std::optional<NormMatch> match(Element element, mlir::AffineMap place);

  /// Why `root`, an element that a Rsqrt, Sqrt or Pow computes, does not belong
  /// to a norm. Nothing if there is no sum of squares below it.
  std::optional<NearMiss> getReason(Element root);

  /// `op` is about to be erased.
  void forget(mlir::Operation *op);

private:
  std::optional<NormMatch> matchWide(Element element);
  std::optional<NormMatch> matchNarrow(const Node &node, Element element);
  std::optional<NormMatch> matchRoundedFactor(const Node &product,
                                              mlir::Type type);
  std::optional<NormMatch> matchProduct(Element element, bool allowWeight);
  std::optional<NormMatch> matchExpanded(Element element);
  std::optional<NormMatch> matchFactors(Element element,
                                        const RowStatistic &statistic,
                                        Element root, bool inverse,
                                        bool allowWeight, Numerator numerator);
  std::optional<Element> selectInput(const RowStatistic &statistic,
                                     Element numerator, NearMiss &why) const;
  void explainSummands(const Node &sum);
  static NearMiss getNoProduct();
  std::optional<NormMatch> explain(mlir::Operation *root, unsigned rank,
                                   NearMiss why);

  bool preserveRounding;
  /// Of the match in progress.
  mlir::Type resultType;
  mlir::AffineMap place;
  /// For each root the reason of the match that got furthest.
  llvm::DenseMap<mlir::Operation *, std::pair<unsigned, NearMiss>> reasons;
};

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_NORMMATCHER_H
