//===- Cost.cpp - How long a plan takes, roughly --------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A roofline per stage of the pipeline (tensor cores, shared memory, L2), the
// start and the epilogue of a CTA, whole waves over the SMs, and the traffic to
// device memory underneath. All times of a CTA are in clocks of its SM.
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Planning/Cost.h"
#include "flashnorm/Planning/Planner.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

using namespace flashnorm;

// Of every chip in the table, or close enough to it.
static constexpr double sharedBytesPerClock = 128; // per SM
static constexpr double lanesPerSM = 128;
// What cp.async gets of L2; the higher rates in the table are those of TMA.
static constexpr double maxAsyncCopyBytesPerClock = 47; // per SM
static constexpr double loadLatency = 1000;  // clocks from issue to arrival
static constexpr double stageOverhead = 40;  // clocks to pass a stage on
static constexpr double startOfKernel = 2.0; // microseconds, launch to launch
static constexpr double barrierLatency = 100;
/// Clocks of a persistent CTA before its first MMA and after its last store,
/// beyond what an empty kernel takes. Fitted on sm_90a, like most constants of
/// wgmma, to many plans at once (docs/Planning.md).
static constexpr double startOfCTA = 5000;
/// TMA: a row of a box beyond the end of its array, in rows of 128 bytes; the
/// clocks that a row takes more that ends within its box (W [K,N] of 40
/// columns: 64x64 tiles take 15.4 us, with W [N,K] 12.4).
static constexpr double paddingRowCost = 3.5, partialRowClocks = 3.4;
/// What a single SM gets of L2 at most, over its share when all SMs work
/// (fitted; loads alone were measured at 1.7 to 1.9).
static constexpr double maxL2Share = 1.45;
/// Clocks of a stage of one wgmma warpgroup that works alone, from the arrival
/// of the data to the release of the stage before, and what statistics of x add
/// (measured with 64x64 tiles: about 400 in all).
static constexpr double wgmmaStageLatency = 135, statisticsLatency = 230;
/// Two MMAs one after the other that read the same B: what such a read counts
/// for (128x128 tiles of one warpgroup were measured 1 to 3 % faster than
/// 64x256, with 75 and 62 % of the time for reads).
static constexpr double repeatedRead = 0.8;
/// From the row sums of a CTA to those of its cluster, for each doubling of it.
static constexpr double exchangeLatency = 400;
/// Share of the shorter one of computation and memory that does not overlap,
/// where 64 KB of x or more are under way on an SM.
static constexpr double exposedAt64KB = 0.1;
/// What is under way counts for more where the ring never stands still, as
/// under the epilogues of ping_pong.
static constexpr double steadyRing = 1.15;
/// What L2 delivers takes this share of its time from device memory's traffic
/// and from the tensor cores, however well it is hidden.
static constexpr double exposedL2 = 0.03;

/// From the last MMA of a tile that CTAs share to their sum: in all, for each
/// CTA but one, and what an SM sends to another one meanwhile.
static constexpr double splitKStart = 1100, splitKLatency = 450;
static constexpr double clusterBytesPerClock = 24;

/// CTAs that load for each other wait for each other, the more often, the
/// closer memory is to its limit: that much more of the shorter one shows.
/// Measured: from 7 % faster where computation takes twice as long as memory
/// (L2 has less to do, and the clock is higher) to 6 % slower where they are
/// even.
static constexpr double exposedByMulticast = 0.06;
/// What still shows of it where x is prefetched into L2.
static constexpr double exposedPrefetched = 0.5;
/// Clocks until two CTAs that load for each other are both there.
static constexpr double multicastLatency = 600;

static int64_t getRows(const Problem &problem) {
  return std::max<int64_t>(1, problem.m.value_or(assumedRows));
}

