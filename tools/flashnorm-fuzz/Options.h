//===- Options.h - Options of flashnorm-fuzz --------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_FUZZ_OPTIONS_H
#define FLASHNORM_FUZZ_OPTIONS_H

#include "WrongRaise.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/CommandLine.h"
#include <cstdint>
#include <string>

namespace flashnorm::fuzz {

extern llvm::cl::OptionCategory category;
extern llvm::cl::opt<uint64_t> seed, cases, first, maxFindings;
extern llvm::cl::opt<unsigned> execute, mutants, caseLimit, seconds;
extern llvm::cl::list<std::string> corpusFolders;
extern llvm::cl::opt<std::string> output, replay, wrongRaiseName;
extern llvm::cl::opt<bool> reduceFindings, replayMutant, print, inProcess;
extern WrongRaise wrongRaise; ///< that wrongRaiseName names

/// Says what is wrong, and is the exit code for it.
int fail(const llvm::Twine &message);

/// Checks the options by themselves and together, and sets those that others
/// decide; false after an error.
bool checkOptions();

/// Makes the folder of --output, if there is one, and writes there on trial;
/// false after an error.
bool makeOutput();

} // namespace flashnorm::fuzz

#endif // FLASHNORM_FUZZ_OPTIONS_H
