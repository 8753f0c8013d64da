//===- FuseEpilogues.cpp - Bias, activation and residual into matmul ------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matmul's result is followed through the scalars that it becomes. One step
// takes in one thing (bias, activation, residual, rounding) together with the
// rounding after it; steps repeat until nothing fits. The op in which a step
// ends may compute more: it then reads the new result where it used the scalar
// before.
//
//===----------------------------------------------------------------------===//

#include "ActivationMatcher.h"
#include "ElementwiseFlow.h"
#include "EpiloguePreparation.h"
#include "EpilogueRewriter.h"
#include "MatmulDraft.h"
#include "MatmulMatcher.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_FUSEEPILOGUESPASS
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

static remark::RemarkOpts remarkOpts(StringRef name) {
  return remark::RemarkOpts::name(name).category("flashnorm-fuse-epilogues");
}

//===----------------------------------------------------------------------===//
// One step
//===----------------------------------------------------------------------===//

namespace {
/// What the matmul takes in.
struct Step {
  std::string name;
  Activation activation = Activation::None;
  /// Elements as the op that adds them reads them.
  std::optional<ElementRef> bias, residual;
  /// Scalar ops that the matmul replaces.
  SetVector<Operation *> ops;
  /// The scalar that becomes the matmul's result.
  Value end;
};
} // namespace

/// All that `value` flows into belongs to `ops`.
static bool staysWithin(Value value, const SetVector<Operation *> &ops) {
  ElementwiseFlow flow = followUses(value);
  return !flow.escape && llvm::all_of(flow.consumers, [&](Operation *op) {
    return ops.contains(op);
  });
}

/// Sets the step's end: `root`, rounded if that is all that happens to it.
/// Where roundings are preserved, one that follows another is not taken in.
static bool findEnd(Step &step, Value root, bool preserveRounding) {
  Value rounded = preserveRounding && !root.getType().isF32()
                      ? Value()
                      : findRounding(root);
  step.end = rounded ? rounded : root;
  return isEpilogueType(step.end.getType());
}

/// A member is rounded to another type than `type`, which all come from.
static bool roundsAgain(const ElementwiseFlow &flow, Type type) {
  return llvm::any_of(flow.members, [&](Value member) {
    return member.getDefiningOp<arith::TruncFOp>() && member.getType() != type;
  });
}

/// The source rounds between `result` and the last of the step's ops where the
/// epilogue cannot.
static bool hidesRounding(const Step &step, const ElementwiseFlow &flow,
                          Type result) {
  if (roundsAgain(flow, result))
    return true;
  // A sum of two in 16 bits is their sum in f32, rounded; so is the larger one.
  if (step.activation == Activation::None ||
      step.activation == Activation::ReLU)
    return false;
  Operation *root = step.ops.front();
  return llvm::any_of(step.ops, [&](Operation *op) {
    Value value = op->getResult(0);
    return isa<FloatType>(value.getType()) &&
           (!value.getType().isF32() ||
            (op != root && roundsAgain(followUses(value), value.getType())));
  });
}

/// An activation within a few ops of the matmul's result.
static std::optional<Step> findActivation(const ElementwiseFlow &flow,
                                          bool allowOtherUses,
                                          bool preserveRounding) {
  constexpr unsigned maxCandidates = 24;
  SetVector<Operation *> candidates(flow.consumers.begin(),
                                    flow.consumers.end());
  for (unsigned next = 0; next < candidates.size(); ++next) {
    Operation *root = candidates[next];
    if (next == maxCandidates || root->getNumResults() != 1)
      return std::nullopt;
    Step step;
    std::optional<Activation> activation =
        matchActivation(root->getResult(0), flow.members, step.ops);
    if (!activation) {
      ElementwiseFlow behind = followUses(root->getResult(0));
      candidates.insert(behind.consumers.begin(), behind.consumers.end());
      continue;
    }
    bool closed = llvm::all_of(step.ops, [&](Operation *op) {
      return op == root || staysWithin(op->getResult(0), step.ops);
    });
    closed &= !flow.escape && llvm::all_of(flow.consumers, [&](Operation *op) {
      return step.ops.contains(op);
    });
    if ((!closed && !allowOtherUses) ||
        !findEnd(step, root->getResult(0), preserveRounding))
      return std::nullopt;
    step.activation = *activation;
    step.name = stringifyActivation(*activation).str();
    return step;
  }
  return std::nullopt;
}

