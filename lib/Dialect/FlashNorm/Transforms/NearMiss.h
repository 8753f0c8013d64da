//===- NearMiss.h - Why something is not a norm -----------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_NEARMISS_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_NEARMISS_H

#include <string>

namespace flashnorm {

/// The one condition that does not hold, by what it is about. RaiseNorms.cpp
/// counts each kind.
enum class MissReason {
  Between, // an op between the sum and the root
  Axis,    // what the sum runs over, and where the row lies in the tensor
  Length,  // of the row
  Start,   // of the sum
  Divisor, // of the sum
  Square,  // of what is summed
  Epsilon,
  Root,
  Centring, // of the squares or the numerator
  Product,  // of the numerator and the root
  Type
};

struct NearMiss {
  MissReason reason = MissReason::Product;
  std::string text;
};

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_NEARMISS_H
