//===- ActivationMatcher.h - Activations in every spelling ------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An expression of one scalar x is brought into a normal form: a polynomial in
// x and in functions of such polynomials. Activations are compared in that
// form, so that `x * (1 / (1 + exp(-x)))` and `x / (exp(0 - x) + 1)` are one.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_ACTIVATIONMATCHER_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_ACTIVATIONMATCHER_H

#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "llvm/ADT/SetVector.h"

namespace flashnorm {

/// The activation of x that `root` computes, x being the members of `inputs`.
/// `ops` receives the scalar ops that take part.
std::optional<Activation>
matchActivation(mlir::Value root, const llvm::SetVector<mlir::Value> &inputs,
                llvm::SetVector<mlir::Operation *> &ops);

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_ACTIVATIONMATCHER_H
