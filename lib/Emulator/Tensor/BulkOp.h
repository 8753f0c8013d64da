//===- BulkOp.h - What bulk copies have in common ---------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_TENSOR_BULKOP_H
#define FLASHNORM_LIB_EMULATOR_TENSOR_BULKOP_H

#include "Machine/Async.h"
#include "Machine/Memory.h"

namespace flashnorm::emulator {

/// Copies go in up to this many pieces: enough for others to see one half done.
constexpr unsigned numPieces = 4;

/// Where in shared memory a copy goes, and the mbarrier that hears of it; with
/// .multicast::cluster, in several CTAs, at the same offsets.
class SharedDestination {
public:
  /// Checks addresses, mbarrier and mask. `mask` is 0 without multicast.
  SharedDestination(Thread &thread, uint64_t address, uint64_t bytes,
                    unsigned alignment, uint64_t barrier, uint16_t mask);

  void poison(AsyncOp &op) const;
  /// Writes bytes at an address that the first CTA would have; the others get
  /// them at the same offset.
  void write(AsyncOp &op, uint32_t address, const char *data,
             uint64_t count) const;
  void complete(AsyncOp &op, uint64_t count) const;

private:
  uint32_t address, barrier;
  uint64_t bytes;
  llvm::SmallVector<uint32_t, 4> ctas; ///< their shared::cluster bases
};

enum class ReduceOperation : uint8_t { And, Or, Xor, Add, Inc, Dec, Min, Max };

/// Whether cp.reduce.async.bulk does an operation on a type.
bool canReduce(ReduceOperation operation, ptx::Type type);
/// to[i] = to[i] op from[i]. `flush`: subnormal f32 count as zero, as in global
/// memory.
void reduceElements(ReduceOperation operation, ptx::Type type, char *to,
                    const char *from, uint64_t bytes, bool flush);

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_TENSOR_BULKOP_H