/// CTAs of this plan that live on one SM at a time.
static int64_t getOccupancy(const PlanUsage &usage, const TargetInfo &target) {
  // The driver keeps 1 KB of shared memory per CTA for itself.
  int64_t ctas = target.sharedMemoryPerSM / (usage.sharedMemory + 1024);
  ctas = std::min(ctas, target.maxThreadsPerSM / usage.threads);
  ctas = std::min(ctas, target.registersPerBlock /
                            (usage.threads * usage.registersPerThread));
  if (usage.tensorMemoryColumns > 0)
    ctas =
        std::min(ctas, target.tensorMemoryColumns / usage.tensorMemoryColumns);
  return std::max<int64_t>(1, ctas);
}

/// A row of 128 bytes whose sectors are in two lines.
static constexpr double twoLinesCost = 1.4;

/// What fetching a row of 128 bytes with TMA takes of L2, 1 where all rows are
/// aligned to 128 bytes: most others touch two lines, and where the pitch is an
/// odd multiple of 16 bytes, five sectors (measured on sm_90a with all SMs at
/// it: 1.6, 3.0 and 4.0 clocks for pitches of 128, 32 and 16 bytes).
static double getRowCost(int64_t elements, ElementType type) {
  int64_t pitch = elements * sizeInBytes(type);
  if (pitch % 128 == 0)
    return 1;
  if (pitch % 64 == 0)
    return twoLinesCost;
  return pitch % 32 == 0 ? 1.9 : 2.25;
}

/// Clocks that an SM takes at least for a row of 128 bytes that TMA brings,
/// however few SMs are at it. Fitted on sm_90a for pitches of 32 and 16 bytes.
static double getTmaRowClocks(int64_t elements, ElementType type) {
  return elements * sizeInBytes(type) % 128 == 0 ? 0.9 : 1.4;
}

/// Mean cost of the rows of a box along a dimension of `size`, which is covered
/// by boxes of `box`: those beyond the end are not fetched, yet cost more than
/// those that are (measured on sm_90a: 2.3 to 5).
static double getBoxRowCost(int64_t size, int64_t box, double rowCost) {
  double covered = double(llvm::alignTo(size, box));
  return (size * rowCost + (covered - size) * paddingRowCost) / covered;
}

/// Columns of the last tile across that W has.
static int64_t getLastColumns(const Plan &plan, const Problem &problem) {
  return problem.n - (llvm::divideCeil(problem.n, plan.tileN) - 1) * plan.tileN;
}

/// Bytes that the part of W in one step asks of L2, weighted with what their
/// rows cost. TMA only.
static double getWeightL2Bytes(const Plan &plan, const Problem &problem) {
  int64_t columns = plan.weightColumns(problem.transposeWeight);
  double row;
  if (problem.transposeWeight) {
    // Rows like those of x.
    row = getBoxRowCost(problem.n, plan.tileN * plan.clusterN,
                        getRowCost(problem.k, problem.inputType));
  } else {
    // Boxes of 64 columns; those beyond the end are the last tile's. Where a
    // tile has half a box, every other one starts within a line.
    int64_t tiles = llvm::divideCeil(problem.n, plan.tileN);
    row = getRowCost(problem.n, problem.inputType);
    if (plan.tileN % 64 != 0)
      row +=
          double(tiles / 2) / double(tiles) * std::max(0.0, twoLinesCost - row);
    double boxes = double(tiles * columns / 64);
    double beyond = double(columns / 64 -
                           llvm::divideCeil(getLastColumns(plan, problem), 64));
    row = ((boxes - beyond) * row + beyond * paddingRowCost) / boxes;
  }
  return double(columns) * row / double(plan.clusterM) *
         double(plan.tileK * sizeInBytes(problem.inputType));
}

