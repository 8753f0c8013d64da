//===- NormMatcher.cpp - The mathematics of norms -------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NormMatcher.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

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

/// Both readings of a commutative operation.
static std::pair<Element, Element> getOperands(const Node &node, bool swap) {
  return {node.args[swap], node.args[!swap]};
}

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

/// `element` is what a norm with this statistic scales.
static bool isNumerator(Element element, const RowStatistic &statistic,
                        Precision &precision) {
  if (statistic.kind == NormKind::RMS)
    return isSame(element, statistic.x);
  std::optional<Centered> centered = matchCentered(element, precision);
  return centered && centered->length == statistic.length &&
         isSame(centered->x, statistic.x);
}

std::optional<NormMatch> NormMatcher::explain(Operation *root, unsigned rank,
                                              const std::string &why) {
  auto [entry, isNew] = reasons.try_emplace(root, rank, why);
  if (!isNew && entry->second.first <= rank)
    entry->second = {rank, why};
  return std::nullopt;
}

/// The narrowest tensor with the normalised dimension last whose elements are
/// those of the statistic's x.
std::optional<Element> NormMatcher::selectInput(const RowStatistic &statistic,
                                                std::string &why) const {
  SmallVector<Element> views;
  look(statistic.x, &views);
  std::optional<Element> best;
  auto getCost = [&](Element view) {
    return std::make_pair(
        getElementTypeOrSelf(view.value.getType()).getIntOrFloatBitWidth(),
        view.index != place);
  };
  why = "the normalised value is not a tensor of its own";
  for (Element view : views) {
    auto type = cast<RankedTensorType>(view.value.getType());
    if (type.getRank() == 0)
      continue;
    if (!isNormType(type.getElementType())) {
      why = llvm::formatv("{0} is not of f16, bf16, f32 or f64", type);
      continue;
    }
    if (type.getEncoding()) {
      why = llvm::formatv("{0} has an encoding", type);
      continue;
    }
    ArrayRef<AffineExpr> exprs = view.index.getResults();
    if (!isa<AffineSymbolExpr>(exprs.back())) {
      for (auto [dim, expr] : llvm::enumerate(exprs))
        if (isa<AffineSymbolExpr>(expr))
          why = llvm::formatv(
              "the sum runs over dimension {0} of {1}, not over the last", dim,
              type);
      continue;
    }
    // The view may know less than the sum: a cast or another operand may hold
    // the size.
    if (type.getShape().back() != statistic.length) {
      why = llvm::formatv("the last dimension of {0} is not known to have the "
                          "{1} elements of the sum",
                          type, statistic.length);
      continue;
    }
    // Each row has a place of its own.
    llvm::SmallDenseSet<AffineExpr> rows;
    bool isPlain = true;
    for (auto [expr, size] :
         llvm::zip_equal(exprs.drop_back(), type.getShape().drop_back()))
      isPlain &=
          size == 1 || (isa<AffineDimExpr>(expr) && rows.insert(expr).second);
    if (!isPlain) {
      why = llvm::formatv("the rows of {0} are not read one by one", type);
      continue;
    }
    if (resultType && resultType.isF64() && !type.getElementType().isF64()) {
      why = llvm::formatv("the result is f64 but the input is {0}", type);
      continue;
    }
    if (!best || getCost(view) < getCost(*best))
      best = view;
  }
  return best;
}

std::optional<NormMatch>
NormMatcher::matchFactors(Element element, const RowStatistic &statistic,
                          bool inverse, bool allowWeight) {
  NormMatch match;
  match.statistic = statistic;
  // The rounding to the result type is no loss.
  if (Node node = look(element);
      node.is(Kind::Round) && !isTooNarrow(node.type))
    element = node.args[0];
  Precision precision;
  SmallVector<Factor> factors;
  collectFactors(
      element, /*inverse=*/false, /*depth=*/0,
      [&](Element factor) {
        Precision ignored;
        return isNumerator(factor, statistic, ignored);
      },
      factors, precision);
  bool hasNumerator = false, hasRoot = false;
  for (Factor factor : factors) {
    if (!factor.inverse && !hasNumerator &&
        isNumerator(factor.element, statistic, match.statistic.precision)) {
      hasNumerator = true;
      continue;
    }
    if (!hasRoot && factor.inverse == inverse &&
        look(factor.element).op == statistic.root) {
      hasRoot = true;
      continue;
    }
    std::optional<Constant> constant = getConstant(factor.element);
    if (constant && constant->value == 1)
      continue;
    if (allowWeight && !factor.inverse && !match.weight) {
      match.weight = VectorOperand::get(factor.element);
      if (match.weight && match.weight->getLength() == statistic.length)
        continue;
    }
    bool isLayer = statistic.kind == NormKind::Layer;
    if (isLayer ? isSame(factor.element, statistic.x)
                : isCentered(factor.element))
      return explain(statistic.root, 1,
                     isLayer ? "the squares are of centred values but the "
                               "numerator is not centred"
                             : "the numerator is centred but the squares are "
                               "not of centred values");
    if (constant)
      return explain(statistic.root, 1,
                     llvm::formatv("the product has a further factor {0}",
                                   printNumber(constant->value)));
    return explain(statistic.root, 0,
                   "no product of the root and the tensor whose squares are "
                   "summed was found");
  }
  if (!hasRoot)
    return std::nullopt;
  if (!hasNumerator)
    return explain(statistic.root, 0,
                   "the root is not multiplied with the tensor whose squares "
                   "are summed");
  if (match.weight && precision.isNarrow())
    return std::nullopt;
  match.statistic.precision.see(precision.narrowest);
  std::string why;
  std::optional<Element> input = selectInput(statistic, why);
  if (!input || match.statistic.precision.isTooNarrow(why))
    return explain(statistic.root, 2, why);
  match.input = *input;
  return match;
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
    if (!node.is(Kind::Rsqrt) && !node.is(Kind::Sqrt) && !node.is(Kind::Pow))
      continue;
    std::string why;
    std::optional<RowStatistic> statistic =
        matchRowStatistic(node, factor.inverse, why);
    if (!statistic) {
      // The statistic may be right, and the product be the wrong way round.
      std::string ignored;
      if (matchRowStatistic(node, !factor.inverse, ignored))
        explain(node.op, 1, why);
      continue;
    }
    if (std::optional<NormMatch> match =
            matchFactors(element, *statistic, factor.inverse, allowWeight))
      return match;
  }
  return std::nullopt;
}

