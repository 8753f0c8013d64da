//===- SharedTile.cpp - A swizzled tile in shared memory ------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedTile.h"

using namespace mlir;
using namespace flashnorm::kernel;

Value SharedTile::mask(DeviceBuilder &b, Value row) const {
  if (chunks >= 8)
    return b.bitAnd(row, 7);
  // Two or four rows share 128 bytes.
  return b.bitAnd(b.div(row, 8 / chunks), chunks - 1);
}

bool SharedTile::isLegal(SmemType type) {
  int64_t columns = type.getShape()[1];
  return columns % 64 == 0 || columns == 32 || columns == 16;
}

TmaBoxes::TmaBoxes(SmemType type, int64_t parts)
    : columns(64), columnBlocks(type.getShape()[1] / 64) {
  int64_t total = type.getShape()[0];
  rowBlocks = llvm::alignTo(llvm::divideCeil(total, 256), parts);
  // Equal boxes that keep the 8-row atoms whole.
  while (total % (rowBlocks * 8))
    rowBlocks += parts;
  rows = total / rowBlocks;
}

bool TmaBoxes::isLegal(SmemType type, int64_t parts) {
  return type.getShape()[1] % 64 == 0 && type.getShape()[0] % (8 * parts) == 0;
}

void flashnorm::kernel::accumulateFragment(DeviceBuilder &b,
                                           ArrayRef<Value> fragment,
                                           MutableArrayRef<Value> sums,
                                           Reduction kind, Type elementType) {
  // Registers 0 and 2 are of row lane/4, 1 and 3 of row lane/4 + 8.
  for (int64_t i = 0; i < 4; ++i) {
    auto [low, high] = b.unpack(fragment[i], elementType);
    Value &sum = sums[i % 2];
    if (kind == Reduction::SumSq)
      sum = b.fma(high, high, b.fma(low, low, sum));
    else
      sum = b.addF(sum, b.addF(low, high));
  }
}
