//===- Register.h - Everything FlashNorm adds to MLIR -----------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_REGISTER_H
#define FLASHNORM_REGISTER_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace flashnorm {

/// What a tool says to --version: FlashNorm's version, and LLVM's.
void printVersion(llvm::raw_ostream &os);

/// Adds FlashNorm's dialects and the interfaces that its passes rely on.
void registerDialects(mlir::DialectRegistry &registry);

/// Adds the upstream dialects that exporters write, and what the pipelines ask
/// of them. A tool that reads programs needs no more; registering all of MLIR
/// would more than double its size when it is linked statically.
void registerProgramDialects(mlir::DialectRegistry &registry);

/// Adds FlashNorm's passes and pipelines to the global pass registry.
void registerPasses();

} // namespace flashnorm

#endif // FLASHNORM_REGISTER_H
