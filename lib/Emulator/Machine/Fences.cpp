//===- Fences.cpp - membar and fence --------------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.13.4. Memory is sequentially consistent here, so a fence only
// moves knowledge: a release lets later relaxed operations publish what the
// thread knows now, an acquire takes over what earlier ones have observed
// (8.8, release and acquire patterns).
//
//===----------------------------------------------------------------------===//

#include "Isa/OpcodeTable.h"
#include "Machine/Machine.h"
#include "Machine/Memory.h"
#include "Tensor/TensorMap.h"

using namespace flashnorm::emulator;

static void releaseFence(Thread &thread, Scope scope) {
  View &view = thread.released[static_cast<unsigned>(scope)];
  view.clear(); // what it held, the thread still knows
  thread.release(view);
}

static void acquireFence(Thread &thread, Scope scope) {
  // `observed` is by where the releases came from; a fence at a smaller scope
  // does not reach farther.
  unsigned last = std::min(static_cast<unsigned>(scope), 2u);
  for (unsigned i = 0; i <= last; ++i) {
    thread.acquire(thread.observed[i]);
    thread.observed[i].clear();
  }
}

static void fence(Thread &thread, Scope scope, Order order) {
  thread.preempt();
  if (order != Order::Release)
    acquireFence(thread, scope);
  if (order != Order::Acquire)
    releaseFence(thread, scope);
}

/// membar.{cta,gl,sys} are fence.sc.{cta,gpu,sys}.
static void membar(Thread &thread, const Site &site, uint64_t *) {
  static constexpr Scope scopes[] = {Scope::Cta, Scope::Gpu, Scope::Sys};
  fence(thread, scopes[site.get(0)], Order::AcqRel);
}

/// fence{.sc|.acq_rel|.acquire|.release}.scope
static void threadFence(Thread &thread, const Site &site, uint64_t *) {
  static constexpr Order orders[] = {Order::AcqRel, Order::AcqRel,
                                     Order::Acquire, Order::Release};
  Order order = site.has(0) ? orders[site.get(0)] : Order::AcqRel;
  fence(thread, static_cast<Scope>(site.get(1)), order);
}

/// fence.acquire.sync_restrict::shared::cluster.cluster,
/// fence.release.sync_restrict::shared::cta.cluster: what they leave out is
/// not kept apart.
static void restrictedFence(Thread &thread, const Site &site, uint64_t *) {
  fence(thread, Scope::Cluster,
        site.get(0) == 0 ? Order::Acquire : Order::Release);
}

/// fence.mbarrier_init.release.cluster: the inits of mbarriers by this thread,
/// and nothing else, become visible to the cluster when a relaxed operation
/// after it is observed.
static void initFence(Thread &thread, const Site &, uint64_t *) {
  thread.preempt();
  if (!thread.machine.options.detectRaces)
    return;
  thread.initEpoch = thread.epoch++;
  thread.released[static_cast<unsigned>(Scope::Cluster)].inits.set(
      thread.agent, thread.initEpoch);
}

/// fence.proxy.async{.global|.shared::{cta, cluster}}: what happened before, in
/// the generic proxy, becomes visible to the async proxy. It may stand anywhere
/// between the write and the asynchronous operation in causality order (8.9.5,
/// proxy-preserved base causality order).
static void asyncProxyFence(Thread &thread, const Site &site, uint64_t *) {
  thread.preempt();
  if (!thread.machine.options.detectRaces)
    return;
  bool global = !site.has(0) || site.get(0) == 0;
  bool shared = !site.has(0) || site.get(0) != 0;
  if (shared) {
    thread.view.asyncShared.join(thread.view.generic);
    thread.asyncSharedEpoch = thread.epoch;
  }
  if (global) {
    thread.view.asyncGlobal.join(thread.view.generic);
    thread.asyncGlobalEpoch = thread.epoch;
  }
  // What the thread writes from here on is not covered.
  ++thread.epoch;
}

/// fence.proxy.async::generic.{acquire,release}.sync_restrict…: from the async
/// to the generic proxy, which completion mechanisms order here anyway.
static void restrictedProxyFence(Thread &thread, const Site &site, uint64_t *) {
  fence(thread, Scope::Cluster,
        site.get(0) == 0 ? Order::Acquire : Order::Release);
}

/// fence.proxy.alias: virtual aliases do not exist here.
static void aliasFence(Thread &thread, const Site &, uint64_t *) {
  thread.preempt();
}

void flashnorm::emulator::releaseTensorMaps(Thread &thread, Scope scope) {
  if (thread.machine.options.detectRaces) {
    thread.view.tensorMaps.join(thread.view.generic);
    thread.tensorMapEpoch = thread.epoch;
  }
  releaseFence(thread, scope);
}

/// fence.proxy.tensormap::generic.{release.scope, acquire.scope [addr], size}:
/// writes by the generic proxy, then uses of the tensor map at addr.
static void tensorMapFence(Thread &thread, const Site &site, uint64_t *words) {
  thread.preempt();
  auto scope = static_cast<Scope>(site.get(1));
  if (site.get(0) == 0)
    return releaseTensorMaps(thread, scope);
  uint64_t address = word(words, site, 0);
  if (word(words, site, 1) != TensorMap::encodedBytes)
    thread.fault(FaultKind::IllegalInstruction,
                 "a tensor map has 128 bytes, not " +
                     llvm::Twine(word(words, site, 1)));
  resolve(thread, Space::Generic, address, TensorMap::encodedBytes,
          TensorMap::encodedBytes);
  acquireFence(thread, scope);
  if (!thread.machine.options.detectRaces)
    return;
  Clock released = thread.view.tensorMaps;
  if (thread.tensorMapEpoch)
    released.set(thread.agent, thread.tensorMapEpoch);
  thread.cta.tensorMaps[address].join(released);
}

llvm::ArrayRef<OpcodeEntry> flashnorm::emulator::getFenceOpcodes() {
  static const OpcodeEntry entries[] = {
      {"membar(.cta|.gl|.sys)", "", "9.7.13.4", nullptr, membar},
      {"fence{.sc|.acq_rel|.acquire|.release}(.cta|.cluster|.gpu|.sys)", "",
       "9.7.13.4", nullptr, threadFence},
      {"fence(.acquire.sync_restrict::shared::cluster|"
       ".release.sync_restrict::shared::cta).cluster",
       "", "9.7.13.4", nullptr, restrictedFence},
      {"fence.mbarrier_init.release.cluster", "", "9.7.13.4", nullptr,
       initFence},
      {"fence.proxy.async{.global|.shared::cta|.shared::cluster}", "",
       "9.7.13.4", nullptr, asyncProxyFence},
      {"fence.proxy.async::generic"
       "(.acquire.sync_restrict::shared::cluster|"
       ".release.sync_restrict::shared::cta).cluster",
       "", "9.7.13.4", nullptr, restrictedProxyFence},
      {"fence.proxy.alias", "", "9.7.13.4", nullptr, aliasFence},
      {"fence.proxy.tensormap::generic(.release|.acquire)"
       "(.cta|.cluster|.gpu|.sys)",
       "m? c?", "9.7.13.4", nullptr, tensorMapFence},
  };
  return entries;
}
