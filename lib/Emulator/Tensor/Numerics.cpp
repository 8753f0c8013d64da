//===- Numerics.cpp - Floating-point as the device does it ----------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every narrow value is exact in double. Arithmetic computes in double rounded
// to odd, which keeps what a second rounding to fewer than 52 bits needs to
// know; one function rounds to all formats.
//
//===----------------------------------------------------------------------===//

#include "Tensor/Numerics.h"
#include "llvm/Support/MathExtras.h"
#include <cfenv>
#include <cmath>
#include <limits>

using namespace flashnorm;
using namespace flashnorm::emulator;

namespace {

struct FormatInfo {
  int exponentBits, mantissaBits;
  uint32_t maxFinite, infinity, nan; ///< infinity: NaN where there is none
  int storedShift; ///< the stored form has this many zero bits below
  int bits;

  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  int minExponent() const { return 1 - bias(); }
  uint32_t sign() const { return 1u << (exponentBits + mantissaBits); }
};

// In FloatFormat's order. Values before storedShift; nan is the stored form.
constexpr FormatInfo formats[] = {
    {5, 10, 0x7bff, 0x7c00, 0x7fff, 0, 16},
    {8, 7, 0x7f7f, 0x7f80, 0x7fff, 0, 16},
    {8, 10, 0x3fbff, 0x3fc00, 0x7fffffff, 13, 32},
    {4, 3, 0x7e, 0x7f, 0x7f, 0, 8},
    {5, 2, 0x7b, 0x7c, 0x7f, 0, 8},
    {8, 23, 0x7f7fffff, 0x7f800000, 0x7fffffff, 0, 32},
};

const FormatInfo &getInfo(FloatFormat format) {
  return formats[static_cast<uint32_t>(format)];
}

bool roundsAway(Rounding rounding, bool negative, bool odd, uint64_t rest,
                uint64_t half) {
  switch (rounding) {
  case Rounding::NearestEven:
    return rest > half || (rest == half && odd);
  case Rounding::NearestAway:
    return rest >= half;
  case Rounding::TowardZero:
    return false;
  case Rounding::Down:
    return negative && rest != 0;
  case Rounding::Up:
    return !negative && rest != 0;
  }
  return false;
}

uint32_t store(const FormatInfo &info, bool negative, uint32_t magnitude,
               uint32_t flags) {
  if (negative && (flags & (Relu | Saturate)))
    return 0;
  return (magnitude | (negative ? info.sign() : 0)) << info.storedShift;
}

/// ±significand · 2^exponent, rounded; the significand is not 0.
uint32_t roundNumber(bool negative, uint64_t significand, int exponent,
                     const FormatInfo &info, Rounding rounding,
                     uint32_t flags) {
  int leading = static_cast<int>(llvm::Log2_64(significand)) + exponent;
  int scale = std::max(leading, info.minExponent());
  int shift = scale - info.mantissaBits - exponent;
  uint64_t kept, rest = 0, half = 1;
  if (shift <= 0) {
    kept = significand << -shift;
  } else if (shift > 64) {
    kept = 0;
    // Less than half of the smallest number, but not nothing.
    rest = 1;
    half = 2;
  } else {
    kept = shift == 64 ? 0 : significand >> shift;
    rest =
        shift == 64 ? significand : significand & ((UINT64_C(1) << shift) - 1);
    half = UINT64_C(1) << (shift - 1);
  }
  kept += roundsAway(rounding, negative, kept & 1, rest, half);
  // The implicit bit counts one exponent; a carry moves on to the next.
  uint64_t magnitude = kept + (static_cast<uint64_t>(scale - info.minExponent())
                               << info.mantissaBits);
  if ((flags & FlushToZero) && magnitude < (UINT64_C(1) << info.mantissaBits))
    magnitude = 0;
  if (magnitude > info.maxFinite) {
    bool toFinite = rounding == Rounding::TowardZero ||
                    rounding == (negative ? Rounding::Up : Rounding::Down);
    magnitude =
        toFinite || (flags & SaturateFinite) ? info.maxFinite : info.infinity;
  }
  if (flags & Saturate)
    magnitude = std::min<uint64_t>(magnitude, static_cast<uint64_t>(info.bias())
                                                  << info.mantissaBits);
  return store(info, negative, static_cast<uint32_t>(magnitude), flags);
}

/// The double next to the exact sum s + error that has an odd significand, or s
/// where the sum is exact.
double roundToOdd(double sum, double error) {
  if (error == 0 || !std::isfinite(sum) || (llvm::bit_cast<uint64_t>(sum) & 1))
    return sum;
  double infinity = std::numeric_limits<double>::infinity();
  return std::nextafter(sum, error > 0 ? infinity : -infinity);
}

/// a + b, rounded to odd.
double addToOdd(double a, double b) {
  double sum = a + b;
  if (!std::isfinite(sum))
    return sum;
  double bShare = sum - a;
  double aShare = sum - bShare;
  return roundToOdd(sum, (a - aShare) + (b - bShare));
}

/// Exact sums of zero are -0 only when both terms are, or when rounding down
/// does not take two +0.
double fixZeroSum(double sum, double a, double b, Rounding rounding) {
  if (sum != 0 || rounding != Rounding::Down)
    return sum;
  bool bothPositive = !std::signbit(a) && !std::signbit(b);
  return bothPositive ? 0.0 : -0.0;
}

double decodeOperand(uint32_t bits, FloatFormat format, uint32_t flags) {
  if (flags & FlushToZero)
    bits = flushSubnormal(bits, format);
  return decodeFloat(bits, format);
}

} // namespace

