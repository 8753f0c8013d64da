//===- OperandCheck.h - What kernels can be given ---------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_CONVERSION_FLASHNORMTOKERNEL_OPERANDCHECK_H
#define FLASHNORM_CONVERSION_FLASHNORMTOKERNEL_OPERANDCHECK_H

#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"

namespace flashnorm {

/// Memrefs are packed and in global memory, and no init shares memory with
/// another operand, as far as the views between them tell. The residual may be
/// the same array as an init. Errors name the operand.
mlir::LogicalResult checkKernelOperands(MatmulOp op);

} // namespace flashnorm

#endif // FLASHNORM_CONVERSION_FLASHNORMTOKERNEL_OPERANDCHECK_H