/// What `add` adds to a member of `flow`, as an element of a tensor.
static std::optional<ElementRef> getAddend(arith::AddFOp add,
                                           const ElementwiseFlow &flow) {
  bool isLeft = flow.members.contains(add.getLhs());
  Value other = isLeft ? add.getRhs() : add.getLhs();
  if (flow.members.contains(other) || add.getType().isF64())
    return std::nullopt;
  auto arg = dyn_cast<BlockArgument>(stripExtF(other));
  auto op = cast<linalg::LinalgOp>(add->getParentOp());
  if (!arg || arg.getOwner() != op.getBlock())
    return std::nullopt;
  for (OpOperand *input : op.getDpsInputOperands())
    if (op.getMatchingBlockArgument(input) == arg &&
        isa<RankedTensorType>(input->get().getType()))
      return ElementRef{input->get(), op.getMatchingIndexingMap(input)};
  return std::nullopt;
}

/// The farthest vector of length N that `addend` is, in the last dimension.
static std::optional<ElementRef> asBias(const ElementRef &addend, int64_t n) {
  unsigned last = addend.map.getNumDims() - 1;
  SmallVector<ElementRef> path = dataPath(addend);
  for (const ElementRef &ref : llvm::reverse(path)) {
    bool isVector = isEpilogueType(ref.getElementType());
    unsigned carriers = 0;
    for (auto [size, expr] :
         llvm::zip_equal(ref.getType().getShape(), ref.map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (dim && dim.getPosition() == last && size == n)
        ++carriers;
      else if (size != 1)
        isVector = false;
    }
    if (isVector && carriers == 1)
      return ref;
  }
  return std::nullopt;
}

/// The farthest tensor that holds `addend` at the same position in `shape`.
static std::optional<ElementRef> asResidual(const ElementRef &addend,
                                            ArrayRef<int64_t> shape) {
  SmallVector<ElementRef> path = dataPath(addend);
  for (const ElementRef &ref : llvm::reverse(path))
    if (isAtOwnPosition(ref, shape) && isEpilogueType(ref.getElementType()))
      return ref;
  return std::nullopt;
}

/// The next thing that `matmul` can take in; else `reason` says what stands in
/// the way of something that it could take in otherwise.
static std::optional<Step> findStep(MatmulOp matmul, bool preserveRounding,
                                    std::string &reason) {
  Value result = matmul.getResults()[0];
  Step step;
  if (getElementTypeOrSelf(result.getType()).isF32())
    if (Value rounded = findRounding(result)) {
      step.name = "rounding";
      step.end = rounded;
      return step;
    }
  ElementwiseFlow flow = followUses(result);
  Type resultType = getElementTypeOrSelf(result.getType());
  auto checkRoundings = [&](std::optional<Step> step) -> std::optional<Step> {
    if (!preserveRounding || !hidesRounding(*step, flow, resultType))
      return step;
    reason = "in front of " + step->name +
             ", or within, the source rounds where the epilogue cannot";
    return std::nullopt;
  };
  bool activationFits = matmul.getActivation() == Activation::None &&
                        !matmul.getGlu() && !matmul.getResidual();
  if (std::optional<Step> activation =
          findActivation(flow, /*allowOtherUses=*/false, preserveRounding)) {
    if (activationFits)
      return checkRoundings(std::move(activation));
    reason = activation->name + " comes after " +
             (matmul.getResidual() ? "the residual"
              : matmul.getGlu()    ? "the glu"
                                   : "another activation");
    return std::nullopt;
  }
  arith::AddFOp add;
  for (Operation *consumer : flow.consumers)
    if (auto candidate = dyn_cast<arith::AddFOp>(consumer))
      if (!add && getAddend(candidate, flow))
        add = candidate;
  bool isOnlyUse = !flow.escape && flow.consumers.size() == 1;
  if (!isOnlyUse) {
    std::string other = flow.escape
                            ? flow.escape->getName().getStringRef().str()
                            : std::string("another op");
    // Worth a word only where the sole use would have been taken in.
    std::optional<Step> activation;
    if (activationFits)
      activation =
          findActivation(flow, /*allowOtherUses=*/true, preserveRounding);
    if (activation)
      reason = "what " + activation->name +
               " is computed from is also used by " + other;
    else if (add && !matmul.getResidual())
      reason = "what is added to is also used by " + other;
    return std::nullopt;
  }
  if (!add) {
    if (isa<arith::MulFOp, arith::DivFOp>(flow.consumers.front()))
      reason =
          "it is multiplied or divided, for which the epilogue has no step";
    return std::nullopt;
  }
  ElementRef addend = *getAddend(add, flow);
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(add->getParentOp()->getResult(0).getType())
          .getShape();
  SmallVector<Operation *> reshapes;
  step.ops.insert(add);
  traceReshapes(add.getResult(), result, step.ops, reshapes);
  // Whatever the reshapes: elements stay in their order, so that rows of N
  // elements are the same rows again.
  step.bias = asBias(addend, matmul.getN());
  if (step.bias && activationFits && !matmul.getBias()) {
    step.name = "bias";
  } else if ((step.residual = asResidual(addend, shape))) {
    step.bias.reset();
    step.name = "residual";
    if (matmul.getResidual()) {
      reason = "it has a residual already";
      return std::nullopt;
    }
  } else {
    reason = step.bias ? "a vector is added after the bias, the activation or "
                         "the residual"
                       : "what is added is neither a vector of N nor a tensor "
                         "of the result's shape";
    return std::nullopt;
  }
  if (!findEnd(step, add.getResult(), preserveRounding))
    return std::nullopt;
  return checkRoundings(std::move(step));
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Returns the new matmul; null where nobody reads it and it is gone.
static MatmulOp apply(RewriterBase &rewriter, LiveOps &live, MatmulOp matmul,
                      const Step &step, linalg::LinalgOp endOp,
                      bool preserveRounding) {
  Value result = matmul.getResults()[0];
  SmallVector<Operation *> reshapes;
  traceReshapes(step.end, result, step.ops, reshapes);
  rewriter.setInsertionPoint(endOp);
  Location loc = matmul.getLoc();
  Value bias = matmul.getBias(), residual = matmul.getResidual();
  if (step.bias)
    bias = collapseToVector(rewriter, loc, step.bias->tensor);
  if (step.residual) {
    // The reshapes up to the op that adds, not those behind it.
    SmallVector<Operation *> before;
    traceReshapes(step.ops.back()->getResult(0), result, step.ops, before);
    residual = undo(rewriter, loc, step.residual->tensor, before);
  }
  RankedTensorType type = withElementType(result, step.end.getType());
  Value init =
      getEndInit(rewriter, loc, endOp, step.end, type, matmul.getInits()[0]);
  MatmulDraft draft(matmul);
  draft.bias = bias;
  draft.residual = residual;
  if (step.activation != Activation::None)
    draft.activation = step.activation;
  // What was the result is rounded before the step goes on with it.
  if (auto old = cast<FloatType>(getElementTypeOrSelf(result.getType()));
      preserveRounding && old.getWidth() == 16)
    draft.round(matmul.getLastStep(), old);
  MatmulOp fused = draft.create(rewriter, loc, init);
  Value value = replay(rewriter, loc, fused.getResults()[0], reshapes);

  SmallVector<Operation *> dead;
  for (Operation *op : step.ops)
    dead.push_back(op->getParentOp());
  dead.push_back(matmul);
  live.ops.insert(fused);
  replaceEnd(rewriter, endOp, step.end, value, dead);
  return live.take(fused) ? fused : MatmulOp();
}

namespace {
struct FuseEpilogues : ::flashnorm::impl::FuseEpiloguesPassBase<FuseEpilogues> {
  using FuseEpiloguesPassBase::FuseEpiloguesPassBase;

  void runOnOperation() override {
    prepareEpilogues(getOperation());
    SmallVector<MatmulOp> matmuls;
    getOperation().walk([&](MatmulOp op) {
      // A norm, a second result, a scale or a plan fixes what comes last.
      if (op.hasPureTensorSemantics() && !op.getPostNorm() &&
          op.getInits().size() == 1 && !op.getOutputScale() &&
          !op.getSaturate() && !op.getPlan() &&
          (!preserveRounding || canPreserveRounding(op)))
        matmuls.push_back(op);
    });
    // The op that a step ends in may alone have used another matmul.
    LiveOps live;
    live.ops.insert(matmuls.begin(), matmuls.end());
    IRRewriter rewriter(&getContext(), &live);
    for (MatmulOp matmul : matmuls)
      if (live.take(matmul))
        fuse(rewriter, live, matmul);
  }

  void fuse(RewriterBase &rewriter, LiveOps &live, MatmulOp matmul) {
    Location loc = matmul.getLoc();
    SmallVector<std::string> names;
    std::string reason;
    while (std::optional<Step> step =
               findStep(matmul, preserveRounding, reason)) {
      linalg::LinalgOp endOp = getEndOp(matmul->getBlock(), step->end);
      if (!endOp) {
        reason = step->name + " is computed in another block or a named op "
                              "that does more";
        break;
      }
      if (step->bias)
        ++biases;
      else if (step->residual)
        ++residuals;
      else if (step->activation != Activation::None)
        ++activations;
      else
        ++roundings;
      matmul = apply(rewriter, live, matmul, *step, endOp, preserveRounding);
      names.push_back(step->name);
      if (!matmul)
        break;
    }
    if (!names.empty())
      remark::passed(loc, remarkOpts("EpilogueFused"))
          << llvm::join(names, ", ");
    if (!reason.empty())
      remark::missed(loc, remarkOpts("EpilogueNotFused")) << reason;
  }
};
} // namespace