/// A norm in f32 or f64 throughout.
std::optional<NormMatch> NormMatcher::matchWide(Element element) {
  Node node = look(element);
  while (node.is(Kind::Round) && !isNarrow(node.type)) {
    element = node.args[0];
    node = look(element);
  }
  if (isNarrow(node.type))
    return std::nullopt;
  if (!node.is(Kind::Add))
    return matchProduct(element, /*allowWeight=*/true);
  for (bool swap : {false, true}) {
    auto [product, bias] = getOperands(node, swap);
    std::optional<VectorOperand> vector = VectorOperand::get(bias);
    if (!vector || isNarrow(look(product).type))
      continue;
    std::optional<NormMatch> match = matchProduct(product, true);
    if (!match || match->statistic.kind != NormKind::Layer ||
        match->statistic.length != vector->getLength())
      continue;
    match->bias = vector;
    return match;
  }
  return std::nullopt;
}

/// weight * normalised, where the latter has been rounded to `type`.
std::optional<NormMatch> NormMatcher::matchRoundedFactor(const Node &product,
                                                         Type type) {
  if (!product.is(Kind::Mul))
    return std::nullopt;
  for (bool swap : {false, true}) {
    auto [normalized, weight] = getOperands(product, swap);
    if (look(normalized).type != type)
      continue;
    std::optional<VectorOperand> vector = VectorOperand::get(weight);
    if (!vector || !isExact(vector->getElementType(), type))
      continue;
    std::optional<NormMatch> match = matchProduct(normalized, false);
    if (!match || match->statistic.length != vector->getLength())
      continue;
    match->weight = vector;
    match->cast = CastPosition::BeforeAffine;
    return match;
  }
  return std::nullopt;
}

/// A norm with a result in bf16 or f16. The weight may be applied before or
/// after the rounding: different bits.
std::optional<NormMatch> NormMatcher::matchNarrow(const Node &node,
                                                  Element element) {
  if (node.is(Kind::Round)) {
    if (std::optional<NormMatch> match = matchWide(node.args[0]))
      return match;
    // The product of two such numbers is exact in f32: this is one rounding.
    Node product = look(node.args[0]);
    if (product.type.isF32() || product.type.isF64())
      if (std::optional<NormMatch> match =
              matchRoundedFactor(product, node.type))
        return match;
    return matchProduct(element, /*allowWeight=*/false);
  }
  if (std::optional<NormMatch> match = matchRoundedFactor(node, node.type))
    return match;
  if (!node.is(Kind::Add))
    return matchProduct(element, /*allowWeight=*/false);
  for (bool swap : {false, true}) {
    auto [scaled, bias] = getOperands(node, swap);
    std::optional<VectorOperand> vector = VectorOperand::get(bias);
    Node product = look(scaled);
    if (!vector || !isExact(vector->getElementType(), node.type) ||
        product.type != node.type)
      continue;
    std::optional<NormMatch> match = matchRoundedFactor(product, node.type);
    if (!match)
      match = matchProduct(scaled, /*allowWeight=*/false);
    if (!match || match->statistic.kind != NormKind::Layer ||
        match->statistic.length != vector->getLength())
      continue;
    match->bias = vector;
    match->cast = CastPosition::BeforeAffine;
    return match;
  }
  return std::nullopt;
}

std::optional<NormMatch> NormMatcher::match(Element element,
                                            AffineMap resultPlace) {
  resultType = getElementTypeOrSelf(element.value.getType());
  place = resultPlace;
  if (!isNormType(resultType))
    return std::nullopt;
  Node node = look(element);
  if (!isNarrow(resultType))
    return matchWide(element);
  // Rounded to another type before.
  if (node.type != resultType)
    return std::nullopt;
  return matchNarrow(node, element);
}

void NormMatcher::forget(Operation *op) { reasons.erase(op); }

std::optional<std::string> NormMatcher::getReason(Element root) {
  Node node = look(root);
  bool inverse = false;
  if (node.is(Kind::Sqrt))
    inverse = true;
  else if (node.is(Kind::Pow)) {
    std::optional<Constant> exponent = getConstant(node.args[1]);
    inverse = exponent && exponent->value > 0;
    // Powers with whole exponents are no roots.
    if (!exponent || exponent->value == std::trunc(exponent->value))
      return std::nullopt;
  } else if (!node.is(Kind::Rsqrt)) {
    return std::nullopt;
  }
  if (!hasSumOfSquares(node.args[0]))
    return std::nullopt;
  std::string why;
  std::optional<RowStatistic> statistic = matchRowStatistic(node, inverse, why);
  if (!statistic)
    return why;
  if (auto found = reasons.find(node.op); found != reasons.end())
    return found->second.second;
  resultType = {};
  if (!selectInput(*statistic, why) || statistic->precision.isTooNarrow(why))
    return why;
  return "no product of the root and the tensor whose squares are summed was "
         "found";
}
