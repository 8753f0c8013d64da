//===- FuseNorms.cpp - Norms into the matmuls beside them -----------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A norm can go two ways: into the epilogue of the matmul that makes its input
// (post), or into the matmuls that read its result (pre), which then multiply
// the un-normalised rows and scale them afterwards. For each norm both ways are
// matched first, without changing anything; the planner puts a price on each
// that is possible, and the one that saves more is taken. Only then is a norm's
// weight folded into the matmuls after it: folded but computed by itself, the
// norm would be rounded, and the folded weight as well.
//
//===----------------------------------------------------------------------===//

#include "DeferredNorm.h"
#include "LeadingReshapes.h"
#include "MatmulDraft.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/PlanUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_FUSENORMSPASS
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

namespace {
/// One way to fuse a norm: what was matched, or why it cannot be done.
struct Candidate {
  std::string reason; ///< empty: possible
  double fused = 0, unfused = 0;
  std::string plan; ///< of the first matmul, for the remark
  std::string rows; ///< that the estimates are for

  bool isPossible() const { return reason.empty(); }
  double getGain() const { return unfused - fused; }
};

struct PostCandidate : Candidate {
  MatmulOp matmul;
  /// From the matmul's result to the norm's input.
  SmallVector<Operation *> reshapes;
  /// The value before the norm is read elsewhere too.
  bool needsSum = false;
};

struct PreCandidate : Candidate {
  SmallVector<MatmulOp> matmuls;
};

struct FuseNorms : ::flashnorm::impl::FuseNormsPassBase<FuseNorms> {
  using FuseNormsPassBase::FuseNormsPassBase;

  void runOnOperation() override;

private:
  void runOnFunction(func::FuncOp function, NormWeightFolder &folder,
                     Planner &planner);
};
} // namespace

/// Centred, a W that no norm weight goes into would be less exact than before.
static constexpr MeanRemoval meanRemoval = MeanRemoval::ColumnSums;

static Norm getNormKind(const NormView &norm) {
  return norm.attr.getKind() == NormKind::RMS ? Norm::RMS : Norm::Layer;
}

//===----------------------------------------------------------------------===//
// Into the matmul before
//===----------------------------------------------------------------------===//

static PostCandidate matchPost(const NormView &norm, DominanceInfo &dominance,
                               Planner &planner, bool preserveRounding) {
  PostCandidate candidate;
  auto decline = [&](const Twine &reason) {
    candidate.reason = reason.str();
    return candidate;
  };
  Value source = lookThroughReshapes(norm.input, candidate.reshapes);
  candidate.matmul = source.getDefiningOp<MatmulOp>();
  if (!candidate.matmul) {
    while (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
        source.getDefiningOp()))
      source = source.getDefiningOp()->getOperand(0);
    return decline(source.getDefiningOp<MatmulOp>()
                       ? "its rows are other than those of the matmul before "
                         "it, as heads are parts of rows"
                       : "no flashnorm.matmul makes its input");
  }
  MatmulOp matmul = candidate.matmul;
  if (matmul.getPostNorm())
    return decline("the matmul before it has a norm in its epilogue already");
  if (matmul.getInits().size() > 1)
    return decline("the matmul before it has a second result already");
  if (matmul.getPlan())
    return decline("the matmul before it carries a plan for itself alone");
  if (matmul->getBlock() != norm.op->getBlock())
    return decline("the matmul before it stands in another block");

  SmallVector<OpOperand *> uses;
  collectUses(source, uses, norm.op);
  // Statistics that are results are computed from it.
  candidate.needsSum = !uses.empty() || norm.hasStatistics;
  // Other readers may stand right behind the matmul, so that the fused op has
  // to stand there as well.
  if (candidate.needsSum)
    for (Value parameter : {norm.weight, norm.bias})
      if (parameter && !dominance.properlyDominates(parameter, matmul))
        return decline("its weight or bias is computed after the matmul");

  // In its own type, the affine part is rounded like the product with rstd.
  Type resultType = getElementTypeOrSelf(norm.getResult().getType());
  if (preserveRounding && norm.cast == CastPosition::BeforeAffine)
    for (Value parameter : {norm.weight, norm.bias})
      if (parameter && getElementTypeOrSelf(parameter.getType()) != resultType)
        return decline("its weight or bias is rounded to the type of its "
                       "result, which is to be preserved");

  // Describe the fused op to the planner without building it.
  std::string reason;
  FailureOr<Problem> problem = getProblem(matmul, reason);
  if (failed(problem))
    return decline(reason);
  for (Value value : {norm.getResult(), norm.weight, norm.bias})
    if (value && !getPlannerType(value.getType()))
      return decline(describeUnknownType(value.getType()));
  problem->outputType = *getPlannerType(norm.getResult().getType());
  problem->postNorm = getNormKind(norm);
  problem->hasNormWeight = bool(norm.weight);
  problem->hasNormBias = bool(norm.bias);
  problem->returnsSum = candidate.needsSum;
  const PlanDecision &decision = planner.choose(*problem);
  if (!decision.plan)
    return decline(decision.reason);
  if (!isWorthFusing(decision.fusedMicroseconds, decision.unfusedMicroseconds))
    return decline(
        describeLoss(decision.fusedMicroseconds, decision.unfusedMicroseconds));
  candidate.fused = decision.fusedMicroseconds;
  candidate.unfused = decision.unfusedMicroseconds;
  candidate.plan = describePlan(*decision.plan);
  candidate.rows = describeRows(*problem);
  return candidate;
}

