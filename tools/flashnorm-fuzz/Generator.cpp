//===- Generator.cpp - Random programs with norms -------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "Speller.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

using namespace mlir;
using namespace flashnorm;
using namespace flashnorm::fuzz;

namespace {
class Generator {
public:
  Generator(MLIRContext &context, Random random)
      : random(random), b(UnknownLoc::get(&context), &context),
        speller(b, this->random) {}

  Program run();

private:
  // Arguments.
  Value argument(ArrayRef<int64_t> shape, Type type);
  Value weightArgument(ArrayRef<int64_t> shape, FloatType type);
  Value vectorOperand(int64_t size, FloatType type);

  // Parts of a program. Each takes and returns an activation.
  Value makeInput();
  Value norm(Value x);
  Value spelledNorm(Value x, FloatType result);
  Value normOp(Value x);
  Value matmul(Value x);
  Value matmulOp(Value x, int64_t columns);
  Value product(Value x, Value weight, bool transposed, int64_t columns,
                FloatType accumulator);
  Value startValue(Value x, Value like2D, int64_t columns,
                   FloatType accumulator);
  Value bias(Value x);
  Value activation(Value x);
  Value residual(Value x);
  Value gate(Value x);
  Value reshape(Value x);
  Value stage(Value x);

  /// This time the program deviates from what is usual.
  bool deviates() { return nearMisses && random.chance(6); }
  int64_t width() {
    return random.chance(70) ? random.pick<int64_t>({8, 16, 24, 32, 48, 72})
                             : random.pick<int64_t>({64, 128, 256});
  }
  Value op(StringRef name, ValueRange operands, Type result,
           ArrayRef<NamedAttribute> attributes, ArrayRef<int32_t> segments);
  Attribute parse(const Twine &text) {
    return parseAttribute(text.str(), b.getContext());
  }

  Random random;
  ImplicitLocOpBuilder b;
  Speller speller;
  Block *block = nullptr;
  func::FuncOp function;
  FloatType storage;
  SmallVector<Value> activations; ///< made so far
  SmallVector<DictionaryAttr> argumentAttributes;
  bool nearMisses = false, frozen = false, hasPlans = false;
  bool executable = true;
  bool rowsJoined = false; ///< dynamic sizes are no longer all the same
};
} // namespace

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Value Generator::argument(ArrayRef<int64_t> shape, Type type) {
  if (ShapedType::isDynamicShape(shape) && rowsJoined)
    executable = false;
  argumentAttributes.push_back(b.getDictionaryAttr({}));
  return block->addArgument(RankedTensorType::get(shape, type), b.getLoc());
}

Value Generator::weightArgument(ArrayRef<int64_t> shape, FloatType type) {
  Value value = argument(shape, type);
  if (frozen && !random.chance(5))
    argumentAttributes.back() = b.getDictionaryAttr(
        b.getNamedAttr("flashnorm.frozen", b.getUnitAttr()));
  return value;
}

/// γ, β or a bias: an argument, a constant, or 1 plus one.
Value Generator::vectorOperand(int64_t size, FloatType type) {
  if (random.chance(12)) {
    SmallVector<Attribute> values;
    for (int64_t i = 0; i < size; ++i) {
      const double value = 0.5 + random.below(128) / 64.0;
      values.push_back(b.getFloatAttr(type, value));
    }
    // Folding it into a constant W rounds.
    speller.roundedConstants = true;
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(RankedTensorType::get(size, type), values));
  }
  Value value = weightArgument(size, type);
  if (random.chance(15))
    value = speller.apply(Scalar::Add, value, {1.0, value});
  return value;
}

Value Generator::makeInput() {
  const int64_t rows = random.chance(70) ? ShapedType::kDynamic
                                         : random.pick<int64_t>({1, 3, 4, 8});
  SmallVector<int64_t> shape;
  switch (random.below(10)) {
  case 0:
    shape = {rows, 3, width()};
    break;
  case 1:
    shape = {1, rows, width()};
    break;
  case 2:
    shape = {2, rows, width()};
    break;
  case 3:
    shape = {rows, ShapedType::kDynamic, width()};
    break;
  default:
    shape = {rows, width()};
  }
  if (deviates()) {
    shape[random.below(shape.size())] =
        random.pick<int64_t>({0, 1, 1, 7, ShapedType::kDynamic});
    if (random.chance(10))
      shape = {width()};
    if (llvm::is_contained(shape, 0))
      speller.tosaPercent = 0; // it has no empty tensors
  }
  return argument(shape, storage);
}

