//===- GluMatcher.h - Gated linear units ------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The product of two scalars is followed back to the results of two matmuls
// with one input, or to two halves of the result of one.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_GLUMATCHER_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_GLUMATCHER_H

#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

namespace flashnorm {

/// One factor of the product: a tensor, and what is computed of its elements.
struct GluSide {
  /// The result of a matmul, or a slice.
  mlir::Value source;
  /// Of the elements on their way to the product.
  Activation activation = Activation::None;
  llvm::SetVector<mlir::Operation *> ops;
};

struct Glu {
  mlir::arith::MulFOp product;
  GluSide gate, value;
  /// Of the gates and the values; one and the same where halves are taken.
  MatmulOp gateMatmul, valueMatmul;
  GluLayout layout = GluLayout::GateFirst;
  /// Between the one matmul and the halves.
  llvm::SmallVector<mlir::Operation *> reshapes;
  RoundingsAttr roundings;

  bool isOfHalves() const { return gateMatmul == valueMatmul; }
};

/// Reads the product as a GLU with `gate` as the factor of the gates, or says
/// in `reason` what stands in the way of one; an empty reason: it is none.
std::optional<Glu> matchGlu(mlir::arith::MulFOp product, mlir::Value gate,
                            mlir::Value value, bool preserveRounding,
                            std::string &reason);

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_GLUMATCHER_H
