//===- MatmulDraft.h - A flashnorm.matmul in the making ---------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes make a matmul of one that is there and change a few of its many parts.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_MATMULDRAFT_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_MATMULDRAFT_H

#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"

namespace flashnorm {

/// All that a matmul has but for its inits and its plan, which is made for the
/// whole; null is absent.
struct MatmulDraft {
  mlir::Value input, weight;
  bool transposeWeight = false;
  mlir::Value rowScale, columnSums, bias, residual, normWeight, normBias,
      outputScale;
  NormAttr preNorm, postNorm, statistics;
  Activation activation = Activation::None;
  GluLayoutAttr glu;
  RoundingsAttr roundings;
  mlir::Type saturate;
  mlir::DictionaryAttr discardableAttrs;

  MatmulDraft(mlir::Value input, mlir::Value weight, bool transposeWeight)
      : input(input), weight(weight), transposeWeight(transposeWeight) {}
  /// What `op` is.
  explicit MatmulDraft(MatmulOp op);

  /// `step` rounds to `type`.
  void round(EpilogueStep step, mlir::FloatType type) {
    roundings = RoundingsAttr::with(input.getContext(), roundings, step, type);
  }

  MatmulOp create(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::ValueRange inits) const;
};

/// The matmul goes on from the roundings of its steps in f32. In f64, a result
/// in f32 is a rounding that no step has.
bool canPreserveRounding(MatmulOp op);

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_MATMULDRAFT_H