/// The same of one stage.
static double getStageL2Bytes(const Plan &plan, const Problem &problem) {
  int64_t inputBytes = sizeInBytes(problem.inputType);
  if (plan.family == Family::MmaSync)
    return double((plan.tileM + plan.tileN) * plan.tileK * inputBytes);
  double x = plan.tileM *
             getBoxRowCost(getRows(problem), plan.tileM,
                           getRowCost(problem.k, problem.inputType)) *
             plan.tileK * inputBytes;
  return plan.residentWeight ? x : x + getWeightL2Bytes(plan, problem);
}

/// Clocks that TMA takes for a stage.
static double getStageTmaClocks(const Plan &plan, const Problem &problem) {
  if (plan.family == Family::MmaSync)
    return 0;
  ElementType type = problem.inputType;
  double clocks = plan.tileM * getTmaRowClocks(problem.k, type);
  if (plan.residentWeight)
    return clocks;
  int64_t pitch = problem.transposeWeight ? problem.k : problem.n;
  clocks += double(plan.weightColumns(problem.transposeWeight)) *
            getTmaRowClocks(pitch, type);
  // Only with one tile across, or with CTAs side by side, which wait for each
  // other, do all tiles wait for the box of W [K,N] that ends beyond the array.
  if (!problem.transposeWeight && getLastColumns(plan, problem) % 64 != 0 &&
      problem.n <= plan.tileN * plan.clusterN)
    clocks += partialRowClocks * double(plan.tileK);
  return clocks;
}

/// Bytes that an SM gets of L2 in a clock while `activeSMs` have work.
static double getL2Rate(const Plan &plan, const TargetInfo &target,
                        double activeSMs) {
  if (plan.family == Family::MmaSync)
    return std::min(target.l2BytesPerClock, maxAsyncCopyBytesPerClock);
  return target.l2BytesPerClock *
         std::min(maxL2Share, target.numSMs / activeSMs);
}

/// Statistics beside the MMA: two operations per element of A (convert, fused
/// multiply-add), for every warp column that reads A again. The tensor cores
/// hide most of it. Under wgmma only what one warpgroup by itself does shows
/// (measured on sm_90a: ping_pong's mainloop takes 6 % longer, half of it for
/// shared memory); the share for the other families is an assumption.
static double getStatisticsClocks(const Plan &plan, const Problem &problem) {
  if (problem.preNorm == Norm::None)
    return 0;
  double operations = 2.0 * plan.tileM * plan.tileK * plan.warpsN / lanesPerSM;
  if (plan.family != Family::Wgmma)
    return 0.1 * operations;
  return plan.schedule == Schedule::PingPong ? 0.25 * operations : 0;
}

/// wgmma reads its operands from shared memory while it multiplies: up to 70 %
/// of the time that goes unnoticed, 60 % of what is beyond shows. Measured on
/// sm_90a: 128x128 tiles, which read 75 % of the time, are 3 % slower than
/// 128x256 tiles, which read 62 %; statistics, which read A again, cost the
/// former 18 % and the latter 2.5 %.
static double getContentionClocks(double sharedClocks, double mmaClocks) {
  return 0.6 * std::max(0.0, sharedClocks - 0.7 * mmaClocks);
}

