//===- Generator.cpp - Random programs with norms -------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramGenerator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace flashnorm;
using namespace flashnorm::fuzz;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Value ProgramGenerator::argument(ArrayRef<int64_t> shape, Type type) {
  if (ShapedType::isDynamicShape(shape) && rowsJoined)
    executable = false;
  argumentAttributes.push_back(b.getDictionaryAttr({}));
  return block->addArgument(RankedTensorType::get(shape, type), b.getLoc());
}

Value ProgramGenerator::weightArgument(ArrayRef<int64_t> shape,
                                       FloatType type) {
  Value value = argument(shape, type);
  if (frozen && !random.chance(5))
    argumentAttributes.back() = b.getDictionaryAttr(
        b.getNamedAttr("flashnorm.frozen", b.getUnitAttr()));
  return value;
}

/// γ, β or a bias: an argument, a constant, or 1 plus one.
Value ProgramGenerator::vectorOperand(int64_t size, FloatType type) {
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

Value ProgramGenerator::makeInput() {
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
    // Nor can upstream bufferize a reshape that joins 0 and a dynamic size.
    executable &=
        !llvm::is_contained(shape, 0) || !ShapedType::isDynamicShape(shape);
  }
  return argument(shape, storage);
}

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

Value ProgramGenerator::bias(Value x) {
  if (ShapedType::isDynamic(getShape(x).back()))
    return x;
  FloatType type = random.chance(60) ? storage : getFloatType(x);
  Value vector =
      speller.cast(vectorOperand(getShape(x).back(), type), getFloatType(x));
  Operand operand(vector, {getRank(x) - 1});
  return random.chance(50) ? speller.apply(Scalar::Add, x, {x, operand})
                           : speller.apply(Scalar::Add, x, {operand, x});
}

Value ProgramGenerator::activation(Value x) {
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

Value ProgramGenerator::residual(Value x) {
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
Value ProgramGenerator::gate(Value x) {
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
Value ProgramGenerator::reshape(Value x) {
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

Value ProgramGenerator::stage(Value x) {
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

/// Some products and the sums that alone read them, as one op.
static void joinProducts(ModuleOp module, Random &random) {
  SmallVector<arith::AddFOp> sums;
  module.walk([&](arith::AddFOp sum) { sums.push_back(sum); });
  for (arith::AddFOp sum : sums) {
    auto product = sum.getLhs().getDefiningOp<arith::MulFOp>();
    if (!product || !product->hasOneUse() ||
        product->getBlock() != sum->getBlock() || random.chance(30))
      continue;
    OpBuilder b(sum);
    Value fma = math::FmaOp::create(b, sum.getLoc(), product.getLhs(),
                                    product.getRhs(), sum.getRhs());
    sum->replaceAllUsesWith(ValueRange(fma));
    sum->erase();
    product->erase();
  }
}

Program ProgramGenerator::run() {
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
  llvm::append_range(results, statistics);
  func::ReturnOp::create(b, results);

  SmallVector<Type> resultTypes;
  for (Value result : results)
    resultTypes.push_back(result.getType());
  function.setType(
      FunctionType::get(context, block->getArgumentTypes(), resultTypes));
  for (auto [i, attributes] : llvm::enumerate(argumentAttributes))
    if (!attributes.empty())
      function.setArgAttrs(i, attributes);

  if (random.chance(15))
    joinProducts(*module, random);

  Program program;
  program.mayFail = hasPlans;
  program.nearMiss = deviated;
  program.executable = executable && !hasPlans;
  program.roundedConstants = speller.roundedConstants;
  program.module = std::move(module);
  return program;
}

Program fuzz::generateProgram(MLIRContext &context, Random random) {
  return ProgramGenerator(context, random).run();
}
