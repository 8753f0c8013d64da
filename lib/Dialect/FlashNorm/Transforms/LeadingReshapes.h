//===- LeadingReshapes.h - Reshapes that keep the last dimension *- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Norms and matmuls work on the last dimension and treat all others as rows, so
// that a tensor.collapse_shape or expand_shape of leading dimensions between
// them changes nothing. This is how the passes look through one.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_LEADINGRESHAPES_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_LEADINGRESHAPES_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace flashnorm {

/// The op is a collapse_shape or expand_shape in which the last dimension stays
/// by itself.
bool isLeadingReshape(mlir::Operation *op);

/// The value from which `value` is made by leading reshapes alone; `reshapes`
/// receives them, the first one applied first.
mlir::Value
lookThroughReshapes(mlir::Value value,
                    llvm::SmallVectorImpl<mlir::Operation *> &reshapes);

/// All uses of `value` and of its leading reshapes, except by the reshapes
/// themselves and by tensor.dim, which does not read the elements. `ignored` is
/// left out, with everything behind it.
void collectUses(mlir::Value value,
                 llvm::SmallVectorImpl<mlir::OpOperand *> &uses,
                 mlir::Operation *ignored = nullptr);

/// Applies `reshapes` to a value with the same dimensions as the one that they
/// came from; its element type may differ.
mlir::Value applyReshapes(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value,
                          llvm::ArrayRef<mlir::Operation *> reshapes);

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_LEADINGRESHAPES_H
