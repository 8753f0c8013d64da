//===- ParserImpl.h - The recursive-descent parser of PTX -------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions return true on an error, the first of which is kept. Nothing
// recurses deeper than maxDepth.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_PTX_PARSERIMPL_H
#define FLASHNORM_LIB_EMULATOR_PTX_PARSERIMPL_H

#include "Ptx/AST.h"
#include "Ptx/Lexer.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

namespace flashnorm::ptx {

class Parser {
public:
  Parser(llvm::StringRef buffer, llvm::StringRef name)
      : buffer(buffer), bufferName(name), lexer(buffer) {
    advance();
  }

  bool parseModule(Module &result);
  const std::string &getError() const { return error; }

private:
  static constexpr unsigned maxDepth = 64;
  static constexpr unsigned maxRegisters = 1 << 20;
  /// No variable is larger; sums of a few do not overflow.
  static constexpr uint64_t maxBytes = UINT64_C(1) << 44;

  // Tokens.
  void advance() {
    previousEnd = token.end;
    token = lexer.next();
  }
  bool fail(const char *where, const llvm::Twine &message);
  bool fail(const llvm::Twine &message) { return fail(token.begin, message); }
  bool expected(const llvm::Twine &what); ///< fails: "expected …, found …"
  bool take(llvm::StringRef punctuator);  ///< true when it was there
  bool expect(llvm::StringRef punctuator);
  bool expectInteger(uint64_t &value, const llvm::Twine &what);
  bool skipBraces();
  bool skipUntilSemicolon();

  // Parser.cpp: the module.
  bool parseModuleItem();
  bool parseVersion();
  bool parseTarget();
  bool parseFile();
  bool parseLoc();
  bool parseVariables(StateSpace space, bool isExtern,
                      std::vector<Variable> &variables);
  bool parseVariableType(Variable &variable, unsigned &vectorSize);
  bool parseArraySize(Variable &variable, bool &isUnsized);
  bool parseInitializer(Variable &variable, bool isUnsized);
  bool parseInitializerElement(Variable &variable, unsigned bytes);
  bool parseInteger(int64_t &value, unsigned depth = 0);
  bool parseBinary(int64_t &value, unsigned precedence, unsigned depth);
  bool parseUnary(int64_t &value, unsigned depth);

  // FunctionParser.cpp.
  bool parseFunction(bool isEntry, bool isExtern);
  bool parseParameters(std::vector<Variable> &params);
  bool parseFunctionDirectives();
  bool parseTriple(std::optional<std::array<uint32_t, 3>> &triple);
  bool parseBody();
  bool parseStatement();
  bool parseBodyDirective();
  bool parseRegisters();
  bool parseLabel(const Token &name);
  bool parseInstruction(const Token &opcode);
  bool parseOperand(Operand &operand, bool isCall, unsigned depth);
  bool parsePrimary(Operand &operand, bool isCall, unsigned depth);
  bool parseElements(Operand &operand, llvm::StringRef close, unsigned depth);
  bool parseAddress(Operand &operand, unsigned depth);
  bool parseName(Operand &operand);
  bool parseNumber(Operand &operand);
  bool parseGuard(Instruction &instruction);

  /// Registers, variables and labels of a block. Labels may be used before
  /// they are declared, so uses are renamed when the block ends.
  struct Scope {
    struct Name {
      std::string unique;
      bool isRegister = false;
    };
    llvm::StringMap<Name> names;
    llvm::StringMap<std::string> labels;
    /// Operands that may name a label: statement and operand, or an entry of
    /// branchTargets.
    struct Use {
      size_t statement, operand;
    };
    std::vector<Use> uses;
    std::vector<std::pair<std::string, size_t>> targetUses;
  };
  bool declare(const Token &name, bool isRegister, std::string &unique);
  std::string makeUnique(llvm::StringRef name);
  const Scope::Name *lookUp(llvm::StringRef name) const;
  void closeScope();
  void flushUndefined();

  llvm::StringRef buffer, bufferName;
  Lexer lexer;
  Token token;
  const char *previousEnd = nullptr;
  std::string error;

  Module *module = nullptr;
  Function *function = nullptr;
  std::vector<Scope> scopes;
  llvm::StringSet<> usedNames;
  Location location;
};

} // namespace flashnorm::ptx

#endif // FLASHNORM_LIB_EMULATOR_PTX_PARSERIMPL_H
