//===- Memory.cpp - Checked memory ----------------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/Memory.h"
#include "Machine/Host.h"
#include "Machine/Machine.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>
#include <limits>

using namespace flashnorm::emulator;

namespace {
/// Where an address leads.
struct Place {
  char *host = nullptr;         ///< null: nowhere
  MemoryBlock *block = nullptr; ///< null: .local
  uint64_t offset = 0;          ///< in the block
  Cta *owner = nullptr;         ///< of shared memory
};

/// Spins of a thread on one place before it gives way.
constexpr uint32_t maxSpins = 4;
/// Memory that nobody has written yet: NaN in every type.
constexpr char poisonByte = char(0xff);
} // namespace

static Place locateShared(Cluster &cluster, uint32_t address, uint64_t bytes) {
  uint32_t rank = address >> 24, offset = address & 0xffffff;
  if (rank >= cluster.ctas.size() || offset < Kernel::sharedStart)
    return {};
  Cta &cta = *cluster.ctas[rank];
  if (bytes > cta.shared.size || offset > cta.shared.size - bytes)
    return {};
  return {cta.shared.base + offset, &cta.shared, offset, &cta};
}

static Place locateBlock(Machine &machine, uint64_t address, uint64_t bytes) {
  auto *host = reinterpret_cast<char *>(address);
  MemoryBlock *block = machine.allocations.find(host);
  if (!block || !block->contains(host, bytes))
    return {};
  return {host, block, uint64_t(host - block->base), nullptr};
}

static Place locate(Thread &thread, Space space, uint64_t address,
                    uint64_t bytes) {
  Cluster &cluster = thread.cta.cluster;
  switch (space) {
  case Space::Shared:
  case Space::SharedCluster:
    if (address >> 32)
      return {};
    if (space == Space::Shared && address >> 24 != thread.cta.rank)
      return {};
    return locateShared(cluster, address, bytes);
  case Space::Generic: {
    uint64_t window = reinterpret_cast<uint64_t>(cluster.window);
    if (address >> 32 == window >> 32)
      return locateShared(cluster, address, bytes);
    [[fallthrough]];
  }
  case Space::Local: {
    auto local = reinterpret_cast<uint64_t>(thread.local.data());
    if (address >= local && address - local < thread.local.size())
      return bytes <= thread.local.size() - (address - local)
                 ? Place{reinterpret_cast<char *>(address), nullptr,
                         address - local, nullptr}
                 : Place();
    if (space == Space::Local)
      return {};
    [[fallthrough]];
  }
  case Space::Global:
  case Space::Param:
  case Space::Const:
    return locateBlock(thread.machine, address, bytes);
  }
  llvm_unreachable("unknown space");
}

static llvm::StringRef stringify(Space space) {
  switch (space) {
  case Space::Generic:
    return "generic";
  case Space::Global:
    return ".global";
  case Space::Shared:
    return ".shared::cta";
  case Space::SharedCluster:
    return ".shared::cluster";
  case Space::Local:
    return ".local";
  case Space::Param:
    return ".param";
  case Space::Const:
    return ".const";
  }
  llvm_unreachable("unknown space");
}

static std::string describeNowhere(Thread &thread, Space space,
                                   uint64_t address, uint64_t bytes) {
  std::string text = llvm::formatv("{0} bytes at {1} address {2:x}", bytes,
                                   stringify(space), address);
  bool isShared = space == Space::Shared || space == Space::SharedCluster;
  uint64_t window = reinterpret_cast<uint64_t>(thread.cta.cluster.window);
  if (space == Space::Generic && address >> 32 == window >> 32)
    isShared = true;
  if (isShared) {
    const MemoryBlock &shared = thread.cta.shared;
    uint32_t low = address;
    return text + llvm::formatv(
                      ": CTA rank {0} of {1}, offset {2}; a CTA has {3} bytes, "
                      "and this one has rank {4}",
                      low >> 24, thread.cta.cluster.ctas.size(),
                      int64_t(low & 0xffffff) - Kernel::sharedStart,
                      shared.size - Kernel::sharedStart, thread.cta.rank)
                      .str();
  }
  auto *host = reinterpret_cast<const char *>(address);
  if (space == Space::Local)
    return text + llvm::formatv(": the thread has {0} bytes of .local",
                                thread.local.size())
                      .str();
  if (MemoryBlock *block = thread.machine.allocations.findNearest(host))
    return text + llvm::formatv(
                      ": {0} bytes into {1} of {2} bytes", host - block->base,
                      block->name.empty() ? "an allocation" : block->name,
                      block->size)
                      .str();
  return text + ": no allocation is there";
}

