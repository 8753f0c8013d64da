//===- RaiseMatmuls.cpp - Contractions to flashnorm.matmul ----------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every contraction is matched by value flow (MatmulMatcher.h), its operands
// brought into the form of flashnorm.matmul by reshapes that move no data, and
// the rounding of its result folded in.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseFlow.h"
#include "MatmulDraft.h"
#include "MatmulMatcher.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_RAISEMATMULSPASS
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

static remark::RemarkOpts remarkOpts(StringRef name) {
  return remark::RemarkOpts::name(name).category("flashnorm-raise-matmuls");
}

/// The only user of `value` when it does nothing but round each element to a
/// narrower type.
static Operation *getRoundingUser(Value value) {
  if (!value.hasOneUse())
    return nullptr;
  OpOperand &use = *value.use_begin();
  // The matmul moves to its place, which must not be in a loop.
  if (use.getOwner()->getBlock() != value.getParentBlock())
    return nullptr;
  if (auto cast = dyn_cast<tosa::CastOp>(use.getOwner())) {
    Type type = getElementTypeOrSelf(cast.getType());
    return type.isBF16() || type.isF16() ? cast.getOperation() : nullptr;
  }
  auto op = dyn_cast<linalg::LinalgOp>(use.getOwner());
  Value rounded = findRounding(value);
  return op && op->getNumResults() == 1 && rounded &&
                 getYielded(op->getResult(0)) == rounded
             ? op.getOperation()
             : nullptr;
}

/// Where the matmul writes to: what the replaced op, or the fill before it,
/// would have overwritten, else a new tensor of x's leading sizes.
static Value getDestination(RewriterBase &rewriter, Location loc,
                            Operation *replaced, RankedTensorType type,
                            Value x) {
  Value init;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(replaced))
    init = linalgOp.getDpsInitOperand(0)->get();
  if (init && matchContraction(replaced)) {
    auto fill = init.getDefiningOp<linalg::FillOp>();
    init = fill ? fill.output() : Value();
  }
  if (init && init.getType() == type)
    return init;
  SmallVector<OpFoldResult> sizes;
  for (int64_t dim = 0, rank = type.getRank(); dim < rank; ++dim)
    sizes.push_back(type.isDynamicDim(dim)
                        ? tensor::getMixedSize(rewriter, loc, x, dim)
                        : rewriter.getIndexAttr(type.getDimSize(dim)));
  return tensor::EmptyOp::create(rewriter, loc, sizes, type.getElementType());
}

/// `value` without its first `count` dimensions, of one element each.
static Value dropUnitDims(RewriterBase &rewriter, Location loc, Value value,
                          unsigned count) {
  if (count == 0)
    return value;
  SmallVector<ReassociationIndices> groups(1);
  for (unsigned dim :
       llvm::seq(unsigned(cast<RankedTensorType>(value.getType()).getRank()))) {
    if (dim > count)
      groups.emplace_back();
    groups.back().push_back(dim);
  }
  return rewriter.createOrFold<tensor::CollapseShapeOp>(loc, value, groups);
}

/// Replaces the contraction, and the op that rounds its result, by a matmul.
static MatmulOp raise(RewriterBase &rewriter, const Contraction &contraction,
                      const MatmulMatch &match) {
  Operation *op = contraction.op;
  Operation *last = op;
  if (Operation *rounding = getRoundingUser(op->getResult(0)))
    last = rounding;
  auto resultType = cast<RankedTensorType>(last->getResult(0).getType());
  rewriter.setInsertionPoint(last);
  Location loc = op->getLoc();
  Value x = dropUnitDims(rewriter, loc, match.x.tensor, match.unitDims);
  x = collapseTrailing(rewriter, loc, x, match.k.size());
  Value weight = materializeWeight(rewriter, loc, match);
  Value bias, residual;
  if (match.bias)
    bias = collapseToVector(rewriter, loc, match.bias->tensor);
  if (match.residual)
    residual = collapseTrailing(rewriter, loc, match.residual, match.n.size());
  SmallVector<int64_t> shape(
      resultType.getShape().take_front(match.lead.size()));
  shape.push_back(match.sizeN);
  auto type = RankedTensorType::get(shape, resultType.getElementType());
  Value init = getDestination(rewriter, loc, last, type, x);
  MatmulDraft draft(x, weight, match.transposeWeight);
  draft.bias = bias;
  draft.residual = residual;
  MatmulOp matmul = draft.create(rewriter, loc, init);
  Value result = matmul.getResults()[0];
  if (match.n.size() > 1) {
    SmallVector<ReassociationIndices> groups;
    for (unsigned dim = 0; dim < resultType.getRank(); ++dim) {
      if (groups.size() <= match.lead.size())
        groups.emplace_back();
      groups.back().push_back(dim);
    }
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, loc, init);
    sizes.pop_back();
    for (int64_t size : resultType.getShape().drop_front(match.lead.size()))
      sizes.push_back(rewriter.getIndexAttr(size));
    result = tensor::ExpandShapeOp::create(rewriter, loc, resultType, result,
                                           groups, sizes);
  }
  rewriter.replaceAllUsesWith(last->getResult(0), result);
  eraseIfDead(rewriter, {last, op});
  return matmul;
}

namespace {
struct RaiseMatmuls : ::flashnorm::impl::RaiseMatmulsPassBase<RaiseMatmuls> {
  using RaiseMatmulsPassBase::RaiseMatmulsPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> candidates;
    getOperation().walk([&](Operation *op) {
      if (matchContraction(op))
        candidates.push_back(op);
    });
    // The op behind a contraction may alone have used another one.
    LiveOps live;
    live.ops.insert(candidates.begin(), candidates.end());
    IRRewriter rewriter(&getContext(), &live);
    for (Operation *op : candidates) {
      if (!live.take(op))
        continue;
      ++found;
      Location loc = op->getLoc();
      std::string reason;
      FailureOr<MatmulMatch> match = matchMatmul(*matchContraction(op), reason);
      if (succeeded(match) && match->narrowX) {
        splitWidening(rewriter, match->x.tensor);
        match = matchMatmul(*matchContraction(op), reason);
      }
      if (Type type = getElementTypeOrSelf(op->getResult(0));
          succeeded(match) && preserveRounding && !type.isF32()) {
        llvm::raw_string_ostream(reason)
            << "its partial sums are rounded to " << type
            << ", which is to be preserved";
        match = failure();
      }
      if (failed(match)) {
        ++declined;
        remark::missed(loc, remarkOpts("ContractionNotRaised"))
            << (op->getName().getStringRef() + ": " + reason).str();
        continue;
      }
      MatmulOp matmul = raise(rewriter, *matchContraction(op), *match);
      ++raised;
      auto type = cast<RankedTensorType>(matmul.getInput().getType());
      int64_t rows = 1;
      for (int64_t size : type.getShape().drop_back())
        rows = ShapedType::isDynamic(size) || ShapedType::isDynamic(rows)
                   ? ShapedType::kDynamic
                   : rows * size;
      remark::passed(loc, remarkOpts("MatmulRaised"))
          << llvm::formatv("M={0} N={1} K={2}, weight {3}{4}{5}",
                           ShapedType::isDynamic(rows) ? "?"
                                                       : std::to_string(rows),
                           matmul.getN(), matmul.getK(),
                           matmul.getTransposeWeight() ? "[N,K]" : "[K,N]",
                           matmul.getBias() ? ", bias" : "",
                           matmul.getResidual() ? ", residual" : "")
                 .str();
    }
  }
};
} // namespace
