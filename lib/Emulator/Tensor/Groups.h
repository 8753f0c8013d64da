//===- Groups.h - What a thread has under way -------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_TENSOR_GROUPS_H
#define FLASHNORM_LIB_EMULATOR_TENSOR_GROUPS_H

#include "Machine/Async.h"

namespace flashnorm::emulator {

/// The groups of asynchronous operations of a thread.
struct TensorState {
  AsyncGroups copies;     ///< cp.async
  AsyncGroups bulkCopies; ///< cp.async.bulk with .bulk_group
  AsyncGroups products;   ///< wgmma
};

inline TensorState &getTensorState(Thread &thread) {
  if (!thread.tensor)
    thread.tensor = std::make_shared<TensorState>();
  return *thread.tensor;
}

/// Completes all groups but the newest `allowed`, and makes what they did
/// happen before what the thread does next. Returns the operations.
llvm::SmallVector<AsyncOpRef> waitForGroups(Thread &thread, AsyncGroups &groups,
                                            unsigned allowed);

/// When a thread exits: a bulk store that still reads the shared memory of its
/// CTA is a fault (ExitWithPending).
void checkGroupsAtExit(Thread &thread);

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_TENSOR_GROUPS_H
