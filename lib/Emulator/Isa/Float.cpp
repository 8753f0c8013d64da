//===- Float.cpp - Floating-point arithmetic ------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.3 (f32, f64), 9.7.4 (f16, bf16) and 9.7.5 (mixed precision).
//
//===----------------------------------------------------------------------===//

#include "Isa/FloatEmitter.h"
#include "llvm/IR/Intrinsics.h"

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::Value;
using Operation = FloatEmitter::Operation;

#define ROUNDING "{.rn|.rz|.rm|.rp}"
#define SOME_ROUNDING "(.rn|.rz|.rm|.rp)"
#define TYPES ".(f32|f64|f32x2|f16|f16x2|bf16|bf16x2)"

static uint32_t getFlags(const InstructionEmitter &e) {
  uint32_t flags = NoFlags;
  for (const std::string &modifier : e.instruction->modifiers)
    flags |= modifier == "ftz"    ? FlushToZero
             : modifier == "sat"  ? Saturate
             : modifier == "relu" ? Relu
                                  : NoFlags;
  return flags;
}

/// d = a op b, or a·b + c; group 0 is the rounding.
static void emitOperation(InstructionEmitter &e, Operation operation) {
  uint32_t flags = getFlags(e);
  FloatEmitter floats(e, e.site.types[0], flags & FlushToZero);
  auto as = floats.readLanes(1), bs = floats.readLanes(2);
  llvm::SmallVector<Value *, 2> cs = {nullptr, nullptr}, results;
  if (operation == Operation::FuseMultiplyAdd)
    cs = floats.readLanes(3);
  for (unsigned i = 0; i != as.size(); ++i)
    results.push_back(floats.compute(operation, as[i], bs[i], cs[i],
                                     getRounding(e.site.get(0)), flags));
  floats.writeLanes(0, results);
}
static void emitAdd(InstructionEmitter &e) { emitOperation(e, Operation::Add); }
static void emitSub(InstructionEmitter &e) {
  emitOperation(e, Operation::Subtract);
}
static void emitMul(InstructionEmitter &e) {
  emitOperation(e, Operation::Multiply);
}
static void emitFma(InstructionEmitter &e) {
  emitOperation(e, Operation::FuseMultiplyAdd);
}
static void emitDiv(InstructionEmitter &e) {
  emitOperation(e, Operation::Divide);
}

/// add.f32.bf16 d, a, c and fma.f32.bf16 d, a, b, c: what comes before c is
/// narrow, c is f32.
static void emitMixed(InstructionEmitter &e, Operation operation) {
  FloatEmitter narrow(e, e.site.types[1], false);
  FloatEmitter floats(e, ptx::Type::F32, false);
  auto widen = [&](unsigned i) {
    return e.toBits(narrow.widen(narrow.readLanes(i)[0]));
  };
  bool isFma = operation == Operation::FuseMultiplyAdd;
  Value *a = widen(1), *b = isFma ? widen(2) : floats.readLanes(2)[0];
  Value *c = isFma ? floats.readLanes(3)[0] : nullptr;
  e.write(0, floats.compute(operation, a, b, c, getRounding(e.site.get(0)),
                            getFlags(e)));
}
static void emitMixedAdd(InstructionEmitter &e) {
  emitMixed(e, Operation::Add);
}
static void emitMixedSub(InstructionEmitter &e) {
  emitMixed(e, Operation::Subtract);
}
static void emitMixedFma(InstructionEmitter &e) {
  emitMixed(e, Operation::FuseMultiplyAdd);
}

/// Group 0: approx or full.
static void emitDivApprox(InstructionEmitter &e) {
  e.write(0,
          e.callPure(divideApproximately, e.read(1, ptx::Type::F32),
                     e.read(2, ptx::Type::F32), e.constant(32, e.site.get(0)),
                     e.constant(32, getFlags(e))));
}

static void emitRcp(InstructionEmitter &e) {
  uint32_t flags = getFlags(e);
  FloatEmitter floats(e, e.site.types[0], flags & FlushToZero);
  uint64_t one =
      floats.laneBits() == 64 ? UINT64_C(0x3ff0000000000000) : 0x3f800000;
  e.write(0,
          floats.compute(Operation::Divide, e.constant(floats.laneBits(), one),
                         floats.readLanes(1)[0], nullptr,
                         getRounding(e.site.get(0)), flags));
}

static void emitSqrt(InstructionEmitter &e) {
  uint32_t flags = getFlags(e);
  FloatEmitter floats(e, e.site.types[0], flags & FlushToZero);
  Value *a = floats.readLanes(1)[0];
  Rounding rounding = getRounding(e.site.get(0));
  Value *mode = e.constant(32, static_cast<uint32_t>(rounding));
  // The root of a normal number is normal.
  if (rounding == Rounding::NearestEven)
    return e.write(0, floats.canonical(e.intrinsic(llvm::Intrinsic::sqrt,
                                                   {floats.toFloat(a)})));
  if (floats.laneBits() == 64)
    return e.write(0,
                   e.callPure(computeDouble,
                              e.constant(32, static_cast<uint32_t>(
                                                 DoubleOperation::SquareRoot)),
                              a, e.constant(64, 0), e.constant(64, 0), mode));
  e.write(0, e.callPure(takeSquareRoot, a,
                        e.constant(32, static_cast<uint32_t>(FloatFormat::F32)),
                        mode, e.constant(32, flags)));
}

