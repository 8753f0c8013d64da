//===- Determinism.h - Programs that have one result ------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_FUZZ_DETERMINISM_H
#define FLASHNORM_FUZZ_DETERMINISM_H

#include "mlir/IR/BuiltinOps.h"

namespace flashnorm::fuzz {

/// Makes a program that mutation has left one that can be executed and has one
/// result: what it would read of uninitialised tensors becomes 0. False, where
/// that is not enough: other functions, sizes that are not known or too large,
/// ops that may be undefined, elements that are written twice.
bool makeDeterministic(mlir::ModuleOp module);

} // namespace flashnorm::fuzz

#endif // FLASHNORM_FUZZ_DETERMINISM_H
