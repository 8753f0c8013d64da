//===- Options.h - Command line of flashnorm-run ----------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_RUN_OPTIONS_H
#define FLASHNORM_RUN_OPTIONS_H

#include "flashnorm/Emulator/Emulator.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace flashnorm::run {

enum class DeviceKind {
  Auto, ///< CUDA, or without a GPU Emulator
  CPU,
  Emulator,
  CUDA
};

struct Options {
  std::string input;
  std::string entry; ///< empty: the only public function
  DeviceKind device = DeviceKind::Auto;
  bool compare = true;
  uint64_t seed = 0;
  std::string values = "normal"; ///< of arguments that are not frozen
  std::map<int64_t, std::string> arguments; ///< values of single arguments
  std::optional<int64_t> rows;
  std::optional<double> tolerance;
  std::string chip; ///< empty: the device's, or sm_90a
  std::string family = "auto";
  std::string passes; ///< in place of fusing; empty: none
  std::string output; ///< directory, or empty
  bool checkGuards = false;
  int64_t timeRepetitions = 0;
  EmulatorOptions emulator;
};

/// Reads the command line; --help ends the program. Errors
/// list what is legal.
llvm::Expected<Options> parseOptions(int argc, char **argv);

} // namespace flashnorm::run

#endif // FLASHNORM_RUN_OPTIONS_H