uint32_t emulator::canonicalNaN(FloatFormat format) {
  return getInfo(format).nan;
}

unsigned emulator::sizeInBits(FloatFormat format) {
  return getInfo(format).bits;
}

uint32_t emulator::flushSubnormal(uint32_t bits, FloatFormat format) {
  const FormatInfo &info = getInfo(format);
  uint32_t value = bits >> info.storedShift;
  uint32_t magnitude = value & (info.sign() - 1);
  if (magnitude >= (1u << info.mantissaBits))
    return bits;
  return (value & info.sign()) << info.storedShift;
}

uint32_t emulator::encodeFloat(double value, FloatFormat format,
                               Rounding rounding, uint32_t flags) {
  const FormatInfo &info = getInfo(format);
  uint64_t bits = llvm::bit_cast<uint64_t>(value);
  bool negative = bits >> 63;
  int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
  if (exponent == 0x7ff) {
    if (mantissa)
      return flags & Saturate ? 0 : info.nan;
    uint32_t magnitude =
        flags & SaturateFinite ? info.maxFinite : info.infinity;
    if (flags & Saturate)
      magnitude = static_cast<uint32_t>(info.bias()) << info.mantissaBits;
    return store(info, negative, magnitude, flags);
  }
  if (!exponent && !mantissa)
    return store(info, negative, 0, flags);
  if (exponent)
    mantissa |= UINT64_C(1) << 52;
  else
    exponent = 1;
  return roundNumber(negative, mantissa, exponent - 1075, info, rounding,
                     flags);
}

uint32_t emulator::encodeInteger(uint64_t magnitude, bool negative,
                                 FloatFormat format, Rounding rounding,
                                 uint32_t flags) {
  if (magnitude == 0)
    return 0;
  return roundNumber(negative, magnitude, 0, getInfo(format), rounding, flags);
}

double emulator::decodeFloat(uint32_t bits, FloatFormat format) {
  if (format == FloatFormat::F32 || format == FloatFormat::TF32)
    return llvm::bit_cast<float>(bits);
  const FormatInfo &info = getInfo(format);
  bool negative = bits & info.sign();
  uint32_t magnitude = bits & (info.sign() - 1);
  double value;
  if (magnitude > info.maxFinite) {
    bool isInfinity = magnitude == info.infinity && format != FloatFormat::E4M3;
    value = isInfinity ? std::numeric_limits<double>::infinity()
                       : std::numeric_limits<double>::quiet_NaN();
  } else {
    int exponent = static_cast<int>(magnitude >> info.mantissaBits);
    uint32_t significand = magnitude & ((1u << info.mantissaBits) - 1);
    if (exponent)
      significand |= 1u << info.mantissaBits;
    else
      exponent = 1;
    value = std::ldexp(static_cast<double>(significand),
                       exponent - info.bias() - info.mantissaBits);
  }
  return negative ? -value : value;
}

