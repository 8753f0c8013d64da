//===- FlashNorm.h - The flashnorm dialect ----------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_DIALECT_FLASHNORM_IR_FLASHNORM_H
#define FLASHNORM_DIALECT_FLASHNORM_IR_FLASHNORM_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "flashnorm/Dialect/FlashNorm/IR/FlashNormDialect.h.inc"
#include "flashnorm/Dialect/FlashNorm/IR/FlashNormEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "flashnorm/Dialect/FlashNorm/IR/FlashNormAttrs.h.inc"

#define GET_OP_CLASSES
#include "flashnorm/Dialect/FlashNorm/IR/FlashNormOps.h.inc"

namespace flashnorm {
/// Kernels can address the memref: its memory space is none, 1 (as in NVVM) or
/// #gpu.address_space<global>.
bool isInGlobalMemory(mlir::MemRefType type);

/// `eps` is 0 or a normal number in the type that norms of `element` compute
/// in: f32, or f64 for that.
bool isEpsFor(const llvm::APFloat &eps, mlir::Type element);

/// Lets one-shot bufferization handle the ops of this dialect.
void registerBufferizableOpInterfaceExternalModels(
    mlir::DialectRegistry &registry);
} // namespace flashnorm

#endif // FLASHNORM_DIALECT_FLASHNORM_IR_FLASHNORM_H
