//===- TensorMap.h - What a tensor map says ---------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_TENSOR_TENSORMAP_H
#define FLASHNORM_LIB_EMULATOR_TENSOR_TENSORMAP_H

#include "flashnorm/Emulator/Emulator.h"

namespace flashnorm::emulator {

/// A decoded tensor map. Dimension 0 is the innermost.
struct TensorMap {
  static constexpr unsigned maxRank = 5;
  static constexpr unsigned encodedBytes = 128;

  EmulatorTensorMap::Type type = EmulatorTensorMap::Type::U8;
  EmulatorTensorMap::Swizzle swizzle = EmulatorTensorMap::Swizzle::None;
  unsigned rank = 0;
  unsigned elementBytes = 0;
  unsigned interleave = 0; ///< bytes; 0: none
  bool fillNan = false;
  uint64_t address = 0;
  std::array<uint64_t, maxRank> sizes{};   ///< elements
  std::array<uint64_t, maxRank> strides{}; ///< bytes; [0] is elementBytes
  std::array<uint32_t, maxRank> box{};     ///< elements
  std::array<uint32_t, maxRank> elementStrides{};

  /// Elements that a copy moves along a dimension.
  uint32_t countAlong(unsigned dimension) const;
  /// Bytes of the whole box in shared memory.
  uint64_t boxBytes() const;
  /// 32, 64 or 128; 0 without swizzle.
  unsigned swizzleBytes() const;
};

/// Errors: the 128 bytes are not what encodeTensorMap made, or
/// tensormap.replace has put values into them that encodeTensorMap would
/// reject.
llvm::Expected<TensorMap> decodeTensorMap(const char *bytes);

/// What tensormap.replace can change (PTX ISA 9.7.9.26).
enum class TensorMapField {
  GlobalAddress,
  Rank,
  BoxDim,
  GlobalDim,
  GlobalStride,
  ElementStride,
  ElementType,
  InterleaveLayout,
  SwizzleMode,
  FillMode
};
/// Changes one field of the map in `bytes`; `ordinal` counts dimensions, and
/// for strides those from 1 on. Returns what is wrong, or nothing.
std::string replaceField(char *bytes, TensorMapField field, unsigned ordinal,
                         uint64_t value);

/// Where the swizzle of `span` bytes (0, 32, 64, 128) puts a byte of shared
/// memory: 16-byte chunks of a span are permuted by the number of the span's
/// 128-byte line.
inline uint64_t swizzleAddress(uint64_t address, unsigned span) {
  // Bits 4 and up, xor bits 7 and up: one, two or three of them.
  return span ? address ^ ((address >> 3) & (span - 16)) : address;
}

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_TENSOR_TENSORMAP_H
