//===- Random.h - Choices that a seed determines ----------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_FUZZ_RANDOM_H
#define FLASHNORM_FUZZ_RANDOM_H

#include "SplitMix64.h"
#include <cstdint>
#include <initializer_list>
#include <iterator>

namespace flashnorm::fuzz {

class Random : public run::SplitMix64 {
public:
  /// Case `index` of a run; cases do not depend on one another.
  Random(uint64_t seed, uint64_t index) : SplitMix64(mix(mix(seed) + index)) {}

  /// In [0, count).
  uint64_t below(uint64_t count) { return next() % count; }
  /// True in `percent` of 100 cases.
  bool chance(unsigned percent) { return below(100) < percent; }
  template <typename T> T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }
  /// One of the elements of a container that is not empty.
  template <typename C> auto &pickFrom(C &container) {
    return container[below(std::size(container))];
  }
};

} // namespace flashnorm::fuzz

#endif // FLASHNORM_FUZZ_RANDOM_H
