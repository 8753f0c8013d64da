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

/// Memory and threads of one emulated GPU, and the scheduler. One grid runs at
/// a time.
class Machine {
public:
  explicit Machine(const EmulatorOptions &options);
  ~Machine();

  EmulatorOptions options;
  EmulatorStatistics statistics;
  /// Global and constant memory. Survives grids.
  Allocations allocations;

  /// Runs a grid to its end. `params` are the kernel's parameters as they lie
  /// in .param space, paramBytes long. Errors: a launch that cannot be (with
  /// values), or an EmulatorFaultError.
  llvm::Error runGrid(const Kernel &kernel, const EmulatorLaunch &shape,
                      llvm::ArrayRef<char> params);

  // The rest is for handlers.

  /// Makes a blocked thread runnable.
  void wake(Thread &thread);
  /// Something happened that a poll may see.
  void noteChange() { ++changes; }
  /// Records a fault and leaves all fibers for runGrid.
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
    Epoch lastEpoch = 0; ///< that any owner has used
    uint32_t cta = 0;    ///< in the grid; for race reports
    uint32_t thread = 0; ///< in the CTA
    uint32_t cluster = 0;
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
  const Kernel *kernel = nullptr;
  EmulatorLaunch shape;
  uint64_t paramsAddress = 0;
  std::array<uint32_t, 3> getCtaId(uint32_t ctaInGrid) const;
  Cluster *findCluster(const char *address);
  /// Operations that are not complete, in order of issue.
  std::vector<AsyncOpRef> pendingOps;
  uint64_t nextSerial = 0;
  /// What strong writes have released, by location and then by scope and CTA.
  struct Release {
    Scope scope;
    uint32_t cta, cluster; ///< in the grid
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
  llvm::Error checkShape(const Kernel &kernel, const EmulatorLaunch &shape,
                         llvm::ArrayRef<char> params);
  void startClusters();
  void startCluster(uint32_t index);
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
  uint32_t nextCluster = 0, numClusters = 0;
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
