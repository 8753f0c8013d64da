//===- WrongRaise.cpp - Norms that are raised wrongly, on purpose ---------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WrongRaise.h"
#include "Speller.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <cmath>

using namespace mlir;
using namespace flashnorm;
using namespace flashnorm::fuzz;

static constexpr StringLiteral rmsNorm = "flashnorm.rms_norm",
                               layerNorm = "flashnorm.layer_norm";

namespace {
/// A norm op by the names of its parts.
struct Norm {
  Operation *op;
  bool isLayer;
  bool hasWeight, hasBias;

  Value input() const { return op->getOperand(0); }
  Value result() const { return op->getResult(0); }
  Value init() const { return op->getOperand(1 + hasWeight + hasBias); }
  double eps() const {
    return cast<FloatAttr>(*op->getInherentAttr("eps")).getValueAsDouble();
  }
  void setEps(double value) {
    op->setInherentAttr(StringAttr::get(op->getContext(), "eps"),
                        Builder(op->getContext()).getF64FloatAttr(value));
  }
};
} // namespace

static Norm getNorm(Operation *op) {
  auto segments =
      cast<DenseI32ArrayAttr>(*op->getInherentAttr("operandSegmentSizes"))
          .asArrayRef();
  const bool isLayer = op->getName().getStringRef() == layerNorm;
  return {op, isLayer, segments[1] != 0, isLayer && segments[2] != 0};
}

/// Scales the result, for all who read it; `getFactor` takes the result.
template <typename GetOperand>
static void rescale(Norm norm, Scalar function, GetOperand getOperand) {
  ImplicitLocOpBuilder b(norm.op->getLoc(), norm.op->getContext());
  b.setInsertionPointAfter(norm.op);
  Random random(0, 0);
  Speller speller(b, random);
  Value y = norm.result();
  llvm::SmallPtrSet<Operation *, 8> readers(y.user_begin(), y.user_end());
  Value wide = speller.cast(y, b.getF64Type());
  Operand factor = getOperand(b, speller);
  Value scaled = speller.cast(speller.apply(function, wide, {wide, factor}),
                              getFloatType(y));
  y.replaceUsesWithIf(
      scaled, [&](OpOperand &use) { return readers.contains(use.getOwner()); });
}

/// The result over 1 + eps * r, where r is the reciprocal root without epsilon:
/// the result over sqrt + eps.
static void moveEpsilonOut(Norm norm) {
  const double eps = norm.eps();
  norm.setEps(0);
  rescale(norm, Scalar::Div, [&](ImplicitLocOpBuilder &b, Speller &speller) {
    Value x = norm.input();
    SmallVector<int64_t> rows =
        llvm::to_vector(llvm::seq<int64_t>(0, getRank(x) - 1));
    FloatType type = getFloatType(x).isF64() ? FloatType(b.getF64Type())
                                             : FloatType(b.getF32Type());
    Value init = speller.empty(x, rows, type);
    OperationState state(b.getLoc(), "flashnorm.row_statistics");
    state.addOperands({x, init});
    state.addTypes(init.getType());
    state.addAttribute("norm",
                       parseAttribute(norm.isLayer
                                          ? "#flashnorm.norm<layer, eps = 0.0>"
                                          : "#flashnorm.norm<rms, eps = 0.0>",
                                      b.getContext()));
    Value root = speller.cast(b.create(state)->getResult(0), b.getF64Type());
    Value product = speller.apply(Scalar::Mul, root, {root, eps});
    return Operand(speller.apply(Scalar::Add, product, {product, 1.0}), rows);
  });
}

/// sqrt((N - 1) / N) times the norm with epsilon times that factor's square.
static void divideByOneLess(Norm norm) {
  const double n = getShape(norm.input()).back();
  const double ratio = (n - 1) / n;
  norm.setEps(norm.eps() * ratio);
  rescale(norm, Scalar::Mul, [&](ImplicitLocOpBuilder &, Speller &) {
    return Operand(std::sqrt(ratio));
  });
}

static void dropMean(Norm norm) {
  OpBuilder b(norm.op);
  OperationState state(norm.op->getLoc(), rmsNorm);
  SmallVector<Value> operands = {norm.input()};
  if (norm.hasWeight)
    operands.push_back(norm.op->getOperand(1));
  operands.push_back(norm.init());
  state.addOperands(operands);
  state.addTypes(norm.result().getType());
  for (StringRef name : {"eps", "cast"})
    state.addAttribute(name, *norm.op->getInherentAttr(name));
  state.addAttribute("operandSegmentSizes",
                     b.getDenseI32ArrayAttr({1, norm.hasWeight, 1}));
  norm.op->replaceAllUsesWith(b.create(state));
  norm.op->erase();
}

static void raiseWrongly(Norm norm, WrongRaise mistake) {
  Operation *op = norm.op;
  const bool plain = op->getNumResults() == 1 && !norm.hasBias;
  switch (mistake) {
  case WrongRaise::None:
    return;
  case WrongRaise::DropsEpsilon:
    return norm.setEps(0);
  case WrongRaise::EpsilonOutside:
    if (plain)
      moveEpsilonOut(norm);
    return;
  case WrongRaise::WrongLength:
    if (plain && getShape(norm.input()).back() > 1)
      divideByOneLess(norm);
    return;
  case WrongRaise::DropsMean:
    if (plain && norm.isLayer)
      dropMean(norm);
    return;
  case WrongRaise::SwapsAffine:
    if (norm.hasWeight && norm.hasBias) {
      Value weight = op->getOperand(1);
      op->setOperand(1, op->getOperand(2));
      op->setOperand(2, weight);
    }
    return;
  case WrongRaise::SwapsStatistics:
    if (op->getNumResults() == 3) {
      llvm::SmallPtrSet<OpOperand *, 4> ofMean;
      for (OpOperand &use : op->getResult(1).getUses())
        ofMean.insert(&use);
      op->getResult(2).replaceAllUsesWith(op->getResult(1));
      for (OpOperand *use : ofMean)
        use->set(op->getResult(2));
    }
    return;
  }
}

void fuzz::raiseWrongly(ModuleOp module, WrongRaise mistake) {
  SmallVector<Operation *> norms;
  module.walk([&](Operation *op) {
    StringRef name = op->getName().getStringRef();
    if (name == rmsNorm || name == layerNorm)
      norms.push_back(op);
  });
  for (Operation *op : norms)
    ::raiseWrongly(getNorm(op), mistake);
}
