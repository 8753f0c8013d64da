//===- Memory.h - Checked memory --------------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All addresses that a kernel sees are addresses of this process, except that
// .shared ones are 32 bits: those of shared::cluster. Each cluster has a window
// aligned to 4 GiB; the shared memory of the CTA with rank r starts at
// window + (r << 24), and the low 32 bits of an address in it are its
// shared::cluster address.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_MACHINE_MEMORY_H
#define FLASHNORM_LIB_EMULATOR_MACHINE_MEMORY_H

#include "Machine/Thread.h"

namespace flashnorm::emulator {

enum class Space {
  Generic,
  Global,
  Shared,
  SharedCluster,
  Local,
  Param,
  Const
};

/// How an access orders and how it races.
enum class Access {
  Read,       ///< weak
  Write,      ///< weak
  StrongRead, ///< .relaxed, .volatile and up: does not race with strong ones
  StrongWrite,
  Atomic, ///< reads and writes
};

/// Checks bounds, alignment, initialisation and races of an access by a thread
/// (generic proxy) and returns where the bytes are. May preempt. `scope` is
/// that of strong accesses.
char *access(Thread &thread, Space space, uint64_t address, unsigned bytes,
             unsigned alignment, Access kind, Scope scope = Scope::Sys);

/// The same for an asynchronous operation, at the time it happens. `alignment`
/// may be 1. Races with what `op` does not know of are faults at op's site.
char *access(AsyncOp &op, Space space, uint64_t address, uint64_t bytes,
             Access kind);

/// Only bounds and alignment; for addresses that an operation will use later.
char *resolve(Thread &thread, Space space, uint64_t address, uint64_t bytes,
              unsigned alignment);

/// Makes [address, address + bytes) the destination of `op`: reads and writes
/// of it by anybody else before op has completed and the reader knows of it are
/// faults, whether races are detected or not. Fills it with poison.
void poison(AsyncOp &op, Space space, uint64_t address, uint64_t bytes);

/// The place in shared memory that `address` leads to; elsewhere is a fault.
struct SharedPlace {
  Cta *cta = nullptr;
  uint32_t offset = 0; ///< in cta->shared
};
SharedPlace resolveShared(Thread &thread, Space space, uint64_t address,
                          uint64_t bytes, unsigned alignment);

/// The value of memory without any check but bounds, for messages and
/// instructions that only hint; null when there is none.
char *peek(Thread &thread, Space space, uint64_t address, uint64_t bytes);

// Acquire and release of a location (PTX ISA 8.8), for ld.acquire, st.release,
// atom and red. Call them between access() and the access itself (release) and
// after it (acquire); relaxed operations call them as well: they publish what
// earlier fences released, and keep what a later fence may acquire.
enum class Order : uint8_t { Relaxed, Acquire, Release, AcqRel };
/// `isAtomic`: a read-modify-write continues the release sequence of earlier
/// writes, a store ends it.
void releaseLocation(Thread &thread, const char *location, Order order,
                     Scope scope, bool isAtomic);
void acquireLocation(Thread &thread, const char *location, Order order,
                     Scope scope);

/// fence.proxy.tensormap::generic.release (PTX ISA 9.7.13.4): what the thread
/// knows of becomes visible to those who acquire a tensor map.
void releaseTensorMaps(Thread &thread, Scope scope);
/// A thread uses the tensor map of `bytes` at `address`, in the tensormap
/// proxy: writes to it must have been released and acquired as such.
void checkTensorMapUse(Thread &thread, uint64_t address, uint64_t bytes);

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_MACHINE_MEMORY_H
