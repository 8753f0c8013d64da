//===- MatmulDraft.cpp - A flashnorm.matmul in the making -----------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatmulDraft.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace flashnorm;

MatmulDraft::MatmulDraft(MatmulOp op)
    : input(op.getInput()), weight(op.getWeight()),
      transposeWeight(op.getTransposeWeight()), rowScale(op.getRowScale()),
      columnSums(op.getColumnSums()), bias(op.getBias()),
      residual(op.getResidual()), normWeight(op.getNormWeight()),
      normBias(op.getNormBias()), outputScale(op.getOutputScale()),
      preNorm(op.getPreNormAttr()), postNorm(op.getPostNormAttr()),
      statistics(op.getStatisticsAttr()), activation(op.getActivation()),
      glu(op.getGluAttr()), roundings(op.getRoundingsAttr()),
      saturate(op.getSaturate().value_or(FloatType())),
      discardableAttrs(op->getDiscardableAttrDictionary()) {}

MatmulOp MatmulDraft::create(OpBuilder &builder, Location loc,
                             ValueRange inits) const {
  auto op = MatmulOp::create(
      builder, loc, inits.getTypes(), input, weight, rowScale, columnSums, bias,
      residual, normWeight, normBias, outputScale, inits,
      transposeWeight ? builder.getUnitAttr() : UnitAttr(), preNorm, postNorm,
      statistics, ActivationAttr::get(builder.getContext(), activation), glu,
      roundings, saturate ? TypeAttr::get(saturate) : TypeAttr(),
      /*plan=*/PlanAttr());
  if (discardableAttrs)
    op->setDiscardableAttrs(discardableAttrs);
  return op;
}

bool flashnorm::canPreserveRounding(MatmulOp op) {
  return !getElementTypeOrSelf(op.getInput()).isF64();
}
