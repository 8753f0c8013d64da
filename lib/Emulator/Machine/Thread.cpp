//===- Thread.cpp - One emulated thread -----------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/Machine.h"
#include "llvm/Support/FormatVariadic.h"

using namespace flashnorm::emulator;

llvm::StringRef flashnorm::emulator::stringify(FaultKind kind) {
  switch (kind) {
  case FaultKind::OutOfBounds:
    return "out-of-bounds";
  case FaultKind::Misaligned:
    return "misaligned";
  case FaultKind::BadDescriptor:
    return "bad-descriptor";
  case FaultKind::BadTensorMap:
    return "bad-tensor-map";
  case FaultKind::Uninitialized:
    return "uninitialized";
  case FaultKind::ReadBeforeWait:
    return "read-before-wait";
  case FaultKind::OverwriteInFlight:
    return "overwrite-in-flight";
  case FaultKind::MissingProxyFence:
    return "missing-proxy-fence";
  case FaultKind::MissingWgmmaFence:
    return "missing-wgmma-fence";
  case FaultKind::DataRace:
    return "data-race";
  case FaultKind::BarrierNotVisible:
    return "barrier-not-visible";
  case FaultKind::BarrierMisuse:
    return "barrier-misuse";
  case FaultKind::Divergence:
    return "divergence";
  case FaultKind::PeerExited:
    return "peer-exited";
  case FaultKind::ExitWithPending:
    return "exit-with-pending";
  case FaultKind::RegisterBudget:
    return "register-budget";
  case FaultKind::Deadlock:
    return "deadlock";
  case FaultKind::Livelock:
    return "livelock";
  case FaultKind::Unsupported:
    return "unsupported";
  case FaultKind::IllegalInstruction:
    return "illegal-instruction";
  case FaultKind::Trap:
    return "trap";
  }
  llvm_unreachable("unknown kind");
}

Thread::Thread(Machine &machine, Cta &cta)
    : machine(machine), cta(cta), groups(std::make_unique<ThreadGroups>()) {}
Thread::~Thread() = default;

void Thread::fault(FaultKind kind, const llvm::Twine &message,
                   llvm::ArrayRef<std::string> notes) {
  machine.fault(kind, site, this, message, notes);
}

void Thread::block(llvm::function_ref<std::string()> what) {
  state = State::Blocked;
  waitsFor = what;
  machine.yieldToScheduler(*this);
}

void Thread::poll(llvm::function_ref<std::string()> what, bool suspends) {
  state = State::Polling;
  waitsFor = what;
  this->suspends = suspends;
  machine.addPoller(*this);
  machine.yieldToScheduler(*this);
}

void Thread::preempt() {
  ++machine.statistics.steps;
  if (!machine.shouldSwitch(*this))
    return;
  state = State::Ready;
  machine.makeReady(*this);
  machine.yieldToScheduler(*this);
}

void Thread::publishOwn(View &into) const {
  into.generic.set(agent, epoch);
  // What the async proxy sees of this thread is what its last fence covered.
  if (asyncSharedEpoch)
    into.asyncShared.set(agent, asyncSharedEpoch);
  if (asyncGlobalEpoch)
    into.asyncGlobal.set(agent, asyncGlobalEpoch);
  if (initEpoch)
    into.inits.set(agent, initEpoch);
  if (tensorMapEpoch)
    into.tensorMaps.set(agent, tensorMapEpoch);
}

void Thread::publish(View &into) const {
  if (!machine.options.detectRaces)
    return;
  into.collect(view);
  publishOwn(into);
}

void Thread::release(View &into) {
  publish(into);
  ++epoch;
}

void Thread::releaseAll(llvm::ArrayRef<Thread *> threads, View &into) {
  if (threads.empty() || !threads[0]->machine.options.detectRaces)
    return;
  // Threads that know the same share tables, which join at no cost as long as
  // no epoch of their own is added.
  for (const Thread *thread : threads)
    into.collect(thread->view);
  for (Thread *thread : threads) {
    thread->publishOwn(into);
    ++thread->epoch;
  }
}

static std::string formatThread(std::array<uint32_t, 3> cta, uint32_t thread) {
  return llvm::formatv("CTA ({0},{1},{2}) warp {3} lane {4}", cta[0], cta[1],
                       cta[2], thread / 32, thread % 32);
}

std::string Thread::describe() const { return formatThread(cta.id, index); }

std::string Machine::describeAgent(uint32_t agent) const {
  const AgentInfo &info = agents[agent];
  std::string thread = formatThread(getCtaId(info.cta), info.thread);
  if (!info.op)
    return thread;
  return llvm::formatv("'{0}' at line {1}, issued by {2}", info.op->text,
                       info.op->location.ptxLine, thread);
}
