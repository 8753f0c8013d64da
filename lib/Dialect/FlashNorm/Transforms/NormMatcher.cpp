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

bool NormMatch::losesRounding() const {
  return statistic.precision.isNarrow() &&
         !getElementTypeOrSelf(input.value.getType()).isF64();
}

std::optional<NormMatch> NormMatcher::explain(Operation *root, unsigned rank,
                                              const std::string &why) {
  auto [entry, isNew] = reasons.try_emplace(root, rank, why);
  if (!isNew && entry->second.first <= rank)
    entry->second = {rank, why};
  return std::nullopt;
}

/// The narrowest tensor with the row last whose elements are those of the
/// statistic's x, or of the numerator's: they may be other views of one tensor.
std::optional<Element> NormMatcher::selectInput(const RowStatistic &statistic,
                                                Element numerator,
                                                std::string &why) const {
  SmallVector<Element> views;
  look(numerator, &views);
  if (!(numerator == statistic.x))
    look(statistic.x, &views);
  std::optional<Element> best;
  auto getCost = [&](Element view) {
    auto type = cast<RankedTensorType>(view.value.getType());
    return std::make_tuple(type.getElementTypeBitWidth(),
                           type.isDynamicDim(type.getRank() - 1),
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
    unsigned rowDims = getNormalizedDims(view.index, type.getShape());
    if (rowDims == 0) {
      SmallVector<unsigned> dims;
      for (auto [dim, expr] : llvm::enumerate(exprs))
        if (expr.isFunctionOfSymbol(0))
          dims.push_back(dim);
      if (dims.size() == 1)
        why = llvm::formatv(
            "the sum runs over dimension {0} of {1}, not over the last",
            dims.front(), type);
      else if (!dims.empty())
        why = llvm::formatv("the sum runs over dimensions {0:$[, ]} of {1}, "
                            "not over the last ones",
                            llvm::make_range(dims.begin(), dims.end()), type);
      continue;
    }
    // A cast or another operand may hold the size instead of the view.
    ArrayRef<int64_t> row = type.getShape().take_back(rowDims);
    if (rowDims == 1
            ? !ShapedType::isDynamic(row[0]) && row[0] != statistic.length
            : llvm::is_contained(row, ShapedType::kDynamic) ||
                  ShapedType::getNumElements(row) != statistic.length) {
      why = llvm::formatv("the last {0} dimensions of {1} are not known to "
                          "have the {2} elements of the sum",
                          rowDims, type, statistic.length);
      continue;
    }
    // Each row has a place of its own.
    llvm::SmallDenseSet<AffineExpr> rows;
    bool isPlain = true;
    for (auto [expr, size] : llvm::zip_equal(
             exprs.drop_back(rowDims), type.getShape().drop_back(rowDims)))
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
                          bool inverse, bool allowWeight, Numerator numerator) {
  NormMatch match;
  Element x;
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
        look(factor.element).op == statistic.root) {
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
  if (!hasNumerator && numerator != Numerator::Normalized)
    return std::nullopt;
  if (!hasNumerator)
    return explain(statistic.root, 0,
                   "the root is not multiplied with the tensor whose squares "
                   "are summed");
  if (match.weight && precision.isNarrow())
    return std::nullopt;
  match.statistic.precision.see(precision.narrowest);
  std::string why;
  std::optional<Element> input = selectInput(statistic, x, why);
  if (!input || match.statistic.precision.isTooNarrow(why))
    return explain(statistic.root, 2, why);
  match.input = *input;
  return match;
}

/// A factor is a sum: with a root, it has been meant to be a norm.
void NormMatcher::explainSummands(const Node &sum) {
  for (Element summand : sum.args) {
    Node root = look(summand);
    if (root.is(Kind::Sqrt) || root.is(Kind::Rsqrt))
      explain(root.op, 1, "a value is added to the root, not under it");
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
            matchFactors(element, *statistic, factor.inverse, allowWeight,
                         Numerator::Normalized))
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
      std::string why;
      std::optional<RowStatistic> statistic =
          matchRowStatistic(root, factor.inverse, why);
      if (!statistic || statistic->kind != NormKind::Layer)
        continue;
      auto matchPart = [&](const Term &term, Numerator numerator) {
        return matchFactors(term.element, *statistic, factor.inverse,
                            /*allowWeight=*/true, numerator);
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

/// A norm in f32 or f64 throughout.
std::optional<NormMatch> NormMatcher::matchWide(Element element) {
  Node node = look(element);
  while (node.is(Kind::Round) && !isNarrow(node.type)) {
    element = node.args[0];
    node = look(element);
  }
  if (isNarrow(node.type))
    return std::nullopt;
  if (!node.is(Kind::Add) && !node.is(Kind::Sub))
    return matchProduct(element, /*allowWeight=*/true);
  for (bool swap : {false, true}) {
    if (node.is(Kind::Sub))
      break;
    auto [product, bias] = getOperands(node, swap);
    std::optional<VectorOperand> vector = VectorOperand::get(bias);
    if (!vector || isNarrow(look(product).type))
      continue;
    std::optional<NormMatch> match = matchProduct(product, true);
    if (!match || match->statistic.kind != NormKind::Layer ||
        !vector->fits(match->statistic.length))
      continue;
    match->bias = vector;
    return match;
  }
  return matchExpanded(element);
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
    if (!match || !vector->fits(match->statistic.length))
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
        !vector->fits(match->statistic.length))
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
  // Rounded to another type before.
  if (isNarrow(resultType) && node.type != resultType)
    return std::nullopt;
  std::optional<NormMatch> match =
      isNarrow(resultType) ? matchNarrow(node, element) : matchWide(element);
  if (!match || !preserveRounding || !match->losesRounding())
    return match;
  std::string why;
  llvm::raw_string_ostream(why)
      << "a value is rounded to " << match->statistic.precision.narrowest
      << " on the way, which is to be preserved";
  return explain(match->statistic.root, 2, why);
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
  auto found = reasons.find(node.op);
  if (found != reasons.end() && found->second.first != 0)
    return found->second.second;
  resultType = {};
  if (!selectInput(*statistic, statistic->x, why) ||
      statistic->precision.isTooNarrow(why))
    return why;
  return "no product of the root and the tensor whose squares are summed was "
         "found";
}
