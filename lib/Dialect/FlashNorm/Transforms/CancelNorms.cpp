//===- CancelNorms.cpp - RMSNorms that the next one divides out -----------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scale of an RMSNorm, one positive factor a row, goes through a linear
// layer without bias into the next RMSNorm, which divides it out, but for its
// epsilon.
//
//===----------------------------------------------------------------------===//

#include "LeadingReshapes.h"
#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_CANCELNORMSPASS
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

/// The matmul stores or rounds its sum as f16.
static bool holdsF16(MatmulOp matmul) {
  if (RoundingsAttr roundings = matmul.getRoundingsAttr())
    for (unsigned step = 0; step <= getMaxEnumValForEpilogueStep(); ++step)
      if (FloatType type = roundings.getType(EpilogueStep(step));
          type && type.isF16())
        return true;
  return !matmul.getPostNorm() &&
         getElementTypeOrSelf(matmul->getResult(0)).isF16();
}

/// Why a factor of the rows of the matmul's input does not cancel behind it, or
/// nothing. `epsilons` receives those of the norms that it cancels in.
static std::string checkMatmul(MatmulOp matmul,
                               SmallVectorImpl<double> &epsilons) {
  if (matmul.getBias())
    return "the matmul after it has a bias, which is not scaled";
  if (matmul.getResidual() || matmul.getGlu() || matmul.getRowScale())
    return "the matmul after it has a residual, a glu or a row scale";
  if (matmul.getActivation() != Activation::None &&
      matmul.getActivation() != Activation::ReLU)
    return ("the matmul after it has an activation, " +
            stringifyActivation(matmul.getActivation()) +
            ", that is not homogeneous")
        .str();
  if (matmul.getPlan())
    return "the matmul after it carries a plan; run this pass before it is "
           "planned";
  if (matmul.getInits().size() > 1)
    return "the matmul after it has a second result";
  if (holdsF16(matmul))
    return "the matmul after it stores its sum as f16, whose range the sum may "
           "leave without the norm";
  if (NormAttr norm = matmul.getPostNormAttr()) {
    if (norm.getKind() != NormKind::RMS)
      return "the norm in the matmul after it is no RMSNorm";
    epsilons.push_back(norm.getEps().getValueAsDouble());
    return "";
  }
  if (matmul.getOutputScale() || matmul.getSaturate())
    return "the matmul after it scales or clamps its result";
  SmallVector<OpOperand *> uses;
  collectUses(matmul->getResult(0), uses);
  if (uses.empty())
    return "nothing reads the matmul after it";
  for (OpOperand *use : uses) {
    auto norm = dyn_cast<RMSNormOp>(use->getOwner());
    if (!norm || use != &norm.getInputMutable())
      return ("the result of the matmul after it is read by '" +
              use->getOwner()->getName().getStringRef() +
              "', which is no RMSNorm of it")
          .str();
    if (norm.hasStatistics())
      return "the norm behind the matmul after it returns statistics";
    epsilons.push_back(norm.getEps().convertToDouble());
  }
  return "";
}

/// Why `norm` has to stay, or nothing; nullopt if it stands before no matmul.
static std::optional<std::string> checkNorm(RMSNormOp norm,
                                            SmallVectorImpl<double> &epsilons) {
  SmallVector<OpOperand *> uses;
  collectUses(norm->getResult(0), uses);
  if (llvm::none_of(
          uses, [](OpOperand *use) { return isa<MatmulOp>(use->getOwner()); }))
    return std::nullopt;
  if (norm.getWeight())
    return "its weight does not cancel; --flashnorm-fold-norm-weight folds it";
  if (norm.hasStatistics())
    return "it returns statistics";
  if (getElementTypeOrSelf(norm.getInput()) !=
      getElementTypeOrSelf(norm->getResult(0)))
    return "its input is not of the type that the matmul after it multiplies";
  for (OpOperand *use : uses) {
    auto matmul = dyn_cast<MatmulOp>(use->getOwner());
    if (!matmul || use != &matmul.getInputMutable())
      return ("'" + use->getOwner()->getName().getStringRef() +
              "' needs the normalised value")
          .str();
    // A norm of normalised rows does not need them normalised, either.
    if (matmul.getPreNorm())
      return "the matmul after it has a norm before it already";
    if (std::string reason = checkMatmul(matmul, epsilons); !reason.empty())
      return reason;
  }
  return "";
}

namespace {
struct CancelNorms : ::flashnorm::impl::CancelNormsPassBase<CancelNorms> {
  using CancelNormsPassBase::CancelNormsPassBase;
  void runOnOperation() override;

private:
  /// Whether the norm goes.
  bool report(Location loc, StringRef what, double eps,
              MutableArrayRef<double> epsilons, StringRef reason);
};
} // namespace

bool CancelNorms::report(Location loc, StringRef what, double eps,
                         MutableArrayRef<double> epsilons, StringRef reason) {
  auto options = [&](StringRef name) {
    return remark::RemarkOpts::name(name)
        .category("flashnorm-cancel-norms")
        .function(getOperation().getSymName());
  };
  if (!reason.empty()) {
    ++numKept;
    remark::missed(loc, options("NormNotCancelled"))
        << llvm::formatv("{0} stays: {1}", what, reason).str();
    return false;
  }
  ++numCancelled;
  llvm::sort(epsilons);
  remark::passed(loc, options("NormCancelled"))
      << llvm::formatv(
             "{0} with eps {1:e} cancels in {2} behind the product; eps {3:$[, "
             "]@[e]} there is of rows that are not normalised any more",
             what, eps, epsilons.size() == 1 ? "the RMSNorm" : "the RMSNorms",
             llvm::make_range(epsilons.begin(), epsilons.end()))
             .str();
  return true;
}

void CancelNorms::runOnOperation() {
  // From the end: in a chain of norms and matmuls, each is before another.
  SmallVector<Operation *> candidates;
  getOperation().walk([&](Operation *op) {
    if (isa<RMSNormOp, MatmulOp>(op) &&
        cast<DestinationStyleOpInterface>(op).hasPureTensorSemantics())
      candidates.push_back(op);
  });
  IRRewriter rewriter(&getContext());
  for (Operation *op : llvm::reverse(candidates)) {
    SmallVector<double> epsilons;
    if (auto matmul = dyn_cast<MatmulOp>(op)) {
      NormAttr norm = matmul.getPreNormAttr();
      if (!norm || norm.getKind() != NormKind::RMS)
        continue;
      std::string reason = checkMatmul(matmul, epsilons);
      if (report(op->getLoc(), "the RMSNorm before a matmul",
                 norm.getEps().getValueAsDouble(), epsilons, reason))
        rewriter.modifyOpInPlace(matmul, [&] { matmul.removePreNormAttr(); });
      continue;
    }
    auto norm = cast<RMSNormOp>(op);
    std::optional<std::string> reason = checkNorm(norm, epsilons);
    if (!reason || !report(op->getLoc(), RMSNormOp::getOperationName(),
                           norm.getEps().convertToDouble(), epsilons, *reason))
      continue;
    rewriter.setInsertionPoint(norm);
    Value input = norm.getInput();
    if (Type type = norm->getResult(0).getType(); input.getType() != type)
      input = tensor::CastOp::create(rewriter, norm.getLoc(), type, input);
    rewriter.replaceOp(norm, input);
  }
}
