//===- KernelToNVVM.cpp - Kernels for their MMA family --------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelCheck.h"
#include "KernelEmitter.h"
#include "flashnorm/Conversion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_CONVERTKERNELTONVVMPASS
#include "flashnorm/Conversion/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

static std::unique_ptr<kernel::MmaFamily>
createFamily(kernel::FamilyKind family) {
  switch (family) {
  case kernel::FamilyKind::MmaSync:
    return kernel::createMmaSync();
  case kernel::FamilyKind::Wgmma:
    return kernel::createWgmma();
  case kernel::FamilyKind::Tcgen05:
    return kernel::createTcgen05();
  }
  llvm_unreachable("all families are listed");
}

static LogicalResult convert(kernel::FuncOp func) {
  FailureOr<kernel::PipelineOp> pipeline = kernel::checkKernel(func);
  if (failed(pipeline))
    return failure();
  std::unique_ptr<kernel::MmaFamily> family =
      createFamily(func.getConfig().getFamily());
  kernel::KernelEmitter emitter(func, *pipeline, *family);
  if (failed(emitter.emit()))
    return failure();
  func.erase();
  return success();
}

namespace {
struct ConvertKernelToNVVM
    : ::flashnorm::impl::ConvertKernelToNVVMPassBase<ConvertKernelToNVVM> {
  using ::flashnorm::impl::ConvertKernelToNVVMPassBase<
      ConvertKernelToNVVM>::ConvertKernelToNVVMPassBase;

  void runOnOperation() override {
    // No libdevice: what PTX has no instruction for becomes arithmetic, before
    // the scalar regions are unrolled.
    RewritePatternSet patterns(&getContext());
    populatePolynomialApproximateErfPattern(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));

    auto funcs = llvm::to_vector(getOperation().getOps<kernel::FuncOp>());
    for (kernel::FuncOp func : funcs)
      if (failed(convert(func)))
        return signalPassFailure();
  }
};
} // namespace
