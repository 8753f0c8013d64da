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
#include "MatmulMatcher.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
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
// Reshapes between the matmul and the op that the epilogue ends in
//===----------------------------------------------------------------------===//

/// The last dimension stays a dimension of its own.
static bool keepsLastDimension(Operation *reshape) {
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape))
    return !expand.getReassociationIndices().empty() &&
           expand.getReassociationIndices().back().size() == 1;
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(reshape))
    return !collapse.getReassociationIndices().empty() &&
           collapse.getReassociationIndices().back().size() == 1;
  return isa<tensor::CastOp>(reshape);
}

/// `type`'s shape with another element type.
static RankedTensorType withElementType(Value value, Type elementType) {
  auto type = cast<RankedTensorType>(value.getType());
  return RankedTensorType::get(type.getShape(), elementType);
}

/// The same reshapes on `value`, as `reshapes` do on another element type.
static Value replay(RewriterBase &rewriter, Location loc, Value value,
                    ArrayRef<Operation *> reshapes) {
  Type elementType = getElementTypeOrSelf(value.getType());
  for (Operation *reshape : reshapes) {
    RankedTensorType type = withElementType(reshape->getResult(0), elementType);
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape))
      value = tensor::ExpandShapeOp::create(rewriter, loc, type, value,
                                            expand.getReassociationIndices(),
                                            expand.getMixedOutputShape());
    else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(reshape))
      value = tensor::CollapseShapeOp::create(
          rewriter, loc, type, value, collapse.getReassociationIndices());
    else
      value = tensor::CastOp::create(rewriter, loc, type, value);
  }
  return value;
}

/// Brings `value` from the shape behind `reshapes` to the one before them.
static Value undo(RewriterBase &rewriter, Location loc, Value value,
                  ArrayRef<Operation *> reshapes) {
  Type elementType = getElementTypeOrSelf(value.getType());
  for (Operation *reshape : llvm::reverse(reshapes)) {
    Value before = reshape->getOperand(0);
    RankedTensorType type = withElementType(before, elementType);
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape)) {
      // The common exporter reshapes the residual on its way in, too.
      auto same = value.getDefiningOp<tensor::ExpandShapeOp>();
      if (same && same.getSrcType() == type &&
          same.getReassociationIndices() == expand.getReassociationIndices())
        value = same.getSrc();
      else
        value = tensor::CollapseShapeOp::create(
            rewriter, loc, type, value, expand.getReassociationIndices());
    } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(reshape)) {
      value = tensor::ExpandShapeOp::create(
          rewriter, loc, type, value, collapse.getReassociationIndices(),
          tensor::getMixedSizes(rewriter, loc, before));
    } else {
      value = tensor::CastOp::create(rewriter, loc, type, value);
    }
  }
  return value;
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
static bool findEnd(Step &step, Value root) {
  Value rounded = findRounding(root);
  step.end = rounded ? rounded : root;
  return isEpilogueType(step.end.getType());
}

