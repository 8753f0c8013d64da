//===- ValueFlow.cpp - What an element of a tensor is ---------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ValueFlow.h"
#include "IndexMaps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace flashnorm;

// Constants behind more copies and casts than this are not found.
static constexpr unsigned maxConstantSteps = 64;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

ElementRef flashnorm::elementOf(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return {tensor,
          AffineMap::getMultiDimIdentityMap(type.getRank(), type.getContext())};
}

static std::optional<ElementRef> throughLinalg(const ElementRef &ref) {
  auto result = cast<OpResult>(ref.tensor);
  auto op = cast<linalg::LinalgOp>(result.getOwner());
  if (!isElementwise(op))
    return std::nullopt;
  Value yielded = stripExtF(getYielded(result));
  auto arg = dyn_cast<BlockArgument>(yielded);
  if (!arg || arg.getOwner() != op.getBlock())
    return std::nullopt;
  OpOperand *input = nullptr;
  for (OpOperand *candidate : op.getDpsInputOperands())
    if (op.getMatchingBlockArgument(candidate) == arg)
      input = candidate;
  if (!input)
    return std::nullopt;
  AffineMap loops = inversePermutation(op.getIndexingMapMatchingResult(result))
                        .compose(ref.map);
  AffineMap map = op.getMatchingIndexingMap(input);
  // A scalar operand is an element of no tensor.
  if (!isa<RankedTensorType>(input->get().getType()))
    return std::nullopt;
  return ElementRef{input->get(), map.compose(loops)};
}

static std::optional<ElementRef> throughTosa(const ElementRef &ref) {
  Operation *op = ref.tensor.getDefiningOp();
  if (auto transpose = dyn_cast<tosa::TransposeOp>(op))
    return ElementRef{transpose.getInput1(),
                      getTransposeSource(transpose.getPerms(), ref.map)};
  if (auto castOp = dyn_cast<tosa::CastOp>(op)) {
    auto from =
        dyn_cast<FloatType>(getElementTypeOrSelf(castOp.getInput().getType()));
    auto to = dyn_cast<FloatType>(ref.getElementType());
    if (!from || !to || !(from.isBF16() || from.isF16() || from.isF32()) ||
        from.getWidth() >= to.getWidth())
      return std::nullopt;
    return ElementRef{castOp.getInput(), ref.map};
  }
  return std::nullopt;
}

std::optional<ElementRef> flashnorm::lookThrough(const ElementRef &ref) {
  Operation *op = ref.tensor.getDefiningOp();
  if (!op)
    return std::nullopt;
  std::optional<ElementRef> source;
  if (auto castOp = dyn_cast<tensor::CastOp>(op)) {
    source = ElementRef{castOp.getSource(), ref.map};
  } else if (auto extOp = dyn_cast<arith::ExtFOp>(op)) {
    source = ElementRef{extOp.getIn(), ref.map};
  } else if (isReshape(op)) {
    if (AffineMap map = getReshapeSource(op, ref.map))
      source = ElementRef{op->getOperand(0), map};
  } else if (auto transpose = dyn_cast<linalg::TransposeOp>(op)) {
    source =
        ElementRef{transpose.getInput(),
                   getTransposeSource(transpose.getPermutation(), ref.map)};
  } else if (auto broadcast = dyn_cast<linalg::BroadcastOp>(op)) {
    SmallVector<AffineExpr> results;
    for (auto [dim, expr] : llvm::enumerate(ref.map.getResults()))
      if (!llvm::is_contained(broadcast.getDimensions(), int64_t(dim)))
        results.push_back(expr);
    source = ElementRef{broadcast.getInput(), withResults(ref.map, results)};
  } else if (isa<linalg::LinalgOp>(op)) {
    source = throughLinalg(ref);
  } else {
    source = throughTosa(ref);
  }
  // Memrefs and unranked tensors are sources of their own kind.
  if (!source || !isa<RankedTensorType>(source->tensor.getType()) ||
      hasEncoding(source->tensor.getType()))
    return std::nullopt;
  source->map = simplifyAffineMap(source->map);
  return source;
}

