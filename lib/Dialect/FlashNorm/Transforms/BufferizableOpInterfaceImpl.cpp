//===- BufferizableOpInterfaceImpl.cpp - Tensors to buffers ---------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One-shot bufferization of the flashnorm ops: the tensor form becomes the
// memref form of the same op, which writes into the buffers of its inits.
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace flashnorm;

namespace {
/// Inputs are read and inits written, each result being its init's buffer. An
/// element of the output depends on whole rows of the inputs, so the two may
/// not share a buffer: the interface's defaults already say so.
template <typename OpTy>
struct DpsOpInterface
    : DstBufferizableOpInterfaceExternalModel<DpsOpInterface<OpTy>, OpTy> {
  /// What an init holds before the op is never read.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &state) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto dps = cast<DestinationStyleOpInterface>(op);
    if (dps.hasPureBufferSemantics())
      return success();
    if (!dps.hasPureTensorSemantics())
      return op->emitOpError() << "mixes tensors and memrefs";

    rewriter.setInsertionPoint(op);
    IRMapping buffers;
    for (Value operand : op->getOperands()) {
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      buffers.map(operand, *buffer);
    }
    SmallVector<Value> results = llvm::map_to_vector(
        dps.getDpsInits(), [&](Value init) { return buffers.lookup(init); });
    OperationState newOp(op->getLoc(), op->getName());
    newOp.addOperands(llvm::map_to_vector(
        op->getOperands(), [&](Value v) { return buffers.lookup(v); }));
    newOp.addAttributes(op->getDiscardableAttrDictionary().getValue());
    newOp.propertiesAttr = op->getPropertiesAsAttribute();
    rewriter.create(newOp);
    replaceOpWithBufferizedValues(rewriter, op, results);
    return success();
  }
};
} // namespace

void flashnorm::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, FlashNormDialect *dialect) {
    RMSNormOp::attachInterface<DpsOpInterface<RMSNormOp>>(*context);
    LayerNormOp::attachInterface<DpsOpInterface<LayerNormOp>>(*context);
    RowStatisticsOp::attachInterface<DpsOpInterface<RowStatisticsOp>>(*context);
    MatmulOp::attachInterface<DpsOpInterface<MatmulOp>>(*context);
    LaunchOp::attachInterface<DpsOpInterface<LaunchOp>>(*context);
  });
}
