//===- WeightProduct.cpp - Product of a norm's and a matmul's weight ------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The products p[k, n] = g[k] W[k, n] are rounded to the type of W. Their
// errors are the same for all rows of x. Where x has a mean far from zero, what
// counts is their sum over k, about sqrt(K / 12) ulp, the same for each row,
// while the original rounds each row of g * x anew. So a column is rounded with
// a shift t[n] that makes this sum small:
//
//   W' = round(p + (t[n] + d[k]) |p|),   s(t) = sum over k of (p - W').
//
// d is a dither of 1/16 ulp and less, so that ties, which are frequent for a g
// with few bits, break one by one as t moves. s falls with t. On average over
// the position of p between its neighbours,
//
//   t1 = s(0) / sum of |p|
//
// is its root, and the secant through 0 and t1 finds a better one where the
// products of a column are few different values:
//
//   t = t1 s(0) / (s(0) - s(t1)).
//
// That leaves a tenth to a half of s(0), less the larger K is. Few roundings
// change, those near a tie, and the error of single products grows by at most
// 1 % (random g, K = 64; 0.1 % from K = 1000 on). t is 0 where it does not make
// s smaller, exceeds half an ulp, or something is not finite. Zeros stay zero,
// and a product that needs no rounding is left alone.
//
//===----------------------------------------------------------------------===//

#include "WeightProduct.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;
using namespace flashnorm;

FloatType flashnorm::getProductType(Type a, Type b) {
  MLIRContext *context = a.getContext();
  if (a.isF64() || b.isF64())
    return Float64Type::get(context);
  return Float32Type::get(context);
}

/// d[k] is this times a number in [-2^31, 2^31): the fractional parts of k
/// times the golden ratio, which are spread evenly over any range of k.
static double getDitherUnit(FloatType elementType) {
  int precision = APFloat::semanticsPrecision(elementType.getFloatSemantics());
  return std::ldexp(1.0, -(precision + 4) - 32);
}
static constexpr int32_t goldenStep = int32_t(0x9e3779b9);

/// Half an ulp of the largest significand, the bound of t.
static double getMaxShift(FloatType elementType) {
  int precision = APFloat::semanticsPrecision(elementType.getFloatSemantics());
  return std::ldexp(1.0, -precision);
}

//===----------------------------------------------------------------------===//
// Emitted
//===----------------------------------------------------------------------===//

namespace {
/// Emits the product of one pair of weights.
class ProductBuilder {
public:
  ProductBuilder(OpBuilder &builder, Location loc, Value normWeight,
                 Value weight, bool transposeWeight)
      : builder(builder), loc(loc), normWeight(normWeight), weight(weight),
        type(cast<RankedTensorType>(weight.getType())),
        elementType(cast<FloatType>(type.getElementType())),
        computeType(
            getProductType(elementType, getElementTypeOrSelf(normWeight))),
        identity(builder.getMultiDimIdentityMap(2)) {
    auto along = [&](unsigned dim) {
      return AffineMap::get(2, 0, builder.getAffineDimExpr(dim));
    };
    alongK = along(transposeWeight ? 1 : 0);
    alongN = along(transposeWeight ? 0 : 1);
    dimK = transposeWeight ? 1 : 0;
    reduction.assign(2, utils::IteratorType::parallel);
    reduction[dimK] = utils::IteratorType::reduction;
    columns = type.getDimSize(transposeWeight ? 0 : 1);
  }

  Value build() {
    return emitProduct(computeType == elementType ? Value() : emitShift());
  }

private:
  Value emitShift();
  SmallVector<Value> emitSums(Value shift);
  Value emitOnColumns(
      ValueRange inputs,
      llvm::function_ref<Value(OpBuilder &, Location, ValueRange)> compute);
  Value emitProduct(Value shift);

  // In the bodies of the ops above.
  Value multiply(OpBuilder &b, Location loc, ValueRange arguments);
  Value round(OpBuilder &b, Location loc, Value product, Value shift);
  Value bound(OpBuilder &b, Location loc, Value shift);
  Value isLess(OpBuilder &b, Location loc, Value left, Value right);
  Value getConstant(OpBuilder &b, Location loc, double value) {
    return arith::ConstantOp::create(b, loc,
                                     b.getFloatAttr(computeType, value));
  }

  OpBuilder &builder;
  Location loc;
  Value normWeight, weight;
  RankedTensorType type;
  FloatType elementType, computeType;
  AffineMap identity, alongK, alongN;
  SmallVector<utils::IteratorType> reduction;
  int64_t columns;
  unsigned dimK;
};
} // namespace

Value ProductBuilder::multiply(OpBuilder &b, Location loc,
                               ValueRange arguments) {
  auto widen = [&](Value value) -> Value {
    if (value.getType() == computeType)
      return value;
    return arith::ExtFOp::create(b, loc, computeType, value);
  };
  return arith::MulFOp::create(b, loc, widen(arguments[0]),
                               widen(arguments[1]));
}