/// Rounds in the fused matmul where the matmul and the norm did by themselves.
static void roundAsBefore(MatmulDraft &draft, MatmulOp matmul,
                          const NormView &norm) {
  auto roundTo = [&](EpilogueStep step, Value result) {
    auto type = cast<FloatType>(getElementTypeOrSelf(result.getType()));
    if (type.getWidth() == 16)
      draft.round(step, type);
  };
  roundTo(matmul.getLastStep(), matmul.getResult(0));
  if (norm.cast == CastPosition::AfterAffine)
    return;
  // The last of them is what the result is rounded to.
  if (norm.weight || norm.bias)
    roundTo(EpilogueStep::Norm, norm.getResult());
  if (norm.weight && norm.bias)
    roundTo(EpilogueStep::NormWeight, norm.getResult());
}

static void fusePost(IRRewriter &rewriter, const NormView &norm,
                     PostCandidate &candidate, bool preserveRounding) {
  MatmulOp matmul = candidate.matmul;
  Location loc = rewriter.getFusedLoc({matmul.getLoc(), norm.op->getLoc()});
  rewriter.setInsertionPoint(candidate.needsSum ? matmul.getOperation()
                                                : norm.op);
  Value oldInit = matmul.getInits().front();
  auto oldType = cast<RankedTensorType>(matmul.getResult(0).getType());
  Type elementType = getElementTypeOrSelf(norm.getResult().getType());

  // One init serves y; with `sum` it keeps that role and y gets a new one.
  SmallVector<Value> inits;
  if (!candidate.needsSum && oldType.getElementType() == elementType)
    inits.push_back(oldInit);
  else
    inits.push_back(tensor::EmptyOp::create(
        rewriter, loc, tensor::getMixedSizes(rewriter, loc, oldInit),
        elementType));
  if (candidate.needsSum)
    inits.push_back(oldInit);
  MatmulDraft draft(matmul);
  draft.postNorm = norm.attr;
  draft.normWeight = norm.weight;
  draft.normBias = norm.bias;
  if (preserveRounding)
    roundAsBefore(draft, matmul, norm);
  MatmulOp fused = draft.create(rewriter, loc, inits);

  // The norm's input has the dimensions of its result, but each may know more
  // of them statically.
  rewriter.setInsertionPoint(norm.op);
  Value result =
      applyReshapes(rewriter, loc, fused.getResult(0), candidate.reshapes);
  if (result.getType() != norm.getResult().getType())
    result = tensor::CastOp::create(rewriter, loc, norm.getResult().getType(),
                                    result);
  rewriter.replaceOp(norm.op, result);
  // Without `sum`, nobody reads the elements any more: only dimensions, which
  // the init has too.
  rewriter.replaceAllUsesWith(
      matmul.getResult(0), candidate.needsSum ? fused.getResult(1) : oldInit);
  rewriter.eraseOp(matmul);
  for (Operation *reshape : llvm::reverse(candidate.reshapes))
    if (isOpTriviallyDead(reshape))
      rewriter.eraseOp(reshape);
}

//===----------------------------------------------------------------------===//
// Into the matmuls after
//===----------------------------------------------------------------------===//

