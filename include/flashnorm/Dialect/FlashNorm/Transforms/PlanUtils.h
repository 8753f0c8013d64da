//===- PlanUtils.h - From flashnorm ops to the planner ----------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The planner knows no MLIR. This is the one place that describes an op to it
// and carries its answers back.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_PLANUTILS_H
#define FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_PLANUTILS_H

#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "flashnorm/Planning/Planner.h"

namespace flashnorm {

/// The planner's word for an element type (of a shaped type), if it has one.
std::optional<ElementType> getPlannerType(mlir::Type type);
/// "element type f64 has no kernel; bf16, f16 and f32 have".
std::string describeUnknownType(mlir::Type type);

/// Describes an op to the planner. Fails when an operand or result has an
/// element type that the planner has no word for (f64, f8, …), or the op does
/// what no kernel can: scale rows from outside, subtract means from the
/// product, return statistics. `reason` then names it.
mlir::FailureOr<Problem> getProblem(MatmulOp op, std::string &reason);

/// Elements from one row of an op's matrix operand to the next, leading sizes
/// counted as rows: kDynamic when it is known at run time only, none when the
/// array is packed as far as the types and a tensor.extract_slice tell. What
/// is read of it must be an input.
std::optional<int64_t> getRowStride(mlir::Value operand);

Plan getPlan(PlanAttr attr);
PlanAttr getPlanAttr(mlir::MLIRContext *context, const Plan &plan);

/// Holds the op's plan against its chip; an error says what cannot run.
mlir::LogicalResult verifyPlanOf(MatmulOp op);

/// "4096 rows", or "an assumed 16384 rows" where their number is not known.
std::string describeRows(const Problem &problem);

/// "wide_tile, mma_sync, tile 64x512x32, warps 1x8, 2 stages".
std::string describePlan(const Plan &plan);

/// What the options `chip` and `family` of a pass say.
struct PlanTarget {
  const TargetInfo *target = nullptr;
  PlannerOptions options;
};

/// Reads the two options. For a name that is unknown, or a family that the chip
/// does not have, an error at `loc` lists the legal ones.
mlir::FailureOr<PlanTarget> parsePlanTarget(mlir::Location loc,
                                            llvm::StringRef chip,
                                            llvm::StringRef family);

} // namespace flashnorm

#endif // FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_PLANUTILS_H
