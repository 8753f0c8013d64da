//===- JitSupport.cpp - What compiled kernels call ------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Isa/JitSupport.h"
#include "Machine/Async.h"
#include "Machine/Cta.h"
#include "Machine/Machine.h"
#include "llvm/Support/MathExtras.h"
#include <chrono>

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::Twine;

void emulator::jitEnter(Thread *thread, JitFrame *frame, uint32_t alignLocal) {
  const Cta &cta = thread->cta;
  const Grid &grid = cta.cluster.grid;
  frame->asyncRegisters = thread->asyncRegisters.data();
  frame->numPendingRegisters = &thread->numPendingRegisters;
  frame->fenceEpoch = &thread->fenceEpoch;
  frame->site = &thread->site;
  frame->paramBase = grid.paramsAddress;
  auto local = reinterpret_cast<uintptr_t>(thread->local.data());
  frame->localBase = alignLocal > 16 ? llvm::alignTo(local, alignLocal) : local;
  frame->sharedWindow = reinterpret_cast<uintptr_t>(cta.cluster.window);
  frame->sharedBase = cta.sharedBase();
  frame->dynamicShared = cta.sharedBase() + grid.kernel.dynamicSharedStart();
}

char *emulator::jitAccess(Thread *thread, const Site *site, uint64_t address,
                          uint32_t bytes, uint32_t kinds) {
  thread->site = site;
  return access(*thread, static_cast<Space>(kinds & 0xff), address, bytes,
                kinds >> 16, static_cast<Access>(kinds >> 8 & 0xff));
}

char *emulator::jitStrongAccess(Thread *thread, const Site *site,
                                uint64_t address, uint32_t bytes,
                                uint32_t kinds, Order order, Scope scope) {
  thread->site = site;
  auto kind = static_cast<Access>(kinds >> 8 & 0xff);
  char *location = access(*thread, static_cast<Space>(kinds & 0xff), address,
                          bytes, kinds >> 16, kind, scope);
  if (kind == Access::StrongWrite)
    releaseLocation(*thread, location, order, scope, /*isAtomic=*/false);
  return location;
}

void emulator::jitAcquire(Thread *thread, const char *location, Order order,
                          Scope scope) {
  acquireLocation(*thread, location, order, scope);
}

void emulator::jitBackEdge(Thread *thread, const Site *site) {
  thread->site = site;
  thread->preempt();
}

void emulator::jitCheckAsyncRead(Thread *thread, const Site *site,
                                 uint32_t index, const char *name) {
  const AsyncRegister &reg = thread->asyncRegisters[index];
  thread->site = site;
  if (reg.writer)
    thread->fault(FaultKind::ReadBeforeWait,
                  Twine("the register ") + name +
                      " is read before the wait for its writer",
                  {"written by '" + reg.writer->site.text + "' at line " +
                   std::to_string(reg.writer->site.location.ptxLine)});
  if (!reg.initialized)
    jitUninitialized(thread, site, name);
}

void emulator::jitCheckAsyncWrite(Thread *thread, const Site *site,
                                  uint32_t index, const char *name) {
  const AsyncRegister &reg = thread->asyncRegisters[index];
  const AsyncOp *op = reg.writer ? reg.writer : reg.reader;
  if (!op)
    return;
  thread->site = site;
  thread->fault(FaultKind::OverwriteInFlight,
                Twine("the register ") + name +
                    " is written while an "
                    "asynchronous instruction still " +
                    (reg.writer ? "writes" : "reads") + " it",
                {std::string(reg.writer ? "written" : "read") + " by '" +
                 op->site.text + "' at line " +
                 std::to_string(op->site.location.ptxLine)});
}

void emulator::jitUninitialized(Thread *thread, const Site *site,
                                const char *name) {
  thread->site = site;
  thread->fault(FaultKind::Uninitialized, Twine("the register ") + name +
                                              " is read before it is written");
}

void emulator::jitTrap(Thread *thread, const Site *site, const char *message) {
  thread->site = site;
  thread->fault(FaultKind::Trap, message);
}

void emulator::jitIllegal(Thread *thread, const Site *site,
                          const char *message) {
  thread->site = site;
  thread->fault(FaultKind::IllegalInstruction, message);
}

void emulator::jitUnsupported(Thread *thread, const Site *site,
                              const char *message) {
  thread->site = site;
  thread->fault(FaultKind::Unsupported, message);
}

