//===- ElementwiseFlow.cpp - Where the elements of a tensor go ------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementwiseFlow.h"
#include "IndexMaps.h"
#include "MatmulMatcher.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace flashnorm;

bool flashnorm::isTransparentCast(Operation *op) {
  if (!isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(op))
    return false;
  if (auto trunc = dyn_cast<arith::TruncFOp>(op))
    if (trunc.getRoundingmode() &&
        *trunc.getRoundingmode() != arith::RoundingMode::to_nearest_even)
      return false;
  return isEpilogueType(op->getOperand(0).getType()) &&
         isEpilogueType(op->getResult(0).getType());
}

static bool isTensorReshape(Operation *op) {
  return isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                         tensor::CastOp>(op) &&
         isa<RankedTensorType>(op->getOperand(0).getType()) &&
         isa<RankedTensorType>(op->getResult(0).getType()) &&
         !hasEncoding(op->getOperand(0).getType()) &&
         !hasEncoding(op->getResult(0).getType());
}

/// All results have the element order of the loops.
static bool isAligned(linalg::LinalgOp op) {
  return isElementwise(op) &&
         llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
           return op.getMatchingIndexingMap(&init).isIdentity();
         });
}

/// The scalar that reads `use` in the order of the results; null if none does.
static Value enter(OpOperand &use) {
  auto op = dyn_cast<linalg::LinalgOp>(use.getOwner());
  if (!op || op->getNumResults() == 0 || !isAligned(op) ||
      !op.isDpsInput(&use) || !isa<RankedTensorType>(use.get().getType()))
    return {};
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!isAtOwnPosition({use.get(), op.getMatchingIndexingMap(&use)},
                       type.getShape()))
    return {};
  // An input that the body ignores would only keep the tensor alive.
  BlockArgument arg = op.getMatchingBlockArgument(&use);
  return arg.use_empty() ? Value() : arg;
}

/// The tensor whose elements a linalg.yield gives; null if none.
static Value leave(OpOperand &use) {
  if (!isa<linalg::YieldOp>(use.getOwner()))
    return {};
  auto op = dyn_cast<linalg::LinalgOp>(use.getOwner()->getParentOp());
  if (!op || !isAligned(op))
    return {};
  return op->getResult(use.getOperandNumber());
}

/// `op` is a scalar op of an aligned linalg op.
static bool isInBody(Operation *op) {
  auto parent = dyn_cast_or_null<linalg::LinalgOp>(op->getParentOp());
  return parent && op->getBlock() == parent.getBlock() && isAligned(parent);
}

/// One step forwards without computing; null where there is none.
static Value stepForward(OpOperand &use) {
  Operation *owner = use.getOwner();
  if (isTransparentCast(owner) || isTensorReshape(owner))
    return use.getOperandNumber() == 0 ? owner->getResult(0) : Value();
  if (Value scalar = enter(use))
    return scalar;
  return leave(use);
}

ElementwiseFlow flashnorm::followUses(Value value) {
  ElementwiseFlow flow;
  flow.members.insert(value);
  for (unsigned next = 0; next < flow.members.size(); ++next)
    for (OpOperand &use : flow.members[next].getUses()) {
      Operation *owner = use.getOwner();
      if (Value same = stepForward(use))
        flow.members.insert(same);
      else if (isInBody(owner) && !isa<linalg::YieldOp>(owner))
        flow.consumers.insert(owner);
      else
        flow.escape = owner;
    }
  return flow;
}

Value flashnorm::stepBack(Value value) {
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    auto op = dyn_cast_or_null<linalg::LinalgOp>(arg.getOwner()->getParentOp());
    if (!op || op.getBlock() != arg.getOwner())
      return {};
    for (OpOperand *input : op.getDpsInputOperands())
      if (op.getMatchingBlockArgument(input) == arg && enter(*input))
        return input->get();
    return {};
  }
  Operation *op = value.getDefiningOp();
  if (isTransparentCast(op) || isTensorReshape(op))
    return op->getOperand(0);
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    if (isAligned(linalgOp))
      return getYielded(cast<OpResult>(value));
  return {};
}

bool flashnorm::traceReshapes(Value value, Value source,
                              const SetVector<Operation *> &through,
                              SmallVectorImpl<Operation *> &reshapes) {
  // Breadth first: chains may be long, and scalars may share operands. Each
  // value remembers the one after it.
  llvm::MapVector<Value, Value> next;
  next.insert({value, Value()});
  for (unsigned current = 0; current < next.size(); ++current) {
    Value member = next.begin()[current].first;
    if (member == source) {
      for (Value on = member; on; on = next.lookup(on))
        if (isTensorReshape(on.getDefiningOp()) && on != source)
          reshapes.push_back(on.getDefiningOp());
      return true;
    }
    if (Value before = stepBack(member)) {
      next.insert({before, member});
      continue;
    }
    Operation *op = member.getDefiningOp();
    if (op && through.contains(op))
      for (Value operand : op->getOperands())
        next.insert({operand, member});
  }
  return false;
}

Value flashnorm::findRounding(Value value) {
  while (value.hasOneUse()) {
    OpOperand &use = *value.use_begin();
    if (isa<arith::TruncFOp>(use.getOwner()))
      return isTransparentCast(use.getOwner()) ? use.getOwner()->getResult(0)
                                               : Value();
    value = stepForward(use);
    if (!value)
      break;
  }
  return {};
}