/// round(p + (t + d[k]) |p|); without t, it is 0.
Value ProductBuilder::round(OpBuilder &b, Location loc, Value product,
                            Value shift) {
  Value k = arith::IndexCastOp::create(b, loc, b.getI32Type(),
                                       linalg::IndexOp::create(b, loc, dimK));
  Value step =
      arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(goldenStep));
  Value position = arith::SIToFPOp::create(
      b, loc, computeType, arith::MulIOp::create(b, loc, k, step));
  Value relative = arith::MulFOp::create(
      b, loc, position, getConstant(b, loc, getDitherUnit(elementType)));
  if (shift)
    relative = arith::AddFOp::create(b, loc, shift, relative);
  Value size = math::AbsFOp::create(b, loc, product);
  Value shifted = arith::AddFOp::create(
      b, loc, product, arith::MulFOp::create(b, loc, size, relative));
  // Infinity less infinity is no number.
  Value infinity = getConstant(b, loc, HUGE_VAL);
  Value isFinite = isLess(b, loc, product, infinity);
  Value chosen = arith::SelectOp::create(b, loc, isFinite, shifted, product);
  return arith::TruncFOp::create(b, loc, elementType, chosen);
}

/// |left| < |right|, false for NaN.
Value ProductBuilder::isLess(OpBuilder &b, Location loc, Value left,
                             Value right) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT,
                               math::AbsFOp::create(b, loc, left),
                               math::AbsFOp::create(b, loc, right));
}

/// s(t) of each column; without t, s(0), and the sum of |p| beside it.
SmallVector<Value> ProductBuilder::emitSums(Value shift) {
  Value empty = tensor::EmptyOp::create(builder, loc, columns, computeType);
  Value zeros =
      linalg::FillOp::create(builder, loc, getConstant(builder, loc, 0), empty)
          .getResult(0);
  SmallVector<Value> inputs = {normWeight, weight}, inits = {zeros};
  if (shift)
    inputs.push_back(shift);
  else
    inits.push_back(zeros);
  SmallVector<AffineMap> maps = {alongK, identity, alongN, alongN};
  auto body = [&](OpBuilder &b, Location loc, ValueRange arguments) {
    ValueRange sums = arguments.drop_front(inputs.size());
    Value product = multiply(b, loc, arguments);
    Value rounded = round(b, loc, product, shift ? arguments[2] : Value());
    Value error = arith::SubFOp::create(
        b, loc, product, arith::ExtFOp::create(b, loc, computeType, rounded));
    SmallVector<Value> results = {
        arith::AddFOp::create(b, loc, sums[0], error)};
    if (!shift)
      results.push_back(arith::AddFOp::create(
          b, loc, sums[1], math::AbsFOp::create(b, loc, product)));
    linalg::YieldOp::create(b, loc, results);
  };
  auto sums = linalg::GenericOp::create(builder, loc, TypeRange(inits), inputs,
                                        inits, maps, reduction, body);
  return llvm::to_vector_of<Value>(sums.getResults());
}

/// 0 for what cannot be a shift.
Value ProductBuilder::bound(OpBuilder &b, Location loc, Value shift) {
  Value isSmall =
      isLess(b, loc, shift, getConstant(b, loc, getMaxShift(elementType)));
  return arith::SelectOp::create(b, loc, isSmall, shift,
                                 getConstant(b, loc, 0));
}

/// A function of vectors of one element for each column.
Value ProductBuilder::emitOnColumns(
    ValueRange inputs,
    llvm::function_ref<Value(OpBuilder &, Location, ValueRange)> compute) {
  Value empty = tensor::EmptyOp::create(builder, loc, columns, computeType);
  SmallVector<AffineMap> maps(inputs.size() + 1,
                              builder.getMultiDimIdentityMap(1));
  auto body = [&](OpBuilder &b, Location loc, ValueRange arguments) {
    linalg::YieldOp::create(b, loc, compute(b, loc, arguments));
  };
  return linalg::GenericOp::create(builder, loc, empty.getType(), inputs, empty,
                                   maps, utils::IteratorType::parallel, body)
      .getResult(0);
}

/// t[n].
Value ProductBuilder::emitShift() {
  SmallVector<Value> unshifted = emitSums(/*shift=*/{});
  auto divide = [&](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
    return bound(b, loc,
                 arith::DivFOp::create(b, loc, arguments[0], arguments[1]));
  };
  Value first = emitOnColumns(unshifted, divide);
  auto secant = [&](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
    Value fall = arith::SubFOp::create(b, loc, arguments[0], arguments[1]);
    return bound(b, loc,
                 arith::MulFOp::create(
                     b, loc, arguments[2],
                     arith::DivFOp::create(b, loc, arguments[0], fall)));
  };
  Value second =
      emitOnColumns({unshifted[0], emitSums(first).front(), first}, secant);
  auto choose = [&](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
    Value isBetter = isLess(b, loc, arguments[1], arguments[0]);
    return arith::SelectOp::create(b, loc, isBetter, arguments[2],
                                   getConstant(b, loc, 0));
  };
  return emitOnColumns({unshifted[0], emitSums(second).front(), second},
                       choose);
}

