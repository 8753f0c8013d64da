//===- Cta.h - CTAs and clusters --------------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_MACHINE_CTA_H
#define FLASHNORM_LIB_EMULATOR_MACHINE_CTA_H

#include "Machine/Allocations.h"
#include "Machine/MBarrier.h"
#include "Machine/Thread.h"
#include "llvm/ADT/SmallVector.h"
#include <bitset>
#include <map>

namespace flashnorm::emulator {

/// Threads that have come to a converging instruction and wait for the rest.
struct Meeting {
  const Site *site = nullptr;
  bool aligned = false;
  uint32_t firstThread = 0;  ///< in the CTA
  std::bitset<128> expected; ///< of the threads from firstThread
  std::bitset<128> arrived;
  llvm::SmallVector<Arrival, 32> arrivals;
  llvm::function_ref<void(llvm::ArrayRef<Arrival>)> execute;
};

/// A barrier of bar.sync and its kin (PTX ISA 9.7.13.1).
struct Barrier {
  uint32_t arrived = 0;  ///< threads, in this round
  uint32_t expected = 0; ///< threads
  bool allThreads = false;
  /// What the arrivals of this round know.
  View view;
  std::vector<Thread *> waiting;
  // bar.red, of this round.
  uint32_t count = 0;
  bool all = true, any = false;
};

/// A cluster's barrier (PTX ISA 9.7.13.3): arrive and wait apart.
struct ClusterBarrier {
  uint64_t round = 0;
  uint32_t arrived = 0;
  View view, lastView;
  std::vector<Thread *> waiting;
};

struct Grid;
struct Kernel;

struct Cta {
  Machine &machine;
  Cluster &cluster;
  std::array<uint32_t, 3> id{};          ///< %ctaid
  std::array<uint32_t, 3> idInCluster{}; ///< %cluster_ctaid
  uint32_t index = 0;                    ///< in all grids: x fastest
  uint32_t rank = 0;                     ///< in the cluster: x fastest
  std::vector<std::unique_ptr<Thread>> threads;
  uint32_t live = 0; ///< threads that have not exited
  bool exited() const { return live == 0; }
  /// griddepcontrol.launch_dependents, by any of its threads.
  bool launchedDependents = false;

  /// Shared memory, from offset 0; the first Kernel::sharedStart bytes fault.
  MemoryBlock shared;
  /// The shared::cluster address of offset 0: rank << 24.
  uint32_t sharedBase() const { return rank << 24; }
  std::map<uint32_t, MBarrier> mbarriers; ///< by offset in `shared`
  /// The range of offsets that holds them all; saves looking.
  uint32_t mbarriersBegin = UINT32_MAX, mbarriersEnd = 0;

  std::array<Barrier, 16> barriers;
  std::vector<std::unique_ptr<Meeting>> meetings, freeMeetings;
  std::vector<uint32_t> exitedLanes; ///< by warp
  /// setmaxnreg (PTX ISA 9.7.19.5): registers per thread by warp, and the pool.
  std::vector<uint32_t> warpRegisters;
  uint32_t freeRegisters = 0; ///< of threads: registers times 32 per warp
  std::vector<Thread *> waitingForRegisters;
  void startRegisters(const Kernel &kernel, uint32_t numThreads);

  /// What the exited threads knew, and the last access of each agent of another
  /// CTA: exit must happen after all of them.
  View exitView;
  struct PeerAccess {
    Epoch epoch = 0;
    const Site *site = nullptr;
    /// The round of the cluster's barrier that ends after it; 0: of an
    /// operation, which no barrier waits for.
    uint64_t round = 0;
  };
  std::map<uint32_t, PeerAccess> peerAccesses;
  /// The last round of the cluster's barrier that a thread has waited for.
  uint64_t waitedRound = 0;
  /// A fault if the CTA has exited and the access comes from another one.
  void checkAlive(Thread &thread, AsyncOp *op) const;
  /// `thread`, or an operation that it issued, accesses this CTA's memory.
  void notePeer(const Thread &thread, uint32_t agent, Epoch epoch,
                const Site *site);
  /// When the last thread exits.
  void checkPeers(Thread &last);

  /// What acquires of a tensor map by threads of the CTA
  /// (fence.proxy.tensormap) have made visible to the tensormap proxy, by its
  /// address.
  std::map<uint64_t, Clock> tensorMaps;

  Cta(Machine &machine, Cluster &cluster, char *sharedBytes, uint64_t size)
      : machine(machine), cluster(cluster), shared(sharedBytes, size) {}
};

struct Cluster {
  Machine &machine;
  Grid &grid;
  uint32_t index = 0; ///< in all grids
  std::array<uint32_t, 3> id{};
  char *window = nullptr; ///< aligned to 4 GiB
  std::vector<std::unique_ptr<Cta>> ctas;
  uint32_t live = 0; ///< threads
  uint32_t firstAgent = 0, numAgents = 0;
  ClusterBarrier barrier;

  Cluster(Machine &machine, Grid &grid) : machine(machine), grid(grid) {}
};

/// An exiting thread does not keep those waiting that only wait for it.
void leaveMeetings(Thread &thread); // Converge.cpp
void leaveBarriers(Thread &thread); // Barriers.cpp

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_MACHINE_CTA_H
