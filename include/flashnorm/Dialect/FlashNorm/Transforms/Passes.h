//===- Passes.h - Tensor-level passes ---------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_PASSES_H
#define FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_PASSES_H

#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "mlir/Pass/Pass.h"

namespace flashnorm {
#define GEN_PASS_DECL
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"
} // namespace flashnorm

#endif // FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_PASSES_H
