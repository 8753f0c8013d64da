//===- Clock.h - Who knows of what ------------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector clocks over agents: the threads of the resident clusters, and each
// asynchronous operation under way. A clock holds for each agent the newest of
// its epochs that happened before.
//
// Threads that have synchronised know nearly the same, so a clock is a
// reference to an immutable table of immutable chunks, both shared; joining two
// clocks shares what one side knows better, and equal joins are remembered, so
// that the threads of a CTA that wait for the same barrier end up with one
// table. A thread's own epoch is not in its clock: it changes too often.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_MACHINE_CLOCK_H
#define FLASHNORM_LIB_EMULATOR_MACHINE_CLOCK_H

#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace flashnorm::emulator {

/// Counts the releases of an agent, from 1; grows as long as a grid runs.
using Epoch = uint32_t;

class Clock {
public:
  Epoch get(uint32_t agent) const {
    if (!table || agent / chunkSize >= table->chunks.size())
      return 0;
    const Chunk *chunk = table->chunks[agent / chunkSize].get();
    return chunk ? chunk->get(agent % chunkSize) : 0;
  }
  void set(uint32_t agent, Epoch epoch); ///< only upwards
  void join(const Clock &other);
  /// The same, for a clock that collects what many know: remembers the last one
  /// that it joined, as the next one is often the same.
  void collect(const Clock &other) {
    if (other.table == collected)
      return;
    join(other);
    collected = other.table;
  }
  void clear() {
    table.reset();
    collected.reset();
  }
  bool empty() const { return !table; }

  /// Bytes of all tables and chunks that are alive, now and at most.
  static uint64_t getBytes() { return liveBytes; }
  static uint64_t getPeakBytes() { return peakBytes; }
  /// Forgets remembered joins and the peak; when a grid ends.
  static void reset();

private:
  static constexpr unsigned chunkSize = 64;
  using Epochs = std::array<Epoch, chunkSize>;
  /// Epochs of neighbours are close to each other, so 16 bits each and a common
  /// base do in all but rare cases.
  struct Chunk : llvm::RefCountedBase<Chunk> {
    explicit Chunk(const Epochs &epochs);
    ~Chunk();
    Epoch get(unsigned index) const {
      if (wide)
        return (*wide)[index];
      return offsets[index] ? base + offsets[index] : 0;
    }
    Epochs getAll() const;
    /// In place; false when the epoch does not fit.
    bool set(unsigned index, Epoch epoch);

    Epoch base = 0;
    std::array<uint16_t, chunkSize> offsets{}; ///< from base; 0: none
    std::unique_ptr<Epochs> wide;              ///< instead
  };
  struct Table : llvm::RefCountedBase<Table> {
    explicit Table(size_t numChunks);
    Table(const Table &other);
    ~Table();
    std::vector<llvm::IntrusiveRefCntPtr<const Chunk>> chunks;
  };
  struct Memo;
  static Memo &getMemo();
  static void addBytes(int64_t bytes);
  /// Whether `a` holds all that `b` holds.
  static bool contains(const Table &a, const Table &b);
  static llvm::IntrusiveRefCntPtr<const Table> joinTables(const Table &a,
                                                          const Table &b);

  llvm::IntrusiveRefCntPtr<const Table> table, collected;
  static thread_local uint64_t liveBytes, peakBytes;
};

/// What an agent knows: what happened before, and what of it other proxies may
/// rely on (PTX ISA 8.6, proxies).
struct View {
  Clock generic;
  /// What a proxy fence has made visible to the async proxy, in shared and in
  /// global memory, and what the async proxy did itself.
  Clock asyncShared, asyncGlobal;
  /// Whose mbarrier.init are visible; fence.mbarrier_init releases only those.
  Clock inits;
  /// What fence.proxy.tensormap has released to the tensormap proxy.
  Clock tensorMaps;

  void join(const View &other) {
    generic.join(other.generic);
    asyncShared.join(other.asyncShared);
    asyncGlobal.join(other.asyncGlobal);
    inits.join(other.inits);
    tensorMaps.join(other.tensorMaps);
  }
  void collect(const View &other) {
    generic.collect(other.generic);
    asyncShared.collect(other.asyncShared);
    asyncGlobal.collect(other.asyncGlobal);
    inits.collect(other.inits);
    tensorMaps.collect(other.tensorMaps);
  }
  bool empty() const {
    return generic.empty() && asyncShared.empty() && asyncGlobal.empty() &&
           inits.empty() && tensorMaps.empty();
  }
  void clear() { *this = View(); }
};

/// Threads among which an operation synchronises (PTX ISA 8.5).
enum class Scope : uint8_t { Cta, Cluster, Gpu, Sys };

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_MACHINE_CLOCK_H
