//===- ActivationMatcher.cpp - Activations in every spelling --------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActivationMatcher.h"
#include "ElementwiseFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <memory>

using namespace mlir;
using namespace flashnorm;

//===----------------------------------------------------------------------===//
// Normal form
//===----------------------------------------------------------------------===//

namespace {
struct Atom;
struct Factor {
  std::shared_ptr<Atom> atom;
  int exponent;
};
struct Term {
  double coefficient;
  SmallVector<Factor, 2> factors;
};
struct Polynomial {
  SmallVector<Term, 2> terms;
  /// Terms or factors have cancelled each other: what is infinite, or beyond
  /// the precision of f32, does not.
  bool cancels = false;

  /// The value when it depends on nothing.
  std::optional<double> getConstant() const {
    if (terms.empty())
      return 0.0;
    if (terms.size() == 1 && terms[0].factors.empty())
      return terms[0].coefficient;
    return std::nullopt;
  }
};
/// x, or a function of a polynomial.
struct Atom {
  enum Kind { Input, Exp, Erf, Tanh, Reciprocal, ReLU } kind;
  Polynomial argument;
};

// Expressions that grow beyond these are no activation that we know.
constexpr unsigned maxTerms = 16, maxSteps = 128;
// Coefficients beyond these would lose what is added to them, or overflow on
// the way; those of activations lie between 0.03 and 2.
constexpr double maxCoefficient = 0x1p8, minCoefficient = 0x1p-8;
} // namespace

static bool isEqual(const Polynomial &a, const Polynomial &b, double tolerance);

static bool isEqual(const Atom &a, const Atom &b, double tolerance) {
  return a.kind == b.kind && isEqual(a.argument, b.argument, tolerance);
}

/// True when `pairs` of both lists match, in any order. The lists are short.
template <typename List, typename Same>
static bool matchUnordered(const List &a, const List &b, Same same) {
  if (a.size() != b.size())
    return false;
  SmallVector<bool> taken(b.size(), false);
  for (const auto &left : a) {
    bool found = false;
    for (unsigned index = 0; index < b.size() && !found; ++index)
      if (!taken[index] && same(left, b[index]))
        found = taken[index] = true;
    if (!found)
      return false;
  }
  return true;
}

static bool hasSameFactors(const Term &a, const Term &b, double tolerance) {
  return matchUnordered(a.factors, b.factors,
                        [&](const Factor &left, const Factor &right) {
                          return left.exponent == right.exponent &&
                                 isEqual(*left.atom, *right.atom, tolerance);
                        });
}

/// Coefficients such as 1 and 0.5 are exact in every type, so that a deviation
/// is no rounding.
static bool isEqualCoefficient(double a, double b, double tolerance) {
  if (b * 8 == std::floor(b * 8))
    return a == b;
  return std::abs(a - b) <= tolerance * std::abs(b);
}

static bool isEqual(const Polynomial &a, const Polynomial &b,
                    double tolerance) {
  return matchUnordered(
      a.terms, b.terms, [&](const Term &left, const Term &right) {
        return isEqualCoefficient(left.coefficient, right.coefficient,
                                  tolerance) &&
               hasSameFactors(left, right, tolerance);
      });
}

static Polynomial constant(double value) {
  Polynomial result;
  if (value != 0)
    result.terms.push_back({value, {}});
  return result;
}

static Polynomial apply(Atom::Kind kind, Polynomial argument) {
  Polynomial result;
  result.terms.push_back(
      {1.0, {{std::make_shared<Atom>(Atom{kind, std::move(argument)}), 1}}});
  return result;
}

static Polynomial scale(Polynomial a, double by) {
  for (Term &term : a.terms)
    term.coefficient *= by;
  return a;
}

static Polynomial add(Polynomial a, const Polynomial &b) {
  a.cancels |= b.cancels;
  for (const Term &term : b.terms) {
    auto same = llvm::find_if(a.terms, [&](const Term &other) {
      return hasSameFactors(term, other, 0);
    });
    if (same == a.terms.end()) {
      a.terms.push_back(term);
      continue;
    }
    a.cancels |= (same->coefficient < 0) != (term.coefficient < 0);
    same->coefficient += term.coefficient;
  }
  return a;
}

static Polynomial multiply(const Polynomial &a, const Polynomial &b) {
  Polynomial result;
  // Zero times a number that may be infinite.
  result.cancels = a.cancels || b.cancels || a.terms.empty() || b.terms.empty();
  for (const Term &left : a.terms)
    for (const Term &right : b.terms) {
      Term product{left.coefficient * right.coefficient, left.factors};
      for (const Factor &factor : right.factors) {
        auto same = llvm::find_if(product.factors, [&](const Factor &other) {
          return isEqual(*factor.atom, *other.atom, 0);
        });
        if (same == product.factors.end()) {
          product.factors.push_back(factor);
          continue;
        }
        result.cancels |= (same->exponent < 0) != (factor.exponent < 0);
        same->exponent += factor.exponent;
      }
      Polynomial term;
      term.terms.push_back(std::move(product));
      result = add(std::move(result), term);
    }
  return result;
}

