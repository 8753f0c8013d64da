//===- Planner.cpp - Chooses a plan, or says why there is none ------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Enumerates the tiles that a family's kernels come in, drops what verifyPlan
// rejects, and takes the cheapest by the cost model; the first of equals, so
// that the choice is the same on every run.
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Planning/Planner.h"
#include "flashnorm/Planning/Cost.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace flashnorm;
using llvm::Twine;

namespace {
/// One tile and its split over warps; stages are chosen afterwards.
struct TileShape {
  int64_t tileM, tileN, tileK, warpsM, warpsN;
  Schedule schedule = Schedule::Cooperative;
  int64_t clusterM = 1, clusterN = 1, clusterK = 1;
  bool residentWeight = false;
};
using Visitor = llvm::function_ref<void(TileShape)>;
} // namespace

/// A wide tile covers the row with as many warps of `warpColumns` as needed.
static int64_t warpsForRow(const Problem &problem, int64_t warpColumns) {
  return llvm::divideCeil(problem.n, warpColumns);
}

static bool needsWideTile(const Problem &problem) {
  return problem.postNorm != Norm::None;
}

static void forEachMmaSyncTile(const Problem &problem, Visitor visit) {
  for (int64_t warpColumns : {32, 64, 96, 128}) {
    llvm::SmallVector<int64_t, 4> splits = {1, 2, 4};
    if (needsWideTile(problem))
      splits = {warpsForRow(problem, warpColumns)};
    else if (warpColumns == 96)
      continue; // serves only rows that it divides
    for (int64_t warpsN : splits)
      for (int64_t warpRows : {16, 32, 64})
        for (int64_t warpsM : {1, 2, 4, 8})
          for (int64_t tileK : {32, 64})
            visit({warpRows * warpsM, warpColumns * warpsN, tileK, warpsM,
                   warpsN});
  }
}

/// Tiles are made of slices of 32 columns; W [K,N] comes in boxes of 64, within
/// which no warpgroup can start, nor tcgen05's tiles end.
static int64_t columnUnit(const Problem &problem, Family family,
                          int64_t warpsN = 1) {
  bool takesHalfBoxes = family == Family::Wgmma && warpsN == 1;
  return problem.transposeWeight || takesHalfBoxes ? 32 : 64;
}

static void forEachWgmmaTile(const Problem &problem, Visitor visit) {
  auto visitClusters = [&](TileShape shape) {
    visit(shape);
    shape.clusterM = 2;
    visit(shape);
    shape.clusterM = 1;
    if (shape.schedule == Schedule::Cooperative)
      for (shape.clusterK = 2; shape.clusterK <= 8; shape.clusterK *= 2)
        visit(shape);
  };
  // `rows`: of a warpgroup.
  auto visitSplit = [&](int64_t rows, int64_t warpsM, int64_t warpsN,
                        Schedule schedule) {
    int64_t unit = columnUnit(problem, Family::Wgmma, warpsN);
    if (needsWideTile(problem)) {
      TileShape shape{rows * warpsM,
                      int64_t(llvm::alignTo(problem.n, unit * warpsN)),
                      64,
                      warpsM,
                      warpsN,
                      schedule};
      visitClusters(shape);
      // An even number of slices can be dealt out to several CTAs.
      int64_t even = llvm::alignTo(problem.n, 64 * warpsN);
      if (even > shape.tileN) {
        shape.tileN = even;
        visitClusters(shape);
      }
      return;
    }
    for (int64_t columns = unit; columns <= 256; columns += unit)
      visitClusters(
          {rows * warpsM, columns * warpsN, 64, warpsM, warpsN, schedule});
  };
  visitSplit(64, 1, 1, Schedule::Cooperative);
  visitSplit(64, 1, 1, Schedule::PingPong);
  // Two CTAs side by side.
  if (needsWideTile(problem) && problem.n > 256)
    visit({64,
           int64_t(llvm::alignTo(llvm::divideCeil(problem.n, 2),
                                 columnUnit(problem, Family::Wgmma))),
           64, 1, 1, Schedule::PingPong, /*clusterM=*/1, /*clusterN=*/2});
  visitSplit(64, 2, 1, Schedule::Cooperative);
  visitSplit(64, 1, 2, Schedule::Cooperative);
  // Twice the rows, which leaves registers for 160 columns.
  visitSplit(128, 1, 1, Schedule::PingPong);
  visitSplit(128, 2, 1, Schedule::Cooperative);
  // All columns in one CTA, or in a few side by side, that keep them.
  for (int64_t ctas : {1, 2, 4}) {
    int64_t columns = llvm::alignTo(llvm::divideCeil(problem.n, ctas),
                                    columnUnit(problem, Family::Wgmma));
    if (columns > 256 || (ctas - 1) * columns >= problem.n)
      continue;
    for (int64_t rows : {64, 128}) {
      visit({rows, columns, 64, 1, 1, Schedule::PingPong, /*clusterM=*/1, ctas,
             /*clusterK=*/1, /*residentWeight=*/true});
      if (ctas == 1)
        visit({2 * rows, columns, 64, 2, 1, Schedule::Cooperative,
               /*clusterM=*/1, /*clusterN=*/1, /*clusterK=*/1,
               /*residentWeight=*/true});
    }
  }
}

