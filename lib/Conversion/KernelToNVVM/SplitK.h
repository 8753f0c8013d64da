//===- SplitK.h - Sums over the CTAs that share a tile ----------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef LIB_CONVERSION_KERNELTONVVM_SPLITK_H
#define LIB_CONVERSION_KERNELTONVVM_SPLITK_H

#include "KernelEmitter.h"
#include "flashnorm/Planning/Plan.h"

namespace flashnorm::kernel {

/// A reduce-scatter of what the pipeline leaves in the CTAs of a cluster along
/// K. The first CTAs, the owners, each get some slices of the accumulator,
/// equally many, and all rowvecs; they add what all CTAs have sent, in the
/// order of ranks, so that the bits do not depend on who comes first.
class SplitK {
public:
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;
  using Values = DeviceBuilder::Values;

  /// Reserves shared memory. `deal` is that of each team; a team has
  /// `teamThreads` threads, of which this one is `threadInTeam`.
  SplitK(KernelEmitter &emitter, SliceDeal deal, Value threadInTeam,
         int64_t teamThreads);

  /// Initialises the barriers; one thread calls it.
  void initialize();
  /// Sends this thread's values: those of the slices one after the other.
  void send(ValueRange slices, ValueRange rowvecs);
  /// i1: this CTA owns slices.
  Value isOwner();
  /// What an owner gets: its slices' values, then those of the rowvecs.
  /// `hasNext` (i1): there is another tile after this one.
  Values receive(Value hasNext);

private:
  int64_t bytesOfSender() const {
    return teamThreads * 4 * (deal.slices * sliceValues + rowvecValues);
  }
  /// The team's part of the buffer begins at (this CTA's) `sender`'s, plus
  /// `offset`, for this thread and accesses of `values` f32.
  Value place(Value sender, int64_t offset, int64_t values);
  Value barrier(int64_t barriers) const;

  KernelEmitter &emitter;
  SliceDeal deal;
  Value threadInTeam;
  /// What a thread holds of a slice, and of all rowvecs.
  int64_t teamThreads, sliceValues, rowvecValues;
  /// Offsets in shared memory. `arrived`: what all have sent is there; `taken`:
  /// all owners have read it. One of each for each team.
  int64_t buffer, arrived, taken;
};

} // namespace flashnorm::kernel

#endif // LIB_CONVERSION_KERNELTONVVM_SPLITK_H
