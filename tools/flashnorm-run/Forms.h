//===- Forms.h - What the forms of a program have in common -----*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_RUN_FORMS_H
#define FLASHNORM_RUN_FORMS_H

#include "HostProgram.h"
#include "Inputs.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace flashnorm::run {

/// What a function takes.
llvm::Expected<std::vector<ArgumentInfo>>
getArguments(mlir::func::FuncOp function);

/// "`what` failed" when the pipeline does.
llvm::Error runPipeline(mlir::ModuleOp module, llvm::StringRef what,
                        llvm::function_ref<void(mlir::OpPassManager &)> build);

/// Which prepared weights a fused entry takes, and from what they are made.
struct Preparation {
  std::string function;          ///< empty: none
  std::vector<int64_t> sources;  ///< per argument of it, an entry argument
  std::vector<int64_t> prepared; ///< per appended entry argument, a result
};

/// Of an entry that took `numInputs` arguments before it was fused.
llvm::Expected<Preparation> getPreparation(mlir::ModuleOp module,
                                           mlir::func::FuncOp entry,
                                           int64_t numInputs);

/// Prepares the weights and calls the entry with them.
llvm::Expected<std::vector<Array>> callPrepared(HostProgram &program,
                                                llvm::StringRef entry,
                                                const Preparation &preparation,
                                                llvm::ArrayRef<Array> inputs);

} // namespace flashnorm::run

#endif // FLASHNORM_RUN_FORMS_H
