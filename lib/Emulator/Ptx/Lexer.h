//===- Lexer.h - Tokens of PTX text -----------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_PTX_LEXER_H
#define FLASHNORM_LIB_EMULATOR_PTX_LEXER_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace flashnorm::ptx {

struct Token {
  enum class Kind {
    End,
    Invalid,    ///< what it is not: Lexer::getError
    Identifier, ///< "mov", "%r1", "$L__BB0_1", "_"
    Modifier,   ///< ".shared::cta": text without the point
    Number,
    String,     ///< text without the quotes
    Punctuator, ///< one character, or "<<" or ">>"
  };
  Kind kind = Kind::End;
  llvm::StringRef text;
  const char *begin = nullptr, *end = nullptr; ///< in the buffer
  uint32_t line = 0;
  // Of numbers.
  uint64_t bits = 0;
  bool isFloat = false;
  bool isDouble = false; ///< a float in f64: any but 0f…

  bool is(llvm::StringRef punctuator) const {
    return kind == Kind::Punctuator && text == punctuator;
  }
  bool isModifier(llvm::StringRef name) const {
    return kind == Kind::Modifier && text == name;
  }
};

class Lexer {
public:
  explicit Lexer(llvm::StringRef buffer)
      : at(buffer.begin()), end(buffer.end()) {}

  Token next();
  llvm::StringRef getError() const { return error; }
  /// Registers of the "// implicit-def: %r1" comments since the last call.
  std::vector<llvm::StringRef> takeUndefined() {
    return std::exchange(undefined, {});
  }

private:
  bool skipSpace(); ///< true on an unterminated comment
  Token make(Token::Kind kind, const char *begin);
  Token invalid(const char *begin, const char *message);
  Token lexNumber(const char *begin);

  const char *at, *end;
  uint32_t line = 1;
  std::vector<llvm::StringRef> undefined;
  std::string error;
};

} // namespace flashnorm::ptx

#endif // FLASHNORM_LIB_EMULATOR_PTX_LEXER_H