static PreCandidate matchPre(const NormView &norm, NormWeightFolder &folder,
                             Planner &planner) {
  PreCandidate candidate;
  auto decline = [&](const Twine &reason) {
    candidate.reason = reason.str();
    return candidate;
  };
  if (std::string reason = findDeferred(norm, candidate.matmuls);
      !reason.empty())
    return decline(reason);

  if (needsColumnSums(norm, meanRemoval))
    return decline("a layer norm without weight has no kernel before a matmul: "
                   "none takes the mean of x from the product");
  // One norm's cost against the statistics in all of its consumers.
  for (MatmulOp matmul : candidate.matmuls) {
    std::string reason;
    FailureOr<Problem> problem = getProblem(matmul, reason);
    if (failed(problem))
      return decline(reason);
    problem->preNorm = getNormKind(norm);
    problem->hasBias |= bool(norm.bias);
    problem->preNormConsumers = candidate.matmuls.size();
    const PlanDecision &decision = planner.choose(*problem);
    if (!decision.plan)
      return decline(decision.reason);
    candidate.fused += decision.fusedMicroseconds;
    candidate.unfused += decision.unfusedMicroseconds;
    if (candidate.plan.empty()) {
      candidate.plan = describePlan(*decision.plan);
      candidate.rows = describeRows(*problem);
    }
  }
  if (!isWorthFusing(candidate.fused, candidate.unfused))
    return decline(describeLoss(candidate.fused, candidate.unfused));
  if (std::string reason =
          checkDeferredWeights(norm, candidate.matmuls, folder, meanRemoval);
      !reason.empty())
    return decline(reason);
  return candidate;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static void report(const NormView &norm, const Candidate &candidate,
                   StringRef what) {
  auto options =
      remark::RemarkOpts::name("NormFused")
          .category("flashnorm-fuse-norms")
          .function(norm.op->getParentOfType<func::FuncOp>().getSymName());
  remark::passed(norm.op->getLoc(), options)
      << llvm::formatv("{0} fused into {1}: {2}; estimated at {3:F1} us, "
                       "{4:F1} us unfused, for {5}",
                       norm.op->getName(), what, candidate.plan,
                       candidate.fused, candidate.unfused, candidate.rows)
             .str();
}

static std::string describePre(const NormView &norm,
                               const PreCandidate &candidate) {
  size_t count = candidate.matmuls.size();
  std::string text = "the matmul after it";
  if (count > 1)
    text = llvm::formatv("the {0} matmuls after it", count).str();
  if (norm.weight)
    text += count > 1 ? ", its weight into theirs" : ", its weight into that";
  return text;
}

void FuseNorms::runOnFunction(func::FuncOp function, NormWeightFolder &folder,
                              Planner &planner) {
  DominanceInfo dominance(function);
  IRRewriter rewriter(&getContext());
  for (Operation *op : collectOwnOps<RMSNormOp, LayerNormOp>(function)) {
    std::optional<NormView> norm = NormView::get(op);
    if (!norm) // on memrefs: this pass runs before bufferization
      continue;
    PostCandidate post = matchPost(*norm, dominance, planner, preserveRounding);
    PreCandidate pre;
    if (preserveRounding)
      pre.reason = "behind a matmul its result is not rounded, which is to be "
                   "preserved";
    else
      pre = matchPre(*norm, folder, planner);
    // Of two that save the same, the epilogue: there, statistics are made once.
    bool takePost = post.isPossible() &&
                    (!pre.isPossible() || post.getGain() >= pre.getGain());
    if (takePost) {
      report(*norm, post, "the matmul before it");
      norm = splitStatistics(rewriter, *norm);
      fusePost(rewriter, *norm, post, preserveRounding);
      ++numPostFused;
      continue;
    }
    if (pre.isPossible()) {
      report(*norm, pre, describePre(*norm, pre));
      norm = splitStatistics(rewriter, *norm);
      deferNorm(rewriter, *norm, pre.matmuls, folder, meanRemoval);
      ++numPreFused;
      continue;
    }
    // Left as it is: it runs by itself.
    auto options = remark::RemarkOpts::name("NormLeftUnfused")
                       .category("flashnorm-fuse-norms")
                       .function(function.getSymName());
    remark::missed(op->getLoc(), options)
        << llvm::formatv("{0} left unfused; before: {1}; after: {2}",
                         op->getName(), post.reason, pre.reason)
               .str();
    ++numLeftUnfused;
  }
}

void FuseNorms::runOnOperation() {
  FailureOr<PlanTarget> target =
      parsePlanTarget(getOperation().getLoc(), chip, family);
  if (failed(target))
    return signalPassFailure();
  Planner planner(*target->target, target->options);
  numPrepared += PreparedWeights::run(
      getOperation(), [&](func::FuncOp function, PreparedWeights &prepared) {
        NormWeightFolder folder(prepared);
        runOnFunction(function, folder, planner);
      });
}
