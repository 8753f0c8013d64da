//===- OperandCheck.cpp - What kernels can be given -----------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperandCheck.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace flashnorm;

namespace {
/// Where a packed memref lies in the buffer that it is a view of.
struct Extent {
  Value buffer;
  std::optional<int64_t> begin; ///< in bytes; none: not known
  std::optional<int64_t> bytes; ///< none: dynamic
};
} // namespace

static std::optional<int64_t> getBytes(MemRefType type) {
  if (!type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return std::nullopt;
  return type.getNumElements() *
         (type.getElementType().getIntOrFloatBitWidth() / 8);
}

/// Follows views to the buffer. A view that is packed begins where its source
/// does, unless it is a memref.view: any other offset would be in its type.
static Extent findExtent(Value memref) {
  Extent extent{memref, 0, getBytes(cast<MemRefType>(memref.getType()))};
  while (Operation *op = extent.buffer.getDefiningOp()) {
    auto viewLike = dyn_cast<ViewLikeOpInterface>(op);
    if (!viewLike || !isa<MemRefType>(viewLike.getViewSource().getType()))
      break;
    auto source = cast<MemRefType>(viewLike.getViewSource().getType());
    // Its offset may be anything.
    if (!cast<MemRefType>(extent.buffer.getType()).getLayout().isIdentity())
      extent.begin.reset();
    if (auto view = dyn_cast<memref::ViewOp>(op)) {
      APInt shift;
      if (extent.begin &&
          matchPattern(view.getByteShift(), m_ConstantInt(&shift)))
        extent.begin = *extent.begin + shift.getSExtValue();
      else
        extent.begin.reset();
    } else if (!source.getLayout().isIdentity()) {
      // Relative to a source that begins anywhere in its buffer.
      extent.begin.reset();
    }
    extent.buffer = viewLike.getViewSource();
  }
  return extent;
}

/// The two have an element in common, for certain.
static bool overlaps(const Extent &a, const Extent &b) {
  if (a.buffer != b.buffer || !a.begin || !b.begin || a.bytes == 0 ||
      b.bytes == 0)
    return false;
  if (*a.begin == *b.begin)
    return true;
  const Extent &first = *a.begin < *b.begin ? a : b;
  const Extent &second = *a.begin < *b.begin ? b : a;
  return first.bytes && *first.begin + *first.bytes > *second.begin;
}

/// Each element of the one is that element of the other.
static bool isSameArray(Value a, Value b) {
  auto typeA = cast<MemRefType>(a.getType()),
       typeB = cast<MemRefType>(b.getType());
  return typeA.getElementType() == typeB.getElementType() &&
         findExtent(a).begin == findExtent(b).begin;
}

static LogicalResult checkAliases(MatmulOp op) {
  for (OpOperand &init : op.getInitsMutable())
    for (OpOperand &other : op->getOpOperands()) {
      // Of two inits, the second one is checked against the first.
      if (other.getOperandNumber() >= init.getOperandNumber() ||
          !overlaps(findExtent(init.get()), findExtent(other.get())))
        continue;
      if (other.get() == op.getResidual() &&
          isSameArray(other.get(), init.get()))
        continue;
      return op.emitOpError()
             << "operand " << init.getOperandNumber()
             << ", which is written, shares memory with operand "
             << other.getOperandNumber()
             << "; kernels need an output of its own (the residual may be it)";
    }
  return success();
}

LogicalResult flashnorm::checkKernelOperands(MatmulOp op) {
  if (op.hasPureTensorSemantics())
    return success();
  for (OpOperand &operand : op->getOpOperands()) {
    auto memref = cast<MemRefType>(operand.get().getType());
    bool isMatrixInput = memref.getRank() > 1 && !op.isDpsInit(&operand);
    if (!memref.getLayout().isIdentity() &&
        !(isMatrixInput && memref.isStrided()))
      return op.emitOpError()
             << "kernels need packed operands; matrices that are only read may "
                "be strided; got "
             << memref;
    if (!isInGlobalMemory(memref))
      return op.emitOpError()
             << "kernels need operands in global memory, got " << memref;
  }
  return checkAliases(op);
}
