//===- Comparisons.cpp - Comparison and selection -------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.6 and 9.7.7.
//
//===----------------------------------------------------------------------===//

#include "Isa/Emitter.h"
#include "Isa/FloatEmitter.h"

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::CmpInst;
using llvm::Value;

#define COMPARISONS                                                            \
  ".(eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan)"
#define TYPES                                                                  \
  ".(b16|b32|b64|u16|u32|u64|s16|s32|s64|f16|f16x2|bf16|bf16x2|f32|f64)"
enum Comparison {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Lo,
  Ls,
  Hi,
  Hs,
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan
};

static bool isSigned(ptx::Type type) {
  return type == ptx::Type::S16 || type == ptx::Type::S32 ||
         type == ptx::Type::S64;
}

static CmpInst::Predicate getIntPredicate(int comparison, bool isSigned) {
  switch (comparison) {
  case Eq:
    return CmpInst::ICMP_EQ;
  case Ne:
    return CmpInst::ICMP_NE;
  case Lt:
    return isSigned ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT;
  case Le:
    return isSigned ? CmpInst::ICMP_SLE : CmpInst::ICMP_ULE;
  case Gt:
    return isSigned ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT;
  case Ge:
    return isSigned ? CmpInst::ICMP_SGE : CmpInst::ICMP_UGE;
  case Lo:
    return CmpInst::ICMP_ULT;
  case Ls:
    return CmpInst::ICMP_ULE;
  case Hi:
    return CmpInst::ICMP_UGT;
  case Hs:
    return CmpInst::ICMP_UGE;
  default:
    return CmpInst::BAD_ICMP_PREDICATE;
  }
}

static CmpInst::Predicate getFloatPredicate(int comparison) {
  switch (comparison) {
  case Eq:
    return CmpInst::FCMP_OEQ;
  case Ne:
    return CmpInst::FCMP_ONE;
  case Lt:
    return CmpInst::FCMP_OLT;
  case Le:
    return CmpInst::FCMP_OLE;
  case Gt:
    return CmpInst::FCMP_OGT;
  case Ge:
    return CmpInst::FCMP_OGE;
  case Equ:
    return CmpInst::FCMP_UEQ;
  case Neu:
    return CmpInst::FCMP_UNE;
  case Ltu:
    return CmpInst::FCMP_ULT;
  case Leu:
    return CmpInst::FCMP_ULE;
  case Gtu:
    return CmpInst::FCMP_UGT;
  case Geu:
    return CmpInst::FCMP_UGE;
  case Num:
    return CmpInst::FCMP_ORD;
  case Nan:
    return CmpInst::FCMP_UNO;
  default:
    return CmpInst::BAD_FCMP_PREDICATE;
  }
}

/// Compares operands first and first + 1, one i1 per lane of a packed type.
static llvm::SmallVector<Value *, 2> compare(InstructionEmitter &e,
                                             unsigned first, ptx::Type type,
                                             int comparison, bool isFtz) {
  unsigned bits = ptx::sizeInBits(type);
  if (!FloatEmitter::isFloat(type)) {
    CmpInst::Predicate predicate = getIntPredicate(comparison, isSigned(type));
    if (predicate == CmpInst::BAD_ICMP_PREDICATE) {
      e.fail("this comparison is one of floating-point numbers");
      return {};
    }
    Value *a = e.read(first, bits), *b = e.read(first + 1, bits);
    return {e.b.CreateICmp(predicate, a, b)};
  }
  CmpInst::Predicate predicate = getFloatPredicate(comparison);
  if (predicate == CmpInst::BAD_FCMP_PREDICATE) {
    e.fail("this comparison is one of integers");
    return {};
  }
  FloatEmitter floats(e, type, isFtz);
  llvm::SmallVector<Value *, 2> result;
  auto as = floats.readLanes(first), bs = floats.readLanes(first + 1);
  for (unsigned i = 0; i != as.size(); ++i)
    result.push_back(
        e.b.CreateFCmp(predicate, floats.widen(as[i]), floats.widen(bs[i])));
  return result;
}

