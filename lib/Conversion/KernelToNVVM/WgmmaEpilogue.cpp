//===- WgmmaEpilogue.cpp - Accumulators of wgmma in and out ---------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slices of the accumulators, their stores by TMA, and the tile of another
// array that comes through the ring.
//
//===----------------------------------------------------------------------===//

#include "Wgmma.h"

using namespace mlir;
using namespace flashnorm;
using namespace flashnorm::kernel;
using Values = DeviceBuilder::Values;

Values Wgmma::readSlice(KernelEmitter &emitter, ValueRange acc, int64_t slice) {
  Values values;
  for (int64_t r = 0; r < numRows(); ++r)
    for (int64_t c = 0; c < 8; ++c)
      values.push_back(acc[accIndex(slice, r, c)]);
  return values;
}

void Wgmma::writeSlice(KernelEmitter &emitter, Values &acc, int64_t slice,
                       ValueRange values) {
  for (int64_t r = 0; r < numRows(); ++r)
    for (int64_t c = 0; c < 8; ++c)
      acc[accIndex(slice, r, c)] = values[r * 8 + c];
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// Shared memory of a warp for each result: 16 rows of 128 bytes.
static constexpr int64_t storeBytes = 2048;

std::optional<MmaFamily::TmaBox> Wgmma::storeBox(ConfigAttr config,
                                                 Type elementType) {
  // A warp's rows, and the columns of a slice.
  int64_t bytes = elementType.getIntOrFloatBitWidth() / 8;
  int64_t columns = RowLayout().sliceColumns;
  return TmaBox{columns, 16, columns * bytes};
}

void Wgmma::storeFrag(KernelEmitter &emitter, StoreFragOp op, int64_t slice,
                      ValueRange frag) {
  auto insertion = staging.try_emplace(op, 0);
  if (insertion.second) // swizzles repeat after 1024 bytes
    insertion.first->second = emitter.allocateShared(
        4 * numConsumers(emitter.config()) * storeBytes, 1024);
  size_t count = frag.size() / blocks;
  for (int64_t block = 0; block < blocks; ++block)
    storeBlock(emitter, op, insertion.first->second, slice, block,
               frag.slice(block * count, count));
}

/// Whether a warp keeps one box under way at a time, not two, while the other
/// warpgroup multiplies. Slices that only scale follow each other faster than
/// TMA takes them, and loads wait behind the queue. Measured on an H200, for
/// norms without vectors: 1 to 3 % faster where the MMAs of a tile take longer
/// than its epilogue, so that they hide slower stores, 1 to 4 % slower where
/// not. Slices that read vectors or arrays gained 1 % or lost 3,
/// multiplications alone neither.
bool Wgmma::pacesStores(KernelEmitter &emitter, StoreFragOp op) {
  constexpr int64_t leastDepth = 1024;
  if (!emitter.config().isPingPong() ||
      int64_t(emitter.pipeline().getBound()) < leastDepth)
    return false;
  auto isRead = [](Operation &other) {
    return isa<LoadColvecOp, LoadFragOp>(other);
  };
  bool hasStatistics = false;
  op->getParentOfType<FuncOp>().walk(
      [&](AccumulateOp) { hasStatistics = true; });
  return hasStatistics && llvm::none_of(*op->getBlock(), isRead);
}

/// The 16 rows of each warp in `block`, through the warp's boxes at `offset`.
void Wgmma::storeBlock(KernelEmitter &emitter, StoreFragOp op, int64_t offset,
                       int64_t slice, int64_t block, ValueRange frag) {
  DeviceBuilder &b = emitter.builder();
  Type element = cast<MemRefType>(op.getTarget().getType()).getElementType();
  TmaBox box = *storeBox(emitter.config(), element);
  int64_t boxBytes = box.swizzle * box.rows;
  // Of 16-bit results, one box is filled while another one is stored.
  int64_t numBoxes = storeBytes / boxBytes;
  int64_t number = slice * blocks + block;
  offset += number % numBoxes * boxBytes;
  Value warpOffset = b.mul(b.sub(warp, 4), storeBytes);
  Value isStoring = b.equal(lane, 0);

  // The store that was last in the box has read it. With an odd number of
  // stores the tile before ended with the box that this one begins with.
  bool isLastOfBefore =
      number == 0 && emitter.layout.numSlices * blocks % numBoxes != 0;
  b.ifThen(isStoring, [&] {
    if (numBoxes > 1 && pacesStores(emitter, op))
      b.ifThen(hasNext, [&] { b.bulkWaitRead(); });
    b.bulkWaitRead(isLastOfBefore ? 0 : numBoxes - 1);
  });
  b.syncWarp();
  // 16-byte chunks of a row are xored with row bits: TMA's swizzle.
  auto chunkAddress = [&](Value row, Value chunk, Value inChunk) {
    Value mask =
        box.swizzle == 128 ? b.bitAnd(row, 7) : b.bitAnd(b.shr(row, 1), 3);
    Value inBox =
        b.add(b.mul(row, box.swizzle), b.shl(b.bitXor(chunk, mask), 4));
    if (inChunk)
      inBox = b.add(inBox, inChunk);
    return emitter.shared(offset, b.add(warpOffset, inBox));
  };
  auto at = [&](int64_t r, int64_t c) { return frag[r * 8 + c]; };
  if (element.getIntOrFloatBitWidth() == 16) {
    // 16 rows x 16 columns at a time: the matrices are (rows 0-7, columns
    // 0-7), (8-15, 0-7), (0-7, 8-15), (8-15, 8-15).
    Value row = b.bitAnd(lane, 15), half = b.shr(lane, 4);
    for (int64_t step = 0; step < 2; ++step) {
      Values matrices;
      for (int64_t matrix = 0; matrix < 4; ++matrix) {
        int64_t r = matrix % 2, c = 4 * step + matrix / 2 * 2;
        matrices.push_back(b.pack(at(r, c), at(r, c + 1), element));
      }
      b.stMatrix(chunkAddress(row, b.add(half, step * 2), Value()), matrices);
    }
  } else {
    Value inChunk = b.shl(b.bitAnd(lane, 1), 3);
    Value half = b.bitAnd(b.shr(lane, 1), 1);
    for (int64_t r = 0; r < 2; ++r)
      for (int64_t c = 0; c < 8; c += 2) {
        Value row = b.add(b.shr(lane, 2), 8 * r);
        b.store(b.vectorOf({at(r, c), at(r, c + 1)}),
                chunkAddress(row, b.add(half, c), inChunk), 8);
      }
  }
  b.fenceProxyAsync();
  b.syncWarp();
  b.ifThen(isStoring, [&] {
    Value row = b.add(emitter.index(op.getRow()), b.add(warpRow, 64 * block));
    b.tmaStore(emitter.tensorMap(op.getTarget()),
               emitter.shared(offset, warpOffset),
               emitter.group(op.getColumn()), row);
    b.bulkCommit();
  });
}

//===----------------------------------------------------------------------===//
// A tile of another array, through the ring
//===----------------------------------------------------------------------===//

std::optional<MmaFamily::TmaBox>
Wgmma::fragBox(ConfigAttr config, int64_t stageBytes, Type elementType) {
  // ldmatrix reads 16-bit elements.
  if (elementType.getIntOrFloatBitWidth() != 16)
    return std::nullopt;
  TmaBox box{64, config.getTileM(), 128};
  int64_t boxes = llvm::divideCeil(config.getTileN(), box.columns);
  // The CTAs that share a tile have few of its columns each.
  if (boxes * box.rows * box.swizzle > stageBytes || config.getClusterK() > 1)
    return std::nullopt;
  return box;
}

Values Wgmma::loadFrag(KernelEmitter &emitter, LoadFragOp op, int64_t slice) {
  DeviceBuilder &b = emitter.builder();
  Type element = cast<MemRefType>(op.getSource().getType()).getElementType();
  TmaBox box = emitter.ringFragBox();
  const RowLayout &layout = emitter.layout;
  Value column = b.add(layout.groupColumn, slice * layout.sliceColumns);
  Value inBox = b.rem(column, box.columns);
  Value row = b.add(warpRow, b.bitAnd(lane, 15)), half = b.shr(lane, 4);
  Value base =
      b.add(b.mul(fragStage, emitter.stageBytes()),
            b.add(b.mul(b.div(column, box.columns), box.rows * box.swizzle),
                  b.mul(row, box.swizzle)));
  // The matrices of storeFrag.
  Values values(8 * numRows());
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t step = 0; step < 2; ++step) {
      Value chunk = b.bitXor(b.add(b.shr(inBox, 3), b.add(half, step * 2)),
                             b.bitAnd(row, 7));
      Values matrices = b.ldMatrix(emitter.shared(block * 64 * box.swizzle,
                                                  b.add(base, b.shl(chunk, 4))),
                                   /*transpose=*/false);
      for (int64_t matrix = 0; matrix < 4; ++matrix) {
        int64_t r = 2 * block + matrix % 2, c = 4 * step + matrix / 2 * 2;
        std::tie(values[r * 8 + c], values[r * 8 + c + 1]) =
            b.unpack(matrices[matrix], element);
      }
    }
  return values;
}

void Wgmma::endFrag(KernelEmitter &emitter) {
  ring->release(fragStage);
  ring->schedulingBoundary();
}
