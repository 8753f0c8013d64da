//===- Site.h - A decoded instruction ---------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_ISA_SITE_H
#define FLASHNORM_LIB_EMULATOR_ISA_SITE_H

#include "Ptx/AST.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace flashnorm::emulator {

class Thread;
struct OpcodeEntry;

/// One instruction of the program, decoded when the program is translated and
/// unchanged afterwards.
struct Site {
  static constexpr unsigned maxGroups = 12;

  unsigned index = 0; ///< in the program
  const OpcodeEntry *entry = nullptr;
  /// Alternative of each group of the entry's pattern; -1: absent.
  std::array<int8_t, maxGroups> choice{};
  /// The types among the modifiers, in order: cvt.rn.bf16x2.f32 has two.
  llvm::SmallVector<ptx::Type, 4> types;

  /// Slots of an operand among the 64-bit words that a handler gets. b128 takes
  /// two slots; pred is 0 or 1; narrower values are zero-extended, and
  /// immediates sign-extended to 64 bits. An operand that is absent or a sink
  /// has no slots; a sink within a vector or a pair has one. A slot of a D or A
  /// operand holds the number of an asynchronous register
  /// (Thread::asyncRegisters).
  struct Slots {
    uint16_t first = 0, count = 0;
    /// A predicate register: cp.async takes a size or a predicate.
    bool isPredicate = false;
  };
  llvm::SmallVector<Slots, 8> operands; ///< by position in entry->operands
  unsigned numSlots = 0;

  ptx::Location location;
  std::string text;     ///< the instruction, for messages
  std::string function; ///< that it stands in

  /// What the handler's own decoder computed, on first use.
  mutable std::shared_ptr<const void> decoded;

  bool has(unsigned group) const { return choice[group] >= 0; }
  int get(unsigned group) const { return choice[group]; }
  unsigned count(unsigned operand) const { return operands[operand].count; }
};

/// Executes one instruction for one thread. `words` holds the operands; the
/// handler fills those that are written. It may block the thread
/// (Machine/Thread.h); on a fault it does not return.
using Handler = void (*)(Thread &thread, const Site &site, uint64_t *words);

/// The first word of an operand.
inline uint64_t &word(uint64_t *words, const Site &site, unsigned operand) {
  return words[site.operands[operand].first];
}

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_ISA_SITE_H