namespace {
/// Faults as a thread or an operation has them.
struct Subject {
  Thread &thread;
  AsyncOp *op;
  [[noreturn]] void fault(FaultKind kind, const llvm::Twine &message) const {
    if (op)
      op->fault(kind, message);
    thread.fault(kind, message);
  }
};
} // namespace

static Place find(const Subject &subject, Space space, uint64_t address,
                  uint64_t bytes, unsigned alignment) {
  if (alignment > 1 && address % alignment)
    subject.fault(FaultKind::Misaligned,
                  llvm::formatv("address {0:x} is not a multiple of {1}",
                                address, alignment)
                      .str());
  Place place = locate(subject.thread, space, address, bytes);
  if (!place.host)
    subject.fault(FaultKind::OutOfBounds,
                  describeNowhere(subject.thread, space, address, bytes));
  return place;
}

/// What holds for threads and operations alike: the shared memory's owner is
/// there, no mbarrier is in the way, destinations are left alone, what is read
/// was written.
static void checkBytes(const Subject &subject, const Place &place,
                       uint64_t bytes, bool reads, bool writes,
                       AccessRecord record) {
  MemoryBlock &block = *place.block;
  if (place.owner) {
    place.owner->checkAlive(subject.thread, subject.op);
    place.owner->notePeer(subject.thread, record.agent, record.epoch,
                          subject.op ? &subject.op->site : subject.thread.site);
    if (place.offset < place.owner->mbarriersEnd &&
        place.offset + bytes > place.owner->mbarriersBegin) {
      auto after = place.owner->mbarriers.lower_bound(
          place.offset < 7 ? 0 : place.offset - 7);
      if (after != place.owner->mbarriers.end() &&
          after->first < place.offset + bytes)
        subject.fault(FaultKind::BarrierMisuse,
                      "an access to the bytes of the mbarrier at offset " +
                          llvm::Twine(after->first - Kernel::sharedStart) +
                          ", which is initialised and not invalidated");
    }
  }
  if (writes && block.readOnly)
    subject.fault(FaultKind::IllegalInstruction,
                  "a write to " + block.name + ", which is read-only");
  if (block.numPoisoned) {
    if (subject.op && writes) {
      // Its own destination, or one that a race check will tell about.
      if (block.poisoned.any(place.offset, bytes)) {
        block.poisoned.set(place.offset, bytes, false);
        block.numPoisoned -= std::min(block.numPoisoned, bytes);
      }
    } else if (block.poisoned.any(place.offset, bytes)) {
      subject.fault(
          writes ? FaultKind::OverwriteInFlight : FaultKind::ReadBeforeWait,
          llvm::Twine(writes ? "a write to" : "a read of") +
              " the destination of a copy that is under way, at "
              "offset " +
              llvm::Twine(
                  int64_t(block.poisoned.find(place.offset, bytes, true)) -
                  (block.isShared ? Kernel::sharedStart : 0)));
    }
  }
  if (reads && !block.initialized.all(place.offset, bytes))
    subject.fault(FaultKind::Uninitialized,
                  "a read of " + llvm::Twine(bytes) + " bytes of " +
                      (block.isShared       ? llvm::StringRef("shared memory")
                       : block.name.empty() ? llvm::StringRef("global memory")
                                            : llvm::StringRef(block.name)) +
                      ": nobody has written the byte at offset " +
                      llvm::Twine(int64_t(block.initialized.find(
                                      place.offset, bytes, false)) -
                                  (block.isShared ? Kernel::sharedStart : 0)));
  if (writes)
    block.initialized.set(place.offset, bytes, true);
}

static void accessLocal(Thread &thread, const Place &place, unsigned bytes,
                        bool reads, bool writes) {
  for (unsigned i = 0; i != bytes; ++i) {
    if (reads && !thread.localInitialized[place.offset + i])
      thread.fault(FaultKind::Uninitialized,
                   "a read of .local memory that was not written, at offset " +
                       llvm::Twine(place.offset + i));
    if (writes)
      thread.localInitialized[place.offset + i] = true;
  }
}

/// Gives way when a thread reads the same place again and again.
static void noteSpin(Thread &thread, uint64_t address, Access kind) {
  if (kind != Access::StrongRead && kind != Access::Atomic)
    return;
  if (thread.spinsOn != address) {
    thread.spinsOn = address;
    thread.spins = 0;
  }
  if (++thread.spins <= maxSpins)
    return;
  thread.poll([&]() {
    return llvm::formatv("polls the memory at {0:x}", address).str();
  });
}

