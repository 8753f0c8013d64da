//===- RowLoops.cpp - Which loops may run through a row -------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

using namespace mlir;
using namespace flashnorm;

void RowShapes::see(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    if (linalgOp.getNumReductionLoops() == 0)
      return;
    maxDims = std::max(maxDims, linalgOp.getNumReductionLoops());
    for (auto [size, iterator] : llvm::zip_equal(
             linalgOp.getStaticLoopRanges(), linalgOp.getIteratorTypesArray()))
      if (iterator == utils::IteratorType::reduction)
        sizes.insert(size);
  } else if (auto sum = dyn_cast<tosa::ReduceSumOp>(op)) {
    if (auto type = dyn_cast<RankedTensorType>(sum.getInput().getType()))
      sizes.insert(type.getDimSize(sum.getAxis()));
  }
}

SmallVector<RowLoops> RowShapes::getCandidates(
    ArrayRef<int64_t> loopSizes,
    ArrayRef<SmallVector<std::optional<unsigned>>> operands) const {
  SmallVector<RowLoops> candidates;
  auto add = [&](RowLoops loops) {
    if (!llvm::is_contained(candidates, loops))
      candidates.push_back(std::move(loops));
  };
  for (unsigned numDims = 1; numDims <= maxDims; ++numDims)
    for (ArrayRef<std::optional<unsigned>> dims : operands) {
      RowLoops loops;
      for (std::optional<unsigned> loop : llvm::reverse(dims)) {
        if (!loop || loops.size() == numDims)
          break;
        if (loopSizes[*loop] != 1)
          loops.insert(loops.begin(), *loop);
      }
      auto isKnown = [&](unsigned loop) { return loopSizes[loop] > 0; };
      if (loops.size() == numDims &&
          (numDims == 1 || llvm::all_of(loops, isKnown)))
        add(loops);
    }
  for (auto [loop, size] : llvm::enumerate(loopSizes))
    if (size > 1 && sizes.contains(size))
      add({static_cast<unsigned>(loop)});
  return candidates;
}

SmallVector<RowLoops> flashnorm::getRowLoops(linalg::LinalgOp op,
                                             ArrayRef<int64_t> sizes,
                                             const RowShapes &shapes) {
  SmallVector<SmallVector<std::optional<unsigned>>> operands;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    SmallVector<std::optional<unsigned>> &dims = operands.emplace_back();
    for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults()) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      dims.push_back(loop ? std::optional(loop.getPosition()) : std::nullopt);
    }
  }
  return shapes.getCandidates(sizes, operands);
}

SmallVector<RowLoops> flashnorm::getRowLoops(RankedTensorType type,
                                             const RowShapes &shapes) {
  SmallVector<SmallVector<std::optional<unsigned>>> operands(1);
  for (int64_t dim : llvm::seq(type.getRank()))
    operands[0].push_back(dim);
  SmallVector<RowLoops> candidates =
      shapes.getCandidates(type.getShape(), operands);
  // A single element is a row, too.
  if (candidates.empty())
    candidates.push_back({static_cast<unsigned>(type.getRank() - 1)});
  return candidates;
}
