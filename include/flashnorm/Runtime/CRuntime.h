//===- CRuntime.h - What compiled host code calls ---------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The flat C interface between host code that
// --convert-flashnorm-launch-to-runtime makes and the launcher.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_RUNTIME_CRUNTIME_H
#define FLASHNORM_RUNTIME_CRUNTIME_H

#include "flashnorm/Runtime/Launcher.h"

/// Runs the kernel "module::kernel". `operands` holds the number of operands
/// and then, for each operand of its manifest: the address of element 0, the
/// rank, the sizes, and the strides in elements.
///
/// Compiled code has no way to handle an error, so this returns in any case:
/// the first error is kept for takeLaunchError(), and later launches do
/// nothing.
extern "C" void flashnorm_launch(const char *kernel, const int64_t *operands);

namespace flashnorm {

/// The launcher behind flashnorm_launch on this thread; null: none. Does not
/// take ownership; forgets an earlier error.
void setCurrentLauncher(Launcher *launcher);

/// The first error of a launch since setCurrentLauncher, once.
llvm::Error takeLaunchError();

} // namespace flashnorm

#endif // FLASHNORM_RUNTIME_CRUNTIME_H
