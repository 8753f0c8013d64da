//===- Generator.h - Random programs with norms -----------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_FUZZ_GENERATOR_H
#define FLASHNORM_FUZZ_GENERATOR_H

#include "Random.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace flashnorm::fuzz {

/// A program to put through the passes.
struct Program {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Verifier-valid, but with what the passes may reject: plans by hand, ops of
  /// any kind.
  bool mayFail = false;
  bool mutant = false;   ///< of a program of the corpus
  bool nearMiss = false; ///< it deviates from a norm in some place
  /// Can be run, and its sizes agree: dynamic ones all have one value.
  bool executable = false;
  /// Constants were rounded to 16 bits, so that even in f64 two forms that mean
  /// the same may differ by such a rounding.
  bool roundedConstants = false;
};

/// Norms in all spellings and programs that are nearly norms, between matrix
/// products, residuals and activations.
Program generateProgram(mlir::MLIRContext &context, Random random);

} // namespace flashnorm::fuzz

#endif // FLASHNORM_FUZZ_GENERATOR_H