/// Clocks that one CTA spends on one stage while `ctas` share the SM and
/// `activeSMs` have work.
static double getStageClocks(const Plan &plan, const Problem &problem,
                             const TargetInfo &target, int64_t ctas,
                             double activeSMs) {
  double tileM = plan.tileM, tileN = plan.tileN, tileK = plan.tileK;
  double stageBytes = (tileM + tileN) * tileK * sizeInBytes(problem.inputType);

  // Each warp (each MMA of 64 rows) reads its rows of A and its columns of B.
  // Only the portable family's writes compete with that: under wgmma a mainloop
  // of 64x512 tiles was measured at the full tensor rate.
  double readsOfB = double(plan.warpsM);
  if (plan.family == Family::Wgmma && plan.isTall())
    readsOfB *= 2 * repeatedRead;
  double shared = (tileM * plan.warpsN + tileN * readsOfB) * tileK *
                  sizeInBytes(problem.inputType);
  if (plan.family == Family::MmaSync)
    shared += stageBytes;
  else if (problem.preNorm != Norm::None)
    shared += tileM * tileK * plan.warpsN * sizeInBytes(problem.inputType);
  double rate = plan.family == Family::MmaSync ? target.mmaSyncFlopsPerClock
                                               : target.nativeFlopsPerClock;
  // One warp per scheduler leaves a part of the loads uncovered, fewer leave
  // tensor cores without work.
  if (plan.family == Family::MmaSync) {
    double warps = double(ctas) * plan.warpsM * plan.warpsN;
    rate *= std::min(1.0, warps / 4) * (0.8 + 0.2 * std::min(1.0, warps / 8));
  }
  double parts[] = {2 * tileM * tileN * tileK / rate,
                    shared / sharedBytesPerClock,
                    std::max(getStageL2Bytes(plan, problem) /
                                 getL2Rate(plan, target, activeSMs),
                             getStageTmaClocks(plan, problem))};
  double longest = *std::max_element(std::begin(parts), std::end(parts));
  double sum = parts[0] + parts[1] + parts[2];
  // The parts overlap, but never perfectly; TMA and its producer warp run
  // further ahead than a warp that does everything itself.
  double slack = plan.family == Family::MmaSync ? 0.1 : 0.08;
  double clocks =
      longest + slack * (sum - longest) + getStatisticsClocks(plan, problem);
  if (plan.family == Family::Wgmma)
    clocks += getContentionClocks(parts[1], parts[0]);
  // wgmma's MMAs of a stage are issued while those of the one before run.
  if (plan.family != Family::Wgmma)
    clocks += stageOverhead / ctas;
  // Loads come in bursts: each further stage in flight evens them out.
  double inFlight = double((plan.stages - 1) * ctas);
  clocks *= 1 + slack / inFlight;
  // wgmma's consumers release a stage one stage late: of two, none is in flight
  // meanwhile, and half of the latency shows (measured: 64x512 in two stages at
  // 0.68 of the rate of five stages of 64x256).
  if (plan.family == Family::Wgmma && plan.stages == 2)
    clocks += loadLatency / 2;
  if (plan.family == Family::Wgmma && plan.consumerWarpgroups() == 1)
    clocks = std::max(clocks, wgmmaStageLatency + (problem.preNorm != Norm::None
                                                       ? statisticsLatency
                                                       : 0));
  // Too few stages in flight: the SM waits for the loads.
  return std::max(clocks, loadLatency / inFlight);
}

/// wgmma takes a residual through the ring where its tile fits a stage.
/// Elsewhere threads read it slice by slice, and wait for it: 3000 clocks for a
/// tile of 128x256, as was measured.
static double getResidualOperations(const Plan &plan, const Problem &problem) {
  if (plan.family != Family::Wgmma)
    return 2;
  return isResidualStaged(plan, problem) ? 1 : 12;
}

/// Clocks from the last MMA to the last store.
static double getEpilogueClocks(const Plan &plan, const Problem &problem,
                                const TargetInfo &target) {
  double perElement =
      plan.family == Family::Wgmma ? 5 : 4; // round, address, store
  if (problem.preNorm != Norm::None)
    perElement += 1;
  if (problem.hasBias)
    perElement += 1;
  if (problem.hasResidual)
    perElement += getResidualOperations(plan, problem);
  if (problem.hasActivation)
    perElement += 8;
  if (problem.returnsSum)
    perElement += 2;
  if (problem.postNorm != Norm::None)
    perElement += problem.postNorm == Norm::Layer ? 5 : 2;
  if (problem.hasNormWeight)
    perElement += 1;
  if (problem.hasNormBias)
    perElement += 1;
  double elements = double(plan.tileM) * plan.tileN;
  if (plan.clusterK > 1)
    elements /= dealSlices(plan).owners;
  double bytesPerElement = sizeInBytes(problem.outputType) *
                           (1 + problem.returnsSum + problem.hasResidual);
  if (plan.family == Family::Wgmma)
    bytesPerElement *= getRowCost(problem.n, problem.outputType);
  double clocks = std::max(elements * perElement / lanesPerSM,
                           elements * bytesPerElement / target.l2BytesPerClock);
  if (problem.postNorm != Norm::None) {
    // The mean, then the squared distances from it; each is a quad reduction
    // and, for several warps in a row, a trip through shared memory.
    int rounds = problem.postNorm == Norm::Layer ? 2 : 1;
    clocks += rounds * (barrierLatency * (plan.warpsN > 1 ? 2 : 1) +
                        exchangeLatency * std::log2(double(plan.clusterN)));
  }
  return clocks;
}