SmallVector<ElementRef> flashnorm::dataPath(const ElementRef &ref) {
  SmallVector<ElementRef> path{ref};
  while (std::optional<ElementRef> source = lookThrough(path.back()))
    path.push_back(*source);
  return path;
}

std::optional<std::pair<Value, int64_t>>
flashnorm::stepToSameSize(Value tensor, int64_t dim) {
  auto result = dyn_cast<OpResult>(tensor);
  if (!result)
    return std::nullopt;
  Operation *op = result.getOwner();
  if (auto dps = dyn_cast<DestinationStyleOpInterface>(op))
    return std::make_pair(dps.getTiedOpOperand(result)->get(), dim);
  if (isa<tensor::CastOp>(op) || OpTrait::hasElementwiseMappableTraits(op)) {
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        return std::make_pair(operand, dim);
    return std::nullopt;
  }
  auto collapse = dyn_cast<tensor::CollapseShapeOp>(op);
  if (!collapse)
    return std::nullopt;
  // The only dimension of its group that may have several elements.
  const ReassociationIndices group = collapse.getReassociationIndices()[dim];
  std::optional<int64_t> source;
  for (int64_t each : group) {
    if (collapse.getSrcType().getDimSize(each) == 1)
      continue;
    if (source)
      return std::nullopt;
    source = each;
  }
  if (!source)
    return std::nullopt;
  return std::make_pair(collapse.getSrc(), *source);
}

SmallVector<OpFoldResult> flashnorm::getOutputShape(tensor::ExpandShapeOp op) {
  SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
  auto type = cast<RankedTensorType>(op.getType());
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (!type.isDynamicDim(dim))
      size = IntegerAttr::get(IndexType::get(op.getContext()),
                              type.getDimSize(dim));
  return sizes;
}

//===----------------------------------------------------------------------===//
// Scalars of linalg ops
//===----------------------------------------------------------------------===//

Value flashnorm::stripExtF(Value scalar) {
  while (auto ext = scalar.getDefiningOp<arith::ExtFOp>())
    scalar = ext.getIn();
  return scalar;
}

bool flashnorm::isElementwise(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() ||
      op.getNumParallelLoops() != op.getNumLoops() || op.hasIndexSemantics() ||
      llvm::any_of(op->getOperandTypes(), hasEncoding))
    return false;
  for (OpOperand &init : op.getDpsInitsMutable())
    if (!op.getMatchingIndexingMap(&init).isPermutation())
      return false;
  return llvm::all_of(op.getBlock()->without_terminator(),
                      [](Operation &inner) {
                        return inner.getNumRegions() == 0 && isPure(&inner);
                      });
}

bool flashnorm::isAtOwnPosition(const ElementRef &ref,
                                ArrayRef<int64_t> shape) {
  if (ref.map.getNumDims() != shape.size() ||
      ref.map.getNumResults() != shape.size())
    return false;
  MLIRContext *context = ref.map.getContext();
  for (auto [dim, expr] : llvm::enumerate(ref.map.getResults()))
    if (expr != getAffineDimExpr(dim, context) &&
        (expr != getAffineConstantExpr(0, context) || shape[dim] != 1 ||
         ref.getType().getDimSize(dim) != 1))
      return false;
  return true;
}

