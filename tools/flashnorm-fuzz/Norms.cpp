//===- Norms.cpp - Norms, and what is nearly one --------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramGenerator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace flashnorm;
using namespace flashnorm::fuzz;

Operation *ProgramGenerator::op(StringRef name, ValueRange operands,
                                TypeRange results,
                                ArrayRef<NamedAttribute> attributes,
                                ArrayRef<int32_t> segments) {
  OperationState state(b.getLoc(), name);
  state.addOperands(operands);
  state.addTypes(results);
  state.addAttributes(attributes);
  if (!segments.empty())
    state.addAttribute("operandSegmentSizes", b.getDenseI32ArrayAttr(segments));
  return b.create(state);
}

RankedTensorType ProgramGenerator::statisticType(Value x) {
  FloatType type = getFloatType(x).isF64() ? b.getF64Type() : b.getF32Type();
  return RankedTensorType::get(getShape(x).drop_back(), type);
}

Value ProgramGenerator::statisticInit(Value x) {
  return speller.empty(x,
                       llvm::to_vector(llvm::seq<int64_t>(0, getRank(x) - 1)),
                       statisticType(x).getElementType());
}

NamedAttribute ProgramGenerator::normAttr(StringRef name, bool rms) {
  return b.getNamedAttr(
      name,
      parse("#flashnorm.norm<" + Twine(rms ? "rms" : "layer") +
            ", eps = " + random.pick({"1.0e-05", "1.0e-06", "0.1"}) + ">"));
}

Value ProgramGenerator::normOp(Value x) {
  const int64_t size = getShape(x).back();
  const bool rms = random.chance(50);
  FloatType affine = random.chance(70) ? getFloatType(x) : b.getF32Type();
  SmallVector<Value> operands = {x};
  SmallVector<Type> results = {x.getType()};
  const bool weight = random.chance(60), bias = !rms && random.chance(50);
  if (weight)
    operands.push_back(vectorOperand(size, affine));
  if (bias)
    operands.push_back(vectorOperand(size, affine));
  operands.push_back(speller.empty(x, getFloatType(x)));
  // The mean and the reciprocal root.
  int32_t inits = 1;
  if (random.chance(30))
    for (; inits < (rms ? 2 : 3); ++inits) {
      operands.push_back(statisticInit(x));
      results.push_back(statisticType(x));
    }
  SmallVector<NamedAttribute> attributes = {b.getNamedAttr(
      "eps", b.getF64FloatAttr(random.pick({1.0e-5, 1.0e-6, 0.0, 1.0})))};
  if (random.chance(20))
    attributes.push_back(b.getNamedAttr(
        "cast", parse("#flashnorm.cast_position<before_affine>")));
  Operation *norm = rms ? op("flashnorm.rms_norm", operands, results,
                             attributes, {1, weight, inits})
                        : op("flashnorm.layer_norm", operands, results,
                             attributes, {1, weight, bias, inits});
  llvm::append_range(statistics, norm->getResults().drop_front());
  return norm->getResult(0);
}

/// The reciprocal root of each row.
Value ProgramGenerator::rowStatistics(Value x, bool rms) {
  SmallVector<Value> operands = {statisticInit(x)};
  if (!rms && random.chance(40))
    operands.push_back(statisticInit(x));
  SmallVector<Type> results(operands.size(), statisticType(x));
  operands.insert(operands.begin(), x);
  SmallVector<NamedAttribute> attributes = {normAttr("norm", rms)};
  if (!rms && random.chance(30))
    attributes.push_back(
        b.getNamedAttr("drops_constant_rows", b.getUnitAttr()));
  Operation *made =
      op("flashnorm.row_statistics", operands, results, attributes);
  llvm::append_range(statistics, made->getResults().drop_back());
  return made->getResults().back();
}

Value ProgramGenerator::norm(Value x) {
  FloatType type = getFloatType(x);
  if (random.chance(8) && !ShapedType::isDynamic(getShape(x).back()) &&
      getShape(x).back() > 0) {
    if (random.chance(70))
      return normOp(x);
    // x times the root of its rows: a norm in two ops.
    FloatType statistic = statisticType(x).getElementType() == b.getF64Type()
                              ? FloatType(b.getF64Type())
                              : FloatType(b.getF32Type());
    Value rstd = rowStatistics(x, random.chance(60));
    Value wide = speller.cast(x, statistic);
    return speller.cast(
        speller.apply(Scalar::Mul, wide,
                      {wide, Operand(rstd, llvm::to_vector(llvm::seq<int64_t>(
                                               0, getRank(x) - 1)))}),
        type);
  }
  // Exporters compute in f32 and round at the end, mostly.
  if (type.getWidth() >= 32 || random.chance(10))
    return spelledNorm(x, type);
  return spelledNorm(speller.cast(x, b.getF32Type()), type);
}