/// Device memory: every array once, and W again for each wave that finds it
/// gone from L2.
static double getMemoryMicroseconds(const Problem &problem,
                                    const TargetInfo &target, double waves) {
  double m = getRows(problem), n = problem.n, k = problem.k;
  double inputBytes = sizeInBytes(problem.inputType);
  double outputBytes = sizeInBytes(problem.outputType);
  double weight = n * k * inputBytes;
  if (weight > target.l2Bytes / 2.0)
    weight *= std::max(1.0, waves / 8);
  double bytes =
      m * k * inputBytes + weight +
      m * n * outputBytes * (1 + problem.returnsSum + problem.hasResidual);
  return bytes / target.bytesPerMicrosecond;
}

/// Clocks that the CTAs of a cluster along K take to add up their tile.
static double getSplitKClocks(const Plan &plan) {
  if (plan.clusterK == 1)
    return 0;
  // An owner receives its part of the tile from each.
  SliceDeal deal = dealSlices(plan);
  double bytes = double(plan.tileM) * plan.tileN * 4 / deal.owners;
  return splitKStart + splitKLatency * (plan.clusterK - 1) +
         bytes * plan.clusterK / clusterBytesPerClock;
}

/// A persistent CTA on each SM, whose loads run ahead into its next tile. While
/// one warpgroup of a ping-pong pair runs its epilogue, the other multiplies;
/// cooperative ones stand still.
static double estimatePersistent(const Plan &plan, const Problem &problem,
                                 const TargetInfo &target) {
  // What CTAs do, those that share a tile counted apart.
  double rowTiles = plan.clusterM * std::ceil(double(getRows(problem)) /
                                              (plan.tileM * plan.clusterM));
  double tiles =
      rowTiles * std::ceil(double(problem.n) / plan.tileN) * plan.clusterK;
  double steps = std::ceil(double(problem.k) / (plan.tileK * plan.clusterK));
  double epilogue =
      getEpilogueClocks(plan, problem, target) + getSplitKClocks(plan);
  if (plan.clusterN > 1) // each CTA has one part of the columns
    tiles = plan.clusterN * rowTiles;
  double numSMs = double(target.numSMsForClusters(plan.clusterSize()));
  double activeSMs = std::min(tiles, numSMs);
  double mainloop =
      steps * getStageClocks(plan, problem, target, /*ctas=*/1, activeSMs);
  double tilesOfCTA = std::ceil(tiles / numSMs);
  double l2Bytes = tilesOfCTA * steps * getStageL2Bytes(plan, problem);
  double l2Rate = getL2Rate(plan, target, activeSMs);
  double clocks = startOfCTA;
  if (plan.clusterM > 1)
    clocks += multicastLatency;
  // The first tile's MMAs follow W.
  if (plan.residentWeight) {
    double weightBytes = steps * getWeightL2Bytes(plan, problem);
    l2Bytes += weightBytes;
    clocks += std::max(0.0, weightBytes / l2Rate - mainloop);
  }
  if (plan.schedule == Schedule::PingPong) {
    // Two epilogues under two mainloops, except the last one.
    double pair = std::max(2 * mainloop, mainloop + epilogue);
    clocks += tilesOfCTA / 2 * pair + epilogue;
  } else {
    clocks += tilesOfCTA * (mainloop + epilogue);
  }
  double compute = clocks / target.clockMHz;
  double memory = getMemoryMicroseconds(problem, target, tilesOfCTA);
  // Computation and memory overlap the less, the less of x is under way: what
  // else fills the stages comes from L2.
  double bytesUnderWay = double(plan.stages) * plan.tileM * plan.tileK *
                         sizeInBytes(problem.inputType);
  if (plan.schedule == Schedule::PingPong)
    bytesUnderWay *= steadyRing;
  // CTAs side by side ask for the same rows.
  bytesUnderWay /= double(plan.clusterN);
  double exposed =
      std::min(1.0, exposedAt64KB * std::max(1.0, 65536 / bytesUnderWay));
  // And the less, the more of it a stage holds: it comes in bursts.
  exposed *= 1 + 1 / double(plan.stages - 1);
  if (plan.clusterM > 1)
    exposed += exposedByMulticast;
  // Asked for ahead, x comes from L2.
  if (plan.prefetch)
    exposed *= exposedPrefetched;
  return startOfKernel + std::max(compute, memory) +
         exposed * std::min(compute, memory) +
         exposedL2 * l2Bytes / l2Rate / target.clockMHz;
}

