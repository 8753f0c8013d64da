//===- Barriers.cpp - Barriers of CTAs and clusters -----------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Isa/OpcodeTable.h"
#include "Machine/Machine.h"
#include "llvm/Support/FormatVariadic.h"

using namespace flashnorm::emulator;

//===----------------------------------------------------------------------===//
// bar and barrier{.cta}: 9.7.13.1
//===----------------------------------------------------------------------===//

namespace {
enum class BarKind { Sync, Arrive, RedPopc, RedAnd, RedOr };
} // namespace

static uint32_t getExpected(const Cta &cta, const Barrier &barrier) {
  return barrier.allThreads ? cta.live : barrier.expected;
}

/// Ends the round when all have come: those that wait know what all who came
/// knew (9.7.13.1).
static void completeIfFull(Cta &cta, Barrier &barrier) {
  if (!barrier.arrived || barrier.arrived < getExpected(cta, barrier))
    return;
  Barrier round = std::move(barrier);
  barrier = Barrier();
  for (Thread *thread : round.waiting) {
    thread->acquire(round.view);
    thread->atBarrier = false;
    switch (static_cast<BarKind>(thread->barrierResult)) {
    case BarKind::RedPopc:
      thread->barrierResult = round.count;
      break;
    case BarKind::RedAnd:
      thread->barrierResult = round.all;
      break;
    case BarKind::RedOr:
      thread->barrierResult = round.any;
      break;
    case BarKind::Sync:
    case BarKind::Arrive:
      break;
    }
    cta.machine.wake(*thread);
  }
}

/// One thread comes to barrier `id`.
static void arriveAt(Thread &thread, uint32_t id, std::optional<uint32_t> count,
                     BarKind kind, bool predicate) {
  Barrier &barrier = thread.cta.barriers[id];
  uint32_t expected = count.value_or(0);
  bool allThreads = !count;
  if (barrier.arrived &&
      (barrier.allThreads != allThreads || barrier.expected != expected))
    thread.fault(
        FaultKind::BarrierMisuse,
        llvm::formatv("barrier {0} is used with {1} threads, while others wait "
                      "at it with {2}",
                      id, allThreads ? "all" : std::to_string(expected),
                      barrier.allThreads ? "all"
                                         : std::to_string(barrier.expected))
            .str());
  barrier.allThreads = allThreads;
  barrier.expected = expected;
  thread.release(barrier.view);
  ++barrier.arrived;
  if (!allThreads && barrier.arrived > expected)
    thread.fault(FaultKind::BarrierMisuse,
                 llvm::formatv("{0} threads have come to barrier {1}, which "
                               "expects {2}",
                               barrier.arrived, id, expected)
                     .str());
  barrier.count += predicate;
  barrier.all &= predicate;
  barrier.any |= predicate;
  if (kind == BarKind::Arrive)
    return;
  thread.atBarrier = true;
  thread.barrierResult = static_cast<uint32_t>(kind);
  barrier.waiting.push_back(&thread);
}