static Polynomial invert(Polynomial a) {
  if (a.terms.size() != 1)
    return apply(Atom::Reciprocal, std::move(a));
  a.terms[0].coefficient = 1 / a.terms[0].coefficient;
  for (Factor &factor : a.terms[0].factors)
    factor.exponent = -factor.exponent;
  return a;
}

/// f(-p) = -f(p): the first coefficient is made positive.
static Polynomial applyOdd(Atom::Kind kind, Polynomial argument) {
  if (argument.terms.empty() || argument.terms[0].coefficient > 0)
    return apply(kind, std::move(argument));
  return scale(apply(kind, scale(std::move(argument), -1)), -1);
}

//===----------------------------------------------------------------------===//
// From IR to the normal form
//===----------------------------------------------------------------------===//

namespace {
class ExpressionBuilder {
public:
  ExpressionBuilder(const SetVector<Value> &inputs, SetVector<Operation *> &ops)
      : inputs(inputs), ops(ops) {}

  std::optional<Polynomial> build(Value value);
  /// How far the constants may be off by the rounding to their type.
  double getTolerance() const { return tolerance; }

  static Polynomial input() { return apply(Atom::Input, {}); }

private:
  std::optional<Polynomial> buildOp(Operation *op);
  std::optional<Polynomial> buildPower(Value base, int64_t exponent);
  std::optional<Polynomial> buildSelect(arith::SelectOp select);

  const SetVector<Value> &inputs;
  SetVector<Operation *> &ops;
  double tolerance = std::ldexp(1, -20);
  unsigned steps = 0;
};
} // namespace

std::optional<Polynomial> ExpressionBuilder::build(Value value) {
  while (true) {
    if (inputs.contains(value))
      return input();
    if (std::optional<APFloat> number = getConstantFloat(value)) {
      Type type = getElementTypeOrSelf(value.getType());
      if (type.isBF16())
        tolerance = std::max(tolerance, std::ldexp(1, -7));
      else if (type.isF16())
        tolerance = std::max(tolerance, std::ldexp(1, -10));
      bool losesInfo;
      number->convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                      &losesInfo);
      if (!number->isFinite())
        return std::nullopt;
      return constant(number->convertToDouble());
    }
    Value before = stepBack(value);
    if (!before)
      break;
    value = before;
  }
  Operation *op = value.getDefiningOp();
  // In f64 the source is more accurate than the kernel.
  if (!op || op->getNumResults() != 1 || value.getType().isF64())
    return std::nullopt;
  ops.insert(op);
  if (++steps > maxSteps)
    return std::nullopt;
  std::optional<Polynomial> result = buildOp(op);
  if (!result || result->cancels || result->terms.size() > maxTerms ||
      llvm::any_of(result->terms, [](const Term &term) {
        double size = std::abs(term.coefficient);
        return size > maxCoefficient || size < minCoefficient;
      }))
    return std::nullopt;
  return result;
}

std::optional<Polynomial> ExpressionBuilder::buildPower(Value base,
                                                        int64_t exponent) {
  std::optional<Polynomial> factor = build(base);
  if (!factor || exponent < 1 || exponent > 3)
    return std::nullopt;
  Polynomial result = *factor;
  for (int64_t power = 1; power < exponent; ++power) {
    if (result.terms.size() * factor->terms.size() > maxTerms)
      return std::nullopt;
    result = multiply(result, *factor);
  }
  return result;
}

/// `select(x > 0, x, 0)` in its variants, as far as NaN stays NaN.
std::optional<Polynomial>
ExpressionBuilder::buildSelect(arith::SelectOp select) {
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  if (!compare)
    return std::nullopt;
  ops.insert(compare);
  std::optional<Polynomial> lhs = build(compare.getLhs()),
                            rhs = build(compare.getRhs()),
                            ifTrue = build(select.getTrueValue()),
                            ifFalse = build(select.getFalseValue());
  if (!lhs || !rhs || !ifTrue || !ifFalse)
    return std::nullopt;
  bool noNaN =
      bitEnumContainsAll(compare.getFastmath(), arith::FastMathFlags::nnan);
  using Predicate = arith::CmpFPredicate;
  bool greater, less, nanIsTrue;
  switch (compare.getPredicate()) {
  case Predicate::UGT:
  case Predicate::UGE:
    greater = true, less = false, nanIsTrue = true;
    break;
  case Predicate::OGT:
  case Predicate::OGE:
    greater = true, less = false, nanIsTrue = false;
    break;
  case Predicate::ULT:
  case Predicate::ULE:
    greater = false, less = true, nanIsTrue = true;
    break;
  case Predicate::OLT:
  case Predicate::OLE:
    greater = false, less = true, nanIsTrue = false;
    break;
  default:
    return std::nullopt;
  }
  if (lhs->terms.empty()) {
    std::swap(lhs, rhs);
    std::swap(greater, less);
  }
  bool kept = greater;
  if (!kept)
    std::swap(ifTrue, ifFalse);
  // Now `lhs > rhs ? ifTrue : ifFalse`; a NaN has to take the branch of x.
  if (!rhs->terms.empty() || !ifFalse->terms.empty() ||
      !isEqual(*lhs, *ifTrue, 0) || (!noNaN && nanIsTrue != kept))
    return std::nullopt;
  return apply(Atom::ReLU, *lhs);
}

