//===- Executor.h - Runs programs before and after fusion -------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_FUZZ_EXECUTOR_H
#define FLASHNORM_FUZZ_EXECUTOR_H

#include "Passes.h"
#include "WrongRaise.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace flashnorm::fuzz {

/// Compiles programs for the CPU, many at a time, and compares four forms of
/// each: as written and fused, both in f64 and, now and then, in their own
/// types.
///
/// In f64 there is next to no rounding: the fused form has to compute what the
/// original does. In their own types, the fused form may not be much less
/// accurate.
class Executor {
public:
  /// With a `mistake`, norms are raised wrongly, and findings are expected.
  Executor(mlir::MLIRContext &context, Progress &progress, uint64_t seed,
           WrongRaise mistake)
      : context(context), progress(progress), seed(seed), mistake(mistake) {}

  /// Takes a copy of an executable program.
  void add(const Program &program, uint64_t index);
  size_t size() const { return batch.size(); }

  struct Result {
    uint64_t index;
    Finding finding;
  };
  /// Runs the programs that were added.
  std::vector<Result> run();
  /// Runs one program by itself. Counts nothing.
  std::optional<Finding> check(const Program &program, uint64_t index,
                               bool ownTypes);

private:
  struct Case {
    uint64_t index;
    mlir::OwningOpRef<mlir::ModuleOp> module;
    bool roundedConstants, nearMiss, mutant;
  };
  /// One form of each of several programs, and how to call them.
  struct Forms;

  static Case makeCase(const Program &program, uint64_t index);
  void run(llvm::MutableArrayRef<Case> cases, bool ownTypes,
           std::vector<Result> &results);
  llvm::Error compile(Forms &forms, bool ownTypes);
  llvm::Error compare(const Case &each, const Forms &forms, size_t i,
                      std::vector<Result> &results);

  mlir::MLIRContext &context;
  Progress &progress;
  uint64_t seed;
  WrongRaise mistake;
  bool counts = true;
  uint64_t numBatches = 0;
  std::vector<Case> batch;
};

} // namespace flashnorm::fuzz

#endif // FLASHNORM_FUZZ_EXECUTOR_H
