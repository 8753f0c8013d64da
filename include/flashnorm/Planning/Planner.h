//===- Planner.h - Chooses and checks plans ---------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses a plan for a problem, or says why there is none; checks plans. The
// rules and the cost model are described in docs/Planning.md.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_PLANNING_PLANNER_H
#define FLASHNORM_PLANNING_PLANNER_H

#include "flashnorm/Planning/Plan.h"
#include "flashnorm/Planning/Problem.h"
#include "flashnorm/Planning/Target.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace flashnorm {

struct PlannerOptions {
  /// Only this family; none: the best one that the chip has.
  std::optional<Family> family;
  /// Decline a fusion that is estimated slower than the unfused chain. Off for
  /// an op that is fused already: it needs a plan, whatever it costs.
  bool onlyIfFaster = true;
};

/// What a plan takes of the chip.
struct PlanUsage {
  int64_t threads = 0;              ///< per CTA
  int64_t sharedMemory = 0;         ///< bytes per CTA, barriers and scratch in
  int64_t accumulatorRegisters = 0; ///< per MMA thread; 0 when in TMEM
  int64_t registersPerThread = 0;   ///< estimate: accumulator and the rest
  int64_t tensorMemoryColumns = 0;
};

/// A plan, or the reason against any, with the deciding numbers ("needs 274432
/// bytes of shared memory; sm_90a has 232448").
struct PlanDecision {
  std::optional<Plan> plan;
  std::string reason; ///< set when there is no plan
  /// Estimated time in microseconds of the plan, and of the best chain of
  /// kernels that computes the same with at least one norm by itself.
  double fusedMicroseconds = 0, unfusedMicroseconds = 0;
};

/// Never fails on odd input: what cannot run is declined.
PlanDecision choosePlan(const Problem &problem, const TargetInfo &target,
                        const PlannerOptions &options = {});

/// choosePlan for one target and set of options that remembers its decisions:
/// deep models ask the same question for every layer.
class Planner {
public:
  Planner(const TargetInfo &target, PlannerOptions options)
      : target(target), options(options) {}
  const PlanDecision &choose(const Problem &problem);

private:
  const TargetInfo &target;
  PlannerOptions options;
  std::map<Problem, PlanDecision> decisions;
};

PlanUsage computeUsage(const Plan &plan, const Problem &problem);

/// Whether a residual comes through the pipeline, as one more stage of its
/// tile: wgmma, where it has 16 bits an element and fits.
bool isResidualStaged(const Plan &plan, const Problem &problem);

/// A fusion pays when it is at least as fast as the chain that it replaces,
/// give or take the 2 % that the estimate cannot resolve. Callers that fuse
/// several matmuls with one norm pass the sums over all of them.
bool isWorthFusing(double fusedMicroseconds, double unfusedMicroseconds);

/// The reason against a fusion that is not.
std::string describeLoss(double fusedMicroseconds, double unfusedMicroseconds);

/// The widest row that one CTA can own with this family.
int64_t getMaxWideTile(Family family);

/// Checks a plan that someone wrote by hand. Returns an empty string when it
/// can run, else what is wrong with the value and the limit.
std::string verifyPlan(const Plan &plan, const Problem &problem,
                       const TargetInfo &target);

/// Why no plan at all can be made for a problem (types, sizes), or empty.
std::string verifyProblem(const Problem &problem);

} // namespace flashnorm

#endif // FLASHNORM_PLANNING_PLANNER_H
