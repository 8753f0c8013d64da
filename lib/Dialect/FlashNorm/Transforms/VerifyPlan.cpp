//===- VerifyPlan.cpp - Rejects plans that cannot run ---------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan may be written by hand. This holds each against the limits of its own
// chip, so that lowering can take them for granted.
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/PlanUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_VERIFYPLANPASS
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

namespace {
struct VerifyPlan : ::flashnorm::impl::VerifyPlanPassBase<VerifyPlan> {
  using VerifyPlanPassBase::VerifyPlanPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    // All wrong plans are reported, not only the first.
    getOperation().walk([&](MatmulOp op) {
      if (op.getPlan() && failed(verifyPlanOf(op)))
        signalPassFailure();
    });
  }
};
} // namespace
