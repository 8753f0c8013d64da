//===- Async.h - Operations that complete later -----------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies, tensor copies and wgmma: issued by a thread, completed by the
// scheduler at some time between the issue and the wait that guarantees it.
// Each operation is an agent with a clock of its own.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_MACHINE_ASYNC_H
#define FLASHNORM_LIB_EMULATOR_MACHINE_ASYNC_H

#include "Machine/Thread.h"

namespace flashnorm::emulator {

/// Subclasses hold what they need and do it in step(). Made by handlers, owned
/// by the machine once issued.
class AsyncOp {
public:
  enum class Proxy { Generic, Async };

  AsyncOp(Thread &issuer, const Site &site, Proxy proxy);
  virtual ~AsyncOp();

  /// Does the next piece; true when that was the last one. Pieces let others
  /// see a copy half done. Called by the scheduler, outside of any fiber; a
  /// fault is reported at the site and the issuer.
  virtual bool step() = 0;

  [[noreturn]] void fault(FaultKind kind, const llvm::Twine &message,
                          llvm::ArrayRef<std::string> notes = {});

  Thread &issuer;
  const Site &site;
  Proxy proxy;
  uint32_t agent = 0;
  /// What happened before it, as its proxy sees it; includes itself.
  Clock clock;
  bool complete = false;
  /// Operations that must complete first (wgmma of one warpgroup, in order).
  AsyncOp *predecessor = nullptr;
};

/// Hands an operation to the machine. In the eager schedule it is complete when
/// this returns.
AsyncOp &issue(Thread &thread, std::unique_ptr<AsyncOp> op);

/// Completes an operation now, its predecessors first, because a wait demands
/// it. Callable from handlers.
void finish(AsyncOp &op);

/// Groups as of cp.async.commit_group, cp.async.bulk.commit_group and
/// wgmma.commit_group: operations since the last commit become one group.
class AsyncGroups {
public:
  void add(AsyncOp &op);
  void commit();
  /// Completes all groups but the newest `allowed`, and returns their
  /// operations for the waiter to join their clocks.
  llvm::SmallVector<AsyncOp *> wait(unsigned allowed);
  /// Operations not known to be complete by a wait, uncommitted ones included.
  bool empty() const;

private:
  std::vector<std::vector<AsyncOp *>> groups;
  std::vector<AsyncOp *> open;
};

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_MACHINE_ASYNC_H
