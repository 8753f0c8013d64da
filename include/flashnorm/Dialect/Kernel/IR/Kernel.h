//===- Kernel.h - The kernel dialect ----------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_DIALECT_KERNEL_IR_KERNEL_H
#define FLASHNORM_DIALECT_KERNEL_IR_KERNEL_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "flashnorm/Dialect/Kernel/IR/KernelDialect.h.inc"
#include "flashnorm/Dialect/Kernel/IR/KernelEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "flashnorm/Dialect/Kernel/IR/KernelAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "flashnorm/Dialect/Kernel/IR/KernelTypes.h.inc"

#define GET_OP_CLASSES
#include "flashnorm/Dialect/Kernel/IR/KernelOps.h.inc"

#endif // FLASHNORM_DIALECT_KERNEL_IR_KERNEL_H
