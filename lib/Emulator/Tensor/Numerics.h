//===- Numerics.h - Floating-point as the device does it --------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions, arithmetic and approximations bit by bit, independent of the
// processor that runs the emulator. Values travel as bits in the low part of an
// integer, so that no calling convention quiets a NaN. All functions are pure
// and may be called from compiled kernels by address.
//
// NaN results are canonical, as on the device: 0x7fff (f16, bf16), 0x7fffffff
// (f32, tf32), 0x7f (e4m3, e5m2), 0x7fffffffffffffff (f64).
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_TENSOR_NUMERICS_H
#define FLASHNORM_LIB_EMULATOR_TENSOR_NUMERICS_H

#include "llvm/ADT/bit.h"
#include <cstdint>

namespace flashnorm::emulator {

enum class Rounding : uint32_t {
  NearestEven, ///< .rn, .rni
  TowardZero,  ///< .rz
  Down,        ///< .rm
  Up,          ///< .rp
  NearestAway, ///< .rna
};

/// TF32 values have the layout of f32, with the low 13 bits zero.
enum class FloatFormat : uint32_t { F16, BF16, TF32, E4M3, E5M2, F32 };

/// What happens to operands and results besides rounding; a mask.
enum FloatFlags : uint32_t {
  NoFlags = 0,
  Relu = 1,           ///< .relu: negative results (also -0) are +0
  SaturateFinite = 2, ///< .satfinite: infinite results are the largest number
  Saturate = 4,       ///< .sat: results are clamped to [0, 1], NaN is 0
  FlushToZero = 8,    ///< .ftz: subnormal operands and results are zero
};

/// Rounds a value once. Exact numbers only: widen f16, f32 and the like to
/// double first (with .ftz, flush them first: see flushSubnormal).
uint32_t encodeFloat(double value, FloatFormat format, Rounding rounding,
                     uint32_t flags);
/// (-1)^negative · magnitude, rounded once: cvt.rn.f16.s64 and the like.
uint32_t encodeInteger(uint64_t magnitude, bool negative, FloatFormat format,
                       Rounding rounding, uint32_t flags);
/// Exact.
double decodeFloat(uint32_t bits, FloatFormat format);
/// From one format to another, rounded once. FlushToZero flushes operands and
/// results of the type f32 only, as cvt does. bf16 to f32 keeps the bits of a
/// NaN.
uint32_t convertFloat(uint32_t bits, FloatFormat from, FloatFormat to,
                      Rounding rounding, uint32_t flags);
/// Zero of the same sign for a subnormal number, else `bits`.
uint32_t flushSubnormal(uint32_t bits, FloatFormat format);
uint32_t canonicalNaN(FloatFormat format);
/// 8, 16 or 32.
unsigned sizeInBits(FloatFormat format);

/// a·b + c, a + b and a·b with one rounding, in the format of the operands
/// (F16, BF16, F32).
uint32_t fuseMultiplyAdd(uint32_t a, uint32_t b, uint32_t c, FloatFormat format,
                         Rounding rounding, uint32_t flags);
uint32_t addFloat(uint32_t a, uint32_t b, FloatFormat format, Rounding rounding,
                  uint32_t flags);
uint32_t multiplyFloat(uint32_t a, uint32_t b, FloatFormat format,
                       Rounding rounding, uint32_t flags);
/// a / b and √a, correctly rounded (div.rn, rcp.rz, sqrt.rm, …).
uint32_t divideFloat(uint32_t a, uint32_t b, FloatFormat format,
                     Rounding rounding, uint32_t flags);
uint32_t takeSquareRoot(uint32_t a, FloatFormat format, Rounding rounding,
                        uint32_t flags);

/// Of min and max; a mask.
enum MinMaxFlags : uint32_t {
  TakeMaximum = 1,
  PropagateNaN = 2, ///< .NaN: NaN when an operand is; else the other operand
  XorSignAbs = 4,   ///< .xorsign.abs: of |a| and |b|, with the sign of a·b
  MinMaxFlushToZero = 8, ///< .ftz
};
/// -0 is less than +0.
uint32_t takeMinMax(uint32_t a, uint32_t b, FloatFormat format, uint32_t flags);

/// f64 with a rounding mode that the host's default does not give.
enum class DoubleOperation : uint32_t {
  Add,
  Multiply,
  FuseMultiplyAdd,
  Divide,
  SquareRoot
};
uint64_t computeDouble(DoubleOperation operation, uint64_t a, uint64_t b,
                       uint64_t c, Rounding rounding);

/// The .approx instructions. The device's results are not documented beyond
/// their error; these are the exact ones, rounded to nearest.
enum class Approximation : uint32_t {
  Exp2,                 ///< ex2
  Log2,                 ///< lg2
  Reciprocal,           ///< rcp
  ReciprocalSquareRoot, ///< rsqrt
  SquareRoot,           ///< sqrt
  Sine,                 ///< sin
  Cosine,               ///< cos
  HyperbolicTangent,    ///< tanh
};
uint32_t approximate(uint32_t bits, Approximation function, FloatFormat format,
                     uint32_t flags);
/// rcp.approx.ftz.f64, rsqrt.approx.ftz.f64: the low halves of operand and
/// result count as zero.
uint64_t approximateDouble(uint64_t bits, Approximation function);
/// div.approx.f32, or div.full.f32, which covers the whole range of b.
uint32_t divideApproximately(uint32_t a, uint32_t b, uint32_t full,
                             uint32_t flags);

// Fast forms of what kernels do most.

inline float floatFromBF16(uint16_t bits) {
  return llvm::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
/// Any NaN becomes some NaN. Without branches, so that loops vectorise.
inline float floatFromF16(uint16_t bits) {
  // The exponent's bias differs by 112. Scaling a number made with f16's
  // biased exponent normalises subnormal ones, too.
  float scaled = llvm::bit_cast<float>((bits & 0x7fffu) << 13) *
                 llvm::bit_cast<float>((127u + 112u) << 23);
  uint32_t magnitude = llvm::bit_cast<uint32_t>(scaled);
  // Infinities and NaN came out as 2^16 and up.
  magnitude |= magnitude >= (143u << 23) ? 0xffu << 23 : 0;
  return llvm::bit_cast<float>(magnitude | (bits & 0x8000u) << 16);
}
/// cvt.rn.bf16.f32
inline uint16_t roundToBF16(uint32_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
/// cvt.rn.bf16x2.f32 d, high, low
uint32_t packBF16x2(uint32_t high, uint32_t low);
/// cvt.rn.f16x2.f32 d, high, low
uint32_t packF16x2(uint32_t high, uint32_t low);

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_TENSOR_NUMERICS_H
