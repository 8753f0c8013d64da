//===- HostProgram.h - Runs a module on the CPU -----------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module on tensors, lowered for the host and compiled in memory; its
// functions take and return arrays.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_RUN_HOSTPROGRAM_H
#define FLASHNORM_RUN_HOSTPROGRAM_H

#include "flashnorm/Runtime/Array.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <functional>

namespace llvm {
class Module;
} // namespace llvm

namespace mlir {
class ExecutionEngine;
namespace func {
class FuncOp;
} // namespace func
} // namespace mlir

namespace flashnorm::run {

/// Element type and rank of what a function takes or returns.
struct ValueInfo {
  DataType type;
  int64_t rank;
};
struct Signature {
  std::vector<ValueInfo> arguments, results;
};

/// Fails when the function takes or returns something other than ranked tensors
/// of floats, and names it.
llvm::Expected<Signature> getSignature(mlir::func::FuncOp function);

struct HostOptions {
  /// For much data. A program that runs once on little is sooner done without.
  bool optimize = true;
  /// Checks in the program, which end it with an error, that dynamic sizes fit.
  bool checkSizes = true;
};

class HostProgram {
public:
  /// Lowers `module`, in place, from linalg on tensors, and compiles it.
  /// `functions` can be called.
  static llvm::Expected<std::unique_ptr<HostProgram>>
  create(mlir::ModuleOp module, llvm::ArrayRef<llvm::StringRef> functions,
         const HostOptions &options = {});
  ~HostProgram();

  /// Calls a function on copies of the arguments. They are converted to the
  /// element types that the function takes.
  llvm::Expected<std::vector<Array>> call(llvm::StringRef function,
                                          llvm::ArrayRef<Array> arguments);

private:
  HostProgram() = default;

  llvm::StringMap<Signature> signatures;
  std::function<llvm::Error(llvm::Module *)> optimize;
  std::unique_ptr<mlir::ExecutionEngine> engine;
};

} // namespace flashnorm::run

#endif // FLASHNORM_RUN_HOSTPROGRAM_H
