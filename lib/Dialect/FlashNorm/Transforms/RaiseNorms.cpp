//===- RaiseNorms.cpp - Norms from linalg, tosa, arith and math
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
#define GEN_PASS_DEF_RAISENORMSPASS
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

namespace {
struct RaiseNorms : ::flashnorm::impl::RaiseNormsPassBase<RaiseNorms> {
  using ::flashnorm::impl::RaiseNormsPassBase<RaiseNorms>::RaiseNormsPassBase;
  void runOnOperation() override {}
};
} // namespace
