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

//===----------------------------------------------------------------------===//
// Row-major positions
//===----------------------------------------------------------------------===//

/// The `q` of `q * size`; null for other expressions.
static AffineExpr getMultiple(AffineExpr expr, int64_t size) {
  auto product = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!product || product.getKind() != AffineExprKind::Mul ||
      product.getRHS() != getAffineConstantExpr(size, expr.getContext()))
    return {};
  return product.getLHS();
}

/// The `e` of `e mod size`; null for other expressions.
static AffineExpr getReduced(AffineExpr expr, int64_t size) {
  auto remainder = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!remainder || remainder.getKind() != AffineExprKind::Mod ||
      remainder.getRHS() != getAffineConstantExpr(size, expr.getContext()))
    return {};
  return remainder.getLHS();
}

/// The position of `inner`, one of `size` elements, in row `outer`. The
/// remainder does not change a position; it tells `split` that it is one.
static AffineExpr join(AffineExpr outer, AffineExpr inner, int64_t size) {
  if (AffineExpr whole = getReduced(inner, size);
      whole && whole.floorDiv(size) == outer)
    return whole;
  return outer * size + inner % size;
}

/// The row of `flat` and the position in it, for rows of `size` elements.
static std::pair<AffineExpr, AffineExpr> split(AffineExpr flat, int64_t size) {
  AffineExpr zero = getAffineConstantExpr(0, flat.getContext());
  if (flat == zero)
    return {zero, zero};
  if (AffineExpr outer = getMultiple(flat, size))
    return {outer, zero};
  if (auto sum = dyn_cast<AffineBinaryOpExpr>(flat);
      sum && sum.getKind() == AffineExprKind::Add)
    for (auto [row, rest] : {std::make_pair(sum.getLHS(), sum.getRHS()),
                             std::make_pair(sum.getRHS(), sum.getLHS())})
      if (AffineExpr outer = getMultiple(row, size))
        if (AffineExpr inner = getReduced(rest, size))
          return {outer, inner};
  return {flat.floorDiv(size), flat % size};
}

SmallVector<AffineExpr> flashnorm::delinearize(AffineExpr flat,
                                               ArrayRef<int64_t> sizes) {
  SmallVector<AffineExpr> exprs(sizes.size(),
                                getAffineConstantExpr(0, flat.getContext()));
  SmallVector<unsigned> dims;
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (size != 1)
      dims.push_back(dim);
  for (; dims.size() > 1; dims.pop_back())
    std::tie(flat, exprs[dims.back()]) = split(flat, sizes[dims.back()]);
  if (!dims.empty())
    exprs[dims.front()] = flat;
  return exprs;
}

bool flashnorm::hasRowMajorSizes(ArrayRef<int64_t> sizes) {
  auto *first = llvm::find_if(sizes, [](int64_t size) { return size != 1; });
  return llvm::all_of(
      ArrayRef<int64_t>(first, sizes.end()).drop_front(first != sizes.end()),
      [](int64_t size) { return size > 0; });
}

namespace {
/// Dimensions of both sides of a reshape that hold the same elements.
struct ReshapeGroup {
  SmallVector<int64_t> to, from;
};
} // namespace

/// Groups as small as static sizes show, from the last dimension to the first.
/// Sizes that are not known are in the first group.
static SmallVector<ReshapeGroup> getGroups(ShapedType to, ShapedType from) {
  SmallVector<ReshapeGroup> groups;
  int64_t i = to.getRank(), j = from.getRank();
  while (i > 0 || j > 0) {
    ReshapeGroup &group = groups.emplace_back();
    int64_t toSize = 1, fromSize = 1;
    auto take = [](ShapedType type, int64_t &dim, int64_t &size,
                   SmallVectorImpl<int64_t> &dims) {
      --dim;
      if (size != ShapedType::kDynamic)
        size = type.isDynamicDim(dim) ? ShapedType::kDynamic
                                      : size * type.getDimSize(dim);
      dims.insert(dims.begin(), dim);
    };
    do {
      bool isUnknown =
          ShapedType::isDynamic(toSize) || ShapedType::isDynamic(fromSize);
      if (i > 0 && (isUnknown || toSize <= fromSize || j == 0))
        take(to, i, toSize, group.to);
      else
        take(from, j, fromSize, group.from);
    } while ((i > 0 || j > 0) && (ShapedType::isDynamic(toSize) ||
                                  ShapedType::isDynamic(fromSize) ||
                                  toSize != fromSize || group.from.empty()));
  }
  return groups;
}

