//===- FunctionTranslator.cpp - One function to LLVM IR -------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers become stack slots, which SROA turns into values; the registers of
// asynchronous instructions stay in memory (Thread::asyncRegisters).
//
//===----------------------------------------------------------------------===//

#include "Isa/FunctionTranslator.h"
#include <cstddef>

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::StringRef;
using llvm::Twine;
using llvm::Value;

FunctionTranslator::FunctionTranslator(KernelTranslator &kernel,
                                       const ptx::Function &function,
                                       llvm::Function *llvmFunction)
    : kernel(kernel), function(function), llvmFunction(llvmFunction),
      b(*kernel.result->context) {}

//===----------------------------------------------------------------------===//
// Preparation
//===----------------------------------------------------------------------===//

bool FunctionTranslator::prepare() {
  std::string functionName = function.name;
  prepared.resize(function.body.size());
  for (size_t i = 0; i != function.body.size(); ++i) {
    const ptx::Statement &statement = function.body[i];
    if (statement.kind != ptx::Statement::Kind::Instruction)
      continue;
    const ptx::Instruction &instruction = statement.instruction;
    std::unique_ptr<Site> site = kernel.makeSite(instruction);
    if (!site)
      return false;
    site->function = functionName;
    PreparedInstruction &result = prepared[i];
    std::string problem;
    if (!assignOperands(*site->entry, instruction, result.operands,
                        result.kinds, problem)) {
      kernel.fail(instruction.location,
                  problem + ", in '" + instruction.text + "'");
      return false;
    }
    result.site = site.get();
    kernel.result->sites.push_back(std::move(site));
  }
  return true;
}

void FunctionTranslator::declareRegisters() {
  for (const ptx::Variable &variable : function.variables) {
    if (variable.space != ptx::StateSpace::Reg) {
      variables[variable.name] = &variable;
      continue;
    }
    Register &reg = registers[variable.name];
    reg.type = variable.type;
    reg.bits = ptx::sizeInBits(variable.type);
  }
  carry = b.CreateAlloca(b.getInt1Ty());
  b.CreateStore(b.getFalse(), carry);
  llvm::StringSet<> unassigned = findMaybeUnassigned(function, prepared);
  uint32_t &numAsync = kernel.result->kernel.numAsyncRegisters;
  for (const PreparedInstruction &instruction : prepared)
    for (size_t i = 0; i != instruction.operands.size(); ++i) {
      if (!instruction.operands[i] ||
          (instruction.kinds[i] != 'D' && instruction.kinds[i] != 'A'))
        continue;
      llvm::SmallVector<StringRef> names;
      collectRegisters(*instruction.operands[i], names);
      for (StringRef name : names) {
        auto found = registers.find(name);
        if (found == registers.end() || found->second.asyncIndex >= 0)
          continue;
        if (found->second.bits != 32) {
          kernel.fail(instruction.site->location,
                      "the register " + name +
                          " of an asynchronous "
                          "instruction has " +
                          Twine(found->second.bits) + " bits, not 32");
          return;
        }
        found->second.asyncIndex = static_cast<int>(numAsync++);
        found->second.name = kernel.keepName(name);
      }
    }
  for (auto &entry : registers) {
    Register &reg = entry.second;
    if (reg.asyncIndex >= 0)
      continue;
    reg.slot = b.CreateAlloca(b.getIntNTy(reg.bits));
    if (!unassigned.contains(entry.first()))
      continue;
    reg.name = kernel.keepName(entry.first());
    reg.shadow = b.CreateAlloca(b.getInt1Ty());
    b.CreateStore(b.getFalse(), reg.shadow);
    b.CreateStore(llvm::ConstantInt::get(b.getIntNTy(reg.bits), 0), reg.slot);
  }
}

