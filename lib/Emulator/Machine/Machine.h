//===- Machine.h - The scheduler and what it runs ---------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_MACHINE_MACHINE_H
#define FLASHNORM_LIB_EMULATOR_MACHINE_MACHINE_H

#include "Machine/Async.h"
#include "Machine/Thread.h"
#include "flashnorm/Emulator/Emulator.h"

namespace flashnorm::emulator {

/// What the translator makes of an entry: the code that each thread runs, and
/// what it needs.
struct Kernel {
  std::string name;
  void (*code)(Thread *thread) = nullptr;
  uint32_t numAsyncRegisters = 0;
  uint32_t localBytes = 0;  ///< .local per thread
  uint32_t sharedBytes = 0; ///< static .shared; dynamic follows it
  uint32_t dynamicSharedAlign = 16;
  uint32_t paramBytes = 0;
  const ptx::Function *function = nullptr;
};

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_MACHINE_MACHINE_H