AffineMap flashnorm::getRowMajorSource(Operation *op, AffineMap index) {
  if (AffineMap source = getReshapeSource(op, index))
    return source;
  auto to = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  auto from = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  if (!to || !from || !isReshape(op) || llvm::is_contained(to.getShape(), 0) ||
      llvm::is_contained(from.getShape(), 0))
    return {};
  SmallVector<ReshapeGroup> groups;
  auto addGroups = [&](ArrayRef<ReassociationIndices> wide, bool isCollapse) {
    for (auto [dim, dims] : llvm::enumerate(wide)) {
      ReshapeGroup &group = groups.emplace_back();
      (isCollapse ? group.to : group.from) = {static_cast<int64_t>(dim)};
      llvm::append_range(isCollapse ? group.from : group.to, dims);
    }
  };
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    addGroups(collapse.getReassociationIndices(), /*isCollapse=*/true);
  else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    addGroups(expand.getReassociationIndices(), /*isCollapse=*/false);
  else
    groups = getGroups(to, from);

  AffineExpr zero = getAffineConstantExpr(0, index.getContext());
  SmallVector<AffineExpr> exprs(from.getRank(), zero);
  for (const ReshapeGroup &group : groups) {
    SmallVector<int64_t> toSizes, fromSizes;
    for (int64_t dim : group.to)
      toSizes.push_back(to.getDimSize(dim));
    for (int64_t dim : group.from)
      fromSizes.push_back(from.getDimSize(dim));
    if (!hasRowMajorSizes(toSizes) || !hasRowMajorSizes(fromSizes))
      return {};
    AffineExpr flat;
    for (auto [dim, size] : llvm::zip_equal(group.to, toSizes)) {
      if (size == 1)
        continue;
      AffineExpr expr = index.getResult(dim);
      flat = flat ? join(flat, expr, size) : expr;
    }
    SmallVector<AffineExpr> places = delinearize(flat ? flat : zero, fromSizes);
    for (auto [dim, expr] : llvm::zip_equal(group.from, places))
      exprs[dim] = expr;
  }
  return withResults(index, exprs);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

unsigned flashnorm::getNormalizedDims(AffineMap index,
                                      ArrayRef<int64_t> shape) {
  AffineExpr flat = getAffineSymbolExpr(0, index.getContext());
  for (unsigned count = 1; count <= shape.size(); ++count) {
    ArrayRef<int64_t> sizes = shape.take_back(count);
    if (!hasRowMajorSizes(sizes))
      return 0;
    if (sizes.front() != 1 && ArrayRef<AffineExpr>(delinearize(flat, sizes)) ==
                                  index.getResults().take_back(count))
      return count;
  }
  return 0;
}

AffineMap flashnorm::getPlace(MLIRContext *context, ArrayRef<int64_t> sizes,
                              ArrayRef<unsigned> normalized) {
  SmallVector<AffineExpr> exprs;
  for (auto [i, size] : llvm::enumerate(sizes))
    exprs.push_back(size == 1 ? getAffineConstantExpr(0, context)
                              : getAffineDimExpr(i, context));
  SmallVector<int64_t> rowSizes;
  for (unsigned loop : normalized)
    rowSizes.push_back(sizes[loop]);
  SmallVector<AffineExpr> row =
      delinearize(getAffineSymbolExpr(0, context), rowSizes);
  for (auto [loop, expr] : llvm::zip_equal(normalized, row))
    exprs[loop] = expr;
  return AffineMap::get(sizes.size(), 1, exprs, context);
}

AffineMap flashnorm::getReader(AffineMap index, AffineMap place) {
  SmallVector<AffineExpr> exprs;
  for (AffineExpr expr : index.getResults()) {
    if (isa<AffineConstantExpr>(expr)) {
      exprs.push_back(expr);
      continue;
    }
    const auto *loop = llvm::find(place.getResults(), expr);
    if (loop == place.getResults().end())
      return {};
    exprs.push_back(getAffineDimExpr(loop - place.getResults().begin(),
                                     index.getContext()));
  }
  return AffineMap::get(place.getNumResults(), 0, exprs, index.getContext());
}

AffineMap flashnorm::dropUnitDims(AffineMap index, ShapedType type) {
  SmallVector<AffineExpr> exprs(index.getResults());
  for (auto [expr, size] : llvm::zip_equal(exprs, type.getShape()))
    if (size == 1)
      expr = getAffineConstantExpr(0, index.getContext());
  return withResults(index, exprs);
}
