//===- Passes.h - Puts a program through the passes -------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_FUZZ_PASSES_H
#define FLASHNORM_FUZZ_PASSES_H

#include "Generator.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringMap.h"
#include <optional>

namespace flashnorm::fuzz {

/// Something that should not happen.
struct Finding {
  std::string kind;    ///< "verifier"
  std::string where;   ///< the pass
  std::string message; ///< on one line
};

/// What a worker is at, in memory that outlives it.
struct Progress {
  uint64_t index;          ///< of the case
  char where[64];          ///< the pass, or what else is being done
  uint64_t cases, mutated; ///< gone through; of these, mutants
  uint64_t norms;          ///< raised
  uint64_t fused;          ///< matmuls that were fused with a norm
  uint64_t planned;        ///< matmuls with a plan
  uint64_t kernels;        ///< programs compiled to device code
  uint64_t rejected;       ///< with an error, as programs may be
  uint64_t executed;       ///< and compared
  uint64_t executedFused;  ///< of these, with a fused op
  uint64_t executedNearMisses, executedMutants;
  uint64_t findings;
  uint64_t unwritten;  ///< files of findings
  uint64_t upstream;   ///< crashes with nothing of ours on the stack
  int64_t ownFrames;   ///< functions of ours that called the pass manager
  int64_t crashFrames; ///< and that were on the stack of a crash

  void setWhere(llvm::StringRef name);
};

/// How many functions of this program are on the stack. The MLIR dylib's are
/// not of it: where that crashes by itself, the bug is not ours.
int64_t countOwnFrames();

/// Runs pipelines that are kept from case to case, with the verifier after each
/// pass.
class PassRunner {
public:
  PassRunner(mlir::MLIRContext &context, Progress &progress);
  ~PassRunner();

  /// What goes before FlashNorm: now and then some of upstream's passes.
  void prepare(mlir::ModuleOp module, Random &random);
  /// Raises, fuses, plans, lowers; in whole pipelines and pass by pass.
  std::optional<Finding> check(const Program &program, Random &random);

  /// Runs one pipeline; `mayReject` says whether it may end with an error.
  /// Returns false when it failed, with or without a finding.
  bool run(llvm::StringRef pipeline, mlir::ModuleOp module, bool mayReject,
           std::optional<Finding> &finding);

private:
  class Watch;
  mlir::PassManager &get(llvm::StringRef pipeline);

  mlir::MLIRContext &context;
  Progress &progress;
  llvm::StringMap<std::unique_ptr<mlir::PassManager>> managers;
  std::optional<Finding> invalid; ///< what the verifier said
  std::string lastPass, lastError;
};

} // namespace flashnorm::fuzz

#endif // FLASHNORM_FUZZ_PASSES_H
