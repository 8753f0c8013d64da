//===- Summary.h - What became of norms and matmuls -------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_PIPELINES_SUMMARY_H
#define FLASHNORM_PIPELINES_SUMMARY_H

#include "flashnorm/Pipelines/Artifacts.h"
#include "flashnorm/Pipelines/Remarks.h"
#include "mlir/IR/BuiltinOps.h"

namespace flashnorm {

/// Watches a module while it is compiled and counts in its IR, so that plans
/// written by hand and modules that were compiled before are reported like any
/// other. Remarks give the reasons.
class CompileSummary {
public:
  /// The module as it was read.
  void addInput(mlir::ModuleOp module);
  /// Between the fuse and the compile pipeline.
  void addPlanned(mlir::ModuleOp module);
  /// After the compile pipeline.
  void addCompiled(mlir::ModuleOp module,
                   const std::vector<Artifact> &artifacts);

  /// A table with a row for each norm and each matmul: where it stands, and
  /// what became of it: the kernel, or why there is none.
  void print(llvm::raw_ostream &os,
             const std::vector<CollectedRemark> &remarks) const;

private:
  struct Row {
    std::string location, text;
  };
  std::vector<std::string> plans;          ///< in the order of the module
  std::vector<mlir::Operation *> launches; ///< of earlier compilations
  std::vector<Row> compiled;               ///< launches, old ones too
  unsigned fusedInInput = 0, unfused = 0, unplanned = 0, kernels = 0;
};

} // namespace flashnorm

#endif // FLASHNORM_PIPELINES_SUMMARY_H
