//===- Passes.h - Conversions between levels --------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_CONVERSION_PASSES_H
#define FLASHNORM_CONVERSION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace flashnorm {
#define GEN_PASS_DECL
#include "flashnorm/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "flashnorm/Conversion/Passes.h.inc"
} // namespace flashnorm

#endif // FLASHNORM_CONVERSION_PASSES_H