/// bar{.cta}.sync a{, b}; .arrive a, b; .red.popc d, a{, b}, {!}c;
/// .red.{and,or} p, a{, b}, {!}c.
template <BarKind kind, bool aligned>
static void bar(Thread &thread, const Site &site, uint64_t *words) {
  constexpr bool isRed = kind == BarKind::RedPopc || kind == BarKind::RedAnd ||
                         kind == BarKind::RedOr;
  constexpr unsigned idOperand = isRed ? 1 : 0, countOperand = idOperand + 1,
                     predicateOperand = 3;
  Cta &cta = thread.cta;
  auto id = static_cast<uint32_t>(word(words, site, idOperand));
  std::optional<uint32_t> count;
  if (site.count(countOperand))
    count = static_cast<uint32_t>(word(words, site, countOperand));
  if (id >= cta.barriers.size())
    thread.fault(FaultKind::BarrierMisuse,
                 "there is no barrier " + llvm::Twine(id) + ", only 0 to 15");
  if (count && (*count == 0 || *count % 32 || *count > 1024))
    thread.fault(FaultKind::BarrierMisuse,
                 llvm::Twine(*count) +
                     " threads at a barrier: not a multiple of 32 up to 1024");
  auto arriveWith = [&](Thread &lane, uint64_t *theirs) {
    arriveAt(lane, id, count, kind,
             isRed && word(theirs, site, predicateOperand));
  };
  if (aligned) {
    // The warp comes as a whole.
    convergeAligned(thread, site, words, [&](llvm::ArrayRef<Arrival> arrivals) {
      uint32_t lanes = 0;
      for (const Arrival &arrival : arrivals) {
        if (!arrival.thread)
          continue;
        ++lanes;
        if (word(arrival.words, site, idOperand) !=
                word(words, site, idOperand) ||
            (count && word(arrival.words, site, countOperand) !=
                          word(words, site, countOperand)))
          arrival.thread->fault(FaultKind::Divergence,
                                "the threads of the warp name different "
                                "barriers or counts");
        arriveWith(*arrival.thread, arrival.words);
      }
      // A warp counts whole, with lanes that have exited or never were.
      if (count)
        cta.barriers[id].arrived += 32 - lanes;
      completeIfFull(cta, cta.barriers[id]);
    });
  } else {
    arriveWith(thread, words);
    completeIfFull(cta, cta.barriers[id]);
  }
  if (kind == BarKind::Arrive)
    return;
  while (thread.atBarrier)
    thread.block([&]() {
      const Barrier &barrier = cta.barriers[id];
      return llvm::formatv("waits at barrier {0}, where {1} of {2} threads "
                           "have come",
                           id, barrier.arrived, getExpected(cta, barrier))
          .str();
    });
  if (isRed && site.count(0))
    word(words, site, 0) = thread.barrierResult;
}

//===----------------------------------------------------------------------===//
// barrier.cluster: 9.7.13.3
//===----------------------------------------------------------------------===//

static void completeIfFull(Cluster &cluster) {
  ClusterBarrier &barrier = cluster.barrier;
  if (!barrier.arrived || barrier.arrived < cluster.live)
    return;
  ++barrier.round;
  barrier.arrived = 0;
  barrier.lastView = std::move(barrier.view);
  barrier.view.clear();
  for (Thread *thread : barrier.waiting)
    cluster.machine.wake(*thread);
  barrier.waiting.clear();
}

static void arriveAtCluster(Thread &thread, bool releases) {
  Cluster &cluster = thread.cta.cluster;
  ClusterBarrier &barrier = cluster.barrier;
  // Arriving twice without waiting has no meaning.
  if (thread.clusterRound)
    thread.fault(FaultKind::BarrierMisuse,
                 "the thread has arrived at the cluster's barrier and not "
                 "waited since");
  thread.clusterRound = barrier.round + 1;
  if (releases) {
    thread.release(barrier.view);
  } else {
    // What fences have released before; fence.mbarrier_init is one of them.
    for (Scope scope : {Scope::Cluster, Scope::Gpu, Scope::Sys})
      barrier.view.join(thread.released[static_cast<unsigned>(scope)]);
  }
  ++barrier.arrived;
  completeIfFull(cluster);
}

/// barrier.cluster.arrive{.release|.relaxed}{.aligned}
static void clusterArrive(Thread &thread, const Site &site, uint64_t *words) {
  bool releases = site.get(0) != 1, aligned = site.has(1);
  if (!aligned)
    return arriveAtCluster(thread, releases);
  convergeAligned(thread, site, words, [&](llvm::ArrayRef<Arrival> arrivals) {
    for (const Arrival &arrival : arrivals)
      if (arrival.thread)
        arriveAtCluster(*arrival.thread, releases);
  });
}

