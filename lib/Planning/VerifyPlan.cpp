//===- VerifyPlan.cpp - What a plan takes, and whether the chip has it ----===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules that the kernels of each MMA family impose. The planner proposes
// only what passes here, so that a plan written by hand and a chosen one are
// held to the same limits.
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Planning/Planner.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>

using namespace flashnorm;
using llvm::StringRef;
using llvm::Twine;

/// Columns that the epilogue handles at a time; tiles are made of whole slices.
static constexpr int64_t sliceColumns = 32;
/// Beyond these nothing runs; they also keep the sums below from overflowing.
static constexpr int64_t maxTileSize = 1024, maxStages = 32;
static constexpr int64_t maxThreadsPerBlock = 1024;

/// Kernels count columns, depth and rows in 32 bits, some of the first two in
/// steps beyond the end.
static constexpr int64_t maxColumns = int64_t(1) << 30;
static constexpr int64_t maxRows = std::numeric_limits<int32_t>::max();

/// 16 rows of 128 bytes.
static constexpr int64_t storeBoxBytes = 2048;

int64_t flashnorm::getMaxWideTile(Family) {
  // mma_sync: 64x512 over 1x8 warps of 64x64. wgmma: two consumer warpgroups
  // of 64x256 side by side. tcgen05: all 512 columns of TMEM.
  return 512;
}

/// What mma_sync's epilogue holds beside the accumulator. Fitted to 1500
/// kernels of random plans and epilogues, so that none that spills is accepted:
/// ptxas loads the residual ahead of its use, keeps both results, and spends
/// predicates and addresses on columns beyond the end.
static int64_t estimateEpilogueRegisters(const Plan &plan,
                                         const Problem &problem) {
  int64_t rows = plan.tileM / plan.warpsM, columns = plan.tileN / plan.warpsN;
  bool isMasked = problem.n % plan.tileN != 0;
  int64_t registers = 0;
  if (problem.hasResidual)
    registers += rows * 7 / 8;
  if (problem.returnsSum)
    registers += isMasked ? rows * 3 / 4 : rows / 4;
  if (isMasked)
    registers += rows / 4;
  if (isMasked && problem.hasActivation && problem.postNorm != Norm::None)
    registers += rows / 8;
  if (rows > 64 && (problem.hasResidual || problem.returnsSum))
    registers += rows / 2;
  // Nothing keeps ptxas from handling all rows of a single slice at once.
  if (isMasked && columns == sliceColumns && !problem.hasResidual &&
      problem.preNorm == Norm::None && problem.postNorm == Norm::None)
    registers += 2 * rows;
  return registers;
}

bool flashnorm::isResidualStaged(const Plan &plan, const Problem &problem) {
  int64_t elements = plan.tileM * llvm::alignTo(plan.tileN, 64);
  return plan.family == Family::Wgmma && plan.clusterK == 1 &&
         sizeInBytes(problem.residualType) == 2 &&
         elements * 2 <= plan.stageElements(problem.transposeWeight) *
                             sizeInBytes(problem.inputType);
}

/// The same of wgmma's. Of some 450 kernels of random plans and epilogues,
/// those that spilled had all of one of these.
static int64_t estimateWgmmaEpilogueRegisters(const Plan &plan,
                                              const Problem &problem) {
  int64_t accumulators = plan.partElements() / 128;
  bool isMasked = problem.n % (plan.tileN * plan.clusterN) != 0;
  bool spills = isMasked && problem.hasActivation && problem.hasResidual &&
                accumulators >= 112;
  bool readsResidual = problem.hasResidual && !isResidualStaged(plan, problem);
  if (plan.isTall()) {
    bool isWide = problem.postNorm != Norm::None;
    spills |= accumulators > 128 && (isWide || readsResidual);
    spills |= accumulators >= 112 && isWide && readsResidual;
  }
  return spills ? 80 : 0;
}

/// Registers of a thread beside the accumulator: addresses and the epilogue;
/// for mma_sync also the fragments of A and B, of which ptxas holds more the
/// deeper a stage is, and the sums of a lazy pre-norm. Fitted to what ptxas
/// reports.
static int64_t estimateOtherRegisters(const Plan &plan,
                                      const Problem &problem) {
  if (plan.family == Family::Wgmma)
    return 48 + estimateWgmmaEpilogueRegisters(plan, problem);
  if (plan.family != Family::MmaSync)
    return 48;
  int64_t rows = plan.tileM / plan.warpsM, columns = plan.tileN / plan.warpsN;
  int64_t fragments = rows / 16 * 4 + columns / 8 * 2; // of one step of 16
  int64_t registers = 40 + fragments * plan.tileK / 32;
  if (problem.preNorm != Norm::None)
    registers += 16 + rows / 8;
  if (problem.hasRowStride)
    registers += 4;
  return registers + estimateEpilogueRegisters(plan, problem);
}

