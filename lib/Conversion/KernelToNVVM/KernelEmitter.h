//===- KernelEmitter.h - One kernel.func as thread-level code ---*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks a kernel.func and emits an llvm.func. What does not depend on the MMA
// family is here, in Epilogue.cpp and in EpilogueMemory.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef LIB_CONVERSION_KERNELTONVVM_KERNELEMITTER_H
#define LIB_CONVERSION_KERNELTONVVM_KERNELEMITTER_H

#include "MmaFamily.h"
#include "mlir/IR/IRMapping.h"

namespace flashnorm::kernel {

struct TmaBoxes;

class KernelEmitter {
public:
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;
  using Values = DeviceBuilder::Values;

  /// The kernel has passed checkKernel().
  KernelEmitter(FuncOp func, PipelineOp pipeline, MmaFamily &family);

  /// Emits the llvm.func beside the kernel.func, which stays. Its attribute
  /// `flashnorm.launch_abi` says how to launch it (docs/LaunchABI.md).
  llvm::LogicalResult emit();

  //===--------------------------------------------------------------------===//
  // For the families
  //===--------------------------------------------------------------------===//
  DeviceBuilder &builder() { return b; }
  FuncOp func() { return kernel; }
  PipelineOp pipeline() { return ring; }
  TileOriginOp origin();
  ConfigAttr config() { return kernel.getConfig(); }
  mlir::Type elementType();
  /// Steps of the pipeline that this CTA runs for each tile, and where such a
  /// step (i32) starts. The last ones of a cluster that shares tiles may lie
  /// beyond the bound, where TMA reads zeros.
  int64_t numKTiles();
  Value depthOf(Value kTile);

  void emitBefore();
  void emitAfter();

  /// The tile that emitBefore() starts from (i32); without it, the CTA's
  /// number. And how many there are.
  void setTile(Value number) { tile = number; }
  /// Of a persistent CTA: tiles are firstTile(), + tileStep(), … below
  /// numTiles(). The CTAs of a cluster count what the cluster works on.
  Value firstTile();
  Value tileStep();
  Value numTiles();

  /// All CTAs of a cluster along M need what the load brings: each brings a
  /// part to all of them. The boxes of any load.
  bool isMulticast(LoadOp load);
  TmaBoxes loadBoxes(LoadOp load);

  /// The one tile of another array that comes through the ring, too; may be
  /// null. Its box.
  LoadFragOp ringFrag();
  MmaFamily::TmaBox ringFragBox();
  /// Stages of the ring that a tile takes.
  int64_t stagesPerTile() { return numKTiles() + (ringFrag() ? 1 : 0); }

  /// What row sums over a cluster need in shared memory: families with such a
  /// layout reserve it, and one thread initialises its barriers.
  void allocateExchanges();
  void initializeExchanges();

  /// Persistent CTAs that stay in their columns read colvecs once: the threads
  /// of the epilogue copy them to shared memory before their first tile, as f32
  /// in the order of RowLayout. Returns whether there are any; a barrier must
  /// follow.
  bool copyColvecs();

  /// Families set this before emitBefore().
  RowLayout layout;

  /// What a value of the kernel dialect has become: one i32 for an index, the
  /// registers for a distributed value.
  Values &operator[](Value value) { return values[value]; }
  Value index(Value value) { return values[value].front(); }
  /// Of a column: where its group of 8 starts, the same for all threads of the
  /// warp, and often a constant.
  Value group(Value value) { return values[value].back(); }
  /// The number of rows: every dynamic size.
  Value numRows() { return index(rowsArgument); }
  Value pointer(Value memref) { return pointers.lookup(memref); }
  Value tensorMap(Value memref) { return tensorMaps.lookup(memref); }
  /// Elements from one row of a matrix to the next (i64).
  Value rowStride(Value memref);

