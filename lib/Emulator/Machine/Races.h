//===- Races.h - Who has accessed what --------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each word of memory, the last write and the reads since, as (agent,
// epoch) pairs (FastTrack, Flanagan and Freund, PLDI 2009). An access is a data
// race when it conflicts with one that its agent's clock does not hold, unless
// both are morally strong (PTX ISA 8.7.1).
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_MACHINE_RACES_H
#define FLASHNORM_LIB_EMULATOR_MACHINE_RACES_H

#include "Machine/Clock.h"
#include <array>
#include <memory>
#include <vector>

namespace flashnorm::emulator {

class AsyncOp;
class Machine;
class Thread;
struct Site;
struct MemoryBlock;

/// An access as a cell remembers it.
struct AccessRecord {
  uint32_t agent = 0;
  Epoch epoch = 0; ///< 0: none
  uint32_t site : 24;
  uint32_t strong : 1;
  uint32_t scope : 2; ///< of a strong one
  uint32_t async : 1; ///< by the async proxy
  uint32_t op : 1;    ///< by an asynchronous operation, in either proxy
  AccessRecord() : site(0), strong(0), scope(0), async(0), op(0) {}
};

/// Who accesses, and what it knows.
struct Accessor {
  AccessRecord record;
  bool reads = false, writes = false;
  /// Epochs of record.agent from this one on are its own.
  Epoch firstEpoch = 1;
  /// What an earlier write by the generic proxy, and anything else, must be in.
  const Clock *genericWrites = nullptr, *others = nullptr;
  /// What was done wrong when only the former is missing.
  const char *missingFence =
      "the async proxy without a fence.proxy.async between";
  Machine *machine = nullptr;
  Thread *thread = nullptr; ///< or
  AsyncOp *op = nullptr;
};

class RaceCells {
public:
  /// Checks and records an access; a race is a fault.
  void access(const MemoryBlock &block, uint64_t offset, uint64_t bytes,
              const Accessor &accessor);
  /// Everything so far happened before everything that follows.
  void clear();

  /// A write that races with another write: harmless when it stores what is
  /// there already, as when threads compute a value redundantly. It is known
  /// when the next access begins, since the store follows its check at once.
  struct Doubtful {
    const char *bytes;
    uint8_t mask; ///< of four bytes
    std::array<char, 4> before;
    Thread *thread;
    const Site *site;
    const MemoryBlock *block;
    uint64_t offset;
    AccessRecord earlier;
  };
  static void judge(Machine &machine);

private:
  struct Cell {
    AccessRecord write, read;
    /// The bytes of the word that this is about; other bytes have not been
    /// accessed.
    uint8_t mask = 0;
    /// read.agent numbers one of readSets.
    bool manyReads = false;
    /// The bytes have different stories: write.agent numbers one of splits.
    bool isSplit = false;
  };
  static constexpr uint64_t cellsPerPage = 1024;
  struct Page {
    Cell cells[cellsPerPage];
  };

  void accessCell(const MemoryBlock &block, uint64_t offset, Cell &cell,
                  uint8_t mask, const Accessor &accessor);
  void accessWhole(const MemoryBlock &block, uint64_t offset, Cell &cell,
                   const Accessor &accessor);
  void split(Cell &cell);
  void doubt(const MemoryBlock &block, uint64_t offset, const Cell &cell,
             const Accessor &accessor);
  void addRead(Cell &cell, const Accessor &accessor);
  void dropReads(Cell &cell);
  [[noreturn]] static void report(const MemoryBlock &block, uint64_t offset,
                                  const AccessRecord &earlier,
                                  bool earlierWrites, const Accessor &accessor);

  std::vector<std::unique_ptr<Page>> pages;
  std::vector<std::vector<AccessRecord>> readSets;
  std::vector<uint32_t> freeReadSets;
  std::vector<std::array<Cell, 4>> splits;
  std::vector<uint32_t> freeSplits;
};

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_MACHINE_RACES_H