/// barrier.cluster.wait{.acquire}{.aligned}
static void clusterWait(Thread &thread, const Site &site, uint64_t *words) {
  if (site.has(1))
    convergeAligned(thread, site, words, [](llvm::ArrayRef<Arrival>) {});
  ClusterBarrier &barrier = thread.cta.cluster.barrier;
  if (thread.clusterRound == 0)
    thread.fault(FaultKind::BarrierMisuse,
                 "the thread waits at the cluster's barrier without having "
                 "arrived");
  while (barrier.round < thread.clusterRound) {
    barrier.waiting.push_back(&thread);
    thread.block([&]() {
      return llvm::formatv("waits at the cluster's barrier, where {0} of {1} "
                           "threads have come",
                           barrier.arrived, thread.cta.cluster.live)
          .str();
    });
  }
  // .acquire is the default, and the only choice (9.7.13.3).
  thread.acquire(barrier.lastView);
  thread.cta.waitedRound =
      std::max(thread.cta.waitedRound, thread.clusterRound);
  thread.clusterRound = 0;
}

//===----------------------------------------------------------------------===//
// setmaxnreg: 9.7.19.5
//===----------------------------------------------------------------------===//

static void giveRegisters(Cta &cta, uint32_t registers) {
  cta.freeRegisters += registers;
  for (Thread *waiting : cta.waitingForRegisters)
    cta.machine.wake(*waiting);
  cta.waitingForRegisters.clear();
}