//===----------------------------------------------------------------------===//
// Ops of the flashnorm dialect
//===----------------------------------------------------------------------===//

Value Generator::op(StringRef name, ValueRange operands, Type result,
                    ArrayRef<NamedAttribute> attributes,
                    ArrayRef<int32_t> segments) {
  OperationState state(b.getLoc(), name);
  state.addOperands(operands);
  state.addTypes(result);
  state.addAttributes(attributes);
  state.addAttribute("operandSegmentSizes", b.getDenseI32ArrayAttr(segments));
  return b.create(state)->getResult(0);
}

Value Generator::normOp(Value x) {
  const int64_t size = getShape(x).back();
  const bool rms = random.chance(50);
  FloatType affine = random.chance(70) ? getFloatType(x) : b.getF32Type();
  SmallVector<Value> operands = {x};
  const bool weight = random.chance(60), bias = !rms && random.chance(50);
  if (weight)
    operands.push_back(vectorOperand(size, affine));
  if (bias)
    operands.push_back(vectorOperand(size, affine));
  operands.push_back(speller.empty(x, getFloatType(x)));
  SmallVector<NamedAttribute> attributes = {b.getNamedAttr(
      "eps", b.getF64FloatAttr(random.pick({1.0e-5, 1.0e-6, 0.0, 1.0})))};
  if (random.chance(20))
    attributes.push_back(b.getNamedAttr(
        "cast", parse("#flashnorm.cast_position<before_affine>")));
  if (rms)
    return op("flashnorm.rms_norm", operands, x.getType(), attributes,
              {1, weight, 1});
  return op("flashnorm.layer_norm", operands, x.getType(), attributes,
            {1, weight, bias, 1});
}

/// With everything that the op has, and perhaps a plan that cannot run.
Value Generator::matmulOp(Value x, int64_t columns) {
  const int64_t depth = getShape(x).back();
  const bool transposed = random.chance(50);
  FloatType type = getFloatType(x);
  SmallVector<Value> operands = {
      x, weightArgument(transposed ? ArrayRef<int64_t>{columns, depth}
                                   : ArrayRef<int64_t>{depth, columns},
                        type)};
  SmallVector<int64_t> shape(getShape(x));
  shape.back() = columns;
  SmallVector<NamedAttribute> attributes;
  if (transposed)
    attributes.push_back(b.getNamedAttr("transpose_weight", b.getUnitAttr()));
  auto add = [&](bool present, Value value) {
    if (present)
      operands.push_back(value);
    return present;
  };
  int32_t segments[] = {1, 1, 0, 0, 0, 0, 1};
  const bool pre = random.chance(40), post = random.chance(40);
  if (random.chance(40))
    segments[2] = add(true, vectorOperand(columns, type));
  if (random.chance(30))
    segments[3] = add(true, argument(shape, type));
  if (post && random.chance(50)) {
    segments[4] = add(true, vectorOperand(columns, type));
  }
  const bool layer = random.chance(50);
  if (post && layer && random.chance(50))
    segments[5] = add(true, vectorOperand(columns, type));
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, b.getLoc(), x);
  sizes.back() = b.getIndexAttr(columns);
  operands.push_back(tensor::EmptyOp::create(b, sizes, type));
  if (pre)
    attributes.push_back(b.getNamedAttr(
        "pre_norm", parse("#flashnorm.norm<rms, eps = 1.0e-05>")));
  if (post)
    attributes.push_back(b.getNamedAttr(
        "post_norm", parse("#flashnorm.norm<" + Twine(layer ? "layer" : "rms") +
                           ", eps = 1.0e-05>")));
  if (random.chance(40))
    attributes.push_back(b.getNamedAttr(
        "activation",
        parse("#flashnorm.activation<" +
              Twine(random.pick({"relu", "gelu", "gelu_tanh", "silu"})) +
              ">")));
  if (random.chance(30)) {
    hasPlans = true;
    const char *chip = random.pick({"sm_80", "sm_90a", "sm_100a", "sm_120"});
    const char *family = random.pick({"mma_sync", "wgmma", "tcgen05"});
    attributes.push_back(b.getNamedAttr(
        "plan",
        parse("#flashnorm.plan<strategy = " +
              Twine(pre    ? "lazy_pre_norm"
                    : post ? "wide_tile"
                           : random.pick({"gemm", "wide_tile"})) +
              ", chip = \"" + chip + "\", family = " + family + ", tile = [" +
              Twine(random.pick({16, 32, 64, 128, 256})) + ", " +
              Twine(random.chance(50) ? columns : 64) + ", " +
              Twine(random.pick({16, 32, 64, 24})) + "], warps = [" +
              Twine(random.pick({1, 2, 4})) + ", " +
              Twine(random.pick({1, 2, 3})) +
              "], stages = " + Twine(random.pick({1, 2, 3, 4, 9})) + ">")));
  }
  return op("flashnorm.matmul", operands, RankedTensorType::get(shape, type),
            attributes, segments);
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

