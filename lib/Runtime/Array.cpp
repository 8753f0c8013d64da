//===- Array.cpp - Arrays on the host -------------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Runtime/Array.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace flashnorm;
using llvm::ArrayRef;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

StringRef flashnorm::stringify(DataType type) {
  switch (type) {
  case DataType::BF16:
    return "bf16";
  case DataType::F16:
    return "f16";
  case DataType::F32:
    return "f32";
  case DataType::F64:
    return "f64";
  }
  return "";
}

std::optional<DataType> flashnorm::parseDataType(StringRef name) {
  return llvm::StringSwitch<std::optional<DataType>>(name)
      .Case("bf16", DataType::BF16)
      .Case("f16", DataType::F16)
      .Case("f32", DataType::F32)
      .Case("f64", DataType::F64)
      .Default(std::nullopt);
}

int64_t flashnorm::sizeInBytes(DataType type) {
  switch (type) {
  case DataType::BF16:
  case DataType::F16:
    return 2;
  case DataType::F32:
    return 4;
  case DataType::F64:
    return 8;
  }
  return 0;
}

float flashnorm::bf16ToFloat(uint16_t bits) {
  return llvm::bit_cast<float>(uint32_t(bits) << 16);
}

float flashnorm::f16ToFloat(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float magnitude;
  if (exponent == 31)
    magnitude = fraction ? std::numeric_limits<float>::quiet_NaN()
                         : std::numeric_limits<float>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(float(fraction), -24);
  else
    magnitude = std::ldexp(float(fraction + 1024), exponent - 25);
  return std::copysign(magnitude, bits & 0x8000 ? -1.0f : 1.0f);
}

/// Rounds to a 16-bit format with `fractionBits` bits of fraction and exponents
/// from minExponent (of normal numbers) to maxExponent.
static uint16_t roundTo16(double value, int fractionBits, int minExponent,
                          int maxExponent) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const uint16_t infinity = (maxExponent - minExponent + 2) << fractionBits;
  double magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | infinity | 1 << (fractionBits - 1);
  if (std::isinf(value))
    return sign | infinity;
  if (magnitude == 0)
    return sign;
  // The unit in the last place of the format, at this magnitude; scaling by a
  // power of two is exact, and nearbyint rounds half to even.
  int exponent = std::max(std::ilogb(magnitude), minExponent);
  double units = std::nearbyint(std::ldexp(magnitude, fractionBits - exponent));
  // A carry into the next binade is the carry of this addition.
  int64_t bits = (int64_t(exponent - minExponent) << fractionBits) +
                 static_cast<int64_t>(units);
  return sign | static_cast<uint16_t>(std::min<int64_t>(bits, infinity));
}

uint16_t flashnorm::doubleToBF16(double value) {
  return roundTo16(value, 7, -126, 127);
}

uint16_t flashnorm::doubleToF16(double value) {
  return roundTo16(value, 10, -14, 15);
}

template <typename T> static T load(const void *address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}

double flashnorm::loadElement(DataType type, const void *address) {
  switch (type) {
  case DataType::BF16:
    return bf16ToFloat(load<uint16_t>(address));
  case DataType::F16:
    return f16ToFloat(load<uint16_t>(address));
  case DataType::F32:
    return load<float>(address);
  case DataType::F64:
    return load<double>(address);
  }
  return 0;
}

template <typename T> static void store(void *address, T value) {
  std::memcpy(address, &value, sizeof(T));
}

void flashnorm::storeElement(DataType type, void *address, double value) {
  switch (type) {
  case DataType::BF16:
    return store(address, doubleToBF16(value));
  case DataType::F16:
    return store(address, doubleToF16(value));
  case DataType::F32:
    return store(address, static_cast<float>(value));
  case DataType::F64:
    return store(address, value);
  }
}

//===----------------------------------------------------------------------===//
// Shapes, arrays and views
//===----------------------------------------------------------------------===//