static void emitApprox(InstructionEmitter &e, Approximation function) {
  uint32_t flags = getFlags(e);
  FloatEmitter floats(e, e.site.types[0], false);
  Value *which = e.constant(32, static_cast<uint32_t>(function));
  if (floats.laneBits() == 64)
    return e.write(
        0, e.callPure(approximateDouble, floats.readLanes(1)[0], which));
  llvm::SmallVector<Value *, 2> results;
  for (Value *a : floats.readLanes(1))
    results.push_back(e.resize(
        e.callPure(approximate, e.resize(a, 32), which,
                   e.constant(32, static_cast<uint32_t>(floats.format())),
                   e.constant(32, flags)),
        floats.laneBits()));
  floats.writeLanes(0, results);
}
static void emitRcpApprox(InstructionEmitter &e) {
  emitApprox(e, Approximation::Reciprocal);
}
static void emitSqrtApprox(InstructionEmitter &e) {
  emitApprox(e, Approximation::SquareRoot);
}
static void emitRsqrt(InstructionEmitter &e) {
  emitApprox(e, Approximation::ReciprocalSquareRoot);
}
static void emitSin(InstructionEmitter &e) {
  emitApprox(e, Approximation::Sine);
}
static void emitCos(InstructionEmitter &e) {
  emitApprox(e, Approximation::Cosine);
}
static void emitLg2(InstructionEmitter &e) {
  emitApprox(e, Approximation::Log2);
}
static void emitEx2(InstructionEmitter &e) {
  emitApprox(e, Approximation::Exp2);
}
static void emitTanh(InstructionEmitter &e) {
  emitApprox(e, Approximation::HyperbolicTangent);
}

/// abs and neg only touch the sign.
static void emitSign(InstructionEmitter &e, bool isAbs) {
  FloatEmitter floats(e, e.site.types[0], getFlags(e) & FlushToZero);
  unsigned bits = floats.laneBits();
  uint64_t sign = UINT64_C(1) << (bits - 1);
  llvm::SmallVector<Value *, 2> results;
  for (Value *a : floats.readLanes(1))
    results.push_back(isAbs ? e.b.CreateAnd(a, e.constant(bits, sign - 1))
                            : e.b.CreateXor(a, e.constant(bits, sign)));
  floats.writeLanes(0, results);
}
static void emitAbs(InstructionEmitter &e) { emitSign(e, true); }
static void emitNeg(InstructionEmitter &e) { emitSign(e, false); }

/// copysign d, a, b: the magnitude of b with the sign of a.
static void emitCopySign(InstructionEmitter &e) {
  ptx::Type type = e.site.types[0];
  unsigned bits = ptx::sizeInBits(type);
  uint64_t sign = UINT64_C(1) << (bits - 1);
  Value *a = e.b.CreateAnd(e.read(1, type), e.constant(bits, sign));
  Value *b = e.b.CreateAnd(e.read(2, type), e.constant(bits, sign - 1));
  e.write(0, e.b.CreateOr(a, b));
}

static void emitTestp(InstructionEmitter &e) {
  ptx::Type type = e.site.types[0];
  bool isDouble = type == ptx::Type::F64;
  unsigned bits = isDouble ? 64 : 32;
  uint64_t infinity = isDouble ? UINT64_C(0x7ff0000000000000) : 0x7f800000;
  uint64_t smallest = isDouble ? UINT64_C(0x0010000000000000) : 0x00800000;
  Value *magnitude = e.b.CreateAnd(
      e.read(1, type), e.constant(bits, (UINT64_C(1) << (bits - 1)) - 1));
  auto below = [&](uint64_t bound) {
    return e.b.CreateICmpULT(magnitude, e.constant(bits, bound));
  };
  auto isSubnormal = [&] {
    return e.b.CreateAnd(below(smallest),
                         e.b.CreateICmpNE(magnitude, e.constant(bits, 0)));
  };
  Value *result = nullptr;
  switch (e.site.get(0)) {
  case 0: // finite
    result = below(infinity);
    break;
  case 1: // infinite
    result = e.b.CreateICmpEQ(magnitude, e.constant(bits, infinity));
    break;
  case 2: // number
    result = below(infinity + 1);
    break;
  case 3: // notanumber
    result = e.b.CreateNot(below(infinity + 1));
    break;
  case 4: // normal; PTX counts zero among these
    result = e.b.CreateAnd(below(infinity), e.b.CreateNot(isSubnormal()));
    break;
  default:
    result = isSubnormal();
    break;
  }
  e.write(0, result);
}

