//===- MBarrier.cpp - Barriers in shared memory ---------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/MBarrier.h"
#include "Isa/OpcodeTable.h"
#include "Machine/Machine.h"
#include "llvm/Support/FormatVariadic.h"

using namespace flashnorm::emulator;

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

namespace {
/// An mbarrier and where it is.
struct Located {
  Cta &cta;
  uint32_t offset;
  MBarrier &barrier;
};

/// How an operation on an mbarrier orders. `isDefault`: it names no scope. The
/// ISA then says .cta; but compilers and libraries leave the scope out of
/// operations across the cluster, too (CUTLASS: ClusterBarrier), and hardware
/// has only one behaviour in a cluster, so that it counts as .cluster.
struct Semantics {
  bool relaxed = false;
  Scope scope = Scope::Cluster;
};
} // namespace

/// "offset 16 of CTA rank 0"
static std::string describe(const Cta &cta, uint32_t offset) {
  return llvm::formatv("the mbarrier at offset {0} of CTA rank {1}",
                       int64_t(offset) - Kernel::sharedStart, cta.rank);
}

static std::string describeState(const MBarrier &barrier) {
  return llvm::formatv("phase {0} (parity {1}) is under way: {2} of {3} "
                       "arrivals and {4} bytes are missing",
                       barrier.phase, barrier.phase & 1, barrier.pending,
                       barrier.expected, barrier.txCount);
}

static SharedPlace findPlace(Thread &thread, Space space, uint64_t address) {
  return resolveShared(thread, space, address, 8, 8);
}

/// PTX ISA 9.7.13.15.3: the state becomes visible as any write does, and to the
/// cluster by fence.mbarrier_init.
static bool isVisible(const Thread &thread, const MBarrier &barrier) {
  if (barrier.initAgent == thread.agent &&
      barrier.initEpoch >= thread.firstEpoch)
    return true;
  return thread.view.generic.get(barrier.initAgent) >= barrier.initEpoch ||
         thread.view.inits.get(barrier.initAgent) >= barrier.initEpoch;
}

static Located find(Thread &thread, Space space, uint64_t address) {
  SharedPlace place = findPlace(thread, space, address);
  place.cta->checkAlive(thread, nullptr);
  auto found = place.cta->mbarriers.find(place.offset);
  if (found == place.cta->mbarriers.end())
    thread.fault(FaultKind::BarrierNotVisible,
                 "there is no initialised mbarrier at offset " +
                     llvm::Twine(int64_t(place.offset) - Kernel::sharedStart) +
                     " of CTA rank " + llvm::Twine(place.cta->rank));
  if (thread.machine.options.detectRaces && !isVisible(thread, found->second))
    thread.fault(FaultKind::BarrierNotVisible,
                 describe(*place.cta, place.offset) + " was initialised by " +
                     thread.machine.describeAgent(found->second.initAgent) +
                     ", and nothing makes that visible here: a barrier, or "
                     "fence.mbarrier_init and a barrier of the cluster");
  return {*place.cta, place.offset, found->second};
}

/// Ends the phase if nothing is missing.
static void completeIfFull(Machine &machine, Cta &cta, uint32_t offset,
                           MBarrier &barrier) {
  if (barrier.pending || barrier.txCount)
    return;
  for (const MBarrier::Delivery &delivery : barrier.deliveries)
    if (delivery.bytes < delivery.op->txBytes)
      delivery.op->fault(
          FaultKind::BarrierMisuse,
          llvm::formatv("{0} completes a phase when {1} of the {2} bytes of "
                        "this copy have come: the expected transaction count "
                        "is too small",
                        describe(cta, offset), delivery.bytes,
                        delivery.op->txBytes)
              .str());
  barrier.deliveries.clear();
  ++barrier.phase;
  barrier.pending = barrier.expected;
  barrier.lastReleases = std::move(barrier.releases);
  barrier.releases.clear();
  for (Thread *thread : barrier.waiting)
    machine.wake(*thread);
  barrier.waiting.clear();
  machine.noteChange();
}

static View &getRelease(MBarrier &barrier, Scope scope, uint32_t cta,
                        bool byOp = false) {
  for (MBarrier::Release &release : barrier.releases)
    if (release.scope == scope && release.cta == cta && release.byOp == byOp)
      return release.view;
  barrier.releases.push_back({scope, cta, View(), byOp});
  return barrier.releases.back().view;
}

