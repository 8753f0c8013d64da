//===- DeferredNorm.cpp - Norms that run behind a product -----------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeferredNorm.h"
#include "LeadingReshapes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace flashnorm;

std::string flashnorm::findDeferred(const NormView &norm,
                                    SmallVectorImpl<MatmulOp> &matmuls) {
  SmallVector<OpOperand *> uses;
  collectUses(norm.getResult(), uses);
  if (llvm::none_of(
          uses, [](OpOperand *use) { return isa<MatmulOp>(use->getOwner()); }))
    return "no flashnorm.matmul reads its result";
  // All consumers are deferred or none: one that needs the normalised value
  // would keep the norm alive, and the others would pay for it twice.
  for (OpOperand *use : uses) {
    auto matmul = dyn_cast<MatmulOp>(use->getOwner());
    if (!matmul || use != &matmul.getInputMutable())
      return ("'" + use->getOwner()->getName().getStringRef() +
              "' needs the normalised value")
          .str();
    if (matmul.getPreNorm() || matmul.getRowScale())
      return "a matmul after it has a norm before it already";
    if (matmul.getRoundings())
      return "a matmul after it rounds between its steps";
    if (matmul.getPlan())
      return "a matmul after it carries a plan for itself alone";
    if (matmul->getBlock() != norm.op->getBlock())
      return "a matmul after it stands in another block";
    matmuls.push_back(matmul);
  }
  Type input = getElementTypeOrSelf(norm.input.getType());
  Type result = getElementTypeOrSelf(norm.getResult().getType());
  if (input == result)
    return "";
  std::string reason;
  llvm::raw_string_ostream(reason)
      << "its input is " << input << ", but the matmuls after it multiply "
      << result;
  return reason;
}

bool flashnorm::needsColumnSums(const NormView &norm, MeanRemoval removal) {
  return norm.isLayer() && !norm.weight && removal == MeanRemoval::ColumnSums;
}

std::string flashnorm::checkDeferredWeights(const NormView &norm,
                                            ArrayRef<MatmulOp> matmuls,
                                            NormWeightFolder &folder,
                                            MeanRemoval removal) {
  if (!norm.weight && !norm.isLayer())
    return "";
  std::string reason =
      folder.check(norm, matmuls, needsColumnSums(norm, removal));
  if (reason.empty())
    return "";
  return (norm.isLayer() ? "its mean is not taken out of the weights of the "
                           "matmuls after it: "
                         : "its weight stays in front of the matmuls after "
                           "it: ") +
         reason;
}

void flashnorm::deferNorm(RewriterBase &rewriter, const NormView &norm,
                          ArrayRef<MatmulOp> matmuls, NormWeightFolder &folder,
                          MeanRemoval removal) {
  assert(!norm.hasStatistics && "to be split off before");
  bool takesSums = needsColumnSums(norm, removal);
  if (norm.weight || norm.isLayer())
    folder.fold(norm, matmuls, /*keepsWeight=*/takesSums);
  if (takesSums)
    for (MatmulOp matmul : matmuls) {
      rewriter.setInsertionPoint(matmul);
      Value sums = folder.getColumnSums(rewriter, matmul);
      rewriter.modifyOpInPlace(
          matmul, [&] { matmul.getColumnSumsMutable().assign(sums); });
    }
  for (MatmulOp matmul : matmuls)
    rewriter.modifyOpInPlace(matmul, [&] { matmul.setPreNormAttr(norm.attr); });
  rewriter.setInsertionPoint(norm.op);
  Value input = norm.input;
  if (input.getType() != norm.getResult().getType())
    input = tensor::CastOp::create(rewriter, norm.op->getLoc(),
                                   norm.getResult().getType(), input);
  rewriter.replaceOp(norm.op, input);
}

NormView flashnorm::splitStatistics(RewriterBase &rewriter,
                                    const NormView &norm) {
  if (!norm.hasStatistics)
    return norm;
  Location loc = norm.op->getLoc();
  rewriter.setInsertionPoint(norm.op);
  ValueRange inits = cast<DestinationStyleOpInterface>(norm.op).getDpsInits();
  auto statistics = RowStatisticsOp::create(
      rewriter, loc, inits.drop_front().getTypes(), norm.input,
      inits.drop_front(), norm.attr, /*drops_constant_rows=*/false);
  rewriter.replaceAllUsesWith(norm.op->getResults().drop_front(),
                              statistics.getResults());
  Operation *plain = norm.rebuild(rewriter, inits.take_front());
  rewriter.replaceAllUsesWith(norm.getResult(), plain->getResult(0));
  rewriter.eraseOp(norm.op);
  return *NormView::get(plain);
}