std::optional<Polynomial> ExpressionBuilder::buildOp(Operation *op) {
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return buildSelect(select);
  if (auto power = dyn_cast<math::PowFOp>(op)) {
    std::optional<APFloat> exponent = getConstantFloat(power.getRhs());
    if (!exponent || !exponent->isInteger() ||
        std::abs(exponent->convertToDouble()) > 3)
      return std::nullopt;
    return buildPower(power.getLhs(), int64_t(exponent->convertToDouble()));
  }
  if (auto power = dyn_cast<math::FPowIOp>(op)) {
    APInt exponent;
    if (!matchPattern(power.getRhs(), m_ConstantInt(&exponent)))
      return std::nullopt;
    return buildPower(power.getLhs(), exponent.getSExtValue());
  }
  SmallVector<Polynomial, 3> operands;
  for (Value operand : op->getOperands()) {
    std::optional<Polynomial> polynomial = build(operand);
    if (!polynomial)
      return std::nullopt;
    operands.push_back(std::move(*polynomial));
  }
  auto product = [&](const Polynomial &a,
                     const Polynomial &b) -> std::optional<Polynomial> {
    if (a.terms.size() * b.terms.size() > maxTerms)
      return std::nullopt;
    return multiply(a, b);
  };
  if (isa<arith::AddFOp>(op))
    return add(operands[0], operands[1]);
  if (isa<arith::SubFOp>(op))
    return add(operands[0], scale(operands[1], -1));
  if (isa<arith::NegFOp>(op))
    return scale(operands[0], -1);
  if (isa<arith::MulFOp>(op))
    return product(operands[0], operands[1]);
  if (isa<arith::DivFOp>(op)) {
    if (operands[1].terms.empty())
      return std::nullopt;
    return product(operands[0], invert(operands[1]));
  }
  if (isa<math::FmaOp>(op)) {
    std::optional<Polynomial> scaled = product(operands[0], operands[1]);
    return scaled ? std::optional(add(*scaled, operands[2])) : std::nullopt;
  }
  if (isa<math::ExpOp>(op))
    return apply(Atom::Exp, operands[0]);
  if (isa<math::Exp2Op>(op))
    return apply(Atom::Exp, scale(operands[0], llvm::numbers::ln2));
  if (isa<math::ErfOp>(op))
    return applyOdd(Atom::Erf, operands[0]);
  if (isa<math::ErfcOp>(op))
    return add(constant(1), scale(applyOdd(Atom::Erf, operands[0]), -1));
  if (isa<math::TanhOp>(op))
    return applyOdd(Atom::Tanh, operands[0]);
  bool isMaximum = isa<arith::MaximumFOp>(op);
  if (auto maxnum = dyn_cast<arith::MaxNumFOp>(op))
    isMaximum =
        bitEnumContainsAll(maxnum.getFastmath(), arith::FastMathFlags::nnan);
  if (isMaximum && operands[1].terms.empty())
    return apply(Atom::ReLU, operands[0]);
  if (isMaximum && operands[0].terms.empty())
    return apply(Atom::ReLU, operands[1]);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// x/2 * (1 + f).
static Polynomial halfOfOnePlus(const Polynomial &f) {
  return multiply(scale(ExpressionBuilder::input(), 0.5), add(constant(1), f));
}

std::optional<Activation>
flashnorm::matchActivation(Value root, const SetVector<Value> &inputs,
                           SetVector<Operation *> &ops) {
  ExpressionBuilder builder(inputs, ops);
  std::optional<Polynomial> expression = builder.build(root);
  if (!expression)
    return std::nullopt;
  Polynomial x = ExpressionBuilder::input();
  Polynomial logistic =
      apply(Atom::Reciprocal, add(constant(1), apply(Atom::Exp, scale(x, -1))));
  double root2OverPi = std::sqrt(2 * llvm::numbers::inv_pi);
  Polynomial cubic =
      add(scale(x, root2OverPi),
          scale(multiply(x, multiply(x, x)), root2OverPi * 0.044715));
  const std::pair<Activation, Polynomial> known[] = {
      {Activation::ReLU, apply(Atom::ReLU, x)},
      {Activation::SiLU, multiply(x, logistic)},
      // The same function: logistic(x) = (1 + tanh(x/2)) / 2.
      {Activation::SiLU, halfOfOnePlus(apply(Atom::Tanh, scale(x, 0.5)))},
      {Activation::GELU,
       halfOfOnePlus(apply(Atom::Erf, scale(x, llvm::numbers::sqrt2 / 2)))},
      {Activation::GELUTanh, halfOfOnePlus(apply(Atom::Tanh, cubic))}};
  for (const auto &[activation, form] : known)
    if (isEqual(*expression, form, builder.getTolerance()))
      return activation;
  return std::nullopt;
}