void FunctionTranslator::emitPrologue() {
  llvm::LLVMContext &context = b.getContext();
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "", llvmFunction));
  thread = llvmFunction->getArg(0);

  // Where variables lie.
  for (const ptx::Variable &variable : function.variables)
    if (variable.space == ptx::StateSpace::Local ||
        variable.space == ptx::StateSpace::Param)
      localOffsets[&variable] =
          kernel.reserveLocal(variable.size, variable.alignment);
  for (const ptx::Variable &param : function.results)
    variables[param.name] = &param;
  for (const ptx::Variable &param : function.params)
    variables[param.name] = &param;
  if (function.isEntry) {
    uint64_t size = 0;
    llvm::SmallVector<uint64_t> offsets = layOutParameters(function, size);
    for (size_t i = 0; i != offsets.size(); ++i)
      paramOffsets[function.params[i].name] = offsets[i];
  }

  // What the thread tells of itself.
  llvm::Type *word = b.getInt64Ty();
  constexpr unsigned numFields = sizeof(JitFrame) / 8;
  auto *frame = b.CreateAlloca(llvm::ArrayType::get(word, numFields));
  auto *enterType = llvm::FunctionType::get(
      b.getVoidTy(), {b.getPtrTy(), b.getPtrTy(), b.getInt32Ty()}, false);
  b.CreateCall(enterType, emitPointer(b, reinterpret_cast<void *>(jitEnter)),
               {thread, frame,
                b.getInt32(static_cast<uint32_t>(kernel.localAlignment))});
  auto field = [&](size_t offset, llvm::Type *type) {
    return b.CreateLoad(
        type, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), frame, offset));
  };
  llvm::Type *pointer = b.getPtrTy();
  asyncRegisters = field(offsetof(JitFrame, asyncRegisters), pointer);
  numPending = field(offsetof(JitFrame, numPendingRegisters), pointer);
  fenceEpoch = field(offsetof(JitFrame, fenceEpoch), pointer);
  currentSite = field(offsetof(JitFrame, site), pointer);
  paramBase = field(offsetof(JitFrame, paramBase), word);
  localBase = field(offsetof(JitFrame, localBase), word);
  sharedWindow = field(offsetof(JitFrame, sharedWindow), word);
  sharedBase = field(offsetof(JitFrame, sharedBase), word);
  dynamicShared = field(offsetof(JitFrame, dynamicShared), word);
}

void FunctionTranslator::run() {
  if (!prepare())
    return;
  emitPrologue();
  declareRegisters();
  unsigned numWords = 1;
  for (size_t i = 0; i != prepared.size(); ++i) {
    PreparedInstruction &instruction = prepared[i];
    if (!instruction.site)
      continue;
    layOutWords(instruction);
    numWords = std::max(numWords, instruction.site->numSlots);
  }
  words = b.CreateAlloca(llvm::ArrayType::get(b.getInt64Ty(), numWords));
  for (const ptx::Statement &statement : function.body)
    if (statement.kind == ptx::Statement::Kind::Label)
      labels[statement.label] =
          llvm::BasicBlock::Create(b.getContext(), "", llvmFunction);
  for (size_t i = 0; i != function.body.size() && !kernel.hasFailed(); ++i)
    emitStatement(i);
  if (kernel.hasFailed())
    return;
  if (!b.GetInsertBlock()->getTerminator()) {
    if (function.isEntry)
      b.CreateRetVoid();
    else
      b.CreateRet(b.getFalse());
  }
}

//===----------------------------------------------------------------------===//
// Registers and symbols
//===----------------------------------------------------------------------===//

/// The address of a field of asynchronous register `index`.
static Value *getAsyncField(llvm::IRBuilder<> &b, Value *registers, int index,
                            size_t offset) {
  return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), registers,
                                      index * sizeof(AsyncRegister) + offset);
}

