//===- FlashNormOps.cpp - Verifiers and interfaces of the ops -------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace flashnorm;

#define GET_OP_CLASSES
#include "flashnorm/Dialect/FlashNorm/IR/FlashNormOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Shared by all ops
//===----------------------------------------------------------------------===//

static ShapedType shapedType(Value value) {
  return cast<ShapedType>(value.getType());
}

/// Inits, operands and results are all tensors or all memrefs, and each result
/// has the type of its init.
static LogicalResult verifyDestinationStyle(Operation *op) {
  auto dps = cast<DestinationStyleOpInterface>(op);
  bool isTensor = isa<TensorType>(dps.getDpsInits().front().getType());
  for (Value operand : op->getOperands())
    if (isa<TensorType>(operand.getType()) != isTensor)
      return op->emitOpError() << "mixes tensors and memrefs";
  for (Type type : op->getOperandTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && tensor.getEncoding())
      return op->emitOpError()
             << "takes tensors without encoding only, got " << tensor;
  unsigned expected = isTensor ? dps.getNumDpsInits() : 0;
  if (op->getNumResults() != expected)
    return op->emitOpError()
           << "needs " << expected << " results for " << dps.getNumDpsInits()
           << " " << (isTensor ? "tensor" : "memref") << " inits, got "
           << op->getNumResults();
  if (isTensor)
    for (auto [result, init] :
         llvm::zip_equal(op->getResults(), dps.getDpsInits()))
      if (result.getType() != init.getType())
        return op->emitOpError()
               << "result type " << result.getType()
               << " differs from the type of its init " << init.getType();
  return success();
}

static LogicalResult verifyVector(Operation *op, Value vector, int64_t length,
                                  StringRef name) {
  if (!vector)
    return success();
  ShapedType type = shapedType(vector);
  if (type.getRank() != 1 || type.getDimSize(0) != length)
    return op->emitOpError()
           << name << " must be a vector of " << length << ", got " << type;
  return success();
}

/// `value` has the dimensions `shape`; a dynamic size matches any.
static LogicalResult verifyShape(Operation *op, Value value,
                                 ArrayRef<int64_t> shape, StringRef name,
                                 StringRef of) {
  if (failed(verifyCompatibleShape(shapedType(value).getShape(), shape)))
    return op->emitOpError() << name << " " << value.getType()
                             << " does not have the shape of " << of;
  return success();
}

/// Dynamic sizes apart, `values` agree with each other in the first `rank`
/// dimensions, not only each with the input.
static LogicalResult verifyLeadingDims(Operation *op, ValueRange values,
                                       int64_t rank) {
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t known = ShapedType::kDynamic;
    for (Value value : values) {
      int64_t size = shapedType(value).getDimSize(dim);
      if (ShapedType::isDynamic(size))
        continue;
      if (!ShapedType::isDynamic(known) && known != size)
        return op->emitOpError() << "operands disagree in dimension " << dim
                                 << ": " << known << " and " << size;
      known = size;
    }
  }
  return success();
}

bool flashnorm::isEpsFor(const APFloat &eps, Type element) {
  APFloat value = eps;
  bool losesInfo;
  value.convert(element.isF64() ? APFloat::IEEEdouble() : APFloat::IEEEsingle(),
                APFloat::rmNearestTiesToEven, &losesInfo);
  return eps.isZero() || value.isNormal();
}

static LogicalResult verifyEps(Operation *op, const APFloat &eps,
                               Type element) {
  if (eps.isNegative() || !eps.isFinite())
    return op->emitOpError() << "eps must be finite and not negative, got "
                             << eps.convertToDouble();
  if (!isEpsFor(eps, element))
    return op->emitOpError() << "eps must be 0 or a normal number of "
                             << (element.isF64() ? "f64" : "f32") << ", got "
                             << eps.convertToDouble();
  return success();
}

static LogicalResult verifyStatistics(Operation *op, Value statistic,
                                      ShapedType inputType, StringRef name) {
  ShapedType type = shapedType(statistic);
  if (!type.getElementType().isF32() && !type.getElementType().isF64())
    return op->emitOpError() << name << " must be f32 or f64, got " << type;
  return verifyShape(op, statistic, inputType.getShape().drop_back(), name,
                     "the leading dimensions of the input");
}

