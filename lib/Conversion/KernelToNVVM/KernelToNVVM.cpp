//===- KernelToNVVM.cpp - Kernels to NVVM
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Conversion/Passes.h"
#include "flashnorm/Dialect/Kernel/IR/Kernel.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_CONVERTKERNELTONVVMPASS
#include "flashnorm/Conversion/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

namespace {
struct ConvertKernelToNVVM : ::flashnorm::impl::ConvertKernelToNVVMPassBase<ConvertKernelToNVVM> {
  using ::flashnorm::impl::ConvertKernelToNVVMPassBase<ConvertKernelToNVVM>::ConvertKernelToNVVMPassBase;
  void runOnOperation() override {}
};
} // namespace
