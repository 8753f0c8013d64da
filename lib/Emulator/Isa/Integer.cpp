//===- Integer.cpp - Integer arithmetic -----------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.1 and 9.7.2. No result depends on what LLVM leaves undefined:
// divisors are never zero, nothing is marked as not wrapping.
//
//===----------------------------------------------------------------------===//

#include "Isa/Emitter.h"
#include "Isa/FunctionTranslator.h"
#include "llvm/IR/Intrinsics.h"

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

static bool isSigned(ptx::Type type) {
  return type == ptx::Type::S8 || type == ptx::Type::S16 ||
         type == ptx::Type::S32 || type == ptx::Type::S64 ||
         type == ptx::Type::S16x2;
}

static bool isPacked(ptx::Type type) {
  return type == ptx::Type::U16x2 || type == ptx::Type::S16x2;
}

/// The operand as <2 x i16> for packed types, else as an integer.
static Value *readInteger(InstructionEmitter &e, unsigned i, ptx::Type type) {
  Value *value = e.read(i, ptx::sizeInBits(type));
  if (!isPacked(type))
    return value;
  return e.b.CreateBitCast(value,
                           llvm::FixedVectorType::get(e.b.getInt16Ty(), 2));
}

static Value *intrinsic2(InstructionEmitter &e, Intrinsic::ID id, Value *a,
                         Value *b) {
  return e.b.CreateIntrinsic(id, {a->getType()}, {a, b});
}

static void emitAdd(InstructionEmitter &e) {
  ptx::Type type = e.site.types[0];
  e.write(0, e.b.CreateAdd(readInteger(e, 1, type), readInteger(e, 2, type)));
}

static void emitSub(InstructionEmitter &e) {
  ptx::Type type = e.site.types[0];
  e.write(0, e.b.CreateSub(readInteger(e, 1, type), readInteger(e, 2, type)));
}

static void emitAddSat(InstructionEmitter &e) {
  e.write(0, intrinsic2(e, Intrinsic::sadd_sat, e.read(1, 32), e.read(2, 32)));
}

static void emitSubSat(InstructionEmitter &e) {
  e.write(0, intrinsic2(e, Intrinsic::ssub_sat, e.read(1, 32), e.read(2, 32)));
}

/// add.cc, addc, sub.cc, subc: group 0 of the latter two is .cc.
static void emitCarry(InstructionEmitter &e, bool isSub, bool readsCarry,
                      bool writesCarry, Value *a, Value *b, unsigned bits) {
  llvm::IRBuilder<> &builder = e.b;
  Value *carry = e.constant(bits + 1, 0);
  if (readsCarry)
    carry = e.resize(
        builder.CreateLoad(builder.getInt1Ty(), e.translator.carry), bits + 1);
  Value *wideA = e.resize(a, bits + 1), *wideB = e.resize(b, bits + 1);
  Value *wide = isSub
                    ? builder.CreateSub(builder.CreateSub(wideA, wideB), carry)
                    : builder.CreateAdd(builder.CreateAdd(wideA, wideB), carry);
  if (writesCarry)
    builder.CreateStore(
        builder.CreateTrunc(builder.CreateLShr(wide, bits), e.intType(1)),
        e.translator.carry);
  e.write(0, e.resize(wide, bits));
}

static void emitAddCC(InstructionEmitter &e) {
  unsigned bits = ptx::sizeInBits(e.site.types[0]);
  emitCarry(e, false, false, true, e.read(1, bits), e.read(2, bits), bits);
}
static void emitAddC(InstructionEmitter &e) {
  unsigned bits = ptx::sizeInBits(e.site.types[0]);
  emitCarry(e, false, true, e.site.has(0), e.read(1, bits), e.read(2, bits),
            bits);
}
static void emitSubCC(InstructionEmitter &e) {
  unsigned bits = ptx::sizeInBits(e.site.types[0]);
  emitCarry(e, true, false, true, e.read(1, bits), e.read(2, bits), bits);
}
static void emitSubC(InstructionEmitter &e) {
  unsigned bits = ptx::sizeInBits(e.site.types[0]);
  emitCarry(e, true, true, e.site.has(0), e.read(1, bits), e.read(2, bits),
            bits);
}

/// The product in twice the size.
static Value *multiply(InstructionEmitter &e, ptx::Type type) {
  unsigned bits = ptx::sizeInBits(type);
  return e.b.CreateMul(e.resize(e.read(1, bits), 2 * bits, isSigned(type)),
                       e.resize(e.read(2, bits), 2 * bits, isSigned(type)));
}

/// Group 0 of mul and mad: hi, lo, wide.
enum Half { Hi, Lo, Wide };

static Value *multiplyHalf(InstructionEmitter &e, ptx::Type type) {
  unsigned bits = ptx::sizeInBits(type);
  switch (e.site.get(0)) {
  case Hi:
    return e.resize(e.b.CreateLShr(multiply(e, type), bits), bits);
  case Lo:
    return e.b.CreateMul(e.read(1, bits), e.read(2, bits));
  default:
    return multiply(e, type);
  }
}

