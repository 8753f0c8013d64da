//===- Fiber.h - Stacks and switching between them --------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_MACHINE_FIBER_H
#define FLASHNORM_LIB_EMULATOR_MACHINE_FIBER_H

#include "llvm/Support/Error.h"
#include <cstddef>
#include <vector>

namespace flashnorm::emulator {

/// Where a fiber stopped.
using Context = void *;

/// What a fiber gets when it is resumed: who resumed it, and a word.
struct Switch {
  Context from;
  void *data;
};

/// Stacks of one size with a guard page below each. Given back and taken again;
/// unmapped with the pool.
class StackPool {
public:
  StackPool() = default;
  ~StackPool();
  StackPool(const StackPool &) = delete;
  StackPool &operator=(const StackPool &) = delete;

  /// The lowest usable byte, or null when memory has run out.
  char *take();
  void giveBack(char *stack) { unused.push_back(stack); }

  /// Bytes of a stack, without the guard page. Compiled code holds a kernel's
  /// registers in its frame, handlers some kilobytes more.
  static constexpr size_t stackSize = 256 * 1024;

private:
  std::vector<char *> unused, mapped;
};

/// A fiber that runs `entry` on `stack` when it is resumed first. `entry` does
/// not return: it resumes another fiber in the end.
Context makeFiber(char *stack, void (*entry)(Switch first));
/// Stops here and goes on at `to`; returns when this fiber is resumed.
/// `toStack` is the stack on which `to` runs, null for the host's. `ends`: this
/// fiber will not be resumed.
Switch resumeFiber(Context to, char *toStack, void *data, bool ends = false);
/// To be called first thing in a fiber's entry.
void enterFiber();

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_MACHINE_FIBER_H
