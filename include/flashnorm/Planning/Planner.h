//===----------------------------------------------------------------------===//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Chooses a plan for a problem, or says why there is none.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_PLANNING_PLANNER_H
#define FLASHNORM_PLANNING_PLANNER_H

#include "flashnorm/Planning/Plan.h"
#include "flashnorm/Planning/Problem.h"
#include "flashnorm/Planning/Target.h"
#include "llvm/Support/Error.h"
#include <string>

namespace flashnorm {

struct PlannerOptions {
  /// Only this family; none: the best one that the chip has.
  std::optional<Family> family;
};

/// What a plan takes of the chip.
struct PlanUsage {
  int64_t threads = 0;               ///< per CTA
  int64_t sharedMemory = 0;          ///< bytes per CTA, barriers and scratch in
  int64_t accumulatorRegisters = 0;  ///< per MMA thread; 0 when in TMEM
  int64_t tensorMemoryColumns = 0;
};

/// A plan, or the reason against any: a full sentence with the deciding
/// numbers ("needs 274432 bytes of shared memory; sm_90a has 232448").
struct PlanDecision {
  std::optional<Plan> plan;
  std::string reason; ///< set when there is no plan
  /// Estimated time in microseconds of the plan, and of the unfused chain.
  double fusedMicroseconds = 0, unfusedMicroseconds = 0;
};

/// Never fails on odd input: what cannot run is declined.
PlanDecision choosePlan(const Problem &problem, const TargetInfo &target,
                        const PlannerOptions &options = {});

PlanUsage computeUsage(const Plan &plan, const Problem &problem);

/// Checks a plan that someone wrote by hand. Returns an empty string when it
/// can run, else what is wrong with the value and the limit.
std::string verifyPlan(const Plan &plan, const Problem &problem,
                       const TargetInfo &target);

} // namespace flashnorm

#endif // FLASHNORM_PLANNING_PLANNER_H
