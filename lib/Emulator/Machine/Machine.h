//===- Machine.h - The scheduler and what it runs ---------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_MACHINE_MACHINE_H
#define FLASHNORM_LIB_EMULATOR_MACHINE_MACHINE_H

#include "Machine/Allocations.h"
#include "Machine/Async.h"
#include "Machine/Cta.h"
#include "Machine/Thread.h"
#include "flashnorm/Emulator/Emulator.h"
#include "llvm/Support/MathExtras.h"
#include <deque>
#include <optional>
#include <random>
#include <unordered_map>

namespace flashnorm::emulator {

/// What the translator makes of an entry: the code that each thread runs, and
/// what it needs.
struct Kernel {
  std::string name;
  void (*code)(Thread *thread) = nullptr;
  uint32_t numAsyncRegisters = 0;
  uint32_t localBytes = 0;  ///< .local per thread
  uint32_t sharedBytes = 0; ///< static .shared; dynamic follows it
  uint32_t dynamicSharedAlign = 16;
  uint32_t paramBytes = 0;
  /// .maxnreg, .reqntid, .minnctapersm bound the registers of setmaxnreg.
  std::optional<uint32_t> maxRegisters, minCtasPerSm;
  /// .explicitcluster or .reqnctapercluster.
  bool explicitCluster = false;
  const ptx::Function *function = nullptr;
  /// Names of the files that ptx::Location::file counts; [0] unused.
  llvm::ArrayRef<std::string> files;

  /// Static shared memory starts here in a CTA's shared memory, so that address
  /// 0 is nobody's.
  static constexpr uint32_t sharedStart = 1024;
  uint32_t dynamicSharedStart() const {
    return llvm::alignTo(sharedStart + sharedBytes,
                         std::max(dynamicSharedAlign, 16u));
  }
};

/// A grid of a stream, and how far it has come.
struct Grid {
  const Kernel &kernel;
  EmulatorLaunch shape;
  /// The kernel's parameters as they lie in .param space, paramBytes long.
  std::vector<char> params;
  uint64_t paramsAddress = 0; ///< while it runs

  /// Numbers of its first CTA and cluster among those of all grids.
  uint32_t firstCta = 0, firstCluster = 0;
  uint32_t numClusters = 0, nextCluster = 0, endedClusters = 0;
  /// CTAs that have neither launched dependents nor exited.
  uint32_t ctasBeforeLaunch = 0;
  bool ended() const { return endedClusters == numClusters; }
  /// What all its threads and operations knew and did; complete when it ends.
  /// Kept only where another grid may run beside it.
  View endView;
  std::vector<Thread *> waiting; ///< at griddepcontrol.wait, for it to end

  Grid(const Kernel &kernel, const EmulatorLaunch &shape)
      : kernel(kernel), shape(shape) {}
};

/// Memory and threads of one emulated GPU, and the scheduler. One stream runs
/// at a time, with two of its grids in flight at most.
class Machine {
public:
  explicit Machine(const EmulatorOptions &options);
  ~Machine();

  EmulatorOptions options;
  EmulatorStatistics statistics;
  /// Global and constant memory. Survives grids.
  Allocations allocations;

  /// Runs the grids of a stream to their end. Errors: a launch that cannot be
  /// (with values), or an EmulatorFaultError.
  llvm::Error runStream(std::vector<Grid> stream);

  // The rest is for handlers.

  /// Makes a blocked thread runnable.
  void wake(Thread &thread);
  /// Something happened that a poll may see.
  void noteChange() { ++changes; }
  /// Records a fault and leaves all fibers for runStream.
  [[noreturn]] void fault(FaultKind kind, const Site *site,
                          const Thread *thread, const llvm::Twine &message,
                          llvm::ArrayRef<std::string> notes);
  bool isEager() const {
    return options.schedule == EmulatorOptions::Schedule::Eager;
  }
  bool isRandom() const {
    return options.schedule == EmulatorOptions::Schedule::Random;
  }
  uint64_t random(uint64_t bound) { return generator() % bound; }

