//===- NormProducts.cpp - Numerator times root ----------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NormMatcher.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace flashnorm;
using Kind = Node::Kind;

// Factors of a product are looked for this deep.
static constexpr unsigned maxDepth = 6;

namespace {
/// A factor of a product, or what it is divided by.
struct Factor {
  Element element;
  bool inverse;
};
} // namespace

/// The factors of `element`, down to those for which `stop` holds.
static void collectFactors(Element element, bool inverse, unsigned depth,
                           function_ref<bool(Element)> stop,
                           SmallVectorImpl<Factor> &factors,
                           Precision &precision) {
  if (depth == maxDepth || (!inverse && stop(element)))
    return factors.push_back({element, inverse});
  auto collect = [&](Element arg, bool isInverse) {
    collectFactors(arg, isInverse, depth + 1, stop, factors, precision);
  };
  Node node = look(element);
  switch (node.kind) {
  case Kind::Mul:
  case Kind::Div:
    precision.see(node.type);
    collect(node.args[0], inverse);
    return collect(node.args[1], inverse != node.is(Kind::Div));
  case Kind::Recip:
    precision.see(node.type);
    return collect(node.args[0], !inverse);
  case Kind::Round:
    precision.see(node.type);
    return collect(node.args[0], inverse);
  default:
    return factors.push_back({element, inverse});
  }
}

/// `element` is what a product with this statistic scales. `x` gets the part of
/// it that is x.
static bool isNumerator(Element element, const RowStatistic &statistic,
                        Numerator numerator, Precision &precision, Element &x) {
  if (numerator == Numerator::Mean) {
    x = statistic.x;
    return isMeanOf(element, statistic, precision);
  }
  if (statistic.kind == NormKind::RMS || numerator == Numerator::Raw) {
    x = element;
    return isSame(element, statistic.x);
  }
  std::optional<Centered> centered = matchCentered(element, precision);
  if (!centered || centered->length != statistic.length ||
      !isSame(centered->x, statistic.x))
    return false;
  x = centered->x;
  return true;
}

std::optional<NormMatch>
NormMatcher::matchFactors(Element element, const RowStatistic &statistic,
                          Element root, bool inverse, bool allowWeight,
                          Numerator numerator) {
  NormMatch match;
  Element x;
  match.statistic = statistic;
  Precision precision;
  // The rounding to the result type is no loss; that of a term is one.
  if (Node node = look(element);
      node.is(Kind::Round) && !isTooNarrow(node.type)) {
    element = node.args[0];
    if (numerator != Numerator::Normalized)
      precision.see(node.type);
  }
  SmallVector<Factor> factors;
  collectFactors(
      element, /*inverse=*/false, /*depth=*/0,
      [&](Element factor) {
        Precision ignored;
        Element ignoredX;
        return isNumerator(factor, statistic, numerator, ignored, ignoredX);
      },
      factors, precision);
  bool hasNumerator = false, hasRoot = false;
  for (Factor factor : factors) {
    if (!factor.inverse && !hasNumerator &&
        isNumerator(factor.element, statistic, numerator,
                    match.statistic.precision, x)) {
      hasNumerator = true;
      continue;
    }
    if (!hasRoot && factor.inverse == inverse &&
        look(factor.element).op == statistic.root &&
        isSame(factor.element, root)) {
      hasRoot = true;
      continue;
    }
    std::optional<Constant> constant = getConstant(factor.element);
    if (constant && constant->value == 1)
      continue;
    if (allowWeight && !factor.inverse && !match.weight) {
      match.weight = VectorOperand::get(factor.element);
      match.weightFactor = factor.element;
      if (match.weight && match.weight->fits(statistic.length))
        continue;
    }
    if (numerator != Numerator::Normalized)
      return std::nullopt;
    bool isLayer = statistic.kind == NormKind::Layer;
    if (isLayer ? isSame(factor.element, statistic.x)
                : isCentered(factor.element))
      return explain(
          statistic.root, 1,
          {MissReason::Centring,
           isLayer ? "the squares are of centred values but the numerator is "
                     "not centred"
                   : "the numerator is centred but the squares are not of "
                     "centred values"});
    if (constant)
      return explain(statistic.root, 1,
                     {MissReason::Product,
                      llvm::formatv("the product has a further factor {0}",
                                    printNumber(constant->value))});
    return explain(statistic.root, 0, getNoProduct());
  }
  if (!hasRoot)
    return std::nullopt;
  if (!hasNumerator && numerator != Numerator::Normalized)
    return std::nullopt;
  if (!hasNumerator)
    return explain(statistic.root, 0,
                   {MissReason::Product,
                    "the root is not multiplied with the tensor whose squares "
                    "are summed"});
  if (match.weight && precision.isNarrow())
    return std::nullopt;
  match.statistic.precision.see(precision.narrowest);
  NearMiss why;
  std::optional<Element> input = selectInput(statistic, x, why);
  if (!input || match.statistic.precision.isTooNarrow(why))
    return explain(statistic.root, 2, why);
  match.input = *input;
  if (!isEpsFor(APFloat(statistic.eps),
                getElementTypeOrSelf(match.input.value.getType())))
    return explain(statistic.root, 3,
                   {MissReason::Epsilon,
                    llvm::formatv("epsilon is {0}, which f32 does not hold",
                                  printNumber(statistic.eps))});
  return match;
}