  int64_t numSlots() { return ring.getProduce().getNumArguments() - 1; }
  /// The slot that an argument of the pipeline's regions stands for.
  static int64_t slotOf(mlir::Value argument) {
    return mlir::cast<mlir::BlockArgument>(argument).getArgNumber() - 1;
  }
  /// The load that fills a slot, and the slot's bytes.
  LoadOp slotLoad(int64_t slot);
  int64_t slotBytes(int64_t slot);
  /// Where a slot starts: in a stage, or the one of the first step, if its load
  /// is resident; and what is to be added for the stage that starts at
  /// `stageOffset`, or for step `kTile` (both i32).
  int64_t slotOffset(int64_t slot);
  Value slotAdvance(int64_t slot, Value stageOffset, Value kTile);
  int64_t stageBytes();
  /// Reserves shared memory at a fixed offset. The stages come first.
  int64_t allocateShared(int64_t bytes, int64_t alignment);
  /// Address of a fixed offset, or of offset + `dynamic` (i32, bytes).
  Value shared(int64_t offset, Value dynamic = Value());
  /// The same as a number, for descriptors.
  Value sharedAddress(int64_t offset, Value dynamic = Value());

private:
  void createFunction();
  int64_t numColumnTiles();
  /// Rows of tiles, those of a cluster counted as one.
  Value numClusterRows();
  void emitTileOrigin(TileOriginOp op);
  mlir::DictionaryAttr launchAbi();
  void emitOp(mlir::Operation *op);

  // Epilogue.cpp, EpilogueMemory.cpp
  void emitForSlices(ForSlicesOp op);
  void emitMap(MapOp op);
  void emitAccumulate(AccumulateOp op);
  void emitRowCombine(RowCombineOp op);
  void exchangeInCluster(RowCombineOp op, Values &sums);
  /// For each of two rounds and each team, the CTAs whose sums arrive: of two
  /// the other one, of more all of them.
  int64_t numSenders() {
    return layout.ctasPerRow == 2 ? 1 : layout.ctasPerRow;
  }
  int64_t numExchangeRounds() { return 2 * layout.numTeams; }
  void emitLoadColvec(LoadColvecOp op);
  void emitLoadFrag(LoadFragOp op);
  void emitStoreFrag(StoreFragOp op);
  void emitStoreRowvec(StoreRowvecOp op);
  /// A slice has this many groups of eight columns.
  static constexpr int64_t numGroups = 4;
  /// The four lanes of a row have two columns of each group (the fragments of
  /// mma). Between them and global memory, each has all of one: 16 bytes.
  bool sharesGroups(mlir::Type elementType);
  /// Word g of lane l, two columns of group g, becomes word l of lane g; and
  /// back.
  void exchangeGroups(llvm::MutableArrayRef<Value> words);
  bool isPadding(int64_t size, Value column);
  bool hasPadding(int64_t size);
  Value groupPtr(Value memref, Value row, Value column);
  Values loadGroups(LoadFragOp op);
  void storeGroups(StoreFragOp op, mlir::ValueRange frag);
  /// One slice's values of a vector over columns, from global memory; `column`
  /// and `group` are as in index() and group().
  Values loadColumns(Value source, Value column, Value group);
  /// Address of this thread's values of slice `slice` (i32) in a copy.
  Value copiedColumns(int64_t copy, Value slice);
  Values cloneScalars(mlir::Block &body, ValueRange arguments);
  Value convertFloat(Value value, mlir::Type type);
  /// The group of 8 columns with column `c` of the layout lies inside (null:
  /// all do). Sizes are multiples of 8: a group is inside or outside as a
  /// whole.
  Value columnsInside(int64_t size, Value column, int64_t c);
  Value clampedColumn(Value column, Value group, int64_t c, int64_t size);
  struct Run {
    int64_t first, count; ///< in RowLayout::columns
  };
  /// Runs of consecutive columns that one access of at most 16 bytes covers.
  llvm::SmallVector<Run> runs(mlir::Type elementType);

  DeviceBuilder b;
  FuncOp kernel;
  PipelineOp ring;
  MmaFamily &family;
  mlir::LLVM::LLVMFuncOp function;
  Value dynamicShared, rowsArgument, tile;
  int64_t sliceNumber = 0; ///< of the slice under way, where they are unrolled
  llvm::DenseMap<Value, Values> values;
  llvm::DenseMap<Value, Value> pointers, tensorMaps, rowStrides;
  int64_t sharedBytes = 0;
  struct Exchange {
    int64_t slots = 0, barriers = 0; ///< offsets in shared memory
  };
  llvm::DenseMap<RowCombineOp, Exchange> exchanges;
  /// Offset in shared memory of the copy of a vector over columns.
  llvm::DenseMap<Value, int64_t> colvecCopies;
};

} // namespace flashnorm::kernel

#endif // LIB_CONVERSION_KERNELTONVVM_KERNELEMITTER_H
