//===- NormBuilder.cpp - Puts raised norms into the IR --------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NormBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace flashnorm;

/// `input` with rows of one dimension of a known size.
static Value makeRows(OpBuilder &builder, Location loc, Value input,
                      ArrayRef<ReassociationIndices> groups, int64_t length) {
  auto type = cast<RankedTensorType>(input.getType());
  if (type.isDynamicDim(type.getRank() - 1)) {
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = length;
    return tensor::CastOp::create(
        builder, loc, RankedTensorType::get(shape, type.getElementType()),
        input);
  }
  if (static_cast<int64_t>(groups.size()) == type.getRank())
    return input;
  return tensor::CollapseShapeOp::create(builder, loc, input, groups);
}

Value flashnorm::buildNorm(OpBuilder &builder, Location loc,
                           const NormMatch &match, Type type,
                           Value reusableInit) {
  Value source = match.input.value;
  auto sourceType = cast<RankedTensorType>(source.getType());
  int64_t length = match.statistic.length;
  unsigned numLeading =
      sourceType.getRank() -
      getNormalizedDims(match.input.index, sourceType.getShape());
  SmallVector<ReassociationIndices> groups(numLeading + 1);
  for (int64_t dim : llvm::seq(sourceType.getRank()))
    groups[std::min<int64_t>(dim, numLeading)].push_back(dim);

  Value input = makeRows(builder, loc, source, groups, length);
  auto inputType = cast<RankedTensorType>(input.getType());
  Value weight =
      match.weight ? match.weight->build(builder, loc, length) : Value();
  Value bias = match.bias ? match.bias->build(builder, loc, length) : Value();
  Value init = reusableInit;
  if (!init || init.getType() != inputType.clone(type))
    init = tensor::EmptyOp::create(
        builder, loc, tensor::getMixedSizes(builder, loc, input), type);
  double eps = match.statistic.eps;
  if (!inputType.getElementType().isF64())
    eps = strtod(printNumber(eps).c_str(), nullptr);
  FloatAttr epsAttr = builder.getF64FloatAttr(eps);
  auto cast = CastPositionAttr::get(builder.getContext(), match.cast);
  Value norm = match.statistic.kind == NormKind::RMS
                   ? RMSNormOp::create(builder, loc, init.getType(), input,
                                       weight, init, epsAttr, cast)
                         .getResult(0)
                   : LayerNormOp::create(builder, loc, init.getType(), input,
                                         weight, bias, init, epsAttr, cast)
                         .getResult(0);
  if (inputType.getRank() == sourceType.getRank())
    return norm;
  return tensor::ExpandShapeOp::create(
      builder, loc, sourceType.clone(type), norm, groups,
      tensor::getMixedSizes(builder, loc, source));
}

linalg::GenericOp flashnorm::narrowProducer(OpBuilder &builder, Type type,
                                            Value input) {
  auto inputType = cast<RankedTensorType>(input.getType());
  auto op = input.getDefiningOp<linalg::GenericOp>();
  if (!op || op->getNumResults() != 1 || op.getNumReductionLoops() != 0 ||
      type == inputType.getElementType())
    return nullptr;
  auto extend = op.getBlock()
                    ->getTerminator()
                    ->getOperand(0)
                    .getDefiningOp<arith::ExtFOp>();
  BlockArgument out = op.getBlock()->getArguments().back();
  if (!extend || extend->getBlock() != op.getBlock() || !out.use_empty() ||
      extend.getIn().getType() != type || !isNormType(type))
    return nullptr;

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  Value init = tensor::EmptyOp::create(
      builder, op.getLoc(),
      tensor::getMixedSizes(builder, op.getLoc(), op.getDpsInits()[0]), type);
  auto narrow = linalg::GenericOp::create(
      builder, op.getLoc(), init.getType(), op.getDpsInputs(), init,
      op.getIndexingMapsArray(), op.getIteratorTypesArray(),
      [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        IRMapping mapping;
        mapping.map(op.getBlock()->getArguments(), arguments);
        for (Operation &inner : op.getBlock()->without_terminator())
          if (&inner != extend || !extend->hasOneUse())
            nested.clone(inner, mapping);
        // What is widened may come from outside of the body.
        linalg::YieldOp::create(nested, loc,
                                mapping.lookupOrDefault(extend.getIn()));
      });
  // Other users of x read it through the cast.
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  auto wide = linalg::GenericOp::create(
      builder, op.getLoc(), inputType, narrow.getResult(0), op.getDpsInits()[0],
      ArrayRef<AffineMap>{map, map}, op.getIteratorTypesArray(),
      [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        linalg::YieldOp::create(
            nested, loc,
            arith::ExtFOp::create(nested, loc, inputType.getElementType(),
                                  arguments[0])
                .getResult());
      });
  op.getResult(0).replaceAllUsesWith(wide.getResult(0));
  return narrow;
}

