//===- Ptxas.h - Runs NVIDIA's assembler ------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_CONVERSION_PTXAS_H
#define FLASHNORM_CONVERSION_PTXAS_H

#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace flashnorm {

/// Path of ptxas: `requested` if not empty, else $FLASHNORM_PTXAS, the search
/// path, $CUDA_HOME/bin, /usr/local/cuda/bin. None when there is none; an error
/// when one of the first two names something that cannot run.
llvm::Expected<std::optional<std::string>>
findPtxas(llvm::StringRef requested = "");

/// Assembles PTX text. Fails when ptxas does, and on what would be slow without
/// a word: spilled registers, and serialised wgmma (warnings C7510 to C7514).
llvm::Expected<std::string> assemble(llvm::StringRef ptxas, llvm::StringRef ptx,
                                     llvm::StringRef chip);

} // namespace flashnorm

#endif // FLASHNORM_CONVERSION_PTXAS_H