/// An activation within a few ops of the matmul's result.
static std::optional<Step> findActivation(const ElementwiseFlow &flow,
                                          bool allowOtherUses) {
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
    if ((!closed && !allowOtherUses) || !findEnd(step, root->getResult(0)))
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
static std::optional<Step> findStep(MatmulOp matmul, std::string &reason) {
  Value result = matmul.getResults()[0];
  Step step;
  if (getElementTypeOrSelf(result.getType()).isF32())
    if (Value rounded = findRounding(result)) {
      step.name = "rounding";
      step.end = rounded;
      return step;
    }
  ElementwiseFlow flow = followUses(result);
  bool activationFits =
      matmul.getActivation() == Activation::None && !matmul.getResidual();
  if (std::optional<Step> activation =
          findActivation(flow, /*allowOtherUses=*/false)) {
    if (activationFits)
      return activation;
    reason = activation->name + " comes after " +
             (matmul.getResidual() ? "the residual" : "another activation");
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
      activation = findActivation(flow, /*allowOtherUses=*/true);
    if (activation)
      reason = "what " + activation->name +
               " is computed from is also used by " + other;
    else if (add && !matmul.getResidual())
      reason = "what is added to is also used by " + other;
    return std::nullopt;
  }
  if (!add)
    return std::nullopt;
  ElementRef addend = *getAddend(add, flow);
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(add->getParentOp()->getResult(0).getType())
          .getShape();
  SmallVector<Operation *> reshapes;
  step.ops.insert(add);
  traceReshapes(add.getResult(), result, step.ops, reshapes);
  if (llvm::all_of(reshapes, keepsLastDimension))
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
  if (!findEnd(step, add.getResult()))
    return std::nullopt;
  return step;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Replaces the scalar `end` in `op`'s body by an element of `value`, and drops
/// the inputs that nothing reads any more.
static void readInstead(RewriterBase &rewriter, linalg::GenericOp op, Value end,
                        Value value) {
  auto linalgOp = cast<linalg::LinalgOp>(op.getOperation());
  Block *body = op.getBlock();
  unsigned inputs = op.getNumDpsInputs();
  rewriter.modifyOpInPlace(op, [&] {
    BlockArgument arg =
        body->insertArgument(inputs, end.getType(), op.getLoc());
    rewriter.replaceAllUsesWith(end, arg);
    eraseIfDead(rewriter, llvm::to_vector(llvm::make_pointer_range(
                              body->without_terminator())));
    SmallVector<Value> values(op.getInputs());
    SmallVector<AffineMap> maps = linalgOp.getIndexingMapsArray();
    values.push_back(value);
    maps.insert(maps.begin() + inputs,
                rewriter.getMultiDimIdentityMap(op.getNumLoops()));
    for (unsigned index = inputs; index-- > 0;)
      if (body->getArgument(index).use_empty()) {
        body->eraseArgument(index);
        values.erase(values.begin() + index);
        maps.erase(maps.begin() + index);
      }
    op.getInputsMutable().assign(values);
    op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
  });
}

/// The linalg op in whose body the step ends, if the matmul can take its place
/// there.
static linalg::LinalgOp getEndOp(MatmulOp matmul, const Step &step) {
  auto op =
      cast<linalg::LinalgOp>(Value(step.end).getParentBlock()->getParentOp());
  bool isWholeOp =
      op->getNumResults() == 1 && getYielded(op->getResult(0)) == step.end;
  // Never into a loop.
  if (op->getBlock() != matmul->getBlock() ||
      (!isWholeOp && !isa<linalg::GenericOp>(op)))
    return {};
  return op;
}

static MatmulOp apply(RewriterBase &rewriter, MatmulOp matmul, const Step &step,
                      linalg::LinalgOp endOp) {
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
  bool isWholeOp = endOp->getNumResults() == 1 &&
                   getYielded(endOp->getResult(0)) == step.end;
  Value init = endOp.getDpsInits().front();
  if (!isWholeOp || init.getType() != type)
    init = tensor::EmptyOp::create(
        rewriter, loc,
        tensor::getMixedSizes(rewriter, loc, matmul.getInits()[0]),
        type.getElementType());
  auto fused = MatmulOp::create(
      rewriter, loc, TypeRange(type), matmul.getInput(), matmul.getWeight(),
      matmul.getRowScale(), matmul.getColumnSums(), bias, residual,
      /*norm_weight=*/Value(), /*norm_bias=*/Value(), ValueRange(init),
      matmul.getTransposeWeight(), matmul.getPreNormAttr(),
      /*post_norm=*/NormAttr(), /*statistics=*/NormAttr(),
      step.activation == Activation::None ? matmul.getActivation()
                                          : step.activation,
      /*plan=*/PlanAttr());
  fused->setDiscardableAttrs(matmul->getDiscardableAttrDictionary());
  Value value = replay(rewriter, loc, fused.getResults()[0], reshapes);

  SmallVector<Operation *> dead;
  for (Operation *op : step.ops)
    dead.push_back(op->getParentOp());
  for (Value operand : endOp->getOperands())
    if (Operation *producer = operand.getDefiningOp())
      dead.push_back(producer);
  if (isWholeOp) {
    Type wanted = endOp->getResult(0).getType();
    if (value.getType() != wanted)
      value = tensor::CastOp::create(rewriter, loc, wanted, value);
    rewriter.replaceAllUsesWith(endOp->getResult(0), value);
    dead.push_back(endOp);
  } else {
    readInstead(rewriter, cast<linalg::GenericOp>(endOp.getOperation()),
                step.end, value);
  }
  dead.push_back(matmul);
  eraseIfDead(rewriter, dead);
  return fused;
}

namespace {
struct FuseEpilogues : ::flashnorm::impl::FuseEpiloguesPassBase<FuseEpilogues> {
  using FuseEpiloguesPassBase::FuseEpiloguesPassBase;

  void runOnOperation() override {
    SmallVector<MatmulOp> matmuls;
    getOperation().walk([&](MatmulOp op) {
      // A norm, a second result or a plan fixes what comes last.
      if (op.hasPureTensorSemantics() && !op.getPostNorm() &&
          op.getInits().size() == 1 && !op.getPlan())
        matmuls.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (MatmulOp matmul : matmuls)
      fuse(rewriter, matmul);
  }

  void fuse(RewriterBase &rewriter, MatmulOp matmul) {
    Location loc = matmul.getLoc();
    SmallVector<std::string> names;
    std::string reason;
    while (std::optional<Step> step = findStep(matmul, reason)) {
      linalg::LinalgOp endOp = getEndOp(matmul, *step);
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
      matmul = apply(rewriter, matmul, *step, endOp);
      names.push_back(step->name);
    }
    if (!names.empty())
      remark::passed(loc, remarkOpts("EpilogueFused"))
          << llvm::join(names, ", ");
    if (!reason.empty())
      remark::missed(loc, remarkOpts("EpilogueNotFused")) << reason;
  }
};
} // namespace
