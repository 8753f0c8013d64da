//===- Races.cpp - Who has accessed what ----------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/Machine.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace flashnorm::emulator;

static bool isSame(const AccessRecord &a, const AccessRecord &b) {
  return a.agent == b.agent && a.epoch == b.epoch;
}

/// Whether `earlier` happened before the access, as its proxy sees it. Writes
/// by the generic proxy take a proxy fence to be seen by the async proxy (PTX
/// ISA 9.7.13.4, fence.proxy.async); reads need none, since nothing of theirs
/// has to be seen.
static bool isKnown(const AccessRecord &earlier, bool earlierWrites,
                    const Accessor &accessor) {
  if (earlier.agent == accessor.record.agent &&
      earlier.epoch >= accessor.firstEpoch)
    return true;
  const Clock &clock = earlierWrites && !earlier.async && accessor.record.async
                           ? *accessor.genericWrites
                           : *accessor.others;
  return clock.get(earlier.agent) >= earlier.epoch;
}

/// PTX ISA 8.7.1: both are strong, and the scope of each includes the other.
static bool areMorallyStrong(const AccessRecord &a, const AccessRecord &b,
                             const Machine &machine) {
  if (!a.strong || !b.strong)
    return false;
  const Machine::AgentInfo &x = machine.agents[a.agent],
                           &y = machine.agents[b.agent];
  switch (std::min(static_cast<Scope>(a.scope), static_cast<Scope>(b.scope))) {
  case Scope::Cta:
    return x.cta == y.cta;
  case Scope::Cluster:
    return x.cluster == y.cluster;
  case Scope::Gpu:
  case Scope::Sys:
    return true;
  }
  llvm_unreachable("unknown scope");
}

void RaceCells::clear() {
  pages.clear();
  readSets.clear();
  freeReadSets.clear();
  splits.clear();
  freeSplits.clear();
}

void RaceCells::access(const MemoryBlock &block, uint64_t offset,
                       uint64_t bytes, const Accessor &accessor) {
  if (pages.empty())
    pages.resize(block.size / (4 * cellsPerPage) + 1);
  for (uint64_t end = offset + bytes; offset != end;) {
    uint64_t word = offset / 4;
    std::unique_ptr<Page> &page = pages[word / cellsPerPage];
    if (!page)
      page = std::make_unique<Page>();
    uint64_t first = offset % 4, count = std::min(end - offset, 4 - first);
    accessCell(block, offset, page->cells[word % cellsPerPage],
               ((1u << count) - 1) << first, accessor);
    offset += count;
  }
}

void RaceCells::accessCell(const MemoryBlock &block, uint64_t offset,
                           Cell &cell, uint8_t mask, const Accessor &accessor) {
  if (!cell.mask)
    cell.mask = mask;
  if (cell.mask == mask && !cell.isSplit)
    return accessWhole(block, offset, cell, accessor);
  if (!cell.isSplit)
    split(cell);
  uint32_t index = cell.write.agent;
  for (unsigned byte = 0; byte != 4; ++byte)
    if (mask >> byte & 1)
      accessWhole(block, (offset & ~UINT64_C(3)) | byte, splits[index][byte],
                  accessor);
  // A write of the whole word gives all bytes one story again.
  if (accessor.writes && mask == 15) {
    AccessRecord write = splits[index][0].write;
    freeSplits.push_back(index);
    cell = Cell();
    cell.write = write;
    cell.mask = mask;
  }
}

void RaceCells::split(Cell &cell) {
  uint32_t index;
  if (freeSplits.empty()) {
    index = splits.size();
    splits.emplace_back();
  } else {
    index = freeSplits.back();
    freeSplits.pop_back();
  }
  for (unsigned byte = 0; byte != 4; ++byte) {
    Cell part;
    if (cell.mask >> byte & 1) {
      part = cell;
      part.mask = 1u << byte;
      if (cell.manyReads) {
        // Each byte needs a set of its own.
        std::vector<AccessRecord> reads = readSets[cell.read.agent];
        part.read.agent = readSets.size();
        readSets.push_back(std::move(reads));
      }
    }
    splits[index][byte] = part;
  }
  if (cell.manyReads)
    dropReads(cell);
  cell = Cell();
  cell.mask = 15;
  cell.isSplit = true;
  cell.write.agent = index;
}

void RaceCells::dropReads(Cell &cell) {
  if (cell.manyReads) {
    readSets[cell.read.agent].clear();
    freeReadSets.push_back(cell.read.agent);
    cell.manyReads = false;
  }
  cell.read = AccessRecord();
}

/// Whether a later access that is ordered after `accessor` is ordered after
/// `read`, so that it need not be kept. Who learns of a thread learns what the
/// thread knew; who waits for an asynchronous operation learns of it alone,
/// unless both are of one thread, which waits for both.
static bool isSuperseded(const AccessRecord &read, const Accessor &accessor) {
  const AccessRecord &mine = accessor.record;
  if (!isKnown(read, false, accessor))
    return false;
  if (!mine.op || read.agent == mine.agent)
    return true;
  const Machine::AgentInfo &theirs = accessor.machine->agents[read.agent],
                           &own = accessor.machine->agents[mine.agent];
  return read.op && theirs.cta == own.cta && theirs.thread == own.thread;
}

