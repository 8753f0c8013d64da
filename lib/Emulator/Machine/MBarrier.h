//===- MBarrier.h - Barriers in shared memory -------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.13.15. The state lives beside shared memory; the eight bytes of
// an mbarrier are opaque to everything else.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_MACHINE_MBARRIER_H
#define FLASHNORM_LIB_EMULATOR_MACHINE_MBARRIER_H

#include "Machine/Async.h"
#include "Machine/Memory.h"

namespace flashnorm::emulator {

struct MBarrier {
  static constexpr uint32_t maxCount = (1u << 20) - 1; ///< 9.7.13.15.2

  uint64_t phase = 0;    ///< that is under way
  uint32_t expected = 0; ///< arrivals, of the next phase
  uint32_t pending = 0;  ///< arrivals, of this phase
  int64_t txCount = 0;   ///< bytes that are still to come
  /// Who initialised it, for visibility.
  uint32_t initAgent = 0;
  Epoch initEpoch = 0;
  /// Releases of this phase and of the last; by scope and CTA of the arrivals.
  struct Release {
    Scope scope;
    uint32_t cta; ///< in all grids
    View view;
    bool byOp = false; ///< by an asynchronous operation
  };
  llvm::SmallVector<Release, 1> releases, lastReleases;
  /// Copies whose bytes this phase has counted.
  struct Delivery {
    AsyncOpRef op;
    uint64_t bytes;
  };
  llvm::SmallVector<Delivery, 2> deliveries;
  std::vector<Thread *> waiting;
};

/// The transaction of an asynchronous operation is complete by `bytes`: done
/// with release at cluster scope. `address` is .shared::cluster, as `space`
/// says, of the operation's cluster.
void completeTx(AsyncOp &op, uint32_t address, uint64_t bytes);

/// Checks that `address` is an mbarrier that `thread`, and an asynchronous
/// operation that it issues, may use.
void checkMBarrier(Thread &thread, uint32_t address, bool forAsync);

/// cp.async.mbarrier.arrive without .noinc adds a pending arrival when issued;
void addPending(Thread &thread, uint32_t address);
/// and with or without arrives when the thread's copies are complete. What the
/// operation knows, its own writes included, is released.
void arrive(AsyncOp &op, uint32_t address);

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_MACHINE_MBARRIER_H
