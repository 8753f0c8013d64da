//===- Npy.h - NumPy array files --------------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes .npy files (NumPy Enhancement Proposal 1) of floats in C
// order. NumPy has no bf16: the ml_dtypes package saves it as 2 bytes of raw
// data ('<V2'), and so do we; '<u2' is read as bf16 bits too.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_RUNTIME_NPY_H
#define FLASHNORM_RUNTIME_NPY_H

#include "flashnorm/Runtime/Array.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace flashnorm {

/// Reads an array. Errors name the file and what is wrong in it.
llvm::Expected<Array> readNpy(llvm::StringRef path);

/// Writes an array, whole or not at all.
llvm::Error writeNpy(const Array &array, llvm::StringRef path);

/// An array of any element type, as bytes.
struct RawArray {
  std::string type;     ///< as NumPy has it: "<f4", "|u1"
  int64_t itemSize = 0; ///< bytes
  llvm::SmallVector<int64_t> shape;
  std::vector<char> data;
};

/// The same for numbers of any type (and <V2), in little-endian C order.
llvm::Expected<RawArray> readRawNpy(llvm::StringRef path);
llvm::Error writeRawNpy(const RawArray &array, llvm::StringRef path);

} // namespace flashnorm

#endif // FLASHNORM_RUNTIME_NPY_H