static void forEachTcgen05Tile(const Problem &problem, Visitor visit) {
  if (needsWideTile(problem)) {
    visit({128,
           int64_t(
               llvm::alignTo(problem.n, columnUnit(problem, Family::Tcgen05))),
           64, 1, 1});
    return;
  }
  for (int64_t columns : {32, 64, 128, 256})
    visit({128, columns, 64, 1, 1});
}

static void forEachTile(Family family, const Problem &problem, Visitor visit) {
  switch (family) {
  case Family::MmaSync:
    return forEachMmaSyncTile(problem, visit);
  case Family::Wgmma:
    return forEachWgmmaTile(problem, visit);
  case Family::Tcgen05:
    return forEachTcgen05Tile(problem, visit);
  }
}

/// tcgen05 is by request only until its kernels have been run on hardware.
static Family getDefaultFamily(const TargetInfo &target) {
  return target.hasWgmma ? Family::Wgmma : Family::MmaSync;
}

static Strategy getStrategy(const Problem &problem) {
  if (problem.postNorm != Norm::None)
    return Strategy::WideTile;
  return problem.preNorm != Norm::None ? Strategy::LazyPreNorm : Strategy::Gemm;
}

/// Stages before its load that x is asked of device memory. Measured on an
/// H200: 64x256 tiles, which have little of x under way, gain 1 to 5 % where a
/// CTA has many of them and K is long; narrower and taller tiles, short rows
/// and such as share lines lose 1 to 40 %.
static int64_t choosePrefetch(const Plan &plan, const Problem &problem,
                              double tilesOfCTA) {
  constexpr int64_t ahead = 4, leastDepth = 1024, lineBytes = 128;
  bool isPrefetched =
      plan.family == Family::Wgmma && plan.schedule == Schedule::PingPong &&
      plan.clusterSize() == 1 && !plan.isTall() && plan.tileN == 256 &&
      problem.k >= leastDepth && !problem.hasRowStride &&
      problem.k * sizeInBytes(problem.inputType) % lineBytes == 0 &&
      tilesOfCTA >= 6;
  return isPrefetched ? ahead : 0;
}

/// The cheapest plan that runs; without one, `reason` holds what stands
/// against the first candidate.
static std::optional<Plan> findBestPlan(const Problem &problem,
                                        const TargetInfo &target, Family family,
                                        double &microseconds,
                                        std::string &reason) {
  std::optional<Plan> best;
  forEachTile(family, problem, [&](TileShape shape) {
    // No tile of twice the rows or columns that there are.
    int64_t rows = problem.m.value_or(assumedRows);
    bool splitsRows =
        shape.warpsM > 1 || (family == Family::Wgmma && shape.tileM > 64);
    if (splitsRows && shape.tileM >= 2 * std::max<int64_t>(rows, 1))
      return;
    if (shape.warpsN > 1 && !needsWideTile(problem) &&
        shape.tileN >= 2 * problem.n)
      return;
    // Nor a cluster along M for one row of tiles, nor tiles shared where there
    // are enough to give each SM its own.
    int64_t tiles = llvm::divideCeil(rows, shape.tileM) *
                    llvm::divideCeil(problem.n, shape.tileN);
    if ((shape.clusterM > 1 && rows <= shape.tileM) ||
        (shape.clusterK > 1 &&
         tiles * shape.clusterK > target.numSMsForClusters(shape.clusterK)))
      return;
    Plan plan{getStrategy(problem),
              family,
              target.chip.str(),
              shape.tileM,
              shape.tileN,
              shape.tileK,
              shape.warpsM,
              shape.warpsN,
              2,
              shape.schedule,
              shape.clusterM,
              shape.clusterN,
              shape.clusterK,
              shape.residentWeight};
    if (std::string why = verifyPlan(plan, problem, target); !why.empty()) {
      if (!best && reason.empty())
        reason = why;
      return;
    }
    plan.prefetch =
        choosePrefetch(plan, problem, double(tiles) / target.numSMs);
    // More stages hide more latency, fewer leave room for a second CTA.
    for (int64_t stages : {2, 3, 4, 5, 6, 8}) {
      plan.stages = stages;
      if (computeUsage(plan, problem).sharedMemory >
          target.sharedMemoryPerBlock)
        break;
      double cost = estimateKernel(plan, problem, target);
      if (best && cost >= microseconds)
        continue;
      best = plan;
      microseconds = cost;
    }
  });
  return best;
}

