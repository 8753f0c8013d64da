//===- PromoteToF64.cpp - The yardstick -----------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns a module into one that computes the same in f64. As every float type
// becomes f64 at once, types are changed in place: an op that accepts a float
// type accepts f64, and what meets at an op still agrees afterwards. Ops whose
// meaning hangs on the width of a float are diagnosed before anything changes.
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Conversion/Passes.h"
#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_PROMOTETOF64PASS
#include "flashnorm/Conversion/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

/// `type` has a float inside that is not f64.
static bool hasNarrowFloat(Type type) {
  return type
      .walk([](FloatType part) {
        return part.isF64() ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static APFloat widen(APFloat value) {
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value;
}

/// The elements of a resource as the bytes of a dense attribute, or null if
/// the blob is absent or of another size.
static DenseElementsAttr readResource(DenseResourceElementsAttr attr) {
  AsmResourceBlob *blob = attr.getRawHandle().getBlob();
  bool isSplat;
  if (!blob || !DenseElementsAttr::isValidRawBuffer(attr.getType(),
                                                    blob->getData(), isSplat))
    return {};
  return DenseElementsAttr::getFromRawBuffer(attr.getType(), blob->getData());
}

/// The same value in f64, or null.
static TypedAttr promoteConstant(TypedAttr attr) {
  auto f64 = Float64Type::get(attr.getContext());
  if (auto scalar = dyn_cast<FloatAttr>(attr))
    return FloatAttr::get(f64, widen(scalar.getValue()));
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attr))
    attr = readResource(resource);
  auto dense = dyn_cast_or_null<DenseFPElementsAttr>(attr);
  if (!dense)
    return {};
  return cast<TypedAttr>(
      Attribute(dense.mapValues(f64, [](const APFloat &value) {
        return widen(value).bitcastToAPInt();
      })));
}

//===----------------------------------------------------------------------===//
// What can be promoted
//===----------------------------------------------------------------------===//

/// Floats of at most 64 bits, alone or as the elements of a tensor, vector or
/// function type.
static LogicalResult checkType(Operation *op, Type type) {
  WalkResult walk = type.walk([&](Type part) {
    auto floatType = dyn_cast<FloatType>(part);
    bool isWide = floatType && floatType.getWidth() > 64;
    if (isWide || isa<ComplexType, BaseMemRefType>(part)) {
      op->emitOpError() << "cannot be computed in f64: type " << part;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

static LogicalResult checkTypes(Operation *op) {
  SmallVector<Type> types(op->getResultTypes());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      llvm::append_range(types, block.getArgumentTypes());
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    types.push_back(function.getFunctionType());
  for (Type type : types)
    if (hasNarrowFloat(type) && failed(checkType(op, type)))
      return failure();
  return success();
}

/// The op handles floats, as operands, results or in a region.
static bool touchesNarrowFloat(Operation *op) {
  auto isNarrow = [](Type type) { return hasNarrowFloat(type); };
  if (llvm::any_of(op->getOperandTypes(), isNarrow) ||
      llvm::any_of(op->getResultTypes(), isNarrow))
    return true;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (llvm::any_of(block.getArgumentTypes(), isNarrow))
        return true;
  return false;
}

static LogicalResult checkOp(Operation *op) {
  if (auto function = dyn_cast<FunctionOpInterface>(op)) {
    if (function.isExternal() && hasNarrowFloat(function.getFunctionType()))
      return op->emitOpError()
             << "is external: its type " << function.getFunctionType()
             << " cannot become f64";
    return checkTypes(op);
  }
  if (!touchesNarrowFloat(op))
    return success();
  if (isa<arith::BitcastOp, tensor::BitcastOp, vector::BitCastOp,
          arith::ScalingExtFOp, arith::ScalingTruncFOp, LaunchOp>(op))
    return op->emitOpError() << "cannot be computed in f64: its meaning "
                                "depends on the width of "
                             << op->getOperand(0).getType();
  if (!isa_and_nonnull<
          arith::ArithDialect, cf::ControlFlowDialect, FlashNormDialect,
          func::FuncDialect, linalg::LinalgDialect, math::MathDialect,
          scf::SCFDialect, tensor::TensorDialect, vector::VectorDialect>(
          op->getDialect()) &&
      !isa<bufferization::AllocTensorOp>(op))
    return op->emitOpError() << "cannot be computed in f64: not an op of "
                                "arith, cf, flashnorm, func, linalg, math, "
                                "scf, tensor or vector";
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    if (!promoteConstant(constant.getValue()))
      return op->emitOpError()
             << "cannot be computed in f64: value " << constant.getValue();
  return checkTypes(op);
}

namespace {
struct PromoteToF64 : ::flashnorm::impl::PromoteToF64PassBase<PromoteToF64> {
  void runOnOperation() override;
};
} // namespace

void PromoteToF64::runOnOperation() {
  bool canPromote = true;
  getOperation()->walk(
      [&](Operation *op) { canPromote &= succeeded(checkOp(op)); });
  if (!canPromote)
    return signalPassFailure();

  AttrTypeReplacer types;
  types.addReplacement([](FloatType type) -> Type {
    return Float64Type::get(type.getContext());
  });
  SmallVector<Operation *> casts;
  getOperation()->walk([&](Operation *op) {
    for (Value result : op->getResults())
      result.setType(types.replace(result.getType()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setType(types.replace(argument.getType()));
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      function.setType(types.replace(function.getFunctionType()));
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      if (TypedAttr value = promoteConstant(constant.getValue()))
        constant.setValueAttr(value);
    // So is a rounding, and the reference is of what was meant without.
    if (auto matmul = dyn_cast<MatmulOp>(op))
      matmul.removeRoundingsAttr();
    if (isa<arith::ExtFOp, arith::TruncFOp>(op))
      casts.push_back(op);
  });
  // Between f64 and f64 a cast is nothing.
  for (Operation *op : casts) {
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    op->erase();
  }
}
