//===- VectorOperand.h - Weights and biases of a norm -----------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_VECTOROPERAND_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_VECTOROPERAND_H

#include "ScalarFlow.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

namespace flashnorm {

/// A value that varies along the normalised dimension only: a vector tensor,
/// one with further dimensions of a single element, or scalar arithmetic on
/// such tensors within a fused body, as in x * (1 + w).
class VectorOperand {
public:
  static std::optional<VectorOperand> get(Element element);

  int64_t getLength() const { return length; }
  mlir::Type getElementType() const {
    return mlir::getElementTypeOrSelf(value.getType());
  }
  /// The vector as a tensor of rank 1.
  mlir::Value build(mlir::OpBuilder &builder, mlir::Location loc) const;

private:
  bool addScalar(mlir::Value scalar, mlir::AffineMap loops, unsigned depth);

  /// A tensor, or the scalar that `ops` compute from `leaves`.
  mlir::Value value;
  int64_t length = 0;
  /// Scalars of the body, with the tensors that they are elements of.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>, 2> leaves;
  /// Operands before users.
  llvm::SmallVector<mlir::Operation *, 4> ops;
};

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_VECTOROPERAND_H
