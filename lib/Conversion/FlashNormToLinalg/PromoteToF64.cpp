//===- PromoteToF64.cpp - The yardstick
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
#define GEN_PASS_DEF_PROMOTETOF64PASS
#include "flashnorm/Conversion/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

namespace {
struct PromoteToF64 : ::flashnorm::impl::PromoteToF64PassBase<PromoteToF64> {
  using ::flashnorm::impl::PromoteToF64PassBase<PromoteToF64>::PromoteToF64PassBase;
  void runOnOperation() override {}
};
} // namespace
