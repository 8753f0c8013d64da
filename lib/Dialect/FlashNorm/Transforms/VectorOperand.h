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

/// A value that varies along the row only: a vector tensor, one with further
/// dimensions of a single element or of the dimensions of a row, or scalar
/// arithmetic on such tensors within a fused body, as in x * (1 + w).
class VectorOperand {
public:
  static std::optional<VectorOperand> get(Element element);

  /// As long as a row of `rowLength` elements. A vector whose own type does not
  /// say its length has that of the loops that read it.
  bool fits(int64_t rowLength) const {
    return mlir::ShapedType::isDynamic(length) || length == rowLength;
  }
  mlir::Type getElementType() const {
    return mlir::getElementTypeOrSelf(value.getType());
  }
  /// The vector as a tensor of rank 1 with `rowLength` elements, which it fits.
  mlir::Value build(mlir::OpBuilder &builder, mlir::Location loc,
                    int64_t rowLength) const;

private:
  bool addScalar(mlir::Value scalar, mlir::AffineMap loops, unsigned depth);

  /// A tensor, or the scalar that `ops` compute from `leaves`.
  mlir::Value value;
  /// Dynamic if no type says it.
  int64_t length = 0;
  /// Scalars of the body, with the tensors that they are elements of.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>, 2> leaves;
  /// Operands before users.
  llvm::SmallVector<mlir::Operation *, 4> ops;
};

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_VECTOROPERAND_H
