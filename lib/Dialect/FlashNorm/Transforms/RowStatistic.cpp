//===- RowStatistic.cpp - Means, variances and their roots ----------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowStatistic.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace flashnorm;
using Kind = Node::Kind;

bool flashnorm::isNarrow(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
}

bool flashnorm::isTooNarrow(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 16;
}

void Precision::see(Type type) {
  if (isa_and_nonnull<FloatType>(type) &&
      (!narrowest ||
       type.getIntOrFloatBitWidth() < narrowest.getIntOrFloatBitWidth()))
    narrowest = type;
}

bool Precision::isNarrow() const {
  return narrowest && flashnorm::isNarrow(narrowest);
}

bool Precision::isTooNarrow(NearMiss &why) const {
  if (!narrowest || !flashnorm::isTooNarrow(narrowest))
    return false;
  why = {MissReason::Type,
         llvm::formatv("a value is rounded to {0}, narrower than bf16 and f16",
                       narrowest)};
  return true;
}

/// `element` without roundings.
static Node lookBehindRounding(Element element, Precision &precision) {
  Node node = look(element);
  for (unsigned depth = 0; node.is(Kind::Round) && depth != 4; ++depth) {
    precision.see(node.type);
    node = look(node.args[0]);
  }
  if (!node.args.empty())
    precision.see(node.type);
  return node;
}

//===----------------------------------------------------------------------===//
// Means
//===----------------------------------------------------------------------===//

namespace {
/// A mean along the row.
struct Mean {
  Element term;
  int64_t length;
};

/// A constant that a sum, or its terms, are multiplied with or divided by.
struct Scale {
  Constant constant;
  bool inverse;
  /// What the product is computed in.
  Type type;

  /// This makes a mean of a sum of `length` terms.
  bool isMeanOf(int64_t length) const;
};
} // namespace

bool Scale::isMeanOf(int64_t length) const {
  if (inverse)
    return constant.value == static_cast<double>(length);
  auto type = dyn_cast<FloatType>(constant.type);
  if (!type || type.getWidth() < 16 || type.getWidth() > 64)
    return false;
  APFloat exact(1.0 / static_cast<double>(length));
  bool losesInfo;
  exact.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  if (type.getWidth() == 16) {
    // Here a unit may be the difference to another length, and a subnormal
    // number be far off: the rounded number, and as good a one as the type of
    // the product can tell.
    double error = std::abs(constant.value * static_cast<double>(length) - 1);
    double limit = !flashnorm::isNarrow(this->type) ? 0x1p-20
                   : type.isBF16()                  ? 0x1p-8
                                                    : 0x1p-11;
    return constant.value == exact.convertToDouble() && error <= limit;
  }
  // 1/length, rounded by whatever means: one unit in the last place.
  APFloat below = exact, above = exact;
  below.next(/*nextDown=*/true);
  above.next(/*nextDown=*/false);
  return below.convertToDouble() <= constant.value &&
         constant.value <= above.convertToDouble();
}

/// Moves over a multiplication with a constant or a division by one.
static bool takeScale(Node &node, SmallVectorImpl<Scale> &scales,
                      Precision &precision) {
  if (node.is(Kind::Mul))
    for (unsigned i : {0, 1})
      if (std::optional<Constant> constant = getConstant(node.args[i])) {
        scales.push_back({*constant, /*inverse=*/false, node.type});
        node = lookBehindRounding(node.args[1 - i], precision);
        return true;
      }
  if (node.is(Kind::Div))
    if (std::optional<Constant> constant = getConstant(node.args[1])) {
      scales.push_back({*constant, /*inverse=*/true, node.type});
      node = lookBehindRounding(node.args[0], precision);
      return true;
    }
  return false;
}

