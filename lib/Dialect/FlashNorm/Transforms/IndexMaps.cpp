//===- IndexMaps.cpp - Places behind ops that move elements ---------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexMaps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

using namespace mlir;
using namespace flashnorm;

AffineMap flashnorm::withResults(AffineMap index,
                                 ArrayRef<AffineExpr> results) {
  return AffineMap::get(index.getNumDims(), index.getNumSymbols(), results,
                        index.getContext());
}

bool flashnorm::hasEncoding(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getEncoding();
}

bool flashnorm::isReshape(Operation *op) {
  return isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tosa::ReshapeOp>(
      op);
}

AffineMap flashnorm::getReshapeSource(Operation *op, AffineMap index) {
  auto to = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  auto from = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  if (!to || !from || !isReshape(op))
    return {};
  SmallVector<AffineExpr> kept;
  SmallVector<int64_t> sizes;
  for (auto [expr, size] : llvm::zip_equal(index.getResults(), to.getShape()))
    if (size != 1) {
      kept.push_back(expr);
      sizes.push_back(size);
    }
  SmallVector<AffineExpr> exprs;
  unsigned next = 0;
  for (int64_t size : from.getShape()) {
    if (size == 1) {
      exprs.push_back(getAffineConstantExpr(0, index.getContext()));
      continue;
    }
    if (next == sizes.size() || sizes[next] != size)
      return {};
    exprs.push_back(kept[next++]);
  }
  if (next != kept.size())
    return {};
  // Elements could still move from one dynamic size to another.
  SmallVector<ReassociationIndices> groups;
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    groups = collapse.getReassociationIndices();
  else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    groups = expand.getReassociationIndices();
  else if (llvm::count(sizes, ShapedType::kDynamic) > 1)
    return {};
  ShapedType wide = to.getRank() > from.getRank() ? to : from;
  for (ArrayRef<int64_t> group : groups)
    if (llvm::count_if(
            group, [&](int64_t dim) { return wide.getDimSize(dim) != 1; }) > 1)
      return {};
  return withResults(index, exprs);
}