/// Bytes of shared memory for what a wgmma cluster exchanges.
static int64_t getClusterMemory(const Plan &plan, const Problem &problem) {
  int64_t teams = plan.consumerWarpgroups(), bytes = 0;
  int64_t ctasPerRow = plan.clusterN;
  if (plan.clusterK > 1) {
    // Each CTA sends its part of every sum: f32 of 64 rows, a row's sum still
    // spread over four lanes; two barriers.
    SliceDeal deal = dealSlices(plan);
    int64_t partBytes = 64 * 4 * deal.slices * sliceColumns;
    if (problem.preNorm != Norm::None)
      partBytes += 64 * 4 * 4;
    bytes += teams * (plan.clusterK * partBytes + 16);
    ctasPerRow = deal.owners;
  }
  // Two sums of two rounds, each with a barrier.
  if (problem.postNorm != Norm::None && ctasPerRow > 1) {
    int64_t senders = ctasPerRow == 2 ? 1 : ctasPerRow;
    bytes += 2 * 2 * teams * (senders * plan.tileM / plan.warpsM * 4 + 8);
  }
  return bytes;
}

PlanUsage flashnorm::computeUsage(const Plan &plan, const Problem &problem) {
  PlanUsage usage;
  switch (plan.family) {
  case Family::MmaSync:
    usage.threads = 32 * plan.warpsM * plan.warpsN;
    usage.accumulatorRegisters = plan.partElements() / 32;
    break;
  case Family::Wgmma:
    // One producer warpgroup besides the consumers.
    usage.threads = 128 * (1 + plan.consumerWarpgroups());
    usage.accumulatorRegisters = plan.partElements() / 128;
    break;
  case Family::Tcgen05:
    // A producer warp, an MMA warp and four epilogue warps.
    usage.threads = 192;
    usage.tensorMemoryColumns =
        std::max<int64_t>(32, llvm::PowerOf2Ceil(plan.tileN));
    break;
  }
  usage.registersPerThread = llvm::alignTo(
      usage.accumulatorRegisters + estimateOtherRegisters(plan, problem), 8);
  int64_t elements = plan.stages * plan.stageElements(problem.transposeWeight);
  if (plan.residentWeight)
    elements += plan.weightColumns(problem.transposeWeight) *
                llvm::alignTo(problem.k, plan.tileK);
  usage.sharedMemory = elements * sizeInBytes(problem.inputType) +
                       1024 + // alignment of the stages
                       1024;  // barriers, TMEM slot
  // Each warp of wgmma's consumers stores through a box of its own.
  if (plan.family == Family::Wgmma)
    usage.sharedMemory += 4 * plan.consumerWarpgroups() * storeBoxBytes *
                          (1 + problem.returnsSum);
  // Where all columns of a row are in the tile, its persistent CTAs keep the
  // vectors over columns as f32.
  if (plan.family == Family::Wgmma && plan.tileN * plan.clusterN >= problem.n)
    usage.sharedMemory +=
        plan.tileN * 4 *
        (problem.hasBias + problem.hasNormWeight + problem.hasNormBias);
  usage.sharedMemory += getClusterMemory(plan, problem);
  // Row sums of the warps that share a row: two values per row.
  if (plan.warpsN > 1)
    usage.sharedMemory += plan.tileM * plan.warpsN * 4 * 2;
  return usage;
}

std::string flashnorm::verifyProblem(const Problem &problem) {
  if (problem.inputType == ElementType::F32)
    return "inputs are f32; the kernels multiply bf16 and f16";
  if (problem.m && *problem.m < 0)
    return ("the number of rows is " + Twine(*problem.m)).str();
  if (problem.m && *problem.m > maxRows)
    return ("the number of rows is " + Twine(*problem.m) +
            "; kernels take at most " + Twine(maxRows))
        .str();
  for (auto [name, size] : {std::pair("N", problem.n), {"K", problem.k}})
    if (size > maxColumns)
      return (Twine(name) + " = " + Twine(size) + "; kernels take at most " +
              Twine(maxColumns))
          .str();
  if (problem.n <= 0 || problem.n % 8 != 0)
    return ("N = " + Twine(problem.n) + " is not a positive multiple of 8")
        .str();
  if (problem.k <= 0 || problem.k % 8 != 0)
    return ("K = " + Twine(problem.k) + " is not a positive multiple of 8")
        .str();
  if (problem.preNorm == Norm::Layer)
    return "a layer norm before the matmul has no kernel; rms has";
  return "";
}

