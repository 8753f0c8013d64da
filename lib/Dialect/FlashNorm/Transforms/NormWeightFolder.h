//===- NormWeightFolder.h - Moves norm weights into matmul weights --------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The weights of the matmuls behind a norm take in those of the norm: W' =
// diag(g) W behind an rms_norm with weight g; what a layer_norm becomes, says
// CenteredWeight.h. Where the factors are frozen arguments, the results are new
// arguments (PreparedWeights.h).
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_NORMWEIGHTFOLDER_H
#define FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_NORMWEIGHTFOLDER_H

#include "CenteredWeight.h"
#include "NormView.h"
#include "PreparedWeights.h"

namespace flashnorm {

/// Folds the weights of the norms of one function.
class NormWeightFolder {
public:
  explicit NormWeightFolder(PreparedWeights &prepared) : prepared(prepared) {}

  /// Why the weight of `norm`, an rms_norm that has one, or the centring of a
  /// layer_norm with its weight and bias cannot be folded into the weights of
  /// `matmuls`, or nothing. Changes nothing. With `keepsWeight`, it is the bias
  /// of a layer_norm without weight alone.
  std::string check(const NormView &norm, llvm::ArrayRef<MatmulOp> matmuls,
                    bool keepsWeight = false);

  /// Folds it into the matmuls; `check` has passed. The norm is left to the
  /// caller.
  void fold(const NormView &norm, llvm::ArrayRef<MatmulOp> matmuls,
            bool keepsWeight = false);

  /// The sums of the columns of the weight of `matmul`: prepared where that can
  /// be, else computed in front of the matmul.
  mlir::Value getColumnSums(mlir::OpBuilder &builder, MatmulOp matmul);

private:
  /// One product diag(g) W, or its centred form; matmuls that share it share
  /// the result.
  struct Product {
    bool isCentered;
    mlir::Value normWeight, weight;
    bool transposeWeight;

    std::tuple<mlir::Value, mlir::Value, unsigned> getKey() const {
      return {normWeight, weight, 2 * isCentered + transposeWeight};
    }
  };

  static Product getProductOf(const NormView &norm, MatmulOp matmul);
  std::string checkRMS(const NormView &norm, MatmulOp matmul,
                       const Factor &normWeight, const Factor &weight);
  std::string checkLayer(const NormView &norm, MatmulOp matmul,
                         const Factor &weight);
  std::optional<Factor> getFactor(mlir::Value value) {
    return value ? prepared.getFactor(value) : Factor();
  }
  mlir::Value getProduct(const Product &product, mlir::Location loc);
  mlir::Value getBias(const NormView &norm, MatmulOp matmul,
                      mlir::Location loc);
  mlir::DenseElementsAttr getConstantProduct(const Product &product,
                                             mlir::DenseElementsAttr normWeight,
                                             mlir::DenseElementsAttr weight);
  const CenteredConstant &
  getCenteredConstant(const Product &product,
                      mlir::DenseElementsAttr normWeight,
                      mlir::DenseElementsAttr weight);

  PreparedWeights &prepared;
  llvm::DenseMap<std::tuple<mlir::Value, mlir::Value, unsigned>, mlir::Value>
      products;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, mlir::Value> columnSums;
  /// Products of constants, which are looked at before they are used.
  llvm::DenseMap<std::tuple<mlir::Value, mlir::Value, unsigned>,
                 mlir::DenseElementsAttr>
      constantProducts;
  llvm::DenseMap<std::tuple<mlir::Value, mlir::Value, unsigned>,
                 CenteredConstant>
      centeredConstants;
};

} // namespace flashnorm

#endif // FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_NORMWEIGHTFOLDER_H
