//===- Cost.h - How long a plan takes, roughly ------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How long a plan takes, roughly: enough to rank plans and to weigh a fusion
// against the chain that it replaces, not to predict a measurement. The model
// is described in docs/Planning.md.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_PLANNING_COST_H
#define FLASHNORM_PLANNING_COST_H

#include "flashnorm/Planning/Plan.h"
#include "flashnorm/Planning/Problem.h"
#include "flashnorm/Planning/Target.h"

namespace flashnorm {

/// Rows that the model assumes when they are only known at run time.
constexpr int64_t assumedRows = 16384;

/// Microseconds of one kernel that runs `plan`. The plan must have passed
/// verifyPlan.
double estimateKernel(const Plan &plan, const Problem &problem,
                      const TargetInfo &target);

/// Microseconds of the separate kernels for the norms of `problem`: what an
/// unfused chain spends besides its matrix multiplication.
double estimateSeparateNorms(const Problem &problem, const TargetInfo &target);

} // namespace flashnorm

#endif // FLASHNORM_PLANNING_COST_H
