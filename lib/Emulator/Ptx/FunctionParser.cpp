//===- FunctionParser.cpp - Functions of PTX text -------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ptx/ParserImpl.h"
#include "llvm/ADT/STLExtras.h"

using namespace flashnorm;
using namespace flashnorm::ptx;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

std::string Parser::makeUnique(StringRef name) {
  std::string unique = name.str();
  for (unsigned i = 2; !usedNames.insert(unique).second; ++i)
    unique = (name + "#" + Twine(i)).str();
  return unique;
}

bool Parser::declare(const Token &name, bool isRegister, std::string &unique) {
  unique = makeUnique(name.text);
  if (!scopes.back()
           .names.try_emplace(name.text, Scope::Name{unique, isRegister})
           .second)
    return fail(name.begin, "'" + name.text + "' is declared twice");
  return false;
}

const Parser::Scope::Name *Parser::lookUp(StringRef name) const {
  for (const Scope &scope : llvm::reverse(scopes)) {
    auto found = scope.names.find(name);
    if (found != scope.names.end())
      return &found->second;
  }
  return nullptr;
}

void Parser::closeScope() {
  Scope scope = std::move(scopes.back());
  scopes.pop_back();
  for (Scope::Use use : scope.uses) {
    Operand &operand =
        function->body[use.statement].instruction.operands[use.operand];
    auto found = scope.labels.find(operand.name);
    if (found != scope.labels.end())
      operand.name = found->second;
    else if (!scopes.empty())
      scopes.back().uses.push_back(use);
  }
  for (auto &use : scope.targetUses) {
    std::string &name = function->branchTargets[use.first][use.second];
    auto found = scope.labels.find(name);
    if (found != scope.labels.end())
      name = found->second;
    else if (!scopes.empty())
      scopes.back().targetUses.push_back(use);
  }
}

void Parser::flushUndefined() {
  for (StringRef name : lexer.takeUndefined()) {
    const Scope::Name *known = lookUp(name);
    if (!known || !known->isRegister)
      continue; // Comments are no program: at worst, a fault more.
    Statement statement;
    statement.kind = Statement::Kind::Undefine;
    statement.reg = known->unique;
    function->body.push_back(std::move(statement));
  }
}

//===----------------------------------------------------------------------===//
// Headers
//===----------------------------------------------------------------------===//

bool Parser::parseParameters(std::vector<Variable> &params) {
  if (expect("("))
    return true;
  if (take(")"))
    return false;
  do {
    Variable param;
    if (!token.isModifier("param") && !token.isModifier("reg"))
      return expected(".param");
    param.space = token.text == "reg" ? StateSpace::Reg : StateSpace::Param;
    advance();
    unsigned vectorSize = 1;
    if (parseVariableType(param, vectorSize))
      return true;
    param.size = std::max(1u, sizeInBits(param.type) / 8) * vectorSize;
    if (!param.alignment)
      param.alignment = param.size;
    if (token.kind != Token::Kind::Identifier)
      return expected("the name of a parameter");
    // Declarations may leave names out.
    if (token.text == "_")
      param.name = "_";
    else if (declare(token, param.space == StateSpace::Reg, param.name))
      return true;
    advance();
    bool isUnsized = false;
    if (parseArraySize(param, isUnsized))
      return true;
    if (isUnsized)
      param.size = 0;
    params.push_back(std::move(param));
  } while (take(","));
  return expect(")");
}

bool Parser::parseTriple(std::optional<std::array<uint32_t, 3>> &triple) {
  std::array<uint32_t, 3> values = {1, 1, 1};
  for (unsigned i = 0; i < 3 && (i == 0 || take(",")); ++i) {
    const char *where = token.begin;
    uint64_t value = 0;
    if (expectInteger(value, "a size"))
      return true;
    if (value == 0 || value > UINT32_MAX)
      return fail(where, "a size of " + Twine(value));
    values[i] = static_cast<uint32_t>(value);
  }
  triple = values;
  return false;
}

