//===- TmaRing.h - Stages filled by TMA, guarded by mbarriers ---*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef LIB_CONVERSION_KERNELTONVVM_TMARING_H
#define LIB_CONVERSION_KERNELTONVVM_TMARING_H

#include "KernelEmitter.h"

namespace flashnorm::kernel {

/// The ring of a pipeline whose loads go through TMA. Each stage has two
/// mbarriers: `full` completes when the bytes have arrived, `empty` when all
/// consumers have arrived.
class TmaRing {
public:
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;
  using Values = DeviceBuilder::Values;

  /// `consumers`: arrivals of this CTA that empty a stage.
  TmaRing(KernelEmitter &emitter, Value lane, int64_t consumers);

  /// Initialises the barriers; one thread calls it, a CTA barrier follows.
  void initialize();
  void prefetchTensorMaps();
  /// The producer's loop over one tile, for one thread; from and to (stage,
  /// parity). A producer starts at stage 0 with parity 1, which a fresh barrier
  /// counts as complete: all stages start empty. `isFirst` (i1): the CTA's
  /// first tile, whose stages say that resident loads have arrived, too.
  /// `nextRow`: the first row of its next tile, negative if there is none.
  Values produce(Value isFirst, Value nextRow, ValueRange position);

  /// Waits until the stage is full.
  void waitFull(Value stage, Value parity);
  /// All lanes of a warp call it, having read the stage; one arrives for all,
  /// at the barriers of all CTAs that fill it.
  void release(Value stage);
  /// See DeviceBuilder.
  void schedulingBoundary();
  Value emptyBarrier(Value stage);
  /// Advances (stage, parity) by one stage, or by the stages of a whole tile.
  std::pair<Value, Value> advance(Value stage, Value parity);
  std::pair<Value, Value> skip(Value stage, Value parity);

  /// Emits an error unless TMA and MMA descriptors can express the slots.
  static llvm::LogicalResult check(FuncOp func, PipelineOp pipeline);

private:
  void prefetch(LoadOp load, Value kTile, Value nextRow);
  Values produceFrag(ValueRange position);
  void waitEmpty(Value stage, Value parity);

  KernelEmitter &emitter;
  Value lane;
  int64_t stages, consumers;
  int64_t full, empty, untouched; ///< offsets in shared memory
};

} // namespace flashnorm::kernel

#endif // LIB_CONVERSION_KERNELTONVVM_TMARING_H
