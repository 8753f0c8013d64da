//===- Translator.h - PTX to LLVM IR ----------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_ISA_TRANSLATOR_H
#define FLASHNORM_LIB_EMULATOR_ISA_TRANSLATOR_H

#include "Isa/Site.h"
#include "Machine/Machine.h"
#include "Ptx/AST.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace flashnorm::emulator {

/// An entry with the functions that it calls, as LLVM IR: the function named
/// `symbol` is Kernel::code.
struct TranslatedKernel {
  static constexpr const char *symbol = "kernel";

  Kernel kernel; ///< without the code
  std::vector<std::unique_ptr<Site>> sites;
  /// Names of registers, for messages.
  std::vector<std::unique_ptr<std::string>> names;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
};

/// `globals` has the addresses of the module's .global and .const variables.
/// Errors: "NAME:LINE: …, INSTRUCTION", where NAME is that of the PTX text.
llvm::Expected<std::unique_ptr<TranslatedKernel>>
translateKernel(const ptx::Module &module, const ptx::Function &entry,
                const llvm::StringMap<uint64_t> &globals, llvm::StringRef name);

/// Where the parameters of an entry lie in its .param space, and its size.
llvm::SmallVector<uint64_t> layOutParameters(const ptx::Function &function,
                                             uint64_t &size);

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_ISA_TRANSLATOR_H
