//===- DeferNorms.cpp - Norms behind the products of their readers --------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The algebra by itself, wherever it is possible. --flashnorm-fuse-norms does
// the same where a kernel for it is estimated to be faster.
//
//===----------------------------------------------------------------------===//

#include "DeferredNorm.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_DEFERNORMSPASS
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

namespace {
struct DeferNorms : ::flashnorm::impl::DeferNormsPassBase<DeferNorms> {
  using DeferNormsPassBase::DeferNormsPassBase;

  void runOnOperation() override {
    numPrepared += PreparedWeights::run(
        getOperation(), [&](func::FuncOp function, PreparedWeights &prepared) {
          NormWeightFolder folder(prepared);
          runOnFunction(function, folder);
        });
  }

private:
  void runOnFunction(func::FuncOp function, NormWeightFolder &folder);
};
} // namespace

void DeferNorms::runOnFunction(func::FuncOp function,
                               NormWeightFolder &folder) {
  auto removal =
      centerAll ? MeanRemoval::CenteredWeight : MeanRemoval::ColumnSums;
  IRRewriter rewriter(&getContext());
  for (Operation *op : collectOwnOps<RMSNormOp, LayerNormOp>(function)) {
    std::optional<NormView> norm = NormView::get(op);
    if (!norm)
      continue;
    auto options = [&](StringRef name) {
      return remark::RemarkOpts::name(name)
          .category("flashnorm-defer-norms")
          .function(function.getSymName());
    };
    SmallVector<MatmulOp> matmuls;
    std::string reason = findDeferred(*norm, matmuls);
    if (reason.empty())
      reason = checkDeferredWeights(*norm, matmuls, folder, removal);
    if (!reason.empty()) {
      remark::missed(op->getLoc(), options("NormNotDeferred"))
          << llvm::formatv("{0} not deferred: {1}", op->getName(), reason)
                 .str();
      ++numKept;
      continue;
    }
    remark::passed(op->getLoc(), options("NormDeferred"))
        << llvm::formatv("{0} deferred behind the products of {1} matmul{2}",
                         op->getName(), matmuls.size(),
                         matmuls.size() == 1 ? "" : "s")
               .str();
    norm = splitStatistics(rewriter, *norm);
    deferNorm(rewriter, *norm, matmuls, folder, removal);
    ++numDeferred;
  }
}
