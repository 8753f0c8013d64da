//===- Allocations.cpp - Blocks of memory and their shadow ----------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/Allocations.h"
#include "llvm/ADT/Twine.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemAlloc.h"
#include <cstdlib>

using namespace flashnorm::emulator;

ByteBits::ByteBits(uint64_t bytes)
    : words(static_cast<uint64_t *>(
          llvm::safe_calloc(bytes / 64 + 1, sizeof(uint64_t)))) {}

/// Calls visit(word index, mask) until it returns true; whether it did.
template <typename Visit>
bool ByteBits::forEachWord(uint64_t first, uint64_t count, Visit visit) {
  while (count) {
    uint64_t shift = first % 64, here = std::min<uint64_t>(count, 64 - shift);
    uint64_t mask = llvm::maskTrailingOnes<uint64_t>(here) << shift;
    if (visit(first / 64, mask))
      return true;
    first += here;
    count -= here;
  }
  return false;
}

void ByteBits::set(uint64_t first, uint64_t count, bool value) {
  forEachWord(first, count, [&](uint64_t index, uint64_t mask) {
    words[index] = value ? words[index] | mask : words[index] & ~mask;
    return false;
  });
}

bool ByteBits::all(uint64_t first, uint64_t count) const {
  return !forEachWord(first, count, [&](uint64_t index, uint64_t mask) {
    return (words[index] & mask) != mask;
  });
}

bool ByteBits::any(uint64_t first, uint64_t count) const {
  return forEachWord(first, count, [&](uint64_t index, uint64_t mask) {
    return (words[index] & mask) != 0;
  });
}

uint64_t ByteBits::find(uint64_t first, uint64_t count, bool value) const {
  uint64_t found = first + count;
  forEachWord(first, count, [&](uint64_t index, uint64_t mask) {
    uint64_t bits = (value ? words[index] : ~words[index]) & mask;
    if (!bits)
      return false;
    found = index * 64 + llvm::countr_zero(bits);
    return true;
  });
  return found;
}

MemoryBlock::MemoryBlock(char *base, uint64_t size)
    : base(base), size(size), initialized(size), poisoned(size) {}

Allocations::~Allocations() {
  for (auto &[base, block] : blocks)
    std::free(block->base);
}

llvm::Expected<MemoryBlock *> Allocations::allocate(uint64_t bytes,
                                                    uint64_t alignment) {
  alignment = std::max<uint64_t>(llvm::PowerOf2Ceil(alignment), 256);
  // A gap behind each block, so that running over its end hits nothing.
  void *memory = nullptr;
  if (bytes > INT64_MAX / 2 ||
      posix_memalign(&memory, alignment,
                     llvm::alignTo(bytes, alignment) + alignment) != 0)
    return llvm::createStringError("no memory for an allocation of " +
                                   llvm::Twine(bytes) + " bytes");
  auto *base = static_cast<char *>(memory);
  std::unique_ptr<MemoryBlock> &block = blocks[base];
  block = std::make_unique<MemoryBlock>(base, bytes);
  return block.get();
}

llvm::Error Allocations::free(uint64_t address) {
  auto found = blocks.find(reinterpret_cast<const char *>(address));
  if (found == blocks.end())
    return llvm::createStringError("0x" + llvm::Twine::utohexstr(address) +
                                   " is not an address that was allocated");
  std::free(found->second->base);
  blocks.erase(found);
  last = nullptr;
  return llvm::Error::success();
}

MemoryBlock *Allocations::findNearest(const char *address) {
  auto after = blocks.upper_bound(address);
  return after == blocks.begin() ? nullptr : std::prev(after)->second.get();
}

MemoryBlock *Allocations::find(const char *address) {
  if (last && last->contains(address, 1))
    return last;
  MemoryBlock *block = findNearest(address);
  if (!block || !block->contains(address, 1))
    return nullptr;
  return last = block;
}

void Allocations::resetRaces() {
  for (auto &[base, block] : blocks)
    block->cells.clear();
}