Value *FunctionTranslator::readRegister(const Register &reg, Site &site) {
  InstructionEmitter emitter(*this, b, site);
  if (reg.asyncIndex >= 0) {
    Value *pending = b.CreateLoad(b.getInt32Ty(), numPending);
    Value *initialized = b.CreateLoad(
        b.getInt8Ty(), getAsyncField(b, asyncRegisters, reg.asyncIndex,
                                     offsetof(AsyncRegister, initialized)));
    Value *isSlow = b.CreateOr(b.CreateICmpNE(pending, b.getInt32(0)),
                               b.CreateICmpEQ(initialized, b.getInt8(0)));
    llvm::BasicBlock *join = emitter.beginIf(isSlow);
    emitter.call(jitCheckAsyncRead, thread, emitter.sitePointer(),
                 b.getInt32(reg.asyncIndex), emitter.pointer(reg.name));
    emitter.endIf(join);
    b.CreateStore(b.CreateLoad(b.getInt32Ty(), fenceEpoch),
                  getAsyncField(b, asyncRegisters, reg.asyncIndex,
                                offsetof(AsyncRegister, accessedIn)));
    return b.CreateLoad(b.getInt32Ty(),
                        getAsyncField(b, asyncRegisters, reg.asyncIndex,
                                      offsetof(AsyncRegister, value)));
  }
  if (reg.shadow) {
    Value *isSet = b.CreateLoad(b.getInt1Ty(), reg.shadow);
    llvm::BasicBlock *join = emitter.beginIf(b.CreateNot(isSet));
    emitter.call(jitUninitialized, thread, emitter.sitePointer(),
                 emitter.pointer(reg.name));
    b.CreateUnreachable();
    b.SetInsertPoint(join);
  }
  return b.CreateLoad(b.getIntNTy(reg.bits), reg.slot);
}

void FunctionTranslator::writeRegister(const Register &reg, Value *value,
                                       Site &site) {
  if (reg.asyncIndex < 0) {
    b.CreateStore(value, reg.slot);
    if (reg.shadow)
      b.CreateStore(b.getTrue(), reg.shadow);
    return;
  }
  InstructionEmitter emitter(*this, b, site);
  Value *pending = b.CreateLoad(b.getInt32Ty(), numPending);
  llvm::BasicBlock *join =
      emitter.beginIf(b.CreateICmpNE(pending, b.getInt32(0)));
  emitter.call(jitCheckAsyncWrite, thread, emitter.sitePointer(),
               b.getInt32(reg.asyncIndex), emitter.pointer(reg.name));
  emitter.endIf(join);
  auto store = [&](Value *stored, size_t offset) {
    b.CreateStore(stored,
                  getAsyncField(b, asyncRegisters, reg.asyncIndex, offset));
  };
  store(value, offsetof(AsyncRegister, value));
  store(b.CreateLoad(b.getInt32Ty(), fenceEpoch),
        offsetof(AsyncRegister, accessedIn));
  store(b.getInt8(1), offsetof(AsyncRegister, initialized));
}

