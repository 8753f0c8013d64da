//===- VerifyPlan.cpp - Rejects plans that cannot run
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_VERIFYPLANPASS
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

namespace {
struct VerifyPlan : ::flashnorm::impl::VerifyPlanPassBase<VerifyPlan> {
  using ::flashnorm::impl::VerifyPlanPassBase<VerifyPlan>::VerifyPlanPassBase;
  void runOnOperation() override {}
};
} // namespace
