//===- KernelSkeleton.h - The kernel of one flashnorm.matmul ----*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef LIB_CONVERSION_FLASHNORMTOKERNEL_KERNELSKELETON_H
#define LIB_CONVERSION_FLASHNORMTOKERNEL_KERNELSKELETON_H

#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "flashnorm/Dialect/Kernel/IR/Kernel.h"
#include "mlir/IR/Builders.h"

namespace flashnorm {

/// Builds the kernel for `op` at the builder's insertion point, from its plan.
/// Operands of the kernel are those of the op in order, inputs then inits, each
/// collapsed to rows and columns. The same text serves every MMA family.
kernel::FuncOp buildKernel(mlir::OpBuilder &builder, MatmulOp op,
                           llvm::StringRef name);

} // namespace flashnorm

#endif // LIB_CONVERSION_FLASHNORMTOKERNEL_KERNELSKELETON_H
