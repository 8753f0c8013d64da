//===- CheckModule.cpp - What the pipelines are asked to do ---------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/PlanUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_CHECKMODULEPASS
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

namespace {
struct CheckModule : ::flashnorm::impl::CheckModulePassBase<CheckModule> {
  using CheckModulePassBase::CheckModulePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!chip.empty() && failed(parsePlanTarget(module.getLoc(), chip, family)))
      return signalPassFailure();
    module.walk<WalkOrder::PreOrder>([&](ModuleOp nested) {
      int64_t count = 0;
      if (nested != module)
        for (auto function : nested.getOps<func::FuncOp>())
          count += !function.isDeclaration();
      if (count == 0)
        return;
      emitWarning(nested.getLoc())
          << "functions of a nested module are left as they are (" << count
          << " here): nest the pipeline as deep, as in "
             "--pass-pipeline='builtin.module(builtin.module(...))'";
    });
    markAllAnalysesPreserved();
  }
};
} // namespace
