//===- FlashNormToLinalg.cpp - The truth path
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Conversion/Passes.h"
#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_CONVERTFLASHNORMTOLINALGPASS
#include "flashnorm/Conversion/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

namespace {
struct ConvertFlashNormToLinalg : ::flashnorm::impl::ConvertFlashNormToLinalgPassBase<ConvertFlashNormToLinalg> {
  using ::flashnorm::impl::ConvertFlashNormToLinalgPassBase<ConvertFlashNormToLinalg>::ConvertFlashNormToLinalgPassBase;
  void runOnOperation() override {}
};
} // namespace
