//===- TensorMap.cpp - What a tensor map says -----------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The encoding is the emulator's own: the fields of EmulatorTensorMap after a
// magic number and a checksum, so that bytes that are no tensor map, or one
// that a kernel overwrote, are told from one.
//
//===----------------------------------------------------------------------===//

#include "Tensor/TensorMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"
#include <cstring>

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::createStringError;
using llvm::formatv;

namespace {

struct Encoded {
  uint64_t magic;
  uint64_t checksum; ///< of what follows
  uint64_t address;
  uint64_t sizes[TensorMap::maxRank];
  uint64_t strides[TensorMap::maxRank - 1];
  uint32_t box[TensorMap::maxRank];
  uint8_t elementStrides[TensorMap::maxRank];
  uint8_t type, rank, swizzle, interleave, fillNan;
  /// By tensormap.replace: the limits have not been checked since.
  uint8_t isReplaced;
};
static_assert(sizeof(Encoded) <= TensorMap::encodedBytes);

constexpr uint64_t magic = UINT64_C(0x50414d4e5346544d);

uint64_t computeChecksum(const Encoded &encoded) {
  constexpr size_t skipped = offsetof(Encoded, address);
  return llvm::xxh3_64bits(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(&encoded) + skipped,
                     sizeof(Encoded) - skipped));
}

bool isFloat(EmulatorTensorMap::Type type) {
  using Type = EmulatorTensorMap::Type;
  return type >= Type::F16 && type <= Type::TF32Ftz;
}

unsigned getSwizzleBytes(EmulatorTensorMap::Swizzle swizzle) {
  return swizzle == EmulatorTensorMap::Swizzle::None
             ? 0
             : 16u << static_cast<unsigned>(swizzle);
}

llvm::Error fail(const llvm::Twine &what) {
  return createStringError(llvm::inconvertibleErrorCode(),
                           "tensor map: " + what);
}

llvm::Error checkTensor(const EmulatorTensorMap &map, unsigned alignment) {
  if (map.address % alignment)
    return fail(formatv("address {0:x} is not a multiple of {1}", map.address,
                        alignment));
  for (auto [i, size] : llvm::enumerate(map.sizes))
    if (size == 0 || size > (UINT64_C(1) << 32))
      return fail(formatv("size {0} of dimension {1} is not within 1 and 2^32",
                          size, i));
  for (auto [i, stride] : llvm::enumerate(map.strides))
    if (stride % alignment || stride >= (UINT64_C(1) << 40))
      return fail(formatv("stride {0} of dimension {1} is not a multiple of "
                          "{2} bytes below 2^40",
                          stride, i + 1, alignment));
  return llvm::Error::success();
}

llvm::Error checkBox(const EmulatorTensorMap &map) {
  unsigned elementBytes = getElementBytes(map.type);
  bool interleaved = map.interleave16 || map.interleave32;
  for (auto [i, size] : llvm::enumerate(map.box))
    if (size == 0 || size > 256)
      return fail(formatv("box size {0} of dimension {1} is not within 1 and "
                          "256",
                          size, i));
  for (auto [i, stride] : llvm::enumerate(map.elementStrides))
    if (stride == 0 || stride > 8)
      return fail(formatv("element stride {0} of dimension {1} is not within 1 "
                          "and 8",
                          stride, i));
  unsigned innerBytes = map.box[0] * elementBytes;
  unsigned span = getSwizzleBytes(map.swizzle);
  if (!interleaved && innerBytes % 16)
    return fail(formatv("the box's inner dimension has {0} bytes, not a "
                        "multiple of 16",
                        innerBytes));
  if (!interleaved && span && innerBytes > span)
    return fail(formatv("the box's inner dimension has {0} bytes, more than "
                        "the swizzle's {1}",
                        innerBytes, span));
  return llvm::Error::success();
}

} // namespace

unsigned flashnorm::getElementBytes(EmulatorTensorMap::Type type) {
  using Type = EmulatorTensorMap::Type;
  switch (type) {
  case Type::U8:
    return 1;
  case Type::U16:
  case Type::F16:
  case Type::BF16:
    return 2;
  case Type::U32:
  case Type::S32:
  case Type::F32:
  case Type::F32Ftz:
  case Type::TF32:
  case Type::TF32Ftz:
    return 4;
  case Type::U64:
  case Type::S64:
  case Type::F64:
    return 8;
  }
  return 0;
}