static std::optional<Mean> matchMean(Element element, Precision &precision,
                                     NearMiss &why) {
  SmallVector<Scale, 2> scales;
  Node sum = lookBehindRounding(element, precision);
  while (scales.size() < 2 && takeScale(sum, scales, precision)) {
  }
  if (!sum.is(Kind::Sum)) {
    why = {MissReason::Between,
           sum.op ? llvm::formatv("'{0}' comes between the sum and the root",
                                  sum.op->getName())
                        .str()
                  : "a block argument stands where a sum is expected"};
    return std::nullopt;
  }
  if (sum.summedDims != 1) {
    why = {MissReason::Axis,
           llvm::formatv("the sum runs over {0} dimensions", sum.summedDims)};
    return std::nullopt;
  }
  if (ShapedType::isDynamic(sum.terms)) {
    why = {MissReason::Length, "the normalised dimension is dynamic"};
    return std::nullopt;
  }
  if (sum.terms == 0) {
    why = {MissReason::Length, "the sum has no terms"};
    return std::nullopt;
  }
  if (sum.args.size() == 2) {
    std::optional<Constant> init = getConstant(sum.args[1]);
    if (!init) {
      why = {MissReason::Start, "the sum does not start from a constant"};
      return std::nullopt;
    }
    if (init->value != 0) {
      why = {MissReason::Start,
             llvm::formatv("the sum starts from {0}, not from 0",
                           printNumber(init->value))};
      return std::nullopt;
    }
  }
  // The scale may have been moved into the sum.
  Element term = sum.args[0];
  if (scales.empty()) {
    Node summand = lookBehindRounding(term, precision);
    if (takeScale(summand, scales, precision))
      term = summand.self;
  }
  if (scales.size() != 1) {
    why = {MissReason::Divisor,
           scales.empty() ? "the sum is not divided by its number of terms"
                          : "the sum is scaled twice"};
    return std::nullopt;
  }
  if (!scales[0].isMeanOf(sum.terms)) {
    why = {MissReason::Divisor,
           llvm::formatv("the sum of {0} terms is {1} {2}", sum.terms,
                         scales[0].inverse ? "divided by" : "multiplied by",
                         printNumber(scales[0].constant.value))};
    return std::nullopt;
  }
  return Mean{term, sum.terms};
}

static std::optional<Element> matchSquare(Element element, Precision &precision,
                                          NearMiss &why) {
  Node node = lookBehindRounding(element, precision);
  if (node.is(Kind::Pow)) {
    std::optional<Constant> exponent = getConstant(node.args[1]);
    if (exponent && exponent->value == 2) {
      Node base = look(node.args[0]);
      return base.is(Kind::Abs) ? base.args[0] : node.args[0];
    }
    why = {MissReason::Square, exponent
                                   ? llvm::formatv("the exponent is {0}, not 2",
                                                   printNumber(exponent->value))
                                         .str()
                                   : "the exponent is not a constant"};
    return std::nullopt;
  }
  if (node.is(Kind::Mul) && isSame(node.args[0], node.args[1]))
    return node.args[0];
  why = {MissReason::Square, "the summed value is not a square"};
  return std::nullopt;
}

std::optional<Centered> flashnorm::matchCentered(Element element,
                                                 Precision &precision) {
  Precision seen = precision;
  Node node = lookBehindRounding(element, seen);
  Element x, mean;
  if (node.is(Kind::Sub)) {
    x = node.args[0];
    mean = node.args[1];
  } else if (node.is(Kind::Add)) {
    for (unsigned i : {0, 1})
      if (Node negated = look(node.args[i]); negated.is(Kind::Neg)) {
        x = node.args[1 - i];
        mean = negated.args[0];
      }
  }
  NearMiss why;
  if (!x.value)
    return std::nullopt;
  std::optional<Mean> found = matchMean(mean, seen, why);
  if (!found || !isSame(found->term, x))
    return std::nullopt;
  precision = seen;
  return Centered{x, found->length};
}

bool flashnorm::isCentered(Element element) {
  Precision ignored;
  return matchCentered(element, ignored).has_value();
}

std::optional<Centered> flashnorm::matchMeanOfRow(Element element,
                                                  Precision &precision) {
  Precision seen = precision;
  NearMiss why;
  std::optional<Mean> mean = matchMean(element, seen, why);
  if (!mean)
    return std::nullopt;
  precision = seen;
  return Centered{mean->term, mean->length};
}

bool flashnorm::isMeanOf(Element element, const RowStatistic &statistic,
                         Precision &precision) {
  Precision seen = precision;
  NearMiss why;
  std::optional<Mean> mean = matchMean(element, seen, why);
  if (!mean || mean->length != statistic.length ||
      !isSame(mean->term, statistic.x))
    return false;
  precision = seen;
  return true;
}

//===----------------------------------------------------------------------===//
// Roots
//===----------------------------------------------------------------------===//

/// The value whose reciprocal root `root` is, or with `inverse`, whose root.
static std::optional<Element> getRadicand(const Node &root, bool inverse,
                                          Precision &precision, NearMiss &why) {
  switch (root.kind) {
  case Kind::Rsqrt:
    if (!inverse)
      return root.args[0];
    break;
  case Kind::Sqrt: {
    if (inverse)
      return root.args[0];
    Node argument = look(root.args[0]);
    precision.see(argument.type);
    if (argument.is(Kind::Recip))
      return argument.args[0];
    if (argument.is(Kind::Div))
      if (auto one = getConstant(argument.args[0]); one && one->value == 1)
        return argument.args[1];
    break;
  }
  case Kind::Pow: {
    std::optional<Constant> exponent = getConstant(root.args[1]);
    if (exponent && exponent->value == (inverse ? 0.5 : -0.5))
      return root.args[0];
    why = {MissReason::Root,
           exponent ? llvm::formatv("the exponent of the root is {0}",
                                    printNumber(exponent->value))
                          .str()
                    : "the exponent of the root is not a constant"};
    return std::nullopt;
  }
  default:
    break;
  }
  why = {MissReason::Root,
         "the numerator is multiplied by the root, not divided by it"};
  return std::nullopt;
}

