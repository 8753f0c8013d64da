//===- NormStatistics.cpp - Means and roots that others read --------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NormStatistics.h"
#include "NormBuilder.h"
#include "NormView.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstdlib>

using namespace mlir;
using namespace flashnorm;
using Kind = Node::Kind;

namespace {
/// A tensor that a norm can return.
struct Candidate {
  Operation *op;
  bool isMean;
  /// What it is rounded to in between; null: nothing.
  Type rounding;
  /// From its indices to those of the norm's statistic.
  AffineMap reader;
};

/// What a statistic must have in common with a norm.
struct Statistic {
  Element x;
  int64_t length;
  bool isMean = false;
  NormKind kind = NormKind::Layer;
  double eps = 0;
  Type rounding;
};
} // namespace

/// The mean or reciprocal root that `element` is.
static std::optional<Statistic> matchStatistic(Element element,
                                               bool preserveRounding) {
  auto getRounding = [](const Precision &precision) {
    return precision.isNarrow() ? precision.narrowest : Type();
  };
  auto isTooNarrow = [&](const Precision &precision) {
    NearMiss ignored;
    return precision.isTooNarrow(ignored) ||
           (preserveRounding && precision.isNarrow());
  };
  Node node = look(element);
  NearMiss why;
  Node root = node;
  bool inverse = false;
  if (node.is(Kind::Recip)) {
    root = look(node.args[0]);
    inverse = true;
  } else if (node.is(Kind::Div)) {
    if (auto one = getConstant(node.args[0]); one && one->value == 1) {
      root = look(node.args[1]);
      inverse = true;
    }
  }
  if (root.is(Kind::Rsqrt) || root.is(Kind::Sqrt) || root.is(Kind::Pow)) {
    std::optional<RowStatistic> found = matchRowStatistic(root, inverse, why);
    if (!found || isTooNarrow(found->precision))
      return std::nullopt;
    return Statistic{found->x,    found->length, /*isMean=*/false,
                     found->kind, found->eps,    getRounding(found->precision)};
  }
  if (!node.is(Kind::Div) && !node.is(Kind::Mul))
    return std::nullopt;
  Precision precision;
  std::optional<Centered> mean = matchMeanOfRow(element, precision);
  if (!mean || isTooNarrow(precision))
    return std::nullopt;
  return Statistic{mean->x,         mean->length, /*isMean=*/true,
                   NormKind::Layer, /*eps=*/0,    getRounding(precision)};
}

/// From the indices of a statistic's own tensor to those of the rows of x,
/// which is read at `index`: the same rows in the same order, but for
/// dimensions of size 1. Null if they are others.
static AffineMap getRowReader(AffineMap index, RankedTensorType type) {
  ArrayRef<AffineExpr> rows = index.getResults().drop_back();
  auto row = dyn_cast<AffineSymbolExpr>(index.getResults().back());
  if (!row)
    return AffineMap();
  unsigned next = 0;
  for (AffineExpr expr : rows) {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr);
        constant && constant.getValue() == 0)
      continue;
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || dim.getPosition() < next)
      return AffineMap();
    // What lies between has one element.
    for (; next < dim.getPosition(); ++next)
      if (type.getDimSize(next) != 1)
        return AffineMap();
    ++next;
  }
  for (; next < type.getRank(); ++next)
    if (type.getDimSize(next) != 1)
      return AffineMap();
  return AffineMap::get(type.getRank(), 0, rows, index.getContext());
}

static bool belongsTo(const Statistic &statistic, const NormView &norm) {
  auto type = cast<RankedTensorType>(norm.input.getType());
  if (type.getShape().back() != statistic.length)
    return false;
  if (statistic.isMean)
    return norm.isLayer();
  // As the norm's was, when it was raised.
  double eps = type.getElementType().isF64()
                   ? statistic.eps
                   : strtod(printNumber(statistic.eps).c_str(), nullptr);
  return norm.attr.getKind() == statistic.kind &&
         norm.attr.getEps().getValueAsDouble() == eps;
}

/// `norm` with its statistics as results.
static Operation *addStatistics(OpBuilder &builder, const NormView &norm) {
  Location loc = norm.op->getLoc();
  builder.setInsertionPoint(norm.op);
  SmallVector<Value> inits = {
      cast<DestinationStyleOpInterface>(norm.op).getDpsInits().front()};
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, loc, norm.input);
  sizes.pop_back();
  for (int i = 0; i < (norm.isLayer() ? 2 : 1); ++i)
    inits.push_back(tensor::EmptyOp::create(builder, loc, sizes,
                                            getStatisticsType(norm.input)));
  Operation *op = norm.rebuild(builder, inits);
  norm.op->getResult(0).replaceAllUsesWith(op->getResult(0));
  norm.op->erase();
  return op;
}