bool Parser::parseFunctionDirectives() {
  while (token.kind == Token::Kind::Modifier) {
    StringRef name = token.text;
    const char *where = token.begin;
    advance();
    auto parseOne = [&](std::optional<uint32_t> &result) {
      uint64_t value = 0;
      if (expectInteger(value, "a number"))
        return true;
      result = static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
      return false;
    };
    std::optional<uint32_t> ignored;
    bool failed = false;
    if (name == "reqntid")
      failed = parseTriple(function->reqntid);
    else if (name == "maxntid")
      failed = parseTriple(function->maxntid);
    else if (name == "reqnctapercluster")
      failed = parseTriple(function->reqnctapercluster);
    else if (name == "maxnreg")
      failed = parseOne(function->maxnreg);
    else if (name == "minnctapersm" || name == "maxnctapersm")
      failed =
          parseOne(name == "minnctapersm" ? function->minnctapersm : ignored);
    else if (name == "maxclusterrank")
      failed = parseOne(function->maxclusterrank);
    else if (name == "abi_preserve" || name == "abi_preserve_control")
      failed = parseOne(ignored);
    else if (name == "explicitcluster")
      function->explicitCluster = true;
    else if (name == "pragma")
      failed = skipUntilSemicolon();
    else if (name != "noreturn" && name != "blocksareclusters")
      return fail(where, "the directive ." + name +
                             " of a function is not "
                             "known");
    if (failed)
      return true;
  }
  return false;
}

bool Parser::parseFunction(bool isEntry, bool isExtern) {
  Function result;
  function = &result;
  scopes.clear();
  scopes.emplace_back();
  usedNames.clear();
  result.isEntry = isEntry;
  while (token.isModifier("attribute")) {
    advance();
    if (expect("("))
      return true;
    while (!take(")")) {
      if (token.kind == Token::Kind::End || token.kind == Token::Kind::Invalid)
        return expected("')'");
      advance();
    }
  }
  if (!isEntry && token.is("(") && parseParameters(result.results))
    return true;
  if (token.kind != Token::Kind::Identifier)
    return expected("the name of a function");
  result.name = token.text.str();
  result.location.ptxLine = token.line;
  advance();
  if ((token.is("(") && parseParameters(result.params)) ||
      parseFunctionDirectives())
    return true;
  if (take(";")) {
    result.isDeclaration = true;
  } else if (isExtern) {
    return expected("';' after an .extern function");
  } else if (parseBody()) {
    return true;
  }
  function = nullptr;
  module->functions.push_back(std::move(result));
  return false;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

bool Parser::parseBody() {
  size_t outermost = scopes.size();
  lexer.takeUndefined();
  if (expect("{"))
    return true;
  scopes.emplace_back();
  while (scopes.size() > outermost)
    if (parseStatement())
      return true;
  closeScope();
  return false;
}

bool Parser::parseStatement() {
  flushUndefined();
  if (take("{")) {
    if (scopes.size() > maxDepth)
      return fail("blocks are nested too deeply");
    scopes.emplace_back();
    return false;
  }
  if (take("}")) {
    closeScope();
    return false;
  }
  if (take(";"))
    return false;
  if (token.kind == Token::Kind::Modifier)
    return parseBodyDirective();
  if (token.is("@")) {
    Statement statement;
    if (parseGuard(statement.instruction))
      return true;
    if (token.kind != Token::Kind::Identifier)
      return expected("an instruction");
    Token opcode = token;
    advance();
    function->body.push_back(std::move(statement));
    return parseInstruction(opcode);
  }
  if (token.kind != Token::Kind::Identifier)
    return expected("a statement");
  Token name = token;
  advance();
  if (take(":"))
    return parseLabel(name);
  function->body.emplace_back();
  return parseInstruction(name);
}

bool Parser::parseLabel(const Token &name) {
  if (token.isModifier("callprototype") || token.isModifier("calltargets"))
    return skipUntilSemicolon();
  std::string unique = makeUnique(name.text);
  if (!scopes.back().labels.try_emplace(name.text, unique).second)
    return fail(name.begin, "the label '" + name.text + "' is declared twice");
  if (token.isModifier("branchtargets")) {
    advance();
    std::vector<std::string> &targets = function->branchTargets[unique];
    do {
      if (token.kind != Token::Kind::Identifier)
        return expected("a label");
      scopes.back().targetUses.push_back({unique, targets.size()});
      targets.push_back(token.text.str());
      advance();
    } while (take(","));
    return expect(";");
  }
  Statement statement;
  statement.kind = Statement::Kind::Label;
  statement.label = unique;
  statement.instruction.location.ptxLine = name.line;
  function->body.push_back(std::move(statement));
  return false;
}

bool Parser::parseBodyDirective() {
  const char *where = token.begin;
  StringRef name = token.text;
  advance();
  if (name == "loc")
    return parseLoc();
  if (name == "file")
    return parseFile();
  if (name == "pragma")
    return skipUntilSemicolon();
  if (name == "reg")
    return parseRegisters();
  if (name == "section") {
    advance();
    return skipBraces();
  }
  if (name == "branchtargets" || name == "callprototype" ||
      name == "calltargets")
    return fail(where, "the directive ." + name + " needs a label");
  StateSpace space;
  if (name == "local")
    space = StateSpace::Local;
  else if (name == "shared")
    space = StateSpace::Shared;
  else if (name == "param")
    space = StateSpace::Param;
  else if (name == "global")
    space = StateSpace::Global;
  else if (name == "const")
    space = StateSpace::Const;
  else
    return fail(where, "the directive ." + name + " is not known here");
  return parseVariables(space, false, function->variables);
}

bool Parser::parseRegisters() {
  Variable prototype;
  unsigned vectorSize = 1;
  if (parseVariableType(prototype, vectorSize))
    return true;
  if (vectorSize != 1)
    return fail("vector registers are not known; PTX printed by compilers has "
                "scalars in braces");
  prototype.size = (sizeInBits(prototype.type) + 7) / 8;
  do {
    if (token.kind != Token::Kind::Identifier)
      return expected("the name of a register");
    Token name = token;
    advance();
    Variable variable = prototype;
    if (!take("<")) {
      if (declare(name, true, variable.name))
        return true;
      function->variables.push_back(std::move(variable));
      continue;
    }
    const char *where = token.begin;
    uint64_t count = 0;
    if (expectInteger(count, "a number of registers") || expect(">"))
      return true;
    if (count > maxRegisters ||
        function->variables.size() + count > 2 * maxRegisters)
      return fail(where, "more than " + Twine(maxRegisters) + " registers");
    for (uint64_t i = 0; i < count; ++i) {
      std::string text = (name.text + Twine(i)).str();
      Token numbered = name;
      numbered.text = text;
      if (declare(numbered, true, variable.name))
        return true;
      function->variables.push_back(variable);
    }
  } while (take(","));
  return expect(";");
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

bool Parser::parseGuard(Instruction &instruction) {
  advance();
  instruction.guardNegated = take("!");
  if (token.kind != Token::Kind::Identifier)
    return expected("a predicate");
  const Scope::Name *known = lookUp(token.text);
  if (!known || !known->isRegister)
    return fail("the predicate '" + token.text + "' is not declared");
  instruction.guard = known->unique;
  advance();
  return false;
}

/// One space for any space, as messages want it.
static std::string collapse(StringRef text) {
  std::string result;
  bool isSpace = false;
  for (char c : text) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      isSpace = true;
      continue;
    }
    if (isSpace && !result.empty())
      result += ' ';
    isSpace = false;
    result += c;
  }
  return result;
}

