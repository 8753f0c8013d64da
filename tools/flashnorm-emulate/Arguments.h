//===- Arguments.h - What a kernel is launched with -------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_EMULATE_ARGUMENTS_H
#define FLASHNORM_EMULATE_ARGUMENTS_H

#include "flashnorm/Emulator/Emulator.h"
#include "flashnorm/Runtime/Npy.h"
#include "llvm/ADT/StringMap.h"

namespace flashnorm::emulate {

/// Device memory that a kernel works on.
struct Buffer {
  RawArray array; ///< initial contents; none: uninitialised
  bool isInput = false;
  std::string output; ///< the file for the contents afterwards; empty: none
  std::vector<char> result; ///< these contents, after a run
  int64_t bytes() const;
};

/// One kernel parameter.
struct Argument {
  enum class Kind { Pointer, Scalar, TensorMap };
  Kind kind = Kind::Scalar;
  std::string text; ///< of the command line, for messages
  // Pointer and TensorMap.
  size_t buffer = 0;
  uint64_t offset = 0; ///< bytes
  // Scalar.
  std::vector<char> bytes;
  // TensorMap; its address is not known yet.
  EmulatorTensorMap map;

  uint64_t size() const;
};

/// A launch, independent of where its buffers will lie.
struct LaunchRequest {
  std::string entry;
  EmulatorLaunch shape;
  std::vector<Buffer> buffers;
  std::vector<Argument> arguments;
  /// So many launches in a row, each of which may start before the one before
  /// it has ended (EmulatorLaunch::programmatic).
  uint32_t repeat = 1;
};

/// Reads the options --array=NAME=SPEC and --arg=SPEC. Errors name the option.
llvm::Error parseArguments(llvm::ArrayRef<std::string> arrays,
                           llvm::ArrayRef<std::string> arguments,
                           LaunchRequest &request);

/// "128", "16x4x1": up to three extents of at least 1.
llvm::Expected<std::array<uint32_t, 3>> parseExtents(llvm::StringRef option,
                                                     llvm::StringRef text);

/// "f32" to NumPy's "<f4" and the size in bytes; none for unknown names.
struct ElementType {
  std::string numpy;
  int64_t size;
};
std::optional<ElementType> parseElementType(llvm::StringRef name);

/// Runs once, on fresh memory, and gives the buffers that have an output file
/// their contents.
llvm::Error runOnce(Emulator &emulator, LaunchRequest &request);

/// Writes the files of all outputs, or prints them where the file is "-".
llvm::Error writeOutputs(const LaunchRequest &request);

} // namespace flashnorm::emulate

#endif // FLASHNORM_EMULATE_ARGUMENTS_H
