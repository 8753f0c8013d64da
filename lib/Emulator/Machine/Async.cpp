//===- Async.cpp - Operations that complete later -------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/Async.h"
#include "Machine/Machine.h"

using namespace flashnorm::emulator;

AsyncOp::AsyncOp(Thread &issuer, const Site &site, Proxy proxy)
    : issuer(issuer), machine(issuer.machine), site(site), proxy(proxy) {
  agent = machine.takeAgents(1);
  Machine::AgentInfo &info = machine.agents[agent];
  readEpoch = info.lastEpoch + 1;
  writeEpoch = info.lastEpoch = readEpoch + 1;
  info.cta = issuer.cta.index;
  info.cluster = issuer.cta.cluster.index;
  info.thread = issuer.index;
  info.op = &site;
  issuer.release(view);
}

AsyncOp::~AsyncOp() {
  // A machine that is cleaned up has forgotten its agents already.
  if (agent < machine.agents.size())
    machine.giveAgentBack(agent);
}

void AsyncOp::fault(FaultKind kind, const llvm::Twine &message,
                    llvm::ArrayRef<std::string> notes) {
  issuer.machine.fault(kind, &site, &issuer, message, notes);
}

AsyncOpRef flashnorm::emulator::issue(Thread &thread,
                                      std::unique_ptr<AsyncOp> op) {
  Machine &machine = thread.machine;
  AsyncOpRef ref(op.release());
  ref->serial = machine.nextSerial++;
  ++machine.statistics.asyncOperations;
  machine.pendingOps.push_back(ref);
  machine.noteChange();
  if (machine.isEager())
    finish(*ref);
  return ref;
}

void flashnorm::emulator::finish(AsyncOp &op) {
  AsyncOpRef keep(&op);
  while (!op.complete)
    op.issuer.machine.stepOp(op);
}

void flashnorm::emulator::finishReads(AsyncOp &op) {
  AsyncOpRef keep(&op);
  while (!op.complete && !op.readsDone)
    op.issuer.machine.stepOp(op);
}

void flashnorm::emulator::waitedFor(Thread &thread, const AsyncOp &op,
                                    bool readsOnly) {
  if (!thread.machine.options.detectRaces)
    return;
  // One table for all who wait, so that their joins are remembered.
  View &done = readsOnly ? op.readsView : op.writesView;
  if (done.empty())
    done.add(op.agent, readsOnly ? op.readEpoch : op.writeEpoch);
  thread.acquire(done);
}

llvm::SmallVector<AsyncOpRef> AsyncGroups::wait(unsigned allowed) {
  llvm::SmallVector<AsyncOpRef> done;
  if (groups.size() <= allowed)
    return done;
  size_t count = groups.size() - allowed;
  for (size_t i = 0; i != count; ++i)
    for (AsyncOpRef &op : groups[i]) {
      finish(*op);
      done.push_back(std::move(op));
    }
  groups.erase(groups.begin(), groups.begin() + count);
  return done;
}

llvm::SmallVector<AsyncOpRef> AsyncGroups::waitForReads(unsigned allowed) {
  llvm::SmallVector<AsyncOpRef> done;
  for (size_t i = 0; i + allowed < groups.size(); ++i)
    for (AsyncOpRef &op : groups[i]) {
      finishReads(*op);
      op->readsWaited = true;
      done.push_back(op);
    }
  return done;
}

bool AsyncGroups::empty() const {
  if (!open.empty())
    return false;
  for (const std::vector<AsyncOpRef> &group : groups)
    if (!group.empty())
      return false;
  return true;
}

void Thread::checkExit() {
  // 9.7.9.27.1: shared memory must outlive the copies that read it, which only
  // a wait of the thread that issued them can tell.
  auto check = [this](llvm::ArrayRef<AsyncOpRef> ops) {
    for (const AsyncOpRef &op : ops)
      if (op->readsShared && !op->readsWaited) {
        site = &op->site;
        fault(FaultKind::ExitWithPending,
              "the thread exits without having waited for this copy to read "
              "shared memory (cp.async.bulk.wait_group.read)");
      }
  };
  check(groups->bulk.getOpen());
  for (const std::vector<AsyncOpRef> &group : groups->bulk.getGroups())
    check(group);
  auto checkWgmma = [this](llvm::ArrayRef<AsyncOpRef> ops) {
    if (ops.empty())
      return;
    site = &ops.front()->site;
    fault(FaultKind::ExitWithPending,
          "the thread exits without having waited for this operation to read "
          "shared memory (wgmma.wait_group)");
  };
  checkWgmma(groups->wgmma.getOpen());
  for (const std::vector<AsyncOpRef> &group : groups->wgmma.getGroups())
    checkWgmma(group);
  groups = std::make_unique<ThreadGroups>();
}