std::optional<int64_t> flashnorm::countElements(ArrayRef<int64_t> sizes) {
  if (llvm::any_of(sizes, [](int64_t size) { return size < 0; }))
    return std::nullopt;
  // Zero wins over an overflow, whatever the order.
  if (llvm::is_contained(sizes, 0))
    return 0;
  std::optional<int64_t> count = 1;
  for (int64_t size : sizes)
    if (!(count = llvm::checkedMul(*count, size)))
      return std::nullopt;
  return count;
}

std::string flashnorm::formatShape(ArrayRef<int64_t> sizes) {
  constexpr int64_t dynamic = std::numeric_limits<int64_t>::min();
  return "[" +
         llvm::join(llvm::map_range(sizes,
                                    [](int64_t size) {
                                      return size == dynamic
                                                 ? "?"
                                                 : std::to_string(size);
                                    }),
                    ", ") +
         "]";
}

Array::Array(DataType type, ArrayRef<int64_t> shape)
    : type(type), shape(shape.begin(), shape.end()),
      data(countElements(shape).value_or(0) * sizeInBytes(type)) {}

int64_t Array::size() const { return countElements(shape).value_or(0); }

bool StridedView::isPacked() const {
  int64_t expected = 1;
  for (auto [size, stride] : llvm::reverse(llvm::zip(sizes, strides))) {
    if (size == 0)
      return true;
    if (size != 1 && stride != expected)
      return false;
    expected *= size;
  }
  return true;
}

std::optional<int64_t> StridedView::rowStride() const {
  if (sizes.empty() || (sizes.back() > 1 && strides.back() != 1))
    return std::nullopt;
  // From the innermost: each dimension must go on where the one inside ended.
  std::optional<int64_t> stride;
  int64_t expected = 0;
  for (size_t dim = sizes.size() - 1; dim-- > 0;) {
    if (sizes[dim] == 1)
      continue;
    if (!stride)
      stride = strides[dim];
    else if (strides[dim] != expected)
      return std::nullopt;
    if (llvm::MulOverflow(strides[dim], sizes[dim], expected))
      return std::nullopt;
  }
  return stride ? stride : sizes.back();
}

/// Calls copyRun(view bytes, packed offset, bytes) for each piece of a view
/// that is contiguous.
static void
forEachRun(const StridedView &view, int64_t elementSize,
           llvm::function_ref<void(char *, int64_t, int64_t)> copyRun) {
  int64_t count = countElements(view.sizes).value_or(0);
  if (count == 0)
    return;
  if (view.isPacked())
    return copyRun(view.data, 0, count * elementSize);
  // A not packed view has at least one dimension. The innermost one is a run
  // when its stride is 1; else each element is.
  const size_t last = view.sizes.size() - 1;
  const bool rows = view.strides[last] == 1;
  const int64_t run = rows ? view.sizes[last] : 1;
  llvm::SmallVector<int64_t> index(view.sizes.size(), 0);
  for (int64_t done = 0; done < count; done += run) {
    int64_t offset = 0;
    for (auto [position, stride] : llvm::zip(index, view.strides))
      offset += position * stride;
    copyRun(view.data + offset * elementSize, done * elementSize,
            run * elementSize);
    for (size_t dim = rows ? last : last + 1; dim-- > 0;) {
      if (++index[dim] < view.sizes[dim])
        break;
      index[dim] = 0;
    }
  }
}

void flashnorm::packView(const StridedView &view, int64_t elementSize,
                         char *packed) {
  forEachRun(view, elementSize, [&](char *data, int64_t offset, int64_t bytes) {
    std::memcpy(packed + offset, data, bytes);
  });
}

void flashnorm::unpackView(const char *packed, int64_t elementSize,
                           const StridedView &view) {
  forEachRun(view, elementSize, [&](char *data, int64_t offset, int64_t bytes) {
    std::memcpy(data, packed + offset, bytes);
  });
}
