//===- Products.cpp - Matrix products and their elements ------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tensor/Products.h"
#include "Tensor/Numerics.h"
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

using namespace flashnorm;
using namespace flashnorm::emulator;

// A version for the processor at hand is chosen when the library is loaded.
// None has fused multiply-add: results must not depend on the processor.
#if defined(__x86_64__) && defined(__ELF__) && defined(__clang__)
#define FLASHNORM_VECTOR_VERSIONS                                              \
  __attribute__((target_clones("avx2", "default")))
#else
#define FLASHNORM_VECTOR_VERSIONS
#endif

std::optional<ElementType> emulator::getElementType(ptx::Type type) {
  switch (type) {
  case ptx::Type::F16:
    return ElementType::F16;
  case ptx::Type::BF16:
    return ElementType::BF16;
  case ptx::Type::TF32:
    return ElementType::TF32;
  case ptx::Type::E4M3:
    return ElementType::E4M3;
  case ptx::Type::E5M2:
    return ElementType::E5M2;
  case ptx::Type::S8:
    return ElementType::S8;
  case ptx::Type::U8:
    return ElementType::U8;
  default:
    return std::nullopt;
  }
}

unsigned emulator::getElementBytes(ElementType type) {
  switch (type) {
  case ElementType::F16:
  case ElementType::BF16:
    return 2;
  case ElementType::TF32:
    return 4;
  default:
    return 1;
  }
}

using ByteValues = std::array<float, 256>;

static ByteValues tabulate(FloatFormat format) {
  ByteValues values;
  for (unsigned i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(decodeFloat(i, format));
  return values;
}

static void lookUp(const char *from, const ByteValues &values, unsigned count,
                   float *to) {
  for (unsigned i = 0; i < count; ++i)
    to[i] = values[static_cast<uint8_t>(from[i])];
}

void emulator::widenElements(const char *from, ElementType type, unsigned count,
                             float *to) {
  switch (type) {
  case ElementType::F16:
    for (unsigned i = 0; i < count; ++i) {
      uint16_t bits;
      std::memcpy(&bits, from + 2 * i, 2);
      to[i] = floatFromF16(bits);
    }
    return;
  case ElementType::BF16:
    for (unsigned i = 0; i < count; ++i) {
      uint16_t bits;
      std::memcpy(&bits, from + 2 * i, 2);
      to[i] = floatFromBF16(bits);
    }
    return;
  case ElementType::TF32:
    for (unsigned i = 0; i < count; ++i) {
      uint32_t bits;
      std::memcpy(&bits, from + 4 * i, 4);
      // A NaN with a payload in the low bits only stays one.
      bool isNaN = (bits & 0x7fffffff) > 0x7f800000;
      bits = isNaN ? 0x7fffe000 : bits & ~0x1fffu;
      to[i] = llvm::bit_cast<float>(bits);
    }
    return;
  case ElementType::E4M3: {
    static const ByteValues values = tabulate(FloatFormat::E4M3);
    return lookUp(from, values, count, to);
  }
  case ElementType::E5M2: {
    static const ByteValues values = tabulate(FloatFormat::E5M2);
    return lookUp(from, values, count, to);
  }
  case ElementType::S8:
  case ElementType::U8:
    for (unsigned i = 0; i < count; ++i)
      to[i] = type == ElementType::S8
                  ? static_cast<float>(static_cast<int8_t>(from[i]))
                  : static_cast<float>(static_cast<uint8_t>(from[i]));
    return;
  }
}

void emulator::widenElements(const char *from, ElementType type, unsigned count,
                             int32_t *to) {
  for (unsigned i = 0; i < count; ++i)
    to[i] = type == ElementType::S8 ? static_cast<int8_t>(from[i])
                                    : static_cast<uint8_t>(from[i]);
}

// The vectors run over n; each element of d still sees k in order. Four rows of
// b at a time spare loads and stores of d.
FLASHNORM_VECTOR_VERSIONS
void emulator::multiplyAccumulate(const float *a, const float *b, float *d,
                                  unsigned m, unsigned n, unsigned k) {
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif
  for (unsigned i = 0; i < m; ++i) {
    float *__restrict row = d + i * n;
    const float *left = a + i * k;
    unsigned p = 0;
    for (; p + 4 <= k; p += 4) {
      const float *__restrict b0 = b + p * n;
      float a0 = left[p], a1 = left[p + 1], a2 = left[p + 2], a3 = left[p + 3];
      for (unsigned j = 0; j < n; ++j) {
        float sum = row[j];
        sum += a0 * b0[j];
        sum += a1 * b0[n + j];
        sum += a2 * b0[2 * n + j];
        sum += a3 * b0[3 * n + j];
        row[j] = sum;
      }
    }
    for (; p < k; ++p)
      for (unsigned j = 0; j < n; ++j)
        row[j] += left[p] * b[p * n + j];
  }
}

FLASHNORM_VECTOR_VERSIONS
static void multiplyWrapping(const int32_t *a, const int32_t *b, uint32_t *d,
                             unsigned m, unsigned n, unsigned k) {
  for (unsigned i = 0; i < m; ++i) {
    uint32_t *__restrict row = d + i * n;
    for (unsigned p = 0; p < k; ++p) {
      int32_t left = a[i * k + p];
      for (unsigned j = 0; j < n; ++j)
        row[j] += static_cast<uint32_t>(left * b[p * n + j]);
    }
  }
}

void emulator::multiplyAccumulate(const int32_t *a, const int32_t *b,
                                  int32_t *d, unsigned m, unsigned n,
                                  unsigned k, bool saturate) {
  if (!saturate) {
    multiplyWrapping(a, b, reinterpret_cast<uint32_t *>(d), m, n, k);
    return;
  }
  for (unsigned i = 0; i < m; ++i)
    for (unsigned j = 0; j < n; ++j) {
      int64_t sum = d[i * n + j];
      for (unsigned p = 0; p < k; ++p)
        sum += a[i * k + p] * b[p * n + j];
      d[i * n + j] = static_cast<int32_t>(
          std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(),
                              std::numeric_limits<int32_t>::max()));
    }
}