static void addTx(Thread &thread, const Located &located, int64_t bytes) {
  MBarrier &barrier = located.barrier;
  barrier.txCount += bytes;
  // 9.7.13.15.5.1: the range of the tx-count.
  if (std::abs(barrier.txCount) > int64_t(MBarrier::maxCount))
    thread.fault(FaultKind::BarrierMisuse,
                 llvm::formatv("{0}: the transaction count becomes {1}, beyond "
                               "2^20 - 1",
                               describe(located.cta, located.offset),
                               barrier.txCount)
                     .str());
}

static void checkTx(const Located &located, Thread &thread, AsyncOp *op) {
  const MBarrier &barrier = located.barrier;
  if (barrier.pending || barrier.txCount >= 0)
    return;
  std::string message = llvm::formatv(
      "{0}: all arrivals of the phase have come, and {1} bytes more than "
      "expected",
      describe(located.cta, located.offset), -barrier.txCount);
  if (op)
    op->fault(FaultKind::BarrierMisuse, message);
  thread.fault(FaultKind::BarrierMisuse, message);
}

/// Counts arrivals; the caller has published what they release.
static void countArrivals(Thread &thread, const Located &located,
                          uint32_t count, bool mayComplete, AsyncOp *op) {
  MBarrier &barrier = located.barrier;
  auto fault = [&](const llvm::Twine &message) {
    std::string text =
        (describe(located.cta, located.offset) + ": " + message).str();
    if (op)
      op->fault(FaultKind::BarrierMisuse, text);
    thread.fault(FaultKind::BarrierMisuse, text);
  };
  if (count == 0 || count > barrier.pending)
    fault(llvm::Twine(count) + " arrivals, but " + describeState(barrier));
  if (!mayComplete && count == barrier.pending)
    fault("an arrival with .noComplete completes the phase: " +
          describeState(barrier));
  barrier.pending -= count;
  checkTx(located, thread, op);
  completeIfFull(thread.machine, located.cta, located.offset, barrier);
}

static void publish(Thread &thread, const Located &located,
                    const Semantics &semantics) {
  if (!thread.machine.options.detectRaces)
    return;
  located.cta.notePeer(thread, thread.agent, thread.epoch, thread.site);
  if (!semantics.relaxed) {
    thread.release(
        getRelease(located.barrier, semantics.scope, thread.cta.index));
    return;
  }
  for (unsigned i = 0; i != thread.released.size(); ++i)
    if (!thread.released[i].empty())
      getRelease(located.barrier,
                 std::min(static_cast<Scope>(i), semantics.scope),
                 thread.cta.index)
          .join(thread.released[i]);
}

/// State tokens are opaque to programs; 0 is none.
static uint64_t makeToken(const MBarrier &barrier) {
  return (barrier.phase + 1) << 20 | barrier.pending;
}

//===----------------------------------------------------------------------===//
// For asynchronous operations
//===----------------------------------------------------------------------===//

static Located findForOp(AsyncOp &op, uint32_t address) {
  SharedPlace place = findPlace(op.issuer, Space::SharedCluster, address);
  place.cta->checkAlive(op.issuer, &op);
  auto found = place.cta->mbarriers.find(place.offset);
  if (found == place.cta->mbarriers.end())
    op.fault(FaultKind::BarrierMisuse,
             "the mbarrier at offset " +
                 llvm::Twine(int64_t(place.offset) - Kernel::sharedStart) +
                 " was invalidated while an operation is to signal it");
  place.cta->notePeer(op.issuer, op.agent, op.writeEpoch, &op.site);
  return {*place.cta, place.offset, found->second};
}

void flashnorm::emulator::completeTx(AsyncOp &op, uint32_t address,
                                     uint64_t bytes) {
  Located located = findForOp(op, address);
  MBarrier &barrier = located.barrier;
  auto delivery =
      llvm::find_if(barrier.deliveries, [&](const MBarrier::Delivery &other) {
        return other.op == &op;
      });
  if (delivery == barrier.deliveries.end())
    barrier.deliveries.push_back({&op, bytes});
  else
    delivery->bytes += bytes;
  // Release at cluster scope (9.7.13.15.5.2) of the operation's own writes. An
  // operation comes after the instructions before it (8.9.1.1), so that in the
  // generic proxy (st.async) it releases what its issuer knew, too. Of the
  // async proxy nothing says that for accesses in the generic one.
  if (op.machine.options.detectRaces) {
    View &view = getRelease(barrier, Scope::Cluster, op.issuer.cta.index,
                            /*byOp=*/true);
    if (op.proxy == AsyncOp::Proxy::Generic)
      view.join(op.view);
    op.announce(view);
  }
  addTx(op.issuer, located, -int64_t(bytes));
  checkTx(located, op.issuer, &op);
  completeIfFull(op.machine, located.cta, located.offset, barrier);
}