/// Operand `operand` joins a comparison's result; group 1: and, or, xor.
static Value *combine(InstructionEmitter &e, Value *value, unsigned operand) {
  if (!e.site.has(1))
    return value;
  if (!e.hasOperand(operand)) {
    e.fail("the predicate to combine with is missing");
    return value;
  }
  Value *c = e.read(operand, 1);
  switch (e.site.get(1)) {
  case 0:
    return e.b.CreateAnd(value, c);
  case 1:
    return e.b.CreateOr(value, c);
  default:
    return e.b.CreateXor(value, c);
  }
}

/// setp p|q, a, b, c: p = (a cmp b) bop c, q = !(a cmp b) bop c; for packed
/// types p and q are the two lanes.
static void emitSetp(InstructionEmitter &e) {
  ptx::Type type = e.site.types[0];
  auto results = compare(e, 1, type, e.site.get(0), e.site.has(2));
  if (results.empty())
    return;
  if (results.size() == 1)
    results.push_back(e.b.CreateNot(results[0]));
  const ptx::Operand &to = *e.operands[0];
  Value *first = combine(e, results[0], 3);
  if (to.kind != ptx::Operand::Kind::Pair)
    return e.writeOperand(to, first);
  Value *second = combine(e, results[1], 3);
  e.writeOperand(to.elements[0], first);
  e.writeOperand(to.elements[1], second);
}

/// set: all ones or 1.0, else zero.
static void emitSet(InstructionEmitter &e) {
  ptx::Type to = e.site.types[0], type = e.site.types[1];
  auto results = compare(e, 1, type, e.site.get(0), e.site.has(2));
  unsigned bits = ptx::sizeInBits(to);
  Value *value = e.constant(bits, 0);
  unsigned lane = results.empty() ? bits : bits / results.size();
  uint64_t ones = lane == 32 ? UINT32_MAX : 0xffff;
  if (to == ptx::Type::F32)
    ones = 0x3f800000;
  else if (to == ptx::Type::F16 || to == ptx::Type::F16x2)
    ones = 0x3c00;
  else if (to == ptx::Type::BF16 || to == ptx::Type::BF16x2)
    ones = 0x3f80;
  for (size_t i = 0; i != results.size(); ++i) {
    Value *isSet = combine(e, results[i], 3);
    value = e.b.CreateOr(
        value, e.b.CreateSelect(isSet, e.constant(bits, ones << i * lane),
                                e.constant(bits, 0)));
  }
  e.write(0, value);
}

static void emitSelp(InstructionEmitter &e) {
  ptx::Type type = e.site.types[0];
  Value *a = e.read(1, type), *b = e.read(2, type);
  e.write(0, e.b.CreateSelect(e.read(3, 1), a, b));
}

/// slct d, a, b, c: a when c >= 0 (which NaN is not), else b.
static void emitSlct(InstructionEmitter &e) {
  ptx::Type type = e.site.types[0];
  Value *a = e.read(1, type), *b = e.read(2, type), *takesA = nullptr;
  if (e.site.types[1] == ptx::Type::S32) {
    takesA = e.b.CreateICmpSGE(e.read(3, 32), e.constant(32, 0));
  } else {
    FloatEmitter floats(e, ptx::Type::F32, e.site.has(0));
    Value *c = floats.widen(floats.readLanes(3)[0]);
    takesA = e.b.CreateFCmpOGE(
        c, llvm::ConstantFP::getZero(e.b.getFloatTy(), false));
  }
  e.write(0, e.b.CreateSelect(takesA, a, b));
}

static const OpcodeEntry entries[] = {
    {"set" COMPARISONS "{.and|.or|.xor}{.ftz}.(u16|s16|u32|s32|f32|f16|f16x2|"
     "bf16|bf16x2)" TYPES,
     "d s s s?", "9.7.6.1", emitSet},
    {"setp" COMPARISONS "{.and|.or|.xor}{.ftz}" TYPES, "p s s s?", "9.7.6.2",
     emitSetp},
    {"selp.(b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64)", "d s s s", "9.7.6.3",
     emitSelp},
    {"slct{.ftz}.(b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64).(s32|f32)",
     "d s s s", "9.7.6.4", emitSlct},
};

llvm::ArrayRef<OpcodeEntry> emulator::getComparisonOpcodes() { return entries; }
