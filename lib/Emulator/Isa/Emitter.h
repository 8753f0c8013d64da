//===- Emitter.h - LLVM IR for one instruction ------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the emitters of the opcode table work with. Registers are integers of
// the register's size (i1 for predicates); floats are bitcast where they are
// used, so that no bit of a NaN gets lost on the way.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_ISA_EMITTER_H
#define FLASHNORM_LIB_EMULATOR_ISA_EMITTER_H

#include "Isa/OpcodeTable.h"
#include "Machine/Memory.h"
#include "llvm/IR/IRBuilder.h"
#include <type_traits>

namespace flashnorm::emulator {

class FunctionTranslator;

/// The operands of an instruction by the positions of its entry: null for an
/// optional one that is absent. False when they do not fit; then `error` says
/// why.
bool assignOperands(const OpcodeEntry &entry,
                    const ptx::Instruction &instruction,
                    llvm::SmallVectorImpl<const ptx::Operand *> &operands,
                    llvm::SmallVectorImpl<char> &kinds, std::string &error);

/// A pointer constant to something in this process.
llvm::Value *emitPointer(llvm::IRBuilder<> &b, const void *address);

/// The registers among an operand and its elements, in order.
void collectRegisters(const ptx::Operand &operand,
                      llvm::SmallVectorImpl<llvm::StringRef> &names);

class InstructionEmitter;

/// The value of "%tid.x" and its like, of 32 or 64 bits (1 for predicates);
/// null when it is not known. Isa/SpecialRegisters.cpp.
llvm::Value *emitSpecialRegister(InstructionEmitter &emitter,
                                 llvm::StringRef name);

class InstructionEmitter {
public:
  InstructionEmitter(FunctionTranslator &translator, llvm::IRBuilder<> &builder,
                     Site &site)
      : b(builder), site(site), translator(translator) {}

  llvm::IRBuilder<> &b;
  Site &site;
  FunctionTranslator &translator;
  const ptx::Instruction *instruction = nullptr;
  /// By the positions of the entry; null: absent.
  llvm::SmallVector<const ptx::Operand *, 8> operands;

  /// The translation fails with this message, which names the instruction.
  void fail(const llvm::Twine &message);

  unsigned numOperands() const { return operands.size(); }
  bool hasOperand(unsigned i) const {
    return i < operands.size() && operands[i];
  }
  bool isRegister(const ptx::Operand &operand) const {
    return operand.kind == ptx::Operand::Kind::Register;
  }

  /// The value of an operand, as an integer of `bits` bits. A register must
  /// have that size; with `isRelaxed` it may be wider or narrower: it is
  /// truncated or zero-extended. `asFloat` converts floating immediates.
  llvm::Value *read(unsigned i, unsigned bits, bool isRelaxed = false,
                    bool asFloat = false) {
    return readOperand(*operands[i], bits, isRelaxed, asFloat);
  }
  llvm::Value *read(unsigned i, ptx::Type type, bool isRelaxed = false);
  llvm::Value *readOperand(const ptx::Operand &operand, unsigned bits,
                           bool isRelaxed = false, bool asFloat = false);
  /// As `read`, as a value of the LLVM type half, float or double.
  llvm::Value *readFloat(unsigned i, ptx::Type type);
  /// .param and .local addresses may be held in 32 bits: the one with these low
  /// bits, as i64.
  llvm::Value *extendAddress(llvm::Value *address, llvm::Value *base);
  /// The address [base + offset], as i64; coordinates are left out.
  llvm::Value *readAddress(unsigned i);

  /// Writes integers or floats; with `isRelaxed`, an integer is extended or
  /// truncated to the register's size.
  void write(unsigned i, llvm::Value *value, bool isRelaxed = false,
             bool isSigned = false) {
    writeOperand(*operands[i], value, isRelaxed, isSigned);
  }
  void writeOperand(const ptx::Operand &operand, llvm::Value *value,
                    bool isRelaxed = false, bool isSigned = false);
  /// Of a register operand; 0 for others.
  unsigned getRegisterBits(const ptx::Operand &operand) const;

  // Values.
  llvm::Type *intType(unsigned bits) { return b.getIntNTy(bits); }
  llvm::Value *constant(unsigned bits, uint64_t value) {
    return llvm::ConstantInt::get(intType(bits), value);
  }
  /// To the integer with the same bits.
  llvm::Value *toBits(llvm::Value *value);
  llvm::Value *resize(llvm::Value *value, unsigned bits, bool isSigned = false);
  llvm::Value *intrinsic(unsigned id, llvm::ArrayRef<llvm::Value *> values);

  /// Calls a function of the runtime. Types of parameters: integers of 32 or
  /// 64 bits, enumerations and pointers.
  template <typename Result, typename... Params, typename... Values>
  llvm::Value *call(Result (*function)(Params...), Values *...values) {
    return callAddress(reinterpret_cast<void *>(function), irType<Result>(),
                       {irType<Params>()...}, {values...}, false);
  }
  /// The same, of a function that only computes.
  template <typename Result, typename... Params, typename... Values>
  llvm::Value *callPure(Result (*function)(Params...), Values *...values) {
    return callAddress(reinterpret_cast<void *>(function), irType<Result>(),
                       {irType<Params>()...}, {values...}, true);
  }
  llvm::Value *pointer(const void *address);
  llvm::Value *thread();
  llvm::Value *sitePointer() { return pointer(&site); }

  // Control.
  /// Sets the insertion point to a block that is executed when `condition`
  /// holds; finish with `endIf`, which returns to the common path.
  llvm::BasicBlock *beginIf(llvm::Value *condition, bool isLikely = false);
  void endIf(llvm::BasicBlock *join);

  /// Checks an access (Machine/Memory.h) and returns a pointer to the bytes.
  llvm::Value *access(Space space, llvm::Value *address, unsigned bytes,
                      unsigned alignment, Access kind);

private:
  template <typename T> llvm::Type *irType() {
    if constexpr (std::is_void_v<T>)
      return b.getVoidTy();
    else if constexpr (std::is_pointer_v<T> || std::is_reference_v<T>)
      return b.getPtrTy();
    else {
      static_assert(sizeof(T) <= 8);
      return b.getIntNTy(sizeof(T) * 8);
    }
  }
  llvm::Value *callAddress(void *function, llvm::Type *result,
                           llvm::ArrayRef<llvm::Type *> params,
                           llvm::ArrayRef<llvm::Value *> values, bool isPure);
};

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_ISA_EMITTER_H
