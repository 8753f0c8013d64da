//===- Clock.cpp - Who knows of what --------------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/Clock.h"
#include <algorithm>

using namespace flashnorm::emulator;
using llvm::IntrusiveRefCntPtr;

thread_local uint64_t Clock::liveBytes = 0;
thread_local uint64_t Clock::peakBytes = 0;

void Clock::addBytes(int64_t bytes) {
  liveBytes += bytes;
  peakBytes = std::max(peakBytes, liveBytes);
}

Clock::Chunk::Chunk() { addBytes(sizeof(Chunk)); }
Clock::Chunk::Chunk(const Chunk &other)
    : llvm::RefCountedBase<Chunk>(), epochs(other.epochs) {
  addBytes(sizeof(Chunk));
}
Clock::Chunk::~Chunk() { addBytes(-int64_t(sizeof(Chunk))); }

Clock::Table::Table(size_t numChunks) : chunks(numChunks) {
  addBytes(sizeof(Table) + chunks.size() * sizeof(void *));
}
Clock::Table::Table(const Table &other)
    : llvm::RefCountedBase<Table>(), chunks(other.chunks) {
  addBytes(sizeof(Table) + chunks.size() * sizeof(void *));
}
Clock::Table::~Table() {
  addBytes(-int64_t(sizeof(Table) + chunks.size() * sizeof(void *)));
}

/// Recent joins. An entry keeps its tables alive, so that an address in it
/// cannot come to mean another table, and none of them is changed in place.
struct Clock::Memo {
  struct Entry {
    IntrusiveRefCntPtr<const Table> a, b, result;
  };
  std::array<Entry, 256> entries;

  Entry &find(const Table *a, const Table *b) {
    auto hash = reinterpret_cast<uintptr_t>(a) / 16 * 31 +
                reinterpret_cast<uintptr_t>(b) / 16;
    return entries[(hash ^ (hash >> 9)) % entries.size()];
  }
};

Clock::Memo &Clock::getMemo() {
  static thread_local Memo memo;
  return memo;
}

void Clock::reset() {
  getMemo() = Memo();
  peakBytes = liveBytes;
}

void Clock::set(uint32_t agent, Epoch epoch) {
  if (get(agent) >= epoch)
    return;
  size_t index = agent / chunkSize;
  // In place where nobody else refers to the table or the chunk.
  IntrusiveRefCntPtr<Table> mine;
  if (!table) {
    mine = new Table(index + 1);
  } else if (table->UseCount() == 1 && index < table->chunks.size()) {
    mine = const_cast<Table *>(table.get());
  } else {
    mine = new Table(std::max(table->chunks.size(), index + 1));
    std::copy(table->chunks.begin(), table->chunks.end(), mine->chunks.begin());
  }
  IntrusiveRefCntPtr<const Chunk> &slot = mine->chunks[index];
  if (!slot)
    slot = new Chunk();
  else if (slot->UseCount() != 1)
    slot = new Chunk(*slot);
  const_cast<Chunk &>(*slot).epochs[agent % chunkSize] = epoch;
  table = mine;
}

bool Clock::contains(const Table &a, const Table &b) {
  for (size_t i = 0; i != b.chunks.size(); ++i) {
    const Chunk *y = b.chunks[i].get();
    if (!y || (i < a.chunks.size() && a.chunks[i].get() == y))
      continue;
    if (i >= a.chunks.size() || !a.chunks[i])
      return false;
    const Chunk *x = a.chunks[i].get();
    unsigned less = 0;
    for (unsigned j = 0; j != chunkSize; ++j)
      less |= x->epochs[j] < y->epochs[j];
    if (less)
      return false;
  }
  return true;
}

IntrusiveRefCntPtr<const Clock::Table> Clock::joinTables(const Table &a,
                                                         const Table &b) {
  size_t size = std::max(a.chunks.size(), b.chunks.size());
  IntrusiveRefCntPtr<Table> result = new Table(size);
  for (size_t i = 0; i != size; ++i) {
    const Chunk *x = i < a.chunks.size() ? a.chunks[i].get() : nullptr;
    const Chunk *y = i < b.chunks.size() ? b.chunks[i].get() : nullptr;
    if (x == y || !y) {
      result->chunks[i] = x;
      continue;
    }
    if (!x) {
      result->chunks[i] = y;
      continue;
    }
    std::array<Epoch, chunkSize> maximum;
    Epoch differsFromX = 0, differsFromY = 0;
    for (unsigned j = 0; j != chunkSize; ++j) {
      maximum[j] = std::max(x->epochs[j], y->epochs[j]);
      differsFromX |= maximum[j] ^ x->epochs[j];
      differsFromY |= maximum[j] ^ y->epochs[j];
    }
    // Chunks that say it all are shared.
    if (!differsFromX) {
      result->chunks[i] = x;
    } else if (!differsFromY) {
      result->chunks[i] = y;
    } else {
      auto *chunk = new Chunk();
      chunk->epochs = maximum;
      result->chunks[i] = chunk;
    }
  }
  return result;
}

void Clock::join(const Clock &other) {
  if (!other.table || table == other.table)
    return;
  if (!table) {
    table = other.table;
    return;
  }
  Memo::Entry &entry = getMemo().find(table.get(), other.table.get());
  if (entry.a == table && entry.b == other.table) {
    table = entry.result;
    return;
  }
  // Often one clock holds the other. A clock that collects holds the new one,
  // and is not remembered, so that it can be changed in place.
  if (contains(*table, *other.table))
    return;
  IntrusiveRefCntPtr<const Table> result =
      contains(*other.table, *table) ? other.table
                                     : joinTables(*table, *other.table);
  entry.a = table;
  entry.b = other.table;
  entry.result = result;
  table = result;
}
