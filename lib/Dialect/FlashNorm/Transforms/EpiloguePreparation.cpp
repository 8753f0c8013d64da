//===- EpiloguePreparation.cpp - What hides an epilogue -------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EpiloguePreparation.h"
#include "RaisePreparation.h"
#include "ValueFlow.h"
#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "mlir/Conversion/TosaToLinalg/TosaToLinalg.h"
#include "mlir/Conversion/TosaToTensor/TosaToTensor.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace flashnorm;

static bool isTosaEpilogueOp(Operation *op) {
  return op->hasTrait<OpTrait::tosa::TosaElementwiseOperator>() ||
         isa<tosa::CastOp, tosa::ReshapeOp>(op);
}

/// `op` computes each element of its result from elements at that position, or
/// gives them another shape.
static bool keepsElements(Operation *op) {
  if (op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return false;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return flashnorm::isElementwise(linalgOp);
  return isTosaEpilogueOp(op) || OpTrait::hasElementwiseMappableTraits(op) ||
         isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
             op);
}

/// The results of matmuls, and what is computed from them element by element.
static llvm::SetVector<Value> findEpilogues(func::FuncOp function) {
  llvm::SetVector<Value> values;
  function.walk([&](MatmulOp op) {
    // What has one of these takes in nothing behind it.
    if (op.hasPureTensorSemantics() && !op.getPlan() && !op.getPostNorm() &&
        !op.getOutputScale() && !op.getSaturate())
      values.insert(op.getResults()[0]);
  });
  for (unsigned next = 0; next < values.size(); ++next)
    for (Operation *user : values[next].getUsers())
      if (keepsElements(user))
        values.insert(user->getResult(0));
  return values;
}

/// Returns whether there was anything to convert.
static bool convertToLinalg(func::FuncOp function,
                            const llvm::SetVector<Value> &epilogues) {
  DenseSet<Operation *> ops;
  for (Value value : epilogues)
    if (Operation *op = value.getDefiningOp();
        isTosaEpilogueOp(op) || OpTrait::hasElementwiseMappableTraits(op))
      ops.insert(op);
  if (ops.empty())
    return false;
  MLIRContext *context = function.getContext();
  TypeConverter converter;
  converter.addConversion([](Type type) { return type; });
  RewritePatternSet patterns(context);
  tosa::populateTosaToLinalgConversionPatterns(converter, &patterns);
  tosa::populateTosaToTensorConversionPatterns(converter, &patterns);
  linalg::populateElementwiseToLinalgConversionPatterns(patterns);
  // What has no pattern, as integers of odd widths, stays as it is.
  ConversionTarget target(*context);
  target.markUnknownOpDynamicallyLegal(
      [&](Operation *op) -> std::optional<bool> {
        return ops.contains(op) ? std::nullopt : std::optional<bool>(true);
      });
  (void)applyPartialConversion(function, target, std::move(patterns));
  return true;
}

/// The size of `value` in `dim` from as far back as it can be had: asking a
/// result for its size is a use.
static OpFoldResult getSize(OpBuilder &builder, Location loc, Value value,
                            int64_t dim) {
  while (true) {
    auto type = cast<RankedTensorType>(value.getType());
    if (!type.isDynamicDim(dim))
      return builder.getIndexAttr(type.getDimSize(dim));
    if (auto empty = value.getDefiningOp<tensor::EmptyOp>())
      return empty.getMixedSizes()[dim];
    if (auto expand = value.getDefiningOp<tensor::ExpandShapeOp>())
      return expand.getMixedOutputShape()[dim];
    auto before = stepToSameSize(value, dim);
    if (!before || !isa<RankedTensorType>(before->first.getType()))
      return tensor::getMixedSize(builder, loc, value, dim);
    std::tie(value, dim) = *before;
  }
}

