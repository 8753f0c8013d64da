//===- flashnorm-emulate.cpp - Runs PTX on the CPU ------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Isa/OpcodeTable.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace flashnorm;
namespace cl = llvm::cl;

static cl::opt<bool> listOpcodes("list-opcodes",
                                 cl::desc("print the instructions known"));

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
  return 0;
}
