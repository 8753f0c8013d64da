//===- DecomposeForHost.cpp - Ops that buffers or loops do not know -------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Conversion/Passes.h"
#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_DECOMPOSEFORHOSTPASS
#include "flashnorm/Conversion/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

/// y[lead..., slice...] = x[c], where indices[lead...] gives c in the gathered
/// dimensions, and the slice's own position gives the others.
static LogicalResult decomposeGather(RewriterBase &rewriter,
                                     tensor::GatherOp op) {
  Location loc = op.getLoc();
  RankedTensorType type = op.getResultType();
  RankedTensorType sourceType = op.getSourceType();
  const int64_t numLeading = op.getIndicesType().getRank() - 1;
  // Without its gathered dimensions, a slice has a lower rank; else they stay
  // as dimensions of size 1.
  const bool dropsDims = type.getRank() != numLeading + sourceType.getRank();
  SmallVector<Value> sizes;
  int64_t position = 0;
  SmallVector<int64_t> slicePositions(sourceType.getRank(), -1);
  for (int64_t dim = 0; dim < sourceType.getRank(); ++dim) {
    const bool isGathered = llvm::is_contained(op.getGatherDims(), dim);
    if (isGathered && dropsDims)
      continue;
    if (!isGathered)
      slicePositions[dim] = numLeading + position;
    ++position;
  }
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (!type.isDynamicDim(dim))
      continue;
    if (dim < numLeading) {
      sizes.push_back(
          tensor::DimOp::create(rewriter, loc, op.getIndices(), dim));
      continue;
    }
    auto *source = llvm::find(slicePositions, dim);
    if (source == slicePositions.end())
      return failure();
    sizes.push_back(tensor::DimOp::create(rewriter, loc, op.getSource(),
                                          source - slicePositions.begin()));
  }
  auto body = [&](OpBuilder &b, Location loc, ValueRange indices) {
    SmallVector<Value> coordinate(indices.take_front(numLeading));
    coordinate.push_back(Value());
    SmallVector<Value> at(sourceType.getRank());
    for (auto [i, dim] : llvm::enumerate(op.getGatherDims())) {
      coordinate.back() = arith::ConstantIndexOp::create(b, loc, i);
      Value index =
          tensor::ExtractOp::create(b, loc, op.getIndices(), coordinate);
      if (!index.getType().isIndex())
        index = arith::IndexCastOp::create(b, loc, b.getIndexType(), index);
      at[dim] = index;
    }
    for (auto [dim, position] : llvm::enumerate(slicePositions))
      if (position >= 0)
        at[dim] = indices[position];
    Value element = tensor::ExtractOp::create(b, loc, op.getSource(), at);
    tensor::YieldOp::create(b, loc, element);
  };
  rewriter.replaceOpWithNewOp<tensor::GenerateOp>(op, type, sizes, body);
  return success();
}

/// Elementwise, where the elements are as wide as before.
static LogicalResult decomposeBitcast(RewriterBase &rewriter,
                                      tensor::BitcastOp op) {
  auto isNumber = [](Type type) {
    return type.isSignlessInteger() || isa<FloatType>(type);
  };
  if (!isNumber(getElementTypeOrSelf(op.getSource().getType())) ||
      !isNumber(getElementTypeOrSelf(op.getType())))
    return failure();
  rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(),
                                                op.getSource());
  return success();
}

/// Any tensor will do; where sizes are dynamic, one without elements.
static LogicalResult decomposePoison(RewriterBase &rewriter, ub::PoisonOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type)
    return failure();
  Value zero = arith::ConstantIndexOp::create(rewriter, op.getLoc(), 0);
  rewriter.replaceOpWithNewOp<tensor::EmptyOp>(
      op, type, SmallVector<Value>(type.getNumDynamicDims(), zero));
  return success();
}

static LogicalResult decompose(RewriterBase &rewriter, Operation *op) {
  if (auto pack = dyn_cast<linalg::PackOp>(op))
    return linalg::lowerPack(rewriter, pack);
  if (auto unpack = dyn_cast<linalg::UnPackOp>(op))
    return linalg::lowerUnPack(rewriter, unpack);
  if (auto gather = dyn_cast<tensor::GatherOp>(op))
    return decomposeGather(rewriter, gather);
  if (auto bitcast = dyn_cast<tensor::BitcastOp>(op))
    return decomposeBitcast(rewriter, bitcast);
  if (auto poison = dyn_cast<ub::PoisonOp>(op))
    return decomposePoison(rewriter, poison);
  if (auto aggregate = dyn_cast<linalg::AggregatedOpInterface>(op)) {
    FailureOr<SmallVector<Value>> results =
        aggregate.decomposeOperation(rewriter);
    if (failed(results))
      return failure();
    rewriter.replaceOp(op, *results);
    return success();
  }
  return failure();
}

/// One-shot bufferization, or the elementwise conversion before it, knows what
/// to do.
static bool hasBuffers(Operation *op) {
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  return (llvm::none_of(op->getOperandTypes(), isTensor) &&
          llvm::none_of(op->getResultTypes(), isTensor)) ||
         isa<bufferization::BufferizableOpInterface>(op) ||
         OpTrait::hasElementwiseMappableTraits(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

namespace {
struct DecomposeForHost
    : ::flashnorm::impl::DecomposeForHostPassBase<DecomposeForHost> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<linalg::PackOp, linalg::UnPackOp, tensor::GatherOp,
              tensor::BitcastOp, ub::PoisonOp, linalg::AggregatedOpInterface>(
              op))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : ops) {
      rewriter.setInsertionPoint(op);
      if (succeeded(decompose(rewriter, op)))
        ++numDecomposed;
    }
    bool canRun = true;
    getOperation()->walk([&](Operation *op) {
      if (hasBuffers(op))
        return;
      op->emitOpError() << "cannot run on the CPU: it has no form on buffers";
      canRun = false;
    });
    if (!canRun)
      signalPassFailure();
  }
};
} // namespace