  // Agents: threads have fixed numbers for as long as they live, asynchronous
  // operations until they are forgotten.
  struct AgentInfo {
    Epoch lastEpoch = 0;      ///< that any owner has used
    uint32_t cta = 0;         ///< in all grids; for race reports
    uint32_t thread = 0;      ///< in the CTA
    uint32_t cluster = 0;     ///< in all grids
    const Site *op = nullptr; ///< of an asynchronous operation
  };
  std::vector<AgentInfo> agents;
  /// `count` consecutive agents.
  uint32_t takeAgents(uint32_t count);
  void giveAgentBack(uint32_t agent) { freeAgents.push_back(agent); }
  /// "CTA (0,0,0) warp 3 lane 5", or that and "wgmma… at line 12".
  std::string describeAgent(uint32_t agent) const;

  struct Host;
  Host &getHost() { return *host; }
  std::vector<Grid> grids; ///< of the stream that runs
  /// Of the CTA with a number among those of all grids.
  const Grid &findGrid(uint32_t cta) const;
  std::array<uint32_t, 3> getCtaId(uint32_t cta) const;
  /// Threads of a grid that do not wait for the one before it start once each
  /// CTA of that one has said so.
  void launchDependents(Cta &cta);
  void waitForEarlierGrid(Thread &thread);
  bool mayOverlap() const { return grids.size() > 1; }
  Cluster *findCluster(const char *address);
  /// Operations that are not complete, in order of issue.
  std::deque<AsyncOpRef> pendingOps;
  uint64_t nextSerial = 0;
  /// What strong writes have released, by location and then by scope and CTA.
  struct Release {
    Scope scope;
    uint32_t cta, cluster; ///< in all grids
    View view;
  };
  std::unordered_map<const char *, std::vector<Release>> releases;
  /// Sites by a small number, for what a race cell remembers of an access.
  std::vector<const Site *> sites;
  uint32_t noteSite(const Site &site) {
    if (site.index >= sites.size())
      sites.resize(site.index + 1);
    sites[site.index] = &site;
    return site.index;
  }
  const Site *getSite(uint32_t index) const {
    return index < sites.size() ? sites[index] : nullptr;
  }

  std::vector<RaceCells::Doubtful> doubtful;
  void judgeDoubtful() {
    if (!doubtful.empty())
      RaceCells::judge(*this);
  }

  // Scheduler.
  void yieldToScheduler(Thread &thread);
  void makeReady(Thread &thread) { ready.push_back(&thread); }
  void addPoller(Thread &thread);
  bool shouldSwitch(Thread &thread);
  void threadExited(Thread &thread);
  /// Steps an operation once, its predecessors first.
  void stepOp(AsyncOp &op);
  void removePending(AsyncOp &op);

private:
  struct Poller {
    Thread *thread;
    uint64_t ticket;
  };
  llvm::Error checkShape(const Grid &grid);
  llvm::Error prepare(Grid &grid);
  bool mayStart(size_t grid) const;
  void startClusters();
  void startCluster(Grid &grid);
  void endCluster(Cluster &cluster);
  void startThreads(Cta &cta);
  void endClusters();
  void schedule();
  Thread &takeReady();
  bool resumePollers(bool suspended);
  bool stepSomeOp();
  [[noreturn]] void reportStuck();
  void resume(Thread &thread);
  void cleanUp();

  std::vector<std::unique_ptr<Cluster>> clusters; ///< resident
  std::deque<Thread *> ready;
  std::vector<Poller> polling, suspended;
  uint64_t nextTicket = 0;
  std::deque<uint32_t> freeAgents;
  std::deque<std::pair<uint32_t, uint32_t>> freeAgentRanges; // first, count
  uint64_t changes = 0, changesAtLastPoll = 0, changesAtIdle = 0;
  unsigned idleRounds = 0, idleLimit = 0;
  uint64_t firstStep = 0;
  std::mt19937_64 generator;
  std::unique_ptr<Host> host;
  std::optional<EmulatorFault> pendingFault;
};

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_MACHINE_MACHINE_H