std::optional<FunctionTranslator::Symbol>
FunctionTranslator::findSymbol(StringRef name) {
  const ptx::Variable *variable = variables.lookup(name);
  if (!variable)
    variable = kernel.moduleVariables.lookup(name);
  if (!variable)
    return std::nullopt;
  Symbol symbol;
  symbol.space = variable->space;
  symbol.size = variable->size;
  auto add = [&](Value *base, uint64_t offset) {
    return b.CreateAdd(base, b.getInt64(offset));
  };
  switch (variable->space) {
  case ptx::StateSpace::Reg:
    return std::nullopt;
  case ptx::StateSpace::Param: {
    symbol.isTrusted = true;
    auto local = localOffsets.find(variable);
    if (local != localOffsets.end()) {
      symbol.address = add(localBase, local->second);
      break;
    }
    auto offset = paramOffsets.find(name);
    if (offset != paramOffsets.end()) {
      symbol.address = add(paramBase, offset->second);
      break;
    }
    // Of a device function: an argument.
    unsigned index = 1;
    for (const auto *list : {&function.results, &function.params})
      for (const ptx::Variable &param : *list) {
        if (&param == variable)
          symbol.address = llvmFunction->getArg(index);
        ++index;
      }
    break;
  }
  case ptx::StateSpace::Local: {
    auto local = localOffsets.find(variable);
    if (local == localOffsets.end())
      return std::nullopt;
    symbol.address = add(localBase, local->second);
    break;
  }
  case ptx::StateSpace::Shared:
    symbol.address = variable->size
                         ? add(sharedBase, kernel.getShared(*variable))
                         : dynamicShared;
    break;
  case ptx::StateSpace::Global:
  case ptx::StateSpace::Const: {
    auto found = kernel.globals.find(variable->name);
    if (found == kernel.globals.end())
      return std::nullopt;
    symbol.address = b.getInt64(found->second);
    break;
  }
  }
  return symbol;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

void FunctionTranslator::emitStatement(size_t index) {
  const ptx::Statement &statement = function.body[index];
  switch (statement.kind) {
  case ptx::Statement::Kind::Label: {
    llvm::BasicBlock *block = labels.lookup(statement.label);
    if (!b.GetInsertBlock()->getTerminator())
      b.CreateBr(block);
    block->moveAfter(&llvmFunction->back());
    b.SetInsertPoint(block);
    emittedLabels.insert(statement.label);
    return;
  }
  case ptx::Statement::Kind::Undefine:
    if (const Register *reg = findRegister(statement.reg)) {
      if (reg->shadow)
        b.CreateStore(b.getTrue(), reg->shadow);
      if (reg->asyncIndex >= 0)
        b.CreateStore(b.getInt8(1),
                      getAsyncField(b, asyncRegisters, reg->asyncIndex,
                                    offsetof(AsyncRegister, initialized)));
    }
    return;
  case ptx::Statement::Kind::Instruction:
    if (b.GetInsertBlock()->getTerminator())
      b.SetInsertPoint(
          llvm::BasicBlock::Create(b.getContext(), "", llvmFunction));
    emitInstruction(statement.instruction, prepared[index]);
    return;
  }
}

void FunctionTranslator::emitInstruction(const ptx::Instruction &instruction,
                                         PreparedInstruction &prepared) {
  Site &site = *prepared.site;
  InstructionEmitter emitter(*this, b, site);
  emitter.instruction = &instruction;
  emitter.operands = prepared.operands;
  llvm::BasicBlock *join = nullptr;
  if (!instruction.guard.empty()) {
    const Register *guard = findRegister(instruction.guard);
    if (!guard || guard->bits != 1)
      return emitter.fail("the guard " + instruction.guard +
                          " is no predicate");
    Value *condition = readRegister(*guard, site);
    if (instruction.guardNegated)
      condition = b.CreateNot(condition);
    join = emitter.beginIf(condition, true);
  }
  if (site.entry->emitter)
    site.entry->emitter(emitter);
  else
    emitHandlerCall(emitter, prepared);
  if (join)
    emitter.endIf(join);
}

void FunctionTranslator::layOutWords(PreparedInstruction &instruction) {
  Site &site = *instruction.site;
  auto count = [&](const ptx::Operand &operand) -> unsigned {
    const Register *reg = operand.kind == ptx::Operand::Kind::Register
                              ? findRegister(operand.name)
                              : nullptr;
    return reg && reg->bits == 128 ? 2 : 1;
  };
  site.operands.clear();
  unsigned next = 0;
  for (size_t i = 0; i != instruction.operands.size(); ++i) {
    Site::Slots slots;
    slots.first = static_cast<uint16_t>(next);
    if (const ptx::Operand *operand = instruction.operands[i]) {
      using Kind = ptx::Operand::Kind;
      if (operand->kind == Kind::Vector || operand->kind == Kind::Pair) {
        for (const ptx::Operand &element : operand->elements)
          next += count(element);
      } else if (operand->kind == Kind::Address) {
        ++next;
        for (size_t j = 1; j < operand->elements.size(); ++j) {
          const ptx::Operand &more = operand->elements[j];
          next += more.kind == Kind::Vector ? more.elements.size() : 1;
        }
      } else if (operand->kind != Kind::Sink) {
        const Register *reg = operand->kind == Kind::Register
                                  ? findRegister(operand->name)
                                  : nullptr;
        slots.isPredicate = reg && reg->bits == 1;
        next += count(*operand);
      }
    }
    slots.count = static_cast<uint16_t>(next - slots.first);
    site.operands.push_back(slots);
  }
  site.numSlots = next;
}

void FunctionTranslator::emitHandlerCall(InstructionEmitter &emitter,
                                         const PreparedInstruction &prepared) {
  using Kind = ptx::Operand::Kind;
  const Site &site = *prepared.site;
  auto getSlot = [&](unsigned slot) {
    return b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), words, slot);
  };
  unsigned slot = 0;
  auto store = [&](Value *value) {
    if (value->getType()->getIntegerBitWidth() == 128) {
      b.CreateStore(emitter.resize(value, 64), getSlot(slot++));
      value = b.CreateLShr(value, 64);
    }
    b.CreateStore(emitter.resize(value, 64), getSlot(slot++));
  };
  auto storeElement = [&](const ptx::Operand &operand, char kind) {
    const Register *reg =
        operand.kind == Kind::Register ? findRegister(operand.name) : nullptr;
    if (kind == 'D' || kind == 'A') {
      if (reg && reg->asyncIndex >= 0)
        return store(b.getInt64(reg->asyncIndex));
      return emitter.fail("an operand of an asynchronous instruction must be "
                          "a register of 32 bits");
    }
    if (kind == 'd' || kind == 'p') {
      slot += reg && reg->bits == 128 ? 2 : 1;
      return;
    }
    store(emitter.readOperand(operand, reg ? reg->bits : 64));
  };
  for (size_t i = 0; i != prepared.operands.size(); ++i) {
    const ptx::Operand *operand = prepared.operands[i];
    if (!operand || operand->kind == Kind::Sink)
      continue;
    char kind = prepared.kinds[i];
    if (operand->kind == Kind::Address) {
      store(emitter.readAddress(i));
      for (size_t j = 1; j < operand->elements.size(); ++j) {
        const ptx::Operand &more = operand->elements[j];
        if (more.kind == Kind::Vector)
          for (const ptx::Operand &element : more.elements)
            storeElement(element, 's');
        else
          storeElement(more, 's');
      }
    } else if (operand->kind == Kind::Vector || operand->kind == Kind::Pair) {
      for (const ptx::Operand &element : operand->elements)
        storeElement(element, kind);
    } else {
      storeElement(*operand, kind);
    }
    if (kernel.hasFailed())
      return;
  }
  b.CreateStore(emitter.sitePointer(), currentSite);
  auto *type = llvm::FunctionType::get(
      b.getVoidTy(), {b.getPtrTy(), b.getPtrTy(), b.getPtrTy()}, false);
  b.CreateCall(type,
               emitter.pointer(reinterpret_cast<void *>(site.entry->handler)),
               {thread, emitter.sitePointer(), words});
  for (size_t i = 0; i != prepared.operands.size(); ++i) {
    const ptx::Operand *operand = prepared.operands[i];
    if (!operand || (prepared.kinds[i] != 'd' && prepared.kinds[i] != 'p'))
      continue;
    slot = site.operands[i].first;
    auto load = [&](const ptx::Operand &element) {
      if (element.kind == Kind::Sink) {
        ++slot;
        return;
      }
      unsigned bits = emitter.getRegisterBits(element);
      if (!bits)
        return emitter.fail("'" + element.name +
                            "' is written but is no register");
      Value *value = b.CreateLoad(b.getInt64Ty(), getSlot(slot++));
      if (bits == 128) {
        Value *high = b.CreateLoad(b.getInt64Ty(), getSlot(slot++));
        value = b.CreateOr(emitter.resize(value, 128),
                           b.CreateShl(emitter.resize(high, 128), 64));
      }
      emitter.writeOperand(element, emitter.resize(value, bits));
    };
    if (operand->kind == Kind::Vector || operand->kind == Kind::Pair)
      for (const ptx::Operand &element : operand->elements)
        load(element);
    else if (operand->kind != Kind::Sink)
      load(*operand);
  }
}
