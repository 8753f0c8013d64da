//===- SharedTile.h - A swizzled tile in shared memory ----------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef LIB_CONVERSION_KERNELTONVVM_SHAREDTILE_H
#define LIB_CONVERSION_KERNELTONVVM_SHAREDTILE_H

#include "DeviceBuilder.h"
#include "flashnorm/Dialect/Kernel/IR/Kernel.h"

namespace flashnorm::kernel {

/// A slot of a stage: rows of 16-byte chunks, whose position in the row is
/// xored with bits of the row number, so that the eight rows that one ldmatrix
/// phase reads lie in different banks. With rows of 128 bytes this is TMA's
/// 128-byte swizzle.
struct SharedTile {
  int64_t rows, chunks;

  explicit SharedTile(SmemType type)
      : rows(type.getShape()[0]), chunks(type.getShape()[1] / 8) {}

  int64_t rowBytes() const { return chunks * 16; }
  /// What row `row` xors its chunks with.
  mlir::Value mask(DeviceBuilder &b, mlir::Value row) const;
  /// Whether the swizzle is defined for rows of this length.
  static bool isLegal(SmemType type);
};

/// How TMA fills a slot: boxes of at most 64 columns (128 bytes, the span of
/// the swizzle) by 256 rows, column blocks outermost. Where the CTAs of a
/// cluster need the same slot, each loads every `parts`-th row block for all.
struct TmaBoxes {
  int64_t columns, rows;           ///< of one box
  int64_t columnBlocks, rowBlocks; ///< boxes of the slot

  explicit TmaBoxes(SmemType type, int64_t parts = 1);
  int64_t bytes() const { return columns * rows * 2; }
  int64_t totalBytes() const { return bytes() * columnBlocks * rowBlocks; }
  /// Bytes from one block of 64 columns to the next.
  int64_t columnBlockStride() const { return rows * rowBlocks * 128; }
  /// Columns in multiples of 64, rows in multiples of 8 for each part.
  static bool isLegal(SmemType type, int64_t parts = 1);
};

/// Adds the sum or the sum of squares of an m16k16 fragment (four registers as
/// ldmatrix gives them) to its two rows, lane/4 and lane/4 + 8.
void accumulateFragment(DeviceBuilder &b, llvm::ArrayRef<mlir::Value> fragment,
                        llvm::MutableArrayRef<mlir::Value> sums, Reduction kind,
                        mlir::Type elementType);

} // namespace flashnorm::kernel

#endif // LIB_CONVERSION_KERNELTONVVM_SHAREDTILE_H
