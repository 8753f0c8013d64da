//===- NormStatistics.h - Means and roots that others read ------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Training keeps the mean and the reciprocal root of each row, and a program
// may read them besides. Once its norm is raised, they are results of it.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_NORMSTATISTICS_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_NORMSTATISTICS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/SetVector.h"
#include <string>

namespace flashnorm {

/// What a norm computes of each row.
enum class StatisticKind { ReciprocalRoot, Mean };

struct StatisticsReport {
  using Remark = std::pair<mlir::Location, std::string>;
  llvm::SmallVector<Remark> raised, declined;
  /// Computed what the norms return now; nobody reads it any more.
  llvm::SmallVector<mlir::Operation *> dead;
};

/// Gives those of `norms`, norm ops of `function`, statistics as results for
/// tensors that are such a statistic of their rows and are read behind them.
/// Norms that change are replaced in `norms`. As a mean is also read for a
/// root, it can be raised when the ops are gone that computed the root.
StatisticsReport raiseStatistics(mlir::func::FuncOp function,
                                 llvm::SetVector<mlir::Operation *> &norms,
                                 StatisticKind kind, bool preserveRounding);

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_NORMSTATISTICS_H
