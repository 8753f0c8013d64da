//===- Jit.h - LLVM IR to code ----------------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_ISA_JIT_H
#define FLASHNORM_LIB_EMULATOR_ISA_JIT_H

#include "Isa/Translator.h"

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace flashnorm::emulator {

class Jit {
public:
  static llvm::Expected<std::unique_ptr<Jit>> create();
  ~Jit();

  /// Optimises and compiles; Kernel::code is valid as long as the Jit lives.
  /// The LLVM module is consumed.
  llvm::Error compile(TranslatedKernel &kernel);

private:
  Jit();
  std::unique_ptr<llvm::orc::LLJIT> jit;
  unsigned numKernels = 0;
};

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_ISA_JIT_H