/// Tensors that `op` computes by itself, element by element.
static bool mayBeStatistic(Operation *op) {
  if (op->getNumResults() != 1 || op->getResult(0).use_empty())
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || type.getEncoding() ||
      (!type.getElementType().isF32() && !type.getElementType().isF64()))
    return false;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.getNumReductionLoops() == 0 &&
           linalgOp.hasPureTensorSemantics();
  return classify(op) != Kind::Opaque;
}

StatisticsReport flashnorm::raiseStatistics(func::FuncOp function,
                                            llvm::SetVector<Operation *> &norms,
                                            StatisticKind kind,
                                            bool preserveRounding) {
  StatisticsReport report;
  DenseMap<Value, SmallVector<Operation *, 1>> normsOf;
  for (Operation *op : norms)
    if (std::optional<NormView> norm = NormView::get(op))
      normsOf[norm->input].push_back(op);
  if (normsOf.empty())
    return report;

  DominanceInfo dominance(function);
  llvm::MapVector<Operation *, SmallVector<Candidate>> candidates;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!mayBeStatistic(op))
      return isa<linalg::LinalgOp>(op) ? WalkResult::skip()
                                       : WalkResult::advance();
    Value result = op->getResult(0);
    auto type = cast<RankedTensorType>(result.getType());
    Element element{result, getPlace(op->getContext(), type.getShape(), {})};
    // Copies of a statistic read the tensor that it is raised in.
    Operation *source = look(element).op;
    std::optional<Statistic> statistic;
    if (source && (source == op || source->getParentOp() == op))
      statistic = matchStatistic(element, preserveRounding);
    if (!statistic || statistic->isMean != (kind == StatisticKind::Mean))
      return WalkResult::skip();
    // Others need its size only.
    if (llvm::all_of(result.getUsers(), llvm::IsaPred<tensor::DimOp>))
      return WalkResult::skip();
    SmallVector<Element> views;
    look(statistic->x, &views);
    bool isReadBefore = false;
    for (Element view : views) {
      AffineMap reader = getRowReader(view.index, type);
      auto found = normsOf.find(view.value);
      if (!reader || found == normsOf.end())
        continue;
      for (Operation *norm : found->second) {
        NormView normView = *NormView::get(norm);
        if (!belongsTo(*statistic, normView) ||
            getStatisticsType(normView.input) != type.getElementType())
          continue;
        if (!llvm::all_of(result.getUsers(), [&](Operation *user) {
              return dominance.properlyDominates(norm, user);
            })) {
          isReadBefore = true;
          continue;
        }
        candidates[norm].push_back(
            {op, statistic->isMean, statistic->rounding, reader});
        return WalkResult::skip();
      }
    }
    if (isReadBefore)
      report.declined.push_back(
          {op->getLoc(), "a statistic is read before the norm that it belongs "
                         "to, and is computed for that"});
    return WalkResult::skip();
  });

  OpBuilder builder(function.getContext());
  for (auto &[norm, statistics] : candidates) {
    NormView view = *NormView::get(norm);
    unsigned numResults = view.isLayer() ? 3 : 2;
    Operation *op = norm;
    if (!view.hasStatistics) {
      norms.remove(norm);
      op = addStatistics(builder, view);
      norms.insert(op);
    }
    builder.setInsertionPointAfter(op);
    for (const Candidate &candidate : statistics) {
      Value statistic = op->getResult(candidate.isMean ? 1 : numResults - 1);
      Value result = candidate.op->getResult(0);
      auto type = cast<RankedTensorType>(result.getType());
      bool isSame = candidate.reader.isIdentity() &&
                    succeeded(verifyCompatibleShape(statistic.getType(), type));
      if (!isSame)
        statistic =
            readNormAt(builder, candidate.op, statistic, candidate.reader);
      else if (statistic.getType() != type)
        statistic =
            tensor::CastOp::create(builder, op->getLoc(), type, statistic);
      result.replaceAllUsesWith(statistic);
      report.dead.push_back(candidate.op);
      std::string text = llvm::formatv(
          "{0} raised to a result of {1}",
          candidate.isMean ? "mean" : "reciprocal root", op->getName());
      if (candidate.rounding)
        text += llvm::formatv("; computes in f32 what was rounded to {0}",
                              candidate.rounding);
      report.raised.push_back({candidate.op->getLoc(), text});
    }
  }
  return report;
}
