//===- FuseGlu.cpp - Gates and values of a GLU as one matmul --------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each product of two scalars is followed back, either factor as the gate: to
// the results of two matmuls with one input, or to two halves of the result of
// one.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseFlow.h"
#include "EpiloguePreparation.h"
#include "EpilogueRewriter.h"
#include "GluMatcher.h"
#include "MatmulDraft.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_FUSEGLUPASS
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// `gate` and `value` side by side along `dim`, or alternating.
static Value combine(OpBuilder &builder, Location loc, Value gate, Value value,
                     int64_t dim, GluLayout layout) {
  if (!gate)
    return {};
  if (layout == GluLayout::GateFirst)
    return tensor::ConcatOp::create(builder, loc, dim, ValueRange{gate, value});
  auto type = cast<RankedTensorType>(gate.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + dim + 1, 1);
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0, next = 0; i < type.getRank(); ++i) {
    groups.push_back({next++});
    if (i == dim)
      groups.back().push_back(next++);
  }
  auto expand = [&](Value tensor) -> Value {
    return tensor::ExpandShapeOp::create(
        builder, loc, RankedTensorType::get(shape, type.getElementType()),
        tensor, groups);
  };
  Value pairs = tensor::ConcatOp::create(
      builder, loc, dim + 1, ValueRange{expand(gate), expand(value)});
  return tensor::CollapseShapeOp::create(builder, loc, pairs, groups);
}

/// What `reshapes` do to a value with `columns` columns instead of their own.
static Value reshapeRows(RewriterBase &rewriter, Location loc, Value value,
                         ArrayRef<Operation *> reshapes) {
  auto type = cast<RankedTensorType>(value.getType());
  for (Operation *reshape : reshapes) {
    SmallVector<int64_t> shape(
        cast<RankedTensorType>(reshape->getResult(0).getType()).getShape());
    shape.back() = type.getShape().back();
    auto newType = RankedTensorType::get(shape, type.getElementType());
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape)) {
      SmallVector<OpFoldResult> sizes = getOutputShape(expand);
      sizes.back() = rewriter.getIndexAttr(shape.back());
      value = tensor::ExpandShapeOp::create(rewriter, loc, newType, value,
                                            expand.getReassociationIndices(),
                                            sizes);
    } else {
      value = tensor::CollapseShapeOp::create(
          rewriter, loc, newType, value,
          cast<tensor::CollapseShapeOp>(reshape).getReassociationIndices());
    }
  }
  return value;
}

static void fuse(RewriterBase &rewriter, const Glu &glu, Value end,
                 linalg::LinalgOp endOp) {
  MatmulOp gateMatmul = glu.gateMatmul, valueMatmul = glu.valueMatmul;
  arith::MulFOp product = glu.product;
  Location loc = rewriter.getFusedLoc(
      {gateMatmul.getLoc(), valueMatmul.getLoc(), product.getLoc()});
  SetVector<Operation *> through(glu.gate.ops.begin(), glu.gate.ops.end());
  through.insert(glu.product);
  SmallVector<Operation *> reshapes;
  traceReshapes(end, glu.gate.source, through, reshapes);

  rewriter.setInsertionPoint(endOp);
  MatmulDraft draft(gateMatmul);
  draft.glu = GluLayoutAttr::get(rewriter.getContext(), glu.layout);
  draft.roundings = glu.roundings;
  if (glu.gate.activation != Activation::None)
    draft.activation = glu.gate.activation;
  if (!glu.isOfHalves()) {
    draft.weight =
        combine(rewriter, loc, gateMatmul.getWeight(), valueMatmul.getWeight(),
                gateMatmul.getTransposeWeight() ? 0 : 1, glu.layout);
    draft.bias = combine(rewriter, loc, gateMatmul.getBias(),
                         valueMatmul.getBias(), 0, glu.layout);
  }
  Value old = gateMatmul->getResult(0);
  SmallVector<int64_t> shape(cast<RankedTensorType>(old.getType()).getShape());
  shape.back() =
      cast<RankedTensorType>(glu.gate.source.getType()).getShape().back();
  Value init = getEndInit(rewriter, loc, endOp, end,
                          RankedTensorType::get(shape, end.getType()),
                          gateMatmul.getInits()[0]);
  MatmulOp fused = draft.create(rewriter, loc, init);
  Value result = reshapeRows(rewriter, loc, fused->getResult(0), glu.reshapes);
  // The slice may know less of the sizes than what it is of.
  if (glu.isOfHalves()) {
    auto type = withElementType(glu.gate.source, end.getType());
    if (result.getType() != type)
      result = tensor::CastOp::create(rewriter, loc, type, result);
  }
  result = replay(rewriter, loc, result, reshapes);
  SmallVector<Operation *> dead;
  for (Operation *op : through)
    dead.push_back(op->getParentOp());
  llvm::append_range(dead, ArrayRef<Operation *>{gateMatmul, valueMatmul});
  replaceEnd(rewriter, endOp, end, result, dead);
}