/// The limits of cuTensorMapEncodeTiled.
static llvm::Error checkMap(const EmulatorTensorMap &map) {
  size_t rank = map.sizes.size();
  bool interleaved = map.interleave16 || map.interleave32;
  if (rank < 1 || rank > TensorMap::maxRank)
    return fail(formatv("rank {0} is not within 1 and 5", rank));
  if (map.strides.size() != rank - 1 || map.box.size() != rank ||
      map.elementStrides.size() != rank)
    return fail(formatv("rank {0} needs {1} strides, {0} box sizes and {0} "
                        "element strides; there are {2}, {3} and {4}",
                        rank, rank - 1, map.strides.size(), map.box.size(),
                        map.elementStrides.size()));
  if (map.interleave16 && map.interleave32)
    return fail("interleaved by 16 and by 32 bytes");
  if (interleaved && rank < 3)
    return fail(
        formatv("interleaved with rank {0}, which is less than 3", rank));
  if (map.interleave32 && map.swizzle != EmulatorTensorMap::Swizzle::B32)
    return fail("interleaving by 32 bytes needs the swizzle of 32 bytes");
  if (map.fillNan && !isFloat(map.type))
    return fail("only floating-point elements can be filled with NaN");
  if (llvm::Error error = checkTensor(map, map.interleave32 ? 32 : 16))
    return error;
  if (llvm::Error error = checkBox(map))
    return error;
  return llvm::Error::success();
}

llvm::Expected<std::array<char, 128>>
flashnorm::encodeTensorMap(const EmulatorTensorMap &map) {
  if (llvm::Error error = checkMap(map))
    return std::move(error);
  Encoded encoded;
  // Padding is part of the checksum.
  std::memset(&encoded, 0, sizeof(encoded));
  encoded.magic = magic;
  encoded.address = map.address;
  encoded.type = static_cast<uint8_t>(map.type);
  encoded.swizzle = static_cast<uint8_t>(map.swizzle);
  encoded.rank = static_cast<uint8_t>(map.sizes.size());
  encoded.interleave = map.interleave16 ? 16 : map.interleave32 ? 32 : 0;
  encoded.fillNan = map.fillNan;
  llvm::copy(map.sizes, encoded.sizes);
  llvm::copy(map.strides, encoded.strides);
  llvm::copy(map.box, encoded.box);
  llvm::copy(map.elementStrides, encoded.elementStrides);
  encoded.checksum = computeChecksum(encoded);
  std::array<char, 128> bytes{};
  std::memcpy(bytes.data(), &encoded, sizeof(encoded));
  return bytes;
}

/// What a map says, in the terms of the driver.
static EmulatorTensorMap describe(const Encoded &encoded) {
  EmulatorTensorMap map;
  map.type = static_cast<EmulatorTensorMap::Type>(encoded.type);
  map.address = encoded.address;
  unsigned rank = encoded.rank;
  map.sizes.assign(encoded.sizes, encoded.sizes + rank);
  map.strides.assign(encoded.strides, encoded.strides + rank - 1);
  map.box.assign(encoded.box, encoded.box + rank);
  map.elementStrides.assign(encoded.elementStrides,
                            encoded.elementStrides + rank);
  map.swizzle = static_cast<EmulatorTensorMap::Swizzle>(encoded.swizzle);
  map.interleave16 = encoded.interleave == 16;
  map.interleave32 = encoded.interleave == 32;
  map.fillNan = encoded.fillNan;
  return map;
}

llvm::Expected<TensorMap> emulator::decodeTensorMap(const char *bytes) {
  Encoded encoded;
  std::memcpy(&encoded, bytes, sizeof(encoded));
  if (encoded.magic != magic || encoded.checksum != computeChecksum(encoded))
    return fail("the magic number or the checksum is another");
  if (encoded.isReplaced)
    if (llvm::Error error = checkMap(describe(encoded)))
      return std::move(error);
  TensorMap map;
  map.type = static_cast<EmulatorTensorMap::Type>(encoded.type);
  map.swizzle = static_cast<EmulatorTensorMap::Swizzle>(encoded.swizzle);
  map.rank = encoded.rank;
  map.elementBytes = getElementBytes(map.type);
  map.interleave = encoded.interleave;
  map.fillNan = encoded.fillNan;
  map.address = encoded.address;
  map.strides[0] = map.elementBytes;
  for (unsigned i = 0; i < map.rank; ++i) {
    map.sizes[i] = encoded.sizes[i];
    if (i + 1 < map.rank)
      map.strides[i + 1] = encoded.strides[i];
    map.box[i] = encoded.box[i];
    map.elementStrides[i] = encoded.elementStrides[i];
  }
  // Without interleaving there is no stride along the innermost dimension.
  if (!map.interleave)
    map.elementStrides[0] = 1;
  return map;
}