void RaceCells::addRead(Cell &cell, const Accessor &accessor) {
  if (!cell.manyReads) {
    if (!cell.read.epoch || isSuperseded(cell.read, accessor)) {
      cell.read = accessor.record;
      return;
    }
    uint32_t index;
    if (freeReadSets.empty()) {
      index = readSets.size();
      readSets.emplace_back();
    } else {
      index = freeReadSets.back();
      freeReadSets.pop_back();
    }
    readSets[index] = {cell.read, accessor.record};
    cell.read = AccessRecord();
    cell.read.agent = index;
    cell.manyReads = true;
    return;
  }
  std::vector<AccessRecord> &reads = readSets[cell.read.agent];
  if (isSame(reads.back(), accessor.record))
    return;
  // Looking through all of them each time would be quadratic.
  if (llvm::isPowerOf2_64(reads.size()))
    llvm::erase_if(reads, [&](const AccessRecord &read) {
      return isSuperseded(read, accessor);
    });
  reads.push_back(accessor.record);
}

void RaceCells::doubt(const MemoryBlock &block, uint64_t offset,
                      const Cell &cell, const Accessor &accessor) {
  uint64_t word = offset & ~UINT64_C(3);
  Doubtful doubtful{block.base + word,     cell.mask, {},     accessor.thread,
                    accessor.thread->site, &block,    offset, cell.write};
  std::memcpy(doubtful.before.data(), doubtful.bytes,
              std::min<uint64_t>(4, block.size - word));
  accessor.machine->doubtful.push_back(doubtful);
}

void RaceCells::judge(Machine &machine) {
  for (const Doubtful &doubtful : machine.doubtful)
    for (unsigned i = 0; i != 4; ++i) {
      if (!(doubtful.mask >> i & 1) || doubtful.bytes[i] == doubtful.before[i])
        continue;
      Accessor accessor;
      accessor.record.agent = doubtful.thread->agent;
      accessor.writes = true;
      accessor.others = &doubtful.thread->view.generic;
      accessor.machine = &machine;
      accessor.thread = doubtful.thread;
      doubtful.thread->site = doubtful.site;
      report(*doubtful.block, doubtful.offset, doubtful.earlier, true,
             accessor);
    }
  machine.doubtful.clear();
}

void RaceCells::accessWhole(const MemoryBlock &block, uint64_t offset,
                            Cell &cell, const Accessor &accessor) {
  const AccessRecord &mine = accessor.record;
  cell.mask |= 1u << offset % 4;
  if (!accessor.writes && !cell.manyReads && isSame(cell.read, mine))
    return;
  if (cell.write.epoch && !isSame(cell.write, mine) &&
      !isKnown(cell.write, true, accessor) &&
      !areMorallyStrong(cell.write, mine, *accessor.machine)) {
    bool mayAgree =
        accessor.writes && !accessor.reads && accessor.thread && !cell.write.op;
    if (!mayAgree)
      report(block, offset, cell.write, true, accessor);
    doubt(block, offset, cell, accessor);
  }
  if (!accessor.writes)
    return addRead(cell, accessor);
  auto checkRead = [&](const AccessRecord &read) {
    if (!isKnown(read, false, accessor) &&
        !areMorallyStrong(read, mine, *accessor.machine))
      report(block, offset, read, false, accessor);
  };
  if (cell.manyReads) {
    for (const AccessRecord &read : readSets[cell.read.agent])
      checkRead(read);
  } else if (cell.read.epoch) {
    checkRead(cell.read);
  }
  if (cell.read.epoch || cell.manyReads)
    dropReads(cell);
  cell.write = mine;
}

void RaceCells::report(const MemoryBlock &block, uint64_t offset,
                       const AccessRecord &earlier, bool earlierWrites,
                       const Accessor &accessor) {
  Machine &machine = *accessor.machine;
  const AccessRecord &mine = accessor.record;
  std::string where =
      block.isShared
          ? llvm::formatv("shared memory at offset {0}",
                          int64_t(offset) - Kernel::sharedStart)
                .str()
          : llvm::formatv(
                "{0} at offset {1}",
                block.name.empty()
                    ? llvm::formatv("an allocation of {0} bytes", block.size)
                          .str()
                    : block.name,
                offset)
                .str();
  std::string action = accessor.writes ? "writes " : "reads ";
  std::string other = machine.describeAgent(earlier.agent);
  std::string verb = earlierWrites ? "written" : "read";
  FaultKind kind = FaultKind::DataRace;
  std::string message;
  bool isGenericKnown =
      accessor.others->get(earlier.agent) >= earlier.epoch ||
      (accessor.thread && accessor.thread->agent == earlier.agent);
  if (earlierWrites && mine.async && !earlier.async && isGenericKnown) {
    kind = FaultKind::MissingProxyFence;
    message = action + where + ", " + verb + " by " + other + ", through " +
              accessor.missingFence;
  } else if (earlier.op) {
    kind = earlierWrites && !accessor.writes ? FaultKind::ReadBeforeWait
                                             : FaultKind::OverwriteInFlight;
    message = action + where + ", which is " + verb + " by " + other +
              ", without having waited for that";
  } else if (accessor.op && accessor.op->issuer.agent == earlier.agent) {
    kind = accessor.writes && earlierWrites ? FaultKind::DataRace
                                            : FaultKind::OverwriteInFlight;
    message = action + where + ", " + verb + " by " + other +
              " after the operation was issued";
  } else {
    message = action + where + ", " + verb + " by " + other +
              ", and nothing orders the two";
  }
  std::vector<std::string> notes;
  if (const Site *site = machine.getSite(earlier.site))
    notes.push_back(llvm::formatv("the other access: {0}, line {1}: '{2}'",
                                  other, site->location.ptxLine, site->text));
  if (accessor.op)
    accessor.op->fault(kind, message, notes);
  accessor.thread->fault(kind, message, notes);
}
