//===- SplitMix64.h - Random numbers that a seed determines -----*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_RUN_SPLITMIX64_H
#define FLASHNORM_RUN_SPLITMIX64_H

#include <cstdint>

namespace flashnorm::run {

/// SplitMix64 (Steele, Lea and Flood, 2014). The same on every machine, unlike
/// the distributions of the standard library.
class SplitMix64 {
public:
  explicit SplitMix64(uint64_t state) : state(state) {}

  uint64_t next() {
    state += 0x9e3779b97f4a7c15;
    return mix(state);
  }
  /// A hash, to make states of what tells streams apart.
  static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

private:
  uint64_t state;
};

} // namespace flashnorm::run

#endif // FLASHNORM_RUN_SPLITMIX64_H
