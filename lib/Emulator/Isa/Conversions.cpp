//===- Conversions.cpp - cvt ----------------------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9.21 and 22.
//
//===----------------------------------------------------------------------===//

#include "Isa/FloatEmitter.h"
#include "llvm/IR/Intrinsics.h"

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

#define TYPES ".(u8|u16|u32|u64|s8|s16|s32|s64|f16|bf16|f32|f64)"

namespace {
/// Groups of the scalar pattern.
enum Groups { InRounding, InRelu, InFtz, InSat, InSatFinite };
/// Alternatives of the rounding: to a float, or to a float that is an integer.
enum Mode { Rn, Rz, Rm, Rp, Rna, Rni, Rzi, Rmi, Rpi };
} // namespace

static bool isSigned(ptx::Type type) {
  return type == ptx::Type::S8 || type == ptx::Type::S16 ||
         type == ptx::Type::S32 || type == ptx::Type::S64;
}

static uint32_t getFlags(const InstructionEmitter &e) {
  return (e.site.has(InRelu) ? Relu : 0) |
         (e.site.has(InFtz) ? FlushToZero : 0) |
         (e.site.has(InSat) ? Saturate : 0) |
         (e.site.has(InSatFinite) ? SaturateFinite : 0);
}

static FloatFormat getFormat(ptx::Type type) {
  switch (type) {
  case ptx::Type::F16:
  case ptx::Type::F16x2:
    return FloatFormat::F16;
  case ptx::Type::BF16:
  case ptx::Type::BF16x2:
    return FloatFormat::BF16;
  case ptx::Type::TF32:
    return FloatFormat::TF32;
  case ptx::Type::E4M3:
  case ptx::Type::E4M3x2:
    return FloatFormat::E4M3;
  case ptx::Type::E5M2:
  case ptx::Type::E5M2x2:
    return FloatFormat::E5M2;
  default:
    return FloatFormat::F32;
  }
}

static Value *constantOf(InstructionEmitter &e, FloatFormat format) {
  return e.constant(32, static_cast<uint32_t>(format));
}
static Value *constantOf(InstructionEmitter &e, Rounding rounding) {
  return e.constant(32, static_cast<uint32_t>(rounding));
}

