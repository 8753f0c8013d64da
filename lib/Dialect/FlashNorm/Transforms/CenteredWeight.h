//===- CenteredWeight.h - Weights that do not see a mean --------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a matmul behind a LayerNorm with weight g and bias h multiplies instead,
// when the norm is computed after it:
//
//   LN(x) W + b = rstd(x) * (x W^) + b^,
//   W^ = diag(g) W, less the mean of each column;  b^ = h W + b.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_CENTEREDWEIGHT_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_CENTEREDWEIGHT_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace flashnorm {

/// W^ in the type of W, rounded so that its columns sum to zero; see
/// CenteredWeight.cpp. `normWeight` is [K] or null, `weight` is [K, N], or
/// [N, K] if `transposeWeight`.
///
/// Emits it as linalg on tensors.
mlir::Value buildCenteredWeight(mlir::OpBuilder &builder, mlir::Location loc,
                                mlir::Value normWeight, mlir::Value weight,
                                bool transposeWeight);

/// W^ of constants.
struct CenteredConstant {
  /// Bit for bit what the emitted code computes.
  mlir::DenseElementsAttr value;
  /// The sum of a column over its length; root of the mean square of all.
  double residue = 0;
  /// Mean square of the roundings, over that of generic ones.
  double error = 0;
};
CenteredConstant computeCenteredWeight(mlir::DenseElementsAttr normWeight,
                                       mlir::DenseElementsAttr weight,
                                       bool transposeWeight);

/// b^ in f32, or in f64 if W is. `bias` is [N] or null.
mlir::Value buildFoldedBias(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value normBias, mlir::Value weight,
                            mlir::Value bias, bool transposeWeight);
mlir::DenseElementsAttr computeFoldedBias(mlir::DenseElementsAttr normBias,
                                          mlir::DenseElementsAttr weight,
                                          mlir::DenseElementsAttr bias,
                                          bool transposeWeight);

/// The sum of each column of `weight` in f32, or in f64 if it is.
mlir::Value buildColumnSums(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value weight, bool transposeWeight);

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_CENTEREDWEIGHT_H
