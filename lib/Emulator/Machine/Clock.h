//===- Clock.h - Who knows of what ------------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector clocks over agents: the threads of the resident clusters, and each
// asynchronous operation under way. A clock holds for each agent the newest of
// its epochs that happened before. Most clocks differ from others in a few
// components, so a clock is a shared immutable vector plus a short list.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_MACHINE_CLOCK_H
#define FLASHNORM_LIB_EMULATOR_MACHINE_CLOCK_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <memory>
#include <vector>

namespace flashnorm::emulator {

using Epoch = uint32_t;

class Clock {
public:
  Epoch get(uint32_t agent) const;
  void set(uint32_t agent, Epoch epoch); ///< only upwards
  void join(const Clock &other);
  void clear();

private:
  std::shared_ptr<const std::vector<Epoch>> base;
  llvm::SmallVector<std::pair<uint32_t, Epoch>, 4> changes;
};

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_MACHINE_CLOCK_H