bool Parser::parseInstruction(const Token &opcode) {
  size_t index = function->body.size() - 1;
  Instruction &instruction = function->body.back().instruction;
  instruction.opcode = opcode.text.str();
  instruction.location = location;
  instruction.location.ptxLine = opcode.line;
  while (token.kind == Token::Kind::Modifier) {
    instruction.modifiers.push_back(token.text.str());
    advance();
  }
  bool isCall = instruction.opcode == "call";
  if (!token.is(";")) {
    do {
      Operand operand;
      if (parseOperand(operand, isCall, 0))
        return true;
      if (operand.kind == Operand::Kind::Symbol)
        scopes.back().uses.push_back({index, instruction.operands.size()});
      instruction.operands.push_back(std::move(operand));
    } while (take(","));
  }
  instruction.text =
      collapse(StringRef(opcode.begin, previousEnd - opcode.begin));
  return expect(";");
}

bool Parser::parseOperand(Operand &operand, bool isCall, unsigned depth) {
  if (depth > maxDepth)
    return fail("operands are nested too deeply");
  if (parsePrimary(operand, isCall, depth))
    return true;
  // "%rd1+128" without brackets: a descriptor of tcgen05 with an offset.
  if (operand.kind == Operand::Kind::Register &&
      (token.is("+") || token.is("-"))) {
    Operand sum;
    sum.kind = Operand::Kind::Sum;
    sum.elements.push_back(std::move(operand));
    operand = std::move(sum);
    return parseBinary(operand.offset, 4, 0);
  }
  if (!take("|"))
    return false;
  Operand pair;
  pair.kind = Operand::Kind::Pair;
  pair.elements.push_back(std::move(operand));
  pair.elements.emplace_back();
  if (parsePrimary(pair.elements.back(), false, depth + 1))
    return true;
  operand = std::move(pair);
  return false;
}