char *flashnorm::emulator::access(Thread &thread, Space space, uint64_t address,
                                  unsigned bytes, unsigned alignment,
                                  Access kind, Scope scope) {
  thread.machine.judgeDoubtful();
  thread.preempt();
  noteSpin(thread, address, kind);
  Place place = find({thread, nullptr}, space, address, bytes, alignment);
  bool reads = kind != Access::Write && kind != Access::StrongWrite;
  bool writes = kind != Access::Read && kind != Access::StrongRead;
  if (!place.block) {
    accessLocal(thread, place, bytes, reads, writes);
    return place.host;
  }
  Machine &machine = thread.machine;
  Accessor accessor;
  accessor.record.agent = thread.agent;
  accessor.record.epoch = thread.epoch;
  checkBytes({thread, nullptr}, place, bytes, reads, writes, accessor.record);
  if (writes && kind != Access::Atomic)
    machine.noteChange();
  if (!machine.options.detectRaces || place.block->readOnly)
    return place.host;
  accessor.record.site = machine.noteSite(*thread.site);
  accessor.record.strong = kind != Access::Read && kind != Access::Write;
  accessor.record.scope = static_cast<uint32_t>(scope);
  accessor.reads = reads;
  accessor.writes = writes;
  accessor.firstEpoch = thread.firstEpoch;
  accessor.genericWrites = accessor.others = &thread.view.generic;
  accessor.machine = &machine;
  accessor.thread = &thread;
  place.block->cells.access(*place.block, place.offset, bytes, accessor);
  return place.host;
}

static Accessor makeAccessor(AsyncOp &op, const MemoryBlock &block, bool reads,
                             bool writes, bool strong) {
  Accessor accessor;
  accessor.record.agent = op.agent;
  accessor.record.epoch = writes ? op.writeEpoch : op.readEpoch;
  accessor.record.site = op.machine.noteSite(op.site);
  accessor.record.strong = strong;
  accessor.record.scope = static_cast<uint32_t>(Scope::Gpu);
  accessor.record.async = op.proxy == AsyncOp::Proxy::Async;
  accessor.record.op = true;
  accessor.reads = reads;
  accessor.writes = writes;
  accessor.firstEpoch = op.readEpoch;
  accessor.others = &op.view.generic;
  accessor.genericWrites =
      block.isShared ? &op.view.asyncShared : &op.view.asyncGlobal;
  accessor.machine = &op.machine;
  accessor.op = &op;
  return accessor;
}

char *flashnorm::emulator::access(AsyncOp &op, Space space, uint64_t address,
                                  uint64_t bytes, Access kind) {
  op.machine.judgeDoubtful();
  Subject subject{op.issuer, &op};
  Place place = find(subject, space, address, bytes, 1);
  if (!place.block)
    op.fault(FaultKind::IllegalInstruction,
             "an asynchronous operation on .local memory");
  bool reads = kind != Access::Write && kind != Access::StrongWrite;
  bool writes = kind != Access::Read && kind != Access::StrongRead;
  Accessor accessor =
      makeAccessor(op, *place.block, reads, writes,
                   kind != Access::Read && kind != Access::Write);
  checkBytes(subject, place, bytes, reads, writes, accessor.record);
  if (op.machine.options.detectRaces && !place.block->readOnly)
    place.block->cells.access(*place.block, place.offset, bytes, accessor);
  return place.host;
}

char *flashnorm::emulator::resolve(Thread &thread, Space space,
                                   uint64_t address, uint64_t bytes,
                                   unsigned alignment) {
  return find({thread, nullptr}, space, address, bytes, alignment).host;
}

SharedPlace flashnorm::emulator::resolveShared(Thread &thread, Space space,
                                               uint64_t address, uint64_t bytes,
                                               unsigned alignment) {
  Place place = find({thread, nullptr}, space, address, bytes, alignment);
  if (!place.owner)
    thread.fault(
        FaultKind::OutOfBounds,
        llvm::formatv("address {0:x} is not in shared memory", address).str());
  return {place.owner, static_cast<uint32_t>(place.offset)};
}

char *flashnorm::emulator::peek(Thread &thread, Space space, uint64_t address,
                                uint64_t bytes) {
  return locate(thread, space, address, bytes).host;
}

