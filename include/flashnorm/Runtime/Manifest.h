//===- Manifest.h - What a launcher must know of kernels --------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launch ABI (docs/LaunchABI.md) as plain data: manifest.json beside an
// artifact, and the flashnorm.manifest attribute of a gpu.binary.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_RUNTIME_MANIFEST_H
#define FLASHNORM_RUNTIME_MANIFEST_H

#include "flashnorm/Runtime/Array.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <array>

namespace flashnorm {

/// An array that a kernel reads or writes: row-major, its leading dimensions
/// collapsed into rows.
struct KernelOperand {
  bool isOutput = false;
  DataType type = DataType::BF16;
  /// One or two sizes. None, for the first one only: the number of rows.
  llvm::SmallVector<std::optional<int64_t>, 2> shape;
  /// Where rows start, in elements from one to the next: side by side, at a
  /// distance that the kernel was compiled for, or at any that the launch
  /// gives. Inputs with two sizes only.
  enum class Rows { Packed, Strided, AnyStride };
  Rows rows = Rows::Packed;
  int64_t rowStride = 0; ///< of Strided
};

/// Rows start at multiples of this many bytes: the widest access, and what
/// tensor maps ask for.
inline constexpr int64_t rowAlignment = 16;

/// One kernel parameter.
struct KernelArgument {
  enum class Kind {
    Pointer,   ///< 8 bytes: address of an operand
    TensorMap, ///< 128 bytes by value: CUtensorMap of a 2-D operand
    Rows,      ///< i32: the number of rows
    RowStride, ///< i64: elements from one row of an operand to the next
  };
  Kind kind = Kind::Rows;
  int64_t operand = 0;             ///< of all but Rows
  std::array<int64_t, 2> box = {}; ///< of TensorMap: columns, rows
  int64_t swizzle = 0;             ///< of TensorMap: 0, 32, 64 or 128 bytes
};

/// One kernel. It has ceil(rows / tileRows) * columnTiles tiles, and as many
/// CTAs or, if they are persistent, at most ctasPerSM on each SM.
struct KernelManifest {
  std::string name;
  std::string strategy;
  std::string family;
  int64_t block = 0;   ///< threads per CTA
  int64_t cluster = 1; ///< CTAs per cluster
  int64_t sharedMemory = 0;
  int64_t tileRows = 0;
  int64_t columnTiles = 1;
  int64_t ctasPerSM = 0;               ///< 0: not persistent
  std::vector<KernelOperand> operands; ///< inputs, then outputs
  std::vector<KernelArgument> arguments;
};

/// The kernels of one GPU module.
struct Manifest {
  static constexpr int64_t currentVersion = 3;

  std::string chip;
  int64_t ptxVersion = 0;
  std::string module;
  std::vector<KernelManifest> kernels;

  /// Reads and validates. Errors name the place ("manifest.kernels[0].block")
  /// and the value.
  static llvm::Expected<Manifest> parse(llvm::StringRef json);
  llvm::json::Value toJSON() const;
};

} // namespace flashnorm

#endif // FLASHNORM_RUNTIME_MANIFEST_H
