//===- WeightProduct.h - Product of a norm's and a matmul's weight --------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_WEIGHTPRODUCT_H
#define FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_WEIGHTPRODUCT_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace flashnorm {

/// The type of the product before rounding: f32, or f64 when a factor is.
mlir::FloatType getProductType(mlir::Type a, mlir::Type b);

/// diag(g) W in the type of W, rounded so that the sum over K of each column
/// hardly has an error; see WeightProduct.cpp for the formula. `normWeight` is
/// [K], `weight` is [K, N], or [N, K] if `transposeWeight`.
///
/// Emits it as linalg on tensors.
mlir::Value buildWeightProduct(mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::Value normWeight, mlir::Value weight,
                               bool transposeWeight);

/// The same of two constants, bit for bit what the emitted code computes.
mlir::DenseElementsAttr computeWeightProduct(mlir::DenseElementsAttr normWeight,
                                             mlir::DenseElementsAttr weight,
                                             bool transposeWeight);

} // namespace flashnorm

#endif // FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_WEIGHTPRODUCT_H