/// mean(x * x) - mean(x) * mean(x)
static bool matchRawMoments(const Node &difference, RowStatistic &statistic) {
  NearMiss why;
  Precision precision = statistic.precision;
  precision.see(difference.type);
  std::optional<Mean> squares = matchMean(difference.args[0], precision, why);
  std::optional<Element> mean = matchSquare(difference.args[1], precision, why);
  if (!squares || !mean)
    return false;
  std::optional<Element> x = matchSquare(squares->term, precision, why);
  std::optional<Mean> found = matchMean(*mean, precision, why);
  if (!x || !found || found->length != squares->length ||
      !isSame(*x, found->term))
    return false;
  statistic.kind = NormKind::Layer;
  statistic.x = *x;
  statistic.length = squares->length;
  statistic.precision = precision;
  statistic.isRawMoments = true;
  return true;
}

std::optional<RowStatistic>
flashnorm::matchRowStatistic(const Node &root, bool inverse, NearMiss &why) {
  RowStatistic statistic;
  statistic.root = root.op;
  statistic.precision.see(root.type);
  std::optional<Element> radicand =
      getRadicand(root, inverse, statistic.precision, why);
  if (!radicand)
    return std::nullopt;

  Node sum = lookBehindRounding(*radicand, statistic.precision);
  Element variance = *radicand;
  if (sum.is(Kind::Add)) {
    std::optional<Constant> eps = getConstant(sum.args[1]);
    variance = sum.args[0];
    if (!eps) {
      eps = getConstant(sum.args[0]);
      variance = sum.args[1];
    }
    if (!eps) {
      why = {MissReason::Epsilon, "epsilon is not a constant"};
      return std::nullopt;
    }
    if (!(eps->value >= 0) || !std::isfinite(eps->value)) {
      why = {MissReason::Epsilon,
             llvm::formatv("epsilon is {0}, not finite and 0 or more",
                           printNumber(eps->value))};
      return std::nullopt;
    }
    // A negative zero adds what a zero adds.
    statistic.eps = std::fabs(eps->value);
  }

  // A variance of raw moments may be negative, and is then cut off at zero.
  Node difference = look(variance);
  if (difference.is(Kind::Max))
    for (unsigned i : {0, 1})
      if (auto zero = getConstant(difference.args[i]);
          zero && zero->value == 0) {
        difference = look(difference.args[1 - i]);
        break;
      }
  if (difference.is(Kind::Sub) && matchRawMoments(difference, statistic))
    return statistic;
  if (sum.is(Kind::Max)) {
    why = {MissReason::Epsilon,
           "the variance is clamped by a maximum instead of adding epsilon"};
    return std::nullopt;
  }

  std::optional<Mean> mean = matchMean(variance, statistic.precision, why);
  if (!mean)
    return std::nullopt;
  std::optional<Element> x = matchSquare(mean->term, statistic.precision, why);
  if (!x)
    return std::nullopt;
  statistic.x = *x;
  statistic.length = mean->length;
  if (auto centered = matchCentered(*x, statistic.precision);
      centered && centered->length == mean->length) {
    statistic.kind = NormKind::Layer;
    statistic.x = centered->x;
  }
  return statistic;
}

//===----------------------------------------------------------------------===//
// Near misses
//===----------------------------------------------------------------------===//

static bool hasSumOfSquares(Element element, unsigned &budget) {
  if (budget == 0)
    return false;
  --budget;
  Node node = look(element);
  if (node.is(Kind::Sum)) {
    Precision precision;
    NearMiss why;
    SmallVector<Scale, 2> scales;
    Node term = lookBehindRounding(node.args[0], precision);
    while (scales.size() < 2 && takeScale(term, scales, precision)) {
    }
    return term.is(Kind::Pow) ||
           matchSquare(term.self, precision, why).has_value();
  }
  if (!node.is(Kind::Opaque))
    return llvm::any_of(
        node.args, [&](Element arg) { return ::hasSumOfSquares(arg, budget); });
  // An op that is not known, between the sum and the root.
  if (!node.op || isa<linalg::LinalgOp>(node.op) || isa<RMSNormOp>(node.op) ||
      isa<LayerNormOp>(node.op) || node.op->getNumRegions() != 0)
    return false;
  for (Value operand : node.op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type)
      continue;
    AffineMap place = getPlace(operand.getContext(), type.getShape(), {});
    if (::hasSumOfSquares({operand, place}, budget))
      return true;
  }
  return false;
}

bool flashnorm::hasSumOfSquares(Element element) {
  unsigned budget = 32;
  return ::hasSumOfSquares(element, budget);
}
