//===- Matmuls.cpp - Matrix products with a weight ------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramGenerator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

using namespace mlir;
using namespace flashnorm;
using namespace flashnorm::fuzz;

/// What stands in for a pre-norm: statistics of x or of something else.
Value ProgramGenerator::statisticOperand(Value x) {
  SmallVector<Value> fitting;
  for (Value value : statistics)
    if (value.getType() == statisticType(x) && !rowsJoined)
      fitting.push_back(value);
  if (!fitting.empty() && random.chance(40))
    return random.pickFrom(fitting);
  return random.chance(70) && getShape(x).back() > 0
             ? rowStatistics(x, random.chance(50))
             : argument(statisticType(x).getShape(),
                        statisticType(x).getElementType());
}

/// With everything that the op has, and perhaps a plan that cannot run.
Value ProgramGenerator::matmulOp(Value x, int64_t columns) {
  const int64_t depth = getShape(x).back();
  const bool transposed = random.chance(50);
  FloatType type = getFloatType(x);
  const bool glu = random.chance(15);
  const int64_t products = glu ? 2 * columns : columns;
  SmallVector<Value> operands = {
      x, weightArgument(transposed ? ArrayRef<int64_t>{products, depth}
                                   : ArrayRef<int64_t>{depth, products},
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
  // x, W, row scale, column sums, bias, residual, norm weight and bias, output
  // scale, inits
  int32_t segments[] = {1, 1, 0, 0, 0, 0, 0, 0, 0, 1};
  SmallVector<const char *> steps = {"product"};
  const bool pre = random.chance(40), post = random.chance(40);
  const bool preRMS = random.chance(60);
  if (!pre && random.chance(25))
    segments[2] = add(true, statisticOperand(x));
  if (pre && !preRMS && random.chance(60))
    segments[3] = add(true, argument(products, b.getF32Type()));
  if (random.chance(40)) {
    segments[4] = add(true, vectorOperand(products, type));
    steps.push_back("bias");
  }
  if (random.chance(30)) {
    segments[5] = add(true, argument(shape, type));
    steps.push_back("residual");
  }
  if (post && random.chance(50)) {
    segments[6] = add(true, vectorOperand(columns, type));
  }
  const bool layer = random.chance(50);
  if (post && layer && random.chance(50))
    segments[7] = add(true, vectorOperand(columns, type));
  const bool hasStatistics = !post && random.chance(25);
  if (!hasStatistics && random.chance(5))
    segments[8] = add(true, argument({}, b.getF32Type()));
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, b.getLoc(), x);
  sizes.back() = b.getIndexAttr(columns);
  SmallVector<Type> results = {RankedTensorType::get(shape, type)};
  operands.push_back(tensor::EmptyOp::create(b, sizes, type));
  const bool sum = random.chance(20);
  if (sum) {
    operands.push_back(tensor::EmptyOp::create(b, sizes, type));
    results.push_back(results[0]);
    ++segments[9];
  }
  if (hasStatistics) {
    operands.push_back(statisticInit(x));
    results.push_back(statisticType(x));
    ++segments[9];
    attributes.push_back(normAttr("statistics", random.chance(60)));
  }
  if (pre)
    attributes.push_back(normAttr("pre_norm", preRMS));
  if (post)
    attributes.push_back(normAttr("post_norm", !layer));
  if (random.chance(40))
    attributes.push_back(b.getNamedAttr(
        "activation",
        parse("#flashnorm.activation<" +
              Twine(random.pick({"relu", "gelu", "gelu_tanh", "silu"})) +
              ">")));
  if (glu)
    attributes.push_back(b.getNamedAttr(
        "glu",
        parse("#flashnorm.glu<" +
              Twine(random.pick({"gate_first", "value_first", "interleaved"})) +
              ">")));
  if (random.chance(15))
    attributes.push_back(b.getNamedAttr(
        "roundings", parse("#flashnorm.roundings<" +
                           Twine(steps[random.below(steps.size())]) + " = " +
                           Twine(random.pick({"bf16", "f16"})) + ">")));
  if (!hasStatistics && random.chance(5))
    attributes.push_back(b.getNamedAttr(
        "saturate",
        TypeAttr::get(random.chance(50)
                          ? Type(Float8E4M3FNType::get(b.getContext()))
                          : Type(b.getF16Type()))));
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
              "], stages = " + Twine(random.pick({1, 2, 3, 4, 9})) +
              random.pick({"", ", schedule = ping_pong"}) + ", cluster = [" +
              Twine(random.pick({1, 1, 2})) + ", " +
              Twine(random.pick({1, 1, 2, 4})) + ", " +
              Twine(random.pick({1, 1, 2, 4, 16})) + "]" +
              random.pick({"", "", ", resident_weight"}) +
              random.pick({"", "", ", prefetch = 1", ", prefetch = 9"}) +
              ">")));
  }
  Operation *matmul =
      op("flashnorm.matmul", operands, results, attributes, segments);
  if (sum)
    activations.push_back(matmul->getResult(1));
  if (hasStatistics)
    statistics.push_back(matmul->getResults().back());
  return matmul->getResult(0);
}

/// What a product is added to: [rows..., columns].
Value ProgramGenerator::startValue(Value x, int64_t columns,
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
Value ProgramGenerator::product(Value x, Value weight, bool transposed,
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

  Value init = startValue(x, columns, accumulator);
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

Value ProgramGenerator::matmul(Value x) {
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
