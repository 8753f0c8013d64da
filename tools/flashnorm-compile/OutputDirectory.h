//===- OutputDirectory.h - Files that replace those of before ---*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_COMPILE_OUTPUTDIRECTORY_H
#define FLASHNORM_COMPILE_OUTPUTDIRECTORY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace flashnorm {

struct OutputFile {
  std::string name; ///< without a directory
  std::string contents;
};

/// Makes `directory` hold `files` and nothing else of an earlier compilation.
/// What that one wrote, its manifest says; all other files stay. On an error
/// the directory is as it was.
llvm::Error replaceOutput(llvm::StringRef directory,
                          llvm::ArrayRef<OutputFile> files);

} // namespace flashnorm

#endif // FLASHNORM_COMPILE_OUTPUTDIRECTORY_H
