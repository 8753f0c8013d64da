//===- ConcatMatmuls.cpp - One matmul for several with one input ----------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatmulDraft.h"
#include "PreparedWeights.h"
#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_CONCATMATMULSPASS
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

namespace {
struct ConcatMatmuls : ::flashnorm::impl::ConcatMatmulsPassBase<ConcatMatmuls> {
  using ConcatMatmulsPassBase::ConcatMatmulsPassBase;
  void runOnOperation() override;
};
} // namespace

/// Why `op` cannot be a part of a larger matmul, or nothing.
static std::string checkPart(func::FuncOp entry, MatmulOp op) {
  if (op.getPlan())
    return "one carries a plan; run this pass before it is planned";
  // There are no slices of nothing.
  if (llvm::is_contained(
          cast<ShapedType>(op->getResult(0).getType()).getShape(), 0))
    return "one has no rows or columns";
  if (op.getResidual() || op.getPostNorm() || op.getInits().size() > 1 ||
      op.getColumnSums() || op.getGlu())
    return "one has a residual, a post-norm, a second result, column_sums or a "
           "glu";
  if (!isFrozenOrConstant(entry, op.getWeight()) ||
      !isFrozenOrConstant(entry, op.getBias()))
    return "a weight or bias is neither an argument with 'flashnorm.frozen' "
           "nor a constant";
  return "";
}

/// Why `op` cannot stand beside `first`, or nothing. Both can be parts.
static std::string checkPair(MatmulOp first, MatmulOp op,
                             DominanceInfo &dominance) {
  if (op.getTransposeWeight() != first.getTransposeWeight())
    return "the layouts of the weights differ";
  if (op.getPreNormAttr() != first.getPreNormAttr() ||
      op.getRowScale() != first.getRowScale())
    return "the norms before them differ";
  if (op.getActivation() != first.getActivation())
    return "the activations differ";
  if (op.getRoundingsAttr() != first.getRoundingsAttr())
    return "the roundings between their steps differ";
  if (op.getOutputScale() != first.getOutputScale() ||
      op.getSaturateAttr() != first.getSaturateAttr())
    return "the scales or ranges of the results differ";
  auto getType = [](Value value) {
    return value ? getElementTypeOrSelf(value.getType()) : Type();
  };
  if (getType(op->getResult(0)) != getType(first->getResult(0)))
    return "the result types differ";
  if (getType(op.getBias()) != getType(first.getBias()))
    return "one has a bias, or one of another type";
  if (op->getDiscardableAttrDictionary() !=
      first->getDiscardableAttrDictionary())
    return "the attributes differ";
  for (Value operand : {op.getWeight(), op.getBias()})
    if (operand && !dominance.properlyDominates(getReshaped(operand), first))
      return "a weight or bias comes after the first of them";
  return "";
}

/// Moves the reshapes that make `value` in front of `op`.
static void moveReshapes(RewriterBase &rewriter, Value value, Operation *op) {
  SmallVector<Operation *> reshapes;
  for (Value root = getReshaped(value); value != root;
       value = value.getDefiningOp()->getOperand(0))
    reshapes.push_back(value.getDefiningOp());
  for (Operation *reshape : llvm::reverse(reshapes))
    if (reshape->getBlock() == op->getBlock() && op->isBeforeInBlock(reshape))
      rewriter.moveOpBefore(reshape, op);
}

static Value concat(OpBuilder &builder, Location loc, int64_t dim,
                    ArrayRef<MatmulOp> parts,
                    function_ref<Value(MatmulOp)> getOperand) {
  SmallVector<Value> operands = llvm::map_to_vector(parts, getOperand);
  if (!operands.front())
    return Value();
  return tensor::ConcatOp::create(builder, loc, dim, operands);
}

static void concatenate(RewriterBase &rewriter, ArrayRef<MatmulOp> parts) {
  MatmulOp first = parts.front();
  Location loc = rewriter.getFusedLoc(llvm::map_to_vector(
      parts, [](MatmulOp part) -> Location { return part.getLoc(); }));
  for (MatmulOp part : parts)
    for (Value operand : {part.getWeight(), part.getBias()})
      if (operand)
        moveReshapes(rewriter, operand, first);
  rewriter.setInsertionPoint(first);
  Value weight = concat(rewriter, loc, first.getTransposeWeight() ? 0 : 1,
                        parts, [](MatmulOp op) { return op.getWeight(); });
  Value bias =
      concat(rewriter, loc, 0, parts, [](MatmulOp op) { return op.getBias(); });
  int64_t columns = 0;
  for (MatmulOp part : parts)
    columns += part.getN();
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, first.getInput());
  sizes.back() = rewriter.getIndexAttr(columns);
  Value init = tensor::EmptyOp::create(
      rewriter, loc, sizes, getElementTypeOrSelf(first->getResult(0)));
  MatmulDraft draft(first);
  draft.weight = weight;
  draft.bias = bias;
  MatmulOp whole = draft.create(rewriter, loc, init);
  SmallVector<OpFoldResult> offsets(sizes.size(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
  int64_t offset = 0;
  for (MatmulOp part : parts) {
    offsets.back() = rewriter.getIndexAttr(offset);
    sizes.back() = rewriter.getIndexAttr(part.getN());
    offset += part.getN();
    Value slice = tensor::ExtractSliceOp::create(
        rewriter, loc, whole.getResult(0), offsets, sizes, strides);
    Type type = part->getResult(0).getType();
    if (slice.getType() != type)
      slice = tensor::CastOp::create(rewriter, loc, type, slice);
    rewriter.replaceOp(part, slice);
  }
}

void ConcatMatmuls::runOnOperation() {
  func::FuncOp function = getOperation();
  llvm::MapVector<std::pair<Block *, Value>, SmallVector<MatmulOp>> groups;
  function.walk([&](MatmulOp op) {
    if (op.hasPureTensorSemantics())
      groups[{op->getBlock(), op.getInput()}].push_back(op);
  });
  DominanceInfo dominance(function);
  IRRewriter rewriter(&getContext());
  for (auto &[key, matmuls] : groups) {
    if (matmuls.size() < 2)
      continue;
    // The first reason that keeps one apart.
    std::string reason;
    auto note = [&](const std::string &why) {
      if (reason.empty())
        reason = why;
      return why.empty();
    };
    SmallVector<SmallVector<MatmulOp>> sets;
    for (MatmulOp op : matmuls) {
      if (!note(checkPart(function, op)))
        continue;
      auto *set = llvm::find_if(sets, [&](ArrayRef<MatmulOp> set) {
        return note(checkPair(set.front(), op, dominance));
      });
      if (set == sets.end())
        sets.push_back({op});
      else
        set->push_back(op);
    }
    auto options = [&](StringRef name) {
      return remark::RemarkOpts::name(name)
          .category("flashnorm-concat-matmuls")
          .function(function.getSymName());
    };
    Location loc = matmuls.front().getLoc();
    size_t apart = matmuls.size();
    for (ArrayRef<MatmulOp> set : sets) {
      if (set.size() < 2)
        continue;
      apart -= set.size();
      numConcatenated += set.size();
      remark::passed(loc, options("MatmulsConcatenated"))
          << llvm::formatv("{0} matmuls of one input become one", set.size())
                 .str();
      concatenate(rewriter, set);
    }
    if (apart == 0)
      continue;
    numKept += apart;
    remark::missed(loc, options("MatmulsNotConcatenated"))
        << llvm::formatv("{0} of {1} matmuls of one input stay apart: {2}",
                         apart, matmuls.size(), reason)
               .str();
  }
}