linalg::GenericOp
flashnorm::feedNorm(linalg::LinalgOp op, Value scalar, Value norm,
                    AffineMap reader,
                    function_ref<void(Operation *, Operation *)> onClone) {
  MLIRContext *context = op.getContext();
  // What only the norm has used goes.
  SmallPtrSet<Operation *, 16> live;
  SmallPtrSet<Value, 16> liveArguments;
  SmallVector<Value> pending;
  auto keep = [&](Operation &inner) {
    if (live.insert(&inner).second)
      inner.walk([&](Operation *user) {
        llvm::append_range(pending, user->getOperands());
      });
  };
  for (Operation &inner : *op.getBlock())
    if (!isPure(&inner))
      keep(inner);
  keep(*op.getBlock()->getTerminator());
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (value == scalar)
      continue;
    Operation *inner = value.getDefiningOp();
    if (!inner)
      liveArguments.insert(value);
    else if (inner->getBlock() == op.getBlock())
      keep(*inner);
  }

  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<BlockArgument> kept;
  auto collect = [&](bool dropUnused) {
    inputs.clear();
    maps.clear();
    kept.clear();
    for (OpOperand *operand : op.getDpsInputOperands()) {
      BlockArgument argument = op.getMatchingBlockArgument(operand);
      if (dropUnused && !liveArguments.contains(argument))
        continue;
      inputs.push_back(operand->get());
      maps.push_back(op.getMatchingIndexingMap(operand));
      kept.push_back(argument);
    }
    inputs.push_back(norm);
    maps.push_back(reader);
    for (OpOperand &init : op.getDpsInitsMutable())
      maps.push_back(op.getMatchingIndexingMap(&init));
  };
  collect(/*dropUnused=*/true);
  // The bounds of every loop must still follow from the operands.
  if (!inversePermutation(concatAffineMaps(maps, context)))
    collect(/*dropUnused=*/false);

  OpBuilder builder(op);
  auto generic = linalg::GenericOp::create(
      builder, op.getLoc(), op->getResultTypes(), inputs, op.getDpsInits(),
      maps, op.getIteratorTypesArray(),
      [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        IRMapping mapping;
        mapping.map(kept, arguments.take_front(kept.size()));
        mapping.map(op.getRegionOutputArgs(),
                    arguments.drop_front(inputs.size()));
        mapping.map(scalar, arguments[kept.size()]);
        for (Operation &inner : op.getBlock()->without_terminator()) {
          if (!live.contains(&inner))
            continue;
          Operation *clone = nested.clone(inner, mapping);
          onClone(&inner, clone);
        }
        nested.clone(*op.getBlock()->getTerminator(), mapping);
      });
  generic->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->replaceAllUsesWith(generic);
  return generic;
}

/// The sizes of the result of `op`. It is about to be replaced, and must not be
/// asked itself.
static SmallVector<OpFoldResult> getResultSizes(OpBuilder &builder,
                                                Operation *op, Value norm,
                                                AffineMap reader) {
  Location loc = op->getLoc();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<OpFoldResult> sizes;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    if (!ShapedType::isDynamic(size)) {
      sizes.push_back(builder.getIndexAttr(size));
      continue;
    }
    AffineExpr place = getAffineDimExpr(dim, op->getContext());
    const auto *found = llvm::find(reader.getResults(), place);
    if (found != reader.getResults().end()) {
      sizes.push_back(tensor::getMixedSize(
          builder, loc, norm, found - reader.getResults().begin()));
      continue;
    }
    // Operands have one element there, or the size of the result.
    Value operand = op->getOperand(0);
    for (Value other : op->getOperands())
      if (auto otherType = dyn_cast<RankedTensorType>(other.getType());
          otherType && otherType.getRank() == type.getRank() &&
          otherType.isDynamicDim(dim))
        operand = other;
    sizes.push_back(tensor::getMixedSize(builder, loc, operand, dim));
  }
  return sizes;
}

Value flashnorm::readNormAt(OpBuilder &builder, Operation *op, Value norm,
                            AffineMap reader) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<AffineMap> maps = {
      reader, builder.getMultiDimIdentityMap(type.getRank())};
  Value init = tensor::EmptyOp::create(
      builder, op->getLoc(), getResultSizes(builder, op, norm, reader),
      type.getElementType());
  Value result = linalg::GenericOp::create(
                     builder, op->getLoc(), init.getType(), norm, init, maps,
                     SmallVector<utils::IteratorType>(
                         type.getRank(), utils::IteratorType::parallel),
                     [](OpBuilder &nested, Location loc, ValueRange arguments) {
                       linalg::YieldOp::create(nested, loc, arguments[0]);
                     })
                     .getResult(0);
  return result.getType() == type
             ? result
             : tensor::CastOp::create(builder, op->getLoc(), type, result);
}
