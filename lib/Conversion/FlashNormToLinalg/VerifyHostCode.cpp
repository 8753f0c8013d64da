//===- VerifyHostCode.cpp - Nothing but the LLVM dialect is left ----------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Conversion/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_VERIFYHOSTCODEPASS
#include "flashnorm/Conversion/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

namespace {
struct VerifyHostCode
    : ::flashnorm::impl::VerifyHostCodePassBase<VerifyHostCode> {
  void runOnOperation() override {
    // A cast that is left over is a consequence of an op that is.
    SmallVector<Operation *> casts, others;
    getOperation()->walk([&](Operation *op) {
      if (isa<ModuleOp>(op) ||
          isa_and_nonnull<LLVM::LLVMDialect>(op->getDialect()))
        return;
      (isa<UnrealizedConversionCastOp>(op) ? casts : others).push_back(op);
    });
    for (Operation *op : others.empty() ? casts : others)
      op->emitOpError()
          << "cannot run on the CPU: it has no lowering to the LLVM dialect";
    if (!casts.empty() || !others.empty())
      signalPassFailure();
  }
};
} // namespace