Value Generator::norm(Value x) {
  FloatType type = getFloatType(x);
  if (random.chance(8) && !ShapedType::isDynamic(getShape(x).back()) &&
      getShape(x).back() > 0)
    return normOp(x);
  // Exporters compute in f32 and round at the end, mostly.
  if (type.getWidth() >= 32 || random.chance(10))
    return spelledNorm(x, type);
  return spelledNorm(speller.cast(x, b.getF32Type()), type);
}

/// A norm of `x`, and now and then something that is nearly one.
Value Generator::spelledNorm(Value x, FloatType result) {
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

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

/// What a product is added to: [rows..., columns].
Value Generator::startValue(Value x, Value, int64_t columns,
                            FloatType accumulator) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, b.getLoc(), x);
  sizes.back() = b.getIndexAttr(columns);
  Value empty = tensor::EmptyOp::create(b, sizes, accumulator);
  const double value = deviates() ? 1.0 : 0.0;
  switch (random.below(8)) {
  case 0:
    return speller.broadcast(
        Operand(speller.cast(vectorOperand(columns, storage), accumulator),
                {getRank(x) - 1}),
        empty);
  case 1: {
    SmallVector<int64_t> shape(getShape(x));
    shape.back() = columns;
    return argument(shape, accumulator);
  }
  default:
    return speller.filled(value, empty,
                          llvm::to_vector(llvm::seq<int64_t>(0, getRank(x))),
                          accumulator);
  }
}