/// "tile depth 16 is not 32 or 64 for mma_sync" and its like.
static std::string notAllowed(StringRef what, int64_t value, StringRef limit,
                              Family family) {
  return (what + " " + Twine(value) + " " + limit + " for " + stringify(family))
      .str();
}

static std::string verifyStrategy(const Plan &plan, const Problem &problem) {
  Strategy expected = problem.postNorm != Norm::None  ? Strategy::WideTile
                      : problem.preNorm != Norm::None ? Strategy::LazyPreNorm
                                                      : Strategy::Gemm;
  if (plan.strategy != expected)
    return ("strategy is " + stringify(plan.strategy) + "; a matmul with " +
            (problem.postNorm != Norm::None  ? "a norm after it"
             : problem.preNorm != Norm::None ? "only a norm before it"
                                             : "no norm") +
            " needs " + stringify(expected))
        .str();
  if (plan.strategy != Strategy::WideTile)
    return "";
  if (problem.n > getMaxWideTile(plan.family))
    return ("rows of " + Twine(problem.n) +
            " columns do not fit one CTA; wide_tile takes at most " +
            Twine(getMaxWideTile(plan.family)))
        .str();
  if (plan.tileN * plan.clusterN < problem.n)
    return ("wide_tile needs all " + Twine(problem.n) +
            " columns in one tile; the tile has " + Twine(plan.tileN) +
            (plan.clusterN > 1
                 ? " in each of " + std::to_string(plan.clusterN) + " CTAs"
                 : ""))
        .str();
  if (plan.tileN * (plan.clusterN - 1) >= problem.n)
    return ("a cluster of " + Twine(plan.clusterN) + " CTAs with " +
            Twine(plan.tileN) + " columns each has CTAs without any of the " +
            Twine(problem.n))
        .str();
  return "";
}

static std::string verifyMmaSync(const Plan &plan, const Problem &problem) {
  int64_t warps = plan.warpsM * plan.warpsN;
  if (warps > 16)
    return notAllowed("number of warps", warps, "exceeds 16", plan.family);
  if (plan.tileM % (16 * plan.warpsM) != 0)
    return notAllowed(
        "tile rows", plan.tileM,
        ("is not a multiple of 16 for each of " + Twine(plan.warpsM) + " warps")
            .str(),
        plan.family);
  if (plan.tileN % (sliceColumns * plan.warpsN) != 0)
    return notAllowed(
        "tile columns", plan.tileN,
        ("is not a multiple of 32 for each of " + Twine(plan.warpsN) + " warps")
            .str(),
        plan.family);
  if (plan.tileK != 32 && plan.tileK != 64)
    return notAllowed("tile depth", plan.tileK, "is not 32 or 64", plan.family);
  // Rows of W [K,N] in shared memory are swizzled over 4 or 8 chunks.
  if (!problem.transposeWeight && plan.tileN != 32 && plan.tileN % 64 != 0)
    return notAllowed("tile columns", plan.tileN,
                      "with W [K,N] are neither 32 nor a multiple of 64",
                      plan.family);
  return "";
}

static std::string verifyWgmma(const Plan &plan, const Problem &problem) {
  int64_t warpgroups = plan.warpsM * plan.warpsN;
  if (warpgroups > 2)
    return notAllowed("number of consumer warpgroups", warpgroups, "exceeds 2",
                      plan.family);
  if (plan.schedule == Schedule::PingPong && warpgroups != 1)
    return ("warps are " + Twine(plan.warpsM) + "x" + Twine(plan.warpsN) +
            "; ping_pong gives each of two warpgroups a tile, so it needs 1x1")
        .str();
  if (plan.tileM != 64 * plan.warpsM && plan.tileM != 128 * plan.warpsM)
    return notAllowed(
        "tile rows", plan.tileM,
        ("is not 64 or 128 for each of " + Twine(plan.warpsM) + " warpgroups")
            .str(),
        plan.family);
  if (plan.isTall() && (plan.clusterK > 1 || plan.warpsN > 1))
    return notAllowed("tile rows", plan.tileM,
                      (plan.clusterK > 1
                           ? "that a cluster along K shares are not 64"
                           : "that two warpgroups share are not 64"),
                      plan.family);
  if (plan.tileN % (sliceColumns * plan.warpsN) != 0 ||
      plan.tileN / plan.warpsN > 256)
    return notAllowed("tile columns", plan.tileN,
                      ("is not a multiple of 32 up to 256 for each of " +
                       Twine(plan.warpsN) + " warpgroups")
                          .str(),
                      plan.family);
  if (plan.tileK != 64)
    return notAllowed("tile depth", plan.tileK, "is not 64", plan.family);
  // W [K,N] comes in boxes of 64 columns: no warpgroup starts within one.
  if (!problem.transposeWeight && plan.warpsN > 1 &&
      plan.tileN % (64 * plan.warpsN) != 0)
    return notAllowed("tile columns", plan.tileN,
                      ("with W [K,N] are not a multiple of 64 for each of " +
                       Twine(plan.warpsN) + " warpgroups")
                          .str(),
                      plan.family);
  return "";
}