uint32_t emulator::jitIsSpace(Thread *thread, uint64_t address, Space space) {
  const Cta &cta = thread->cta;
  auto inside = [&](const void *begin, uint64_t size) {
    return address - reinterpret_cast<uintptr_t>(begin) < size;
  };
  bool isCluster = inside(cta.cluster.window, UINT64_C(1) << 32);
  bool isLocal = inside(thread->local.data(), thread->local.size());
  const Grid &grid = cta.cluster.grid;
  bool isParam = address - grid.paramsAddress < grid.kernel.paramBytes;
  switch (space) {
  case Space::Shared:
    return inside(cta.cluster.window + cta.sharedBase(), 1 << 24);
  case Space::SharedCluster:
    return isCluster;
  case Space::Local:
    return isLocal;
  case Space::Param:
    return isParam;
  case Space::Global:
    return !isCluster && !isLocal && !isParam;
  default:
    return 0;
  }
}

uint64_t emulator::jitSpecial(Thread *thread, SpecialRegister which) {
  const Cta &cta = thread->cta;
  const Grid &grid = cta.cluster.grid;
  const EmulatorLaunch &shape = grid.shape;
  auto clusters = [&](unsigned i) {
    return shape.grid[i] / std::max(1u, shape.cluster[i]);
  };
  uint32_t laneBit = 1u << thread->lane;
  using R = SpecialRegister;
  switch (which) {
  case R::TidX:
  case R::TidY:
  case R::TidZ:
    return thread
        ->tid[static_cast<uint32_t>(which) - static_cast<uint32_t>(R::TidX)];
  case R::NtidX:
  case R::NtidY:
  case R::NtidZ:
    return shape
        .block[static_cast<uint32_t>(which) - static_cast<uint32_t>(R::NtidX)];
  case R::CtaidX:
  case R::CtaidY:
  case R::CtaidZ:
    return cta
        .id[static_cast<uint32_t>(which) - static_cast<uint32_t>(R::CtaidX)];
  case R::NctaidX:
  case R::NctaidY:
  case R::NctaidZ:
    return shape
        .grid[static_cast<uint32_t>(which) - static_cast<uint32_t>(R::NctaidX)];
  case R::ClusterIdX:
  case R::ClusterIdY:
  case R::ClusterIdZ:
    return cta.cluster.id[static_cast<uint32_t>(which) -
                          static_cast<uint32_t>(R::ClusterIdX)];
  case R::NclusterIdX:
  case R::NclusterIdY:
  case R::NclusterIdZ:
    return clusters(static_cast<uint32_t>(which) -
                    static_cast<uint32_t>(R::NclusterIdX));
  case R::ClusterCtaidX:
  case R::ClusterCtaidY:
  case R::ClusterCtaidZ:
    return cta.idInCluster[static_cast<uint32_t>(which) -
                           static_cast<uint32_t>(R::ClusterCtaidX)];
  case R::ClusterNctaidX:
  case R::ClusterNctaidY:
  case R::ClusterNctaidZ:
    return shape.cluster[static_cast<uint32_t>(which) -
                         static_cast<uint32_t>(R::ClusterNctaidX)];
  case R::ClusterCtarank:
    return cta.rank;
  case R::ClusterNctarank:
    return shape.cluster[0] * shape.cluster[1] * shape.cluster[2];
  case R::IsExplicitCluster:
    return grid.kernel.explicitCluster || shape.cluster[0] > 1 ||
           shape.cluster[1] > 1 || shape.cluster[2] > 1;
  case R::LaneId:
    return thread->lane;
  case R::WarpId:
    return thread->warp;
  case R::NwarpId:
    return llvm::divideCeil(shape.block[0] * shape.block[1] * shape.block[2],
                            32);
  case R::SmId:
    // Each resident CTA has a multiprocessor of its own.
    return cta.index % 132;
  case R::NsmId:
    return 132;
  case R::GridId:
    return 1 + (&grid - thread->machine.grids.data());
  case R::LanemaskEq:
    return laneBit;
  case R::LanemaskLt:
    return laneBit - 1;
  case R::LanemaskLe:
    return laneBit | (laneBit - 1);
  case R::LanemaskGt:
    return ~(laneBit | (laneBit - 1));
  case R::LanemaskGe:
    return ~(laneBit - 1);
  case R::Clock64:
  case R::ClockHi:
  case R::GlobalTimer:
  case R::GlobalTimerHi: {
    // Time goes on, but means nothing.
    uint64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                       std::chrono::steady_clock::now().time_since_epoch())
                       .count();
    return which == R::ClockHi || which == R::GlobalTimerHi ? now >> 32 : now;
  }
  case R::TotalSmemSize:
  case R::AggrSmemSize:
    return grid.kernel.dynamicSharedStart() - Kernel::sharedStart +
           shape.dynamicSharedMemory;
  case R::DynamicSmemSize:
    return shape.dynamicSharedMemory;
  case R::ReservedSmemBegin:
    return 0;
  case R::ReservedSmemEnd:
    return Kernel::sharedStart;
  case R::Zero:
    return 0;
  }
  return 0;
}