/// From one format of at most 32 bits to another.
static Value *convert(InstructionEmitter &e, Value *value, FloatFormat from,
                      FloatFormat to, Rounding rounding, uint32_t flags) {
  if (from == FloatFormat::F32 && to == FloatFormat::BF16 &&
      rounding == Rounding::NearestEven && !flags) {
    // Half an ulp, less one when the result would be even.
    Value *odd = e.b.CreateAnd(e.b.CreateLShr(value, 16), e.constant(32, 1));
    Value *rounded = e.b.CreateLShr(
        e.b.CreateAdd(value, e.b.CreateAdd(odd, e.constant(32, 0x7fff))), 16);
    Value *asFloat = e.b.CreateBitCast(value, e.b.getFloatTy());
    return e.resize(e.b.CreateSelect(e.b.CreateFCmpUNO(asFloat, asFloat),
                                     e.constant(32, 0x7fff), rounded),
                    16);
  }
  Value *result = e.callPure(convertFloat, e.resize(value, 32),
                             constantOf(e, from), constantOf(e, to),
                             constantOf(e, rounding), e.constant(32, flags));
  return e.resize(result, sizeInBits(to));
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// The least and greatest integer of a type, in `bits` bits.
static llvm::APInt getLimit(ptx::Type type, bool isMax, unsigned bits) {
  unsigned size = ptx::sizeInBits(type);
  if (isSigned(type))
    return (isMax ? llvm::APInt::getSignedMaxValue(size)
                  : llvm::APInt::getSignedMinValue(size))
        .sext(bits);
  return (isMax ? llvm::APInt::getMaxValue(size) : llvm::APInt(size, 0))
      .zext(bits);
}

static void convertIntegers(InstructionEmitter &e, ptx::Type to,
                            ptx::Type from) {
  constexpr unsigned bits = 128;
  Value *value =
      e.resize(e.read(1, ptx::sizeInBits(from), true), bits, isSigned(from));
  if (e.site.has(InSat)) {
    Value *least =
        llvm::ConstantInt::get(e.b.getContext(), getLimit(to, false, bits));
    Value *most =
        llvm::ConstantInt::get(e.b.getContext(), getLimit(to, true, bits));
    value = e.b.CreateIntrinsic(Intrinsic::smax, {value->getType()},
                                {value, least});
    value =
        e.b.CreateIntrinsic(Intrinsic::smin, {value->getType()}, {value, most});
  }
  e.write(0, e.resize(value, ptx::sizeInBits(to)), true, isSigned(to));
}

/// To an integral floating-point number.
static Value *roundToIntegral(InstructionEmitter &e, Value *value, int mode) {
  Intrinsic::ID id = mode == Rmi   ? Intrinsic::floor
                     : mode == Rpi ? Intrinsic::ceil
                     : mode == Rzi ? Intrinsic::trunc
                                   : Intrinsic::roundeven;
  return e.b.CreateIntrinsic(id, {value->getType()}, {value});
}

/// Reads a float as float or double; f16 and bf16 as float.
static Value *readWide(InstructionEmitter &e, ptx::Type from) {
  FloatEmitter floats(e, from, e.site.has(InFtz) && from == ptx::Type::F32);
  return floats.widen(floats.readLanes(1)[0]);
}

static void convertToInteger(InstructionEmitter &e, ptx::Type to,
                             ptx::Type from) {
  int mode = e.site.get(InRounding);
  if (mode < Rni)
    return e.fail("cvt to an integer needs .rni, .rzi, .rmi or .rpi");
  Value *value = roundToIntegral(e, readWide(e, from), mode);
  unsigned bits = ptx::sizeInBits(to);
  llvm::Type *type = e.intType(bits);
  Value *result = e.b.CreateIntrinsic(isSigned(to) ? Intrinsic::fptosi_sat
                                                   : Intrinsic::fptoui_sat,
                                      {type, value->getType()}, {value});
  // NaN: 0; but the highest bit, where f64 or 64 bits take part.
  uint64_t ofNaN =
      from == ptx::Type::F64 || bits == 64 ? UINT64_C(1) << (bits - 1) : 0;
  Value *isNaN = e.b.CreateFCmpUNO(value, value);
  result = e.b.CreateSelect(isNaN, e.constant(bits, ofNaN), result);
  e.write(0, result, true, isSigned(to));
}

static uint32_t integerToFloat(uint64_t bits, uint32_t isNegative,
                               FloatFormat format, Rounding rounding,
                               uint32_t flags) {
  return encodeInteger(isNegative ? 0 - bits : bits, isNegative, format,
                       rounding, flags);
}

/// Rounds to f64 with a mode that the host does not offer: the integer as a sum
/// of two numbers that f64 holds exactly.
static uint64_t integerToDouble(uint64_t bits, uint32_t isNegative,
                                Rounding rounding) {
  uint64_t magnitude = isNegative ? 0 - bits : bits;
  double sign = isNegative ? -1 : 1;
  double high = sign * static_cast<double>(magnitude >> 32) * 4294967296.0;
  double low = sign * static_cast<double>(magnitude & UINT32_MAX);
  if (magnitude == 0)
    return 0;
  return computeDouble(DoubleOperation::Add, llvm::bit_cast<uint64_t>(high),
                       llvm::bit_cast<uint64_t>(low), 0, rounding);
}

static void convertFromInteger(InstructionEmitter &e, ptx::Type to,
                               ptx::Type from) {
  int mode = e.site.get(InRounding);
  if (mode < Rn || mode > Rp)
    return e.fail("cvt from an integer needs .rn, .rz, .rm or .rp");
  unsigned bits = ptx::sizeInBits(from);
  Value *value = e.resize(e.read(1, bits, true), 64, isSigned(from));
  if (mode == Rn && to == ptx::Type::F64)
    return e.write(0, isSigned(from)
                          ? e.b.CreateSIToFP(value, e.b.getDoubleTy())
                          : e.b.CreateUIToFP(value, e.b.getDoubleTy()));
  if (mode == Rn && to == ptx::Type::F32 && !e.site.has(InSat))
    return e.write(0, isSigned(from)
                          ? e.b.CreateSIToFP(value, e.b.getFloatTy())
                          : e.b.CreateUIToFP(value, e.b.getFloatTy()));
  Value *isNegative =
      isSigned(from) ? e.resize(e.b.CreateICmpSLT(value, e.constant(64, 0)), 32)
                     : e.constant(32, 0);
  Value *rounding = constantOf(e, static_cast<Rounding>(mode));
  if (to == ptx::Type::F64)
    return e.write(0, e.callPure(integerToDouble, value, isNegative, rounding));
  Value *result = e.callPure(integerToFloat, value, isNegative,
                             constantOf(e, getFormat(to)), rounding,
                             e.constant(32, getFlags(e)));
  e.write(0, e.resize(result, ptx::sizeInBits(to)));
}

static uint32_t doubleToFloat(uint64_t bits, FloatFormat format,
                              Rounding rounding, uint32_t flags) {
  return encodeFloat(llvm::bit_cast<double>(bits), format, rounding, flags);
}

static void convertFloats(InstructionEmitter &e, ptx::Type to, ptx::Type from) {
  int mode = e.site.get(InRounding);
  unsigned toBits = ptx::sizeInBits(to), fromBits = ptx::sizeInBits(from);
  bool isIntegral = mode >= Rni;
  if (mode < 0 && (toBits < fromBits || (to != from && toBits == 16)))
    return e.fail("cvt to a narrower type needs a rounding");
  if (isIntegral && to != from)
    return e.fail("cvt between types does not round to an integer");
  if (from == ptx::Type::F64 || to == ptx::Type::F64) {
    FloatEmitter doubles(e, ptx::Type::F64, false);
    Value *value = readWide(e, from);
    if (!value->getType()->isDoubleTy())
      value = e.b.CreateFPExt(value, e.b.getDoubleTy());
    if (isIntegral)
      value = roundToIntegral(e, value, mode);
    if (to == ptx::Type::F64) {
      if (e.site.has(InSat))
        value = emitSaturate(e, value);
      return e.write(0, doubles.canonical(value));
    }
    Value *result = e.callPure(
        doubleToFloat, e.toBits(value), constantOf(e, getFormat(to)),
        constantOf(e, getRounding(mode)), e.constant(32, getFlags(e)));
    return e.write(0, e.resize(result, toBits));
  }
  uint32_t flags = getFlags(e);
  if (isIntegral || (from == to && from == ptx::Type::F32)) {
    FloatEmitter floats(e, ptx::Type::F32, flags & FlushToZero);
    Value *value = readWide(e, from);
    if (isIntegral)
      value = roundToIntegral(e, value, mode);
    if (flags & Saturate)
      value = emitSaturate(e, value);
    Value *bits = floats.canonical(value);
    if (to != ptx::Type::F32)
      bits = convert(e, bits, FloatFormat::F32, getFormat(to),
                     Rounding::NearestEven, 0);
    return e.write(0, bits);
  }
  Value *value = e.read(1, from);
  e.write(
      0, convert(e, value, getFormat(from), getFormat(to),
                 mode < 0 ? Rounding::NearestEven : static_cast<Rounding>(mode),
                 flags));
}

static void emitCvt(InstructionEmitter &e) {
  ptx::Type to = e.site.types[0], from = e.site.types[1];
  bool toFloat = FloatEmitter::isFloat(to);
  bool fromFloat = FloatEmitter::isFloat(from);
  if (toFloat && fromFloat)
    convertFloats(e, to, from);
  else if (toFloat)
    convertFromInteger(e, to, from);
  else if (fromFloat)
    convertToInteger(e, to, from);
  else
    convertIntegers(e, to, from);
}

//===----------------------------------------------------------------------===//
// Packed and narrow types
//===----------------------------------------------------------------------===//

/// cvt.f16x2.f32 d, a, b and the like: a is the upper half. Groups: rounding,
/// relu, satfinite.
static void emitCvtPack(InstructionEmitter &e) {
  ptx::Type to = e.site.types[0];
  uint32_t flags =
      (e.site.has(1) ? Relu : 0) | (e.site.has(2) ? SaturateFinite : 0);
  auto rounding = static_cast<Rounding>(e.site.get(0));
  FloatFormat format = getFormat(to);
  Value *high = e.read(1, ptx::Type::F32), *low = e.read(2, ptx::Type::F32);
  unsigned bits = ptx::sizeInBits(to);
  if (format == FloatFormat::F16 && rounding == Rounding::NearestEven && !flags)
    return e.write(0, e.callPure(packF16x2, high, low));
  high = e.resize(convert(e, high, FloatFormat::F32, format, rounding, flags),
                  bits);
  low = e.resize(convert(e, low, FloatFormat::F32, format, rounding, flags),
                 bits);
  e.write(0, e.b.CreateOr(e.b.CreateShl(high, bits / 2), low));
}

/// fp8: always rounded to nearest, and saturated when narrowed; group 0:
/// .relu.
static void emitCvtFp8Pack(InstructionEmitter &e) {
  uint32_t flags = SaturateFinite | (e.site.has(0) ? Relu : 0);
  FloatFormat format = getFormat(e.site.types[0]);
  auto narrow = [&](unsigned i) {
    return e.resize(convert(e, e.read(i, ptx::Type::F32), FloatFormat::F32,
                            format, Rounding::NearestEven, flags),
                    16);
  };
  Value *high = narrow(1), *low = narrow(2);
  e.write(0, e.b.CreateOr(e.b.CreateShl(high, 8), low));
}

/// Between pairs in one register; group 0: .relu.
static void emitCvtPair(InstructionEmitter &e) {
  ptx::Type to = e.site.types[0], from = e.site.types[1];
  unsigned toBits = ptx::sizeInBits(to) / 2;
  unsigned fromBits = ptx::sizeInBits(from) / 2;
  uint32_t flags =
      (e.site.has(0) ? Relu : 0) | (toBits < fromBits ? SaturateFinite : 0);
  Value *value = e.read(1, 2 * fromBits);
  auto lane = [&](unsigned i) {
    Value *bits = e.resize(e.b.CreateLShr(value, i * fromBits), fromBits);
    return e.resize(convert(e, bits, getFormat(from), getFormat(to),
                            Rounding::NearestEven, flags),
                    2 * toBits);
  };
  e.write(0, e.b.CreateOr(e.b.CreateShl(lane(1), toBits), lane(0)));
}

/// Groups: rounding (rna, rn, rz), satfinite, relu.
static void emitCvtTf32(InstructionEmitter &e) {
  static constexpr Rounding roundings[] = {
      Rounding::NearestAway, Rounding::NearestEven, Rounding::TowardZero};
  uint32_t flags =
      (e.site.has(1) ? SaturateFinite : 0) | (e.site.has(2) ? Relu : 0);
  e.write(0, convert(e, e.read(1, 32, false, true), FloatFormat::F32,
                     FloatFormat::TF32, roundings[e.site.get(0)], flags));
}

/// cvt.pack.sat.T.s32{.b32} d, a, b, c: a and b saturated to T; above them c.
/// Group 0: T.
static void emitPack(InstructionEmitter &e) {
  static constexpr struct {
    unsigned bits;
    bool isSigned;
  } kinds[] = {{16, false}, {16, true}, {8, false}, {8, true},
               {4, false},  {4, true},  {2, false}, {2, true}};
  auto [bits, isSigned] = kinds[e.site.get(0)];
  auto saturate = [&, bits = bits, isSigned = isSigned](unsigned i) {
    Value *value = e.read(i, 32);
    llvm::APInt most = isSigned ? llvm::APInt::getSignedMaxValue(bits).sext(32)
                                : llvm::APInt::getMaxValue(bits).zext(32);
    llvm::APInt least = isSigned ? llvm::APInt::getSignedMinValue(bits).sext(32)
                                 : llvm::APInt(32, 0);
    auto limit = [&](const llvm::APInt &bound) {
      return llvm::ConstantInt::get(e.b.getContext(), bound);
    };
    value = e.b.CreateIntrinsic(Intrinsic::smin, {value->getType()},
                                {value, limit(most)});
    value = e.b.CreateIntrinsic(Intrinsic::smax, {value->getType()},
                                {value, limit(least)});
    return e.resize(e.resize(value, bits), 32);
  };
  Value *high = saturate(1), *low = saturate(2);
  Value *result = e.b.CreateOr(e.b.CreateShl(high, bits), low);
  if (e.hasOperand(3))
    result = e.b.CreateOr(result, e.b.CreateShl(e.read(3, 32), 2 * bits));
  e.write(0, result);
}

static const OpcodeEntry entries[] = {
    {"cvt{.rn|.rz|.rm|.rp|.rna|.rni|.rzi|.rmi|.rpi}{.relu}{.ftz}{.sat}"
     "{.satfinite}" TYPES TYPES,
     "d s", "9.7.9.21", emitCvt},
    {"cvt(.rn|.rz){.relu}{.satfinite}.(f16x2|bf16x2).f32", "d s s", "9.7.9.21",
     emitCvtPack},
    {"cvt.rn.satfinite{.relu}.(e4m3x2|e5m2x2).f32", "d s s", "9.7.9.21",
     emitCvtFp8Pack},
    {"cvt.rn.satfinite{.relu}.(e4m3x2|e5m2x2).f16x2", "d s", "9.7.9.21",
     emitCvtPair},
    {"cvt.rn{.relu}.f16x2.(e4m3x2|e5m2x2)", "d s", "9.7.9.21", emitCvtPair},
    {"cvt(.rna|.rn|.rz){.satfinite}{.relu}.tf32.f32", "d s", "9.7.9.21",
     emitCvtTf32},
    {"cvt.pack.sat.(u16|s16).s32", "d s s", "9.7.9.22", emitPack},
    {"cvt.pack.sat.(u16|s16|u8|s8|u4|s4|u2|s2).s32.b32", "d s s s", "9.7.9.22",
     emitPack},
};

llvm::ArrayRef<OpcodeEntry> emulator::getConversionOpcodes() { return entries; }
