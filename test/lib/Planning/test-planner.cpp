//===- test-planner.cpp - Asks the planner without any IR -----------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// test-planner sweep             every chip and family over a grid of problems:
//                                each chosen plan must pass verifyPlan and be
//                                the same when asked again; prints counts
// test-planner CHIP FAMILY PRE POST M,N,K...   prints one decision per problem
// test-planner emit SEED COUNT   prints a module of random matmuls with the
// plan
//                                that each gets, and the bytes planned for it
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Planning/Planner.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace flashnorm;
using llvm::outs;

static constexpr Family families[] = {Family::MmaSync, Family::Wgmma,
                                      Family::Tcgen05};

static std::string describe(const Plan &plan, const Problem &problem) {
  PlanUsage usage = computeUsage(plan, problem);
  return llvm::formatv(
      "{0} {1} {2}x{3}x{4} warps {5}x{6} stages {7}: {8} threads, {9} bytes, "
      "{10} accumulators, {11} columns",
      stringify(plan.strategy), stringify(plan.family), plan.tileM, plan.tileN,
      plan.tileK, plan.warpsM, plan.warpsN, plan.stages, usage.threads,
      usage.sharedMemory, usage.accumulatorRegisters,
      usage.tensorMemoryColumns);
}

namespace {
/// Counts over one chip and family.
struct Sweep {
  int64_t planned = 0, declined = 0, bad = 0;

  void run(const Problem &problem, const TargetInfo &target, Family family) {
    PlannerOptions options{family, /*onlyIfFaster=*/false};
    PlanDecision decision = choosePlan(problem, target, options);
    if (!decision.plan) {
      ++declined;
      // With a kernel for it, and rows that fit, there must be a plan.
      bool mustRun = target.supports(family) && problem.n % 8 == 0 &&
                     problem.k % 8 == 0 &&
                     (problem.postNorm == Norm::None || problem.n <= 512);
      if (mustRun || decision.reason.empty())
        fail(problem, target, family, "declined: " + decision.reason);
      return;
    }
    ++planned;
    std::string why = verifyPlan(*decision.plan, problem, target);
    if (!why.empty())
      fail(problem, target, family, "chose what verifyPlan rejects: " + why);
    PlanDecision again = choosePlan(problem, target, options);
    if (!again.plan ||
        describe(*again.plan, problem) != describe(*decision.plan, problem))
      fail(problem, target, family, "chose differently when asked again");
    if (!(decision.fusedMicroseconds > 0) ||
        !(decision.unfusedMicroseconds > 0))
      fail(problem, target, family, "estimate is not positive");
  }

  void fail(const Problem &problem, const TargetInfo &target, Family family,
            const std::string &what) {
    ++bad;
    outs() << llvm::formatv(
        "{0} {1} m {2} n {3} k {4} pre {5} post {6}: {7}\n", target.chip,
        stringify(family), problem.m.value_or(-1), problem.n, problem.k,
        stringify(problem.preNorm), stringify(problem.postNorm), what);
  }
};
} // namespace

static int sweep() {
  int64_t bad = 0;
  for (const TargetInfo &target : getTargets())
    for (Family family : families) {
      Sweep counts;
      Problem problem;
      for (std::optional<int64_t> m :
           {std::optional<int64_t>(), std::optional<int64_t>(0),
            std::optional<int64_t>(100), std::optional<int64_t>(131072)})
        for (int64_t n : {4, 8, 24, 64, 96, 200, 256, 352, 448, 512, 520})
          for (int64_t k : {8, 72, 4096})
            for (Norm pre : {Norm::None, Norm::RMS})
              for (Norm post : {Norm::None, Norm::RMS, Norm::Layer}) {
                problem.m = m;
                problem.n = n;
                problem.k = k;
                problem.preNorm = pre;
                problem.postNorm = post;
                for (bool transposed : {false, true}) {
                  problem.transposeWeight = transposed;
                  counts.run(problem, target, family);
                }
              }
      outs() << llvm::formatv("{0} {1}: {2} planned, {3} declined\n",
                              target.chip, stringify(family), counts.planned,
                              counts.declined);
      bad += counts.bad;
    }
  outs() << bad << " bad\n";
  return bad != 0;
}

namespace {
/// The same numbers everywhere: the standard leaves the distributions open.
struct Random {
  uint64_t state;

  int64_t below(int64_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
  }
  bool coin() { return below(2); }
};
} // namespace

