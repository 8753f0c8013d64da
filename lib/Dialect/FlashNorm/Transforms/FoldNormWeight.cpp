//===- FoldNormWeight.cpp - Norm weights into matmul weights --------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fold by itself, wherever it is possible. --flashnorm-fuse-norms folds
// only the weights of norms that it fuses with the matmuls after them.
//
//===----------------------------------------------------------------------===//

#include "LeadingReshapes.h"
#include "NormWeightFolder.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_FOLDNORMWEIGHTPASS
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

namespace {
struct FoldNormWeight
    : ::flashnorm::impl::FoldNormWeightPassBase<FoldNormWeight> {
  using FoldNormWeightPassBase::FoldNormWeightPassBase;
  void runOnOperation() override;
};
} // namespace

/// The matmuls behind a norm. `reason` is set when somebody else needs the
/// weighted value; no matmul at all is no reason to speak of.
static SmallVector<MatmulOp> getConsumers(RMSNormOp norm, std::string &reason) {
  SmallVector<OpOperand *> uses;
  collectUses(norm->getResult(0), uses);
  SmallVector<MatmulOp> matmuls;
  for (OpOperand *use : uses) {
    auto matmul = dyn_cast<MatmulOp>(use->getOwner());
    if (matmul && use == &matmul.getInputMutable())
      matmuls.push_back(matmul);
    else
      reason = llvm::formatv("'{0}' needs the normalised value",
                             use->getOwner()->getName())
                   .str();
  }
  return matmuls;
}

void FoldNormWeight::runOnOperation() {
  auto foldAll = [&](func::FuncOp function, PreparedWeights &prepared) {
    NormWeightFolder folder(prepared);
    for (Operation *op : collectOwnOps<RMSNormOp>(function)) {
      auto norm = cast<RMSNormOp>(op);
      if (!norm.getWeight() || !norm.hasPureTensorSemantics())
        continue;
      std::string reason;
      SmallVector<MatmulOp> matmuls = getConsumers(norm, reason);
      if (matmuls.empty()) // its weight is nobody's business here
        continue;
      if (reason.empty())
        reason = folder.check(*NormView::get(norm), matmuls);
      auto options = [&](StringRef name) {
        return remark::RemarkOpts::name(name)
            .category("flashnorm-fold-norm-weight")
            .function(function.getSymName());
      };
      if (!reason.empty()) {
        remark::missed(norm.getLoc(), options("NormWeightKept"))
            << llvm::formatv("weight of {0} kept: {1}", norm->getName(), reason)
                   .str();
        ++numKept;
        continue;
      }
      folder.fold(*NormView::get(norm), matmuls);
      norm.getWeightMutable().clear();
      // Without a weight there is one place to round only.
      norm.setCast(CastPosition::AfterAffine);
      remark::passed(norm.getLoc(), options("NormWeightFolded"))
          << llvm::formatv("weight of {0} folded into the weights of {1} "
                           "matmuls after it",
                           norm->getName(), matmuls.size())
                 .str();
      ++numFolded;
    }
  };
  numPrepared += PreparedWeights::run(getOperation(), foldAll);
}
