//===- OrderLoops.cpp - Loops that a CPU can vectorise --------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// acc[m,n] += x[m,k] * W[k,n] with k innermost is a sum that LLVM may not
// reorder, over a column of W. With n innermost it is independent sums over a
// row of W, each still in the order of k.
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_ORDERLOOPSPASS
#include "flashnorm/Conversion/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

/// The parallel loop that walks contiguous elements of the output and of each
/// input that it walks at all; none if there is no such loop.
static std::optional<unsigned> findContiguousLoop(linalg::LinalgOp op) {
  AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (output.getNumResults() == 0)
    return std::nullopt;
  auto last = dyn_cast<AffineDimExpr>(output.getResults().back());
  if (!last)
    return std::nullopt;
  bool isRead = false;
  for (AffineMap map : op.getIndexingMapsArray()) {
    if (!map.isFunctionOfDim(last.getPosition()))
      continue;
    if (map.getResults().back() != last ||
        llvm::any_of(map.getResults().drop_back(), [&](AffineExpr expr) {
          return expr.isFunctionOfDim(last.getPosition());
        }))
      return std::nullopt;
    isRead |= map != output;
  }
  return isRead ? std::optional<unsigned>(last.getPosition()) : std::nullopt;
}

namespace {
struct OrderLoops : ::flashnorm::impl::OrderLoopsPassBase<OrderLoops> {
  void runOnOperation() override;
};
} // namespace

void OrderLoops::runOnOperation() {
  SmallVector<std::pair<linalg::LinalgOp, unsigned>> found;
  getOperation()->walk([&](linalg::LinalgOp op) {
    if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0 ||
        op.getIteratorTypesArray().back() != utils::IteratorType::reduction)
      return;
    if (std::optional<unsigned> loop = findContiguousLoop(op))
      found.push_back({op, *loop});
  });

  IRRewriter rewriter(&getContext());
  for (auto [op, innermost] : found) {
    rewriter.setInsertionPoint(op);
    auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
    if (!generic) {
      FailureOr<linalg::GenericOp> result =
          linalg::generalizeNamedOp(rewriter, op);
      if (failed(result))
        continue;
      generic = *result;
    }
    SmallVector<unsigned> order;
    for (unsigned loop = 0; loop < generic.getNumLoops(); ++loop)
      if (loop != innermost)
        order.push_back(loop);
    order.push_back(innermost);
    if (succeeded(linalg::interchangeGenericOp(rewriter, generic, order)))
      ++numReordered;
  }
}