/// `// bytes pI B` and function @pI for problem I.
static void emitProblem(int64_t index, const Problem &problem,
                        const Plan &plan) {
  auto type = [](auto... sizes) {
    std::string text;
    ((text += llvm::Twine(sizes).str() + "x"), ...);
    return "tensor<" + text + "bf16>";
  };
  std::string x = type("?", problem.k), y = type("?", problem.n),
              v = type(problem.n),
              w = problem.transposeWeight ? type(problem.n, problem.k)
                                          : type(problem.k, problem.n);
  outs() << llvm::formatv("// bytes p{0} {1}\n", index,
                          computeUsage(plan, problem).sharedMemory)
         << llvm::formatv("func.func @p{0}(%x: {1}, %w: {2}, %v: {3}, %r: {4}, "
                          "%init: {4}) -> {4} {{\n  %y = flashnorm.matmul "
                          "ins(%x, %w : {1}, {2})",
                          index, x, w, v, y);
  for (auto [has, name] :
       {std::pair(problem.hasBias, "bias(%v : "),
        std::pair(problem.hasResidual, "residual(%r : "),
        std::pair(problem.hasNormWeight, "norm_weight(%v : "),
        std::pair(problem.hasNormBias, "norm_bias(%v : ")})
    if (has)
      outs() << "\n      " << name << (name[0] == 'r' ? y : v) << ")";
  outs() << "\n      outs(%init : " << y << ") {";
  if (problem.transposeWeight)
    outs() << "transpose_weight, ";
  if (problem.hasActivation)
    outs() << "activation = #flashnorm.activation<relu>, ";
  if (problem.preNorm != Norm::None)
    outs() << "pre_norm = #flashnorm.norm<rms, eps = 1.0e-5>, ";
  if (problem.postNorm != Norm::None)
    outs() << "post_norm = #flashnorm.norm<" << stringify(problem.postNorm)
           << ", eps = 1.0e-5>, ";
  outs() << llvm::formatv(
      "\n      plan = #flashnorm.plan<strategy = {0}, chip = \"{1}\", family = "
      "{2}, tile = [{3}, {4}, {5}], warps = [{6}, {7}], stages = {8}, "
      "schedule = {9}, cluster = [{10}, {11}, {12}]{13}{14}>} -> {15}\n"
      "  return %y : {15}\n}\n",
      stringify(plan.strategy), plan.chip, stringify(plan.family), plan.tileM,
      plan.tileN, plan.tileK, plan.warpsM, plan.warpsN, plan.stages,
      stringify(plan.schedule), plan.clusterM, plan.clusterN, plan.clusterK,
      plan.residentWeight ? ", resident_weight" : "",
      plan.prefetch ? llvm::formatv(", prefetch = {0}", plan.prefetch).str()
                    : "",
      y);
}

static int emit(int64_t seed, int64_t count) {
  Random random{uint64_t(seed)};
  for (int64_t i = 0; i < count;) {
    llvm::ArrayRef<TargetInfo> targets = getTargets();
    const TargetInfo &target = targets[random.below(targets.size())];
    Family family = families[random.below(std::size(families))];
    Problem problem;
    problem.n = 8 * (1 + random.below(64));
    problem.k = 8 * (1 + random.below(32));
    problem.transposeWeight = random.coin();
    problem.preNorm = random.coin() ? Norm::RMS : Norm::None;
    problem.postNorm = Norm(random.below(3));
    problem.hasBias = random.coin();
    problem.hasResidual = random.coin();
    problem.hasActivation = random.coin();
    problem.hasNormWeight = problem.postNorm != Norm::None && random.coin();
    problem.hasNormBias = problem.postNorm == Norm::Layer && random.coin();
    if (!target.supports(family))
      continue;
    PlanDecision decision =
        choosePlan(problem, target, {family, /*onlyIfFaster=*/false});
    if (!decision.plan) {
      llvm::errs() << "no plan: " << decision.reason << "\n";
      return 1;
    }
    emitProblem(i++, problem, *decision.plan);
  }
  return 0;
}

static Norm parseNorm(llvm::StringRef name) {
  return name == "rms" ? Norm::RMS : name == "layer" ? Norm::Layer : Norm::None;
}

int main(int argc, char **argv) {
  if (argc == 2 && llvm::StringRef(argv[1]) == "sweep")
    return sweep();
  int64_t seed = 0, count = 0;
  if (argc == 4 && llvm::StringRef(argv[1]) == "emit" &&
      llvm::to_integer(argv[2], seed) && llvm::to_integer(argv[3], count))
    return emit(seed, count);
  const TargetInfo *target = argc > 5 ? lookupTarget(argv[1]) : nullptr;
  if (!target) {
    llvm::errs() << "usage: test-planner sweep | emit SEED COUNT | CHIP FAMILY "
                    "PRE POST M,N,K...\n";
    return 2;
  }
  PlannerOptions options{parseFamily(argv[2])};
  for (int i = 5; i < argc; ++i) {
    llvm::SmallVector<llvm::StringRef, 3> sizes;
    llvm::StringRef(argv[i]).split(sizes, ',');
    Problem problem;
    int64_t m = 0;
    if (sizes.size() != 3 || !llvm::to_integer(sizes[1], problem.n) ||
        !llvm::to_integer(sizes[2], problem.k))
      return 2;
    if (llvm::to_integer(sizes[0], m))
      problem.m = m;
    problem.preNorm = parseNorm(argv[3]);
    problem.postNorm = parseNorm(argv[4]);
    PlanDecision decision = choosePlan(problem, *target, options);
    outs() << argv[i] << " "
           << (decision.plan ? describe(*decision.plan, problem)
                             : "declined: " + decision.reason)
           << llvm::formatv("; {0:F1} us, unfused {1:F1} us\n",
                            decision.fusedMicroseconds,
                            decision.unfusedMicroseconds);
  }
  return 0;
}
