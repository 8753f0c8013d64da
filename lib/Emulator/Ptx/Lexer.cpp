//===- Lexer.cpp - Tokens of PTX text -------------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ptx/Lexer.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"

using namespace flashnorm::ptx;
using llvm::StringRef;

static bool isWordChar(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '$';
}

bool Lexer::skipSpace() {
  while (at != end) {
    if (*at == '\n') {
      ++line;
      ++at;
    } else if (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\f') {
      ++at;
    } else if (*at == '/' && at + 1 != end && at[1] == '/') {
      const char *begin = at + 2;
      while (at != end && *at != '\n')
        ++at;
      StringRef comment = StringRef(begin, at - begin).trim();
      if (comment.consume_front("implicit-def:"))
        undefined.push_back(comment.trim());
    } else if (*at == '/' && at + 1 != end && at[1] == '*') {
      StringRef rest(at + 2, end - at - 2);
      size_t close = rest.find("*/");
      if (close == StringRef::npos)
        return true;
      line += rest.take_front(close).count('\n');
      at = rest.data() + close + 2;
    } else {
      break;
    }
  }
  return false;
}

Token Lexer::make(Token::Kind kind, const char *begin) {
  Token token;
  token.kind = kind;
  token.text = StringRef(begin, at - begin);
  token.begin = begin;
  token.end = at;
  token.line = line;
  return token;
}

Token Lexer::invalid(const char *begin, const char *message) {
  error = message;
  Token token = make(Token::Kind::Invalid, begin);
  at = end;
  return token;
}

Token Lexer::lexNumber(const char *begin) {
  while (at != end && llvm::isAlnum(*at))
    ++at;
  StringRef text(begin, at - begin);
  Token token = make(Token::Kind::Number, begin);
  auto isHex = [](StringRef digits, size_t count) {
    return digits.size() == count && digits.find_if_not([](char c) {
      return llvm::isHexDigit(c);
    }) == StringRef::npos;
  };
  if (text.starts_with_insensitive("0f") ||
      text.starts_with_insensitive("0d")) {
    bool isDouble = llvm::toLower(text[1]) == 'd';
    if (!isHex(text.drop_front(2), isDouble ? 16 : 8))
      return invalid(begin, isDouble
                                ? "expected 16 hexadecimal digits after 0d"
                                : "expected 8 hexadecimal digits after 0f");
    text.drop_front(2).getAsInteger(16, token.bits);
    token.isFloat = true;
    token.isDouble = isDouble;
    return token;
  }
  bool isHexNumber = text.starts_with_insensitive("0x");
  bool hasPoint = at != end && *at == '.' && !isHexNumber;
  if (hasPoint ||
      (!isHexNumber && text.find_first_of("eE") != StringRef::npos)) {
    if (hasPoint) {
      ++at;
      while (at != end && llvm::isAlnum(*at))
        ++at;
    }
    if ((at[-1] == 'e' || at[-1] == 'E') && at != end &&
        (*at == '+' || *at == '-')) {
      ++at;
      while (at != end && llvm::isDigit(*at))
        ++at;
    }
    token = make(Token::Kind::Number, begin);
    llvm::APFloat value(llvm::APFloat::IEEEdouble());
    auto status =
        value.convertFromString(token.text, llvm::APFloat::rmNearestTiesToEven);
    if (!status) {
      llvm::consumeError(status.takeError());
      return invalid(begin, "this is not a number");
    }
    token.bits = value.bitcastToAPInt().getZExtValue();
    token.isFloat = token.isDouble = true;
    return token;
  }
  StringRef digits = text;
  if (!digits.consume_back("U"))
    digits.consume_back("u");
  unsigned radix = 10;
  if (digits.starts_with_insensitive("0x"))
    radix = 16;
  else if (digits.starts_with_insensitive("0b"))
    radix = 2;
  else if (digits.size() > 1 && digits[0] == '0')
    radix = 8;
  if (radix == 16 || radix == 2)
    digits = digits.drop_front(2);
  if (digits.getAsInteger(radix, token.bits))
    return invalid(begin, "this is not a number of at most 64 bits");
  return token;
}

Token Lexer::next() {
  const char *comment = at;
  if (skipSpace())
    return invalid(comment, "a comment without end");
  if (at == end)
    return make(Token::Kind::End, at);
  const char *begin = at;
  char c = *at;
  if (llvm::isDigit(c))
    return lexNumber(begin);
  if (isWordChar(c) || c == '%') {
    bool isPercent = c == '%';
    ++at;
    // A lone % is the operator of constant expressions.
    if (isPercent && (at == end || !isWordChar(*at)))
      return make(Token::Kind::Punctuator, begin);
    while (at != end && isWordChar(*at))
      ++at;
    return make(Token::Kind::Identifier, begin);
  }
  if (c == '.' && at + 1 != end && isWordChar(at[1])) {
    ++at;
    while (at != end) {
      if (isWordChar(*at))
        ++at;
      else if (end - at > 2 && at[0] == ':' && at[1] == ':' &&
               isWordChar(at[2]))
        at += 2;
      else
        break;
    }
    Token token = make(Token::Kind::Modifier, begin);
    token.text = token.text.drop_front();
    return token;
  }
  if (c == '"') {
    ++at;
    while (at != end && *at != '"' && *at != '\n')
      at += *at == '\\' && at + 1 != end && at[1] != '\n' ? 2 : 1;
    if (at == end || *at != '"')
      return invalid(begin, "a string without end");
    ++at;
    Token token = make(Token::Kind::String, begin);
    token.text = token.text.drop_front().drop_back();
    return token;
  }
  ++at;
  if ((c == '<' || c == '>') && at != end && *at == c)
    ++at;
  else if (!StringRef(",;:{}[]()<>@!|+-=~*/&^.?").contains(c))
    return invalid(begin, "a character that PTX does not use");
  return make(Token::Kind::Punctuator, begin);
}