double flashnorm::estimateKernel(const Plan &plan, const Problem &problem,
                                 const TargetInfo &target) {
  if (plan.family == Family::Wgmma)
    return estimatePersistent(plan, problem, target);
  double tiles = std::ceil(double(getRows(problem)) / plan.tileM) *
                 std::ceil(double(problem.n) / plan.tileN);
  double steps = std::ceil(double(problem.k) / plan.tileK);
  int64_t occupancy = getOccupancy(computeUsage(plan, problem), target);
  double epilogue = getEpilogueClocks(plan, problem, target);

  double activeSMs = std::min<double>(tiles, target.numSMs);
  // Clocks until an SM is done with `ctas` tiles that start together. While
  // one runs its epilogue the others multiply.
  auto batchClocks = [&](int64_t ctas) {
    double mainloop =
        steps * getStageClocks(plan, problem, target, ctas, activeSMs);
    return loadLatency + ctas * mainloop + epilogue +
           (ctas - 1) * std::max(0.0, epilogue - mainloop);
  };
  double perWave = double(target.numSMs) * occupancy;
  double fullWaves = std::floor(tiles / perWave);
  double rest = tiles - fullWaves * perWave;
  double clocks = fullWaves * batchClocks(occupancy);
  if (rest > 0)
    clocks += batchClocks(int64_t(std::ceil(rest / target.numSMs)));
  double compute = clocks / target.clockMHz;
  double memory =
      getMemoryMicroseconds(problem, target, std::ceil(tiles / perWave));
  return startOfKernel + std::max(compute, memory) +
         0.1 * std::min(compute, memory);
}

double flashnorm::estimateSeparateNorms(const Problem &problem,
                                        const TargetInfo &target) {
  // Reads what the kernel before has written, partly still in L2, and writes
  // as much.
  auto normKernel = [&](double bytes) {
    double reads = bytes <= target.l2Bytes / 2.0 ? 0.3 * bytes : bytes;
    return startOfKernel + (reads + bytes) / target.bytesPerMicrosecond;
  };
  double rows = double(getRows(problem));
  double total = 0;
  if (problem.preNorm != Norm::None)
    total += normKernel(rows * problem.k * sizeInBytes(problem.inputType)) /
             std::max<int64_t>(1, problem.preNormConsumers);
  if (problem.postNorm != Norm::None)
    total += normKernel(rows * problem.n * sizeInBytes(problem.outputType));
  return total;
}