static LogicalResult verifyRows(Operation *op, ShapedType type) {
  if (type.getRank() >= 1 && !ShapedType::isDynamic(type.getShape().back()) &&
      type.getShape().back() != 0)
    return success();
  return op->emitOpError()
         << "input must have a static last dimension that is not 0, got "
         << type;
}

/// The checks that both norm ops share.
template <typename NormOp>
static LogicalResult verifyNorm(NormOp op, unsigned maxInits) {
  if (op.getInits().empty() ||
      (op.getInits().size() != 1 && op.getInits().size() != maxInits))
    return op.emitOpError() << "needs 1 or " << maxInits << " inits, got "
                            << op.getInits().size();
  ShapedType type = shapedType(op.getInput());
  if (failed(verifyDestinationStyle(op)) || failed(verifyRows(op, type)) ||
      failed(verifyShape(op, op.getInits()[0], type.getShape(), "output",
                         "the input")) ||
      failed(
          verifyVector(op, op.getWeight(), type.getShape().back(), "weight")) ||
      failed(verifyEps(op, op.getEps(), type.getElementType())))
    return failure();
  for (Value statistic : op.getInits().drop_front())
    if (failed(verifyStatistics(op, statistic, type, "statistics")))
      return failure();
  return verifyLeadingDims(op, op.getInits(), type.getRank() - 1);
}

/// Reads of inputs and writes of inits, for the memref form.
static void getDpsEffects(
    DestinationStyleOpInterface op,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (op.hasPureTensorSemantics())
    return;
  for (OpOperand *input : op.getDpsInputOperands())
    if (isa<MemRefType>(input->get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), input,
                           SideEffects::DefaultResource::get());
  for (OpOperand &init : op.getDpsInitsMutable())
    if (isa<MemRefType>(init.get().getType()))
      effects.emplace_back(MemoryEffects::Write::get(), &init,
                           SideEffects::DefaultResource::get());
}

static LogicalResult reifyInitShapes(DestinationStyleOpInterface op,
                                     OpBuilder &builder,
                                     ReifiedRankedShapedTypeDims &shapes) {
  for (Value init : op.getDpsInits()) {
    if (!isa<RankedTensorType>(init.getType()))
      return failure();
    shapes.push_back(tensor::getMixedSizes(builder, op.getLoc(), init));
  }
  return success();
}

#define FLASHNORM_DPS_METHODS(OP)                                              \
  void OP::getEffects(                                                         \
      SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>      \
          &effects) {                                                          \
    getDpsEffects(cast<DestinationStyleOpInterface>(getOperation()), effects); \
  }                                                                            \
  Speculation::Speculatability OP::getSpeculatability() {                      \
    return cast<DestinationStyleOpInterface>(getOperation())                   \
                   .hasPureTensorSemantics()                                   \
               ? Speculation::Speculatable                                     \
               : Speculation::NotSpeculatable;                                 \
  }                                                                            \
  LogicalResult OP::reifyResultShapes(OpBuilder &builder,                      \
                                      ReifiedRankedShapedTypeDims &shapes) {   \
    return reifyInitShapes(cast<DestinationStyleOpInterface>(getOperation()),  \
                           builder, shapes);                                   \
  }

FLASHNORM_DPS_METHODS(RMSNormOp)
FLASHNORM_DPS_METHODS(LayerNormOp)
FLASHNORM_DPS_METHODS(RowStatisticsOp)
FLASHNORM_DPS_METHODS(MatmulOp)
FLASHNORM_DPS_METHODS(LaunchOp)
#undef FLASHNORM_DPS_METHODS

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult RMSNormOp::verify() { return verifyNorm(*this, 2); }

LogicalResult LayerNormOp::verify() {
  if (failed(verifyNorm(*this, 3)))
    return failure();
  return verifyVector(*this, getBias(),
                      shapedType(getInput()).getShape().back(), "bias");
}

