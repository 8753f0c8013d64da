//===- FlashNormCanonicalize.cpp - Canonical forms ------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every pattern here keeps each value that the op returns, up to the sign of a
// zero. Casts of operands to less static types are folded by the tensor
// dialect's own pattern for destination-style ops.
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace flashnorm;

/// A constant whose elements are all `value`; a zero of either sign is 0.
static bool isSplat(Value tensor, double value) {
  DenseFPElementsAttr attr;
  return tensor && matchPattern(tensor, m_Constant(&attr)) && attr.isSplat() &&
         attr.getSplatValue<APFloat>().convertToDouble() == value;
}

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Operands that do nothing
//===----------------------------------------------------------------------===//

/// Removes an optional operand that is a splat of its neutral element.
static bool dropSplat(MutableOperandRange operand, double neutral) {
  if (operand.empty() || !isSplat(operand[0].get(), neutral))
    return false;
  operand.clear();
  return true;
}

static bool dropNeutralOperands(RMSNormOp op) {
  return dropSplat(op.getWeightMutable(), 1);
}
static bool dropNeutralOperands(LayerNormOp op) {
  bool changed = dropSplat(op.getWeightMutable(), 1);
  return dropSplat(op.getBiasMutable(), 0) || changed;
}
/// Removes the operand of `step`, unless the step rounds.
static bool dropStep(MatmulOp op, EpilogueStep step,
                     MutableOperandRange operand, double neutral) {
  RoundingsAttr roundings = op.getRoundingsAttr();
  if (roundings && roundings.getType(step))
    return false;
  return dropSplat(operand, neutral);
}
static bool dropNeutralOperands(MatmulOp op) {
  bool changed = dropStep(op, EpilogueStep::Bias, op.getBiasMutable(), 0);
  changed |= dropSplat(op.getRowScaleMutable(), 1);
  changed |= dropSplat(op.getColumnSumsMutable(), 0);
  changed |= dropStep(op, EpilogueStep::Residual, op.getResidualMutable(), 0);
  changed |=
      dropStep(op, EpilogueStep::NormWeight, op.getNormWeightMutable(), 1);
  changed |= dropSplat(op.getOutputScaleMutable(), 1);
  return dropStep(op, EpilogueStep::NormBias, op.getNormBiasMutable(), 0) ||
         changed;
}

/// A weight of ones, a bias or residual of zeros goes away.
template <typename OpTy> struct DropNeutralOperands : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    rewriter.startOpModification(op);
    if (!dropNeutralOperands(op)) {
      rewriter.cancelOpModification(op);
      return failure();
    }
    rewriter.finalizeOpModification(op);
    return success();
  }
};

/// Without weight and bias there is one place to round only.
template <typename OpTy> struct ResetCastPosition : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    bool hasAffine = static_cast<bool>(op.getWeight());
    if constexpr (std::is_same_v<OpTy, LayerNormOp>)
      hasAffine |= static_cast<bool>(op.getBias());
    if (hasAffine || op.getCast() == CastPosition::AfterAffine)
      return failure();
    rewriter.modifyOpInPlace(op,
                             [&] { op.setCast(CastPosition::AfterAffine); });
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Inits and results
//===----------------------------------------------------------------------===//

/// Which results of an op nobody reads and it need not have.
static SmallVector<bool> findUnused(Operation *op) {
  SmallVector<bool> unused(op->getNumResults(), false);
  if (unused.empty()) // on memrefs
    return unused;
  auto isUnused = [&](unsigned i) { return op->getResult(i).use_empty(); };
  if (auto matmul = dyn_cast<MatmulOp>(op)) {
    if (matmul.returnsSum())
      unused[1] = isUnused(1);
    if (matmul.returnsStatistics())
      unused.back() = isUnused(unused.size() - 1);
  } else if (auto statistics = dyn_cast<RowStatisticsOp>(op)) {
    if (statistics.returnsMean())
      unused[0] = isUnused(0);
  } else {
    // The statistics of a norm come together.
    bool areUnused =
        llvm::all_of(op->getResults().drop_front(),
                     [](Value result) { return result.use_empty(); });
    for (unsigned i = 1; i < unused.size(); ++i)
      unused[i] = areUnused;
  }
  return unused;
}

/// Statistics or a sum that nobody reads are not computed.
template <typename OpTy> struct DropUnusedResults : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    SmallVector<bool> unused = findUnused(op);
    if (!llvm::is_contained(unused, true))
      return failure();
    // Inits come last in each of the ops.
    OperationState state(op.getLoc(), op->getName());
    state.addOperands(op->getOperands().drop_back(op.getInits().size()));
    for (auto [init, isUnused] : llvm::zip_equal(op.getInits(), unused))
      if (!isUnused) {
        state.addOperands(init);
        state.addTypes(init.getType());
      }
    state.addAttributes(op->getDiscardableAttrDictionary().getValue());
    state.useProperties(op.getProperties());
    if constexpr (!std::is_same_v<OpTy, RowStatisticsOp>) {
      auto &properties =
          state.template getOrAddProperties<typename OpTy::Properties>();
      properties.operandSegmentSizes.back() = state.types.size();
      if constexpr (std::is_same_v<OpTy, MatmulOp>)
        if (op.returnsStatistics() && unused.back())
          properties.statistics = {};
    }
    Operation *newOp = rewriter.create(state);
    SmallVector<Value> results(op->getNumResults());
    for (unsigned i = 0, next = 0; i < results.size(); ++i)
      if (!unused[i])
        results[i] = newOp->getResult(next++);
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// A result without elements is its init.
template <typename OpTy> struct FoldEmptyResults : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() == 0 ||
        !llvm::is_contained(tensorType(op->getResult(0)).getShape(), 0))
      return failure();
    rewriter.replaceOp(op, SmallVector<Value>(op.getInits()));
    return success();
  }
};

