//===- Wgmma.h - The family wgmma -------------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef LIB_CONVERSION_KERNELTONVVM_WGMMA_H
#define LIB_CONVERSION_KERNELTONVVM_WGMMA_H

#include "KernelEmitter.h"
#include "SplitK.h"
#include "TmaRing.h"

namespace flashnorm::kernel {

/// See Wgmma.cpp; its epilogue is in WgmmaEpilogue.cpp.
class Wgmma : public MmaFamily {
public:
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;
  using Values = DeviceBuilder::Values;

  llvm::LogicalResult check(FuncOp func, PipelineOp pipeline) override;
  int64_t numThreads(ConfigAttr config) override {
    return 128 + 128 * numConsumers(config);
  }
  bool usesTensorMaps() override { return true; }
  int64_t numPersistentCTAs() override { return 1; }
  int64_t numEpilogueThreads(ConfigAttr config) override {
    return 128 * config.getWarpsM() * config.getWarpsN();
  }
  int64_t epilogueBarrier() override { return 1; }
  void emit(KernelEmitter &emitter) override;
  Values readSlice(KernelEmitter &emitter, ValueRange acc,
                   int64_t slice) override;
  void writeSlice(KernelEmitter &emitter, Values &acc, int64_t slice,
                  ValueRange values) override;
  std::optional<TmaBox> storeBox(ConfigAttr config,
                                 mlir::Type elementType) override;
  void storeFrag(KernelEmitter &emitter, StoreFragOp op, int64_t slice,
                 ValueRange frag) override;
  std::optional<TmaBox> fragBox(ConfigAttr config, int64_t stageBytes,
                                mlir::Type elementType) override;
  Values loadFrag(KernelEmitter &emitter, LoadFragOp op,
                  int64_t slice) override;
  void endFrag(KernelEmitter &emitter) override;
  void separateSlices(KernelEmitter &emitter) override {
    ring->schedulingBoundary();
  }

private:
  static int64_t numConsumers(ConfigAttr config) {
    return config.isPingPong() ? 2 : config.getWarpsM() * config.getWarpsN();
  }
  void setUp(KernelEmitter &emitter);
  void emitProducer(KernelEmitter &emitter, TmaRing &ring);
  void emitConsumer(KernelEmitter &emitter, TmaRing &ring);
  Values emitTile(KernelEmitter &emitter, TmaRing &ring, Value tile,
                  ValueRange position);
  Values emitMma(KernelEmitter &emitter, MmaOp mma, Value stageOffset,
                 Value kTile, ValueRange acc);
  bool pacesStores(KernelEmitter &emitter, StoreFragOp op);
  void storeBlock(KernelEmitter &emitter, StoreFragOp op, int64_t offset,
                  int64_t slice, int64_t block, ValueRange frag);
  void emitStatistic(KernelEmitter &emitter, AccumulateTileOp op,
                     Value stageOffset, Value kTile);
  /// Position of (row r of the thread, column c of the slice): a block of 64
  /// rows has two of the thread's.
  int64_t accIndex(int64_t slice, int64_t r, int64_t c) {
    return r / 2 * groupColumns / 2 + (slice * 4 + c / 2) * 4 + r % 2 * 2 +
           c % 2;
  }
  int64_t numRows() { return 2 * blocks; }

  int64_t groupColumns = 0; ///< of a consumer warpgroup
  int64_t blocks = 1;       ///< of 64 rows of a consumer warpgroup
  Value thread, lane, warp, consumer, groupM, groupN;
  /// First row of the warp in the tile.
  Value warpRow;
  /// The ring, and the stage with the tile that the epilogue reads.
  TmaRing *ring = nullptr;
  /// In a cluster along K.
  SliceDeal deal{};
  std::optional<SplitK> splitK;
  Value fragStage;
  Value hasNext; ///< the CTA has a tile after this one
  /// Shared memory of each store: a box for each consumer warp.
  llvm::DenseMap<StoreFragOp, int64_t> staging;
};
} // namespace flashnorm::kernel

#endif // LIB_CONVERSION_KERNELTONVVM_WGMMA_H