bool Parser::parseElements(Operand &operand, StringRef close, unsigned depth) {
  if (take(close))
    return false;
  do {
    operand.elements.emplace_back();
    if (parseOperand(operand.elements.back(), false, depth + 1))
      return true;
  } while (take(","));
  return expect(close);
}

bool Parser::parseAddress(Operand &operand, unsigned depth) {
  operand.kind = Operand::Kind::Address;
  operand.elements.emplace_back();
  Operand &base = operand.elements.back();
  if (parsePrimary(base, false, depth + 1))
    return true;
  // "[%rd1+-8]", "[sym+16]": the sum is one number.
  if (base.kind == Operand::Kind::Register && (token.is("+") || token.is("-")))
    if (parseBinary(operand.offset, 4, 0))
      return true;
  if (base.kind == Operand::Kind::Symbol)
    operand.offset = std::exchange(base.offset, 0);
  while (take(",")) {
    operand.elements.emplace_back();
    if (parseOperand(operand.elements.back(), false, depth + 1))
      return true;
  }
  return expect("]");
}

bool Parser::parseName(Operand &operand) {
  StringRef name = token.text;
  if (name == "_") {
    operand.kind = Operand::Kind::Sink;
    advance();
    return false;
  }
  if (const Scope::Name *known = lookUp(name)) {
    operand.kind =
        known->isRegister ? Operand::Kind::Register : Operand::Kind::Symbol;
    operand.name = known->unique;
    advance();
  } else if (name.starts_with("%")) {
    // A special register: "%tid.x".
    const char *end = token.end;
    operand.kind = Operand::Kind::Register;
    operand.name = name.str();
    advance();
    if (token.kind == Token::Kind::Modifier && token.begin == end) {
      (operand.name += '.') += token.text;
      advance();
    }
  } else {
    operand.kind = Operand::Kind::Symbol;
    operand.name = name.str();
    advance();
  }
  if (operand.kind == Operand::Kind::Symbol && (token.is("+") || token.is("-")))
    return parseBinary(operand.offset, 4, 0);
  return false;
}

bool Parser::parseNumber(Operand &operand) {
  operand.kind = Operand::Kind::Immediate;
  bool isNegative = false;
  if (token.is("-")) {
    Lexer ahead = lexer;
    isNegative = ahead.next().isFloat;
    if (isNegative)
      advance();
  }
  if (token.kind == Token::Kind::Number && token.isFloat) {
    operand.isFloat = true;
    operand.isDouble = token.isDouble;
    operand.bits = token.bits;
    if (isNegative)
      operand.bits ^= UINT64_C(1) << (token.isDouble ? 63 : 31);
    advance();
    return false;
  }
  int64_t value = 0;
  // '|' is that of pairs here.
  if (parseBinary(value, 1, 0))
    return true;
  operand.bits = static_cast<uint64_t>(value);
  return false;
}

bool Parser::parsePrimary(Operand &operand, bool isCall, unsigned depth) {
  if (depth > maxDepth)
    return fail("operands are nested too deeply");
  if (take("{")) {
    operand.kind = Operand::Kind::Vector;
    return parseElements(operand, "}", depth);
  }
  if (take("["))
    return parseAddress(operand, depth);
  if (isCall && take("(")) {
    operand.kind = Operand::Kind::List;
    return parseElements(operand, ")", depth);
  }
  if (token.is("!") || token.is("-")) {
    Lexer ahead = lexer;
    Token after = ahead.next();
    if (after.kind == Token::Kind::Identifier && after.text != "WARP_SZ") {
      advance();
      operand.negated = true;
      return parseName(operand);
    }
  }
  if (token.kind == Token::Kind::Identifier && token.text != "WARP_SZ")
    return parseName(operand);
  if (token.kind == Token::Kind::Number || token.is("-") || token.is("~") ||
      token.is("(") || token.is("+") || token.is("!") ||
      token.kind == Token::Kind::Identifier)
    return parseNumber(operand);
  return expected("an operand");
}