LogicalResult RowStatisticsOp::verify() {
  if (getInits().empty() || getInits().size() > 2)
    return emitOpError() << "needs 1 or 2 inits, got " << getInits().size();
  ShapedType type = shapedType(getInput());
  if (failed(verifyDestinationStyle(*this)) || failed(verifyRows(*this, type)))
    return failure();
  if (failed(verifyEps(*this, getNorm().getEps().getValue(),
                       type.getElementType())))
    return failure();
  if (returnsMean() && getNorm().getKind() != NormKind::Layer)
    return emitOpError() << "returns a mean, which a layer norm has, not "
                         << stringifyNormKind(getNorm().getKind());
  for (Value statistic : getInits())
    if (failed(verifyStatistics(*this, statistic, type, "statistics")))
      return failure();
  return verifyLeadingDims(*this, getInits(), type.getRank() - 1);
}

/// (C8), (C9)
static LogicalResult verifyRoundings(MatmulOp op) {
  if (RoundingsAttr roundings = op.getRoundingsAttr())
    for (unsigned i = 0; i <= getMaxEnumValForEpilogueStep(); ++i)
      if (EpilogueStep step = EpilogueStep(i);
          roundings.getType(step) && !op.hasStep(step))
        return op.emitOpError()
               << "rounds behind a step that it does not have: "
               << stringifyEpilogueStep(step);
  if (Value scale = op.getOutputScale()) {
    ShapedType type = shapedType(scale);
    if (type.getRank() != 0 ||
        !(type.getElementType().isF32() || type.getElementType().isF64()))
      return op.emitOpError()
             << "output_scale must be one f32 or f64, got " << type;
  }
  if (std::optional<Type> type = op.getSaturate();
      type && !isa<Float16Type, Float8E4M3FNType, Float8E5M2Type>(*type))
    return op.emitOpError()
           << "saturates to the range of f16, f8E4M3FN or f8E5M2, got "
           << *type;
  if (op.returnsStatistics() && (op.getOutputScale() || op.getSaturate()))
    return op.emitOpError()
           << "has both statistics of its result and an output_scale or a "
              "saturation of it";
  for (auto [i, init] : llvm::enumerate(op.getInits()))
    if (Type type = getElementTypeOrSelf(init);
        type.getIntOrFloatBitWidth() == 8 && (i > 0 || op.returnsStatistics()))
      return op.emitOpError()
             << "stores y in 8 bits, and nothing else; init " << i
             << (i > 0 ? " is " : ", which has statistics, is ") << type;
  return success();
}

