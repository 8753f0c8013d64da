//===- CenteredWeight.cpp - Weights that do not see a mean ----------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// q[k, n] = g[k] W[k, n] - mean over k of it, in f64, is rounded to the type of
// W. A column whose roundings do not sum to zero adds its sum times mean(x) to
// each element of the result, which is not small where x has a mean far from
// zero. So the roundings are chosen: to nearest first, with the sum s[n]; then
// W^ is walked down its columns a few times, and where the other neighbour of q
// makes |s| smaller at a low price, it is taken. A rounding that is off by e
// and moves by d adds d (d - 2 e) to the error's energy, so that d - 2 e is
// what a step of s costs. A walk pays
//
//   1/16, 1/8, 1/4, 1/2 and 1 ulp
//
// of a number that is as large as the column's q are on average. What is left
// of s is smaller than most ulps: a last walk takes the neighbour of W^,
// wherever q is, if that makes |s| smaller.
//
// Measured for bf16: s ends at 6e-8 (K = 4096) to 3e-5 (K = 64) of the column's
// length at most, in most columns at 0. The error's energy grows by 2 % and
// less where g has many bits. Where it has none, W less its mean has the same
// bits behind the last one everywhere, and it is 10 % to 20 %; a W of few
// different values is the worst, with 55 %.
//
// Without a type to round to (f64), all this changes nothing.
//
//===----------------------------------------------------------------------===//

#include "CenteredWeight.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cmath>

using namespace mlir;
using namespace flashnorm;

static constexpr int64_t numWalks = 5;
/// What the first walk pays; it doubles from walk to walk.
static constexpr double firstPrice = 1.0 / 16;

/// Half an ulp of a number of size 1 to 2, relative to it at most.
static double getHalfUlp(FloatType type) {
  return std::ldexp(
      1.0, -int(APFloat::semanticsPrecision(type.getFloatSemantics())));
}

//===----------------------------------------------------------------------===//
// Emitted
//===----------------------------------------------------------------------===//

namespace {
/// Emits what depends on one W.
class WeightBuilder {
public:
  WeightBuilder(OpBuilder &builder, Location loc, Value weight,
                bool transposeWeight)
      : b(loc, builder), weight(weight),
        type(cast<RankedTensorType>(weight.getType())),
        elementType(cast<FloatType>(type.getElementType())),
        dimK(transposeWeight ? 1 : 0), depth(type.getDimSize(dimK)),
        columns(type.getDimSize(1 - dimK)), f64(b.getF64Type()) {
    identity = b.getMultiDimIdentityMap(2);
    alongK = AffineMap::get(2, 0, b.getAffineDimExpr(dimK));
    alongN = AffineMap::get(2, 0, b.getAffineDimExpr(1 - dimK));
  }

  Value center(Value normWeight);
  /// The sum over k of factor[k] W[k, n], from `init`; in f64.
  Value sumColumns(Value factor, Value matrix, Value init);
  Value zeros();
  Value widenVector(Value vector) {
    return forColumns(vector,
                      [&](ImplicitLocOpBuilder &nested, ValueRange args) {
                        return widen(nested, args[0]);
                      });
  }
  Value roundVector(Value vector, FloatType to);

private:
  using Body = function_ref<Value(ImplicitLocOpBuilder &, ValueRange)>;

  Value constant(ImplicitLocOpBuilder &nested, double value) {
    return arith::ConstantOp::create(nested, nested.getF64FloatAttr(value));
  }
  Value widen(ImplicitLocOpBuilder &nested, Value value);
  Value round(ImplicitLocOpBuilder &nested, Value value, FloatType to);
  Value exact(ImplicitLocOpBuilder &nested, Value weight, Value factor,
              Value mean);
  Value forColumns(ValueRange inputs, Body body, Type to);
  Value forColumns(ValueRange inputs, Body body) {
    return forColumns(inputs, body, f64);
  }
  Value reduceColumns(ValueRange inputs, ArrayRef<AffineMap> inputMaps,
                      Value init, Body term);
  std::pair<SmallVector<Value>, SmallVector<AffineMap>>
  getExactInputs(Value normWeight, Value means);
  /// The sum over k of q^2.
  Value sumSquares(Value normWeight, Value means);
  Value walk(Value normWeight, Value means, Value rounded);
  SmallVector<Value> walkOnce(ValueRange carried, Value normWeight, Value means,
                              Value price);
  SmallVector<Value> turnRow(ValueRange inputs, Value row, Value sums,
                             Value factor, bool isLast);