uint32_t emulator::convertFloat(uint32_t bits, FloatFormat from, FloatFormat to,
                                Rounding rounding, uint32_t flags) {
  uint32_t resultFlags =
      to == FloatFormat::F32 ? flags : flags & ~uint32_t(FlushToZero);
  if (from == FloatFormat::F32 && (flags & FlushToZero))
    bits = flushSubnormal(bits, from);
  // The device shifts bf16 into f32.
  if (from == FloatFormat::BF16 && to == FloatFormat::F32 && !resultFlags)
    return bits << 16;
  return encodeFloat(decodeFloat(bits, from), to, rounding, resultFlags);
}

uint32_t emulator::fuseMultiplyAdd(uint32_t a, uint32_t b, uint32_t c,
                                   FloatFormat format, Rounding rounding,
                                   uint32_t flags) {
  // Exact: 48 bits at most, and exponents far from the limits of double.
  double product =
      decodeOperand(a, format, flags) * decodeOperand(b, format, flags);
  double addend = decodeOperand(c, format, flags);
  double sum = addToOdd(product, addend);
  return encodeFloat(fixZeroSum(sum, product, addend, rounding), format,
                     rounding, flags);
}

uint32_t emulator::addFloat(uint32_t a, uint32_t b, FloatFormat format,
                            Rounding rounding, uint32_t flags) {
  double left = decodeOperand(a, format, flags);
  double right = decodeOperand(b, format, flags);
  double sum = addToOdd(left, right);
  return encodeFloat(fixZeroSum(sum, left, right, rounding), format, rounding,
                     flags);
}

uint32_t emulator::multiplyFloat(uint32_t a, uint32_t b, FloatFormat format,
                                 Rounding rounding, uint32_t flags) {
  return encodeFloat(decodeOperand(a, format, flags) *
                         decodeOperand(b, format, flags),
                     format, rounding, flags);
}

uint32_t emulator::divideFloat(uint32_t a, uint32_t b, FloatFormat format,
                               Rounding rounding, uint32_t flags) {
  double dividend = decodeOperand(a, format, flags);
  double divisor = decodeOperand(b, format, flags);
  double quotient = dividend / divisor;
  if (std::isfinite(quotient) && divisor != 0 && !std::isinf(divisor)) {
    double rest = std::fma(-quotient, divisor, dividend);
    quotient = roundToOdd(quotient, std::signbit(divisor) ? -rest : rest);
  }
  return encodeFloat(quotient, format, rounding, flags);
}

uint32_t emulator::takeSquareRoot(uint32_t a, FloatFormat format,
                                  Rounding rounding, uint32_t flags) {
  double value = decodeOperand(a, format, flags);
  double root = std::sqrt(value);
  if (std::isfinite(root))
    root = roundToOdd(root, std::fma(-root, root, value));
  return encodeFloat(root, format, rounding, flags);
}

uint32_t emulator::takeMinMax(uint32_t a, uint32_t b, FloatFormat format,
                              uint32_t flags) {
  const FormatInfo &info = getInfo(format);
  if (flags & MinMaxFlushToZero) {
    a = flushSubnormal(a, format);
    b = flushSubnormal(b, format);
  }
  uint32_t sign = info.sign() << info.storedShift;
  uint32_t infinity = info.infinity << info.storedShift;
  bool aIsNaN = (a & (sign - 1)) > infinity;
  bool bIsNaN = (b & (sign - 1)) > infinity;
  if ((aIsNaN && bIsNaN) || ((flags & PropagateNaN) && (aIsNaN || bIsNaN)))
    return info.nan;
  uint32_t resultSign = (a ^ b) & sign;
  if (flags & XorSignAbs) {
    a &= sign - 1;
    b &= sign - 1;
  }
  uint32_t result;
  if (aIsNaN || bIsNaN) {
    result = aIsNaN ? b : a;
  } else {
    // Order of the numbers by their bits: negative ones count down.
    auto key = [&](uint32_t bits) {
      int64_t magnitude = bits & (sign - 1);
      return bits & sign ? -1 - magnitude : magnitude;
    };
    bool takeA = flags & TakeMaximum ? key(a) >= key(b) : key(a) <= key(b);
    result = takeA ? a : b;
  }
  return flags & XorSignAbs ? result | resultSign : result;
}

