//===- Reduce.cpp - Reductions of bulk copies -----------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tensor/BulkOp.h"
#include "Tensor/Numerics.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

using namespace flashnorm;
using namespace flashnorm::emulator;

bool emulator::canReduce(ReduceOperation operation, ptx::Type type) {
  using Type = ptx::Type;
  switch (operation) {
  case ReduceOperation::And:
  case ReduceOperation::Or:
  case ReduceOperation::Xor:
    return type == Type::B32 || type == Type::B64;
  case ReduceOperation::Inc:
  case ReduceOperation::Dec:
    return type == Type::U32;
  case ReduceOperation::Add:
    if (type == Type::F32 || type == Type::F64)
      return true;
    [[fallthrough]];
  case ReduceOperation::Min:
  case ReduceOperation::Max:
    return type == Type::U32 || type == Type::S32 || type == Type::U64 ||
           type == Type::S64 || type == Type::F16 || type == Type::BF16;
  }
  return false;
}

namespace {

template <typename Integer>
Integer combine(ReduceOperation operation, Integer a, Integer b) {
  using Unsigned = std::make_unsigned_t<Integer>;
  switch (operation) {
  case ReduceOperation::And:
    return a & b;
  case ReduceOperation::Or:
    return a | b;
  case ReduceOperation::Xor:
    return a ^ b;
  case ReduceOperation::Add:
    return static_cast<Integer>(static_cast<Unsigned>(a) +
                                static_cast<Unsigned>(b));
  case ReduceOperation::Inc:
    return a >= b ? 0 : a + 1;
  case ReduceOperation::Dec:
    return a == 0 || a > b ? b : a - 1;
  case ReduceOperation::Min:
    return std::min(a, b);
  case ReduceOperation::Max:
    return std::max(a, b);
  }
  return a;
}

uint32_t combineFloats(ReduceOperation operation, FloatFormat format,
                       uint32_t a, uint32_t b, bool flush) {
  if (operation == ReduceOperation::Add)
    return addFloat(a, b, format, Rounding::NearestEven,
                    flush ? FlushToZero : NoFlags);
  return takeMinMax(a, b, format,
                    operation == ReduceOperation::Max ? TakeMaximum : 0);
}

template <typename Word, typename Combine>
void forEachElement(char *to, const char *from, uint64_t bytes,
                    Combine combineWords) {
  for (uint64_t at = 0; at + sizeof(Word) <= bytes; at += sizeof(Word)) {
    Word a, b;
    std::memcpy(&a, to + at, sizeof(Word));
    std::memcpy(&b, from + at, sizeof(Word));
    a = combineWords(a, b);
    std::memcpy(to + at, &a, sizeof(Word));
  }
}

} // namespace

void emulator::reduceElements(ReduceOperation operation, ptx::Type type,
                              char *to, const char *from, uint64_t bytes,
                              bool flush) {
  auto integers = [&](auto zero) {
    using Integer = decltype(zero);
    forEachElement<Integer>(to, from, bytes, [&](Integer a, Integer b) {
      return combine(operation, a, b);
    });
  };
  switch (type) {
  case ptx::Type::S32:
    return integers(int32_t(0));
  case ptx::Type::U32:
  case ptx::Type::B32:
    return integers(uint32_t(0));
  case ptx::Type::S64:
    return integers(int64_t(0));
  case ptx::Type::U64:
  case ptx::Type::B64:
    return integers(uint64_t(0));
  case ptx::Type::F16:
  case ptx::Type::BF16: {
    FloatFormat format =
        type == ptx::Type::F16 ? FloatFormat::F16 : FloatFormat::BF16;
    return forEachElement<uint16_t>(
        to, from, bytes, [&](uint16_t a, uint16_t b) {
          return static_cast<uint16_t>(
              combineFloats(operation, format, a, b, false));
        });
  }
  case ptx::Type::F32:
    return forEachElement<uint32_t>(
        to, from, bytes, [&](uint32_t a, uint32_t b) {
          return combineFloats(operation, FloatFormat::F32, a, b, flush);
        });
  case ptx::Type::F64:
    return forEachElement<uint64_t>(
        to, from, bytes, [&](uint64_t a, uint64_t b) {
          return computeDouble(DoubleOperation::Add, a, b, 0,
                               Rounding::NearestEven);
        });
  default:
    return;
  }
}
