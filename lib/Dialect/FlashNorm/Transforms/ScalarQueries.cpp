//===- ScalarQueries.cpp - Constants and equality of elements -------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarFlow.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace flashnorm;
using Kind = Node::Kind;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

double flashnorm::roundTo(double value, Type type) {
  auto floatType = dyn_cast<FloatType>(type);
  if (!floatType)
    return value;
  APFloat number(value);
  bool losesInfo;
  number.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.convertToDouble();
}

std::string flashnorm::printNumber(double value) {
  std::string text;
  for (int digits = 1; digits != 10; ++digits) {
    text.clear();
    llvm::raw_string_ostream(text) << llvm::format("%.*g", digits, value);
    if (static_cast<float>(strtod(text.c_str(), nullptr)) ==
        static_cast<float>(value))
      break;
  }
  return text;
}

bool flashnorm::isExact(Type from, Type to) {
  if (from == to)
    return true;
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  return fromFloat && toFloat &&
         APFloat::isRepresentableBy(fromFloat.getFloatSemantics(),
                                    toFloat.getFloatSemantics());
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// `budget` counts operations: expressions that share operands have
/// exponentially many paths.
static std::optional<Constant> getConstant(Element element, unsigned &budget) {
  if (budget == 0)
    return std::nullopt;
  --budget;
  Node node = look(element);
  if (node.is(Kind::Constant))
    return Constant{node.value, node.type};
  SmallVector<double, 2> values;
  switch (node.kind) {
  case Kind::Recip:
  case Kind::Div:
  case Kind::Neg:
  case Kind::Sqrt:
  case Kind::Mul:
  case Kind::Add:
  case Kind::Sub:
    for (Element arg : node.args) {
      std::optional<Constant> constant = ::getConstant(arg, budget);
      if (!constant)
        return std::nullopt;
      values.push_back(constant->value);
    }
    break;
  default:
    return std::nullopt;
  }
  double value = node.is(Kind::Recip)  ? 1 / values[0]
                 : node.is(Kind::Div)  ? values[0] / values[1]
                 : node.is(Kind::Neg)  ? -values[0]
                 : node.is(Kind::Sqrt) ? std::sqrt(values[0])
                 : node.is(Kind::Add)  ? values[0] + values[1]
                 : node.is(Kind::Sub)  ? values[0] - values[1]
                                       : values[0] * values[1];
  return Constant{roundTo(value, node.type), node.type};
}

std::optional<Constant> flashnorm::getConstant(Element element) {
  unsigned budget = 32;
  return ::getConstant(element, budget);
}

bool flashnorm::isSame(Element a, Element b, unsigned depth) {
  Node left = look(a), right = look(b);
  if (left.self == right.self)
    return true;
  if (depth == 0 || left.kind != right.kind || left.type != right.type)
    return false;
  if (left.is(Kind::Constant))
    return left.value == right.value;
  if (left.is(Kind::Opaque) || left.args.size() != right.args.size())
    return false;
  if (left.is(Kind::Sum) && (left.terms != right.terms ||
                             left.summedDims != 1 || right.summedDims != 1))
    return false;
  return llvm::all_of(llvm::zip_equal(left.args, right.args), [&](auto pair) {
    return isSame(std::get<0>(pair), std::get<1>(pair), depth - 1);
  });
}
