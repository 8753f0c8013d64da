//===- flashnorm-emulate.cpp - Runs PTX on the CPU ------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Isa/OpcodeTable.h"
#include "Ptx/Parser.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace flashnorm;
namespace cl = llvm::cl;

static cl::opt<bool> listOpcodes("list-opcodes",
                                 cl::desc("print the instructions known"));

static cl::opt<bool>
    checkOpcodes("check-opcodes",
                 cl::desc("parse PTX and name the instructions not known"));
static cl::list<std::string> inputs(cl::Positional, cl::desc("<PTX files>"));

static bool checkFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    llvm::errs() << path << ": " << buffer.getError().message() << "\n";
    return true;
  }
  auto module = ptx::parseModule(**buffer);
  if (!module) {
    llvm::errs() << toString(module.takeError()) << "\n";
    return true;
  }
  llvm::StringMap<std::pair<unsigned, unsigned>> unknown;
  for (const ptx::Function &function : module->functions)
    for (const ptx::Statement &statement : function.body) {
      if (statement.kind != ptx::Statement::Kind::Instruction)
        continue;
      const ptx::Instruction &instruction = statement.instruction;
      emulator::Site site;
      if (emulator::matchOpcode(instruction.opcode, instruction.modifiers,
                                site))
        continue;
      auto &entry = unknown[instruction.mnemonic()];
      if (!entry.first++)
        entry.second = instruction.location.ptxLine;
    }
  for (auto &entry : unknown)
    llvm::outs() << path << ":" << entry.second.second << ": '" << entry.first()
                 << "' is not known (" << entry.second.first << " times)\n";
  return !unknown.empty();
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "Runs PTX on the CPU.\n");
  if (listOpcodes) {
    for (const emulator::OpcodeEntry *entry : emulator::getOpcodes())
      llvm::outs() << entry->section << "\t" << entry->pattern << "\t"
                   << entry->operands << "\n";
    for (const std::string &problem : emulator::checkOpcodeTable())
      llvm::errs() << "error: " << problem << "\n";
    return emulator::checkOpcodeTable().empty() ? 0 : 1;
  }
  bool failed = false;
  for (const std::string &input : inputs)
    failed |= checkFile(input);
  return failed;
}
