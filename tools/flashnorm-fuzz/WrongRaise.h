//===- WrongRaise.h - Norms that are raised wrongly, on purpose -*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fuzzer that finds nothing may be blind. Each kind here is a mistake that a
// matcher of norms could make; the tests demand that the fuzzer finds it.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_FUZZ_WRONGRAISE_H
#define FLASHNORM_FUZZ_WRONGRAISE_H

#include "mlir/IR/BuiltinOps.h"

namespace flashnorm::fuzz {

enum class WrongRaise {
  None,
  DropsEpsilon,   ///< 1 / sqrt(mean)
  EpsilonOutside, ///< 1 / (sqrt(mean) + eps)
  WrongLength,    ///< the sum divided by N - 1
  DropsMean,      ///< squares and numerator not centred
  SwapsAffine,    ///< weight and bias
  SwapsStatistics ///< mean and reciprocal root, where they are read
};

/// Changes the norm ops of a raised program to what a raise with this mistake
/// would have made. Norms that the mistake does not show in are left alone.
void raiseWrongly(mlir::ModuleOp module, WrongRaise mistake);

} // namespace flashnorm::fuzz

#endif // FLASHNORM_FUZZ_WRONGRAISE_H
