//===- AST.h - PTX as it is written -----------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module of PTX text, parsed but not interpreted: opcodes and modifiers stay
// strings, operands stay trees. PTX ISA 9.0, chapters 4, 5 and 11.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_PTX_AST_H
#define FLASHNORM_LIB_EMULATOR_PTX_AST_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flashnorm::ptx {

/// Where a statement stands: its line in the PTX text, and what the last .loc
/// directive before it says (file 0: nothing).
struct Location {
  uint32_t ptxLine = 0;
  uint32_t file = 0, line = 0, column = 0;
};

enum class StateSpace { Reg, Param, Shared, Global, Const, Local };

/// Fundamental and packed types (5.2). Bits are b8 to b128 and pred.
enum class Type : uint8_t {
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  F32,
  F32x2,
  F64,
  TF32,
  E4M3,
  E5M2,
  E4M3x2,
  E5M2x2,
  U16x2,
  S16x2,
};
/// ".u32" or "u32".
std::optional<Type> parseType(llvm::StringRef name);
llvm::StringRef stringify(Type type);
/// Of a register or a memory location that holds it; 1 for pred.
unsigned sizeInBits(Type type);

struct Operand {
  enum class Kind {
    Register,  ///< name; "%tid.x" and its like are registers, too
    Immediate, ///< bits; isFloat when written as 0f… or 0d… or with a point
    Symbol,    ///< name [+ offset]: a variable, parameter, function or label
    Address,   ///< [elements[0] + offset]; elements[1]: a vector of
               ///< coordinates, as in [map, {x, y}]
    Sum,       ///< elements[0] + offset, without brackets
    Vector,    ///< {elements…}
    Pair,      ///< elements[0] | elements[1]
    List,      ///< (elements…), of a call
    Sink,      ///< _
  };
  Kind kind = Kind::Sink;
  bool negated = false; ///< "!%p" or "-%r"
  bool isFloat = false;
  bool isDouble = false; ///< a float that was not written as 0f…
  std::string name;
  uint64_t bits = 0;
  int64_t offset = 0;
  std::vector<Operand> elements;
};

struct Instruction {
  std::string guard; ///< name of the predicate register; empty: none
  bool guardNegated = false;
  std::string opcode;                 ///< "mbarrier"
  std::vector<std::string> modifiers; ///< "try_wait", "parity", "shared", "b64"
  std::vector<Operand> operands;
  Location location;
  std::string text; ///< as written, whitespace collapsed, without guard

  /// Opcode and modifiers joined by points.
  std::string mnemonic() const;
};

/// A register, parameter or variable. Names in inner scopes are unique in the
/// function: the parser renames those that hide others.
struct Variable {
  StateSpace space = StateSpace::Reg;
  Type type = Type::B32;
  std::string name;
  uint64_t alignment = 0; ///< bytes
  /// Bytes; 0 for `.extern .shared name[]`. For registers: that of the type.
  uint64_t size = 0;
  bool isExtern = false;
  std::vector<uint8_t> initializer; ///< empty: none
  /// Addresses of other variables in the initializer: 8 bytes (or 4) at
  /// `offset` hold that of `symbol` plus `addend`.
  struct Relocation {
    uint64_t offset = 0;
    unsigned bytes = 8;
    std::string symbol;
    int64_t addend = 0;
    bool isGeneric = false;
  };
  std::vector<Relocation> relocations;
};

struct Statement {
  enum class Kind { Label, Instruction, Undefine };
  Kind kind = Kind::Instruction;
  std::string label;       ///< of Label
  Instruction instruction; ///< of Instruction
  /// Undefine: LLVM's "// implicit-def: %r1": the register gets a value that
  /// nothing depends on, so that reading it is no fault.
  std::string reg;
};

struct Function {
  std::string name;
  bool isEntry = false, isDeclaration = false;
  std::vector<Variable> results; ///< of .func
  std::vector<Variable> params;
  std::vector<Variable> variables; ///< .reg, .local and .shared, flattened
  std::vector<Statement> body;
  /// `.branchtargets` of brx.idx, by the label of the list.
  llvm::StringMap<std::vector<std::string>> branchTargets;
  std::optional<std::array<uint32_t, 3>> reqntid, maxntid, reqnctapercluster;
  std::optional<uint32_t> maxnreg, minnctapersm, maxclusterrank;
  bool explicitCluster = false;
  Location location;
};

struct Module {
  unsigned version = 0; ///< 86 for 8.6
  std::string target;   ///< "sm_90a"
  unsigned addressSize = 64;
  std::vector<std::string> files; ///< by the index of .file; [0] unused
  std::vector<Variable>
      variables; ///< .global, .const and .shared of the module
  std::vector<Function> functions;
};

} // namespace flashnorm::ptx

#endif // FLASHNORM_LIB_EMULATOR_PTX_AST_H
