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
#include "mlir/IR/BuiltinTypes.h"
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

/// The same for any reshape whose sizes are known well enough: elements keep
/// their row-major position. Places may become quotients and remainders; what
/// one reshape splits and another one joins is simple again.
mlir::AffineMap getRowMajorSource(mlir::Operation *op, mlir::AffineMap index);

/// The row-major position `flat` in dimensions of `sizes`, all of which but the
/// first that is not 1 are static and not 0; 0 in dimensions of one element.
llvm::SmallVector<mlir::AffineExpr> delinearize(mlir::AffineExpr flat,
                                                llvm::ArrayRef<int64_t> sizes);

/// The same as above for a transposition, whose result's dimension i is the
/// source's dimension permutation[i].
template <typename Int>
mlir::AffineMap getTransposeSource(llvm::ArrayRef<Int> permutation,
                                   mlir::AffineMap index) {
  llvm::SmallVector<mlir::AffineExpr> results(index.getNumResults());
  for (auto [to, from] : llvm::enumerate(permutation))
    results[from] = index.getResult(to);
  return withResults(index, results);
}

/// All sizes but the first that is not 1 are static and not 0.
bool hasRowMajorSizes(llvm::ArrayRef<int64_t> sizes);

/// How many of the last dimensions of `shape` a row runs through, if `index`
/// holds row-major positions of s0 there; 0 if it does not.
unsigned getNormalizedDims(mlir::AffineMap index,
                           llvm::ArrayRef<int64_t> shape);

/// The place (d0, d1, ...) with s0 running through the loops `normalized` in
/// row-major order, and 0 for dimensions with a single element.
mlir::AffineMap getPlace(mlir::MLIRContext *context,
                         llvm::ArrayRef<int64_t> sizes,
                         llvm::ArrayRef<unsigned> normalized);

/// What an op reads at `index`, if its loops are at `place`: a map from loops
/// to dimensions. Null if a dimension follows no loop.
mlir::AffineMap getReader(mlir::AffineMap index, mlir::AffineMap place);

/// `index` with 0 along dimensions of `type` with a single element.
mlir::AffineMap dropUnitDims(mlir::AffineMap index, mlir::ShapedType type);

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_INDEXMAPS_H
