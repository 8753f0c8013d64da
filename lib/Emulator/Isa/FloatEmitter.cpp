//===- FloatEmitter.cpp - Floating-point in kernels -----------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Isa/FloatEmitter.h"
#include "llvm/IR/Intrinsics.h"

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

static ptx::Type getLaneType(ptx::Type type) {
  switch (type) {
  case ptx::Type::F16x2:
    return ptx::Type::F16;
  case ptx::Type::BF16x2:
    return ptx::Type::BF16;
  case ptx::Type::F32x2:
    return ptx::Type::F32;
  default:
    return type;
  }
}

FloatEmitter::FloatEmitter(InstructionEmitter &e, ptx::Type type, bool isFtz)
    : e(e), lane(getLaneType(type)), lanes(lane == type ? 1 : 2),
      bits(ptx::sizeInBits(lane)), isFtz(isFtz) {}

bool FloatEmitter::isFloat(ptx::Type type) {
  switch (type) {
  case ptx::Type::F16:
  case ptx::Type::F16x2:
  case ptx::Type::BF16:
  case ptx::Type::BF16x2:
  case ptx::Type::F32:
  case ptx::Type::F32x2:
  case ptx::Type::F64:
    return true;
  default:
    return false;
  }
}

FloatFormat FloatEmitter::format() const {
  return lane == ptx::Type::F16    ? FloatFormat::F16
         : lane == ptx::Type::BF16 ? FloatFormat::BF16
                                   : FloatFormat::F32;
}

llvm::SmallVector<Value *, 2> FloatEmitter::readLanes(unsigned operand) {
  Value *value = e.read(operand, bits * lanes, false, lanes == 1);
  if (lanes == 1)
    return {flush(value)};
  return {flush(e.resize(value, bits)),
          flush(e.resize(e.b.CreateLShr(value, bits), bits))};
}

void FloatEmitter::writeLanes(unsigned operand,
                              llvm::ArrayRef<Value *> values) {
  if (lanes == 1)
    return e.write(operand, values[0]);
  Value *low = e.resize(values[0], 2 * bits);
  Value *high = e.b.CreateShl(e.resize(values[1], 2 * bits), bits);
  e.write(operand, e.b.CreateOr(low, high));
}

Value *FloatEmitter::flush(Value *value) {
  if (!isFtz)
    return value;
  if (lane == ptx::Type::F16 || lane == ptx::Type::BF16)
    return e.resize(e.callPure(flushSubnormal, e.resize(value, 32),
                               e.constant(32, static_cast<uint32_t>(format()))),
                    bits);
  if (lane != ptx::Type::F32)
    return value;
  Value *exponent = e.b.CreateAnd(value, e.constant(32, 0x7f800000));
  Value *isSmall = e.b.CreateICmpEQ(exponent, e.constant(32, 0));
  Value *sign = e.b.CreateAnd(value, e.constant(32, 0x80000000));
  return e.b.CreateSelect(isSmall, sign, value);
}

Value *FloatEmitter::toFloat(Value *value) {
  return e.b.CreateBitCast(value,
                           bits == 64 ? e.b.getDoubleTy() : e.b.getFloatTy());
}

Value *emulator::emitFloatFromHalf(InstructionEmitter &e, Value *bits,
                                   bool isBF16) {
  if (isBF16)
    return e.b.CreateBitCast(e.b.CreateShl(e.resize(bits, 32), 16),
                             e.b.getFloatTy());
  return e.b.CreateFPExt(e.b.CreateBitCast(bits, e.b.getHalfTy()),
                         e.b.getFloatTy());
}

Value *FloatEmitter::widen(Value *value) {
  if (bits == 16)
    return emitFloatFromHalf(e, value, lane == ptx::Type::BF16);
  return toFloat(value);
}

