//===- ShareStatistics.cpp - One set of statistics for all readers --------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatmulDraft.h"
#include "NormView.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_SHARESTATISTICSPASS
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

namespace {
/// What scales rows of one x by one norm.
struct Group {
  SmallVector<MatmulOp> matmuls;
  SmallVector<RowStatisticsOp> statistics;
  /// The first of all.
  Operation *first = nullptr;

  void add(Operation *op) {
    if (!first)
      first = op;
    if (auto matmul = dyn_cast<MatmulOp>(op))
      matmuls.push_back(matmul);
    else
      statistics.push_back(cast<RowStatisticsOp>(op));
  }
  size_t size() const { return matmuls.size() + statistics.size(); }
};

struct ShareStatistics
    : ::flashnorm::impl::ShareStatisticsPassBase<ShareStatistics> {
  using ShareStatisticsPassBase::ShareStatisticsPassBase;
  void runOnOperation() override;

private:
  remark::RemarkOpts getRemark(StringRef name) {
    return remark::RemarkOpts::name(name)
        .category("flashnorm-share-statistics")
        .function(getOperation().getSymName());
  }
  std::string checkProducer(Value x, NormAttr norm);
  Value makeInProducer(RewriterBase &rewriter, Value x, NormAttr norm);
  Value makeByItself(RewriterBase &rewriter, Value x, NormAttr norm,
                     Operation *first);
  void share(RewriterBase &rewriter, Value x, NormAttr norm, Group &group);

  /// A producer is replaced once; groups that were collected before may know it
  /// as a reader or as x.
  DenseMap<Operation *, Operation *> replacedOps;
  DenseMap<Value, Value> replacedValues;
};
} // namespace

/// One statistic for each row of `like`.
static Value makeRowsInit(OpBuilder &builder, Location loc, Value like,
                          Type elementType) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, like);
  sizes.pop_back();
  return tensor::EmptyOp::create(builder, loc, sizes, elementType);
}

/// Why the op that makes x cannot return its statistics, or nothing.
std::string ShareStatistics::checkProducer(Value x, NormAttr norm) {
  auto producer = x.getDefiningOp<MatmulOp>();
  if (!producer)
    return "no flashnorm.matmul makes x";
  if (x != producer->getResult(0))
    return "x is the second result of the matmul that makes it";
  if (producer.getPostNorm())
    return "the matmul that makes x normalises it";
  if (producer.getPlan())
    return "the matmul that makes x carries a plan; run this pass before it is "
           "planned";
  if (producer.getOutputScale() || producer.getSaturate())
    return "the matmul that makes x scales or clamps it";
  if (producer.returnsStatistics() && producer.getStatisticsAttr() != norm)
    return "the matmul that makes x returns other statistics of it";
  return "";
}

Value ShareStatistics::makeInProducer(RewriterBase &rewriter, Value x,
                                      NormAttr norm) {
  auto producer = x.getDefiningOp<MatmulOp>();
  if (producer.returnsStatistics())
    return producer->getResults().back();
  rewriter.setInsertionPoint(producer);
  Location loc = producer.getLoc();
  SmallVector<Value> inits(producer.getInits());
  Value init = makeRowsInit(rewriter, loc, inits.front(), getStatisticsType(x));
  inits.push_back(init);
  MatmulDraft draft(producer);
  draft.statistics = norm;
  MatmulOp fused = draft.create(rewriter, loc, inits);
  replacedOps[producer] = fused;
  for (auto [old, replacement] :
       llvm::zip(producer->getResults(), fused->getResults()))
    replacedValues[old] = replacement;
  rewriter.replaceOp(producer, fused->getResults().drop_back());
  return fused->getResults().back();
}

Value ShareStatistics::makeByItself(RewriterBase &rewriter, Value x,
                                    NormAttr norm, Operation *first) {
  rewriter.setInsertionPoint(first);
  Location loc = first->getLoc();
  Value init = makeRowsInit(rewriter, loc, x, getStatisticsType(x));
  return RowStatisticsOp::create(rewriter, loc, init.getType(), x, init, norm,
                                 norm.getKind() == NormKind::Layer)
      .getResult(0);
}

void ShareStatistics::share(RewriterBase &rewriter, Value x, NormAttr norm,
                            Group &group) {
  group.first = replacedOps.lookup_or(group.first, group.first);
  for (MatmulOp &matmul : group.matmuls)
    matmul = cast<MatmulOp>(replacedOps.lookup_or(matmul, matmul));
  x = replacedValues.lookup_or(x, x);
  Location loc = group.first->getLoc();
  std::string reason =
      producer ? checkProducer(x, norm) : "producers are not asked for";
  // One reader alone would only lose what its own kernel hides.
  if (!reason.empty() && (group.size() < 2 || group.matmuls.empty())) {
    remark::missed(loc, getRemark("StatisticsNotShared"))
        << llvm::formatv("statistics have one reader and no producer: {0}",
                         reason)
               .str();
    ++numKept;
    return;
  }
  remark::passed(loc, getRemark("StatisticsShared"))
      << llvm::formatv("statistics of {0} readers made by {1}", group.size(),
                       reason.empty() ? "the matmul that makes x"
                                      : "flashnorm.row_statistics")
             .str();
  Value scale;
  if (reason.empty()) {
    scale = makeInProducer(rewriter, x, norm);
    ++numByProducer;
  } else {
    scale = makeByItself(rewriter, x, norm, group.first);
    ++numShared;
  }
  for (MatmulOp matmul : group.matmuls)
    rewriter.modifyOpInPlace(matmul, [&] {
      matmul.removePreNormAttr();
      matmul.getRowScaleMutable().assign(scale);
    });
  for (RowStatisticsOp statistics : group.statistics) {
    rewriter.setInsertionPoint(statistics);
    Value result = scale;
    Type type = statistics.getResult(0).getType();
    if (result.getType() != type)
      result = tensor::CastOp::create(rewriter, loc, type, result);
    rewriter.replaceOp(statistics, result);
  }
}

void ShareStatistics::runOnOperation() {
  replacedOps.clear();
  replacedValues.clear();
  // By block, as an op in a loop that may not run should not run before it.
  llvm::MapVector<std::tuple<Block *, Value, NormAttr>, Group> groups;
  getOperation().walk([&](Operation *op) {
    if (auto matmul = dyn_cast<MatmulOp>(op)) {
      if (!matmul.hasPureTensorSemantics() || !matmul.getPreNorm() ||
          matmul.getColumnSums())
        return;
      if (!matmul.getPlan())
        groups[{op->getBlock(), matmul.getInput(), matmul.getPreNormAttr()}]
            .add(op);
      else
        remark::missed(matmul.getLoc(), getRemark("StatisticsNotShared"))
            << "the matmul carries a plan; run this pass before it is planned";
    } else if (auto statistics = dyn_cast<RowStatisticsOp>(op)) {
      // Of the same kind as a pre-norm takes, and of its type.
      bool isScale = statistics.getNorm().getKind() == NormKind::RMS ||
                     statistics.getDropsConstantRows();
      if (statistics.hasPureTensorSemantics() && !statistics.returnsMean() &&
          isScale &&
          getElementTypeOrSelf(statistics.getResult(0).getType()) ==
              getStatisticsType(statistics.getInput()))
        groups[{op->getBlock(), statistics.getInput(), statistics.getNorm()}]
            .add(op);
    }
  });
  IRRewriter rewriter(&getContext());
  for (auto &[key, group] : groups)
    share(rewriter, std::get<Value>(key), std::get<NormAttr>(key), group);
}
