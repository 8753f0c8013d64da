//===- Inputs.h - Arguments for a function ----------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random and adversarial values, and values from files. Each element depends on
// the seed, the argument and its index only.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_RUN_INPUTS_H
#define FLASHNORM_RUN_INPUTS_H

#include "Options.h"
#include "flashnorm/Runtime/Array.h"

namespace flashnorm::run {

/// A function's argument. Negative sizes are dynamic.
struct ArgumentInfo {
  DataType type = DataType::F32;
  llvm::SmallVector<int64_t> shape;
  bool frozen = false;
};

/// Names that --input and --arg take, apart from files.
llvm::ArrayRef<llvm::StringRef> getInputKindNames();
bool isNpyFile(llvm::StringRef value);

/// Arguments as the options ask for them.
llvm::Expected<std::vector<Array>>
makeInputs(llvm::ArrayRef<ArgumentInfo> arguments, const Options &options);

} // namespace flashnorm::run

#endif // FLASHNORM_RUN_INPUTS_H
