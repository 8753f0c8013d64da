//===- Emitter.cpp - LLVM IR for one instruction --------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Isa/Emitter.h"
#include "Isa/FunctionTranslator.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/IR/MDBuilder.h"

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::StringRef;
using llvm::Twine;
using llvm::Value;

//===----------------------------------------------------------------------===//
// Operands of an entry
//===----------------------------------------------------------------------===//

static bool fits(const ptx::Operand &operand, char kind) {
  using Kind = ptx::Operand::Kind;
  switch (kind) {
  case 'd':
  case 'D':
    return operand.kind == Kind::Register || operand.kind == Kind::Vector ||
           operand.kind == Kind::Sink;
  case 'p':
    return operand.kind == Kind::Register || operand.kind == Kind::Pair ||
           operand.kind == Kind::Sink;
  case 's':
    return operand.kind == Kind::Register || operand.kind == Kind::Immediate ||
           operand.kind == Kind::Symbol || operand.kind == Kind::Vector;
  case 'A':
    return operand.kind == Kind::Vector || operand.kind == Kind::Register;
  case 'm':
    return operand.kind == Kind::Address;
  case 'c':
    return operand.kind == Kind::Immediate;
  case 'l':
    return operand.kind == Kind::Symbol;
  case 'f':
    return operand.kind == Kind::Symbol || operand.kind == Kind::Register;
  case 'L':
    return operand.kind == Kind::List;
  default:
    return false;
  }
}

static StringRef describe(char kind) {
  switch (kind) {
  case 'd':
  case 'D':
    return "a register to write";
  case 'p':
    return "a predicate or a pair";
  case 's':
    return "a register or an immediate";
  case 'A':
    return "registers";
  case 'm':
    return "an address";
  case 'c':
    return "an immediate";
  case 'l':
    return "a label";
  case 'f':
    return "a function";
  default:
    return "a list";
  }
}

bool emulator::assignOperands(
    const OpcodeEntry &entry, const ptx::Instruction &instruction,
    llvm::SmallVectorImpl<const ptx::Operand *> &operands,
    llvm::SmallVectorImpl<char> &kinds, std::string &error) {
  llvm::SmallVector<StringRef> wanted;
  StringRef(entry.operands).split(wanted, ' ', -1, false);
  size_t numRequired = 0;
  for (StringRef want : wanted)
    numRequired += !want.ends_with("?");
  size_t next = 0, numOperands = instruction.operands.size();
  for (size_t i = 0; i != wanted.size(); ++i) {
    bool isOptional = wanted[i].ends_with("?");
    char kind = wanted[i].front();
    kinds.push_back(kind);
    bool isThere = next != numOperands;
    if (isOptional)
      isThere = isThere && numOperands - next > numRequired &&
                fits(instruction.operands[next], kind);
    else
      --numRequired;
    if (!isThere && isOptional) {
      operands.push_back(nullptr);
      continue;
    }
    if (!isThere) {
      error = ("operand " + Twine(next + 1) + " is missing: " + describe(kind))
                  .str();
      return false;
    }
    if (!fits(instruction.operands[next], kind)) {
      error =
          ("operand " + Twine(next + 1) + " is not " + describe(kind)).str();
      return false;
    }
    operands.push_back(&instruction.operands[next++]);
    // In place of registers, wgmma takes a descriptor.
    if (kind == 'A' && operands.back()->kind != ptx::Operand::Kind::Vector)
      kinds.back() = 's';
  }
  if (next != numOperands) {
    error = (Twine(numOperands) + " operands, of which the last " +
             Twine(numOperands - next) + " are not known")
                .str();
    return false;
  }
  return true;
}

void emulator::collectRegisters(const ptx::Operand &operand,
                                llvm::SmallVectorImpl<StringRef> &names) {
  if (operand.kind == ptx::Operand::Kind::Register)
    names.push_back(operand.name);
  for (const ptx::Operand &element : operand.elements)
    collectRegisters(element, names);
}

