//===- Control.cpp - Branches and calls -----------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.12, and what of 9.7.19 does no more than stop or nothing. Guards
// are the translator's.
//
//===----------------------------------------------------------------------===//

#include "Isa/Emitter.h"
#include "Isa/FunctionTranslator.h"

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::Value;

static llvm::BasicBlock *getTarget(InstructionEmitter &e,
                                   llvm::StringRef label) {
  llvm::BasicBlock *block = e.translator.findLabel(label);
  if (!block)
    e.fail("there is no label '" + label + "' here");
  return block;
}

static void emitBackEdge(InstructionEmitter &e) {
  e.call(jitBackEdge, e.thread(), e.sitePointer());
}

static void emitBra(InstructionEmitter &e) {
  const std::string &label = e.operands[0]->name;
  llvm::BasicBlock *target = getTarget(e, label);
  if (!target)
    return;
  if (e.translator.isBackward(label))
    emitBackEdge(e);
  e.b.CreateBr(target);
}

static void emitBrx(InstructionEmitter &e) {
  const auto &lists = e.translator.function.branchTargets;
  auto list = lists.find(e.operands[1]->name);
  if (list == lists.end())
    return e.fail("there is no .branchtargets '" + e.operands[1]->name + "'");
  Value *index = e.read(0, 32);
  bool isBackward = false;
  for (const std::string &label : list->second)
    isBackward |= e.translator.isBackward(label);
  if (isBackward)
    emitBackEdge(e);
  auto *outside =
      llvm::BasicBlock::Create(e.b.getContext(), "", e.translator.llvmFunction);
  llvm::SwitchInst *branch =
      e.b.CreateSwitch(index, outside, list->second.size());
  for (size_t i = 0; i != list->second.size(); ++i) {
    llvm::BasicBlock *target = getTarget(e, list->second[i]);
    if (!target)
      return;
    branch->addCase(e.b.getInt32(i), target);
  }
  e.b.SetInsertPoint(outside);
  e.call(jitIllegal, e.thread(), e.sitePointer(),
         e.pointer("the index of brx.idx is not below the number of targets"));
  e.b.CreateUnreachable();
}

static void emitLeave(InstructionEmitter &e, bool hasExited) {
  if (e.translator.function.isEntry)
    e.b.CreateRetVoid();
  else
    e.b.CreateRet(e.b.getInt1(hasExited));
}
static void emitRet(InstructionEmitter &e) { emitLeave(e, false); }
static void emitExit(InstructionEmitter &e) { emitLeave(e, true); }

static void emitTrap(InstructionEmitter &e) {
  e.call(jitTrap, e.thread(), e.sitePointer(),
         e.pointer("the kernel executed trap"));
  e.b.CreateUnreachable();
}

static void emitNothing(InstructionEmitter &e) {}

/// Functions that CUDA's driver provides.
static void emitExtern(InstructionEmitter &e, llvm::StringRef name) {
  if (name == "__assertfail" || name == "__assert_fail") {
    e.call(jitTrap, e.thread(), e.sitePointer(),
           e.pointer("an assertion of the kernel failed"));
    e.b.CreateUnreachable();
    return;
  }
  std::string message = ("the function '" + name + "' is not defined").str();
  e.call(jitUnsupported, e.thread(), e.sitePointer(),
         e.pointer(e.translator.kernel.keepName(message)));
  e.b.CreateUnreachable();
}

static void emitCall(InstructionEmitter &e) {
  const ptx::Operand &callee = *e.operands[1];
  if (callee.kind != ptx::Operand::Kind::Symbol)
    return e.fail("indirect calls are not supported");
  const ptx::Function *function = e.translator.kernel.findFunction(callee.name);
  if (!function || function->isEntry)
    return e.fail("there is no function '" + callee.name + "'");
  if (function->isDeclaration)
    return emitExtern(e, callee.name);
  llvm::SmallVector<Value *> arguments = {e.thread()};
  auto add = [&](const ptx::Operand *list,
                 const std::vector<ptx::Variable> &params) {
    size_t count = list ? list->elements.size() : 0;
    if (count != params.size())
      return e.fail("'" + callee.name + "' takes " +
                    llvm::Twine(params.size()) + " of what the call gives " +
                    llvm::Twine(count));
    for (size_t i = 0; i != count; ++i) {
      const ptx::Operand &operand = list->elements[i];
      auto symbol = operand.kind == ptx::Operand::Kind::Symbol
                        ? e.translator.findSymbol(operand.name)
                        : std::nullopt;
      if (!symbol || symbol->space != ptx::StateSpace::Param)
        return e.fail("arguments and results of calls must be .param "
                      "variables");
      if (symbol->size < params[i].size)
        return e.fail("'" + operand.name + "' has " +
                      llvm::Twine(symbol->size) + " bytes, the parameter " +
                      llvm::Twine(params[i].size));
      Value *address = symbol->address;
      if (operand.offset)
        return e.fail("an argument with an offset");
      arguments.push_back(address);
    }
  };
  add(e.operands[0], function->results);
  add(e.operands[2], function->params);
  if (e.translator.kernel.hasFailed())
    return;
  llvm::Function *llvmFunction =
      e.translator.kernel.getFunction(*function, e.site);
  if (!llvmFunction)
    return;
  Value *hasExited = e.b.CreateCall(llvmFunction, arguments);
  llvm::BasicBlock *join = e.beginIf(hasExited);
  emitExit(e);
  e.b.SetInsertPoint(join);
}

static const OpcodeEntry entries[] = {
    {"bra{.uni}", "l", "9.7.12.3", emitBra},
    {"brx.idx{.uni}", "s l", "9.7.12.4", emitBrx},
    {"call{.uni}", "L? f L? l?", "9.7.12.5", emitCall},
    {"ret{.uni}", "", "9.7.12.6", emitRet},
    {"exit", "", "9.7.12.7", emitExit},
    {"brkpt", "", "9.7.19.1", emitNothing},
    {"pmevent{.mask}", "c", "9.7.19.3", emitNothing},
    {"trap", "", "9.7.19.4", emitTrap},
};

llvm::ArrayRef<OpcodeEntry> emulator::getControlOpcodes() { return entries; }