static void emitMul(InstructionEmitter &e) {
  e.write(0, multiplyHalf(e, e.site.types[0]));
}

static void emitMad(InstructionEmitter &e) {
  Value *product = multiplyHalf(e, e.site.types[0]);
  unsigned bits = product->getType()->getIntegerBitWidth();
  e.write(0, e.b.CreateAdd(product, e.read(3, bits)));
}

static void emitMadSat(InstructionEmitter &e) {
  e.write(0, intrinsic2(e, Intrinsic::sadd_sat, multiplyHalf(e, ptx::Type::S32),
                        e.read(3, 32)));
}

/// mad.cc and madc: group 0: hi or lo; group 1 of madc: .cc.
static void emitMadCC(InstructionEmitter &e) {
  unsigned bits = ptx::sizeInBits(e.site.types[0]);
  emitCarry(e, false, false, true, multiplyHalf(e, e.site.types[0]),
            e.read(3, bits), bits);
}
static void emitMadC(InstructionEmitter &e) {
  unsigned bits = ptx::sizeInBits(e.site.types[0]);
  emitCarry(e, false, true, e.site.has(1), multiplyHalf(e, e.site.types[0]),
            e.read(3, bits), bits);
}

/// Bits 16 to 47 (hi) or 0 to 31 (lo) of the product of 24-bit numbers.
static Value *multiply24(InstructionEmitter &e) {
  ptx::Type type = e.site.types[0];
  auto narrow = [&](unsigned i) {
    return e.resize(e.resize(e.read(i, 32), 24), 64, isSigned(type));
  };
  Value *product = e.b.CreateMul(narrow(1), narrow(2));
  if (e.site.get(0) == Hi)
    product = e.b.CreateLShr(product, 16);
  return e.resize(product, 32);
}

static void emitMul24(InstructionEmitter &e) { e.write(0, multiply24(e)); }
static void emitMad24(InstructionEmitter &e) {
  e.write(0, e.b.CreateAdd(multiply24(e), e.read(3, 32)));
}
static void emitMad24Sat(InstructionEmitter &e) {
  e.write(0, intrinsic2(e, Intrinsic::sadd_sat, multiply24(e), e.read(3, 32)));
}

static Value *emitMinMax(InstructionEmitter &e, ptx::Type type, bool isMax,
                         Value *a, Value *b) {
  return intrinsic2(e,
                    isSigned(type)
                        ? (isMax ? Intrinsic::smax : Intrinsic::smin)
                        : (isMax ? Intrinsic::umax : Intrinsic::umin),
                    a, b);
}

static void emitMinMax(InstructionEmitter &e, bool isMax) {
  ptx::Type type = e.site.types[0];
  Value *value = emitMinMax(e, type, isMax, readInteger(e, 1, type),
                            readInteger(e, 2, type));
  if (e.site.has(0)) // .relu
    value = emitMinMax(e, type, true, value,
                       llvm::Constant::getNullValue(value->getType()));
  e.write(0, value);
}
static void emitMin(InstructionEmitter &e) { emitMinMax(e, false); }
static void emitMax(InstructionEmitter &e) { emitMinMax(e, true); }

static void emitSad(InstructionEmitter &e) {
  ptx::Type type = e.site.types[0];
  unsigned bits = ptx::sizeInBits(type);
  Value *a = e.read(1, bits), *b = e.read(2, bits);
  Value *difference = e.b.CreateSub(emitMinMax(e, type, true, a, b),
                                    emitMinMax(e, type, false, a, b));
  e.write(0, e.b.CreateAdd(difference, e.read(3, bits)));
}

/// Division by zero gives all ones, and the dividend as the remainder, as
/// devices do; the most negative number divided by -1 stays itself.
static void emitDivRem(InstructionEmitter &e, bool isRem) {
  ptx::Type type = e.site.types[0];
  unsigned bits = ptx::sizeInBits(type);
  Value *a = e.read(1, bits), *b = e.read(2, bits), *one = e.constant(bits, 1);
  Value *isZero = e.b.CreateICmpEQ(b, e.constant(bits, 0));
  Value *isBad = isZero;
  if (isSigned(type)) {
    Value *least = llvm::ConstantInt::get(e.b.getContext(),
                                          llvm::APInt::getSignedMinValue(bits));
    Value *overflows = e.b.CreateAnd(
        e.b.CreateICmpEQ(a, least),
        e.b.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(b->getType())));
    isBad = e.b.CreateOr(isZero, overflows);
  }
  Value *divisor = e.b.CreateSelect(isBad, one, b);
  Value *result = nullptr;
  if (isRem)
    result = isSigned(type) ? e.b.CreateSRem(a, divisor)
                            : e.b.CreateURem(a, divisor);
  else
    result = isSigned(type) ? e.b.CreateSDiv(a, divisor)
                            : e.b.CreateUDiv(a, divisor);
  Value *ofZero =
      isRem ? a : llvm::Constant::getAllOnesValue(result->getType());
  e.write(0, e.b.CreateSelect(isZero, ofZero, result));
}
static void emitDiv(InstructionEmitter &e) { emitDivRem(e, false); }
static void emitRem(InstructionEmitter &e) { emitDivRem(e, true); }

