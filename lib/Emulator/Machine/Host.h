//===- Host.h - What a running grid needs of the process --------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_MACHINE_HOST_H
#define FLASHNORM_LIB_EMULATOR_MACHINE_HOST_H

#include "Machine/Fiber.h"
#include "Machine/Machine.h"

namespace flashnorm::emulator {

/// Address space for the shared memory of clusters, 4 GiB each.
class WindowPool {
public:
  WindowPool() = default;
  ~WindowPool();
  WindowPool(const WindowPool &) = delete;
  WindowPool &operator=(const WindowPool &) = delete;

  static constexpr uint64_t windowSize = UINT64_C(1) << 32;

  /// A window whose first `numCtas` slots have `bytes` of memory, or null.
  char *take(unsigned numCtas, uint64_t bytes);
  void giveBack(char *window);

private:
  std::vector<char *> unused, mapped;
};

struct Machine::Host {
  Context runStream = nullptr; ///< of the caller of runStream
  Context scheduler = nullptr; ///< while a thread runs
  char *schedulerStack = nullptr;
  StackPool stacks;
  WindowPool windows;
};

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_MACHINE_HOST_H
