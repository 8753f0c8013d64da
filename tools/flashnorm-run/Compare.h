//===- Compare.h - How far results are apart --------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_RUN_COMPARE_H
#define FLASHNORM_RUN_COMPARE_H

#include "flashnorm/Runtime/Array.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

namespace flashnorm::run {

/// One result, computed three ways; the shapes are equal.
struct ComparedResult {
  const Array &fused;
  const Array &original;
  const Array &reference; ///< f64
};

/// Prints the errors of a result, and returns whether it passes: its relative
/// RMS error against f64 is at most `tolerance`, for large results at most 1.05
/// times that of the original; it is finite where f64 and the original are, and
/// nowhere where neither is; some element is compared. Overflow that the
/// original shares, or that the type demands, is left out. The tolerance when
/// none is requested: the default for `types`, or the original's own error when
/// that is larger.
bool compareResult(const ComparedResult &result, int64_t index,
                   std::optional<double> tolerance,
                   llvm::ArrayRef<DataType> types, llvm::raw_ostream &os);

/// RMS of the difference, relative to the reference's RMS (absolute where that
/// is zero), over the elements that are finite in the reference. Infinite when
/// one of these is not finite in `actual`, though its type can hold it.
double getError(const Array &actual, const Array &reference);

/// Prints a result's shape, RMS and largest magnitude.
void describeResult(const Array &result, int64_t index, llvm::raw_ostream &os);

/// The tolerance that goes with the least precise of some types.
double getDefaultTolerance(llvm::ArrayRef<DataType> types);

} // namespace flashnorm::run

#endif // FLASHNORM_RUN_COMPARE_H