/// Without a shift there is nothing to round.
Value ProductBuilder::emitProduct(Value shift) {
  Value init = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                       type.getElementType());
  SmallVector<Value> inputs = {normWeight, weight};
  SmallVector<AffineMap> maps = {alongK, identity};
  if (shift) {
    inputs.push_back(shift);
    maps.push_back(alongN);
  }
  maps.push_back(identity);
  SmallVector<utils::IteratorType> parallel(2, utils::IteratorType::parallel);
  auto body = [&](OpBuilder &b, Location loc, ValueRange arguments) {
    Value product = multiply(b, loc, arguments);
    if (shift)
      product = round(b, loc, product, arguments[2]);
    linalg::YieldOp::create(b, loc, product);
  };
  return linalg::GenericOp::create(builder, loc, type, inputs, init, maps,
                                   parallel, body)
      .getResult(0);
}

Value flashnorm::buildWeightProduct(OpBuilder &builder, Location loc,
                                    Value normWeight, Value weight,
                                    bool transposeWeight) {
  return ProductBuilder(builder, loc, normWeight, weight, transposeWeight)
      .build();
}

//===----------------------------------------------------------------------===//
// Computed
//===----------------------------------------------------------------------===//

static APFloat convert(APFloat value, FloatType type) {
  bool losesInfo;
  value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value;
}

DenseElementsAttr flashnorm::computeWeightProduct(DenseElementsAttr normWeight,
                                                  DenseElementsAttr weight,
                                                  bool transposeWeight) {
  auto type = cast<RankedTensorType>(weight.getType());
  auto elementType = cast<FloatType>(type.getElementType());
  FloatType computeType =
      getProductType(elementType, normWeight.getElementType());
  SmallVector<APFloat> factors;
  for (const APFloat &value : normWeight.getValues<APFloat>())
    factors.push_back(convert(value, computeType));

  // Both walks visit a column by ascending k, as the emitted loops do.
  int64_t innerSize = type.getDimSize(1);
  int64_t columns = type.getDimSize(transposeWeight ? 0 : 1);
  auto forEachProduct =
      [&](llvm::function_ref<void(int64_t k, int64_t column, APFloat product)>
              visit) {
        for (auto [index, value] :
             llvm::enumerate(weight.getValues<APFloat>())) {
          int64_t outer = index / innerSize, inner = index % innerSize;
          int64_t k = transposeWeight ? inner : outer;
          visit(k, transposeWeight ? outer : inner,
                convert(value, computeType) * factors[k]);
        }
      };

  SmallVector<APFloat> values;
  values.reserve(type.getNumElements());
  if (computeType == elementType) {
    forEachProduct(
        [&](int64_t, int64_t, APFloat product) { values.push_back(product); });
    return DenseElementsAttr::get(type, values);
  }

  auto make = [&](double value) {
    return convert(APFloat(value), computeType);
  };
  const APFloat zero = make(0), maxShift = make(getMaxShift(elementType));
  const APFloat ditherUnit = make(getDitherUnit(elementType));
  SmallVector<APFloat> dither;
  for (uint32_t k : llvm::seq<uint32_t>(factors.size()))
    dither.push_back(make(int32_t(k * uint32_t(goldenStep))) * ditherUnit);

  SmallVector<APFloat> shifts(columns, zero);
  auto round = [&](int64_t k, int64_t column, APFloat product) {
    if (product.isFinite())
      product = product + abs(product) * (shifts[column] + dither[k]);
    return convert(product, elementType);
  };
  auto getErrorSums = [&] {
    SmallVector<APFloat> sums(columns, zero);
    forEachProduct([&](int64_t k, int64_t column, APFloat product) {
      APFloat rounded = convert(round(k, column, product), computeType);
      sums[column] = sums[column] + (product - rounded);
    });
    return sums;
  };
  auto isLess = [](const APFloat &left, const APFloat &right) {
    return abs(left).compare(abs(right)) == APFloat::cmpLessThan;
  };
  auto bound = [&](const APFloat &shift) {
    return isLess(shift, maxShift) ? shift : zero;
  };

  SmallVector<APFloat> unshifted = getErrorSums(), sizes(columns, zero);
  forEachProduct([&](int64_t, int64_t column, APFloat product) {
    sizes[column] = sizes[column] + abs(product);
  });
  for (int64_t column : llvm::seq(columns))
    shifts[column] = bound(unshifted[column] / sizes[column]);
  SmallVector<APFloat> shifted = getErrorSums();
  for (int64_t column : llvm::seq(columns)) {
    APFloat fall = unshifted[column] - shifted[column];
    shifts[column] = bound(shifts[column] * (unshifted[column] / fall));
  }
  shifted = getErrorSums();
  for (int64_t column : llvm::seq(columns))
    if (!isLess(shifted[column], unshifted[column]))
      shifts[column] = zero;

  forEachProduct([&](int64_t k, int64_t column, APFloat product) {
    values.push_back(round(k, column, product));
  });
  return DenseElementsAttr::get(type, values);
}
