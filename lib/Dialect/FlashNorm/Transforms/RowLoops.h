//===- RowLoops.h - Which loops may run through a row -----------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_ROWLOOPS_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_ROWLOOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseSet.h"
#include <optional>

namespace flashnorm {

/// Loops that may run through a row, outermost first.
using RowLoops = llvm::SmallVector<unsigned>;

/// What the sums of a function run over.
struct RowShapes {
  /// As many dimensions, and no more.
  unsigned maxDims = 1;
  llvm::SmallDenseSet<int64_t> sizes;

  void see(mlir::Operation *op);
  /// The loops of `loopSizes` that may run through a row: the last ones of
  /// `operands`, which have a loop or nothing for each dimension, and then
  /// others, as x may be read transposed.
  llvm::SmallVector<RowLoops>
  getCandidates(llvm::ArrayRef<int64_t> loopSizes,
                llvm::ArrayRef<llvm::SmallVector<std::optional<unsigned>>>
                    operands) const;
};

/// Candidates for an op whose loops have these sizes.
llvm::SmallVector<RowLoops> getRowLoops(mlir::linalg::LinalgOp op,
                                        llvm::ArrayRef<int64_t> sizes,
                                        const RowShapes &shapes);
/// The same for an elementwise op with such a result.
llvm::SmallVector<RowLoops> getRowLoops(mlir::RankedTensorType type,
                                        const RowShapes &shapes);

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_ROWLOOPS_H
