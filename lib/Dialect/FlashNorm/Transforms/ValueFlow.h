//===- ValueFlow.h - What an element of a tensor is -------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters spell the same value in many ways: transposed, broadcast, widened
// by an op of its own, with unit dimensions added. The raising passes follow
// the value instead of the spelling, with the helpers here.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_VALUEFLOW_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_VALUEFLOW_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/APFloat.h"
#include <optional>

namespace flashnorm {

/// The element `tensor[map(i)]`, where `i` are the indices of whoever reads it.
struct ElementRef {
  mlir::Value tensor;
  mlir::AffineMap map;

  mlir::RankedTensorType getType() const {
    return llvm::cast<mlir::RankedTensorType>(tensor.getType());
  }
  mlir::Type getElementType() const { return getType().getElementType(); }
};

/// The element that `ref` copies or widens, seen through one op that only moves
/// data (transpose, broadcast, degenerate reshape, cast of the shape) or widens
/// floats (extf); nullopt when another op defines it. Exact: both elements
/// have the same value.
std::optional<ElementRef> lookThrough(const ElementRef &ref);

/// `ref`, and every element that it copies or widens, nearest first.
llvm::SmallVector<ElementRef> dataPath(const ElementRef &ref);

/// The element of `tensor` at its own indices.
ElementRef elementOf(mlir::Value tensor);

/// Strips extf from a scalar: exact.
mlir::Value stripExtF(mlir::Value scalar);

/// The float that a scalar, or every element of a tensor, has at compile time:
/// constants, splats, fills, seen through casts, reshapes and block arguments
/// of linalg ops; nullopt when unknown. Has the semantics of the value's type.
std::optional<llvm::APFloat> getConstantFloat(mlir::Value value);

/// Every element is +0 or -0, as the start value of a sum has to be.
bool isZeroInitialised(mlir::Value tensor);

/// No op has written the tensor's elements yet (tensor.empty and the like, seen
/// through reshapes).
bool isUninitialised(mlir::Value tensor);

/// A linalg op on tensors that computes each element of its results from one
/// element of each operand, all loops parallel, without linalg.index.
bool isElementwise(mlir::linalg::LinalgOp op);

/// `ref` is read at the position of the reader, whose shape is `shape`: the map
/// is the identity, or 0 in dimensions that have size 1 on both sides.
bool isAtOwnPosition(const ElementRef &ref, llvm::ArrayRef<int64_t> shape);

/// One step back to a tensor, and its dimension, that has the size of `tensor`
/// in `dim`; nothing where there is none.
std::optional<std::pair<mlir::Value, int64_t>>
stepToSameSize(mlir::Value tensor, int64_t dim);

/// The sizes of the result: those that its type states, else those of
/// `output_shape`. Upstream's verifier lets the two differ.
llvm::SmallVector<mlir::OpFoldResult>
getOutputShape(mlir::tensor::ExpandShapeOp op);

/// The scalar in `result`'s linalg op that becomes the elements of `result`.
mlir::Value getYielded(mlir::OpResult result);

/// Which of some ops are still there, for those that go through a list of ops
/// while others are erased, as by `eraseIfDead`. Memory is used again: a new op
/// may be where an erased one was.
struct LiveOps : mlir::RewriterBase::Listener {
  llvm::DenseSet<mlir::Operation *> ops;
  void notifyOperationErased(mlir::Operation *op) override { ops.erase(op); }
  /// Forgets `op`; whether it was still there.
  bool take(mlir::Operation *op) { return ops.erase(op); }
};

/// Erases `ops` where they are dead, and then what only they used.
void eraseIfDead(mlir::RewriterBase &rewriter,
                 llvm::ArrayRef<mlir::Operation *> ops);

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_VALUEFLOW_H