uint64_t emulator::computeDouble(DoubleOperation operation, uint64_t a,
                                 uint64_t b, uint64_t c, Rounding rounding) {
  int previous = std::fegetround();
  int mode = rounding == Rounding::TowardZero ? FE_TOWARDZERO
             : rounding == Rounding::Down     ? FE_DOWNWARD
             : rounding == Rounding::Up       ? FE_UPWARD
                                              : FE_TONEAREST;
  // Volatile: nothing may move over the change of the mode.
  volatile double x = llvm::bit_cast<double>(a);
  volatile double y = llvm::bit_cast<double>(b);
  volatile double z = llvm::bit_cast<double>(c);
  volatile double result = 0;
  std::fesetround(mode);
  switch (operation) {
  case DoubleOperation::Add:
    result = x + y;
    break;
  case DoubleOperation::Multiply:
    result = x * y;
    break;
  case DoubleOperation::FuseMultiplyAdd:
    result = std::fma(x, y, z);
    break;
  case DoubleOperation::Divide:
    result = x / y;
    break;
  case DoubleOperation::SquareRoot:
    result = std::sqrt(x);
    break;
  }
  std::fesetround(previous);
  double value = result;
  return std::isnan(value) ? UINT64_C(0x7fffffffffffffff)
                           : llvm::bit_cast<uint64_t>(value);
}

static double approximateValue(double x, Approximation function) {
  switch (function) {
  case Approximation::Exp2:
    return std::exp2(x);
  case Approximation::Log2:
    return std::log2(x);
  case Approximation::Reciprocal:
    return 1 / x;
  case Approximation::ReciprocalSquareRoot:
    return 1 / std::sqrt(x);
  case Approximation::SquareRoot:
    return std::sqrt(x);
  case Approximation::Sine:
    return std::sin(x);
  case Approximation::Cosine:
    return std::cos(x);
  case Approximation::HyperbolicTangent:
    return std::tanh(x);
  }
  return x;
}

uint32_t emulator::approximate(uint32_t bits, Approximation function,
                               FloatFormat format, uint32_t flags) {
  return encodeFloat(
      approximateValue(decodeOperand(bits, format, flags), function), format,
      Rounding::NearestEven, flags);
}

uint64_t emulator::approximateDouble(uint64_t bits, Approximation function) {
  auto flush = [](uint64_t value) {
    return (value >> 52 & 0x7ff) == 0 ? value & (UINT64_C(1) << 63) : value;
  };
  constexpr uint64_t high = UINT64_C(0xffffffff00000000);
  double result =
      approximateValue(llvm::bit_cast<double>(flush(bits & high)), function);
  if (std::isnan(result))
    return UINT64_C(0x7fffffff00000000);
  return flush(llvm::bit_cast<uint64_t>(result)) & high;
}

uint32_t emulator::divideApproximately(uint32_t a, uint32_t b, uint32_t full,
                                       uint32_t flags) {
  double divisor = decodeOperand(b, FloatFormat::F32, flags);
  double dividend = decodeOperand(a, FloatFormat::F32, flags);
  double quotient = dividend / divisor;
  // a · (1 / b), where 1 / b underflows.
  if (!full && std::fabs(divisor) > 0x1p126 && std::isfinite(divisor))
    quotient = dividend * (std::signbit(divisor) ? -0.0 : 0.0);
  return encodeFloat(quotient, FloatFormat::F32, Rounding::NearestEven, flags);
}

uint32_t emulator::packBF16x2(uint32_t high, uint32_t low) {
  return static_cast<uint32_t>(roundToBF16(high)) << 16 | roundToBF16(low);
}

static uint32_t roundToF16(uint32_t bits) {
  uint32_t magnitude = bits & 0x7fffffff;
  // Normal in f16 and far from infinity: all but the rounding is a shift.
  if (magnitude >= 0x38800000 && magnitude < 0x477fe000)
    return (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13 |
           (bits >> 16 & 0x8000);
  return encodeFloat(llvm::bit_cast<float>(bits), FloatFormat::F16,
                     Rounding::NearestEven, NoFlags);
}

uint32_t emulator::packF16x2(uint32_t high, uint32_t low) {
  return roundToF16(high) << 16 | roundToF16(low);
}
