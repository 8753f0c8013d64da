//===- DefiniteAssignment.cpp - Registers read too early ------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A forward data-flow analysis: a register is assigned at the begin of a block
// when it is at the ends of all predecessors.
//
//===----------------------------------------------------------------------===//

#include "Isa/DefiniteAssignment.h"
#include "Isa/Emitter.h"
#include "llvm/ADT/BitVector.h"

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::BitVector;
using llvm::StringRef;

namespace {
struct Block {
  size_t begin = 0, end = 0; ///< statements
  llvm::SmallVector<unsigned, 4> successors;
  BitVector assigned; ///< at the begin
  bool isReached = false;
};

class Analysis {
public:
  Analysis(const ptx::Function &function,
           llvm::ArrayRef<PreparedInstruction> prepared)
      : function(function), prepared(prepared) {
    for (const ptx::Variable &variable : function.variables)
      if (variable.space == ptx::StateSpace::Reg)
        indices.try_emplace(variable.name, indices.size());
  }

  llvm::StringSet<> run();

private:
  void findBlocks();
  void addSuccessors(Block &block);
  /// The effect of a statement; `report` gets registers read while unassigned.
  template <typename Report>
  void apply(size_t statement, BitVector &assigned, Report report) const;

  const ptx::Function &function;
  llvm::ArrayRef<PreparedInstruction> prepared;
  llvm::StringMap<unsigned> indices;
  std::vector<Block> blocks;
  llvm::StringMap<unsigned> blockOfLabel;
};
} // namespace

static bool isControl(const ptx::Instruction &instruction) {
  StringRef opcode = instruction.opcode;
  return opcode == "bra" || opcode == "brx" || opcode == "ret" ||
         opcode == "exit" || opcode == "trap";
}

void Analysis::findBlocks() {
  blocks.emplace_back();
  for (size_t i = 0, e = function.body.size(); i != e; ++i) {
    const ptx::Statement &statement = function.body[i];
    if (statement.kind == ptx::Statement::Kind::Label) {
      if (blocks.back().begin != i) {
        blocks.back().end = i;
        blocks.emplace_back();
        blocks.back().begin = i;
      }
      blockOfLabel[statement.label] = blocks.size() - 1;
    } else if (statement.kind == ptx::Statement::Kind::Instruction &&
               isControl(statement.instruction)) {
      blocks.back().end = i + 1;
      blocks.emplace_back();
      blocks.back().begin = i + 1;
    }
  }
  blocks.back().end = function.body.size();
  for (Block &block : blocks)
    addSuccessors(block);
}

void Analysis::addSuccessors(Block &block) {
  bool fallsThrough = true;
  if (block.end != block.begin) {
    const ptx::Statement &last = function.body[block.end - 1];
    if (last.kind == ptx::Statement::Kind::Instruction &&
        isControl(last.instruction)) {
      const ptx::Instruction &instruction = last.instruction;
      fallsThrough = !instruction.guard.empty();
      auto add = [&](StringRef label) {
        auto found = blockOfLabel.find(label);
        if (found != blockOfLabel.end())
          block.successors.push_back(found->second);
      };
      for (const ptx::Operand &operand : instruction.operands) {
        if (operand.kind != ptx::Operand::Kind::Symbol)
          continue;
        auto targets = function.branchTargets.find(operand.name);
        if (targets == function.branchTargets.end())
          add(operand.name);
        else
          for (const std::string &target : targets->second)
            add(target);
      }
    }
  }
  size_t next = &block - blocks.data() + 1;
  if (fallsThrough && next != blocks.size())
    block.successors.push_back(next);
}

template <typename Report>
void Analysis::apply(size_t index, BitVector &assigned, Report report) const {
  const ptx::Statement &statement = function.body[index];
  if (statement.kind == ptx::Statement::Kind::Undefine) {
    auto found = indices.find(statement.reg);
    if (found != indices.end())
      assigned.set(found->second);
    return;
  }
  if (statement.kind != ptx::Statement::Kind::Instruction)
    return;
  const PreparedInstruction &instruction = prepared[index];
  llvm::SmallVector<StringRef> names;
  auto read = [&] {
    for (StringRef name : names) {
      auto found = indices.find(name);
      if (found != indices.end() && !assigned.test(found->second))
        report(name);
    }
    names.clear();
  };
  auto isWritten = [](char kind) { return kind == 'd' || kind == 'p'; };
  if (!statement.instruction.guard.empty())
    names.push_back(statement.instruction.guard);
  for (size_t i = 0; i != instruction.operands.size(); ++i)
    if (instruction.operands[i] && !isWritten(instruction.kinds[i]))
      collectRegisters(*instruction.operands[i], names);
  read();
  if (!statement.instruction.guard.empty())
    return;
  for (size_t i = 0; i != instruction.operands.size(); ++i)
    if (instruction.operands[i] && isWritten(instruction.kinds[i]))
      collectRegisters(*instruction.operands[i], names);
  for (StringRef name : names) {
    auto found = indices.find(name);
    if (found != indices.end())
      assigned.set(found->second);
  }
}

llvm::StringSet<> Analysis::run() {
  findBlocks();
  for (Block &block : blocks)
    block.assigned.resize(indices.size(), true);
  blocks.front().assigned.reset();
  blocks.front().isReached = true;
  std::vector<unsigned> work = {0};
  auto ignore = [](StringRef) {};
  while (!work.empty()) {
    Block &block = blocks[work.back()];
    work.pop_back();
    BitVector assigned = block.assigned;
    for (size_t i = block.begin; i != block.end; ++i)
      apply(i, assigned, ignore);
    for (unsigned successor : block.successors) {
      Block &next = blocks[successor];
      // Is there something to take away?
      if (next.isReached && !next.assigned.test(assigned))
        continue;
      next.assigned &= assigned;
      next.isReached = true;
      work.push_back(successor);
    }
  }
  llvm::StringSet<> result;
  for (Block &block : blocks) {
    if (!block.isReached)
      continue;
    BitVector assigned = block.assigned;
    for (size_t i = block.begin; i != block.end; ++i)
      apply(i, assigned, [&](StringRef name) { result.insert(name); });
  }
  return result;
}

llvm::StringSet<>
emulator::findMaybeUnassigned(const ptx::Function &function,
                              llvm::ArrayRef<PreparedInstruction> prepared) {
  return Analysis(function, prepared).run();
}
