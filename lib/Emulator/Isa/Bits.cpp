//===- Bits.cpp - Logic, shifts and fields of bits ------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.1.14 to 22, 9.7.8, and prmt. Shifts clamp: an amount of the size
// or more shifts everything out.
//
//===----------------------------------------------------------------------===//

#include "Isa/Emitter.h"
#include "llvm/IR/Intrinsics.h"

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

static bool isSigned(ptx::Type type) {
  return type == ptx::Type::S16 || type == ptx::Type::S32 ||
         type == ptx::Type::S64;
}

static unsigned bitsOf(const InstructionEmitter &e) {
  return ptx::sizeInBits(e.site.types[0]);
}

//===----------------------------------------------------------------------===//
// Shifts
//===----------------------------------------------------------------------===//

/// `amount` is an unsigned i32.
static Value *shiftLeft(InstructionEmitter &e, Value *value, Value *amount) {
  unsigned bits = value->getType()->getIntegerBitWidth();
  Value *isIn = e.b.CreateICmpULT(amount, e.constant(32, bits));
  Value *safe = e.b.CreateAnd(amount, e.constant(32, bits - 1));
  return e.b.CreateSelect(isIn, e.b.CreateShl(value, e.resize(safe, bits)),
                          e.constant(bits, 0));
}

static Value *shiftRight(InstructionEmitter &e, Value *value, Value *amount,
                         bool isArithmetic) {
  unsigned bits = value->getType()->getIntegerBitWidth();
  Value *isIn = e.b.CreateICmpULT(amount, e.constant(32, bits));
  if (isArithmetic) {
    Value *safe = e.b.CreateSelect(isIn, amount, e.constant(32, bits - 1));
    return e.b.CreateAShr(value, e.resize(safe, bits));
  }
  Value *safe = e.b.CreateAnd(amount, e.constant(32, bits - 1));
  return e.b.CreateSelect(isIn, e.b.CreateLShr(value, e.resize(safe, bits)),
                          e.constant(bits, 0));
}

static void emitShl(InstructionEmitter &e) {
  e.write(0, shiftLeft(e, e.read(1, bitsOf(e)), e.read(2, 32)));
}

static void emitShr(InstructionEmitter &e) {
  e.write(0, shiftRight(e, e.read(1, bitsOf(e)), e.read(2, 32),
                        isSigned(e.site.types[0])));
}

/// shf.(l|r).(clamp|wrap).b32 d, a, b, c: of the 64 bits b:a.
static void emitFunnel(InstructionEmitter &e) {
  Value *low = e.resize(e.read(1, 32), 64), *high = e.resize(e.read(2, 32), 64);
  Value *amount = e.read(3, 32);
  if (e.site.get(1) == 1)
    amount = e.b.CreateAnd(amount, e.constant(32, 31));
  else
    amount = e.b.CreateIntrinsic(Intrinsic::umin, {e.b.getInt32Ty()},
                                 {amount, e.constant(32, 32)});
  amount = e.resize(amount, 64);
  Value *both = e.b.CreateOr(e.b.CreateShl(high, 32), low);
  Value *result = e.site.get(0) == 0
                      ? e.b.CreateLShr(e.b.CreateShl(both, amount), 32)
                      : e.b.CreateLShr(both, amount);
  e.write(0, e.resize(result, 32));
}

//===----------------------------------------------------------------------===//
// Logic
//===----------------------------------------------------------------------===//

static void emitAnd(InstructionEmitter &e) {
  e.write(0, e.b.CreateAnd(e.read(1, bitsOf(e)), e.read(2, bitsOf(e))));
}
static void emitOr(InstructionEmitter &e) {
  e.write(0, e.b.CreateOr(e.read(1, bitsOf(e)), e.read(2, bitsOf(e))));
}
static void emitXor(InstructionEmitter &e) {
  e.write(0, e.b.CreateXor(e.read(1, bitsOf(e)), e.read(2, bitsOf(e))));
}
static void emitNot(InstructionEmitter &e) {
  e.write(0, e.b.CreateNot(e.read(1, bitsOf(e))));
}
static void emitCnot(InstructionEmitter &e) {
  Value *a = e.read(1, bitsOf(e));
  e.write(0,
          e.resize(e.b.CreateICmpEQ(a, e.constant(bitsOf(e), 0)), bitsOf(e)));
}