void flashnorm::emulator::arrive(AsyncOp &op, uint32_t address) {
  Located located = findForOp(op, address);
  if (op.machine.options.detectRaces) {
    View &view = getRelease(located.barrier, Scope::Cta, op.issuer.cta.index);
    view.join(op.view);
    op.announce(view);
  }
  countArrivals(op.issuer, located, 1, /*mayComplete=*/true, &op);
}

void flashnorm::emulator::addPending(Thread &thread, uint32_t address) {
  Located located = find(thread, Space::SharedCluster, address);
  if (++located.barrier.pending > MBarrier::maxCount)
    thread.fault(FaultKind::BarrierMisuse,
                 describe(located.cta, located.offset) +
                     ": more than 2^20 - 1 pending arrivals");
}

void flashnorm::emulator::checkMBarrier(Thread &thread, uint32_t address,
                                        bool forAsync) {
  Located located = find(thread, Space::SharedCluster, address);
  const MBarrier &barrier = located.barrier;
  // In the CTA of the mbarrier, compilers rely on its barrier alone (Triton:
  // mbarrier.init, bar.sync, cp.async.bulk); across the cluster the async proxy
  // needs fence.mbarrier_init or a proxy fence.
  if (!forAsync || &located.cta == &thread.cta ||
      !thread.machine.options.detectRaces)
    return;
  if (thread.view.inits.get(barrier.initAgent) >= barrier.initEpoch ||
      thread.view.asyncShared.get(barrier.initAgent) >= barrier.initEpoch)
    return;
  thread.fault(FaultKind::BarrierNotVisible,
               describe(located.cta, located.offset) +
                   " was initialised without a fence.mbarrier_init that makes "
                   "it visible to the async proxy across the cluster");
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// Of {.shared|.shared::cta|.shared::cluster}.
static Space getSpace(const Site &site, unsigned group) {
  if (!site.has(group))
    return Space::Generic;
  return site.get(group) == 2 ? Space::SharedCluster : Space::Shared;
}

/// Of {.release|.relaxed} or {.acquire|.relaxed}, and {.cta|.cluster}.
static Semantics getSemantics(const Site &site, unsigned group) {
  Semantics semantics;
  semantics.relaxed = site.get(group) == 1;
  if (site.get(group + 1) == 0)
    semantics.scope = Scope::Cta;
  return semantics;
}

/// mbarrier.init{.shared{::cta}}.b64 [addr], count: 9.7.13.15.9
static void init(Thread &thread, const Site &site, uint64_t *words) {
  SharedPlace place =
      findPlace(thread, getSpace(site, 0), word(words, site, 0));
  Cta &cta = *place.cta;
  auto count = static_cast<uint32_t>(word(words, site, 1));
  if (count == 0 || count > MBarrier::maxCount)
    thread.fault(FaultKind::BarrierMisuse,
                 "a count of " + llvm::Twine(count) +
                     ": not in the range of 1 to 2^20 - 1");
  if (cta.mbarriers.count(place.offset))
    thread.fault(FaultKind::BarrierMisuse,
                 describe(cta, place.offset) +
                     " is initialised again without mbarrier.inval");
  // Whatever was there must be done with.
  access(thread, Space::SharedCluster, cta.sharedBase() + place.offset, 8, 8,
         Access::Write);
  MBarrier &barrier = cta.mbarriers[place.offset];
  barrier.expected = barrier.pending = count;
  barrier.initAgent = thread.agent;
  barrier.initEpoch = thread.epoch;
  cta.mbarriersBegin = std::min(cta.mbarriersBegin, place.offset);
  cta.mbarriersEnd = std::max(cta.mbarriersEnd, place.offset + 8);
}

/// mbarrier.inval{.shared{::cta}}.b64 [addr]: 9.7.13.15.10
static void inval(Thread &thread, const Site &site, uint64_t *words) {
  thread.preempt();
  Located located = find(thread, getSpace(site, 0), word(words, site, 0));
  if (!located.barrier.waiting.empty())
    thread.fault(
        FaultKind::BarrierMisuse,
        describe(located.cta, located.offset) + " is invalidated while " +
            located.barrier.waiting.front()->describe() + " waits at it");
  Cta &cta = located.cta;
  uint32_t offset = located.offset;
  cta.mbarriers.erase(offset);
  access(thread, Space::SharedCluster, cta.sharedBase() + offset, 8, 8,
         Access::Write);
  cta.shared.initialized.set(offset, 8, false);
}

/// mbarrier.expect_tx{.relaxed}{.scope}{.space}.b64 [addr], bytes: 9.7.13.15.11
static void expectTx(Thread &thread, const Site &site, uint64_t *words) {
  thread.preempt();
  Located located = find(thread, getSpace(site, 1), word(words, site, 0));
  addTx(thread, located, static_cast<uint32_t>(word(words, site, 1)));
}

/// mbarrier.complete_tx{.relaxed}{.scope}{.space}.b64 [addr], bytes:
/// 9.7.13.15.12
static void completeTxInstruction(Thread &thread, const Site &site,
                                  uint64_t *words) {
  thread.preempt();
  Located located = find(thread, getSpace(site, 1), word(words, site, 0));
  addTx(thread, located, -int64_t(static_cast<uint32_t>(word(words, site, 1))));
  checkTx(located, thread, nullptr);
  completeIfFull(thread.machine, located.cta, located.offset, located.barrier);
}

/// mbarrier.arrive and .arrive_drop, with .expect_tx or .noComplete:
/// 9.7.13.15.13 and 14.
template <bool drops, bool expects, bool noComplete>
static void arriveInstruction(Thread &thread, const Site &site,
                              uint64_t *words) {
  thread.preempt();
  Space space = getSpace(site, 2);
  Located located = find(thread, space, word(words, site, 1));
  MBarrier &barrier = located.barrier;
  if (site.count(0) && &located.cta != &thread.cta)
    thread.fault(FaultKind::IllegalInstruction,
                 "an arrival at a peer's mbarrier returns no state");
  uint64_t token = makeToken(barrier);
  uint32_t count = 1;
  // Asynchronous operations may have delivered bytes before.
  if (expects)
    addTx(thread, located, static_cast<uint32_t>(word(words, site, 2)));
  else if (site.count(2))
    count = static_cast<uint32_t>(word(words, site, 2));
  if (drops) {
    if (count > barrier.expected)
      thread.fault(FaultKind::BarrierMisuse,
                   describe(located.cta, located.offset) + ": " +
                       llvm::Twine(count) + " arrivals are dropped of " +
                       llvm::Twine(barrier.expected));
    barrier.expected -= count;
  }
  publish(thread, located, getSemantics(site, 0));
  countArrivals(thread, located, count, !noComplete, nullptr);
  thread.machine.noteChange();
  if (site.count(0))
    word(words, site, 0) = token;
}

/// After a wait that found its phase complete.
static void acquire(Thread &thread, const MBarrier &barrier,
                    const Semantics &semantics) {
  if (!thread.machine.options.detectRaces)
    return;
  for (const MBarrier::Release &release : barrier.lastReleases) {
    bool isNear = release.cta == thread.cta.index;
    // A release by an asynchronous operation of this cluster reaches the
    // mbarrier's own CTA whatever the scope of the wait.
    bool reaches =
        isNear || release.byOp ||
        (release.scope != Scope::Cta && semantics.scope != Scope::Cta);
    if (!reaches)
      continue;
    if (semantics.relaxed)
      thread.observed[isNear ? 0 : 1].join(release.view);
    else
      thread.acquire(release.view);
  }
}

/// mbarrier.{test_wait,try_wait}{.parity}{.sem.scope}{.shared{::cta}}.b64
/// p, [addr], {state|parity}{, suspendTimeHint}: 9.7.13.15.16
template <bool suspends, bool byParity>
static void wait(Thread &thread, const Site &site, uint64_t *words) {
  thread.preempt();
  Space space = getSpace(site, 2);
  uint64_t address = word(words, site, 1), which = word(words, site, 2);
  Located located = find(thread, space, address);
  MBarrier &barrier = located.barrier;
  if (&located.cta != &thread.cta)
    thread.fault(FaultKind::IllegalInstruction,
                 "a wait at an mbarrier of a peer");
  uint64_t phase;
  if (byParity) {
    // Parity p asks for the end of the phase under way or the one before it.
    phase =
        (barrier.phase & 1) == (which & 1) ? barrier.phase : barrier.phase - 1;
  } else {
    phase = (which >> 20) - 1;
    if (which >> 20 == 0 || phase > barrier.phase || phase + 1 < barrier.phase)
      thread.fault(FaultKind::BarrierMisuse,
                   describe(located.cta, located.offset) +
                       ": the state is not of this phase nor the last: " +
                       describeState(barrier));
  }
  auto isComplete = [&]() { return barrier.phase != phase; };
  auto what = [&]() {
    return llvm::formatv("waits for the end of phase {0} (parity {1}) of {2}: "
                         "{3}",
                         phase, phase & 1,
                         describe(located.cta, located.offset),
                         describeState(barrier))
        .str();
  };
  uint64_t key =
      ((uint64_t(located.offset) << 40) | (phase & 0xffffffffff)) + 1;
  if (suspends) {
    // Outside the eager schedule the first attempt fails: the time limit is the
    // system's, and a program has to try again.
    bool mayFail = !thread.machine.isEager() && thread.lastTryWait != key;
    if (mayFail) {
      thread.lastTryWait = key;
      word(words, site, 0) = false;
      return;
    }
    if (!isComplete()) {
      thread.lastTryWait = key;
      barrier.waiting.push_back(&thread);
      thread.poll(what, /*suspends=*/true);
      llvm::erase(barrier.waiting, &thread);
    }
  } else if (!isComplete()) {
    thread.poll(what);
  }
  bool done = isComplete();
  if (done) {
    thread.lastTryWait = 0;
    acquire(thread, barrier, getSemantics(site, 0));
  }
  word(words, site, 0) = done;
}

/// mbarrier.pending_count.b64 count, state: 9.7.13.15.17
static void pendingCount(Thread &, const Site &site, uint64_t *words) {
  if (site.count(0))
    word(words, site, 0) = word(words, site, 1) & MBarrier::maxCount;
}

#define FLASHNORM_ARRIVE "{.release|.relaxed}{.cta|.cluster}"
#define FLASHNORM_ACQUIRE "{.acquire|.relaxed}{.cta|.cluster}"
#define FLASHNORM_SHARED "{.shared|.shared::cta}.b64"
#define FLASHNORM_ANY "{.shared|.shared::cta|.shared::cluster}.b64"

llvm::ArrayRef<OpcodeEntry> flashnorm::emulator::getMBarrierOpcodes() {
  static const OpcodeEntry entries[] = {
      {"mbarrier.init" FLASHNORM_SHARED, "m s", "9.7.13.15.9", nullptr, init},
      {"mbarrier.inval" FLASHNORM_SHARED, "m", "9.7.13.15.10", nullptr, inval},
      {"mbarrier.expect_tx{.relaxed.cta|.relaxed.cluster}" FLASHNORM_ANY, "m s",
       "9.7.13.15.11", nullptr, expectTx},
      {"mbarrier.complete_tx{.relaxed.cta|.relaxed.cluster}" FLASHNORM_ANY,
       "m s", "9.7.13.15.12", nullptr, completeTxInstruction},
      {"mbarrier.arrive" FLASHNORM_ARRIVE FLASHNORM_ANY, "d m s?",
       "9.7.13.15.13", nullptr, arriveInstruction<false, false, false>},
      {"mbarrier.arrive.expect_tx" FLASHNORM_ARRIVE FLASHNORM_ANY, "d m s",
       "9.7.13.15.13", nullptr, arriveInstruction<false, true, false>},
      {"mbarrier.arrive.noComplete" FLASHNORM_ARRIVE FLASHNORM_ANY, "d m s",
       "9.7.13.15.13", nullptr, arriveInstruction<false, false, true>},
      {"mbarrier.arrive_drop" FLASHNORM_ARRIVE FLASHNORM_ANY, "d m s?",
       "9.7.13.15.14", nullptr, arriveInstruction<true, false, false>},
      {"mbarrier.arrive_drop.expect_tx" FLASHNORM_ARRIVE FLASHNORM_ANY, "d m s",
       "9.7.13.15.14", nullptr, arriveInstruction<true, true, false>},
      {"mbarrier.arrive_drop.noComplete" FLASHNORM_ARRIVE FLASHNORM_ANY,
       "d m s", "9.7.13.15.14", nullptr, arriveInstruction<true, false, true>},
      {"mbarrier.test_wait" FLASHNORM_ACQUIRE FLASHNORM_SHARED, "p m s",
       "9.7.13.15.16", nullptr, wait<false, false>},
      {"mbarrier.test_wait.parity" FLASHNORM_ACQUIRE FLASHNORM_SHARED, "p m s",
       "9.7.13.15.16", nullptr, wait<false, true>},
      {"mbarrier.try_wait" FLASHNORM_ACQUIRE FLASHNORM_SHARED, "p m s s?",
       "9.7.13.15.16", nullptr, wait<true, false>},
      {"mbarrier.try_wait.parity" FLASHNORM_ACQUIRE FLASHNORM_SHARED,
       "p m s s?", "9.7.13.15.16", nullptr, wait<true, true>},
      {"mbarrier.pending_count.b64", "d s", "9.7.13.15.17", nullptr,
       pendingCount},
  };
  return entries;
}