/// Any rank; the weight is [K,N] or, transposed, [N,K].
Value Generator::product(Value x, Value weight, bool transposed,
                         int64_t columns, FloatType accumulator) {
  const int64_t rank = getRank(x);
  MLIRContext *context = b.getContext();
  if (rank == 2 && random.chance(speller.tosaPercent) && !deviates() &&
      getFloatType(x).getWidth() <= 32) {
    // tosa.matmul has a batch.
    if (transposed) {
      auto type = RankedTensorType::get({getShape(x).back(), columns},
                                        getFloatType(weight));
      weight = tosa::TransposeOp::create(b, type, weight,
                                         b.getDenseI32ArrayAttr({1, 0}));
    }
    SmallVector<ReassociationIndices> groups = {{0, 1}, {2}};
    auto batched = [&](Value value) -> Value {
      SmallVector<int64_t> shape(getShape(value));
      shape.insert(shape.begin(), 1);
      SmallVector<OpFoldResult> sizes =
          tensor::getMixedSizes(b, b.getLoc(), value);
      sizes.insert(sizes.begin(), b.getIndexAttr(1));
      return tensor::ExpandShapeOp::create(
          b, RankedTensorType::get(shape, getFloatType(value)), value, groups,
          sizes);
    };
    auto zero = [&](Value like) -> Value {
      auto type = RankedTensorType::get({1}, getFloatType(like));
      return tosa::ConstOp::create(
          b, type,
          DenseElementsAttr::get(type, ArrayRef<Attribute>(b.getFloatAttr(
                                           getFloatType(like), 0.0))));
    };
    auto type =
        RankedTensorType::get({1, getShape(x)[0], columns}, b.getF32Type());
    Value y = tosa::MatMulOp::create(b, type, batched(x), batched(weight),
                                     zero(x), zero(weight));
    return tensor::CollapseShapeOp::create(b, y, groups);
  }

  Value init = startValue(x, nullptr, columns, accumulator);
  if (transposed && random.chance(40)) {
    Value like = weight;
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(b, b.getLoc(), like);
    std::swap(sizes[0], sizes[1]);
    weight =
        linalg::TransposeOp::create(
            b, weight, tensor::EmptyOp::create(b, sizes, getFloatType(weight)),
            ArrayRef<int64_t>{1, 0})
            ->getResult(0);
    transposed = false;
  }
  if (rank == 2 && !transposed && random.chance(60))
    return linalg::MatmulOp::create(b, TypeRange(init.getType()),
                                    ValueRange{x, weight}, ValueRange(init))
        .getResult(0);
  if (rank == 3 && !transposed && random.chance(40) &&
      !ShapedType::isDynamic(getShape(x)[0])) {
    SmallVector<int64_t> shape = {getShape(x)[0], getShape(weight)[0],
                                  getShape(weight)[1]};
    Value like = tensor::EmptyOp::create(b, shape, getFloatType(weight));
    weight = speller.broadcast(Operand(weight, {1, 2}), like);
    return linalg::BatchMatmulOp::create(b, TypeRange(init.getType()),
                                         ValueRange{x, weight},
                                         ValueRange(init))
        .getResult(0);
  }
  // Loops: rows, then n and k.
  SmallVector<AffineExpr> rows, xs, ys;
  for (int64_t i = 0; i + 1 < rank; ++i)
    rows.push_back(getAffineDimExpr(i, context));
  AffineExpr n = getAffineDimExpr(rank - 1, context),
             k = getAffineDimExpr(rank, context);
  xs = ys = rows;
  xs.push_back(k);
  ys.push_back(n);
  SmallVector<AffineExpr> ws = transposed ? SmallVector<AffineExpr>{n, k}
                                          : SmallVector<AffineExpr>{k, n};
  SmallVector<AffineMap> maps = {AffineMap::get(rank + 1, 0, xs, context),
                                 AffineMap::get(rank + 1, 0, ws, context),
                                 AffineMap::get(rank + 1, 0, ys, context)};
  if (random.chance(40))
    return linalg::ContractOp::create(b, TypeRange(init.getType()),
                                      ValueRange{x, weight}, ValueRange(init),
                                      b.getAffineMapArrayAttr(maps))
        ->getResult(0);
  SmallVector<utils::IteratorType> iterators(rank + 1,
                                             utils::IteratorType::parallel);
  iterators.back() = utils::IteratorType::reduction;
  return linalg::GenericOp::create(
             b, init.getType(), ValueRange{x, weight}, init, maps, iterators,
             [&](OpBuilder &nested, Location loc, ValueRange v) {
               auto widened = [&](Value value) -> Value {
                 auto type = cast<FloatType>(value.getType());
                 if (type.getWidth() < accumulator.getWidth())
                   return arith::ExtFOp::create(nested, loc, accumulator,
                                                value);
                 if (type.getWidth() > accumulator.getWidth())
                   return arith::TruncFOp::create(nested, loc, accumulator,
                                                  value);
                 return value;
               };
               Value p = arith::MulFOp::create(nested, loc, widened(v[0]),
                                               widened(v[1]));
               Value sum = arith::AddFOp::create(nested, loc, v[2], p);
               linalg::YieldOp::create(nested, loc, sum);
             })
      .getResult(0);
}

