//===- JitSupport.h - What compiled kernels call ----------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_ISA_JITSUPPORT_H
#define FLASHNORM_LIB_EMULATOR_ISA_JITSUPPORT_H

#include "Machine/Memory.h"

namespace flashnorm::emulator {

/// What a thread's code needs to know of its thread, filled in when it starts.
struct JitFrame {
  AsyncRegister *asyncRegisters;
  const uint32_t *numPendingRegisters;
  const uint32_t *fenceEpoch;
  const Site **site;
  uint64_t paramBase, localBase, sharedWindow;
  uint64_t sharedBase; ///< shared::cluster address of the CTA's shared memory
  uint64_t dynamicShared; ///< that of its dynamic shared memory
};

enum class SpecialRegister : uint32_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  ClusterIdX,
  ClusterIdY,
  ClusterIdZ,
  NclusterIdX,
  NclusterIdY,
  NclusterIdZ,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterCtarank,
  ClusterNctarank,
  IsExplicitCluster,
  LaneId,
  WarpId,
  NwarpId,
  SmId,
  NsmId,
  GridId,
  LanemaskEq,
  LanemaskLt,
  LanemaskLe,
  LanemaskGt,
  LanemaskGe,
  Clock64,
  ClockHi,
  GlobalTimer,
  GlobalTimerHi,
  TotalSmemSize,
  AggrSmemSize,
  DynamicSmemSize,
  ReservedSmemBegin,
  ReservedSmemEnd,
  Zero,
};

/// An access by the code of a kernel: `kinds` packs the address space, the
/// access and the alignment.
constexpr uint32_t packAccess(Space space, Access kind, unsigned alignment) {
  return static_cast<uint32_t>(space) | static_cast<uint32_t>(kind) << 8 |
         alignment << 16;
}
char *jitAccess(Thread *thread, const Site *site, uint64_t address,
                uint32_t bytes, uint32_t kinds);
/// The same of a strong access; a write releases.
char *jitStrongAccess(Thread *thread, const Site *site, uint64_t address,
                      uint32_t bytes, uint32_t kinds, Order order, Scope scope);
/// After a strong read.
void jitAcquire(Thread *thread, const char *location, Order order, Scope scope);

void jitEnter(Thread *thread, JitFrame *frame, uint32_t alignLocal);
uint64_t jitSpecial(Thread *thread, SpecialRegister which);
/// A backward branch: the place where a thread that loops can be stopped.
void jitBackEdge(Thread *thread, const Site *site);

/// Registers that an asynchronous instruction reads or writes.
void jitCheckAsyncRead(Thread *thread, const Site *site, uint32_t index,
                       const char *name);
void jitCheckAsyncWrite(Thread *thread, const Site *site, uint32_t index,
                        const char *name);

// Faults; they do not return.
void jitUninitialized(Thread *thread, const Site *site, const char *name);
void jitTrap(Thread *thread, const Site *site, const char *message);
void jitIllegal(Thread *thread, const Site *site, const char *message);
void jitUnsupported(Thread *thread, const Site *site, const char *message);

/// isspacep: whether a generic address lies in a window.
uint32_t jitIsSpace(Thread *thread, uint64_t address, Space space);

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_ISA_JITSUPPORT_H
