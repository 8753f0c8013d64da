//===- NormView.h - What the norm ops have in common ------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_NORMVIEW_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_NORMVIEW_H

#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"

namespace flashnorm {

/// An rms_norm or layer_norm on tensors.
struct NormView {
  mlir::Operation *op;
  mlir::Value input;
  mlir::Value weight, bias; ///< or null
  NormAttr attr;
  CastPosition cast;
  bool hasStatistics;

  mlir::Value getResult() const { return op->getResult(0); }
  bool isLayer() const { return attr.getKind() == NormKind::Layer; }

  static std::optional<NormView> get(mlir::Operation *op) {
    auto view = [](auto norm, mlir::Value bias) -> std::optional<NormView> {
      if (!norm.hasPureTensorSemantics())
        return std::nullopt;
      return NormView{
          norm,
          norm.getInput(),
          norm.getWeight(),
          bias,
          NormAttr::get(norm.getContext(), norm.getKind(), norm.getEpsAttr()),
          norm.getCast(),
          norm.hasStatistics()};
    };
    if (auto rms = llvm::dyn_cast<RMSNormOp>(op))
      return view(rms, mlir::Value());
    if (auto layer = llvm::dyn_cast<LayerNormOp>(op))
      return view(layer, layer.getBias());
    return std::nullopt;
  }

  /// The same norm with the results that `inits` are for, and its discardable
  /// attributes. `op` stays.
  mlir::Operation *rebuild(mlir::OpBuilder &builder,
                           mlir::ValueRange inits) const {
    mlir::Location loc = op->getLoc();
    auto castAttr = CastPositionAttr::get(builder.getContext(), cast);
    mlir::TypeRange types = inits.getTypes();
    mlir::Operation *norm =
        isLayer() ? LayerNormOp::create(builder, loc, types, input, weight,
                                        bias, inits, attr.getEps(), castAttr)
                        .getOperation()
                  : RMSNormOp::create(builder, loc, types, input, weight, inits,
                                      attr.getEps(), castAttr)
                        .getOperation();
    norm->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    return norm;
  }
};

/// Of the statistics of rows of `x`.
inline mlir::FloatType getStatisticsType(mlir::Value x) {
  if (mlir::getElementTypeOrSelf(x.getType()).isF64())
    return mlir::Float64Type::get(x.getContext());
  return mlir::Float32Type::get(x.getContext());
}

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_NORMVIEW_H
