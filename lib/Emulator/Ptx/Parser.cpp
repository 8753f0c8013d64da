//===- Parser.cpp - Modules of PTX text -----------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ptx/Parser.h"
#include "Ptx/ParserImpl.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace flashnorm;
using namespace flashnorm::ptx;
using llvm::StringRef;
using llvm::Twine;

llvm::Expected<Module> ptx::parseModule(llvm::MemoryBufferRef buffer) {
  // nvcc's embedded PTX ends with a null.
  StringRef text = buffer.getBuffer().rtrim('\0');
  Parser parser(text, buffer.getBufferIdentifier());
  Module result;
  if (parser.parseModule(result))
    return llvm::createStringError(parser.getError());
  return result;
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

bool Parser::fail(const char *where, const Twine &message) {
  if (!error.empty())
    return true;
  StringRef before = buffer.take_front(where - buffer.begin());
  size_t line = before.count('\n') + 1;
  size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  error =
      (bufferName + ":" + Twine(line) + ":" + Twine(column) + ": " + message)
          .str();
  return true;
}

bool Parser::expected(const Twine &what) {
  if (token.kind == Token::Kind::Invalid)
    return fail(lexer.getError());
  if (token.kind == Token::Kind::End)
    return fail("expected " + what + ", found the end of the file");
  StringRef found(token.begin, token.end - token.begin);
  return fail("expected " + what + ", found '" + found.take_front(40) + "'");
}

bool Parser::take(StringRef punctuator) {
  if (!token.is(punctuator))
    return false;
  advance();
  return true;
}

bool Parser::expect(StringRef punctuator) {
  return !take(punctuator) && expected("'" + punctuator + "'");
}

bool Parser::expectInteger(uint64_t &value, const Twine &what) {
  if (token.kind != Token::Kind::Number || token.isFloat)
    return expected(what);
  value = token.bits;
  advance();
  return false;
}

bool Parser::skipBraces() {
  if (expect("{"))
    return true;
  for (unsigned depth = 1; depth;) {
    if (token.kind == Token::Kind::End || token.kind == Token::Kind::Invalid)
      return expected("'}'");
    depth += token.is("{") ? 1 : token.is("}") ? -1 : 0;
    advance();
  }
  return false;
}

bool Parser::skipUntilSemicolon() {
  while (!take(";")) {
    if (token.kind == Token::Kind::End || token.kind == Token::Kind::Invalid)
      return expected("';'");
    advance();
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Constant expressions
//===----------------------------------------------------------------------===//

bool Parser::parseUnary(int64_t &value, unsigned depth) {
  if (depth > maxDepth)
    return fail("this expression is nested too deeply");
  if (take("-")) {
    if (parseUnary(value, depth + 1))
      return true;
    value = static_cast<int64_t>(0 - static_cast<uint64_t>(value));
    return false;
  }
  if (take("+"))
    return parseUnary(value, depth + 1);
  if (take("~")) {
    if (parseUnary(value, depth + 1))
      return true;
    value = ~value;
    return false;
  }
  if (take("!")) {
    if (parseUnary(value, depth + 1))
      return true;
    value = !value;
    return false;
  }
  if (take("("))
    return parseBinary(value, 0, depth + 1) || expect(")");
  if (token.kind == Token::Kind::Identifier && token.text == "WARP_SZ") {
    value = 32;
    advance();
    return false;
  }
  uint64_t bits = 0;
  if (expectInteger(bits, "an integer"))
    return true;
  value = static_cast<int64_t>(bits);
  return false;
}

bool Parser::parseBinary(int64_t &value, unsigned precedence, unsigned depth) {
  static constexpr StringRef levels[] = {"|", "^", "&", "<<>>", "+-", "*/%"};
  constexpr unsigned numLevels = 6;
  if (precedence == numLevels)
    return parseUnary(value, depth);
  if (parseBinary(value, precedence + 1, depth))
    return true;
  while (token.kind == Token::Kind::Punctuator &&
         levels[precedence].contains(token.text) &&
         (precedence == 3) == (token.text.size() == 2)) {
    StringRef operation = token.text;
    const char *where = token.begin;
    advance();
    int64_t right = 0;
    if (parseBinary(right, precedence + 1, depth))
      return true;
    auto a = static_cast<uint64_t>(value), b = static_cast<uint64_t>(right);
    bool isDivision = operation == "/" || operation == "%";
    if (isDivision && !right)
      return fail(where, "a division by zero");
    if (isDivision && right == -1)
      a = operation == "/" ? 0 - a : 0;
    else if (operation == "/")
      a = value / right;
    else if (operation == "%")
      a = value % right;
    else if (operation == "|")
      a |= b;
    else if (operation == "^")
      a ^= b;
    else if (operation == "&")
      a &= b;
    else if (operation == "<<")
      a = b < 64 ? a << b : 0;
    else if (operation == ">>")
      a = value >> (b < 64 ? b : 63);
    else if (operation == "+")
      a += b;
    else if (operation == "-")
      a -= b;
    else
      a *= b;
    value = static_cast<int64_t>(a);
  }
  return false;
}

bool Parser::parseInteger(int64_t &value, unsigned depth) {
  return parseBinary(value, 0, depth);
}

//===----------------------------------------------------------------------===//
// Module directives
//===----------------------------------------------------------------------===//

bool Parser::parseModule(Module &result) {
  module = &result;
  if (!token.isModifier("version"))
    return expected("the .version directive");
  while (token.kind != Token::Kind::End)
    if (parseModuleItem())
      return true;
  return false;
}

bool Parser::parseVersion() {
  // "8.6" reads as a number with a point.
  StringRef major, minor;
  std::tie(major, minor) = token.text.split('.');
  unsigned a = 0, b = 0;
  if (token.kind != Token::Kind::Number || major.getAsInteger(10, a) ||
      minor.getAsInteger(10, b) || a > 99 || b > 9)
    return expected("a version as in 8.6");
  module->version = a * 10 + b;
  advance();
  return false;
}

bool Parser::parseTarget() {
  do {
    if (token.kind != Token::Kind::Identifier)
      return expected("a target as in sm_90a");
    if (token.text.starts_with("sm_"))
      module->target = token.text.str();
    advance();
  } while (take(","));
  return false;
}

bool Parser::parseFile() {
  uint64_t index = 0;
  if (expectInteger(index, "the number of a file"))
    return true;
  constexpr uint64_t maxFiles = 1 << 16;
  if (index >= maxFiles)
    return fail("a file number of " + Twine(maxFiles) + " or more");
  if (token.kind != Token::Kind::String)
    return expected("the name of a file");
  if (module->files.size() <= index)
    module->files.resize(index + 1);
  module->files[index] = token.text.str();
  advance();
  uint64_t ignored;
  while (take(","))
    if (expectInteger(ignored, "a timestamp or size"))
      return true;
  return false;
}

bool Parser::parseLoc() {
  uint64_t file = 0, line = 0, column = 0;
  if (expectInteger(file, "the number of a file") ||
      expectInteger(line, "a line") || expectInteger(column, "a column"))
    return true;
  location.file = static_cast<uint32_t>(file);
  location.line = static_cast<uint32_t>(line);
  location.column = static_cast<uint32_t>(column);
  // ", function_name $L__info_string0+4, inlined_at 1 3 5"
  while (take(",")) {
    if (token.kind != Token::Kind::Identifier)
      return expected("function_name or inlined_at");
    bool isFunction = token.text == "function_name";
    advance();
    if (isFunction) {
      if (token.kind != Token::Kind::Identifier)
        return expected("a label");
      advance();
      int64_t ignored;
      if (take("+") && parseUnary(ignored, 0))
        return true;
      continue;
    }
    uint64_t ignored;
    for (int i = 0; i < 3; ++i)
      if (expectInteger(ignored, "a file, line and column"))
        return true;
  }
  return false;
}

static std::optional<StateSpace> parseSpace(StringRef name) {
  if (name == "global")
    return StateSpace::Global;
  if (name == "const")
    return StateSpace::Const;
  if (name == "shared")
    return StateSpace::Shared;
  if (name == "local")
    return StateSpace::Local;
  if (name == "param")
    return StateSpace::Param;
  return std::nullopt;
}

bool Parser::parseModuleItem() {
  location = Location();
  if (take(";"))
    return false;
  bool isExtern = false;
  while (token.kind == Token::Kind::Modifier) {
    StringRef name = token.text;
    advance();
    if (name == "extern") {
      isExtern = true;
      continue;
    }
    if (name == "visible" || name == "weak" || name == "common" ||
        name == "hidden" || name == "internal")
      continue;
    if (name == "version")
      return parseVersion();
    if (name == "target")
      return parseTarget();
    if (name == "address_size") {
      uint64_t size = 0;
      if (expectInteger(size, "64"))
        return true;
      if (size != 64)
        return fail("only .address_size 64 is known, found " + Twine(size));
      return false;
    }
    if (name == "file")
      return parseFile();
    if (name == "loc")
      return parseLoc();
    if (name == "section") {
      if (token.kind == Token::Kind::Modifier ||
          token.kind == Token::Kind::Identifier)
        advance();
      return skipBraces();
    }
    if (name == "pragma" || name == "alias")
      return skipUntilSemicolon();
    if (name == "entry" || name == "func")
      return parseFunction(name == "entry", isExtern);
    std::optional<StateSpace> space = parseSpace(name);
    if (!space || *space == StateSpace::Local || *space == StateSpace::Param)
      return fail(previousEnd - name.size() - 1,
                  "the directive ." + name + " is not known here");
    return parseVariables(*space, isExtern, module->variables);
  }
  return expected("a directive");
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

bool Parser::parseVariableType(Variable &variable, unsigned &vectorSize) {
  vectorSize = 1;
  bool hasType = false;
  variable.alignment = 0;
  while (token.kind == Token::Kind::Modifier) {
    StringRef name = token.text;
    if (name == "align") {
      advance();
      const char *where = token.begin;
      if (expectInteger(variable.alignment, "an alignment"))
        return true;
      if (!llvm::isPowerOf2_64(variable.alignment) ||
          variable.alignment > (1u << 20))
        return fail(where, "an alignment is a power of two, found " +
                               Twine(variable.alignment));
      continue;
    }
    if (name == "attribute") {
      advance();
      if (expect("("))
        return true;
      for (unsigned depth = 1; depth;) {
        if (token.kind == Token::Kind::End ||
            token.kind == Token::Kind::Invalid)
          return expected("')'");
        depth += token.is("(") ? 1 : token.is(")") ? -1 : 0;
        advance();
      }
      continue;
    }
    if (name == "v2" || name == "v4" || name == "v8") {
      vectorSize = name[1] - '0';
    } else if (name == "ptr") {
      // ".ptr .global .align 16": what the pointer points to.
      advance();
      if (token.kind == Token::Kind::Modifier && parseSpace(token.text))
        advance();
      if (token.isModifier("align")) {
        advance();
        uint64_t ignored;
        if (expectInteger(ignored, "an alignment"))
          return true;
      }
      continue;
    } else if (std::optional<Type> type = parseType(name)) {
      if (hasType)
        return expected("one type");
      variable.type = *type;
      hasType = true;
    } else {
      return expected("a type");
    }
    advance();
  }
  if (!hasType)
    return expected("a type");
  return false;
}

bool Parser::parseArraySize(Variable &variable, bool &isUnsized) {
  isUnsized = false;
  bool isFirst = true;
  while (take("[")) {
    if (isFirst && take("]")) {
      isUnsized = true;
      isFirst = false;
      continue;
    }
    const char *where = token.begin;
    int64_t count = 0;
    if (parseInteger(count) || expect("]"))
      return true;
    if (count < 0)
      return fail(where, "a size of " + Twine(count));
    std::optional<uint64_t> size =
        llvm::checkedMulUnsigned<uint64_t>(variable.size, count);
    if (!size || *size > maxBytes)
      return fail(where,
                  "a variable of more than " + Twine(maxBytes) + " bytes");
    variable.size = *size;
    isFirst = false;
  }
  return false;
}

bool Parser::parseVariables(StateSpace space, bool isExtern,
                            std::vector<Variable> &variables) {
  Variable prototype;
  prototype.space = space;
  prototype.isExtern = isExtern;
  unsigned vectorSize = 1;
  if (parseVariableType(prototype, vectorSize))
    return true;
  uint64_t elementSize =
      std::max(1u, sizeInBits(prototype.type) / 8) * vectorSize;
  if (!prototype.alignment)
    prototype.alignment = elementSize;
  do {
    Variable variable = prototype;
    if (token.kind != Token::Kind::Identifier)
      return expected("the name of a variable");
    if (function) {
      if (declare(token, false, variable.name))
        return true;
    } else {
      variable.name = token.text.str();
    }
    advance();
    variable.size = elementSize;
    bool isUnsized = false;
    if (parseArraySize(variable, isUnsized))
      return true;
    if (take("=") && parseInitializer(variable, isUnsized))
      return true;
    if (isUnsized && variable.initializer.empty())
      variable.size = 0;
    variables.push_back(std::move(variable));
  } while (take(","));
  return expect(";");
}

bool Parser::parseInitializerElement(Variable &variable, unsigned bytes) {
  auto append = [&](uint64_t bits) {
    for (unsigned i = 0; i < bytes; ++i)
      variable.initializer.push_back(i < 8 ? bits >> 8 * i & 0xff : 0);
  };
  if (token.kind == Token::Kind::Identifier && token.text != "WARP_SZ") {
    Variable::Relocation relocation;
    bool hasParens = false;
    if (token.text == "generic") {
      relocation.isGeneric = true;
      advance();
      if (expect("("))
        return true;
      hasParens = true;
    }
    if (token.kind != Token::Kind::Identifier)
      return expected("the name of a variable");
    relocation.symbol = token.text.str();
    advance();
    auto parseAddend = [&] {
      return (token.is("+") || token.is("-")) &&
             parseBinary(relocation.addend, 5, 0);
    };
    if (parseAddend() || (hasParens && expect(")")) || parseAddend())
      return true;
    relocation.offset = variable.initializer.size();
    relocation.bytes = bytes;
    if (bytes < 4 || bytes > 8)
      return fail("an address does not fit into " + Twine(bytes) + " bytes");
    variable.relocations.push_back(std::move(relocation));
    append(0);
    return false;
  }
  bool isNegative = false;
  const Token first = token;
  if (token.is("-")) {
    Lexer ahead = lexer;
    isNegative = ahead.next().isFloat;
    if (isNegative)
      advance();
  }
  if (token.kind == Token::Kind::Number && token.isFloat) {
    if (!llvm::is_contained(
            {Type::F32, Type::F64, Type::F16, Type::BF16, Type::B32, Type::B64},
            variable.type))
      return fail(first.begin, "a floating-point value for a variable of type "
                               "." +
                                   stringify(variable.type));
    llvm::APFloat value = token.isDouble
                              ? llvm::APFloat(llvm::APFloat::IEEEdouble(),
                                              llvm::APInt(64, token.bits))
                              : llvm::APFloat(llvm::APFloat::IEEEsingle(),
                                              llvm::APInt(32, token.bits));
    if (isNegative)
      value.changeSign();
    advance();
    bool ignored;
    const llvm::fltSemantics &semantics =
        variable.type == Type::BF16 ? llvm::APFloat::BFloat()
        : bytes == 2                ? llvm::APFloat::IEEEhalf()
        : bytes == 4                ? llvm::APFloat::IEEEsingle()
                                    : llvm::APFloat::IEEEdouble();
    value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &ignored);
    append(value.bitcastToAPInt().getZExtValue());
    return false;
  }
  int64_t value = 0;
  if (parseInteger(value))
    return true;
  append(static_cast<uint64_t>(value));
  return false;
}

bool Parser::parseInitializer(Variable &variable, bool isUnsized) {
  unsigned bytes = std::max(1u, sizeInBits(variable.type) / 8);
  if (!token.is("{")) {
    if (parseInitializerElement(variable, bytes))
      return true;
  } else {
    // Nested braces only group.
    unsigned depth = 0;
    do {
      while (take("{"))
        ++depth;
      if (!token.is("}") && parseInitializerElement(variable, bytes))
        return true;
      while (depth && take("}"))
        --depth;
    } while (depth && !expect(","));
    if (!error.empty())
      return true;
  }
  if (isUnsized)
    variable.size = variable.initializer.size();
  if (variable.initializer.size() > variable.size)
    return fail("an initializer of " + Twine(variable.initializer.size()) +
                " bytes for a variable of " + Twine(variable.size));
  return false;
}
