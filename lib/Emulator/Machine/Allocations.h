//===- Allocations.h - Blocks of memory and their shadow --------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_MACHINE_ALLOCATIONS_H
#define FLASHNORM_LIB_EMULATOR_MACHINE_ALLOCATIONS_H

#include "Machine/Races.h"
#include "llvm/Support/Error.h"
#include <map>
#include <memory>
#include <string>

namespace flashnorm::emulator {

/// Bits, one for each byte of a block.
class ByteBits {
public:
  explicit ByteBits(uint64_t bytes);
  void set(uint64_t first, uint64_t count, bool value);
  bool all(uint64_t first, uint64_t count) const;
  bool any(uint64_t first, uint64_t count) const;
  /// The first byte in the range whose bit is `value`.
  uint64_t find(uint64_t first, uint64_t count, bool value) const;

private:
  template <typename Visit>
  static bool forEachWord(uint64_t first, uint64_t count, Visit visit);
  struct Free {
    void operator()(uint64_t *words) const { ::free(words); }
  };
  std::unique_ptr<uint64_t[], Free> words; // zero pages until used
};

/// Contiguous memory with what is known of its bytes: an allocation in global
/// or constant memory, the parameters of a kernel, or the shared memory of a
/// CTA.
struct MemoryBlock {
  MemoryBlock(char *base, uint64_t size);
  bool contains(const char *address, uint64_t bytes) const {
    return address >= base && bytes <= size &&
           uint64_t(address - base) <= size - bytes;
  }

  char *base;
  uint64_t size; ///< bytes
  bool readOnly = false;
  bool isShared = false;
  std::string name; ///< of a variable; for messages
  ByteBits initialized;
  /// Destinations of operations under way that have not written them yet.
  ByteBits poisoned;
  uint64_t numPoisoned = 0; ///< 0 saves looking at the bits
  RaceCells cells;
};

/// The blocks of global, constant and parameter memory.
class Allocations {
public:
  Allocations() = default;
  ~Allocations();
  Allocations(const Allocations &) = delete;
  Allocations &operator=(const Allocations &) = delete;

  /// A block aligned to 256 bytes (or more), its contents uninitialised.
  llvm::Expected<MemoryBlock *> allocate(uint64_t bytes,
                                         uint64_t alignment = 256);
  /// An error when `address` is not the beginning of a block.
  llvm::Error free(uint64_t address);
  /// The block that holds the byte at `address`, or null.
  MemoryBlock *find(const char *address);
  /// The last block that begins at or before `address`, or null.
  MemoryBlock *findNearest(const char *address);
  void resetRaces();

private:
  std::map<const char *, std::unique_ptr<MemoryBlock>> blocks;
  MemoryBlock *last = nullptr;
};

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_MACHINE_ALLOCATIONS_H