LogicalResult MatmulOp::verify() {
  unsigned minInits = returnsStatistics() ? 2 : 1;
  if (getInits().size() < minInits || getInits().size() > minInits + 1)
    return emitOpError() << "needs " << minInits << " or " << minInits + 1
                         << " inits, got " << getInits().size();
  if (failed(verifyDestinationStyle(*this)))
    return failure();
  ShapedType x = shapedType(getInput()), w = shapedType(getWeight());
  // (C1)
  if (x.getRank() < 2 || ShapedType::isDynamic(x.getShape().back()))
    return emitOpError() << "input must have rank 2 or more and a static last "
                            "dimension, got "
                         << x;
  if (w.getRank() != 2 || !w.hasStaticShape())
    return emitOpError() << "weight must be a static matrix, got " << w;
  if (getK() != x.getShape().back())
    return emitOpError() << "input contracts " << x.getShape().back()
                         << " elements but the weight " << getK();
  if (getK() == 0 || getN() == 0)
    return emitOpError() << "weight must not be empty, got " << w;
  if (x.getElementType() != w.getElementType())
    return emitOpError() << "input and weight differ in element type: "
                         << x.getElementType() << " and " << w.getElementType();
  // (C7)
  if (getGlu() && getN() % 2 != 0)
    return emitOpError() << "glu needs a gate for each value, got " << getN()
                         << " columns of the weight";
  // (C2)
  SmallVector<int64_t> shape(x.getShape().drop_back());
  shape.push_back(getResultColumns());
  StringRef rows =
      getGlu()
          ? "the input's leading dimensions with half of the weight's columns"
          : "the input's leading dimensions with the weight's columns";
  if (failed(verifyShape(*this, getInits()[0], shape, "output", rows)) ||
      (returnsSum() &&
       failed(verifyShape(*this, getInits()[1], shape, "sum", rows))) ||
      (getResidual() &&
       failed(verifyShape(*this, getResidual(), shape, "residual", rows))))
    return failure();
  // (C5), (C6)
  if (getRowScale() &&
      failed(verifyStatistics(*this, getRowScale(), x, "row_scale")))
    return failure();
  if (returnsStatistics() &&
      failed(verifyStatistics(*this, getInits().back(), x, "statistics")))
    return failure();
  SmallVector<Value> sameRows(getInits());
  for (Value operand : {getResidual(), getRowScale()})
    if (operand)
      sameRows.push_back(operand);
  if (failed(verifyLeadingDims(*this, sameRows, x.getRank() - 1)))
    return failure();
  // (C3)
  if (failed(verifyVector(*this, getColumnSums(), getN(), "column_sums")) ||
      failed(verifyVector(*this, getBias(), getN(), "bias")) ||
      failed(verifyVector(*this, getNormWeight(), getResultColumns(),
                          "norm_weight")) ||
      failed(
          verifyVector(*this, getNormBias(), getResultColumns(), "norm_bias")))
    return failure();
  if ((getNormWeight() || getNormBias()) && !getPostNorm())
    return emitOpError() << "norm_weight and norm_bias need a post_norm";
  if (getNormBias() && getPostNormAttr().getKind() != NormKind::Layer)
    return emitOpError() << "norm_bias needs a layer post_norm";
  // (C4)
  if (getColumnSums() &&
      (!getPreNorm() || getPreNormAttr().getKind() != NormKind::Layer))
    return emitOpError()
           << "column_sums need a layer pre_norm, whose mean they "
              "are multiplied with";
  for (NormAttr norm : {getPreNormAttr(), getPostNormAttr()})
    if (norm && failed(verifyEps(*this, norm.getEps().getValue(),
                                 Float32Type::get(getContext()))))
      return failure();
  if (getRowScale() && getPreNorm())
    return emitOpError() << "has both a row_scale and a pre_norm, which scale "
                            "the same rows";
  if (returnsStatistics() && getPostNorm())
    return emitOpError() << "has both statistics of its result and a post_norm";
  return verifyRoundings(*this);
}

bool MatmulOp::hasStep(EpilogueStep step) {
  switch (step) {
  case EpilogueStep::Product:
    return true;
  case EpilogueStep::Bias:
    return bool(getBias());
  case EpilogueStep::Activation:
    return getActivation() != Activation::None;
  case EpilogueStep::Glu:
    return getGlu().has_value();
  case EpilogueStep::Residual:
    return bool(getResidual());
  case EpilogueStep::Norm:
    return getPostNorm().has_value();
  case EpilogueStep::NormWeight:
    return bool(getNormWeight());
  case EpilogueStep::NormBias:
    return bool(getNormBias());
  }
  llvm_unreachable("all steps are listed");
}

EpilogueStep MatmulOp::getLastStep() {
  unsigned step = getMaxEnumValForEpilogueStep();
  while (!hasStep(EpilogueStep(step)))
    --step;
  return EpilogueStep(step);
}

LogicalResult LaunchOp::verify() {
  if (getInits().empty())
    return emitOpError() << "needs an init";
  if (failed(verifyDestinationStyle(*this)))
    return failure();
  for (auto [i, type] : llvm::enumerate(getOperandTypes()))
    if (auto memref = dyn_cast<MemRefType>(type))
      if (!isInGlobalMemory(memref))
        return emitOpError() << "operand " << i << " of type " << memref
                             << " is not in global memory, which is all that a "
                                "kernel can be given";
  return success();
}

bool flashnorm::isInGlobalMemory(MemRefType type) {
  Attribute space = type.getMemorySpace();
  if (!space)
    return true;
  if (auto gpuSpace = dyn_cast<gpu::AddressSpaceAttr>(space))
    return gpuSpace.getValue() == gpu::AddressSpace::Global;
  auto number = dyn_cast<IntegerAttr>(space);
  return number && (number.getValue().isZero() || number.getValue().isOne());
}
