//===- PrepareWeights.cpp - What depends on frozen weights alone ----------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PreparedWeights.h"
#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_PREPAREWEIGHTSPASS
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

namespace {
struct PrepareWeights
    : ::flashnorm::impl::PrepareWeightsPassBase<PrepareWeights> {
  using PrepareWeightsPassBase::PrepareWeightsPassBase;
  void runOnOperation() override;
};
} // namespace

/// Other names for one buffer.
static bool isView(Operation *op) {
  return isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
      op);
}

static void prepareOperands(func::FuncOp function, PreparedWeights &prepared) {
  DenseMap<Value, Value> arguments;
  for (Operation *op : collectOwnOps<MatmulOp>(function)) {
    auto matmul = cast<MatmulOp>(op);
    if (!matmul.hasPureTensorSemantics())
      continue;
    for (OpOperand *operand : matmul.getDpsInputOperands()) {
      Value value = operand->get();
      if (operand == &matmul.getInputMutable() ||
          value == matmul.getResidual() || !value.getDefiningOp())
        continue;
      std::optional<Factor> factor = prepared.getFactor(value);
      if (!factor || factor->constant || llvm::all_of(factor->ops, isView) ||
          !prepared.checkArgument().empty())
        continue;
      Value &argument = arguments[value];
      if (!argument)
        argument = prepared.add(value, value.getLoc());
      operand->set(argument);
    }
  }
}

void PrepareWeights::runOnOperation() {
  numPrepared += PreparedWeights::run(getOperation(), prepareOperands);
}
