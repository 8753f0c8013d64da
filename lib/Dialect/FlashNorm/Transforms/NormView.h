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
};

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_NORMVIEW_H
