//===- FlashNormToKernel.cpp - Kernels for fused ops
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Conversion/Passes.h"
#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "flashnorm/Dialect/Kernel/IR/Kernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_CONVERTFLASHNORMTOKERNELPASS
#include "flashnorm/Conversion/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

namespace {
struct ConvertFlashNormToKernel : ::flashnorm::impl::ConvertFlashNormToKernelPassBase<ConvertFlashNormToKernel> {
  using ::flashnorm::impl::ConvertFlashNormToKernelPassBase<ConvertFlashNormToKernel>::ConvertFlashNormToKernelPassBase;
  void runOnOperation() override {}
};
} // namespace
