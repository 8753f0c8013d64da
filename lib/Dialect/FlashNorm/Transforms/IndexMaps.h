//===- IndexMaps.h - Places behind ops that move elements -------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An element is a tensor and a map that gives its index; looking through an op
// that only moves elements rewrites the map. Shared by ValueFlow (values) and
// ScalarFlow (arithmetic).
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_INDEXMAPS_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_INDEXMAPS_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"

namespace flashnorm {

/// A map of the dimensions and symbols of `index` with other results.
mlir::AffineMap withResults(mlir::AffineMap index,
                            llvm::ArrayRef<mlir::AffineExpr> results);

/// A tensor whose encoding says how it is stored, as sparse ones do. Nothing of
/// it is matched.
bool hasEncoding(mlir::Type type);

/// tensor.expand_shape, tensor.collapse_shape or tosa.reshape.
bool isReshape(mlir::Operation *op);

/// Where a reshape that only adds or drops dimensions of one element finds the
/// element `index` of its result in its source; null for other reshapes. The
/// place in such a dimension is 0.
mlir::AffineMap getReshapeSource(mlir::Operation *op, mlir::AffineMap index);

/// The same for a transposition, whose result's dimension i is the source's
/// dimension permutation[i].
template <typename Int>
mlir::AffineMap getTransposeSource(llvm::ArrayRef<Int> permutation,
                                   mlir::AffineMap index) {
  llvm::SmallVector<mlir::AffineExpr> results(index.getNumResults());
  for (auto [to, from] : llvm::enumerate(permutation))
    results[from] = index.getResult(to);
  return withResults(index, results);
}

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_INDEXMAPS_H