Value *FloatEmitter::canonical(Value *value) {
  bool isDouble = value->getType()->isDoubleTy();
  Value *isNaN = e.b.CreateFCmpUNO(value, value);
  Value *nan = isDouble ? e.constant(64, UINT64_C(0x7fffffffffffffff))
                        : e.constant(32, 0x7fffffff);
  return e.b.CreateSelect(isNaN, nan, e.toBits(value));
}

Value *emulator::emitSaturate(InstructionEmitter &e, Value *value) {
  llvm::Type *type = value->getType();
  Value *zero = llvm::ConstantFP::get(type, 0.0);
  Value *one = llvm::ConstantFP::get(type, 1.0);
  // Ordered comparisons: NaN and -0 are not above zero.
  Value *isPositive = e.b.CreateFCmpOGT(value, zero);
  value = e.b.CreateSelect(isPositive, value, zero);
  return e.b.CreateSelect(e.b.CreateFCmpOGT(value, one), one, value);
}

Value *FloatEmitter::computeNative(Operation operation, Value *a, Value *b,
                                   Value *c, uint32_t flags) {
  Value *x = toFloat(a), *y = toFloat(b), *result = nullptr;
  switch (operation) {
  case Operation::Add:
    result = e.b.CreateFAdd(x, y);
    break;
  case Operation::Subtract:
    result = e.b.CreateFSub(x, y);
    break;
  case Operation::Multiply:
    result = e.b.CreateFMul(x, y);
    break;
  case Operation::FuseMultiplyAdd:
    result =
        e.b.CreateIntrinsic(Intrinsic::fma, {x->getType()}, {x, y, toFloat(c)});
    break;
  case Operation::Divide:
    result = e.b.CreateFDiv(x, y);
    break;
  }
  if (flags & Saturate)
    return e.toBits(emitSaturate(e, result));
  return flush(canonical(result));
}

/// The double of add.rz.f64 and its kin.
static DoubleOperation getDouble(FloatEmitter::Operation operation) {
  switch (operation) {
  case FloatEmitter::Operation::Add:
  case FloatEmitter::Operation::Subtract:
    return DoubleOperation::Add;
  case FloatEmitter::Operation::Multiply:
    return DoubleOperation::Multiply;
  case FloatEmitter::Operation::FuseMultiplyAdd:
    return DoubleOperation::FuseMultiplyAdd;
  case FloatEmitter::Operation::Divide:
    return DoubleOperation::Divide;
  }
  llvm_unreachable("all cases are covered");
}

Value *FloatEmitter::compute(Operation operation, Value *a, Value *b, Value *c,
                             Rounding rounding, uint32_t flags) {
  bool isNative = bits >= 32 && rounding == Rounding::NearestEven &&
                  !(flags & (Relu | SaturateFinite));
  if (isNative)
    return computeNative(operation, a, b, c, flags);
  if (operation == Operation::Subtract)
    b = e.b.CreateXor(b, e.constant(bits, UINT64_C(1) << (bits - 1)));
  Value *mode = e.constant(32, static_cast<uint32_t>(rounding));
  if (bits == 64)
    return e.callPure(
        computeDouble,
        e.constant(32, static_cast<uint32_t>(getDouble(operation))), a,
        b ? b : e.constant(64, 0), c ? c : e.constant(64, 0), mode);
  auto wide = [&](Value *value) { return e.resize(value, 32); };
  Value *in = e.constant(32, static_cast<uint32_t>(format()));
  Value *mask = e.constant(32, flags);
  Value *result = nullptr;
  switch (operation) {
  case Operation::Add:
  case Operation::Subtract:
    result = e.callPure(addFloat, wide(a), wide(b), in, mode, mask);
    break;
  case Operation::Multiply:
    result = e.callPure(multiplyFloat, wide(a), wide(b), in, mode, mask);
    break;
  case Operation::FuseMultiplyAdd:
    result =
        e.callPure(fuseMultiplyAdd, wide(a), wide(b), wide(c), in, mode, mask);
    break;
  case Operation::Divide:
    result = e.callPure(divideFloat, wide(a), wide(b), in, mode, mask);
    break;
  }
  return e.resize(result, bits);
}