Value flashnorm::getYielded(OpResult result) {
  auto op = cast<linalg::LinalgOp>(result.getOwner());
  return op.getBlock()->getTerminator()->getOperand(result.getResultNumber());
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static std::optional<APFloat> convertTo(std::optional<APFloat> value,
                                        Type type) {
  auto floatType = dyn_cast<FloatType>(type);
  if (!value || !floatType)
    return std::nullopt;
  bool losesInfo;
  value->convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return value;
}

static std::optional<APFloat> fromAttribute(Attribute attr) {
  if (auto scalar = dyn_cast_or_null<FloatAttr>(attr))
    return scalar.getValue();
  auto splat = dyn_cast_or_null<SplatElementsAttr>(attr);
  if (splat && isa<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>();
  return std::nullopt;
}

/// The input of a linalg op that a scalar of its body is; null if none.
static Value getInput(BlockArgument argument) {
  auto op =
      dyn_cast_or_null<linalg::LinalgOp>(argument.getOwner()->getParentOp());
  if (!op || op.getBlock() != argument.getOwner())
    return {};
  for (OpOperand *input : op.getDpsInputOperands())
    if (op.getMatchingBlockArgument(input) == argument)
      return input->get();
  return {};
}

/// Where the elements of `value` come from, one step back; null when the walk
/// ends.
static Value getConstantSource(Value value) {
  // A linalg op passes constants in through its operands too.
  if (auto argument = dyn_cast<BlockArgument>(value))
    return getInput(argument);
  Operation *op = value.getDefiningOp();
  if (isa<arith::ExtFOp, arith::TruncFOp>(op) || isReshape(op))
    return op->getOperand(0);
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return fill.value();
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return splat.getInput();
  if (auto elements = dyn_cast<tensor::FromElementsOp>(op))
    return elements.getElements().size() == 1 ? elements.getElements().front()
                                              : Value();
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return slice.getSource();
  if (!isa<RankedTensorType>(value.getType()))
    return {};
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  // Most ops compute something: the walk would end one step further.
  if (linalgOp)
    if (Operation *last = getYielded(cast<OpResult>(value)).getDefiningOp();
        last && last->getBlock() == linalgOp.getBlock() &&
        !isa<arith::ConstantOp, arith::ExtFOp, arith::TruncFOp>(last))
      return {};
  if (std::optional<ElementRef> source = lookThrough(elementOf(value)))
    return source->tensor;
  // A generic that yields a constant is a fill.
  if (linalgOp)
    if (isElementwise(linalgOp)) {
      Value yielded = getYielded(cast<OpResult>(value));
      auto argument = dyn_cast<BlockArgument>(yielded);
      if (!argument || getInput(argument))
        return yielded;
    }
  return {};
}

std::optional<APFloat> flashnorm::getConstantFloat(Value value) {
  // What casts on the way make of the constant, innermost last.
  SmallVector<Type> types;
  for (unsigned step = 0; step != maxConstantSteps; ++step) {
    std::optional<APFloat> constant;
    if (auto op = value.getDefiningOp<arith::ConstantOp>())
      constant = fromAttribute(op.getValue());
    else if (auto op = value.getDefiningOp<tosa::ConstOp>())
      constant = fromAttribute(op.getValues());
    for (Type type : llvm::reverse(types))
      constant = convertTo(constant, type);
    if (constant)
      return constant;
    Type type = getElementTypeOrSelf(value.getType());
    value = getConstantSource(value);
    if (!value)
      return std::nullopt;
    if (getElementTypeOrSelf(value.getType()) != type)
      types.push_back(type);
  }
  return std::nullopt;
}

bool flashnorm::isZeroInitialised(Value tensor) {
  std::optional<APFloat> value = getConstantFloat(tensor);
  return value && value->isZero();
}

bool flashnorm::isUninitialised(Value tensor) {
  while (Operation *op = tensor.getDefiningOp()) {
    if (isa<tensor::EmptyOp>(op))
      return true;
    if (auto alloc = dyn_cast<bufferization::AllocTensorOp>(op))
      return !alloc.getCopy();
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
             tensor::ExtractSliceOp, linalg::TransposeOp, linalg::BroadcastOp>(
            op))
      return false;
    tensor = op->getOperand(0);
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Clean-up
//===----------------------------------------------------------------------===//

void flashnorm::eraseIfDead(RewriterBase &rewriter, ArrayRef<Operation *> ops) {
  SmallVector<Operation *> worklist(ops);
  SmallPtrSet<Operation *, 16> erased;
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (erased.contains(op) || !isOpTriviallyDead(op))
      continue;
    llvm::SetVector<Value> used;
    getUsedValuesDefinedAbove(op->getRegions(), used);
    used.insert(op->operand_begin(), op->operand_end());
    for (Value value : used)
      if (Operation *producer = value.getDefiningOp())
        worklist.push_back(producer);
    erased.insert(op);
    rewriter.eraseOp(op);
  }
}
