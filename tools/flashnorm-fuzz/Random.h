//===- Random.h - Choices that a seed determines ----------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_FUZZ_RANDOM_H
#define FLASHNORM_FUZZ_RANDOM_H

#include <cstdint>
#include <initializer_list>
#include <iterator>

namespace flashnorm::fuzz {

/// SplitMix64 (Steele, Lea and Flood, 2014). The same on every machine, unlike
/// the distributions of the standard library.
class Random {
public:
  /// Case `index` of a run; cases do not depend on one another.
  Random(uint64_t seed, uint64_t index) : state(mix(mix(seed) + index)) {}

  uint64_t next() {
    state += 0x9e3779b97f4a7c15;
    return mix(state);
  }
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

private:
  static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  uint64_t state;
};

} // namespace flashnorm::fuzz

#endif // FLASHNORM_FUZZ_RANDOM_H
