//===- AST.cpp - PTX as it is written -------------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ptx/AST.h"
#include "llvm/ADT/StringSwitch.h"
#include <iterator>

using namespace flashnorm;
using namespace flashnorm::ptx;

namespace {
struct TypeInfo {
  llvm::StringLiteral name;
  unsigned bits;
};
} // namespace

// By the order of Type.
static constexpr TypeInfo types[] = {
    {"pred", 1},    {"b8", 8},     {"b16", 16},    {"b32", 32}, {"b64", 64},
    {"b128", 128},  {"u8", 8},     {"u16", 16},    {"u32", 32}, {"u64", 64},
    {"s8", 8},      {"s16", 16},   {"s32", 32},    {"s64", 64}, {"f16", 16},
    {"f16x2", 32},  {"bf16", 16},  {"bf16x2", 32}, {"f32", 32}, {"f32x2", 64},
    {"f64", 64},    {"tf32", 32},  {"e4m3", 8},    {"e5m2", 8}, {"e4m3x2", 16},
    {"e5m2x2", 16}, {"u16x2", 32}, {"s16x2", 32},
};

std::optional<Type> ptx::parseType(llvm::StringRef name) {
  name.consume_front(".");
  for (size_t i = 0; i < std::size(types); ++i)
    if (name == types[i].name)
      return static_cast<Type>(i);
  return std::nullopt;
}

llvm::StringRef ptx::stringify(Type type) {
  return types[static_cast<size_t>(type)].name;
}

unsigned ptx::sizeInBits(Type type) {
  return types[static_cast<size_t>(type)].bits;
}

std::string Instruction::mnemonic() const {
  std::string result = opcode;
  for (const std::string &modifier : modifiers)
    (result += '.') += modifier;
  return result;
}