static void emitAbs(InstructionEmitter &e) {
  Value *a = e.read(1, ptx::sizeInBits(e.site.types[0]));
  e.write(0, e.b.CreateIntrinsic(Intrinsic::abs, {a->getType()},
                                 {a, e.b.getFalse()}));
}

static void emitNeg(InstructionEmitter &e) {
  e.write(0, e.b.CreateNeg(e.read(1, ptx::sizeInBits(e.site.types[0]))));
}

/// dp4a, dp2a: c plus the products of bytes of a and b, or of halves of a and
/// two bytes of b.
static void emitDot(InstructionEmitter &e, unsigned count, unsigned bitsA,
                    unsigned firstB) {
  Value *a = e.read(1, 32), *b = e.read(2, 32), *sum = e.read(3, 32);
  auto element = [&](Value *value, unsigned position, unsigned bits,
                     ptx::Type type) {
    Value *shifted = e.b.CreateLShr(value, e.constant(32, position));
    return e.resize(e.resize(shifted, bits), 32, isSigned(type));
  };
  for (unsigned i = 0; i < count; ++i)
    sum = e.b.CreateAdd(
        sum, e.b.CreateMul(element(a, i * bitsA, bitsA, e.site.types[0]),
                           element(b, (firstB + i) * 8, 8, e.site.types[1])));
  e.write(0, sum);
}
static void emitDp4a(InstructionEmitter &e) { emitDot(e, 4, 8, 0); }
static void emitDp2a(InstructionEmitter &e) {
  emitDot(e, 2, 16, e.site.get(0) == 1 ? 2 : 0);
}

static const OpcodeEntry entries[] = {
    {"add.(u16|u32|u64|s16|s32|s64|u16x2|s16x2)", "d s s", "9.7.1.1", emitAdd},
    {"add.sat.s32", "d s s", "9.7.1.1", emitAddSat},
    {"sub.(u16|u32|u64|s16|s32|s64)", "d s s", "9.7.1.2", emitSub},
    {"sub.sat.s32", "d s s", "9.7.1.2", emitSubSat},
    {"mul.(hi|lo|wide).(u16|u32|s16|s32)", "d s s", "9.7.1.3", emitMul},
    {"mul.(hi|lo).(u64|s64)", "d s s", "9.7.1.3", emitMul},
    {"mad.(hi|lo|wide).(u16|u32|s16|s32)", "d s s s", "9.7.1.4", emitMad},
    {"mad.(hi|lo).(u64|s64)", "d s s s", "9.7.1.4", emitMad},
    {"mad.(hi).sat.s32", "d s s s", "9.7.1.4", emitMadSat},
    {"mul24.(hi|lo).(u32|s32)", "d s s", "9.7.1.5", emitMul24},
    {"mad24.(hi|lo).(u32|s32)", "d s s s", "9.7.1.6", emitMad24},
    {"mad24.(hi).sat.s32", "d s s s", "9.7.1.6", emitMad24Sat},
    {"sad.(u16|u32|u64|s16|s32|s64)", "d s s s", "9.7.1.7", emitSad},
    {"div.(u16|u32|u64|s16|s32|s64)", "d s s", "9.7.1.8", emitDiv},
    {"rem.(u16|u32|u64|s16|s32|s64)", "d s s", "9.7.1.9", emitRem},
    {"abs.(s16|s32|s64)", "d s", "9.7.1.10", emitAbs},
    {"neg.(s16|s32|s64)", "d s", "9.7.1.11", emitNeg},
    {"min{.relu}.(u16|u32|u64|u16x2|s16|s64|s16x2|s32)", "d s s", "9.7.1.12",
     emitMin},
    {"max{.relu}.(u16|u32|u64|u16x2|s16|s64|s16x2|s32)", "d s s", "9.7.1.13",
     emitMax},
    {"dp4a.(u32|s32).(u32|s32)", "d s s s", "9.7.1.23", emitDp4a},
    {"dp2a.(lo|hi).(u32|s32).(u32|s32)", "d s s s", "9.7.1.24", emitDp2a},
    {"add.cc.(u32|s32|u64|s64)", "d s s", "9.7.2.1", emitAddCC},
    {"addc{.cc}.(u32|s32|u64|s64)", "d s s", "9.7.2.2", emitAddC},
    {"sub.cc.(u32|s32|u64|s64)", "d s s", "9.7.2.3", emitSubCC},
    {"subc{.cc}.(u32|s32|u64|s64)", "d s s", "9.7.2.4", emitSubC},
    {"mad.(hi|lo).cc.(u32|s32|u64|s64)", "d s s s", "9.7.2.5", emitMadCC},
    {"madc.(hi|lo){.cc}.(u32|s32|u64|s64)", "d s s s", "9.7.2.6", emitMadC},
};

llvm::ArrayRef<OpcodeEntry> emulator::getIntegerOpcodes() { return entries; }
