//===- Plan.cpp - Chooses how each matmul runs ----------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Asks the planner about every flashnorm.matmul that has no plan and writes the
// answer on it. What is fused stays fused: by now the question is how to run
// it, not whether.
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/PlanUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_PLANPASS
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

namespace {
struct PlanMatmuls : ::flashnorm::impl::PlanPassBase<PlanMatmuls> {
  using PlanPassBase::PlanPassBase;

  void runOnOperation() override {
    FailureOr<PlanTarget> target =
        parsePlanTarget(getOperation().getLoc(), chip, family);
    if (failed(target))
      return signalPassFailure();
    Planner planner(*target->target, target->options);
    getOperation().walk([&](MatmulOp op) {
      if (op.getPlan()) // a user's choice; --flashnorm-verify-plan checks it
        return;
      auto options = [&](StringRef name) {
        return remark::RemarkOpts::name(name)
            .category("flashnorm-plan")
            .function(getOperation().getSymName());
      };
      std::string reason;
      FailureOr<Problem> problem = getProblem(op, reason);
      PlanDecision decision;
      if (succeeded(problem)) {
        decision = planner.choose(*problem);
        reason = decision.reason;
      }
      if (!decision.plan) {
        // Without a plan the op is lowered to linalg.
        remark::missed(op.getLoc(), options("MatmulNotPlanned"))
            << llvm::formatv("no plan for {0}: {1}", target->target->chip,
                             reason)
                   .str();
        ++numNotPlanned;
        return;
      }
      op.setPlanAttr(getPlanAttr(&getContext(), *decision.plan));
      PlanUsage usage = computeUsage(*decision.plan, *problem);
      remark::passed(op.getLoc(), options("MatmulPlanned"))
          << llvm::formatv(
                 "{0}; {1} threads and {2} bytes of shared memory in a CTA; "
                 "estimated at {3:F1} us for {4}",
                 describePlan(*decision.plan), usage.threads,
                 usage.sharedMemory, decision.fusedMicroseconds,
                 describeRows(*problem))
                 .str();
      ++numPlanned;
    });
  }
};
} // namespace
