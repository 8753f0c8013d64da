//===- Groups.h - Waits for groups of copies --------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_TENSOR_GROUPS_H
#define FLASHNORM_LIB_EMULATOR_TENSOR_GROUPS_H

#include "Machine/Async.h"

namespace flashnorm::emulator {

/// Completes all groups but the newest `allowed`, and makes what they did
/// happen before what the thread does next. Returns the operations.
llvm::SmallVector<AsyncOpRef> waitForGroups(Thread &thread, AsyncGroups &groups,
                                            unsigned allowed);

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_TENSOR_GROUPS_H
