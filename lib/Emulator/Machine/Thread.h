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
struct ThreadGroups;
class Machine;
struct Cluster;
struct Cta;
struct WarpAccumulators;

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
  MissingWgmmaFence, ///< a register accessed since the last wgmma.fence
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
  /// Thread::fenceEpoch at the last access by an ordinary instruction; 0: none.
  uint32_t accessedIn = 0;
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

  /// What happened before, without the thread's own epochs, which follow: the
  /// current one, and those as of its last proxy fences and
  /// fence.mbarrier_init (0: none).
  View view;
  Epoch epoch = 1;
  Epoch asyncSharedEpoch = 0, asyncGlobalEpoch = 0, initEpoch = 0;
  Epoch tensorMapEpoch = 0;
  /// Where this agent's epochs begin: older ones belong to an earlier thread.
  Epoch firstEpoch = 1;
  /// What fences have released, for later relaxed operations of this thread to
  /// publish, and what its relaxed operations have observed, for a later fence
  /// to acquire (PTX ISA 8.8, release and acquire patterns); by scope.
  std::array<View, 4> released, observed;

  std::vector<AsyncRegister> asyncRegisters;
  uint32_t fenceEpoch = 1; ///< counts wgmma.fence
  /// Some asynchronous register has a writer or reader.
  uint32_t numPendingRegisters = 0;

  /// Groups of asynchronous operations (Machine/Async.h).
  std::unique_ptr<ThreadGroups> groups;
  /// Of lane 0: the accumulators that its warp's wgmma work on
  /// (Tensor/Wgmma.cpp); null: none so far.
  std::shared_ptr<WarpAccumulators> accumulators;

  /// The memory behind .local, of this thread alone.
  std::vector<char> local;
  std::vector<bool> localInitialized;
  /// The site under way, for messages.
  const Site *site = nullptr;
  bool exited = false;

  Thread(Machine &machine, Cta &cta);
  ~Thread();

  /// Ends the launch. Does not return.
  [[noreturn]] void fault(FaultKind kind, const llvm::Twine &message,
                          llvm::ArrayRef<std::string> notes = {});

  /// Blocks until another fiber calls Machine::wake. `what` tells a deadlock
  /// report what this thread waits for and what would release it; it is called
  /// only for such a report.
  void block(llvm::function_ref<std::string()> what);
  /// Lets others run until something may have changed. That all threads poll
  /// or block and nothing changes is a livelock; or a deadlock, when each
  /// suspends itself as mbarrier.try_wait does.
  void poll(llvm::function_ref<std::string()> what, bool suspends = false);
  /// A point where a random schedule may switch.
  void preempt();

  /// Adds what this thread knows, its current epoch included, to `into`.
  void publish(View &into) const;
  /// A release: publishes and begins the next epoch.
  void release(View &into);
  /// The same for threads that know much the same, faster.
  static void releaseAll(llvm::ArrayRef<Thread *> threads, View &into);
  /// Makes what `from` holds happen before what this thread does next.
  void acquire(const View &from) { view.join(from); }

  /// At the end: nothing may be left that needs this thread or its CTA.
  void checkExit();

  /// "CTA (0,0,0) warp 3 lane 5"
  std::string describe() const;

  /// Only the thread's own epochs, of what publish() adds.
  void publishOwn(View &into) const;

  // The scheduler's own.
  enum class State : uint8_t { Ready, Running, Blocked, Polling, Exited };
  State state = State::Ready;
  bool suspends = false;   ///< of Polling
  uint64_t pollTicket = 0; ///< of the poll under way
  void *context = nullptr;
  char *stack = nullptr;
  llvm::function_ref<std::string()> waitsFor = nullptr;
  /// Strong reads of the same place in a row: a loop that spins.
  uint32_t spins = 0;
  uint64_t spinsOn = 0;
  /// Accesses since it last gave way.
  uint32_t sinceSwitch = 0;
  /// At a barrier of the CTA and not released yet, and what bar.red then gives.
  bool atBarrier = false;
  uint32_t barrierResult = 0;
  /// The round of the cluster's barrier at which it has arrived, plus 1; 0: it
  /// has waited since.
  uint64_t clusterRound = 0;
  /// mbarrier and phase of the last try_wait that returned false.
  uint64_t lastTryWait = 0;
};

/// One of the threads that a converging instruction brought together.
struct Arrival {
  Thread *thread = nullptr; ///< null: lane is not in the mask
  uint64_t *words = nullptr;
};

/// Blocks until all lanes of `mask` of the thread's warp have come to this
/// site; the last one calls `execute` for all, with 32 arrivals by lane. Lanes
/// that have exited or never were do not count (their arrival is null); two
/// lanes with different masks that overlap are a fault; so is waiting for a
/// lane that waits elsewhere (Divergence, found as a deadlock).
void convergeWarp(Thread &thread, const Site &site, uint32_t mask,
                  uint64_t *words,
                  llvm::function_ref<void(llvm::ArrayRef<Arrival>)> execute);
/// The same for an .aligned instruction: all lanes of the warp that have not
/// exited must be in it; a lane of the warp that arrives at another site of an
/// .aligned instruction is Divergence at once. When a lane exits while others
/// wait, `execute` may run in its fiber.
void convergeAligned(Thread &thread, const Site &site, uint64_t *words,
                     llvm::function_ref<void(llvm::ArrayRef<Arrival>)> execute);
/// The same for the four warps of a warpgroup: 128 arrivals.
void convergeWarpgroup(
    Thread &thread, const Site &site, uint64_t *words,
    llvm::function_ref<void(llvm::ArrayRef<Arrival>)> execute);

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_MACHINE_THREAD_H