  ImplicitLocOpBuilder b;
  Value weight;
  RankedTensorType type;
  FloatType elementType;
  unsigned dimK;
  int64_t depth, columns;
  FloatType f64;
  AffineMap identity, alongK, alongN;
};
} // namespace

Value WeightBuilder::widen(ImplicitLocOpBuilder &nested, Value value) {
  return value.getType() == f64 ? value
                                : arith::ExtFOp::create(nested, f64, value);
}

/// By way of f32, as a host may not know how to round f64 to 16 bits.
Value WeightBuilder::round(ImplicitLocOpBuilder &nested, Value value,
                           FloatType to) {
  if (to == f64)
    return value;
  value = arith::TruncFOp::create(nested, nested.getF32Type(), value);
  return to.isF32() ? value : arith::TruncFOp::create(nested, to, value);
}

/// factor * weight - mean
Value WeightBuilder::exact(ImplicitLocOpBuilder &nested, Value weight,
                           Value factor, Value mean) {
  Value product = widen(nested, weight);
  if (factor)
    product = arith::MulFOp::create(nested, product, widen(nested, factor));
  return arith::SubFOp::create(nested, product, mean);
}

Value WeightBuilder::zeros() {
  Value empty = tensor::EmptyOp::create(b, ArrayRef<int64_t>{columns}, f64);
  return linalg::FillOp::create(b, constant(b, 0), empty).getResult(0);
}

/// The sums over k of a function of `inputs`, from `init`.
Value WeightBuilder::reduceColumns(ValueRange inputs,
                                   ArrayRef<AffineMap> inputMaps, Value init,
                                   Body term) {
  SmallVector<AffineMap> maps(inputMaps);
  maps.push_back(alongN);
  SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::parallel);
  iterators[dimK] = utils::IteratorType::reduction;
  auto body = [&](OpBuilder &builder, Location loc, ValueRange args) {
    ImplicitLocOpBuilder nested(loc, builder);
    Value next = term(nested, args);
    linalg::YieldOp::create(
        nested, ValueRange(arith::AddFOp::create(nested, args.back(), next)));
  };
  return linalg::GenericOp::create(b, init.getType(), inputs, init, maps,
                                   iterators, body)
      .getResult(0);
}

Value WeightBuilder::sumColumns(Value factor, Value matrix, Value init) {
  SmallVector<Value> inputs = {matrix};
  SmallVector<AffineMap> maps = {identity};
  if (factor) {
    inputs.push_back(factor);
    maps.push_back(alongK);
  }
  return reduceColumns(
      inputs, maps, init,
      [&](ImplicitLocOpBuilder &nested, ValueRange args) -> Value {
        Value term = widen(nested, args[0]);
        if (factor)
          term = arith::MulFOp::create(nested, term, widen(nested, args[1]));
        return term;
      });
}

/// A function of vectors of one element for each column.
Value WeightBuilder::forColumns(ValueRange inputs, Body compute, Type to) {
  Value empty = tensor::EmptyOp::create(b, ArrayRef<int64_t>{columns}, to);
  SmallVector<AffineMap> maps(inputs.size() + 1, b.getMultiDimIdentityMap(1));
  auto body = [&](OpBuilder &builder, Location loc, ValueRange args) {
    ImplicitLocOpBuilder nested(loc, builder);
    linalg::YieldOp::create(nested, compute(nested, args));
  };
  return linalg::GenericOp::create(b, empty.getType(), inputs, empty, maps,
                                   utils::IteratorType::parallel, body)
      .getResult(0);
}

Value WeightBuilder::roundVector(Value vector, FloatType to) {
  if (to == f64)
    return vector;
  return forColumns(
      vector,
      [&](ImplicitLocOpBuilder &nested, ValueRange args) {
        return round(nested, args[0], to);
      },
      to);
}

/// q is a function of these.
std::pair<SmallVector<Value>, SmallVector<AffineMap>>
WeightBuilder::getExactInputs(Value normWeight, Value means) {
  SmallVector<Value> inputs = {weight, means};
  SmallVector<AffineMap> maps = {identity, alongN};
  if (normWeight) {
    inputs.push_back(normWeight);
    maps.push_back(alongK);
  }
  return {inputs, maps};
}

