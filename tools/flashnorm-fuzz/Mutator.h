//===- Mutator.h - Programs that are nearly others --------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_FUZZ_MUTATOR_H
#define FLASHNORM_FUZZ_MUTATOR_H

#include "Generator.h"
#include <vector>

namespace flashnorm::fuzz {

/// Functions of existing tests, each with what it refers to.
class Corpus {
public:
  /// Reads all .mlir files under a folder, split at `// -----`. What does not
  /// parse is left out: tests of errors. Returns why there is nothing of the
  /// folder, or "".
  std::string read(mlir::MLIRContext &context, llvm::StringRef folder);

  bool empty() const { return programs.empty(); }
  size_t size() const { return programs.size(); }

  /// One of the programs with one to four changes, each of which the verifier
  /// accepts.
  Program mutate(Random random) const;

private:
  void add(mlir::ModuleOp module);

  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> programs;
};

/// A number of the program was rounded to 16 bits, or may have been.
bool hasRoundedConstants(mlir::ModuleOp module);

} // namespace flashnorm::fuzz

#endif // FLASHNORM_FUZZ_MUTATOR_H
