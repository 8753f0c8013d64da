//===- VectorOperand.cpp - Weights and biases of a norm -------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorOperand.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace flashnorm;

// Arithmetic on a vector longer than this is not repeated.
static constexpr unsigned maxOps = 8;

/// The length of a vector that `tensor` holds along s0.
static std::optional<int64_t> getVectorLength(Element tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.value.getType());
  if (!type || type.getEncoding() || !isNormType(type.getElementType()))
    return std::nullopt;
  unsigned rowDims = getNormalizedDims(tensor.index, type.getShape());
  if (rowDims == 0)
    return std::nullopt;
  ArrayRef<int64_t> row = type.getShape().take_back(rowDims);
  if (llvm::any_of(type.getShape().drop_back(rowDims),
                   [](int64_t size) { return size != 1; }))
    return std::nullopt;
  if (rowDims == 1)
    return row[0];
  if (llvm::is_contained(row, ShapedType::kDynamic))
    return std::nullopt;
  return ShapedType::getNumElements(row);
}

static Value makeVector(OpBuilder &builder, Location loc, Value tensor,
                        int64_t length) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.hasStaticShape()) {
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = length; // All others are 1.
    type = RankedTensorType::get(shape, type.getElementType());
    tensor = tensor::CastOp::create(builder, loc, type, tensor);
  }
  if (type.getRank() == 1)
    return tensor;
  SmallVector<ReassociationIndices> group = {
      llvm::to_vector(llvm::seq<int64_t>(type.getRank()))};
  return tensor::CollapseShapeOp::create(builder, loc, tensor, group);
}

std::optional<VectorOperand> VectorOperand::get(Element element) {
  SmallVector<Element> views;
  Node node = look(element, &views);
  VectorOperand vector;
  for (Element view : views) {
    std::optional<int64_t> length = getVectorLength(view);
    if (!length)
      continue;
    auto bits = [](Value value) {
      return getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
    };
    // The narrowest holds the same values; a vector needs no reshape.
    auto rank = [](Value value) {
      return cast<RankedTensorType>(value.getType()).getRank();
    };
    if (!vector.value ||
        std::make_pair(bits(view.value), rank(view.value)) <
            std::make_pair(bits(vector.value), rank(vector.value))) {
      vector.value = view.value;
      vector.length = *length;
    }
  }
  if (vector.value)
    return vector;
  if (!node.op || node.args.empty() || node.is(Node::Kind::Sum) ||
      !node.self.index || !isNormType(node.self.value.getType()))
    return std::nullopt;
  vector.value = node.self.value;
  if (!vector.addScalar(node.self.value, node.self.index, /*depth=*/0) ||
      vector.leaves.empty())
    return std::nullopt;
  return vector;
}

bool VectorOperand::addScalar(Value scalar, AffineMap loops, unsigned depth) {
  if (llvm::is_contained(llvm::make_first_range(leaves), scalar))
    return true;
  if (auto argument = dyn_cast<BlockArgument>(scalar)) {
    auto op = dyn_cast<linalg::LinalgOp>(argument.getOwner()->getParentOp());
    if (!op)
      return true; // A scalar from elsewhere.
    OpOperand *operand = op.getMatchingOpOperand(argument);
    auto type = dyn_cast<RankedTensorType>(operand->get().getType());
    if (!type || op.isDpsInit(operand))
      return false;
    SmallVector<AffineExpr> exprs;
    for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults())
      exprs.push_back(expr.replaceDimsAndSymbols(loops.getResults(), {}));
    AffineMap index =
        AffineMap::get(loops.getNumDims(), 1, exprs, loops.getContext());
    std::optional<int64_t> found =
        getVectorLength({operand->get(), dropUnitDims(index, type)});
    if (!found)
      return false;
    if (length == 0 || ShapedType::isDynamic(length))
      length = *found;
    else if (!ShapedType::isDynamic(*found) && *found != length)
      return false;
    leaves.push_back({scalar, operand->get()});
    return true;
  }
  Operation *op = scalar.getDefiningOp();
  if (!isa<linalg::LinalgOp>(op->getParentOp()))
    return true; // Defined before the op: used as it is.
  if (llvm::is_contained(ops, op))
    return true;
  // Those on the way here count too.
  if (ops.size() + depth >= maxOps || op->getNumRegions() != 0 ||
      op->getNumResults() != 1 || !isPure(op) || isa<linalg::IndexOp>(op))
    return false;
  for (Value operand : op->getOperands())
    if (!addScalar(operand, loops, depth + 1))
      return false;
  ops.push_back(op);
  return true;
}

Value VectorOperand::build(OpBuilder &builder, Location loc,
                           int64_t rowLength) const {
  if (isa<TensorType>(value.getType()))
    return makeVector(builder, loc, value, rowLength);
  SmallVector<Value> inputs;
  for (Value tensor : llvm::make_second_range(leaves))
    inputs.push_back(makeVector(builder, loc, tensor, rowLength));
  Value init = tensor::EmptyOp::create(
      builder, loc, ArrayRef<int64_t>(rowLength), getElementType());
  SmallVector<AffineMap> maps(inputs.size() + 1,
                              builder.getMultiDimIdentityMap(1));
  auto generic = linalg::GenericOp::create(
      builder, loc, init.getType(), inputs, init, maps,
      utils::IteratorType::parallel,
      [&](OpBuilder &nested, Location nestedLoc, ValueRange arguments) {
        IRMapping mapping;
        for (auto [leaf, argument] : llvm::zip_first(leaves, arguments))
          mapping.map(leaf.first, argument);
        for (Operation *op : ops)
          nested.clone(*op, mapping);
        linalg::YieldOp::create(nested, nestedLoc, mapping.lookup(value));
      });
  return generic.getResult(0);
}