/// A factor is a sum: with a root, it has been meant to be a norm.
void NormMatcher::explainSummands(const Node &sum) {
  for (Element summand : sum.args) {
    Node root = look(summand);
    if (root.is(Kind::Sqrt) || root.is(Kind::Rsqrt))
      explain(
          root.op, 1,
          {MissReason::Epsilon, "a value is added to the root, not under it"});
  }
}

/// numerator * root, in any order and grouping, with a weight among them or
/// not.
std::optional<NormMatch> NormMatcher::matchProduct(Element element,
                                                   bool allowWeight) {
  SmallVector<Factor> factors;
  Precision ignored;
  collectFactors(
      element, /*inverse=*/false, /*depth=*/0, [](Element) { return false; },
      factors, ignored);
  for (Factor factor : factors) {
    Node node = look(factor.element);
    if (node.is(Kind::Add))
      explainSummands(node);
    if (!node.is(Kind::Rsqrt) && !node.is(Kind::Sqrt) && !node.is(Kind::Pow))
      continue;
    NearMiss why;
    std::optional<RowStatistic> statistic =
        matchRowStatistic(node, factor.inverse, why);
    if (!statistic) {
      // The statistic may be right, and the product be the wrong way round.
      NearMiss ignored;
      if (matchRowStatistic(node, !factor.inverse, ignored))
        explain(node.op, 1, why);
      continue;
    }
    if (std::optional<NormMatch> match =
            matchFactors(element, *statistic, factor.element, factor.inverse,
                         allowWeight, Numerator::Normalized))
      return match;
  }
  return std::nullopt;
}

namespace {
/// Of a sum.
struct Term {
  Element element;
  bool isNegative;
};
} // namespace

/// The terms of `element`, which is computed in f32 or f64; more than three
/// only to say so.
static void collectTerms(Element element, bool isNegative, unsigned depth,
                         SmallVectorImpl<Term> &terms) {
  Node node = look(element);
  auto collect = [&](unsigned arg, bool flip) {
    collectTerms(node.args[arg], isNegative != flip, depth + 1, terms);
  };
  if (depth == maxDepth || terms.size() > 3 || isNarrow(node.type))
    return terms.push_back({element, isNegative});
  if (node.is(Kind::Round) || node.is(Kind::Neg))
    return collect(0, node.is(Kind::Neg));
  if ((node.is(Kind::Add) || node.is(Kind::Sub)) && !isCentered(element)) {
    collect(0, false);
    return collect(1, node.is(Kind::Sub));
  }
  terms.push_back({element, isNegative});
}

/// LayerNorm with the difference multiplied out, as TensorFlow writes it:
/// x * f + (bias - mean(x) * f), where f = root * weight.
std::optional<NormMatch> NormMatcher::matchExpanded(Element element) {
  SmallVector<Term> terms;
  collectTerms(element, /*isNegative=*/false, /*depth=*/0, terms);
  if (terms.size() < 2 || terms.size() > 3)
    return std::nullopt;
  for (auto [i, scaled] : llvm::enumerate(terms)) {
    if (scaled.isNegative)
      continue;
    SmallVector<Factor> factors;
    Precision ignored;
    collectFactors(
        scaled.element, /*inverse=*/false, /*depth=*/0,
        [](Element) { return false; }, factors, ignored);
    for (Factor factor : factors) {
      Node root = look(factor.element);
      if (!root.is(Kind::Rsqrt) && !root.is(Kind::Sqrt) && !root.is(Kind::Pow))
        continue;
      NearMiss why;
      std::optional<RowStatistic> statistic =
          matchRowStatistic(root, factor.inverse, why);
      if (!statistic || statistic->kind != NormKind::Layer)
        continue;
      auto matchPart = [&](const Term &term, Numerator numerator) {
        return matchFactors(term.element, *statistic, factor.element,
                            factor.inverse, /*allowWeight=*/true, numerator);
      };
      std::optional<NormMatch> match = matchPart(scaled, Numerator::Raw);
      if (!match)
        continue;
      for (auto [j, shift] : llvm::enumerate(terms)) {
        if (i == j || !shift.isNegative)
          continue;
        std::optional<NormMatch> mean = matchPart(shift, Numerator::Mean);
        if (!mean || bool(mean->weight) != bool(match->weight) ||
            (match->weight && !isSame(mean->weightFactor, match->weightFactor)))
          continue;
        match->statistic.precision.see(mean->statistic.precision.narrowest);
        if (terms.size() == 2)
          return match;
        const Term &last = terms[3 - i - j];
        match->bias = VectorOperand::get(last.element);
        if (!last.isNegative && match->bias &&
            match->bias->fits(statistic->length))
          return match;
      }
    }
  }
  return std::nullopt;
}
