//===- ManifestLaunch.h - Launches of our own kernels -----------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_EMULATE_MANIFESTLAUNCH_H
#define FLASHNORM_EMULATE_MANIFESTLAUNCH_H

#include "Arguments.h"

namespace flashnorm::emulate {

struct ManifestOptions {
  std::string file;
  std::string entry; ///< empty: all
  int64_t rows = 0;  ///< 0: as files say, or 128
  uint64_t seed = 0; ///< of random inputs
  /// "N:FILE.npy": read for an input, written for an output.
  std::vector<std::string> operands;
  EmulatorOptions emulator; ///< for the device that launches are made for
};

/// The launches that a manifest describes, inputs from files or normal numbers.
llvm::Expected<std::vector<LaunchRequest>>
readManifest(const ManifestOptions &options);

} // namespace flashnorm::emulate

#endif // FLASHNORM_EMULATE_MANIFESTLAUNCH_H
