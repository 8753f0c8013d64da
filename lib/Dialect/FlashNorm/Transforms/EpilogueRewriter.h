//===- EpilogueRewriter.h - Puts a matmul in place of a scalar --*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a matmul takes in ends in a scalar of some linalg op, behind reshapes.
// The matmul's result takes the place of the scalar, and the op computes the
// rest.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_EPILOGUEREWRITER_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_EPILOGUEREWRITER_H

#include "ValueFlow.h"

namespace flashnorm {

/// The type of `value` with another element type.
mlir::RankedTensorType withElementType(mlir::Value value,
                                       mlir::Type elementType);

/// The same reshapes on `value`, as `reshapes` do on another element type.
mlir::Value replay(mlir::RewriterBase &rewriter, mlir::Location loc,
                   mlir::Value value,
                   llvm::ArrayRef<mlir::Operation *> reshapes);

/// Brings `value` from the shape behind `reshapes` to the one before them.
mlir::Value undo(mlir::RewriterBase &rewriter, mlir::Location loc,
                 mlir::Value value, llvm::ArrayRef<mlir::Operation *> reshapes);

/// The linalg op that computes the scalar `end`, if a matmul in `block` can
/// take the place of the scalar there; else null.
mlir::linalg::LinalgOp getEndOp(mlir::Block *block, mlir::Value end);

/// Where the matmul of `type` writes to that takes the place of `end` in
/// `endOp`: what that op would have overwritten, or a new tensor with the
/// rows of `like`.
mlir::Value getEndInit(mlir::RewriterBase &rewriter, mlir::Location loc,
                       mlir::linalg::LinalgOp endOp, mlir::Value end,
                       mlir::RankedTensorType type, mlir::Value like);

/// `value`, in the shape of the op's loops, takes the place of `end` in
/// `endOp`. `dead`, and what only they read, is erased.
void replaceEnd(mlir::RewriterBase &rewriter, mlir::linalg::LinalgOp endOp,
                mlir::Value end, mlir::Value value,
                llvm::SmallVector<mlir::Operation *> dead);

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_EPILOGUEREWRITER_H
