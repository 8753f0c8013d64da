//===- NormInput.cpp - The tensor that a norm reads -----------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NormMatcher.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace flashnorm;

/// The narrowest tensor with the row last whose elements are those of the
/// statistic's x, or of the numerator's: they may be other views of one tensor.
std::optional<Element> NormMatcher::selectInput(const RowStatistic &statistic,
                                                Element numerator,
                                                NearMiss &why) const {
  SmallVector<Element> views;
  look(numerator, &views);
  if (!(numerator == statistic.x))
    look(statistic.x, &views);
  std::optional<Element> best;
  auto getCost = [&](Element view) {
    auto type = cast<RankedTensorType>(view.value.getType());
    return std::make_tuple(type.getElementTypeBitWidth(),
                           type.isDynamicDim(type.getRank() - 1),
                           view.index != place);
  };
  why = {MissReason::Axis, "the normalised value is not a tensor of its own"};
  for (Element view : views) {
    auto type = cast<RankedTensorType>(view.value.getType());
    if (type.getRank() == 0)
      continue;
    if (!isNormType(type.getElementType())) {
      why = {MissReason::Type,
             llvm::formatv("{0} is not of f16, bf16, f32 or f64", type)};
      continue;
    }
    if (type.getEncoding()) {
      why = {MissReason::Type, llvm::formatv("{0} has an encoding", type)};
      continue;
    }
    ArrayRef<AffineExpr> exprs = view.index.getResults();
    unsigned rowDims = getNormalizedDims(view.index, type.getShape());
    if (rowDims == 0) {
      SmallVector<unsigned> dims;
      for (auto [dim, expr] : llvm::enumerate(exprs))
        if (expr.isFunctionOfSymbol(0))
          dims.push_back(dim);
      if (dims.size() == 1)
        why = {MissReason::Axis,
               llvm::formatv(
                   "the sum runs over dimension {0} of {1}, not over the last",
                   dims.front(), type)};
      else if (!dims.empty())
        why = {MissReason::Axis,
               llvm::formatv("the sum runs over dimensions {0:$[, ]} of {1}, "
                             "not over the last ones",
                             llvm::make_range(dims.begin(), dims.end()), type)};
      continue;
    }
    // A cast or another operand may hold the size instead of the view.
    ArrayRef<int64_t> row = type.getShape().take_back(rowDims);
    if (rowDims == 1
            ? !ShapedType::isDynamic(row[0]) && row[0] != statistic.length
            : llvm::is_contained(row, ShapedType::kDynamic) ||
                  ShapedType::getNumElements(row) != statistic.length) {
      why = {MissReason::Length,
             llvm::formatv("the last {0} dimensions of {1} are not known to "
                           "have the {2} elements of the sum",
                           rowDims, type, statistic.length)};
      continue;
    }
    // Each row has a place of its own.
    llvm::SmallDenseSet<AffineExpr> rows;
    bool isPlain = true;
    for (auto [expr, size] : llvm::zip_equal(
             exprs.drop_back(rowDims), type.getShape().drop_back(rowDims)))
      isPlain &=
          size == 1 || (isa<AffineDimExpr>(expr) && rows.insert(expr).second);
    if (!isPlain) {
      why = {MissReason::Axis,
             llvm::formatv("the rows of {0} are not read one by one", type)};
      continue;
    }
    if (resultType && resultType.isF64() && !type.getElementType().isF64()) {
      why = {MissReason::Type,
             llvm::formatv("the result is f64 but the input is {0}", type)};
      continue;
    }
    if (!best || getCost(view) < getCost(*best))
      best = view;
  }
  return best;
}
