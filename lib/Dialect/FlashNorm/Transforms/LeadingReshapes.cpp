//===- LeadingReshapes.cpp - Reshapes that keep the last dimension --------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LeadingReshapes.h"
#include "ValueFlow.h"

using namespace mlir;
using namespace flashnorm;

bool flashnorm::isLeadingReshape(Operation *op) {
  SmallVector<ReassociationIndices, 4> groups;
  if (auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(op))
    groups = collapse.getReassociationIndices();
  else if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(op))
    groups = expand.getReassociationIndices();
  return !groups.empty() && groups.back().size() == 1;
}

Value flashnorm::lookThroughReshapes(Value value,
                                     SmallVectorImpl<Operation *> &reshapes) {
  while (isLeadingReshape(value.getDefiningOp())) {
    reshapes.push_back(value.getDefiningOp());
    value = value.getDefiningOp()->getOperand(0);
  }
  std::reverse(reshapes.begin(), reshapes.end());
  return value;
}

void flashnorm::collectUses(Value value, SmallVectorImpl<OpOperand *> &uses,
                            Operation *ignored) {
  SmallVector<Value> pending{value};
  while (!pending.empty())
    for (OpOperand &use : pending.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (user == ignored || isa<tensor::DimOp>(user))
        continue;
      // Operand 0 of a reshape is its source, the others are sizes.
      if (isLeadingReshape(user) && use.getOperandNumber() == 0)
        pending.push_back(user->getResult(0));
      else
        uses.push_back(&use);
    }
}

Value flashnorm::applyReshapes(OpBuilder &builder, Location loc, Value value,
                               ArrayRef<Operation *> reshapes) {
  Type elementType = getElementTypeOrSelf(value.getType());
  for (Operation *op : reshapes) {
    auto type =
        cast<RankedTensorType>(op->getResult(0).getType()).clone(elementType);
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
      value = tensor::CollapseShapeOp::create(
          builder, loc, type, value, collapse.getReassociationIndices());
    else
      value = tensor::ExpandShapeOp::create(
          builder, loc, type, value,
          cast<tensor::ExpandShapeOp>(op).getReassociationIndices(),
          getOutputShape(cast<tensor::ExpandShapeOp>(op)));
  }
  return value;
}
