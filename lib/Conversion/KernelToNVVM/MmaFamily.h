//===- MmaFamily.h - What differs between MMA families ----------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One class per MMA instruction family. A family decides which warps load,
// multiply and run the epilogue, where the accumulator lives, and how a row of
// it is spread over threads; the epilogue is written once, over RowLayout.
//
//===----------------------------------------------------------------------===//
#ifndef LIB_CONVERSION_KERNELTONVVM_MMAFAMILY_H
#define LIB_CONVERSION_KERNELTONVVM_MMAFAMILY_H

#include "DeviceBuilder.h"
#include "flashnorm/Dialect/Kernel/IR/Kernel.h"
#include <memory>

namespace flashnorm::kernel {

class KernelEmitter;

/// Which rows and columns of the tile a thread of the epilogue holds: row
/// `row + rows[r]` and, in slice s, column `column + s * sliceColumns +
/// columns[c]`.
struct RowLayout {
  mlir::Value row, column;            ///< i32, this thread's first
  mlir::Value groupColumn;            ///< i32, column rounded down to 8
  llvm::SmallVector<int64_t> rows;    ///< ascending
  llvm::SmallVector<int64_t> columns; ///< ascending
  int64_t sliceColumns = 32;
  int64_t numSlices = 0;
  /// Columns come in aligned runs of this many consecutive ones.
  int64_t run = 1;
  /// Lanes that share a row: neighbours, a power of two.
  int64_t lanesPerRow = 1;
  mlir::Value laneInRow; ///< null: a row is one lane's
  /// Warps that share a row, and this thread's rank among them.
  int64_t warpsPerRow = 1;
  mlir::Value warpInRow;
  /// CTAs of a cluster that share a row: the first ones, by rank. `round` (i32)
  /// counts the tiles of these threads; threads that count apart, or have other
  /// rows or columns of the CTA's, are different teams, and `teamRow` is `row`
  /// less the team's first.
  int64_t ctasPerRow = 1;
  mlir::Value round, team, teamRow;
  int64_t numTeams = 1, rowsPerTeam = 0;
  /// This thread's number among the `numColumnRanks` threads of the CTA that
  /// hold the same columns: they share the work of copying colvecs to shared
  /// memory.
  mlir::Value columnRank;
  int64_t numColumnRanks = 0;
};

class MmaFamily {
public:
  using Values = DeviceBuilder::Values;

  virtual ~MmaFamily() = default;

  /// Emits an error with values unless the kernel fits the family.
  virtual llvm::LogicalResult check(FuncOp func, PipelineOp pipeline) = 0;
  /// Threads of a CTA.
  virtual int64_t numThreads(ConfigAttr config) = 0;
  /// Loads go through TMA tensor maps; else through pointers.
  virtual bool usesTensorMaps() = 0;
  /// CTAs of an SM that stay there and work on one tile after the other; 0:
  /// there is a CTA for each tile.
  virtual int64_t numPersistentCTAs() { return 0; }
  /// Threads that share a tile's epilogue, and the barrier that joins them.
  virtual int64_t numEpilogueThreads(ConfigAttr config) = 0;
  virtual int64_t epilogueBarrier() = 0;

  /// Emits the kernel: calls `emitter.emitBefore()` and, on the threads of the
  /// epilogue, `emitter.emitAfter()`.
  virtual void emit(KernelEmitter &emitter) = 0;

  /// Slices can be numbered at run time: the epilogue loops over them instead
  /// of being unrolled, which keeps its registers and its code few.
  virtual bool hasDynamicSlices() { return false; }
  /// With dynamic slices: the accumulator from `slice` (i32) on.
  virtual Values dropSlices(KernelEmitter &emitter, mlir::ValueRange acc,
                            mlir::Value slice) {
    return Values(acc);
  }

  /// The registers of one slice, rows outermost. `acc` is what the family made
  /// of the accumulator.
  virtual Values readSlice(KernelEmitter &emitter, mlir::ValueRange acc,
                           int64_t slice) = 0;
  virtual void writeSlice(KernelEmitter &emitter, Values &acc, int64_t slice,
                          mlir::ValueRange values) = 0;

  /// Boxes in which the family stores results of an element type by TMA; none:
  /// it stores through a pointer, and storeFrag is not called.
  struct TmaBox {
    int64_t columns, rows, swizzle;
  };
  virtual std::optional<TmaBox> storeBox(ConfigAttr config,
                                         mlir::Type elementType) {
    return std::nullopt;
  }
  /// Stores a slice, rows outermost.
  virtual void storeFrag(KernelEmitter &emitter, StoreFragOp op, int64_t slice,
                         mlir::ValueRange frag) {}

  /// Boxes in which a tile that the epilogue reads (kernel.load_frag) comes
  /// into a stage of the ring of `stageBytes`, after those of the tile's
  /// pipeline; none: it is read through a pointer, and the two below are not
  /// called.
  virtual std::optional<TmaBox> fragBox(ConfigAttr config, int64_t stageBytes,
                                        mlir::Type elementType) {
    return std::nullopt;
  }
  /// Reads a slice of it, rows outermost.
  virtual Values loadFrag(KernelEmitter &emitter, LoadFragOp op,
                          int64_t slice) {
    return {};
  }
  /// All slices have been read.
  virtual void endFrag(KernelEmitter &emitter) {}

  /// Keeps what computes one slice apart from the next one: the compiler would
  /// interleave them, and hold the intermediate values of several.
  virtual void separateSlices(KernelEmitter &emitter) {}
};

std::unique_ptr<MmaFamily> createMmaSync();
std::unique_ptr<MmaFamily> createWgmma();
std::unique_ptr<MmaFamily> createTcgen05();

} // namespace flashnorm::kernel

#endif // LIB_CONVERSION_KERNELTONVVM_MMAFAMILY_H
