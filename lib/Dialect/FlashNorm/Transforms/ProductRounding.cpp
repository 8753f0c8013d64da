//===- ProductRounding.cpp - Error of a folded weight ---------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The model. A rounding that drops d >= 1 uniformly distributed bits has errors
// j / 2^d ulp, j in (-2^(d-1), 2^(d-1)], of mean square
//
//   q(d) = (1/12) (1 + 2 / 4^d) ulp^2,    q(0) = 0,    q(inf) = 1/12.
//
// Few bits are worse than many, as ties are frequent: 1/8 for one bit.
//
// Let g have the significand s in [1, 2) with e bits after the point. The
// product with a weight of significand t has e bits too many where s t < 2, and
// e + 1 where it is more; its ulp is then twice as large. The low bits are
// uniform, as the significand of g is odd without its trailing zeros. With the
// energy of the products spread evenly over the logarithm of their size v (a
// mean over their binades), the relative mean square is the integral over t = 1
// to 2 of q (ulp / v)^2 dt / t:
//
//   q(e) (1 / (2 s^2) - 1/8) + q(e + 1) (1/2 - 1 / (2 s^2)).
//
// For a generic factor q is 1/12 and this is (1/12) (3/8). The quotient is 0
// for powers of two, 1.22 for s = 1.5, 1.08 for 1.25, 1.04 for 1.75.
//
// The error of a dot product is that of its terms, which are as large as
// their g: the mean of the quotients weighted with g^2. Beside it stands the
// rounding of the result, and the original has that of g * x (and of x before,
// where it rounds there, too), all generic: 1 for the type of W, 4^b for one
// with b bits less.
//
// Where W is a constant as well, its part is not predicted but computed, from
// the rounded product itself.
//
//===----------------------------------------------------------------------===//

#include "ProductRounding.h"
#include <cmath>

using namespace mlir;
using namespace flashnorm;

/// Mean square of a rounding that drops so many bits, in units of 1/12 ulp^2.
static double meanSquare(int bits) {
  return bits == 0 ? 0 : 1 + 2 * std::pow(4, -bits);
}

/// Mean square of rounding products with `factor`, 1 for a generic factor.
static double productError(double factor) {
  int exponent;
  double s = 2 * std::frexp(std::fabs(factor), &exponent);
  int bits = 0;
  for (double rest = s; rest != std::floor(rest); rest *= 2)
    ++bits;
  double large = 1 / (2 * s * s);
  return (meanSquare(bits) * (large - 0.125) +
          meanSquare(bits + 1) * (0.5 - large)) /
         0.375;
}

static int precisionOf(Value value) {
  auto type = cast<FloatType>(getElementTypeOrSelf(value.getType()));
  return APFloat::semanticsPrecision(type.getFloatSemantics());
}

static double toDouble(APFloat value) {
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

/// Mean square of the errors of `rounded`, which is diag(g) W, over that of
/// generic ones; infinite where finite factors have a product that is not.
static double measureProductError(DenseElementsAttr normWeight,
                                  DenseElementsAttr weight,
                                  DenseElementsAttr rounded,
                                  bool transposeWeight, int precision) {
  SmallVector<double> factors;
  for (const APFloat &value : normWeight.getValues<APFloat>())
    factors.push_back(toDouble(value));
  int64_t innerSize = weight.getType().getDimSize(1), index = 0;
  double energy = 0, error = 0;
  for (auto [value, result] : llvm::zip_equal(weight.getValues<APFloat>(),
                                              rounded.getValues<APFloat>())) {
    int64_t k = transposeWeight ? index % innerSize : index / innerSize;
    ++index;
    double product = factors[k] * toDouble(value);
    if (!std::isfinite(product))
      continue;
    if (!result.isFinite())
      return std::numeric_limits<double>::infinity();
    energy += product * product;
    error += std::pow(product - toDouble(result), 2);
  }
  // Relative to v = s 2^e with s spread evenly over its logarithm, a uniform
  // error of ulp^2 / 12 has the mean square 2^(2 - 2 p) (3 / 8) / (12 ln 2).
  double generic = std::ldexp(0.375 / (12 * std::log(2.0)), 2 - 2 * precision);
  return energy > 0 ? error / energy / generic : 0;
}

FoldError flashnorm::predictFoldError(DenseElementsAttr normWeight,
                                      DenseElementsAttr weight,
                                      DenseElementsAttr product,
                                      MatmulOp matmul, CastPosition cast) {
  double energy = 0, error = 0;
  int64_t threes = 0;
  for (APFloat value : normWeight.getValues<APFloat>()) {
    if (!value.isFiniteNonZero())
      continue;
    double factor = toDouble(value);
    double square = factor * factor;
    energy += square;
    error += square * productError(factor);
    int exponent;
    threes += std::frexp(std::fabs(factor), &exponent) == 0.75;
  }
  if (energy == 0)
    return {1, 0};
  error /= energy;

  int precision = precisionOf(matmul.getWeight());
  // Where the original rounds g * x, that has the ties of g.
  double productError = error;
  if (weight) {
    productError = measureProductError(normWeight, weight, product,
                                       matmul.getTransposeWeight(), precision);
    if (std::isinf(productError))
      return {productError, 0};
  }
  auto relativeTo = [&](Value value) {
    return std::pow(4.0, precision - precisionOf(value));
  };
  double input = relativeTo(matmul.getInput());
  double output = relativeTo(matmul->getResult(0));
  // Rounded before the weight, x is rounded again after it, with its ties.
  double original =
      cast == CastPosition::BeforeAffine ? input * (1 + error) : input;
  return {std::sqrt((productError + output) / (original + output)),
          double(threes) / normWeight.getNumElements()};
}
