//===- Speller.cpp - One meaning, many spellings --------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Speller.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace flashnorm;
using namespace flashnorm::fuzz;

FloatType fuzz::getFloatType(Value tensor) {
  return cast<FloatType>(getElementTypeOrSelf(tensor.getType()));
}
int64_t fuzz::getRank(Value tensor) { return getShape(tensor).size(); }
ArrayRef<int64_t> fuzz::getShape(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

static SmallVector<int64_t> allDims(Value tensor) {
  return llvm::to_vector(llvm::seq<int64_t>(0, getRank(tensor)));
}

Operand::Operand(Value tensor) : tensor(tensor), dims(allDims(tensor)) {}

static bool isFull(const Operand &operand, Value like) {
  return operand.tensor &&
         static_cast<int64_t>(operand.dims.size()) == getRank(like);
}

/// On scalars and, as these ops are elementwise, on tensors.
static Value applyScalar(OpBuilder &b, Location loc, Scalar function,
                         ValueRange v) {
  switch (function) {
  case Scalar::Add:
    return arith::AddFOp::create(b, loc, v[0], v[1]);
  case Scalar::Sub:
    return arith::SubFOp::create(b, loc, v[0], v[1]);
  case Scalar::Mul:
    return arith::MulFOp::create(b, loc, v[0], v[1]);
  case Scalar::Div:
    return arith::DivFOp::create(b, loc, v[0], v[1]);
  case Scalar::Max:
    return arith::MaximumFOp::create(b, loc, v[0], v[1]);
  case Scalar::Pow:
    return math::PowFOp::create(b, loc, v[0], v[1]);
  case Scalar::Rsqrt:
    return math::RsqrtOp::create(b, loc, v[0]);
  case Scalar::Sqrt:
    return math::SqrtOp::create(b, loc, v[0]);
  case Scalar::Exp:
    return math::ExpOp::create(b, loc, v[0]);
  case Scalar::Tanh:
    return math::TanhOp::create(b, loc, v[0]);
  case Scalar::Erf:
    return math::ErfOp::create(b, loc, v[0]);
  case Scalar::Abs:
    return math::AbsFOp::create(b, loc, v[0]);
  case Scalar::Neg:
    return arith::NegFOp::create(b, loc, v[0]);
  case Scalar::Copy:
    return v[0];
  }
  llvm_unreachable("a scalar function is missing");
}

//===----------------------------------------------------------------------===//
// Constants and empty tensors
//===----------------------------------------------------------------------===//

Value Speller::constant(double value, FloatType type) {
  auto attr = b.getFloatAttr(type, value);
  roundedConstants |= type.getWidth() < 32 && attr.getValueAsDouble() != value;
  return arith::ConstantOp::create(b, attr);
}

Value Speller::empty(Value like, ArrayRef<int64_t> dims, Type element) {
  SmallVector<OpFoldResult> sizes;
  for (int64_t dim : dims)
    sizes.push_back(tensor::getMixedSize(b, b.getLoc(), like, dim));
  return tensor::EmptyOp::create(b, sizes, element);
}

Value Speller::empty(Value like, Type element) {
  return empty(like, allDims(like), element);
}

Value Speller::filled(double value, Value like, ArrayRef<int64_t> dims,
                      FloatType element) {
  SmallVector<int64_t> shape;
  for (int64_t dim : dims)
    shape.push_back(getShape(like)[dim]);
  if (!ShapedType::isDynamicShape(shape) && random.chance(50)) {
    auto attr = b.getFloatAttr(element, value);
    roundedConstants |=
        element.getWidth() < 32 && attr.getValueAsDouble() != value;
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(RankedTensorType::get(shape, element),
                                  ArrayRef<Attribute>(attr)));
  }
  return linalg::FillOp::create(b, constant(value, element),
                                empty(like, dims, element))
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Broadcasts
//===----------------------------------------------------------------------===//

Value Speller::withUnitDims(const Operand &operand, Value like) {
  const int64_t rank = getRank(like);
  const int64_t ownRank = operand.dims.size();
  if (ownRank == rank)
    return operand.tensor;
  SmallVector<int64_t> shape(rank, 1);
  SmallVector<OpFoldResult> sizes(rank, b.getIndexAttr(1));
  for (auto [i, dim] : llvm::enumerate(operand.dims)) {
    shape[dim] = getShape(operand.tensor)[i];
    sizes[dim] = tensor::getMixedSize(b, b.getLoc(), operand.tensor, i);
  }
  SmallVector<ReassociationIndices> groups(ownRank);
  if (ownRank > 0)
    for (int64_t dim = 0, group = 0; dim < rank; ++dim) {
      while (group + 1 < ownRank && dim >= operand.dims[group + 1])
        ++group;
      groups[group].push_back(dim);
    }
  return tensor::ExpandShapeOp::create(
      b, RankedTensorType::get(shape, getFloatType(operand.tensor)),
      operand.tensor, groups, sizes);
}

Value Speller::broadcast(const Operand &operand, Value like) {
  if (isFull(operand, like))
    return operand.tensor;
  FloatType type = getFloatType(operand.tensor ? operand.tensor : like);
  if (!operand.tensor)
    return filled(operand.constant, like, allDims(like), type);
  if (random.chance(50)) {
    SmallVector<int64_t> added;
    for (int64_t dim : allDims(like))
      if (!llvm::is_contained(operand.dims, dim))
        added.push_back(dim);
    return linalg::BroadcastOp::create(b, operand.tensor, empty(like, type),
                                       added)
        ->getResult(0);
  }
  return applyGeneric(Scalar::Copy, like, operand);
}

//===----------------------------------------------------------------------===//
// Elementwise operations
//===----------------------------------------------------------------------===//

static FloatType getType(ArrayRef<Operand> operands, Value like) {
  for (const Operand &operand : operands)
    if (operand.tensor)
      return getFloatType(operand.tensor);
  return getFloatType(like);
}

Value Speller::applyGeneric(Scalar function, Value like,
                            ArrayRef<Operand> operands) {
  const int64_t rank = getRank(like);
  FloatType type = getType(operands, like);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<Value> scalars(operands.size());
  for (auto [i, operand] : llvm::enumerate(operands)) {
    if (!operand.tensor) {
      scalars[i] = constant(operand.constant, type);
      continue;
    }
    SmallVector<AffineExpr> results;
    const bool unit = !isFull(operand, like) && random.chance(25);
    if (unit) {
      for (int64_t dim = 0; dim < rank; ++dim)
        results.push_back(llvm::is_contained(operand.dims, dim)
                              ? b.getAffineDimExpr(dim)
                              : b.getAffineConstantExpr(0));
      inputs.push_back(withUnitDims(operand, like));
    } else {
      for (int64_t dim : operand.dims)
        results.push_back(b.getAffineDimExpr(dim));
      inputs.push_back(operand.tensor);
    }
    maps.push_back(AffineMap::get(rank, 0, results, b.getContext()));
  }
  maps.push_back(b.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  Value init = empty(like, type);
  return linalg::GenericOp::create(
             b, init.getType(), inputs, init, maps, iterators,
             [&](OpBuilder &nested, Location loc, ValueRange arguments) {
               SmallVector<Value> values;
               unsigned next = 0;
               for (auto [operand, scalar] : llvm::zip(operands, scalars))
                 values.push_back(operand.tensor ? arguments[next++] : scalar);
               Value result = applyScalar(nested, loc, function, values);
               linalg::YieldOp::create(nested, loc, result);
             })
      .getResult(0);
}

Value Speller::applyNamed(Scalar function, Value like, ValueRange operands) {
  Value init = empty(like, getFloatType(operands[0]));
  auto make = [&](auto op) -> Value {
    using Op = decltype(op);
    return Op::create(b, operands, ValueRange(init)).getResult(0);
  };
  switch (function) {
  case Scalar::Add:
    return make(linalg::AddOp());
  case Scalar::Sub:
    return make(linalg::SubOp());
  case Scalar::Mul:
    return make(linalg::MulOp());
  case Scalar::Div:
    return make(linalg::DivOp());
  case Scalar::Max:
    return make(linalg::MaxOp());
  case Scalar::Rsqrt:
    return make(linalg::RsqrtOp());
  case Scalar::Sqrt:
    return make(linalg::SqrtOp());
  case Scalar::Exp:
    return make(linalg::ExpOp());
  case Scalar::Tanh:
    return make(linalg::TanhOp());
  default:
    return nullptr;
  }
}

Value Speller::applyTosa(Scalar function, Value like,
                         ArrayRef<Operand> operands) {
  FloatType type = getType(operands, like);
  SmallVector<Value> v;
  bool anyFull = false;
  for (const Operand &operand : operands) {
    if (operand.tensor) {
      v.push_back(withUnitDims(operand, like));
      anyFull |= isFull(operand, like);
      continue;
    }
    auto attr = b.getFloatAttr(type, operand.constant);
    roundedConstants |=
        type.getWidth() < 32 && attr.getValueAsDouble() != operand.constant;
    SmallVector<int64_t> ones(getRank(like), 1);
    auto tensorType = RankedTensorType::get(ones, type);
    v.push_back(tosa::ConstOp::create(
        b, tensorType,
        DenseElementsAttr::get(tensorType, ArrayRef<Attribute>(attr))));
  }
  // Without one operand of the whole shape the result would not have it.
  if (!anyFull)
    return nullptr;
  auto result = RankedTensorType::get(getShape(like), type);
  switch (function) {
  case Scalar::Add:
    return tosa::AddOp::create(b, result, v[0], v[1]);
  case Scalar::Sub:
    return tosa::SubOp::create(b, result, v[0], v[1]);
  case Scalar::Mul: {
    auto shiftType = RankedTensorType::get({1}, b.getI8Type());
    Value shift = tosa::ConstOp::create(
        b, shiftType, DenseElementsAttr::get(shiftType, int8_t(0)));
    return tosa::MulOp::create(b, result, v[0], v[1], shift);
  }
  case Scalar::Max:
    return tosa::MaximumOp::create(b, result, v[0], v[1]);
  case Scalar::Pow:
    return tosa::PowOp::create(b, result, v[0], v[1]);
  case Scalar::Rsqrt:
    return tosa::RsqrtOp::create(b, result, v[0]);
  case Scalar::Exp:
    return tosa::ExpOp::create(b, result, v[0]);
  case Scalar::Tanh:
    return tosa::TanhOp::create(b, result, v[0]);
  case Scalar::Erf:
    return tosa::ErfOp::create(b, result, v[0]);
  case Scalar::Abs:
    return tosa::AbsOp::create(b, result, v[0]);
  default:
    return nullptr;
  }
}

Value Speller::apply(Scalar function, Value like, ArrayRef<Operand> operands) {
  FloatType type = getType(operands, like);
  if (random.chance(tosaPercent) && !type.isF64() && getRank(like) > 0)
    if (Value result = applyTosa(function, like, operands))
      return result;
  if (random.chance(45))
    return applyGeneric(function, like, operands);
  SmallVector<Value> full;
  for (const Operand &operand : operands)
    full.push_back(operand.tensor || operands.size() == 1
                       ? broadcast(operand, like)
                       : filled(operand.constant, like, allDims(like), type));
  if (random.chance(30))
    if (Value result = applyNamed(function, like, full))
      return result;
  if (random.chance(20) && function != Scalar::Copy)
    return linalg::MapOp::create(
               b, full, empty(like, type),
               [&](OpBuilder &nested, Location loc, ValueRange arguments) {
                 Value result = applyScalar(nested, loc, function,
                                            arguments.take_front(full.size()));
                 linalg::YieldOp::create(nested, loc, result);
               })
        ->getResult(0);
  return applyScalar(b, b.getLoc(), function, full);
}

static Value castScalar(OpBuilder &b, Location loc, Value value, Type from,
                        Type to, Type result) {
  const bool widens = from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth();
  if (widens)
    return arith::ExtFOp::create(b, loc, result, value);
  return arith::TruncFOp::create(b, loc, result, value);
}

Value Speller::cast(Value value, FloatType type) {
  FloatType from = getFloatType(value);
  if (from == type)
    return value;
  auto result = RankedTensorType::get(getShape(value), type);
  // Between bf16 and f16 there is no single op but tosa's, by way of f32.
  if (from.getWidth() == type.getWidth())
    return cast(cast(value, b.getF32Type()), type);
  const bool tosa = !from.isF64() && !type.isF64() &&
                    std::min(from.getWidth(), type.getWidth()) >= 16;
  if (tosa && random.chance(tosaPercent))
    return tosa::CastOp::create(b, result, value);
  if (random.chance(50))
    return castScalar(b, b.getLoc(), value, from, type, result);
  const int64_t rank = getRank(value);
  SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, result, value, empty(value, type), maps, iterators,
             [&](OpBuilder &nested, Location loc, ValueRange arguments) {
               linalg::YieldOp::create(
                   nested, loc,
                   castScalar(nested, loc, arguments[0], from, type, type));
             })
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Value Speller::sum(Value x, int64_t dim, bool squares, double start) {
  const int64_t rank = getRank(x);
  FloatType type = getFloatType(x);
  SmallVector<int64_t> kept = allDims(x);
  kept.erase(kept.begin() + dim);

  const bool inBody = squares && random.chance(40);
  if (squares && !inBody) {
    x = random.chance(30) ? apply(Scalar::Pow, x, {x, 2.0})
                          : apply(Scalar::Mul, x, {x, x});
  } else if (!squares && start == 0 && random.chance(tosaPercent) &&
             !type.isF64()) {
    SmallVector<int64_t> shape(getShape(x));
    shape[dim] = 1;
    Value sum = tosa::ReduceSumOp::create(b, RankedTensorType::get(shape, type),
                                          x, b.getI32IntegerAttr(dim));
    SmallVector<ReassociationIndices> groups;
    if (rank == 1)
      return tensor::CollapseShapeOp::create(b, RankedTensorType::get({}, type),
                                             sum, groups);
    // The unit dimension joins the one before, or the next.
    for (int64_t i = 0; i < rank; ++i) {
      if ((i == dim && dim > 0) || (dim == 0 && i == 1))
        groups.back().push_back(i);
      else
        groups.push_back({i});
    }
    return tensor::CollapseShapeOp::create(b, sum, groups);
  }

  Value init = filled(start, x, kept, type);
  if (!inBody && random.chance(40))
    return linalg::ReduceOp::create(
               b, ValueRange(x), ValueRange(init), ArrayRef<int64_t>(dim),
               [&](OpBuilder &nested, Location loc, ValueRange arguments) {
                 Value sum = arith::AddFOp::create(nested, loc, arguments[0],
                                                   arguments[1]);
                 linalg::YieldOp::create(nested, loc, sum);
               })
        ->getResult(0);
  SmallVector<AffineExpr> results;
  for (int64_t i : kept)
    results.push_back(b.getAffineDimExpr(i));
  SmallVector<AffineMap> maps = {
      b.getMultiDimIdentityMap(rank),
      AffineMap::get(rank, 0, results, b.getContext())};
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators[dim] = utils::IteratorType::reduction;
  const bool swapped = random.chance(50);
  return linalg::GenericOp::create(
             b, init.getType(), x, init, maps, iterators,
             [&](OpBuilder &nested, Location loc, ValueRange arguments) {
               Value value = arguments[0];
               if (inBody)
                 value = arith::MulFOp::create(nested, loc, value, value);
               Value sum = arith::AddFOp::create(
                   nested, loc, swapped ? value : arguments[1],
                   swapped ? arguments[1] : value);
               linalg::YieldOp::create(nested, loc, sum);
             })
      .getResult(0);
}
