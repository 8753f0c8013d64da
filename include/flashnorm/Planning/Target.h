//===- Target.h - What the planner knows of a GPU ---------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the planner knows of a GPU: one row per chip. Limits are those of the
// CUDA C++ Programming Guide, "Technical Specifications per Compute
// Capability"; rates are those of the data sheets, or measured or assumed where
// Target.cpp says so, and only the cost model reads them.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_PLANNING_TARGET_H
#define FLASHNORM_PLANNING_TARGET_H

#include "flashnorm/Planning/Plan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace flashnorm {

struct TargetInfo {
  llvm::StringLiteral chip;      ///< "sm_90a": the name LLVM and ptxas use
  int64_t sharedMemoryPerBlock;  ///< bytes a CTA may ask for (opt-in limit)
  int64_t registersPerBlock;     ///< 32-bit registers
  int64_t maxRegistersPerThread; ///< 255 on all of them
  int64_t numSMs;                ///< of the largest part; a hint for the cost
  int64_t maxClusterSize;        ///< CTAs, portable limit; 1: no clusters
  int64_t tensorMemoryColumns;   ///< 512 where TMEM exists, else 0
  bool hasWgmma;                 ///< sm_90a only
  bool hasTcgen05;               ///< sm_100a, sm_103a
  bool hasTMA;
  int64_t defaultPtxVersion;           ///< 86 for PTX ISA 8.6
  llvm::ArrayRef<int64_t> ptxVersions; ///< legal values, ascending

  // What follows only decides which of several plans is estimated faster.
  int64_t sharedMemoryPerSM; ///< bytes, of all resident CTAs together
  int64_t maxThreadsPerSM;
  double clockMHz;            ///< sustained
  double bytesPerMicrosecond; ///< of device memory
  int64_t l2Bytes;
  double l2BytesPerClock;       ///< from L2, per SM
  int64_t mmaSyncFlopsPerClock; ///< per SM, bf16 with f32 accumulation
  int64_t nativeFlopsPerClock;  ///< the same of wgmma or tcgen05, 0 without

  bool supports(Family family) const;
  /// SMs that persistent clusters of `size` CTAs can occupy together: a cluster
  /// lies in one GPC, and GPCs differ in their number of SMs. A hint, too; the
  /// launcher asks the device.
  int64_t numSMsForClusters(int64_t size) const;
};

/// All chips, in ascending order.
llvm::ArrayRef<TargetInfo> getTargets();

/// The row of a chip, or null. The error that callers print comes from
/// describeLegalChips().
const TargetInfo *lookupTarget(llvm::StringRef chip);

/// "sm_80, sm_86, …": for error messages.
std::string describeLegalChips();
/// "mma_sync, wgmma": the families that a chip has.
std::string describeLegalFamilies(const TargetInfo &target);
std::string describeLegalPtxVersions(const TargetInfo &target);

} // namespace flashnorm

#endif // FLASHNORM_PLANNING_TARGET_H