static Value *emitLookUp(InstructionEmitter &e) {
  Value *a = e.read(1, 32), *b = e.read(2, 32), *c = e.read(3, 32);
  uint64_t table = e.operands[4]->bits;
  Value *result = e.constant(32, 0);
  for (unsigned i = 0; i < 8; ++i) {
    if (!(table >> i & 1))
      continue;
    Value *term = e.b.CreateAnd(e.b.CreateAnd(i & 4 ? a : e.b.CreateNot(a),
                                              i & 2 ? b : e.b.CreateNot(b)),
                                i & 1 ? c : e.b.CreateNot(c));
    result = e.b.CreateOr(result, term);
  }
  return result;
}

static void emitLop3(InstructionEmitter &e) { e.write(0, emitLookUp(e)); }

/// lop3.(or|and).b32 d|p, a, b, c, table, q: p = (d != 0) BoolOp q.
static void emitLop3Predicate(InstructionEmitter &e) {
  Value *result = emitLookUp(e);
  Value *isSet = e.b.CreateICmpNE(result, e.constant(32, 0));
  Value *q = e.read(5, 1);
  const ptx::Operand &pair = *e.operands[0];
  if (pair.kind != ptx::Operand::Kind::Pair)
    return e.fail("the result is not a pair");
  e.writeOperand(pair.elements[0], result);
  e.writeOperand(pair.elements[1], e.site.get(0) == 0
                                       ? e.b.CreateOr(isSet, q)
                                       : e.b.CreateAnd(isSet, q));
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

static void emitPopc(InstructionEmitter &e) {
  e.write(0,
          e.resize(e.intrinsic(Intrinsic::ctpop, {e.read(1, bitsOf(e))}), 32));
}

static Value *countLeadingZeros(InstructionEmitter &e, Value *value) {
  return e.resize(e.b.CreateIntrinsic(Intrinsic::ctlz, {value->getType()},
                                      {value, e.b.getFalse()}),
                  32);
}

static void emitClz(InstructionEmitter &e) {
  e.write(0, countLeadingZeros(e, e.read(1, bitsOf(e))));
}

static void emitBrev(InstructionEmitter &e) {
  e.write(0, e.intrinsic(Intrinsic::bitreverse, {e.read(1, bitsOf(e))}));
}

/// The position of the highest bit (that differs from the sign), counted from
/// the lowest, or with .shiftamt from the highest; ~0 when there is none.
static void emitBfind(InstructionEmitter &e) {
  unsigned bits = bitsOf(e);
  Value *a = e.read(1, bits);
  if (isSigned(e.site.types[0]))
    a = e.b.CreateXor(a, e.b.CreateAShr(a, bits - 1));
  Value *zeros = countLeadingZeros(e, a);
  Value *found =
      e.site.has(0) ? zeros : e.b.CreateSub(e.constant(32, bits - 1), zeros);
  Value *isNone = e.b.CreateICmpEQ(a, e.constant(bits, 0));
  e.write(0, e.b.CreateSelect(isNone, e.constant(32, UINT32_MAX), found));
}

/// The n-th set bit of mask, from base on upwards (n > 0) or downwards.
static uint32_t findNthSet(uint32_t mask, uint32_t base, uint32_t offset) {
  auto count = static_cast<int32_t>(offset);
  if (base > 31)
    return UINT32_MAX;
  if (count == 0)
    return mask >> base & 1 ? base : UINT32_MAX;
  int step = count > 0 ? 1 : -1;
  uint64_t left = count > 0 ? count : -static_cast<int64_t>(count);
  for (int position = static_cast<int>(base); position >= 0 && position < 32;
       position += step)
    if ((mask >> position & 1) && --left == 0)
      return position;
  return UINT32_MAX;
}

static void emitFns(InstructionEmitter &e) {
  e.write(0,
          e.callPure(findNthSet, e.read(1, 32), e.read(2, 32), e.read(3, 32)));
}

/// `length` ones (an i32 below 256), at the low end.
static Value *makeMask(InstructionEmitter &e, Value *length, unsigned bits) {
  Value *ones = llvm::Constant::getAllOnesValue(e.intType(bits));
  return e.b.CreateNot(shiftLeft(e, ones, length));
}

static void emitBfe(InstructionEmitter &e) {
  unsigned bits = bitsOf(e);
  Value *a = e.read(1, bits);
  Value *position = e.b.CreateAnd(e.read(2, 32), e.constant(32, 255));
  Value *length = e.b.CreateAnd(e.read(3, 32), e.constant(32, 255));
  if (!isSigned(e.site.types[0])) {
    e.write(0, e.b.CreateAnd(shiftRight(e, a, position, false),
                             makeMask(e, length, bits)));
    return;
  }
  // Bits beyond the end of `a` repeat its sign, and so do those beyond the
  // field that of the field.
  Value *shifted = shiftRight(e, a, position, true);
  Value *clamped = e.b.CreateIntrinsic(Intrinsic::umin, {e.b.getInt32Ty()},
                                       {length, e.constant(32, bits)});
  Value *unused = e.b.CreateSub(e.constant(32, bits), clamped);
  Value *result = shiftRight(e, shiftLeft(e, shifted, unused), unused, true);
  Value *isEmpty = e.b.CreateICmpEQ(length, e.constant(32, 0));
  e.write(0, e.b.CreateSelect(isEmpty, e.constant(bits, 0), result));
}

static void emitBfi(InstructionEmitter &e) {
  unsigned bits = bitsOf(e);
  Value *a = e.read(1, bits), *b = e.read(2, bits);
  Value *position = e.b.CreateAnd(e.read(3, 32), e.constant(32, 255));
  Value *length = e.b.CreateAnd(e.read(4, 32), e.constant(32, 255));
  Value *mask = shiftLeft(e, makeMask(e, length, bits), position);
  e.write(0, e.b.CreateOr(e.b.CreateAnd(b, e.b.CreateNot(mask)),
                          e.b.CreateAnd(shiftLeft(e, a, position), mask)));
}

/// Group 0 of szext and bmsk: clamp or wrap.
static Value *clampOrWrap(InstructionEmitter &e, Value *value) {
  return e.site.get(0) == 1 ? e.b.CreateAnd(value, e.constant(32, 31)) : value;
}

static void emitSzext(InstructionEmitter &e) {
  Value *a = e.read(1, 32), *length = clampOrWrap(e, e.read(2, 32));
  if (!isSigned(e.site.types[0])) {
    e.write(0, e.b.CreateAnd(a, makeMask(e, length, 32)));
    return;
  }
  Value *clamped = e.b.CreateIntrinsic(Intrinsic::umin, {e.b.getInt32Ty()},
                                       {length, e.constant(32, 32)});
  Value *unused = e.b.CreateSub(e.constant(32, 32), clamped);
  Value *result = shiftRight(e, shiftLeft(e, a, unused), unused, true);
  Value *isEmpty = e.b.CreateICmpEQ(length, e.constant(32, 0));
  e.write(0, e.b.CreateSelect(isEmpty, e.constant(32, 0), result));
}

static void emitBmsk(InstructionEmitter &e) {
  Value *position = clampOrWrap(e, e.read(1, 32));
  Value *length = clampOrWrap(e, e.read(2, 32));
  e.write(0, shiftLeft(e, makeMask(e, length, 32), position));
}

//===----------------------------------------------------------------------===//
// prmt
//===----------------------------------------------------------------------===//

static uint32_t permuteMode(uint32_t low, uint32_t high, uint32_t select,
                            uint32_t mode) {
  // By mode and the two low bits of the selector, from the highest byte: PTX
  // ISA, table of prmt.
  static constexpr uint16_t selectors[6][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543}, // f4e
      {0x5670, 0x6701, 0x7012, 0x0123}, // b4e
      {0x0000, 0x1111, 0x2222, 0x3333}, // rc8
      {0x3210, 0x3211, 0x3222, 0x3333}, // ecl
      {0x0000, 0x1110, 0x2210, 0x3210}, // ecr
      {0x1010, 0x3232, 0x1010, 0x3232}, // rc16
  };
  uint64_t bytes = static_cast<uint64_t>(high) << 32 | low;
  uint32_t selector = selectors[mode][select & 3], result = 0;
  for (unsigned i = 0; i < 4; ++i)
    result |= (bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return result;
}

static void emitPrmtMode(InstructionEmitter &e) {
  e.write(0, e.callPure(permuteMode, e.read(1, 32), e.read(2, 32),
                        e.read(3, 32), e.constant(32, e.site.get(0))));
}

static void emitPrmt(InstructionEmitter &e) {
  Value *bytes = e.b.CreateOr(e.resize(e.read(1, 32), 64),
                              e.b.CreateShl(e.resize(e.read(2, 32), 64), 32));
  Value *select = e.read(3, 32), *result = e.constant(32, 0);
  for (unsigned i = 0; i < 4; ++i) {
    Value *nibble = e.b.CreateLShr(select, 4 * i);
    Value *shift = e.b.CreateShl(e.b.CreateAnd(nibble, e.constant(32, 7)), 3);
    Value *byte = e.resize(e.b.CreateLShr(bytes, e.resize(shift, 64)), 8);
    Value *repeats = e.b.CreateICmpNE(e.b.CreateAnd(nibble, e.constant(32, 8)),
                                      e.constant(32, 0));
    byte = e.b.CreateSelect(repeats, e.b.CreateAShr(byte, 7), byte);
    result = e.b.CreateOr(result, e.b.CreateShl(e.resize(byte, 32), 8 * i));
  }
  e.write(0, result);
}

static const OpcodeEntry entries[] = {
    {"popc.(b32|b64)", "d s", "9.7.1.14", emitPopc},
    {"clz.(b32|b64)", "d s", "9.7.1.15", emitClz},
    {"bfind{.shiftamt}.(u32|u64|s32|s64)", "d s", "9.7.1.16", emitBfind},
    {"fns.b32", "d s s s", "9.7.1.17", emitFns},
    {"brev.(b32|b64)", "d s", "9.7.1.18", emitBrev},
    {"bfe.(u32|u64|s32|s64)", "d s s s", "9.7.1.19", emitBfe},
    {"bfi.(b32|b64)", "d s s s s", "9.7.1.20", emitBfi},
    {"szext.(clamp|wrap).(u32|s32)", "d s s", "9.7.1.21", emitSzext},
    {"bmsk.(clamp|wrap).b32", "d s s", "9.7.1.22", emitBmsk},
    {"and.(pred|b16|b32|b64)", "d s s", "9.7.8.1", emitAnd},
    {"or.(pred|b16|b32|b64)", "d s s", "9.7.8.2", emitOr},
    {"xor.(pred|b16|b32|b64)", "d s s", "9.7.8.3", emitXor},
    {"not.(pred|b16|b32|b64)", "d s", "9.7.8.4", emitNot},
    {"cnot.(b16|b32|b64)", "d s", "9.7.8.5", emitCnot},
    {"lop3.b32", "d s s s c", "9.7.8.6", emitLop3},
    {"lop3.(or|and).b32", "p s s s c s", "9.7.8.6", emitLop3Predicate},
    {"shf.(l|r).(clamp|wrap).b32", "d s s s", "9.7.8.7", emitFunnel},
    {"shl.(b16|b32|b64)", "d s s", "9.7.8.8", emitShl},
    {"shr.(b16|b32|b64|u16|u32|u64|s16|s32|s64)", "d s s", "9.7.8.9", emitShr},
    {"prmt.b32", "d s s s", "9.7.9.7", emitPrmt},
    {"prmt.b32.(f4e|b4e|rc8|ecl|ecr|rc16)", "d s s s", "9.7.9.7", emitPrmtMode},
};

llvm::ArrayRef<OpcodeEntry> emulator::getBitOpcodes() { return entries; }