namespace {
struct FuseGlu : ::flashnorm::impl::FuseGluPassBase<FuseGlu> {
  using FuseGluPassBase::FuseGluPassBase;
  void runOnOperation() override;

private:
  void visit(RewriterBase &rewriter, arith::MulFOp product,
             GluLayout newLayout);
};
} // namespace

void FuseGlu::visit(RewriterBase &rewriter, arith::MulFOp product,
                    GluLayout newLayout) {
  if (!isa<linalg::LinalgOp>(product->getParentOp()) ||
      product.getType().isF64())
    return;
  std::string reason;
  std::optional<Glu> glu;
  // An activation says which factor is the gate; without one, the first.
  for (bool swapped : {false, true}) {
    Value gate = swapped ? product.getRhs() : product.getLhs();
    Value value = swapped ? product.getLhs() : product.getRhs();
    std::string why;
    if ((glu = matchGlu(product, gate, value, preserveRounding, why)))
      break;
    if (reason.empty())
      reason = why;
  }
  auto options = [&](StringRef name) {
    return remark::RemarkOpts::name(name)
        .category("flashnorm-fuse-glu")
        .function(getOperation().getSymName());
  };
  Value end = product;
  linalg::LinalgOp endOp;
  if (glu) {
    Value rounded = preserveRounding && !product.getType().isF32()
                        ? Value()
                        : findRounding(product);
    if (rounded)
      end = rounded;
    if (!(endOp = getEndOp(glu->gateMatmul->getBlock(), end)))
      reason = "the product is computed in another block or a named op that "
               "does more";
  }
  Location loc = product.getLoc();
  if (!endOp) {
    if (reason.empty())
      return;
    ++numKept;
    remark::missed(loc, options("GluNotFused")) << reason;
    return;
  }
  if (!glu->isOfHalves())
    glu->layout = newLayout;
  ++numFused;
  Activation activation = glu->gate.activation != Activation::None
                              ? glu->gate.activation
                              : glu->gateMatmul.getActivation();
  remark::passed(loc, options("GluFused"))
      << ("gates (" + stringifyActivation(activation) + ") and values of " +
          (glu->isOfHalves() ? "one matmul, " : "two matmuls, ") +
          stringifyGluLayout(glu->layout))
             .str();
  fuse(rewriter, *glu, end, endOp);
}

void FuseGlu::runOnOperation() {
  std::optional<GluLayout> newLayout = symbolizeGluLayout(layout);
  if (!newLayout || *newLayout == GluLayout::ValueFirst) {
    getOperation().emitError()
        << "unknown layout '" << layout
        << "' for new weights; legal are gate_first and interleaved";
    return signalPassFailure();
  }
  prepareEpilogues(getOperation());
  SmallVector<arith::MulFOp> products;
  getOperation().walk([&](arith::MulFOp op) { products.push_back(op); });
  // A fusion erases the products of its activation.
  LiveOps live;
  live.ops.insert(products.begin(), products.end());
  IRRewriter rewriter(&getContext(), &live);
  for (arith::MulFOp product : products)
    if (live.take(product))
      visit(rewriter, product, *newLayout);
}