Value WeightBuilder::sumSquares(Value normWeight, Value means) {
  auto [inputs, maps] = getExactInputs(normWeight, means);
  return reduceColumns(
      inputs, maps, zeros(),
      [&](ImplicitLocOpBuilder &nested, ValueRange args) -> Value {
        Value q =
            exact(nested, args[0], normWeight ? args[2] : Value(), args[1]);
        return arith::MulFOp::create(nested, q, q);
      });
}

/// One row of a walk: `inputs` are W's row, the means and the prices.
SmallVector<Value> WeightBuilder::turnRow(ValueRange inputs, Value row,
                                          Value sums, Value factor,
                                          bool isLast) {
  SmallVector<AffineMap> maps(5, b.getMultiDimIdentityMap(1));
  SmallVector<Value> inits = {row, sums};
  auto body = [&](OpBuilder &builder, Location loc, ValueRange args) {
    ImplicitLocOpBuilder nested(loc, builder);
    auto abs = [&](Value value) -> Value {
      return math::AbsFOp::create(nested, value);
    };
    auto subtract = [&](Value left, Value right) -> Value {
      return arith::SubFOp::create(nested, left, right);
    };
    auto scale = [&](Value value, double factor) -> Value {
      return arith::MulFOp::create(nested, value, constant(nested, factor));
    };
    Value price = args[2], rounded = args[3], sum = args[4];
    Value wide = widen(nested, rounded);
    Value q = exact(nested, args[0], factor, args[1]);
    Value off = subtract(wide, q);
    // The neighbour on the other side of q, or the one that makes s smaller.
    double halfUlp = getHalfUlp(elementType);
    Value step = math::CopySignOp::create(
        nested,
        isLast ? scale(abs(wide), 1.5 * halfUlp) : scale(abs(q), halfUlp),
        isLast ? sum : off);
    Value other = round(nested, subtract(isLast ? wide : q, step), elementType);
    Value fall = subtract(wide, widen(nested, other));
    Value rest = subtract(sum, fall);
    Value isTurned = arith::CmpFOp::create(nested, arith::CmpFPredicate::OLT,
                                           abs(rest), abs(sum));
    if (!isLast) {
      Value cost = subtract(abs(fall), scale(abs(off), 2));
      Value isCheap =
          arith::CmpFOp::create(nested, arith::CmpFPredicate::OLE, cost, price);
      isTurned = arith::AndIOp::create(nested, isTurned, isCheap);
    }
    linalg::YieldOp::create(
        nested,
        ValueRange{arith::SelectOp::create(nested, isTurned, other, rounded),
                   arith::SelectOp::create(nested, isTurned, rest, sum)});
  };
  auto turned =
      linalg::GenericOp::create(b, TypeRange(ValueRange(inits)), inputs, inits,
                                maps, utils::IteratorType::parallel, body);
  return llvm::to_vector_of<Value>(turned.getResults());
}