Value *emulator::emitPointer(llvm::IRBuilder<> &b, const void *address) {
  return llvm::ConstantExpr::getIntToPtr(
      b.getInt64(reinterpret_cast<uintptr_t>(address)), b.getPtrTy());
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void InstructionEmitter::fail(const Twine &message) {
  translator.kernel.fail(site.location, message + ", in '" + site.text + "'");
}

Value *InstructionEmitter::pointer(const void *address) {
  return emitPointer(b, address);
}

Value *InstructionEmitter::thread() { return translator.thread; }

Value *InstructionEmitter::toBits(Value *value) {
  llvm::Type *type = value->getType();
  if (type->isIntegerTy())
    return value;
  return b.CreateBitCast(value, intType(type->getPrimitiveSizeInBits()));
}

Value *InstructionEmitter::resize(Value *value, unsigned bits, bool isSigned) {
  return isSigned ? b.CreateSExtOrTrunc(value, intType(bits))
                  : b.CreateZExtOrTrunc(value, intType(bits));
}

Value *InstructionEmitter::intrinsic(unsigned id,
                                     llvm::ArrayRef<Value *> values) {
  return b.CreateIntrinsic(id, {values[0]->getType()}, values);
}

unsigned
InstructionEmitter::getRegisterBits(const ptx::Operand &operand) const {
  if (!isRegister(operand))
    return 0;
  const auto *reg = translator.findRegister(operand.name);
  return reg ? reg->bits : 0;
}

/// A floating immediate in the format of an operand of `bits` bits.
static uint64_t convertImmediate(const ptx::Operand &operand, unsigned bits,
                                 bool asFloat) {
  unsigned given = operand.isDouble ? 64 : 32;
  if (!operand.isFloat || given == bits || (!asFloat && bits != 16))
    return operand.bits;
  llvm::APFloat value(operand.isDouble ? llvm::APFloat::IEEEdouble()
                                       : llvm::APFloat::IEEEsingle(),
                      llvm::APInt(given, operand.bits));
  bool ignored;
  value.convert(bits == 64   ? llvm::APFloat::IEEEdouble()
                : bits == 32 ? llvm::APFloat::IEEEsingle()
                             : llvm::APFloat::IEEEhalf(),
                llvm::APFloat::rmNearestTiesToEven, &ignored);
  return value.bitcastToAPInt().getZExtValue();
}

Value *InstructionEmitter::readOperand(const ptx::Operand &operand,
                                       unsigned bits, bool isRelaxed,
                                       bool asFloat) {
  using Kind = ptx::Operand::Kind;
  Value *zero = constant(bits, 0);
  switch (operand.kind) {
  case Kind::Immediate: {
    uint64_t value = convertImmediate(operand, bits, asFloat);
    if (bits == 1)
      return b.getInt1(value != 0);
    return llvm::ConstantInt::get(
        b.getContext(), llvm::APInt(bits, value, true, /*implicitTrunc=*/true));
  }
  case Kind::Register: {
    const auto *reg = translator.findRegister(operand.name);
    Value *value = nullptr;
    if (reg) {
      value = translator.readRegister(*reg, site);
    } else {
      value = emitSpecialRegister(*this, operand.name);
      if (!value) {
        fail("the register " + operand.name + " is not known");
        return zero;
      }
      // %clock64 and its like, read by narrower instructions, are not.
      isRelaxed = true;
    }
    unsigned given = value->getType()->getIntegerBitWidth();
    if (given != bits && (!isRelaxed || given == 1 || bits == 1)) {
      fail("the register " + operand.name + " has " + Twine(given) +
           " bits where " + Twine(bits) + " are needed");
      return zero;
    }
    if (operand.negated)
      value = bits == 1 ? b.CreateNot(value) : b.CreateNeg(value);
    return given == bits ? value : resize(value, bits);
  }
  case Kind::Symbol: {
    auto symbol = translator.findSymbol(operand.name);
    if (!symbol) {
      fail("'" + operand.name + "' is not declared");
      return zero;
    }
    Value *address = symbol->address;
    if (operand.offset)
      address = b.CreateAdd(address, b.getInt64(operand.offset));
    return resize(address, bits);
  }
  default:
    fail("an operand is neither a register nor an immediate");
    return zero;
  }
}

static bool isFloatType(ptx::Type type) {
  return type == ptx::Type::F16 || type == ptx::Type::F32 ||
         type == ptx::Type::F64 || type == ptx::Type::BF16;
}

Value *InstructionEmitter::read(unsigned i, ptx::Type type, bool isRelaxed) {
  return read(i, ptx::sizeInBits(type), isRelaxed, isFloatType(type));
}

Value *InstructionEmitter::readFloat(unsigned i, ptx::Type type) {
  llvm::Type *floatType = type == ptx::Type::F64   ? b.getDoubleTy()
                          : type == ptx::Type::F32 ? b.getFloatTy()
                                                   : b.getHalfTy();
  return b.CreateBitCast(read(i, type), floatType);
}

Value *InstructionEmitter::readAddress(unsigned i) {
  const ptx::Operand &operand = *operands[i];
  const ptx::Operand &base = operand.elements[0];
  if (base.kind == ptx::Operand::Kind::Immediate)
    return b.getInt64(base.bits + operand.offset);
  unsigned bits = getRegisterBits(base);
  if (bits != 32)
    bits = 64;
  Value *value = readOperand(base, bits);
  if (operand.offset)
    value = b.CreateAdd(value, constant(bits, operand.offset));
  if (bits == 64)
    return value;
  for (StringRef modifier : instruction->modifiers) {
    if (modifier.starts_with("param"))
      return extendAddress(value, translator.paramBase);
    if (modifier == "local")
      return extendAddress(value, translator.localBase);
  }
  return resize(value, 64);
}

Value *InstructionEmitter::extendAddress(Value *address, Value *base) {
  Value *low = resize(address, 32);
  Value *distance = b.CreateSub(low, resize(base, 32));
  return b.CreateAdd(base, resize(distance, 64));
}

void InstructionEmitter::writeOperand(const ptx::Operand &operand, Value *value,
                                      bool isRelaxed, bool isSigned) {
  if (operand.kind == ptx::Operand::Kind::Sink)
    return;
  const auto *reg =
      isRegister(operand) ? translator.findRegister(operand.name) : nullptr;
  if (!reg)
    return fail("'" + operand.name + "' is written but is no register");
  value = toBits(value);
  unsigned given = value->getType()->getIntegerBitWidth();
  if (given != reg->bits) {
    if (!isRelaxed || given == 1 || reg->bits == 1)
      return fail("the register " + operand.name + " has " + Twine(reg->bits) +
                  " bits where " + Twine(given) + " are written");
    value = resize(value, reg->bits, isSigned);
  }
  translator.writeRegister(*reg, value, site);
}

//===----------------------------------------------------------------------===//
// Calls and control
//===----------------------------------------------------------------------===//

Value *InstructionEmitter::callAddress(void *function, llvm::Type *result,
                                       llvm::ArrayRef<llvm::Type *> params,
                                       llvm::ArrayRef<Value *> values,
                                       bool isPure) {
  auto *type = llvm::FunctionType::get(result, params, false);
  llvm::CallInst *call = b.CreateCall(type, pointer(function), values);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  if (isPure) {
    call->setDoesNotAccessMemory();
    call->addFnAttr(llvm::Attribute::WillReturn);
  }
  return call;
}

llvm::BasicBlock *InstructionEmitter::beginIf(Value *condition, bool isLikely) {
  llvm::Function *function = translator.llvmFunction;
  auto *then = llvm::BasicBlock::Create(b.getContext(), "", function);
  auto *join = llvm::BasicBlock::Create(b.getContext(), "", function);
  llvm::MDNode *weights =
      isLikely ? nullptr
               : llvm::MDBuilder(b.getContext()).createUnlikelyBranchWeights();
  b.CreateCondBr(condition, then, join, weights);
  b.SetInsertPoint(then);
  return join;
}

void InstructionEmitter::endIf(llvm::BasicBlock *join) {
  if (!b.GetInsertBlock()->getTerminator())
    b.CreateBr(join);
  b.SetInsertPoint(join);
}

Value *InstructionEmitter::access(Space space, Value *address, unsigned bytes,
                                  unsigned alignment, Access kind) {
  return call(jitAccess, thread(), sitePointer(), address, b.getInt32(bytes),
              b.getInt32(packAccess(space, kind, alignment)));
}