static Value createEmptyLike(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<OpFoldResult> sizes;
  for (int64_t dim : llvm::seq(type.getRank())) {
    OpFoldResult size = getSize(builder, loc, value, dim);
    // A number that the type does not say stays a value.
    if (type.isDynamicDim(dim))
      size = getValueOrCreateConstantIndexOp(builder, loc, size);
    sizes.push_back(size);
  }
  return tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
}

/// Sizes that are asked of `value` come from where its own come from.
static void forwardSizes(RewriterBase &rewriter, Value value) {
  for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
    auto dim = dyn_cast<tensor::DimOp>(user);
    std::optional<int64_t> index = dim ? dim.getConstantIndex() : std::nullopt;
    if (!index || *index < 0 ||
        *index >= cast<RankedTensorType>(value.getType()).getRank())
      continue;
    rewriter.setInsertionPoint(dim);
    Value size = getValueOrCreateConstantIndexOp(
        rewriter, dim.getLoc(), getSize(rewriter, dim.getLoc(), value, *index));
    // A reshape of several dimensions is where its size comes from.
    if (auto same = size.getDefiningOp<tensor::DimOp>();
        same && same.getSource() == value)
      rewriter.eraseOp(same);
    else
      rewriter.replaceOp(dim, size);
  }
}

/// `op`, elementwise, with its only init as its last input.
static void readAsInput(RewriterBase &rewriter, linalg::GenericOp op) {
  Location loc = op.getLoc();
  OpOperand &init = *op.getDpsInitOperand(0);
  SmallVector<Value> inputs = op.getDpsInputs();
  inputs.push_back(init.get());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.push_back(op.getMatchingIndexingMap(&init));
  auto replaced =
      linalg::GenericOp::create(rewriter, loc, op.getResultTypes(), inputs,
                                createEmptyLike(rewriter, loc, init.get()),
                                maps, op.getIteratorTypesArray());
  Block *body = rewriter.createBlock(&replaced.getRegion());
  for (BlockArgument argument : op.getBody()->getArguments())
    body->addArgument(argument.getType(), argument.getLoc());
  BlockArgument last = op.getBody()->getArguments().back();
  body->addArgument(last.getType(), last.getLoc());
  rewriter.mergeBlocks(op.getBody(), body, body->getArguments().drop_back());
  rewriter.replaceOp(op, replaced);
}

void flashnorm::prepareEpilogues(func::FuncOp function) {
  llvm::SetVector<Value> epilogues = findEpilogues(function);
  const bool converted = convertToLinalg(function, epilogues);
  if (converted) {
    decideChoices(function);
    epilogues = findEpilogues(function);
  }
  IRRewriter rewriter(function.getContext());
  for (Value value : epilogues)
    forwardSizes(rewriter, value);
  // In the order of the program: the inits of an op may come from another one.
  SmallVector<linalg::LinalgOp> users;
  function.walk([&](linalg::LinalgOp op) {
    if (op.hasPureTensorSemantics() &&
        llvm::any_of(op.getDpsInits(),
                     [&](Value init) { return epilogues.contains(init); }))
      users.push_back(op);
  });
  for (linalg::LinalgOp op : users) {
    rewriter.setInsertionPoint(op);
    auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
    for (OpOperand &init : op.getDpsInitsMutable()) {
      if (!op.payloadUsesValueFromOperand(&init)) {
        Value empty = createEmptyLike(rewriter, op.getLoc(), init.get());
        rewriter.modifyOpInPlace(op, [&] { init.set(empty); });
      } else if (generic && op.getNumDpsInits() == 1 &&
                 flashnorm::isElementwise(op)) {
        readAsInput(rewriter, generic);
        break;
      }
    }
  }
  // Ops that nobody reads would disappear under those that fuse them.
  (void)runRegionDCE(rewriter, function->getRegions());
  // What was written in two ways is the same now.
  if (converted) {
    DominanceInfo dominance(function);
    eliminateCommonSubExpressions(rewriter, dominance, function);
  }
}