/// A norm of `x`, and now and then something that is nearly one.
Value ProgramGenerator::spelledNorm(Value x, FloatType result) {
  const int64_t rank = getRank(x);
  int64_t dim = rank - 1;
  if (deviates() && rank > 1)
    dim = random.below(rank);
  SmallVector<int64_t> stat; // the dimensions of a statistic
  for (int64_t i = 0; i < rank; ++i)
    if (i != dim)
      stat.push_back(i);
  auto row = [&](Value value) { return Operand(value, stat); };

  double size = getShape(x)[dim];
  if (ShapedType::isDynamic(getShape(x)[dim]) || size == 0)
    size = 16;
  const bool unbiased = deviates() && size > 1;
  const double divisor = unbiased ? size - 1 : deviates() ? size + 1 : size;
  auto mean = [&](Value sum) {
    if (random.chance(60))
      return speller.apply(Scalar::Div, sum, {sum, divisor});
    const double factor = 1 / float(divisor);
    return random.chance(50) ? speller.apply(Scalar::Mul, sum, {sum, factor})
                             : speller.apply(Scalar::Mul, sum, {factor, sum});
  };
  const double start = deviates() ? random.pick({1.0, -0.0, 0.5}) : 0.0;

  // The value whose squares count, and that is scaled.
  Value centred = x, meanOfX;
  const bool layer = random.chance(50);
  if (layer) {
    meanOfX = mean(speller.sum(x, dim, /*squares=*/false, start));
    centred = speller.apply(Scalar::Sub, x, {x, row(meanOfX)});
  }
  Value squared = centred;
  if (deviates())
    squared = activations.empty() ? x : activations.back();
  if (squared.getType() != centred.getType() || rowsJoined)
    squared = centred;
  if (deviates())
    squared = speller.apply(Scalar::Abs, squared, {squared});
  Value variance;
  if (layer && random.chance(15)) {
    // E[x^2] - E[x]^2
    Value square = speller.apply(Scalar::Mul, meanOfX, {meanOfX, meanOfX});
    Value second = mean(speller.sum(x, dim, /*squares=*/true));
    variance = speller.apply(Scalar::Sub, second, {second, square});
    // Cancels to less than nothing on rows of equal elements.
    if (random.chance(50))
      variance = speller.apply(Scalar::Max, variance, {variance, 0.0});
  } else {
    variance = mean(speller.sum(squared, dim, /*squares=*/true));
  }

  const double eps = random.pick({1.0e-5, 1.0e-6, 1.0e-3, 0.1});
  const bool outside = deviates();
  Value shifted = variance;
  if (!outside && !deviates())
    shifted = random.chance(50)
                  ? speller.apply(Scalar::Add, variance, {variance, eps})
                  : speller.apply(Scalar::Add, variance, {eps, variance});
  Value factor;  // 1 / root
  Value divided; // what is divided by the root
  switch (random.below(4)) {
  case 0:
    factor = speller.apply(Scalar::Sqrt, shifted, {shifted});
    if (outside)
      factor = speller.apply(Scalar::Add, factor, {factor, eps});
    if (random.chance(50)) {
      divided = factor;
      break;
    }
    factor = speller.apply(Scalar::Div, factor, {1.0, factor});
    break;
  case 1:
    factor = speller.apply(Scalar::Pow, shifted,
                           {shifted, deviates() ? -0.25 : -0.5});
    break;
  default:
    factor = speller.apply(Scalar::Rsqrt, shifted, {shifted});
  }
  if (deviates())
    factor = speller.apply(Scalar::Mul, factor, {factor, 0.5});
  // Training saves them.
  if (random.chance(12)) {
    statistics.push_back(factor);
    if (layer)
      statistics.push_back(meanOfX);
  }

  auto vector = [&](FloatType type) -> Operand {
    Value value = vectorOperand(getShape(x)[dim], type);
    return Operand(speller.cast(value, getFloatType(x)), {dim});
  };
  FloatType affine = random.chance(60) ? storage : getFloatType(x);
  const bool known = !ShapedType::isDynamic(getShape(x)[dim]);
  const bool weight = known && random.chance(60);
  Value y;
  if (divided) {
    y = speller.apply(Scalar::Div, centred, {centred, row(divided)});
  } else if (weight && random.chance(15)) {
    // The weight first, on the factor.
    Value scale = speller.apply(Scalar::Mul, x, {row(factor), vector(affine)});
    return speller.cast(speller.apply(Scalar::Mul, centred, {centred, scale}),
                        result);
  } else {
    y = random.chance(50)
            ? speller.apply(Scalar::Mul, centred, {centred, row(factor)})
            : speller.apply(Scalar::Mul, centred, {row(factor), centred});
  }
  // Llama rounds before the weight.
  if (random.chance(25)) {
    y = speller.cast(y, result);
    if (weight && random.chance(50)) {
      Value value = vectorOperand(getShape(x)[dim], result);
      return speller.apply(Scalar::Mul, y, {y, Operand(value, {dim})});
    }
    y = speller.cast(y, getFloatType(x));
  }
  if (weight)
    y = random.chance(50) ? speller.apply(Scalar::Mul, y, {y, vector(affine)})
                          : speller.apply(Scalar::Mul, y, {vector(affine), y});
  if (weight && deviates())
    y = speller.apply(Scalar::Mul, y, {y, row(factor)});
  if (known && random.chance(layer ? 50 : 5))
    y = speller.apply(Scalar::Add, y, {y, vector(affine)});
  return speller.cast(y, result);
}
