//===- Scheduler.cpp - Which thread runs, when operations complete --------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/Fiber.h"
#include "Machine/Host.h"
#include "Machine/Machine.h"
#include <map>

using namespace flashnorm::emulator;

/// In a random schedule one access in so many switches, and one switch in so
/// many steps an operation.
static constexpr uint64_t accessesPerSwitch = 48, switchesPerStep = 3;
/// No thread keeps the processor for longer, however it loops.
static constexpr uint32_t maxAccesses = 1 << 20;
/// So often are all pollers asked again although nothing has changed: those
/// that only suspend themselves, and those that may count their attempts.
static constexpr unsigned maxIdleSuspensions = 3, maxIdlePolls = 4096;

static void threadEntry(Switch first) {
  auto &thread = *static_cast<Thread *>(first.data);
  Machine &machine = thread.machine;
  machine.getHost().scheduler = first.from;
  thread.cta.cluster.grid.kernel.code(&thread);
  machine.threadExited(thread);
  resumeFiber(machine.getHost().scheduler, machine.getHost().schedulerStack,
              nullptr, /*ends=*/true);
}

void Machine::resume(Thread &thread) {
  if (!thread.stack) {
    thread.stack = host->stacks.take();
    if (!thread.stack)
      fault(FaultKind::Unsupported, nullptr, &thread,
            "no memory for the stack of another thread", {});
    thread.context = makeFiber(thread.stack, threadEntry);
  }
  thread.state = Thread::State::Running;
  thread.sinceSwitch = 0;
  Switch back = resumeFiber(thread.context, thread.stack, &thread);
  thread.context = back.from;
  if (thread.exited) {
    host->stacks.giveBack(thread.stack);
    thread.stack = nullptr;
  }
}

void Machine::yieldToScheduler(Thread &thread) {
  Switch back = resumeFiber(host->scheduler, host->schedulerStack, &thread);
  host->scheduler = back.from;
}

void Machine::wake(Thread &thread) {
  if (thread.state != Thread::State::Blocked &&
      thread.state != Thread::State::Polling)
    return;
  thread.state = Thread::State::Ready;
  ++thread.pollTicket; // the poller's entry is stale
  makeReady(thread);
  noteChange();
}

void Machine::addPoller(Thread &thread) {
  thread.pollTicket = ++nextTicket;
  (thread.suspends ? suspended : polling).push_back({&thread, nextTicket});
}

bool Machine::shouldSwitch(Thread &thread) {
  if (++thread.sinceSwitch == maxAccesses) {
    if (statistics.steps - firstStep > options.maxSteps)
      thread.fault(FaultKind::Livelock, "the launch runs for more than " +
                                            llvm::Twine(options.maxSteps) +
                                            " steps");
    return true;
  }
  return isRandom() && random(accessesPerSwitch) == 0;
}

Thread &Machine::takeReady() {
  size_t index = isRandom() ? random(ready.size()) : 0;
  std::swap(ready[index], ready.front());
  Thread *thread = ready.front();
  ready.pop_front();
  return *thread;
}

bool Machine::resumePollers(bool alsoSuspended) {
  bool any = false;
  auto resumeAll = [&](std::vector<Poller> &pollers) {
    for (const Poller &poller : pollers) {
      if (poller.thread->pollTicket != poller.ticket ||
          poller.thread->state != Thread::State::Polling)
        continue;
      poller.thread->state = Thread::State::Ready;
      makeReady(*poller.thread);
      any = true;
    }
    pollers.clear();
  };
  resumeAll(polling);
  idleLimit = any ? maxIdlePolls : maxIdleSuspensions;
  if (alsoSuspended)
    resumeAll(suspended);
  changesAtLastPoll = changes;
  return any;
}

bool Machine::stepSomeOp() {
  if (pendingOps.empty())
    return false;
  AsyncOpRef op =
      pendingOps[isRandom() ? random(pendingOps.size()) : size_t(0)];
  stepOp(*op);
  noteChange();
  return true;
}

