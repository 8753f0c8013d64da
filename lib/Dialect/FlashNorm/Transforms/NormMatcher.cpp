//===- NormMatcher.cpp - The mathematics of norms -------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NormMatcher.h"
#include <cmath>

using namespace mlir;
using namespace flashnorm;
using Kind = Node::Kind;

/// Both readings of a commutative operation.
static std::pair<Element, Element> getOperands(const Node &node, bool swap) {
  return {node.args[swap], node.args[!swap]};
}

bool NormMatch::losesRounding() const {
  return statistic.precision.isNarrow() &&
         !getElementTypeOrSelf(input.value.getType()).isF64();
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
  return explain(match->statistic.root, 2, {MissReason::Type, why});
}

//===----------------------------------------------------------------------===//
// Near misses
//===----------------------------------------------------------------------===//

NearMiss NormMatcher::getNoProduct() {
  return {MissReason::Product, "no product of the root and the tensor whose "
                               "squares are summed was found"};
}

std::optional<NormMatch> NormMatcher::explain(Operation *root, unsigned rank,
                                              NearMiss why) {
  auto [entry, isNew] = reasons.try_emplace(root);
  if (isNew || entry->second.first <= rank)
    entry->second = {rank, std::move(why)};
  return std::nullopt;
}

void NormMatcher::forget(Operation *op) { reasons.erase(op); }

std::optional<NearMiss> NormMatcher::getReason(Element root) {
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
  NearMiss why;
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
  return getNoProduct();
}
