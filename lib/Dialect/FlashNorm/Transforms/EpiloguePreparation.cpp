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
  // Upstream puts the operand in its place.
  if (auto identity = dyn_cast<tosa::IdentityOp>(op))
    return identity.getInput1().getType() == identity.getType();
  // f16 to bf16 and the like: upstream would write an arith op that is invalid.
  if (auto cast = dyn_cast<tosa::CastOp>(op)) {
    auto from = dyn_cast<FloatType>(getElementTypeOrSelf(cast.getInput()));
    auto to = dyn_cast<FloatType>(getElementTypeOrSelf(cast.getType()));
    return !from || !to || from == to || from.getWidth() != to.getWidth();
  }
  // Some lack the trait.
  return op->hasTrait<OpTrait::tosa::TosaElementwiseOperator>() ||
         isa<tosa::MulOp, tosa::NegateOp, tosa::ReshapeOp>(op);
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
    // What has one of these takes in nothing behind it but a quantization.
    if (op.hasPureTensorSemantics() && !op.getPlan() && !op.getPostNorm() &&
        !op.getOutputScale() && !op.getSaturate() && op.getInits().size() == 1)
      values.insert(op.getResults()[0]);
  });
  for (unsigned next = 0; next < values.size(); ++next)
    for (Operation *user : values[next].getUsers())
      if (keepsElements(user))
        values.insert(user->getResult(0));
  return values;
}

/// Those of `epilogues` that upstream writes as linalg ops.
static DenseSet<Operation *>
getConvertible(const llvm::SetVector<Value> &epilogues) {
  DenseSet<Operation *> ops;
  for (Value value : epilogues)
    if (Operation *op = value.getDefiningOp();
        isTosaEpilogueOp(op) || OpTrait::hasElementwiseMappableTraits(op))
      ops.insert(op);
  return ops;
}

static void convertToLinalg(func::FuncOp function,
                            const DenseSet<Operation *> &ops) {
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
}

namespace {
/// Where the sizes of tensors come from, as far back as it can be had: asking a
/// result for its size is a use. Remembers, as a model is one long chain.
class SizeSources {
public:
  OpFoldResult get(OpBuilder &builder, Location loc, Value tensor, int64_t dim);

private:
  using Dimension = std::pair<Value, int64_t>;
  Dimension find(Dimension dimension);

  DenseMap<Dimension, Dimension> known;
};
} // namespace

SizeSources::Dimension SizeSources::find(Dimension dimension) {
  // A set, since code that is never reached may be a circle.
  llvm::SmallSetVector<Dimension, 8> path;
  while (!known.contains(dimension) && path.insert(dimension)) {
    auto [tensor, dim] = dimension;
    if (!cast<RankedTensorType>(tensor.getType()).isDynamicDim(dim) ||
        tensor.getDefiningOp<tensor::ExpandShapeOp>())
      break;
    std::optional<Dimension> before = stepToSameSize(tensor, dim);
    if (!before || !isa<RankedTensorType>(before->first.getType()))
      break;
    dimension = *before;
  }
  if (auto found = known.find(dimension); found != known.end())
    dimension = found->second;
  for (const Dimension &each : path)
    known[each] = dimension;
  return dimension;
}

OpFoldResult SizeSources::get(OpBuilder &builder, Location loc, Value tensor,
                              int64_t dim) {
  std::tie(tensor, dim) = find({tensor, dim});
  if (auto empty = tensor.getDefiningOp<tensor::EmptyOp>())
    return empty.getMixedSizes()[dim];
  if (auto expand = tensor.getDefiningOp<tensor::ExpandShapeOp>())
    return getOutputShape(expand)[dim];
  return tensor::getMixedSize(builder, loc, tensor, dim);
}

static Value createEmptyLike(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<OpFoldResult> sizes;
  for (int64_t dim : llvm::seq(type.getRank())) {
    OpFoldResult size = SizeSources().get(builder, loc, value, dim);
    // A number that the type does not say stays a value.
    if (type.isDynamicDim(dim))
      size = getValueOrCreateConstantIndexOp(builder, loc, size);
    sizes.push_back(size);
  }
  return tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
}

/// Sizes are asked for where they come from.
static void forwardSizes(RewriterBase &rewriter, func::FuncOp function) {
  SmallVector<tensor::DimOp> dims;
  function.walk([&](tensor::DimOp op) { dims.push_back(op); });
  SizeSources sources;
  for (tensor::DimOp dim : dims) {
    Value tensor = dim.getSource();
    auto type = dyn_cast<RankedTensorType>(tensor.getType());
    std::optional<int64_t> index = dim.getConstantIndex();
    if (!type || !index || *index < 0 || *index >= type.getRank())
      continue;
    rewriter.setInsertionPoint(dim);
    Value size = getValueOrCreateConstantIndexOp(
        rewriter, dim.getLoc(),
        sources.get(rewriter, dim.getLoc(), tensor, *index));
    if (auto same = size.getDefiningOp<tensor::DimOp>();
        same && same.getSource() == tensor)
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
  IRRewriter rewriter(function.getContext());
  if (epilogues.empty()) {
    (void)runRegionDCE(rewriter, function->getRegions());
    return;
  }
  // What follows a choice is reached once it is decided, by where sizes come
  // from; what has no pattern is left each time.
  bool converted = false;
  DenseSet<Operation *> convertible = getConvertible(epilogues);
  for (size_t left = 0; convertible.size() > left;) {
    convertToLinalg(function, convertible);
    converted = true;
    epilogues = findEpilogues(function);
    left = getConvertible(epilogues).size();
    forwardSizes(rewriter, function);
    decideChoices(function);
    epilogues = findEpilogues(function);
    convertible = getConvertible(epilogues);
  }
  forwardSizes(rewriter, function);
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
