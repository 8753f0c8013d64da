//===- Async.h - Operations that complete later -----------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies, tensor copies and wgmma: issued by a thread, completed by the
// scheduler at some time between the issue and the wait that guarantees it.
// Each operation is an agent with epochs of its own, one for what it reads and
// a later one for what it writes: waiting for the reads alone
// (cp.async.bulk.wait_group.read) does not order the writes.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_MACHINE_ASYNC_H
#define FLASHNORM_LIB_EMULATOR_MACHINE_ASYNC_H

#include "Machine/Thread.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"

namespace flashnorm::emulator {

/// Subclasses hold what they need and do it in step(). Made by handlers;
/// shared by the machine, until it is complete, and by the groups and registers
/// that wait for it.
class AsyncOp : public llvm::RefCountedBase<AsyncOp> {
public:
  enum class Proxy { Generic, Async };

  /// Knows what the issuer knows now, and begins the issuer's next epoch.
  AsyncOp(Thread &issuer, const Site &site, Proxy proxy);
  virtual ~AsyncOp();

  /// Does the next piece; true when that was the last one. Pieces let others
  /// see a copy half done. Called by the scheduler, outside of any thread's
  /// fiber, or by finish(); a fault is reported at the site and the issuer.
  virtual bool step() = 0;

  [[noreturn]] void fault(FaultKind kind, const llvm::Twine &message,
                          llvm::ArrayRef<std::string> notes = {});

  /// Other threads take part in the issue (wgmma: a warpgroup).
  void addIssuers(llvm::ArrayRef<Thread *> threads) {
    Thread::releaseAll(threads, view);
  }

  Thread &issuer;
  Machine &machine;
  const Site &site;
  Proxy proxy;
  uint32_t agent = 0;
  Epoch readEpoch = 0, writeEpoch = 0;
  /// What happened before it; what it reads and writes is checked against the
  /// clock of its proxy.
  View view;
  /// A bulk copy from shared memory: nobody may exit before its reads.
  bool readsShared = false;
  bool readsWaited = false; ///< by wait_group.read
  /// Set by step(): all sources have been read. finishReads() steps until then.
  bool readsDone = false;
  bool complete = false;
  /// Bytes that it is to deliver to each mbarrier that it signals; 0: any.
  uint64_t txBytes = 0;
  /// An operation that must complete first (wgmma of a warpgroup, in order).
  llvm::IntrusiveRefCntPtr<AsyncOp> predecessor;
  uint64_t serial = 0; ///< in order of issue
  /// What those who wait for it learn.
  mutable View readsView, writesView;
};
using AsyncOpRef = llvm::IntrusiveRefCntPtr<AsyncOp>;

/// Hands an operation to the machine. In the eager schedule it is complete when
/// this returns.
AsyncOpRef issue(Thread &thread, std::unique_ptr<AsyncOp> op);

/// Completes an operation now, its predecessors first, because a wait demands
/// it. Callable from handlers. The waiter then joins its view (waitedFor).
void finish(AsyncOp &op);
/// The same up to the point where its sources are read.
void finishReads(AsyncOp &op);

/// The thread has waited for an operation: its reads and writes (or its reads
/// only) happened before what the thread does next, in either proxy.
void waitedFor(Thread &thread, const AsyncOp &op, bool readsOnly = false);

/// Groups as of cp.async.commit_group, cp.async.bulk.commit_group and
/// wgmma.commit_group: operations since the last commit become one group.
class AsyncGroups {
public:
  void add(AsyncOpRef op) { open.push_back(std::move(op)); }
  void commit() {
    groups.push_back(std::move(open));
    open.clear();
  }
  /// Completes all groups but the newest `allowed`, and returns and forgets
  /// their operations; the caller passes them to waitedFor.
  llvm::SmallVector<AsyncOpRef> wait(unsigned allowed);
  /// The same for their reads; returns the operations and keeps them.
  llvm::SmallVector<AsyncOpRef> waitForReads(unsigned allowed);
  /// No operations that a wait has not covered, uncommitted ones included.
  bool empty() const;
  llvm::ArrayRef<AsyncOpRef> getOpen() const { return open; }
  llvm::ArrayRef<std::vector<AsyncOpRef>> getGroups() const { return groups; }

private:
  std::vector<std::vector<AsyncOpRef>> groups;
  std::vector<AsyncOpRef> open;
};

/// Those of a thread.
struct ThreadGroups {
  AsyncGroups copies; ///< cp.async
  AsyncGroups bulk;   ///< cp.async.bulk and cp.reduce.async.bulk
  AsyncGroups wgmma;
};

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_MACHINE_ASYNC_H
