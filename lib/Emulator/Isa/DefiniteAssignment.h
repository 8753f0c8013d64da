//===- DefiniteAssignment.h - Registers read too early ----------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_ISA_DEFINITEASSIGNMENT_H
#define FLASHNORM_LIB_EMULATOR_ISA_DEFINITEASSIGNMENT_H

#include "Isa/Site.h"
#include "llvm/ADT/StringSet.h"

namespace flashnorm::emulator {

/// An instruction with its operands by the positions of its entry (null:
/// absent) and their kinds; Undefine and Label statements have no site.
struct PreparedInstruction {
  Site *site = nullptr;
  llvm::SmallVector<const ptx::Operand *, 8> operands;
  llvm::SmallVector<char, 8> kinds;
};

/// The registers that some path reads before it has written them for sure; a
/// write under a guard is not sure. `prepared` is by statement of the body.
llvm::StringSet<>
findMaybeUnassigned(const ptx::Function &function,
                    llvm::ArrayRef<PreparedInstruction> prepared);

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_ISA_DEFINITEASSIGNMENT_H
