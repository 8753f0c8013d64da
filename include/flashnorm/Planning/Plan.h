//===- Plan.h - How one fused op will run -----------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How one fused op will run: the planner's answer, kept on the op as
// #flashnorm.plan. Plain data; no MLIR here.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_PLANNING_PLAN_H
#define FLASHNORM_PLANNING_PLAN_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace flashnorm {

/// The MMA instruction family; see docs/Kernels.md.
enum class Family {
  MmaSync, ///< cp.async, ldmatrix, mma.sync: sm_80 and later
  Wgmma,   ///< TMA, wgmma: sm_90a
  Tcgen05, ///< TMA, tcgen05, TMEM: sm_100a, sm_103a
};
llvm::StringRef stringify(Family family);
std::optional<Family> parseFamily(llvm::StringRef name);

/// What the kernel does about the norms.
enum class Strategy {
  Gemm,        ///< no norm: matmul with its epilogue
  WideTile,    ///< one CTA owns whole rows and normalises them
  LazyPreNorm, ///< multiply first, statistics beside the MMA, scale the rows
};
llvm::StringRef stringify(Strategy strategy);
std::optional<Strategy> parseStrategy(llvm::StringRef name);

/// Which tiles a CTA's MMA warps work on.
enum class Schedule {
  Cooperative, ///< all of them on one
  PingPong,    ///< Wgmma: two warpgroups, each with a tile of its own
};
llvm::StringRef stringify(Schedule schedule);

struct Plan {
  Strategy strategy = Strategy::Gemm;
  Family family = Family::MmaSync;
  std::string chip;
  /// The CTA's tile: rows, columns, and the depth of one pipeline stage.
  int64_t tileM = 0, tileN = 0, tileK = 0;
  /// How MmaSync's warps (Wgmma's consumer warpgroups) split the tile; 1x1 for
  /// Tcgen05, whose single MMA covers it.
  int64_t warpsM = 1, warpsN = 1;
  /// Pipeline stages in shared memory.
  int64_t stages = 2;
  Schedule schedule = Schedule::Cooperative;
  /// CTAs of a cluster, by what they share (Wgmma). Along M: the columns of W,
  /// for tiles below each other, of which each loads a part for all. Along N:
  /// the rows of x; each has `tileN` of the columns, of which there are no
  /// others. Along K: one tile; each multiplies a part of the depth.
  int64_t clusterM = 1, clusterN = 1, clusterK = 1;
  /// Wgmma: a CTA loads its columns of W once and keeps them in shared memory
  /// for all its tiles, so that stages hold x alone. All columns must be in the
  /// tiles of one cluster, which has one CTA along M and K.
  bool residentWeight = false;
  /// Wgmma: stages before its load that x is asked of device memory, into L2;
  /// 0: not at all.
  int64_t prefetch = 0;

  /// Columns of W beside a tile of x: wgmma has W [K,N] in whole boxes of 64,
  /// of which a tile may use half of the last.
  int64_t weightColumns(bool transposeWeight) const;
  /// Elements of a pipeline stage: a tile of x and one of W.
  int64_t stageElements(bool transposeWeight) const {
    int64_t columns = residentWeight ? 0 : weightColumns(transposeWeight);
    return (tileM + columns) * tileK;
  }
  /// Elements of the tile that a warp (Wgmma's consumer warpgroup) has.
  int64_t partElements() const { return (tileM / warpsM) * (tileN / warpsN); }
  /// Wgmma: 128 rows a warpgroup instead of 64.
  bool isTall() const { return tileM > 64 * warpsM; }
  int64_t clusterSize() const { return clusterM * clusterN * clusterK; }
  /// Wgmma: warpgroups that multiply.
  int64_t consumerWarpgroups() const {
    return schedule == Schedule::PingPong ? 2 : warpsM * warpsN;
  }
};

/// How the slices of the accumulator are dealt out to the CTAs of a cluster
/// along K, each to add them up and to run their epilogue: equally many to each
/// of the first CTAs, the owners.
struct SliceDeal {
  int64_t owners;
  int64_t slices; ///< of each owner
};
SliceDeal dealSlices(int64_t slices, int64_t ctas);
/// Of the slices of 32 columns that a warpgroup's part of the tile has.
SliceDeal dealSlices(const Plan &plan);

} // namespace flashnorm

#endif // FLASHNORM_PLANNING_PLAN_H