/// Rows come one after the other: each changes the sums that the next one
/// reads. Without a price it is the last walk.
SmallVector<Value> WeightBuilder::walkOnce(ValueRange carried, Value normWeight,
                                           Value means, Value price) {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  auto rows = scf::ForOp::create(b, index(0), index(depth), index(1), carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(rows.getBody());
  Value k = rows.getInductionVar();
  SmallVector<OpFoldResult> offsets(2, b.getIndexAttr(0)), sizes(2),
      strides(2, b.getIndexAttr(1));
  offsets[dimK] = k;
  sizes[dimK] = b.getIndexAttr(1);
  sizes[1 - dimK] = b.getIndexAttr(columns);
  auto rowType = RankedTensorType::get({columns}, elementType);
  auto slice = [&](Value matrix) -> Value {
    return tensor::ExtractSliceOp::create(b, rowType, matrix, offsets, sizes,
                                          strides);
  };
  Value matrix = rows.getRegionIterArg(0);
  Value factor;
  if (normWeight)
    factor = tensor::ExtractOp::create(b, normWeight, k);
  SmallVector<Value> turned =
      turnRow({slice(weight), means, price ? price : means}, slice(matrix),
              rows.getRegionIterArg(1), factor, /*isLast=*/!price);
  Value next = tensor::InsertSliceOp::create(b, turned[0], matrix, offsets,
                                             sizes, strides);
  scf::YieldOp::create(b, ValueRange{next, turned[1]});
  return llvm::to_vector_of<Value>(rows.getResults());
}

Value WeightBuilder::walk(Value normWeight, Value means, Value rounded) {
  // An ulp of a number as large as the root of the mean square.
  double ulp = 2 * getHalfUlp(elementType);
  Value ulps = forColumns(
      sumSquares(normWeight, means),
      [&](ImplicitLocOpBuilder &nested, ValueRange args) -> Value {
        Value mean = arith::DivFOp::create(nested, args[0],
                                           constant(nested, double(depth)));
        return arith::MulFOp::create(nested, math::SqrtOp::create(nested, mean),
                                     constant(nested, ulp));
      });
  SmallVector<Value> carried = {rounded,
                                sumColumns(/*factor=*/{}, rounded, zeros())};
  double factor = firstPrice;
  for (int64_t i = 0; i < numWalks; ++i, factor *= 2) {
    Value price = forColumns(
        ulps, [&](ImplicitLocOpBuilder &nested, ValueRange args) -> Value {
          return arith::MulFOp::create(nested, args[0],
                                       constant(nested, factor));
        });
    carried = walkOnce(carried, normWeight, means, price);
  }
  return walkOnce(carried, normWeight, means, /*price=*/{})[0];
}

Value WeightBuilder::center(Value normWeight) {
  Value means =
      forColumns(sumColumns(normWeight, weight, zeros()),
                 [&](ImplicitLocOpBuilder &nested, ValueRange args) -> Value {
                   return arith::DivFOp::create(
                       nested, args[0], constant(nested, double(depth)));
                 });
  Value empty = tensor::EmptyOp::create(b, type.getShape(), elementType);
  auto [inputs, maps] = getExactInputs(normWeight, means);
  maps.push_back(identity);
  SmallVector<utils::IteratorType> parallel(2, utils::IteratorType::parallel);
  auto body = [&](OpBuilder &builder, Location loc, ValueRange args) {
    ImplicitLocOpBuilder nested(loc, builder);
    Value q = exact(nested, args[0], normWeight ? args[2] : Value(), args[1]);
    linalg::YieldOp::create(nested, round(nested, q, elementType));
  };
  Value rounded =
      linalg::GenericOp::create(b, type, inputs, empty, maps, parallel, body)
          .getResult(0);
  return elementType == f64 ? rounded : walk(normWeight, means, rounded);
}

Value flashnorm::buildCenteredWeight(OpBuilder &builder, Location loc,
                                     Value normWeight, Value weight,
                                     bool transposeWeight) {
  return WeightBuilder(builder, loc, weight, transposeWeight)
      .center(normWeight);
}

/// Biases are added in the type that the matmul computes in.
static FloatType getBiasType(Type weight) {
  MLIRContext *context = weight.getContext();
  if (getElementTypeOrSelf(weight).isF64())
    return Float64Type::get(context);
  return Float32Type::get(context);
}

Value flashnorm::buildFoldedBias(OpBuilder &builder, Location loc,
                                 Value normBias, Value weight, Value bias,
                                 bool transposeWeight) {
  WeightBuilder weights(builder, loc, weight, transposeWeight);
  Value init = weights.zeros();
  if (bias)
    init = weights.widenVector(bias);
  return weights.roundVector(weights.sumColumns(normBias, weight, init),
                             getBiasType(weight.getType()));
}

Value flashnorm::buildColumnSums(OpBuilder &builder, Location loc, Value weight,
                                 bool transposeWeight) {
  WeightBuilder weights(builder, loc, weight, transposeWeight);
  return weights.roundVector(
      weights.sumColumns(/*factor=*/{}, weight, weights.zeros()),
      getBiasType(weight.getType()));
}

//===----------------------------------------------------------------------===//
// Computed
//===----------------------------------------------------------------------===//

static double toDouble(APFloat value) {
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

static SmallVector<double> toDoubles(DenseElementsAttr values) {
  return llvm::map_to_vector(values.getValues<APFloat>(), toDouble);
}

/// By way of f32, as the emitted code does.
static APFloat roundTo(double value, FloatType type) {
  if (type.isF64())
    return APFloat(value);
  APFloat result(static_cast<float>(value));
  bool losesInfo;
  result.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return result;
}

namespace {
/// Places of the elements of W.
struct Layout {
  int64_t depth, columns;
  bool transposed;
  Layout(DenseElementsAttr weight, bool transposeWeight)
      : depth(weight.getType().getDimSize(transposeWeight ? 1 : 0)),
        columns(weight.getType().getDimSize(transposeWeight ? 0 : 1)),
        transposed(transposeWeight) {}
  int64_t at(int64_t k, int64_t n) const {
    return transposed ? n * depth + k : k * columns + n;
  }
};
} // namespace

CenteredConstant flashnorm::computeCenteredWeight(DenseElementsAttr normWeight,
                                                  DenseElementsAttr weight,
                                                  bool transposeWeight) {
  auto type = cast<FloatType>(weight.getElementType());
  Layout layout(weight, transposeWeight);
  SmallVector<double> w = toDoubles(weight), g;
  if (normWeight)
    g = toDoubles(normWeight);

  CenteredConstant result;
  SmallVector<APFloat> rounded(w.size(), APFloat(0.0));
  double energy = 0, error = 0, residue = 0;
  double halfUlp = getHalfUlp(type);
  SmallVector<double> q(layout.depth), r(layout.depth);
  for (int64_t n : llvm::seq(layout.columns)) {
    double sum = 0, squares = 0;
    for (int64_t k : llvm::seq(layout.depth)) {
      q[k] = w[layout.at(k, n)];
      if (normWeight)
        q[k] *= g[k];
      sum += q[k];
    }
    double mean = sum / double(layout.depth);
    sum = 0;
    for (int64_t k : llvm::seq(layout.depth)) {
      q[k] -= mean;
      squares += q[k] * q[k];
      r[k] = toDouble(roundTo(q[k], type));
      sum += r[k];
    }
    double ulp = std::sqrt(squares / double(layout.depth)) * (2 * halfUlp);
    double factor = firstPrice;
    for (int64_t i = 0; i <= numWalks && !type.isF64(); ++i, factor *= 2)
      for (int64_t k : llvm::seq(layout.depth)) {
        bool isLast = i == numWalks;
        double off = r[k] - q[k];
        double step =
            isLast ? std::copysign(std::fabs(r[k]) * (1.5 * halfUlp), sum)
                   : std::copysign(std::fabs(q[k]) * halfUlp, off);
        double other = toDouble(roundTo((isLast ? r[k] : q[k]) - step, type));
        double fall = r[k] - other, rest = sum - fall;
        bool isCheap =
            isLast || std::fabs(fall) - std::fabs(off) * 2 <= ulp * factor;
        if (std::fabs(rest) < std::fabs(sum) && isCheap) {
          r[k] = other;
          sum = rest;
        }
      }
    for (int64_t k : llvm::seq(layout.depth)) {
      error += (r[k] - q[k]) * (r[k] - q[k]);
      rounded[layout.at(k, n)] = roundTo(r[k], type);
    }
    energy += squares;
    if (squares > 0)
      residue += sum * sum / squares;
  }
  // A NaN is no small residue.
  result.residue = std::isfinite(energy) && std::isfinite(residue)
                       ? std::sqrt(residue / double(layout.columns))
                       : HUGE_VAL;
  // See ProductRounding.cpp.
  double generic = 0.375 / (12 * std::log(2.0)) * 4 * halfUlp * halfUlp;
  result.error = energy > 0 ? error / energy / generic : 0;
  result.value = DenseElementsAttr::get(weight.getType(), rounded);
  return result;
}

DenseElementsAttr flashnorm::computeFoldedBias(DenseElementsAttr normBias,
                                               DenseElementsAttr weight,
                                               DenseElementsAttr bias,
                                               bool transposeWeight) {
  Layout layout(weight, transposeWeight);
  SmallVector<double> w = toDoubles(weight), h = toDoubles(normBias), b;
  if (bias)
    b = toDoubles(bias);
  FloatType type = getBiasType(weight.getElementType());
  SmallVector<APFloat> sums;
  for (int64_t n : llvm::seq(layout.columns)) {
    double sum = bias ? b[n] : 0;
    for (int64_t k : llvm::seq(layout.depth))
      sum += w[layout.at(k, n)] * h[k];
    sums.push_back(roundTo(sum, type));
  }
  return DenseElementsAttr::get(RankedTensorType::get({layout.columns}, type),
                                sums);
}