/// What an init holds is never read: an op that fills it, and a constant, are
/// dependencies for nothing.
template <typename OpTy> struct SkipInitProducers : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    for (OpOperand &init : op.getInitsMutable()) {
      Value value = init.get(), source = value;
      while (auto producer =
                 source.getDefiningOp<DestinationStyleOpInterface>()) {
        if (!producer.hasPureTensorSemantics())
          break;
        source = producer.getTiedOpOperand(cast<OpResult>(source))->get();
      }
      if (isa<TensorType>(source.getType()) &&
          matchPattern(source, m_Constant()))
        source = tensor::EmptyOp::create(rewriter, op.getLoc(),
                                         tensorType(source).getShape(),
                                         tensorType(source).getElementType(),
                                         tensorType(source).getEncoding());
      if (source == value)
        continue;
      rewriter.modifyOpInPlace(op, [&] { init.set(source); });
      changed = true;
    }
    return success(changed);
  }
};

/// Sizes known from any operand become part of the result types.
template <typename OpTy> struct RefineResultTypes : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() == 0)
      return failure();
    // All inits, the input and the residual have the same leading dimensions.
    unsigned rank = tensorType(op.getInput()).getRank() - 1;
    SmallVector<Value> sameRows(op.getInits());
    sameRows.push_back(op.getInput());
    if constexpr (std::is_same_v<OpTy, MatmulOp>)
      for (Value operand : {op.getResidual(), op.getRowScale()})
        if (operand)
          sameRows.push_back(operand);
    SmallVector<int64_t> leading(rank, ShapedType::kDynamic);
    for (Value value : sameRows)
      for (unsigned dim = 0; dim < rank; ++dim)
        if (int64_t size = tensorType(value).getDimSize(dim);
            !ShapedType::isDynamic(size)) {
          // Operands that disagree, as those of code that never runs may, say
          // nothing: a cast to the one size would be folded to the other.
          if (!ShapedType::isDynamic(leading[dim]) && leading[dim] != size)
            return failure();
          leading[dim] = size;
        }

    SmallVector<Value> inits;
    for (Value init : op.getInits()) {
      SmallVector<int64_t> shape(leading);
      llvm::append_range(shape, tensorType(init).getShape().drop_front(rank));
      // The last dimension of an output is static in an operand: as many
      // columns as the input, or as the weight.
      if (shape.size() > rank)
        shape.back() = columns(op);
      auto type = tensorType(init).clone(shape);
      inits.push_back(
          type == init.getType()
              ? init
              : tensor::CastOp::create(rewriter, op.getLoc(), type, init));
    }
    if (llvm::equal(inits, op.getInits()))
      return failure();

    rewriter.setInsertionPointAfter(op);
    rewriter.startOpModification(op);
    op.getInitsMutable().assign(inits);
    for (auto [result, init] : llvm::zip_equal(op->getResults(), inits)) {
      Type oldType = result.getType();
      if (oldType == init.getType())
        continue;
      result.setType(init.getType());
      auto back =
          tensor::CastOp::create(rewriter, op.getLoc(), oldType, result);
      rewriter.replaceAllUsesExcept(result, back, back);
    }
    rewriter.finalizeOpModification(op);
    return success();
  }

private:
  static int64_t columns(OpTy op) {
    if constexpr (std::is_same_v<OpTy, MatmulOp>)
      return op.getResultColumns();
    else
      return tensorType(op.getInput()).getShape().back();
  }
};

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

template <typename OpTy>
static void addResultPatterns(RewritePatternSet &patterns) {
  patterns.add<DropUnusedResults<OpTy>, FoldEmptyResults<OpTy>,
               SkipInitProducers<OpTy>, RefineResultTypes<OpTy>>(
      patterns.getContext());
}

template <typename OpTy>
static void addCommonPatterns(RewritePatternSet &patterns) {
  addResultPatterns<OpTy>(patterns);
  patterns.add<DropNeutralOperands<OpTy>>(patterns.getContext());
}

void RMSNormOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  addCommonPatterns<RMSNormOp>(patterns);
  patterns.add<ResetCastPosition<RMSNormOp>>(context);
}

void LayerNormOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  addCommonPatterns<LayerNormOp>(patterns);
  patterns.add<ResetCastPosition<LayerNormOp>>(context);
}

void RowStatisticsOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                  MLIRContext *context) {
  addResultPatterns<RowStatisticsOp>(patterns);
}

void MatmulOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  addCommonPatterns<MatmulOp>(patterns);
}