static std::string verifyTcgen05(const Plan &plan, const Problem &problem) {
  if (plan.warpsM != 1 || plan.warpsN != 1)
    return ("warps are " + Twine(plan.warpsM) + "x" + Twine(plan.warpsN) +
            "; one MMA covers the tile, so tcgen05 needs 1x1")
        .str();
  if (plan.tileM != 128)
    return notAllowed("tile rows", plan.tileM, "is not 128", plan.family);
  if (plan.tileN % sliceColumns != 0)
    return notAllowed("tile columns", plan.tileN, "is not a multiple of 32",
                      plan.family);
  if (plan.tileK != 64)
    return notAllowed("tile depth", plan.tileK, "is not 64", plan.family);
  if (!problem.transposeWeight && plan.tileN % 64 != 0)
    return notAllowed("tile columns", plan.tileN,
                      "with W [K,N] are not a multiple of 64", plan.family);
  return "";
}

static std::string verifyCluster(const Plan &plan, const Problem &problem,
                                 const TargetInfo &target) {
  int64_t sizes[] = {plan.clusterM, plan.clusterN, plan.clusterK};
  auto fail = [&](const Twine &limit) {
    return ("cluster is " + Twine(sizes[0]) + "x" + Twine(sizes[1]) + "x" +
            Twine(sizes[2]) + "; " + limit)
        .str();
  };
  int64_t largest = *std::max_element(std::begin(sizes), std::end(sizes));
  if (largest == 1)
    return "";
  if (plan.family != Family::Wgmma)
    return fail("only wgmma has clusters");
  if (std::count(std::begin(sizes), std::end(sizes), 1) != 2)
    return fail("one of the sizes may be above 1");
  if (largest > target.maxClusterSize)
    return fail(target.chip + " has clusters of at most " +
                Twine(target.maxClusterSize) + " CTAs");
  if (plan.clusterM > 2)
    return fail("along M it is 1 or 2");
  if (plan.clusterN != 1 && ((plan.clusterN != 2 && plan.clusterN != 4) ||
                             plan.schedule != Schedule::PingPong))
    return fail("along N it is 1, or 2 or 4 with ping_pong");
  if (int64_t tiles = llvm::divideCeil(problem.n, plan.tileN);
      plan.clusterN > 1 && plan.strategy != Strategy::WideTile &&
      tiles != plan.clusterN)
    return fail("along N it has all tiles of a row, of which there are " +
                Twine(tiles));
  if (plan.clusterK == 1)
    return "";
  if (!llvm::isPowerOf2_64(plan.clusterK) ||
      plan.schedule != Schedule::Cooperative)
    return fail("along K it is 1, or 2, 4 or 8 with cooperative");
  int64_t steps = llvm::divideCeil(problem.k, plan.tileK);
  int64_t stepsOfCTA = llvm::divideCeil(steps, plan.clusterK);
  if ((plan.clusterK - 1) * stepsOfCTA >= steps)
    return fail("with " + Twine(stepsOfCTA) + " of the " + Twine(steps) +
                " steps each there are CTAs without any");
  return "";
}

static std::string verifyResidentWeight(const Plan &plan,
                                        const Problem &problem) {
  if (!plan.residentWeight)
    return "";
  if (plan.family != Family::Wgmma)
    return ("resident_weight is for wgmma, not for " + stringify(plan.family))
        .str();
  if (plan.clusterM > 1 || plan.clusterK > 1)
    return ("resident_weight stands beside clusters along N only; cluster is " +
            Twine(plan.clusterM) + "x" + Twine(plan.clusterN) + "x" +
            Twine(plan.clusterK))
        .str();
  if (plan.tileN * plan.clusterN < problem.n)
    return ("resident_weight needs all " + Twine(problem.n) +
            " columns in the tiles of one cluster, which have " +
            Twine(plan.tileN * plan.clusterN))
        .str();
  return "";
}

