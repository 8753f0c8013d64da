//===- FunctionTranslator.h - One function to LLVM IR -----------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_ISA_FUNCTIONTRANSLATOR_H
#define FLASHNORM_LIB_EMULATOR_ISA_FUNCTIONTRANSLATOR_H

#include "Isa/DefiniteAssignment.h"
#include "Isa/Emitter.h"
#include "Isa/JitSupport.h"
#include "Isa/Translator.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace flashnorm::emulator {

/// The state of translating an entry and the functions that it calls. Each of
/// them is translated once and has its own part of local memory; so there is no
/// recursion.
class KernelTranslator {
public:
  KernelTranslator(const ptx::Module &module,
                   const llvm::StringMap<uint64_t> &globals,
                   llvm::StringRef name);

  llvm::Error run(const ptx::Function &entry);

  /// Keeps the first error.
  void fail(const ptx::Location &location, const llvm::Twine &message);
  bool hasFailed() const { return !error.empty(); }

  /// The definition or declaration with this name, or null.
  const ptx::Function *findFunction(llvm::StringRef name) const;
  /// The LLVM function of a .func, translated when it is first called; null
  /// after an error.
  llvm::Function *getFunction(const ptx::Function &function, const Site &site);
  uint32_t reserveLocal(uint64_t size, uint64_t alignment);
  /// Where a .shared variable of a static size lies in a CTA's shared memory.
  uint32_t getShared(const ptx::Variable &variable);
  const char *keepName(llvm::StringRef name);
  std::unique_ptr<Site> makeSite(const ptx::Instruction &instruction);

  const ptx::Module &module;
  const llvm::StringMap<uint64_t> &globals;
  llvm::StringMap<const ptx::Variable *> moduleVariables;
  std::unique_ptr<TranslatedKernel> result;
  uint64_t localAlignment = 16;

private:
  llvm::Function *translate(const ptx::Function &function);

  std::string name;
  std::string error;
  llvm::StringMap<const ptx::Function *> functionsByName;
  llvm::DenseMap<const ptx::Function *, llvm::Function *> done;
  llvm::DenseSet<const ptx::Function *> active;
  llvm::DenseMap<const ptx::Variable *, uint32_t> shared;
  llvm::StringMap<Site> matched; ///< by mnemonic
};

class FunctionTranslator {
public:
  FunctionTranslator(KernelTranslator &kernel, const ptx::Function &function,
                     llvm::Function *llvmFunction);

  void run();

  struct Register {
    ptx::Type type = ptx::Type::B32;
    unsigned bits = 0;
    llvm::AllocaInst *slot = nullptr;
    /// Whether it was written, for those that may be read before.
    llvm::AllocaInst *shadow = nullptr;
    int asyncIndex = -1; ///< in Thread::asyncRegisters
    const char *name = nullptr;
  };
  /// Null for special registers.
  const Register *findRegister(llvm::StringRef name) const {
    auto found = registers.find(name);
    return found == registers.end() ? nullptr : &found->second;
  }
  llvm::Value *readRegister(const Register &reg, Site &site);
  void writeRegister(const Register &reg, llvm::Value *value, Site &site);

  /// A variable or parameter: its address as the space has it, as an i64.
  struct Symbol {
    ptx::StateSpace space;
    llvm::Value *address = nullptr;
    uint64_t size = 0; ///< 0: not known
    /// Code may use the address without a check, as long as it stays inside.
    bool isTrusted = false;
  };
  std::optional<Symbol> findSymbol(llvm::StringRef name);

  llvm::BasicBlock *findLabel(llvm::StringRef label) const {
    return labels.lookup(label);
  }
  /// Whether a branch from here to the label goes backwards.
  bool isBackward(llvm::StringRef label) const {
    return emittedLabels.contains(label);
  }

  KernelTranslator &kernel;
  const ptx::Function &function;
  llvm::Function *llvmFunction;
  llvm::IRBuilder<> b;
  llvm::Value *thread = nullptr;
  llvm::AllocaInst *carry = nullptr; ///< of add.cc and its kin
  // Fields of the frame.
  llvm::Value *asyncRegisters = nullptr, *numPending = nullptr,
              *fenceEpoch = nullptr, *currentSite = nullptr,
              *paramBase = nullptr, *localBase = nullptr,
              *sharedWindow = nullptr, *sharedBase = nullptr,
              *dynamicShared = nullptr;

private:
  bool prepare();
  void emitPrologue();
  void declareRegisters();
  /// Fills in Site::operands and numSlots.
  void layOutWords(PreparedInstruction &instruction);
  void emitStatement(size_t index);
  void emitInstruction(const ptx::Instruction &instruction,
                       PreparedInstruction &prepared);
  void emitHandlerCall(InstructionEmitter &emitter,
                       const PreparedInstruction &prepared);

  std::vector<PreparedInstruction> prepared; ///< by statement
  llvm::StringMap<Register> registers;
  llvm::StringMap<const ptx::Variable *> variables; ///< other than registers
  llvm::StringMap<uint64_t> paramOffsets;
  llvm::DenseMap<const ptx::Variable *, uint32_t> localOffsets;
  llvm::StringMap<llvm::BasicBlock *> labels;
  llvm::StringSet<> emittedLabels;
  llvm::AllocaInst *words = nullptr;
};

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_ISA_FUNCTIONTRANSLATOR_H