/// The best chain that computes the same with fewer norms in the matmul: none
/// or, of two, either one.
static double estimateAlternative(const Problem &problem,
                                  const TargetInfo &target, Family family) {
  double best = std::numeric_limits<double>::infinity();
  for (bool keepPre : {false, true})
    for (bool keepPost : {false, true}) {
      Problem matmul = problem, norms = problem;
      (keepPre ? norms : matmul).preNorm = Norm::None;
      (keepPost ? norms : matmul).postNorm = Norm::None;
      if (norms.preNorm == Norm::None && norms.postNorm == Norm::None)
        continue; // the fused op itself
      if (matmul.postNorm == Norm::None)
        matmul.hasNormWeight = matmul.hasNormBias = matmul.returnsSum = false;
      double microseconds = 0;
      std::string reason;
      if (findBestPlan(matmul, target, family, microseconds, reason))
        best =
            std::min(best, microseconds + estimateSeparateNorms(norms, target));
    }
  return best;
}

bool flashnorm::isWorthFusing(double fusedMicroseconds,
                              double unfusedMicroseconds) {
  return fusedMicroseconds <= 1.02 * unfusedMicroseconds;
}

std::string flashnorm::describeLoss(double fusedMicroseconds,
                                    double unfusedMicroseconds) {
  return llvm::formatv("estimated at {0:F1} us fused, {1:F1} us unfused",
                       fusedMicroseconds, unfusedMicroseconds)
      .str();
}

PlanDecision flashnorm::choosePlan(const Problem &problem,
                                   const TargetInfo &target,
                                   const PlannerOptions &options) {
  PlanDecision decision;
  decision.reason = verifyProblem(problem);
  if (!decision.reason.empty())
    return decision;
  Family family = options.family.value_or(getDefaultFamily(target));
  if (!target.supports(family)) {
    decision.reason = (target.chip + " has no " + stringify(family) +
                       "; it has " + describeLegalFamilies(target))
                          .str();
    return decision;
  }
  if (needsWideTile(problem) && problem.n > getMaxWideTile(family)) {
    decision.reason = ("rows of " + Twine(problem.n) +
                       " columns do not fit one CTA; wide_tile takes at most " +
                       Twine(getMaxWideTile(family)))
                          .str();
    return decision;
  }
  std::string reason;
  std::optional<Plan> plan =
      findBestPlan(problem, target, family, decision.fusedMicroseconds, reason);
  if (!plan) {
    decision.reason = reason;
    return decision;
  }

  decision.unfusedMicroseconds =
      plan->strategy == Strategy::Gemm
          ? decision.fusedMicroseconds
          : estimateAlternative(problem, target, family);
  if (options.onlyIfFaster && !isWorthFusing(decision.fusedMicroseconds,
                                             decision.unfusedMicroseconds)) {
    decision.reason =
        describeLoss(decision.fusedMicroseconds, decision.unfusedMicroseconds);
    return decision;
  }
  decision.plan = plan;
  return decision;
}

const PlanDecision &Planner::choose(const Problem &problem) {
  auto [it, isNew] = decisions.try_emplace(problem);
  if (isNew)
    it->second = choosePlan(problem, target, options);
  return it->second;
}
