//===- Determinism.cpp - Programs that have one result --------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Determinism.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

using namespace mlir;
using namespace flashnorm;
using namespace flashnorm::fuzz;

// Unoptimised code runs some 10^8 of them a second.
static constexpr int64_t maxIterations = 1 << 22;
static constexpr int64_t maxElements = 1 << 18;

static bool isFloat(Type type) {
  return type.isBF16() || type.isF16() || type.isF32() || type.isF64();
}

/// A tensor or scalar that a program in f64 can have, too.
static bool isSimple(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    int64_t elements = 1;
    for (int64_t size : tensor.getShape()) {
      if (ShapedType::isDynamic(size) || size > maxElements)
        return false;
      elements =
          std::min(elements * std::max<int64_t>(size, 1), maxElements + 1);
    }
    return elements <= maxElements && !tensor.getEncoding() &&
           isSimple(tensor.getElementType());
  }
  return isFloat(type) || type.isIndex() || type.isSignlessInteger();
}

/// Every loop that is not summed over says where its result goes.
static bool writesEachElementOnce(linalg::LinalgOp op) {
  int64_t iterations = 1;
  for (int64_t size : op.getStaticLoopRanges()) {
    if (ShapedType::isDynamic(size) || size > maxElements)
      return false;
    iterations *= std::max<int64_t>(size, 1);
    if (iterations > maxIterations)
      return false;
  }
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    if (!map.isProjectedPermutation())
      return false;
    for (auto [loop, kind] : llvm::enumerate(iterators))
      if (map.isFunctionOfDim(loop) != (kind == utils::IteratorType::parallel))
        return false;
  }
  return true;
}

/// An op of which it is known that it has a result, and one only.
static bool isDefined(Operation *op) {
  if (!llvm::all_of(op->getOperandTypes(), isSimple) ||
      !llvm::all_of(op->getResultTypes(), isSimple))
    return false;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return writesEachElementOnce(linalgOp);
  if (isa<func::ReturnOp, linalg::YieldOp, arith::ConstantOp, tosa::ConstOp,
          tosa::ConstShapeOp, tensor::EmptyOp, tensor::CollapseShapeOp,
          tensor::ExpandShapeOp, tensor::CastOp, tensor::SplatOp,
          tensor::DimOp>(op))
    return true;
  // Integers may be divided by 0.
  StringRef dialect = op->getName().getDialectNamespace();
  if (dialect == "flashnorm")
    return op->getNumResults() != 0;
  return (dialect == "arith" || dialect == "math" || dialect == "tosa") &&
         op->getNumRegions() == 0 && op->getNumResults() == 1 &&
         isFloat(getElementTypeOrSelf(op->getResult(0).getType()));
}

/// `use` gives only the place to write to.
static bool isOnlyWritten(OpOperand &use) {
  auto op = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
  if (!op || !op.isDpsInit(&use))
    return isa<tensor::DimOp>(use.getOwner());
  auto linalgOp = dyn_cast<linalg::LinalgOp>(use.getOwner());
  return !linalgOp || !linalgOp.payloadUsesValueFromOperand(&use);
}

static void fillWhereRead(tensor::EmptyOp empty) {
  SmallVector<OpOperand *> reads;
  for (OpOperand &use : empty->getUses())
    if (!isOnlyWritten(use))
      reads.push_back(&use);
  if (reads.empty())
    return;
  OpBuilder b(empty->getContext());
  b.setInsertionPointAfter(empty);
  Location loc = empty.getLoc();
  Type type = empty.getType().getElementType();
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  Value filled =
      linalg::FillOp::create(b, loc, zero, empty.getResult()).getResult(0);
  for (OpOperand *read : reads)
    read->set(filled);
}

bool fuzz::makeDeterministic(ModuleOp module) {
  if (!llvm::hasSingleElement(*module.getBody()))
    return false;
  auto function = dyn_cast<func::FuncOp>(module.getBody()->front());
  if (!function || !function.getBody().hasOneBlock())
    return false;
  auto isArray = [](Type type) {
    return isa<RankedTensorType>(type) && isSimple(type) &&
           isFloat(getElementTypeOrSelf(type));
  };
  if (!llvm::all_of(function.getArgumentTypes(), isArray) ||
      !llvm::all_of(function.getResultTypes(), isArray) ||
      function.getNumResults() == 0)
    return false;
  const bool defined = !function.getBody()
                            .walk([](Operation *op) {
                              return isDefined(op) ? WalkResult::advance()
                                                   : WalkResult::interrupt();
                            })
                            .wasInterrupted();
  if (!defined)
    return false;
  SmallVector<tensor::EmptyOp> empties;
  function.walk([&](tensor::EmptyOp empty) { empties.push_back(empty); });
  for (tensor::EmptyOp empty : empties)
    fillWhereRead(empty);
  return true;
}