Value Generator::matmul(Value x) {
  const int64_t depth = getShape(x).back();
  const int64_t columns =
      deviates() ? random.pick<int64_t>({1, 5, 10}) : width();
  if (getRank(x) < 2 || ShapedType::isDynamic(depth))
    return x;
  FloatType type = getFloatType(x);
  if (random.chance(6) && (type.isBF16() || type.isF16()) && depth > 0)
    return matmulOp(x, columns);
  // A residual stream in f32 is rounded before it is multiplied.
  if (type.isF32() && storage.getWidth() == 16 && !random.chance(5))
    x = speller.cast(x, storage);
  const bool transposed = random.chance(50);
  Value weight = weightArgument(transposed ? ArrayRef<int64_t>{columns, depth}
                                           : ArrayRef<int64_t>{depth, columns},
                                getFloatType(x));
  FloatType result = getFloatType(x);
  FloatType accumulator = result;
  if (result.getWidth() < 32 && random.chance(85))
    accumulator = b.getF32Type();
  if (result.getWidth() < 32 && random.chance(20)) {
    x = speller.cast(x, b.getF32Type());
    weight = speller.cast(weight, b.getF32Type());
    accumulator = b.getF32Type();
  }
  Value y = product(x, weight, transposed, columns, accumulator);
  // The epilogue, before or after the result is rounded.
  if (random.chance(50))
    y = speller.cast(y, result);
  if (random.chance(40))
    y = bias(y);
  if (random.chance(30))
    y = activation(y);
  if (random.chance(30))
    y = residual(y);
  return random.chance(85) ? speller.cast(y, result) : y;
}

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

Value Generator::bias(Value x) {
  if (ShapedType::isDynamic(getShape(x).back()))
    return x;
  FloatType type = random.chance(60) ? storage : getFloatType(x);
  Value vector =
      speller.cast(vectorOperand(getShape(x).back(), type), getFloatType(x));
  Operand operand(vector, {getRank(x) - 1});
  return random.chance(50) ? speller.apply(Scalar::Add, x, {x, operand})
                           : speller.apply(Scalar::Add, x, {operand, x});
}

Value Generator::activation(Value x) {
  auto apply = [&](Scalar function, Operand a) {
    return speller.apply(function, x, {a});
  };
  auto combine = [&](Scalar function, Operand l, Operand r) {
    return speller.apply(function, x, {l, r});
  };
  switch (random.below(4)) {
  case 0:
    return combine(Scalar::Max, x, 0.0);
  case 1: { // x / (1 + exp(-x))
    Value e = apply(Scalar::Exp, apply(Scalar::Neg, x));
    return combine(Scalar::Div, x, combine(Scalar::Add, e, 1.0));
  }
  case 2: { // x / 2 * (1 + erf(x / sqrt(2)))
    Value e = apply(Scalar::Erf, combine(Scalar::Mul, x, 0.70710678118654752));
    return combine(Scalar::Mul, combine(Scalar::Mul, x, 0.5),
                   combine(Scalar::Add, e, 1.0));
  }
  default: { // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
    Value cube = random.chance(50)
                     ? combine(Scalar::Pow, x, 3.0)
                     : combine(Scalar::Mul, combine(Scalar::Mul, x, x), x);
    Value inner = combine(Scalar::Add, x, combine(Scalar::Mul, cube, 0.044715));
    Value t =
        apply(Scalar::Tanh, combine(Scalar::Mul, inner, 0.79788456080286536));
    return combine(Scalar::Mul, combine(Scalar::Mul, x, 0.5),
                   combine(Scalar::Add, t, 1.0));
  }
  }
}

Value Generator::residual(Value x) {
  SmallVector<Value> fitting;
  for (Value value : activations)
    if (getShape(value) == getShape(x) && value != x &&
        !(rowsJoined && ShapedType::isDynamicShape(getShape(x))))
      fitting.push_back(value);
  Value other =
      fitting.empty() || random.chance(20)
          ? argument(getShape(x), random.chance(80) ? storage : getFloatType(x))
          : random.pickFrom(fitting);
  other = speller.cast(other, getFloatType(x));
  return random.chance(50) ? speller.apply(Scalar::Add, x, {x, other})
                           : speller.apply(Scalar::Add, x, {other, x});
}