/// setmaxnreg.{inc,dec}.sync.aligned.u32 imm
static void setmaxnreg(Thread &thread, const Site &site, uint64_t *words) {
  bool increases = site.get(0) == 0;
  auto count = uint32_t(word(words, site, 0));
  if (count < 24 || count > 256 || count % 8)
    thread.fault(FaultKind::IllegalInstruction,
                 llvm::Twine(count) +
                     " registers: not a multiple of 8 from 24 to 256");
  Cta &cta = thread.cta;
  convergeWarpgroup(thread, site, words, [](llvm::ArrayRef<Arrival>) {});
  // The first lane acts for its warp; the others wait for it.
  if (thread.lane != 0) {
    uint32_t warp = thread.warp;
    while (cta.warpRegisters[warp] != count) {
      cta.waitingForRegisters.push_back(&thread);
      thread.block([&]() {
        return "waits for its warp's " + std::to_string(count) + " registers";
      });
    }
    return;
  }
  uint32_t &mine = cta.warpRegisters[thread.warp];
  if (increases ? count < mine : count > mine)
    thread.fault(
        FaultKind::RegisterBudget,
        llvm::formatv("setmaxnreg.{0} to {1} registers, of a warp that "
                      "has {2}",
                      increases ? "inc" : "dec", count, mine)
            .str());
  if (!increases) {
    uint32_t given = mine - count;
    mine = count;
    giveRegisters(cta, given);
    return;
  }
  while (count - mine > cta.freeRegisters) {
    cta.waitingForRegisters.push_back(&thread);
    thread.block([&]() {
      return llvm::formatv("waits for {0} registers per thread more: other "
                           "warps of the CTA have given back {1}",
                           count - mine, cta.freeRegisters)
          .str();
    });
  }
  cta.freeRegisters -= count - mine;
  mine = count;
  giveRegisters(cta, 0);
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

void flashnorm::emulator::leaveBarriers(Thread &thread) {
  Cta &cta = thread.cta;
  for (Barrier &barrier : cta.barriers)
    if (barrier.allThreads)
      completeIfFull(cta, barrier);
  // An exited thread counts as one that has arrived (9.7.13.3).
  ClusterBarrier &barrier = cta.cluster.barrier;
  if (thread.clusterRound > barrier.round)
    --barrier.arrived;
  thread.publish(barrier.view);
  completeIfFull(cta.cluster);
  if (cta.exitedLanes[thread.warp] == UINT32_MAX)
    giveRegisters(cta, std::exchange(cta.warpRegisters[thread.warp], 0));
}

/// nanosleep.u32 t: lets others go on (9.7.19.2).
static void nanosleep(Thread &thread, const Site &, uint64_t *) {
  thread.poll([]() { return std::string("sleeps and tries again"); });
}

/// griddepcontrol.{launch_dependents,wait}: 9.7.13.13
static void griddepcontrol(Thread &thread, const Site &site, uint64_t *) {
  thread.preempt();
  if (site.get(0) == 0)
    thread.machine.launchDependents(thread.cta);
  else
    thread.machine.waitForEarlierGrid(thread);
}

llvm::ArrayRef<OpcodeEntry> flashnorm::emulator::getBarrierOpcodes() {
  using C = OpcodeEntry::Convergence;
  static const OpcodeEntry entries[] = {
      {"bar{.cta}.sync", "s s?", "9.7.13.1", nullptr, bar<BarKind::Sync, true>,
       C::Warp},
      {"bar{.cta}.arrive", "s s", "9.7.13.1", nullptr,
       bar<BarKind::Arrive, true>, C::Warp},
      {"bar{.cta}.red.popc.u32", "d s s? s", "9.7.13.1", nullptr,
       bar<BarKind::RedPopc, true>, C::Warp},
      {"bar{.cta}.red.and.pred", "p s s? s", "9.7.13.1", nullptr,
       bar<BarKind::RedAnd, true>, C::Warp},
      {"bar{.cta}.red.or.pred", "p s s? s", "9.7.13.1", nullptr,
       bar<BarKind::RedOr, true>, C::Warp},
      {"barrier{.cta}.sync.aligned", "s s?", "9.7.13.1", nullptr,
       bar<BarKind::Sync, true>, C::Warp},
      {"barrier{.cta}.arrive.aligned", "s s", "9.7.13.1", nullptr,
       bar<BarKind::Arrive, true>, C::Warp},
      {"barrier{.cta}.red.popc.aligned.u32", "d s s? s", "9.7.13.1", nullptr,
       bar<BarKind::RedPopc, true>, C::Warp},
      {"barrier{.cta}.red.and.aligned.pred", "p s s? s", "9.7.13.1", nullptr,
       bar<BarKind::RedAnd, true>, C::Warp},
      {"barrier{.cta}.red.or.aligned.pred", "p s s? s", "9.7.13.1", nullptr,
       bar<BarKind::RedOr, true>, C::Warp},
      {"barrier{.cta}.sync", "s s?", "9.7.13.1", nullptr,
       bar<BarKind::Sync, false>},
      {"barrier{.cta}.arrive", "s s", "9.7.13.1", nullptr,
       bar<BarKind::Arrive, false>},
      {"barrier{.cta}.red.popc.u32", "d s s? s", "9.7.13.1", nullptr,
       bar<BarKind::RedPopc, false>},
      {"barrier{.cta}.red.and.pred", "p s s? s", "9.7.13.1", nullptr,
       bar<BarKind::RedAnd, false>},
      {"barrier{.cta}.red.or.pred", "p s s? s", "9.7.13.1", nullptr,
       bar<BarKind::RedOr, false>},
      {"barrier.cluster.arrive{.release|.relaxed}{.aligned}", "", "9.7.13.3",
       nullptr, clusterArrive},
      {"barrier.cluster.wait{.acquire}{.aligned}", "", "9.7.13.3", nullptr,
       clusterWait},
      {"setmaxnreg(.inc|.dec).sync.aligned.u32", "c", "9.7.19.5", nullptr,
       setmaxnreg, C::Warpgroup},
      {"nanosleep.u32", "s", "9.7.19.2", nullptr, nanosleep},
      {"griddepcontrol(.launch_dependents|.wait)", "", "9.7.13.13", nullptr,
       griddepcontrol},
  };
  return entries;
}
