//===- Artifacts.h - What comes out of a compiled module --------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_PIPELINES_ARTIFACTS_H
#define FLASHNORM_PIPELINES_ARTIFACTS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace flashnorm {

/// One gpu.binary of a module that `flashnorm-compile` went over.
struct Artifact {
  std::string name;                     ///< of the gpu.binary
  std::string chip;                     ///< "sm_90a"
  bool isText = true;                   ///< PTX; else machine code (cubin)
  std::string object;                   ///< the text or the code
  llvm::json::Value manifest = nullptr; ///< docs/LaunchABI.md
};

/// Fails, with an error at the op, on a gpu.binary without a manifest or with
/// other than one object.
mlir::FailureOr<std::vector<Artifact>> collectArtifacts(mlir::ModuleOp module);

/// Machine code for an artifact's PTX. None when there is no ptxas; an error
/// when `ptxas` or $FLASHNORM_PTXAS names one that cannot run, and when
/// assembling fails.
llvm::Expected<std::optional<std::string>>
assembleArtifact(const Artifact &artifact, llvm::StringRef ptxas = "");

/// Dictionaries, arrays, strings, integers and booleans as JSON; a unit
/// attribute is null.
llvm::json::Value toJSON(mlir::Attribute attr);

} // namespace flashnorm

#endif // FLASHNORM_PIPELINES_ARTIFACTS_H
