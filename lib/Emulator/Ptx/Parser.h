//===- Parser.h - PTX text to AST -------------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_PTX_PARSER_H
#define FLASHNORM_LIB_EMULATOR_PTX_PARSER_H

#include "Ptx/AST.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace flashnorm::ptx {

/// Errors read "FILE:LINE:COLUMN: what was expected, what was found".
llvm::Expected<Module> parseModule(llvm::MemoryBufferRef buffer);

} // namespace flashnorm::ptx

#endif // FLASHNORM_LIB_EMULATOR_PTX_PARSER_H