static std::string verifyPrefetch(const Plan &plan, const Problem &problem) {
  if (!plan.prefetch)
    return "";
  if (plan.family != Family::Wgmma)
    return ("prefetch is for wgmma, not for " + stringify(plan.family)).str();
  int64_t steps =
      llvm::divideCeil(llvm::divideCeil(problem.k, plan.tileK), plan.clusterK);
  if (plan.prefetch < 0 || plan.prefetch > steps)
    return ("prefetch " + Twine(plan.prefetch) + " is not in 1 to " +
            Twine(steps) + ", the steps of a tile")
        .str();
  return "";
}

std::string flashnorm::verifyPlan(const Plan &plan, const Problem &problem,
                                  const TargetInfo &target) {
  if (std::string reason = verifyProblem(problem); !reason.empty())
    return reason;
  if (plan.chip != target.chip)
    return ("plan is for " + Twine(plan.chip) + ", not for " + target.chip)
        .str();
  if (!target.supports(plan.family))
    return (target.chip + " has no " + stringify(plan.family) + "; it has " +
            describeLegalFamilies(target))
        .str();
  for (int64_t size : {plan.tileM, plan.tileN, plan.tileK})
    if (size < 1 || size > maxTileSize)
      return ("tile size " + Twine(size) + " is not in 1 to " +
              Twine(maxTileSize))
          .str();
  for (int64_t warps : {plan.warpsM, plan.warpsN})
    if (warps < 1 || warps > maxThreadsPerBlock / 32)
      return ("warp count " + Twine(warps) + " is not in 1 to " +
              Twine(maxThreadsPerBlock / 32))
          .str();
  if (plan.stages < 2 || plan.stages > maxStages)
    return ("number of stages " + Twine(plan.stages) + " is not in 2 to " +
            Twine(maxStages))
        .str();
  if (plan.schedule == Schedule::PingPong && plan.family != Family::Wgmma)
    return ("schedule is ping_pong, which " + stringify(plan.family) +
            " does not have; wgmma has")
        .str();
  if (std::string reason = verifyCluster(plan, problem, target);
      !reason.empty())
    return reason;
  if (std::string reason = verifyStrategy(plan, problem); !reason.empty())
    return reason;
  if (std::string reason = verifyResidentWeight(plan, problem); !reason.empty())
    return reason;
  if (std::string reason = verifyPrefetch(plan, problem); !reason.empty())
    return reason;

  std::string reason;
  switch (plan.family) {
  case Family::MmaSync:
    reason = verifyMmaSync(plan, problem);
    break;
  case Family::Wgmma:
    reason = verifyWgmma(plan, problem);
    break;
  case Family::Tcgen05:
    reason = verifyTcgen05(plan, problem);
    break;
  }
  if (!reason.empty())
    return reason;

  PlanUsage usage = computeUsage(plan, problem);
  int64_t maxAccumulators = plan.family == Family::Wgmma ? 160 : 128;
  if (usage.accumulatorRegisters > maxAccumulators)
    return ("needs " + Twine(usage.accumulatorRegisters) +
            " accumulator registers in a thread; " + stringify(plan.family) +
            " kernels have " + Twine(maxAccumulators))
        .str();
  // What setmaxnreg gives each of two consumers.
  constexpr int64_t maxConsumerRegisters = 232;
  if (plan.family == Family::Wgmma && plan.consumerWarpgroups() == 2 &&
      usage.registersPerThread > maxConsumerRegisters)
    return ("needs about " + Twine(usage.registersPerThread) +
            " registers in a thread; two consumer warpgroups of wgmma have " +
            Twine(maxConsumerRegisters))
        .str();
  if (usage.registersPerThread > target.maxRegistersPerThread)
    return ("needs about " + Twine(usage.registersPerThread) +
            " registers in a thread; " + target.chip + " has " +
            Twine(target.maxRegistersPerThread))
        .str();
  // The warpgroups of wgmma trade registers between producer and consumers.
  if (plan.family != Family::Wgmma &&
      usage.threads * usage.registersPerThread > target.registersPerBlock)
    return ("needs about " + Twine(usage.threads * usage.registersPerThread) +
            " registers for " + Twine(usage.threads) + " threads; " +
            target.chip + " has " + Twine(target.registersPerBlock))
        .str();
  if (usage.tensorMemoryColumns > target.tensorMemoryColumns)
    return ("needs " + Twine(usage.tensorMemoryColumns) +
            " columns of tensor memory; " + target.chip + " has " +
            Twine(target.tensorMemoryColumns))
        .str();
  if (usage.sharedMemory > target.sharedMemoryPerBlock)
    return ("needs " + Twine(usage.sharedMemory) + " bytes of shared memory; " +
            target.chip + " has " + Twine(target.sharedMemoryPerBlock))
        .str();
  return "";
}
