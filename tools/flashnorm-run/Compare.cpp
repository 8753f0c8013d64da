//===- Compare.cpp - How far results are apart ----------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compare.h"
#include "llvm/Support/Format.h"
#include <cmath>
#include <limits>

using namespace flashnorm;
using namespace flashnorm::run;

// The accuracy rule: a fused result may not be less accurate than the original
// by more than this, measured over enough elements for the ratio to mean
// something. The slack is below one rounding of f32.
static constexpr double maxRatio = 1.05;
static constexpr double ratioSlack = 1e-7;
static constexpr int64_t minRatioElements = 1 << 16;

namespace {
/// What one array says against another, element by element.
struct Difference {
  double squares = 0, referenceSquares = 0;
  double maxAbsolute = 0;
  int64_t worst = 0;
  int64_t notFinite = 0; ///< NaN or infinite where the other is finite
  int64_t firstNotFinite = 0;
  int64_t comparable = 0; ///< the reference is finite there
  int64_t compared = 0;   ///< and so is the other, or is counted as notFinite

  /// Relative to the reference's RMS; absolute where that is zero.
  double finiteError() const {
    return std::sqrt(referenceSquares > 0 ? squares / referenceSquares
                                          : squares);
  }
  double error() const {
    return notFinite ? std::numeric_limits<double>::infinity() : finiteError();
  }
};
} // namespace

/// What `other` does not have as a number either is left out: it is NaN there,
/// or the same infinity.
static Difference measure(const Array &actual, const Array &reference,
                          const Array *other = nullptr) {
  Difference result;
  for (int64_t i = 0, e = actual.size(); i < e; ++i) {
    const double x = actual.get(i);
    const double y = reference.get(i);
    if (!std::isfinite(y))
      continue;
    ++result.comparable;
    if (!std::isfinite(x)) {
      // A value that the type cannot hold is infinite in it.
      char rounded[8];
      storeElement(actual.type, rounded, y);
      const double z = other ? other->get(i) : 0;
      if (x == loadElement(actual.type, rounded) || std::isnan(z) || x == z)
        continue;
      ++result.compared;
      if (!result.notFinite++)
        result.firstNotFinite = i;
      continue;
    }
    ++result.compared;
    result.referenceSquares += y * y;
    const double distance = std::fabs(x - y);
    result.squares += distance * distance;
    if (distance > result.maxAbsolute) {
      result.maxAbsolute = distance;
      result.worst = i;
    }
  }
  // Where nothing is expected, errors count as they are.
  if (result.referenceSquares == 0 && result.compared > 0)
    result.squares /= result.compared;
  return result;
}

double run::getError(const Array &actual, const Array &reference) {
  return measure(actual, reference).error();
}

static std::string formatIndex(int64_t index, llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> position(shape.size());
  for (size_t dim = shape.size(); dim-- > 0;) {
    position[dim] = index % shape[dim];
    index /= shape[dim];
  }
  return formatShape(position);
}

void run::describeResult(const Array &result, int64_t index,
                         llvm::raw_ostream &os) {
  double squares = 0, largest = 0;
  int64_t notFinite = 0;
  const int64_t count = result.size();
  for (int64_t i = 0; i < count; ++i) {
    const double x = result.get(i);
    if (!std::isfinite(x)) {
      ++notFinite;
      continue;
    }
    squares += x * x;
    largest = std::max(largest, std::fabs(x));
  }
  os << "result " << index << ": " << stringify(result.type) << ' '
     << formatShape(result.shape);
  if (count > notFinite)
    os << ", RMS "
       << llvm::format("%.3e", std::sqrt(squares / (count - notFinite)))
       << ", largest " << llvm::format("%.3e", largest);
  if (notFinite)
    os << ", " << notFinite << " elements not finite";
  os << '\n';
}

double run::getDefaultTolerance(llvm::ArrayRef<DataType> types) {
  double tolerance = 1e-12;
  for (DataType type : types)
    tolerance = std::max(tolerance, type == DataType::BF16  ? 3e-3
                                    : type == DataType::F16 ? 5e-4
                                    : type == DataType::F32 ? 1e-5
                                                            : 1e-12);
  return tolerance;
}

