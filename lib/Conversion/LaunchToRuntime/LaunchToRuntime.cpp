//===- LaunchToRuntime.cpp - Launches to runtime calls
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Conversion/Passes.h"
#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_CONVERTLAUNCHTORUNTIMEPASS
#include "flashnorm/Conversion/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

namespace {
struct ConvertLaunchToRuntime : ::flashnorm::impl::ConvertLaunchToRuntimePassBase<ConvertLaunchToRuntime> {
  using ::flashnorm::impl::ConvertLaunchToRuntimePassBase<ConvertLaunchToRuntime>::ConvertLaunchToRuntimePassBase;
  void runOnOperation() override {}
};
} // namespace