void Machine::schedule() {
  firstStep = statistics.steps;
  startClusters();
  while (!clusters.empty()) {
    if (isRandom() && !pendingOps.empty() && random(switchesPerStep) == 0)
      stepSomeOp();
    // Now and then a suspended thread's time is up.
    if (isRandom() && random(256) == 0)
      resumePollers(true);
    if (isRandom() && !polling.empty() && random(16) == 0)
      resumePollers(false);
    while (ready.empty()) {
      // Pollers first, if something has happened; then work that nothing but
      // time demands; then all pollers whatever has happened.
      if (changes != changesAtLastPoll && resumePollers(false)) {
        idleRounds = 0;
      } else if (stepSomeOp()) {
        idleRounds = 0;
      } else {
        uint64_t before = changes;
        if (before != changesAtIdle)
          idleRounds = 0;
        changesAtIdle = before;
        if (idleRounds++ > idleLimit || !resumePollers(true))
          reportStuck();
      }
    }
    if (statistics.steps++ - firstStep > options.maxSteps)
      ready.front()->fault(FaultKind::Livelock,
                           "the launch runs for more than " +
                               llvm::Twine(options.maxSteps) + " steps");
    resume(takeReady());
    endClusters();
  }
}

void Machine::reportStuck() {
  // Alike waits are told once, with one of the threads that wait.
  std::map<std::string, std::pair<Thread *, unsigned>> waits;
  // Whom to blame: a thread that spins, one that waits for registers, one in a
  // meeting whose partners are elsewhere, or any.
  Thread *first = nullptr, *astray = nullptr, *starved = nullptr,
         *spinning = nullptr;
  for (const std::unique_ptr<Cluster> &cluster : clusters)
    for (const std::unique_ptr<Cta> &cta : cluster->ctas)
      for (const std::unique_ptr<Thread> &thread : cta->threads) {
        if (thread->exited || !thread->site || !thread->waitsFor)
          continue;
        if (!first)
          first = thread.get();
        if (!spinning && thread->state == Thread::State::Polling &&
            !thread->suspends)
          spinning = thread.get();
        if (!starved && thread->lane == 0 &&
            llvm::is_contained(cta->waitingForRegisters, thread.get()))
          starved = thread.get();
        std::string what =
            llvm::Twine("line ")
                .concat(llvm::Twine(thread->site->location.ptxLine))
                .concat(": '")
                .concat(thread->site->text)
                .concat("' ")
                .concat(thread->waitsFor())
                .str();
        auto &entry = waits[what];
        if (!entry.first)
          entry.first = thread.get();
        ++entry.second;
        for (const std::unique_ptr<Meeting> &meeting : cta->meetings)
          if (!astray && thread->index - meeting->firstThread < 128 &&
              meeting->arrived[thread->index - meeting->firstThread])
            astray = thread.get();
      }
  std::vector<std::string> notes;
  for (auto &[what, entry] : waits) {
    std::string note = entry.first->describe();
    if (entry.second > 1)
      note += " and " + std::to_string(entry.second - 1) + " more";
    notes.push_back(note + " at " + what);
  }
  if (!first)
    fault(FaultKind::Deadlock, nullptr, nullptr, "no thread can run", notes);
  auto report = [&](FaultKind kind, Thread &thread, const llvm::Twine &text) {
    fault(kind, thread.site, &thread, text + thread.waitsFor(), notes);
  };
  if (spinning)
    report(FaultKind::Livelock, *spinning,
           "all threads poll or wait and nothing changes: ");
  if (astray)
    report(FaultKind::Divergence, *astray, astray->describe() + " ");
  if (starved)
    report(FaultKind::RegisterBudget, *starved, starved->describe() + " ");
  report(FaultKind::Deadlock, *first, "no thread can go on: ");
  llvm_unreachable("a fault was reported");
}

//===----------------------------------------------------------------------===//
// Asynchronous operations
//===----------------------------------------------------------------------===//

void Machine::stepOp(AsyncOp &op) {
  AsyncOpRef keep(&op);
  if (op.complete)
    return;
  if (op.predecessor && !op.predecessor->complete) {
    finish(*op.predecessor);
    if (op.complete)
      return;
  }
  op.predecessor = nullptr;
  ++statistics.steps;
  if (op.step()) {
    op.readsDone = op.complete = true;
    removePending(op);
    // Whether or not anybody waits for it.
    if (mayOverlap() && options.detectRaces)
      op.announce(op.issuer.cta.cluster.grid.endView);
  }
  noteChange();
}

void Machine::removePending(AsyncOp &op) {
  auto found = std::lower_bound(
      pendingOps.begin(), pendingOps.end(), op.serial,
      [](const AsyncOpRef &a, uint64_t serial) { return a->serial < serial; });
  if (found != pendingOps.end() && found->get() == &op)
    pendingOps.erase(found);
}
