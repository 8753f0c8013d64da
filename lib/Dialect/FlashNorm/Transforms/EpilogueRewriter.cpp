//===- EpilogueRewriter.cpp - Puts a matmul in place of a scalar ----------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EpilogueRewriter.h"
#include "ValueFlow.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace flashnorm;

//===----------------------------------------------------------------------===//
// Reshapes between the matmul and the op that the epilogue ends in
//===----------------------------------------------------------------------===//

RankedTensorType flashnorm::withElementType(Value value, Type elementType) {
  auto type = cast<RankedTensorType>(value.getType());
  return RankedTensorType::get(type.getShape(), elementType);
}

/// The shape of `like` with the elements of `value`: what is known of sizes may
/// differ between values that an op combines.
static Value castToShapeOf(RewriterBase &rewriter, Location loc, Value value,
                           Value like) {
  RankedTensorType type =
      withElementType(like, getElementTypeOrSelf(value.getType()));
  if (value.getType() == type)
    return value;
  return tensor::CastOp::create(rewriter, loc, type, value);
}

Value flashnorm::replay(RewriterBase &rewriter, Location loc, Value value,
                        ArrayRef<Operation *> reshapes) {
  Type elementType = getElementTypeOrSelf(value.getType());
  for (Operation *reshape : reshapes) {
    RankedTensorType type = withElementType(reshape->getResult(0), elementType);
    value = castToShapeOf(rewriter, loc, value, reshape->getOperand(0));
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape))
      value = tensor::ExpandShapeOp::create(rewriter, loc, type, value,
                                            expand.getReassociationIndices(),
                                            getOutputShape(expand));
    else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(reshape))
      value = tensor::CollapseShapeOp::create(
          rewriter, loc, type, value, collapse.getReassociationIndices());
    else
      value = tensor::CastOp::create(rewriter, loc, type, value);
  }
  return value;
}

Value flashnorm::undo(RewriterBase &rewriter, Location loc, Value value,
                      ArrayRef<Operation *> reshapes) {
  Type elementType = getElementTypeOrSelf(value.getType());
  for (Operation *reshape : llvm::reverse(reshapes)) {
    Value before = reshape->getOperand(0);
    RankedTensorType type = withElementType(before, elementType);
    value = castToShapeOf(rewriter, loc, value, reshape->getResult(0));
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape)) {
      // The common exporter reshapes the residual on its way in, too.
      auto same = value.getDefiningOp<tensor::ExpandShapeOp>();
      if (same && same.getSrcType() == type &&
          same.getReassociationIndices() == expand.getReassociationIndices())
        value = same.getSrc();
      else
        value = tensor::CollapseShapeOp::create(
            rewriter, loc, type, value, expand.getReassociationIndices());
    } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(reshape)) {
      value = tensor::ExpandShapeOp::create(
          rewriter, loc, type, value, collapse.getReassociationIndices(),
          tensor::getMixedSizes(rewriter, loc, before));
    } else {
      value = tensor::CastOp::create(rewriter, loc, type, value);
    }
  }
  return value;
}

//===----------------------------------------------------------------------===//
// The op that the scalar is in
//===----------------------------------------------------------------------===//

/// The op computes nothing else.
static bool isWholeOp(linalg::LinalgOp op, Value end) {
  return op->getNumResults() == 1 && getYielded(op->getResult(0)) == end;
}

linalg::LinalgOp flashnorm::getEndOp(Block *block, Value end) {
  auto op = cast<linalg::LinalgOp>(end.getParentBlock()->getParentOp());
  // Never into a loop.
  if (op->getBlock() != block ||
      (!isWholeOp(op, end) && !isa<linalg::GenericOp>(op)))
    return {};
  return op;
}

Value flashnorm::getEndInit(RewriterBase &rewriter, Location loc,
                            linalg::LinalgOp endOp, Value end,
                            RankedTensorType type, Value like) {
  Value init = endOp.getDpsInits().front();
  if (isWholeOp(endOp, end) && init.getType() == type)
    return init;
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, like);
  if (int64_t columns = type.getShape().back(); !ShapedType::isDynamic(columns))
    sizes.back() = rewriter.getIndexAttr(columns);
  return tensor::EmptyOp::create(rewriter, loc, sizes, type.getElementType());
}

/// Replaces the scalar `end` in `op`'s body by an element of `value`, and drops
/// the inputs that nothing reads any more.
static void readInstead(RewriterBase &rewriter, linalg::GenericOp op, Value end,
                        Value value) {
  auto linalgOp = cast<linalg::LinalgOp>(op.getOperation());
  Block *body = op.getBlock();
  unsigned inputs = op.getNumDpsInputs();
  rewriter.modifyOpInPlace(op, [&] {
    BlockArgument arg =
        body->insertArgument(inputs, end.getType(), op.getLoc());
    rewriter.replaceAllUsesWith(end, arg);
    eraseIfDead(rewriter, llvm::to_vector(llvm::make_pointer_range(
                              body->without_terminator())));
    SmallVector<Value> values(op.getInputs());
    SmallVector<AffineMap> maps = linalgOp.getIndexingMapsArray();
    values.push_back(value);
    maps.insert(maps.begin() + inputs,
                rewriter.getMultiDimIdentityMap(op.getNumLoops()));
    for (unsigned index = inputs; index-- > 0;)
      if (body->getArgument(index).use_empty()) {
        body->eraseArgument(index);
        values.erase(values.begin() + index);
        maps.erase(maps.begin() + index);
      }
    op.getInputsMutable().assign(values);
    op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
  });
}

void flashnorm::replaceEnd(RewriterBase &rewriter, linalg::LinalgOp endOp,
                           Value end, Value value,
                           SmallVector<Operation *> dead) {
  for (Value operand : endOp->getOperands())
    if (Operation *producer = operand.getDefiningOp())
      dead.push_back(producer);
  if (isWholeOp(endOp, end)) {
    Type wanted = endOp->getResult(0).getType();
    if (value.getType() != wanted)
      value = tensor::CastOp::create(rewriter, value.getLoc(), wanted, value);
    rewriter.replaceAllUsesWith(endOp->getResult(0), value);
    dead.push_back(endOp);
  } else {
    readInstead(rewriter, cast<linalg::GenericOp>(endOp.getOperation()), end,
                value);
  }
  eraseIfDead(rewriter, dead);
}
