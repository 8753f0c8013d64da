//===- Reducer.h - Smaller programs with the same finding -------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_FUZZ_REDUCER_H
#define FLASHNORM_FUZZ_REDUCER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace flashnorm::fuzz {

/// Cuts off what comes after the finding, then what comes before it, as long as
/// `fails` holds for what is left. `module` has one function and fails.
mlir::OwningOpRef<mlir::ModuleOp>
reduce(mlir::ModuleOp module, llvm::function_ref<bool(mlir::ModuleOp)> fails);

} // namespace flashnorm::fuzz

#endif // FLASHNORM_FUZZ_REDUCER_H
