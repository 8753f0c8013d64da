//===- DeviceBuilder.h - Builds thread-level device code --------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A builder for the code of one thread, in the arith, scf, LLVM and NVVM
// dialects. One function per instruction or idiom; all inline PTX that
// FlashNorm emits is written in DeviceBuilder.cpp, and nowhere else.
//
//===----------------------------------------------------------------------===//
#ifndef LIB_CONVERSION_KERNELTONVVM_DEVICEBUILDER_H
#define LIB_CONVERSION_KERNELTONVVM_DEVICEBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace flashnorm::kernel {

class DeviceBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;
  using Values = llvm::SmallVector<Value>;

  //===--------------------------------------------------------------------===//
  // Scalars. Integers are i32 unless the name says otherwise.
  //===--------------------------------------------------------------------===//
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value f32(double value);
  Value add(Value a, Value b);
  Value add(Value a, int64_t b);
  Value sub(Value a, int64_t b);
  Value mul(Value a, Value b);
  Value mul(Value a, int64_t b);
  Value div(Value a, int64_t b); ///< unsigned
  Value rem(Value a, int64_t b); ///< unsigned
  Value sub(Value a, Value b);
  Value div(Value a, Value b); ///< unsigned
  Value min(Value a, Value b); ///< signed
  Value shl(Value a, int64_t b);
  Value shr(Value a, int64_t b); ///< unsigned
  Value bitAnd(Value a, int64_t b);
  Value bitXor(Value a, Value b);
  Value bitXor(Value a, int64_t b);
  Value bitOr(Value a, Value b);
  Value less(Value a, Value b); ///< signed
  Value less(Value a, int64_t b);
  Value equal(Value a, int64_t b);
  Value both(Value a, Value b); ///< and of i1; a null operand is true
  Value select(Value condition, Value a, Value b);
  Value addF(Value a, Value b);
  Value fma(Value a, Value b, Value c);

  //===--------------------------------------------------------------------===//
  // Control flow. The body runs with the insertion point inside.
  //===--------------------------------------------------------------------===//
  void ifThen(Value condition, llvm::function_ref<void()> then);
  void ifThenElse(Value condition, llvm::function_ref<void()> then,
                  llvm::function_ref<void()> otherwise);
  /// for (i = 0; i < bound; ++i), carrying values. `bound` is at least 1.
  Values loop(int64_t bound, ValueRange inits,
              llvm::function_ref<Values(Value i, ValueRange carried)> body);

  /// for (i = begin; i < end; i += step), carrying values; may run zero times.
  Values loop(Value begin, Value end, Value step, ValueRange inits,
              llvm::function_ref<Values(Value i, ValueRange carried)> body);

  //===--------------------------------------------------------------------===//
  // Threads
  //===--------------------------------------------------------------------===//
  Value threadId(int64_t numThreads);
  Value blockId();
  Value numBlocks();
  Value clusterId();
  Value numClusters();
  /// This CTA's number in its cluster.
  Value rankInCluster();
  /// All threads of the cluster that have not exited. With `releases`, what was
  /// written before is seen after, which costs a fence as far as device memory;
  /// without, only barriers that fenceBarrierInit() has followed are.
  void clusterBarrier(bool releases);
  /// The value of lane 0, so that the compiler knows it is uniform in the warp.
  Value broadcastLane0(Value value);
  Value shuffleXor(Value value, int64_t lanes); ///< of an i32 or f32
  /// One lane of the warp gets true.
  Value elect();
  /// Barrier 0 is for the whole CTA.
  void barrier(int64_t id, int64_t numThreads);
  /// A barrier whose number (i32) is known at run time; and arriving at it
  /// without waiting.
  void barrierSync(Value id, int64_t numThreads);
  void barrierArrive(Value id, int64_t numThreads);
  void syncWarp();
  void setMaxRegisters(int64_t count, bool increase);

  //===--------------------------------------------------------------------===//
  // Memory. Addresses of shared memory are i32 byte offsets from `smem`.
  //===--------------------------------------------------------------------===//
  Value gep(Value pointer, Value byteOffset);
  Value gep(Value pointer, int64_t byteOffset);
  /// Element `index` (i64) of a global array.
  Value elementPtr(Value base, mlir::Type elementType, Value index);
  Value load(mlir::Type type, Value pointer, int64_t alignment,
             bool invariant = false);
  void store(Value value, Value pointer, int64_t alignment);
  /// 16 bytes, of which `bytes` (i32, null: all) are copied and the rest
  /// zeroed.
  void cpAsync16(Value sharedPtr, Value globalPtr, Value bytes);
  void cpAsyncCommit();
  void cpAsyncWait(int64_t pendingGroups);
  /// Four 8x8 matrices of 16-bit elements, as four i32.
  Values ldMatrix(Value sharedPtr, bool transpose);
  /// The reverse: lane i gives the address of row i of the 32 rows.
  void stMatrix(Value sharedPtr, ValueRange matrices);

  //===--------------------------------------------------------------------===//
  // mbarrier and TMA
  //===--------------------------------------------------------------------===//
  void mbarrierInit(Value barrier, int64_t count);
  /// Makes the initialised barriers visible to all threads and to TMA; a CTA
  /// barrier must follow.
  void fenceBarrierInit();
  void mbarrierArrive(Value barrier);
  void mbarrierExpectTx(Value barrier, Value bytes);
  /// Where the CTA with that rank has what this one has at the pointer: an
  /// address (i32) of the cluster's shared memory.
  Value mapToRank(Value sharedPtr, Value rank);
  /// Writes one, two or four f32 to such an address, aligned to their size, and
  /// reports the bytes to a barrier of the same CTA.
  void storeAsync(ValueRange f32Values, Value address, Value barrier);
  /// Arrives at a barrier of any CTA of the cluster. With `releases`, what this
  /// thread did before is done for whoever waits in the cluster, which costs a
  /// fence as far as device memory.
  void mbarrierArriveRemote(Value address, bool releases);
  /// Keeps ptxas from moving instructions across: waits for a phase of a
  /// barrier of its own that is complete from the start. Without it, an arrival
  /// sinks below whatever arithmetic follows.
  void schedulingBoundary(Value untouchedBarrier);
  /// Spins until the phase of that parity (i32) has completed; `inCluster`:
  /// sees what other CTAs wrote before.
  void mbarrierWait(Value barrier, Value parity, bool inCluster = false);
  /// Copies the box at (column, row) of a tensor map into this CTA; with
  /// `ctas`, into that many of the cluster, to the same place, and reports to
  /// the same barrier in each.
  void tmaLoad(Value sharedPtr, Value tensorMap, Value column, Value row,
               Value barrier, int64_t ctas = 1);
  /// The box that `tmaLoad` would load, from device memory into L2.
  void tmaPrefetch(Value tensorMap, Value column, Value row);
  void prefetchTensorMap(Value tensorMap);
  /// What this thread wrote to shared memory, TMA sees.
  void fenceProxyAsync();
  /// Copies shared memory to the box at (column, row), as part of the thread's
  /// open bulk group. What lies outside of the array is not written.
  void tmaStore(Value tensorMap, Value sharedPtr, Value column, Value row);
  void bulkCommit();
  /// Waits until the thread's bulk groups, all but the last `pending`, have
  /// read their shared memory.
  void bulkWaitRead(int64_t pending = 0);

  //===--------------------------------------------------------------------===//
  // MMA
  //===--------------------------------------------------------------------===//
  /// acc += A * B, m16n8k16; `acc` has four f32, updated in place.
  void mmaSync(ValueRange a, ValueRange b, llvm::MutableArrayRef<Value> acc,
               mlir::Type elementType);
  /// One group of m64nNk16 MMAs, fenced before and committed after, N being
  /// `columns`. The descriptors (i64) are one of B for each step of 16, and one
  /// of A for each step and block of 64 rows. Without `acc` they start from
  /// zero. Returns the accumulators, block after block, not readable before
  /// `wgmmaWait`.
  Values wgmma(ValueRange acc, int64_t columns, ValueRange descriptorsA,
               ValueRange descriptorsB, mlir::Type elementType,
               bool transposeB);
  /// Waits until at most `pending` groups run. The accumulators pass through,
  /// which keeps their uses behind the wait.
  Values wgmmaWait(ValueRange acc, int64_t pending);

  //===--------------------------------------------------------------------===//
  // tcgen05
  //===--------------------------------------------------------------------===//
  void tmemAlloc(Value sharedSlot, int64_t columns);
  void tmemDealloc(Value address, int64_t columns);
  void tcgen05FenceBefore();
  void tcgen05FenceAfter();
  void tcgen05Mma(Value tmemAddress, Value descriptorA, Value descriptorB,
                  int64_t instructionDescriptor, Value accumulate);
  void tcgen05Commit(Value barrier);
  /// 32 columns of this thread's lane, waited for.
  Values tmemLoad32(Value address);
  /// Writes 32 columns of this thread's lane, waited for.
  void tmemStore32(Value address, ValueRange values);

  //===--------------------------------------------------------------------===//
  // Types
  //===--------------------------------------------------------------------===//
  mlir::LLVM::LLVMPointerType globalPtr();
  mlir::LLVM::LLVMPointerType sharedPtr();
  /// The two 16-bit floats in an i32, as f32.
  std::pair<Value, Value> unpack(Value packed, mlir::Type elementType);
  /// Two f32, rounded to 16-bit floats, in an i32; `low` in the low half.
  Value pack(Value low, Value high, mlir::Type elementType);
  Value vectorOf(ValueRange values); ///< of one type

private:
  Values unpackStruct(Value aggregate, int64_t count);
};

} // namespace flashnorm::kernel

#endif // LIB_CONVERSION_KERNELTONVVM_DEVICEBUILDER_H
