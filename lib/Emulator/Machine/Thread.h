//===- Thread.h - One emulated thread, CTA and cluster ----------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each thread of the grid is a fiber that runs the kernel's compiled code. A
// handler sees its thread; it may block it, which gives the processor to
// another fiber, and it may end the launch with a fault.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_MACHINE_THREAD_H
#define FLASHNORM_LIB_EMULATOR_MACHINE_THREAD_H

#include "Isa/Site.h"
#include "Machine/Clock.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace flashnorm::emulator {

class AsyncOp;
class Fiber;
class Machine;
struct Cluster;
struct Cta;

/// Kinds of faults; docs/Emulator.md explains each.
enum class FaultKind {
  OutOfBounds,
  Misaligned,
  BadDescriptor,
  BadTensorMap,
  Uninitialized,     ///< memory, register or accumulator
  ReadBeforeWait,    ///< of a result of an asynchronous instruction
  OverwriteInFlight, ///< of what an asynchronous operation still reads
  MissingProxyFence,
  DataRace,
  BarrierNotVisible, ///< an mbarrier used before its init is visible
  BarrierMisuse,     ///< overflow, tx mismatch, not an mbarrier, wrong counts
  Divergence,        ///< at an .aligned instruction
  PeerExited,        ///< shared memory of a CTA of the cluster that is gone
  ExitWithPending,   ///< exit with outstanding stores from shared memory
  RegisterBudget,    ///< setmaxnreg
  Deadlock,
  Livelock,
  Unsupported,        ///< legal PTX that the emulator does not do
  IllegalInstruction, ///< operands that PTX forbids
  Trap,               ///< trap, or a failed assertion
};
llvm::StringRef stringify(FaultKind kind); ///< "out-of-bounds"

/// A register that an asynchronous instruction (wgmma) reads or writes. It
/// lives in memory, where the operation finds it when it completes; the
/// translator guards each access with Thread::checkAsyncRegister.
struct AsyncRegister {
  uint32_t value = 0;
  /// Thread::fenceEpoch at the last write by an ordinary instruction; 0: none.
  uint32_t writtenIn = 0;
  /// The operation that will write, or reads, this register.
  AsyncOp *writer = nullptr;
  AsyncOp *reader = nullptr;
  bool initialized = false;
};

class Thread {
public:
  Machine &machine;
  Cta &cta;
  std::array<uint32_t, 3> tid{};
  uint32_t index = 0; ///< in the CTA: x fastest
  uint32_t lane = 0, warp = 0;
  uint32_t agent = 0; ///< its component in clocks

  /// What happened before, and what of it the async proxy sees.
  Clock clock, asyncClock;

  std::vector<AsyncRegister> asyncRegisters;
  uint32_t fenceEpoch = 1; ///< counts wgmma.fence
  /// Some asynchronous register has a writer or reader.
  uint32_t numPendingRegisters = 0;

  /// The memory behind .local, of this thread alone.
  std::vector<char> local;
  /// The site under way, for messages.
  const Site *site = nullptr;
  bool exited = false;

  /// Ends the launch. Does not return.
  [[noreturn]] void fault(FaultKind kind, const llvm::Twine &message,
                          llvm::ArrayRef<std::string> notes = {});

  /// Blocks until another fiber calls Machine::wake. `what` tells a deadlock
  /// report what this thread waits for and what would release it; it is called
  /// only for such a report.
  void block(llvm::function_ref<std::string()> what);
  /// Lets others run: at polls (nothing is known to have changed, so that all
  /// threads polling is a livelock) and, in a random schedule, elsewhere.
  void poll(llvm::function_ref<std::string()> what);
  /// A point where a random schedule may switch.
  void preempt();

  /// "CTA (0,0,0) warp 3 lane 5"
  std::string describe() const;
};

/// One of the threads that a converging instruction brought together.
struct Arrival {
  Thread *thread = nullptr; ///< null: lane is not in the mask
  uint64_t *words = nullptr;
};

/// Blocks until all lanes of `mask` of the thread's warp have come to this
/// site; the last one calls `execute` for all, with 32 arrivals by lane. An
/// exited lane of the mask, or two lanes with different masks, is a fault; so
/// is waiting for a lane that waits elsewhere (Divergence, found as a
/// deadlock).
void convergeWarp(Thread &thread, const Site &site, uint32_t mask,
                  uint64_t *words,
                  llvm::function_ref<void(llvm::ArrayRef<Arrival>)> execute);
/// The same for an .aligned instruction: all lanes of the warp that have not
/// exited must be in it; a lane of the warp that arrives at another site of an
/// .aligned instruction is Divergence at once.
void convergeAligned(Thread &thread, const Site &site, uint64_t *words,
                     llvm::function_ref<void(llvm::ArrayRef<Arrival>)> execute);
/// The same for the four warps of a warpgroup: 128 arrivals.
void convergeWarpgroup(
    Thread &thread, const Site &site, uint64_t *words,
    llvm::function_ref<void(llvm::ArrayRef<Arrival>)> execute);

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_MACHINE_THREAD_H