/// `value` with as many digits as tell it from `other`, 4 at least.
static std::string distinct(double value, double other) {
  std::string text, otherText;
  for (int digits = 3; digits <= 16; ++digits) {
    text.clear();
    otherText.clear();
    llvm::raw_string_ostream(text) << llvm::format("%.*e", digits, value);
    llvm::raw_string_ostream(otherText) << llvm::format("%.*e", digits, other);
    if (text != otherText)
      break;
  }
  return text;
}

bool run::compareResult(const ComparedResult &result, int64_t index,
                        std::optional<double> requested,
                        llvm::ArrayRef<DataType> types, llvm::raw_ostream &os) {
  const auto &[fused, original, reference] = result;
  const Difference fusedError = measure(fused, reference, &original),
                   originalError = measure(original, reference, &fused),
                   change = measure(fused, original);
  const int64_t count = fused.size();
  auto number = [](double value) { return llvm::format("%.3e", value); };
  const bool absolute =
      fusedError.compared > 0 && fusedError.referenceSquares == 0;

  os << "result " << index << ": " << stringify(fused.type) << ' '
     << formatShape(fused.shape) << '\n';
  if (fusedError.compared || count == 0) {
    os << "  "
       << (absolute ? "RMS error (f64 is zero): " : "RMS error against f64: ")
       << "fused " << number(fusedError.error()) << ", original "
       << number(originalError.error());
    const double ratio = fusedError.error() / originalError.error();
    if (std::isfinite(ratio))
      os << ", ratio " << llvm::format("%.3f", ratio);
    os << "\n  fused against original: " << number(change.error()) << '\n';
  }
  if (fusedError.compared > fusedError.notFinite)
    os << "  largest error " << number(fusedError.maxAbsolute) << " at "
       << formatIndex(fusedError.worst, fused.shape) << ": fused "
       << llvm::format("%g", fused.get(fusedError.worst)) << ", original "
       << llvm::format("%g", original.get(fusedError.worst)) << ", f64 "
       << llvm::format("%g", reference.get(fusedError.worst)) << '\n';

  // Infinities and NaNs go through a fused op as through the original.
  int64_t notFinite = 0, hidden = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (std::isfinite(original.get(i)) || std::isfinite(reference.get(i)))
      continue;
    ++notFinite;
    hidden += std::isfinite(fused.get(i));
  }
  if (notFinite)
    os << "  not finite, in f64 and in the original: " << notFinite
       << " elements; finite in the fused form: " << hidden << '\n';
  // The types of the program overflow where f64 does not.
  const int64_t overflowed = fusedError.comparable - fusedError.compared;
  if (overflowed)
    os << "  not compared, as they overflow in the program's types: "
       << overflowed << " elements\n";

  // In a chain of many roundings the original itself may be further from f64
  // than one op is allowed to be; the fused form need not be better than that.
  // What overflows in the original alone excuses nothing elsewhere.
  const double tolerance = requested.value_or(
      std::max(getDefaultTolerance(types), originalError.finiteError()));
  bool passed = true;
  if (hidden) {
    os << "  FAIL: " << hidden
       << " elements are finite where the original and f64 are not\n";
    passed = false;
  }
  if (count > 0 && fusedError.comparable == 0) {
    os << "  FAIL: f64 has no finite element, so that there is nothing to "
          "compare with\n";
    passed = false;
  } else if (count > 0 && fusedError.compared == 0) {
    os << "  FAIL: no element is finite in the fused form, so that there is "
          "nothing to compare; smaller values (--input) may be\n";
    passed = false;
  } else if (fusedError.notFinite) {
    os << "  FAIL: " << fusedError.notFinite
       << " elements are NaN or infinite where f64 and the original are not, "
          "the first at "
       << formatIndex(fusedError.firstNotFinite, fused.shape) << '\n';
    passed = false;
  } else if (!(fusedError.error() <= tolerance)) {
    os << "  FAIL: error " << distinct(fusedError.error(), tolerance)
       << " exceeds the tolerance of "
       << distinct(tolerance, fusedError.error()) << '\n';
    passed = false;
  }
  if (count >= minRatioElements && !fusedError.notFinite &&
      !(fusedError.error() <= maxRatio * originalError.error() + ratioSlack)) {
    const double limit = maxRatio * originalError.error();
    os << "  FAIL: error " << distinct(fusedError.error(), limit) << " exceeds "
       << llvm::format("%.2f", maxRatio) << " times the original's, "
       << distinct(limit, fusedError.error()) << '\n';
    passed = false;
  }
  return passed;
}