/// Two products of one value, one through an activation.
Value Generator::gate(Value x) {
  Value left = matmul(x);
  for (int attempt = 0; attempt < 6; ++attempt) {
    Value right = matmul(x);
    if (right.getType() == left.getType() && right != left)
      return speller.apply(Scalar::Mul, left, {activation(left), right});
    activations.push_back(right);
    if (random.chance(40))
      break;
  }
  return left;
}

/// Joins or splits rows.
Value Generator::reshape(Value x) {
  const int64_t rank = getRank(x);
  if (rank == 3) {
    SmallVector<ReassociationIndices> groups = {{0, 1}, {2}};
    if (random.chance(10))
      groups = {{0}, {1, 2}};
    rowsJoined |= ShapedType::isDynamicShape(getShape(x));
    return tensor::CollapseShapeOp::create(b, x, groups);
  }
  if (rank != 2)
    return x;
  const int64_t rows = getShape(x)[0], columns = getShape(x)[1];
  if (ShapedType::isDynamic(columns))
    return x;
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, b.getLoc(), x);
  SmallVector<int64_t> shape = {1, rows, columns};
  SmallVector<ReassociationIndices> groups = {{0, 1}, {2}};
  sizes.insert(sizes.begin(), b.getIndexAttr(1));
  if (columns % 8 == 0 && columns > 0 && random.chance(30)) {
    // Heads.
    shape = {rows, columns / 8, 8};
    groups = {{0}, {1, 2}};
    sizes = {sizes[1], b.getIndexAttr(columns / 8), b.getIndexAttr(8)};
  }
  return tensor::ExpandShapeOp::create(
      b, RankedTensorType::get(shape, getFloatType(x)), x, groups, sizes);
}

Value Generator::stage(Value x) {
  switch (random.below(12)) {
  case 0:
  case 1:
  case 2:
  case 3:
    return norm(x);
  case 4:
  case 5:
  case 6:
    return matmul(x);
  case 7:
    return residual(x);
  case 8:
    return random.chance(50) ? activation(x) : bias(x);
  case 9:
    return gate(x);
  case 10:
    return reshape(x);
  default:
    return random.chance(50) ? norm(matmul(x)) : matmul(norm(x));
  }
}

Program Generator::run() {
  MLIRContext *context = b.getContext();
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.getLoc());
  b.setInsertionPointToStart(module->getBody());
  storage = random.chance(70)   ? FloatType(b.getBF16Type())
            : random.chance(60) ? FloatType(b.getF16Type())
            : random.chance(80) ? FloatType(b.getF32Type())
                                : FloatType(b.getF64Type());
  nearMisses = random.chance(50);
  frozen = random.chance(70);
  if (random.chance(25))
    speller.tosaPercent = random.pick<unsigned>({15, 50, 90});

  function = func::FuncOp::create(b, "f", b.getFunctionType({}, {}));
  block = function.addEntryBlock();
  b.setInsertionPointToStart(block);
  Value x = makeInput();
  activations.push_back(x);
  for (int64_t i = 0, e = 1 + random.below(random.chance(20) ? 4 : 2); i < e;
       ++i) {
    x = stage(x);
    activations.push_back(x);
  }
  SmallVector<Value> results = {x};
  while (random.chance(20))
    results.push_back(random.pickFrom(activations));
  func::ReturnOp::create(b, results);

  SmallVector<Type> resultTypes;
  for (Value result : results)
    resultTypes.push_back(result.getType());
  function.setType(
      FunctionType::get(context, block->getArgumentTypes(), resultTypes));
  for (auto [i, attributes] : llvm::enumerate(argumentAttributes))
    if (!attributes.empty())
      function.setArgAttrs(i, attributes);

  Program program;
  program.mayFail = hasPlans;
  program.executable = executable && !hasPlans;
  program.roundedConstants = speller.roundedConstants;
  program.module = std::move(module);
  return program;
}

Program fuzz::generateProgram(MLIRContext &context, Random random) {
  return Generator(context, random).run();
}