/// The types by the number that tensormap.replace has for them.
static std::optional<EmulatorTensorMap::Type> getReplacedType(uint64_t number) {
  using Type = EmulatorTensorMap::Type;
  static constexpr Type types[] = {
      Type::U8,   Type::U16,  Type::U32,    Type::S32,    Type::U64,
      Type::S64,  Type::F16,  Type::F32,    Type::F32Ftz, Type::F64,
      Type::BF16, Type::TF32, Type::TF32Ftz};
  if (number >= std::size(types))
    return std::nullopt;
  return types[number];
}

std::string emulator::replaceField(char *bytes, TensorMapField field,
                                   unsigned ordinal, uint64_t value) {
  Encoded encoded;
  std::memcpy(&encoded, bytes, sizeof(encoded));
  // Kernels make maps from nothing, too: of 128 bytes of zeros.
  bool isBlank = llvm::all_of(llvm::ArrayRef(bytes, TensorMap::encodedBytes),
                              [](char byte) { return byte == 0; });
  if (isBlank)
    encoded.rank = 1;
  else if (encoded.magic != magic ||
           encoded.checksum != computeChecksum(encoded))
    return "the bytes are neither a tensor map nor zeros";
  auto tooLarge = [&](uint64_t most) {
    return formatv("the value {0} is greater than {1}", value, most).str();
  };
  unsigned numOrdinals =
      TensorMap::maxRank - (field == TensorMapField::GlobalStride ? 1 : 0);
  if (ordinal >= numOrdinals)
    return formatv("the ordinal {0} is not less than {1}", ordinal,
                   numOrdinals);
  switch (field) {
  case TensorMapField::GlobalAddress:
    encoded.address = value;
    break;
  case TensorMapField::Rank: // counts from 0
    if (value >= TensorMap::maxRank)
      return tooLarge(TensorMap::maxRank - 1);
    encoded.rank = static_cast<uint8_t>(value + 1);
    break;
  case TensorMapField::BoxDim:
    encoded.box[ordinal] = static_cast<uint32_t>(value);
    break;
  case TensorMapField::GlobalDim:
    encoded.sizes[ordinal] = value;
    break;
  case TensorMapField::GlobalStride:
    encoded.strides[ordinal] = value;
    break;
  case TensorMapField::ElementStride:
    if (value > UINT8_MAX)
      return tooLarge(UINT8_MAX);
    encoded.elementStrides[ordinal] = static_cast<uint8_t>(value);
    break;
  case TensorMapField::ElementType:
    if (!getReplacedType(value))
      return formatv("there is no element type {0}, or one of less than 8 bits",
                     value);
    encoded.type = static_cast<uint8_t>(*getReplacedType(value));
    break;
  case TensorMapField::InterleaveLayout:
    if (value > 2)
      return tooLarge(2);
    encoded.interleave = static_cast<uint8_t>(16 * value);
    break;
  case TensorMapField::SwizzleMode:
    if (value > 3)
      return tooLarge(3);
    encoded.swizzle = static_cast<uint8_t>(value);
    break;
  case TensorMapField::FillMode:
    if (value > 1)
      return tooLarge(1);
    encoded.fillNan = value == 1;
    break;
  }
  encoded.magic = magic;
  encoded.isReplaced = true;
  encoded.checksum = computeChecksum(encoded);
  std::memcpy(bytes, &encoded, sizeof(encoded));
  return "";
}

uint32_t TensorMap::countAlong(unsigned dimension) const {
  return (box[dimension] + elementStrides[dimension] - 1) /
         elementStrides[dimension];
}

uint64_t TensorMap::boxBytes() const {
  uint64_t bytes = elementBytes;
  for (unsigned i = 0; i < rank; ++i)
    bytes *= countAlong(i);
  return bytes;
}

unsigned TensorMap::swizzleBytes() const { return getSwizzleBytes(swizzle); }
