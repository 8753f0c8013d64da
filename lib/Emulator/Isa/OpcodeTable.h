//===- OpcodeTable.h - The instructions that the emulator knows -*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table, keyed by opcode and modifiers. An entry that has an emitter
// becomes LLVM IR in the kernel's code; one that has a handler becomes a call
// of it with the site, decoded once, and the operands.
//
// Pattern: the opcode and its groups of modifiers, in the order in which PTX
// prints them:
//   "cp.async.bulk.wait_group{.read}"    {.a}      .a or nothing
//   "fence(.sc|.acq_rel).(cta|cluster|gpu|sys)"    (…|…) one of them
//   "ld{.weak|.relaxed|.acquire|.volatile}…"       {…|…} one of them or nothing
// Groups are numbered from 0 over () and {}.
//
// Operands, separated by spaces; '?' after one: it may be absent:
//   d   registers written (a vector counts as one operand, flattened)
//   p   a predicate written, or a pair: d|p or p|q
//   s   registers or immediates read
//   m   an address: one slot with the sum; then coordinates, if it has them
//   c   an immediate
//   D   registers that an asynchronous instruction reads and writes
//   A   a vector of registers that an asynchronous instruction reads; anything
//       but a vector is read as by s
//   l   a label
//   f   a function, and L the parenthesised lists of a call
// Of optional operands, the first ones are taken to be there.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_ISA_OPCODETABLE_H
#define FLASHNORM_LIB_EMULATOR_ISA_OPCODETABLE_H

#include "Isa/Site.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace flashnorm::emulator {

class InstructionEmitter;
/// Emits LLVM IR for one instruction (Isa/Emitter.h).
using Emitter = void (*)(InstructionEmitter &emitter);

struct OpcodeEntry {
  const char *pattern;
  const char *operands;
  const char *section; ///< of PTX ISA 9.0: "9.7.1.1"
  Emitter emitter = nullptr;
  Handler handler = nullptr;
  /// What the instruction needs of the threads of a warp (or warpgroup): the
  /// .aligned ones must be executed by all of them, together.
  enum Convergence { None, Warp, Warpgroup } convergence = None;
};

// The table, by the file that implements its entries.
llvm::ArrayRef<OpcodeEntry> getIntegerOpcodes();    // Isa/Integer.cpp
llvm::ArrayRef<OpcodeEntry> getBitOpcodes();        // Isa/Bits.cpp
llvm::ArrayRef<OpcodeEntry> getFloatOpcodes();      // Isa/Float.cpp
llvm::ArrayRef<OpcodeEntry> getComparisonOpcodes(); // Isa/Comparisons.cpp
llvm::ArrayRef<OpcodeEntry> getConversionOpcodes(); // Isa/Conversions.cpp
llvm::ArrayRef<OpcodeEntry> getControlOpcodes();    // Isa/Control.cpp
llvm::ArrayRef<OpcodeEntry> getMemoryOpcodes();     // Isa/Memory.cpp
llvm::ArrayRef<OpcodeEntry> getAtomicOpcodes();     // Machine/Atomics.cpp
llvm::ArrayRef<OpcodeEntry> getWarpOpcodes();       // Machine/WarpOps.cpp
llvm::ArrayRef<OpcodeEntry> getBarrierOpcodes();    // Machine/Barriers.cpp
llvm::ArrayRef<OpcodeEntry> getMBarrierOpcodes();   // Machine/MBarrier.cpp
llvm::ArrayRef<OpcodeEntry> getFenceOpcodes();      // Machine/Fences.cpp
llvm::ArrayRef<OpcodeEntry> getAsyncCopyOpcodes();  // Tensor/AsyncCopy.cpp
llvm::ArrayRef<OpcodeEntry> getBulkCopyOpcodes();   // Tensor/BulkCopy.cpp
llvm::ArrayRef<OpcodeEntry> getTensorCopyOpcodes(); // Tensor/TensorCopy.cpp
llvm::ArrayRef<OpcodeEntry> getTensorMapOpcodes();  // Tensor/TensorMapOps.cpp
llvm::ArrayRef<OpcodeEntry> getMatrixOpcodes();     // Tensor/Matrix.cpp
llvm::ArrayRef<OpcodeEntry> getWgmmaOpcodes();      // Tensor/Wgmma.cpp
llvm::ArrayRef<OpcodeEntry> getWmmaOpcodes();       // Tensor/Wmma.cpp

/// The whole table.
std::vector<const OpcodeEntry *> getOpcodes();

/// What is wrong with the table itself: patterns that are none, that overlap,
/// or that match an instruction in two ways. Empty, unless there is a bug.
std::vector<std::string> checkOpcodeTable();

/// Fills in entry, choices and types of an instruction's site; false when no
/// entry matches.
bool matchOpcode(llvm::StringRef opcode, llvm::ArrayRef<std::string> modifiers,
                 Site &site);

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_ISA_OPCODETABLE_H