static void emitMinMax(InstructionEmitter &e, bool isMax) {
  uint32_t flags = isMax ? static_cast<uint32_t>(TakeMaximum) : 0;
  for (const std::string &modifier : e.instruction->modifiers)
    flags |= modifier == "NaN"       ? PropagateNaN
             : modifier == "xorsign" ? XorSignAbs
             : modifier == "ftz"     ? MinMaxFlushToZero
                                     : 0;
  FloatEmitter floats(e, e.site.types[0], flags & MinMaxFlushToZero);
  unsigned bits = floats.laneBits();
  auto take = [&](Value *a, Value *b) -> Value * {
    if (bits == 16 || (flags & XorSignAbs))
      return e.resize(
          e.callPure(takeMinMax, e.resize(a, 32), e.resize(b, 32),
                     e.constant(32, static_cast<uint32_t>(floats.format())),
                     e.constant(32, flags)),
          bits);
    Value *x = floats.toFloat(a), *y = floats.toFloat(b);
    llvm::Intrinsic::ID id =
        flags & PropagateNaN
            ? (isMax ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum)
            : (isMax ? llvm::Intrinsic::maximumnum
                     : llvm::Intrinsic::minimumnum);
    return floats.canonical(e.b.CreateIntrinsic(id, {x->getType()}, {x, y}));
  };
  auto results = floats.readLanes(1), bs = floats.readLanes(2);
  for (unsigned i = 0; i != results.size(); ++i)
    results[i] = take(results[i], bs[i]);
  if (e.hasOperand(3)) {
    auto cs = floats.readLanes(3);
    for (unsigned i = 0; i != results.size(); ++i)
      results[i] = take(results[i], cs[i]);
  }
  floats.writeLanes(0, results);
}
static void emitMin(InstructionEmitter &e) { emitMinMax(e, false); }
static void emitMax(InstructionEmitter &e) { emitMinMax(e, true); }

static const OpcodeEntry entries[] = {
    {"testp.(finite|infinite|number|notanumber|normal|subnormal).(f32|f64)",
     "d s", "9.7.3.1", emitTestp},
    {"copysign.(f32|f64)", "d s s", "9.7.3.2", emitCopySign},
    {"add" ROUNDING "{.ftz}{.sat}" TYPES, "d s s", "9.7.3.3", emitAdd},
    {"sub" ROUNDING "{.ftz}{.sat}" TYPES, "d s s", "9.7.3.4", emitSub},
    {"mul" ROUNDING "{.ftz}{.sat}" TYPES, "d s s", "9.7.3.5", emitMul},
    {"fma" SOME_ROUNDING "{.ftz}{.sat}{.relu}" TYPES, "d s s s", "9.7.3.6",
     emitFma},
    {"mad" ROUNDING "{.ftz}{.sat}.(f32|f64)", "d s s s", "9.7.3.7", emitFma},
    {"div.(approx|full){.ftz}.f32", "d s s", "9.7.3.8", emitDivApprox},
    {"div" SOME_ROUNDING "{.ftz}.(f32|f64)", "d s s", "9.7.3.8", emitDiv},
    {"abs{.ftz}" TYPES, "d s", "9.7.3.9", emitAbs},
    {"neg{.ftz}" TYPES, "d s", "9.7.3.10", emitNeg},
    {"min{.ftz}{.NaN}{.xorsign.abs}.(f32|f64|f16|f16x2|bf16|bf16x2)",
     "d s s s?", "9.7.3.11", emitMin},
    {"max{.ftz}{.NaN}{.xorsign.abs}.(f32|f64|f16|f16x2|bf16|bf16x2)",
     "d s s s?", "9.7.3.12", emitMax},
    {"rcp.approx{.ftz}.f32", "d s", "9.7.3.13", emitRcpApprox},
    {"rcp" SOME_ROUNDING "{.ftz}.(f32|f64)", "d s", "9.7.3.13", emitRcp},
    {"rcp.approx.ftz.f64", "d s", "9.7.3.14", emitRcpApprox},
    {"sqrt.approx{.ftz}.f32", "d s", "9.7.3.15", emitSqrtApprox},
    {"sqrt" SOME_ROUNDING "{.ftz}.(f32|f64)", "d s", "9.7.3.15", emitSqrt},
    {"rsqrt.approx{.ftz}.(f32|f64)", "d s", "9.7.3.16", emitRsqrt},
    {"sin.approx{.ftz}.f32", "d s", "9.7.3.18", emitSin},
    {"cos.approx{.ftz}.f32", "d s", "9.7.3.19", emitCos},
    {"lg2.approx{.ftz}.f32", "d s", "9.7.3.20", emitLg2},
    {"ex2.approx{.ftz}.(f32|f16|f16x2|bf16|bf16x2)", "d s", "9.7.3.21",
     emitEx2},
    {"tanh.approx.(f32|f16|f16x2|bf16|bf16x2)", "d s", "9.7.3.22", emitTanh},
    {"add" ROUNDING "{.sat}.f32.(f16|bf16)", "d s s", "9.7.5.1", emitMixedAdd},
    {"sub" ROUNDING "{.sat}.f32.(f16|bf16)", "d s s", "9.7.5.2", emitMixedSub},
    {"fma" SOME_ROUNDING "{.sat}.f32.(f16|bf16)", "d s s s", "9.7.5.3",
     emitMixedFma},
};

llvm::ArrayRef<OpcodeEntry> emulator::getFloatOpcodes() { return entries; }
