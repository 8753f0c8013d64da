//===- ExpandFp8Casts.cpp - fp8 in bits, for a CPU without it -------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM has no fp8 types; on the way to it they become i8. A cast is arithmetic
// on the bits of an f32, in which an fp8 format is described by three numbers.
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_EXPANDFP8CASTSPASS
#include "flashnorm/Conversion/Passes.h.inc"
} // namespace flashnorm

namespace {
/// f8E4M3FN or f8E5M2.
struct Format {
  int64_t mantissaBits, bias;
  bool hasInfinity;

  static std::optional<Format> get(Type type) {
    if (isa<Float8E4M3FNType>(type))
      return Format{3, 7, false};
    if (isa<Float8E5M2Type>(type))
      return Format{2, 15, true};
    return std::nullopt;
  }
  /// Mantissa bits of an f32 that it does not have.
  int64_t getShift() const { return 23 - mantissaBits; }
};

/// Integers of 32 bits.
struct Bits {
  ImplicitLocOpBuilder b;

  Value constant(int64_t value) {
    return arith::ConstantOp::create(
        b, b.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value bitcast(Value value, Type type) {
    return arith::BitcastOp::create(b, type, value);
  }
  Value isLess(Value a, Value c) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, a, c);
  }
  Value select(Value condition, Value a, Value c) {
    return arith::SelectOp::create(b, condition, a, c);
  }

  Value round(Value x, Format format);
  Value widen(Value x, Format format);
};
} // namespace

/// The bits of fp8 that `x`, an f32, rounds to: to nearest even, subnormals
/// too. What is beyond the range becomes an infinity, or NaN where there is
/// none.
Value Bits::round(Value x, Format format) {
  Value bits = bitcast(x, b.getI32Type());
  Value magnitude = arith::AndIOp::create(b, bits, constant(0x7fffffff));
  Value sign = arith::ShRUIOp::create(
      b, arith::XOrIOp::create(b, bits, magnitude), constant(24));

  // The first f32 behind the largest exponent and mantissa, rounded or not.
  int64_t shift = format.getShift();
  int64_t infinity = format.hasInfinity ? 0x1f << 2 : 0x7f;
  int64_t beyond = ((127 - format.bias) << 23) + (infinity << shift);
  Value special = constant(0x7f);
  if (format.hasInfinity)
    special = select(isLess(constant(0x7f800000), magnitude), special,
                     constant(infinity));

  // Below the smallest normal number, an f32 is added whose last bit is the
  // subnormals' own.
  int64_t normal = (128 - format.bias) << 23;
  Value unit = constant(normal + (shift << 23));
  Value sum = arith::AddFOp::create(b, bitcast(magnitude, b.getF32Type()),
                                    bitcast(unit, b.getF32Type()));
  Value subnormal =
      arith::SubIOp::create(b, bitcast(sum, b.getI32Type()), unit);

  // Otherwise half of the last bit is added, less where that is even.
  Value last = arith::ShRUIOp::create(b, magnitude, constant(shift));
  Value odd = arith::AndIOp::create(b, last, constant(1));
  Value half = constant((format.bias - 127) * (int64_t(1) << 23) +
                        (int64_t(1) << (shift - 1)) - 1);
  Value rounded = arith::ShRUIOp::create(
      b,
      arith::AddIOp::create(b, arith::AddIOp::create(b, magnitude, half), odd),
      constant(shift));

  Value result =
      select(isLess(magnitude, constant(normal)), subnormal, rounded);
  result = select(isLess(magnitude, constant(beyond)), result, special);
  result = arith::OrIOp::create(b, result, sign);
  return arith::TruncIOp::create(b, b.getI8Type(), result);
}

/// The f32 of the bits of an fp8.
Value Bits::widen(Value x, Format format) {
  Value bits = arith::ExtUIOp::create(b, b.getI32Type(), x);
  Value magnitude = arith::AndIOp::create(b, bits, constant(0x7f));
  Value sign = arith::ShLIOp::create(
      b, arith::XOrIOp::create(b, bits, magnitude), constant(24));
  // As an f32 of the same exponent bits, it is too small by the difference of
  // the biases; subnormal or not, the product is exact.
  Value small =
      arith::ShLIOp::create(b, magnitude, constant(format.getShift()));
  Value scale = constant((254 - format.bias) << 23);
  Value value = bitcast(arith::MulFOp::create(b, bitcast(small, b.getF32Type()),
                                              bitcast(scale, b.getF32Type())),
                        b.getI32Type());
  int64_t infinity = format.hasInfinity ? 0x1f << 2 : 0x7f;
  Value special = constant(0x7fc00000);
  if (format.hasInfinity)
    special = select(isLess(constant(infinity), magnitude), special,
                     constant(0x7f800000));
  value = select(isLess(magnitude, constant(infinity)), value, special);
  return bitcast(arith::OrIOp::create(b, value, sign), b.getF32Type());
}

/// To nearest even; exact from bf16 and f16 to f32, so that this rounds once.
static Value expand(ImplicitLocOpBuilder &b, arith::TruncFOp op) {
  std::optional<Format> format = Format::get(op.getType());
  Type from = op.getIn().getType();
  if (!format || !isa<FloatType>(from) || from.getIntOrFloatBitWidth() > 32 ||
      op.getRoundingmode().value_or(arith::RoundingMode::to_nearest_even) !=
          arith::RoundingMode::to_nearest_even)
    return {};
  Value x = op.getIn();
  if (!from.isF32())
    x = arith::ExtFOp::create(b, b.getF32Type(), x);
  Bits bits{b};
  return bits.bitcast(bits.round(x, *format), op.getType());
}

static Value expand(ImplicitLocOpBuilder &b, arith::ExtFOp op) {
  std::optional<Format> format = Format::get(op.getIn().getType());
  if (!format)
    return {};
  Bits bits{b};
  Value wide = bits.widen(bits.bitcast(op.getIn(), b.getI8Type()), *format);
  unsigned width = op.getType().getIntOrFloatBitWidth();
  if (width < 32) // exact: both have more of everything
    return arith::TruncFOp::create(b, op.getType(), wide);
  if (width > 32)
    return arith::ExtFOp::create(b, op.getType(), wide);
  return wide;
}

namespace {
struct ExpandFp8Casts
    : ::flashnorm::impl::ExpandFp8CastsPassBase<ExpandFp8Casts> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](Operation *op) {
      if (!isa<arith::TruncFOp, arith::ExtFOp>(op))
        return;
      ImplicitLocOpBuilder b(op->getLoc(), op);
      Value value;
      if (auto trunc = dyn_cast<arith::TruncFOp>(op))
        value = expand(b, trunc);
      else
        value = expand(b, cast<arith::ExtFOp>(op));
      if (!value)
        return;
      rewriter.replaceOp(op, value);
      ++numExpanded;
    });
  }
};
} // namespace