void flashnorm::emulator::poison(AsyncOp &op, Space space, uint64_t address,
                                 uint64_t bytes) {
  Subject subject{op.issuer, &op};
  Place place = find(subject, space, address, bytes, 1);
  if (!place.block)
    op.fault(FaultKind::IllegalInstruction,
             "an asynchronous operation on .local memory");
  op.machine.judgeDoubtful();
  MemoryBlock &block = *place.block;
  Accessor accessor = makeAccessor(op, block, false, true, false);
  bool wasPoisoned =
      block.numPoisoned && block.poisoned.any(place.offset, bytes);
  if (wasPoisoned)
    op.fault(FaultKind::OverwriteInFlight,
             "the destination is that of another copy that is under way");
  checkBytes(subject, place, bytes, false, true, accessor.record);
  if (op.machine.options.detectRaces)
    block.cells.access(block, place.offset, bytes, accessor);
  std::memset(place.host, poisonByte, bytes);
  block.poisoned.set(place.offset, bytes, true);
  block.numPoisoned += bytes;
}

void flashnorm::emulator::checkTensorMapUse(Thread &thread, uint64_t address,
                                            uint64_t bytes) {
  Machine &machine = thread.machine;
  machine.judgeDoubtful();
  Place place = find({thread, nullptr}, Space::Generic, address, bytes, 1);
  if (!place.block || place.block->readOnly || !machine.options.detectRaces)
    return;
  static const Clock none;
  auto acquired = thread.cta.tensorMaps.find(address);
  Accessor accessor;
  accessor.record.agent = thread.agent;
  accessor.record.epoch = thread.epoch;
  accessor.record.site = machine.noteSite(*thread.site);
  accessor.record.async = true;
  accessor.reads = true;
  // The thread's own writes take the fences, too.
  accessor.firstEpoch = std::numeric_limits<Epoch>::max();
  accessor.genericWrites =
      acquired == thread.cta.tensorMaps.end() ? &none : &acquired->second;
  accessor.others = &thread.view.generic;
  accessor.missingFence =
      "the tensormap proxy without a fence.proxy.tensormap::generic.release "
      "and an .acquire of this address between";
  accessor.machine = &machine;
  accessor.thread = &thread;
  place.block->cells.access(*place.block, place.offset, bytes, accessor);
}

//===----------------------------------------------------------------------===//
// Release and acquire of locations: 8.8
//===----------------------------------------------------------------------===//

/// Whether a scope of an operation by a thread of (cta, cluster) includes
/// `thread`, and the other way round for `theirs`.
static bool synchronizes(const Thread &thread, Scope scope, uint32_t cta,
                         uint32_t cluster, Scope theirs) {
  switch (std::min(scope, theirs)) {
  case Scope::Cta:
    return thread.cta.index == cta;
  case Scope::Cluster:
    return thread.cta.cluster.index == cluster;
  case Scope::Gpu:
  case Scope::Sys:
    return true;
  }
  llvm_unreachable("unknown scope");
}

void flashnorm::emulator::releaseLocation(Thread &thread, const char *location,
                                          Order order, Scope scope,
                                          bool isAtomic) {
  Machine &machine = thread.machine;
  if (!machine.options.detectRaces)
    return;
  bool releases = order == Order::Release || order == Order::AcqRel;
  bool hasFenced = false;
  for (const View &view : thread.released)
    hasFenced |= !view.empty();
  auto found = machine.releases.find(location);
  if (!releases && !hasFenced) {
    if (!isAtomic && found != machine.releases.end())
      machine.releases.erase(found);
    return;
  }
  std::vector<Machine::Release> &all = found == machine.releases.end()
                                           ? machine.releases[location]
                                           : found->second;
  if (!isAtomic)
    all.clear();
  auto get = [&](Scope effective) -> View & {
    for (Machine::Release &release : all)
      if (release.scope == effective && release.cta == thread.cta.index)
        return release.view;
    all.push_back(
        {effective, thread.cta.index, thread.cta.cluster.index, View()});
    return all.back().view;
  };
  if (releases)
    thread.release(get(scope));
  for (unsigned i = 0; i != thread.released.size(); ++i)
    if (!thread.released[i].empty())
      get(std::min(static_cast<Scope>(i), scope)).join(thread.released[i]);
}

void flashnorm::emulator::acquireLocation(Thread &thread, const char *location,
                                          Order order, Scope scope) {
  Machine &machine = thread.machine;
  if (!machine.options.detectRaces)
    return;
  auto found = machine.releases.find(location);
  if (found == machine.releases.end())
    return;
  bool acquires = order == Order::Acquire || order == Order::AcqRel;
  for (const Machine::Release &release : found->second) {
    if (!synchronizes(thread, scope, release.cta, release.cluster,
                      release.scope))
      continue;
    if (acquires) {
      thread.acquire(release.view);
      continue;
    }
    // Until a fence: by how far its scope must reach, and that of this load
    // bounds it as well.
    unsigned distance = release.cta == thread.cta.index               ? 0
                        : release.cluster == thread.cta.cluster.index ? 1
                                                                      : 2;
    thread.observed[distance].join(release.view);
  }
}
