//===- MmaSync.cpp - cp.async, ldmatrix and mma.sync: sm_80 and later -----===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All warps have all roles: each thread copies its part of a stage ahead of
// time, and the warps split the tile's rows and columns. A warp multiplies in
// m16n8k16 steps; a thread holds rows lane/4 and lane/4 + 8 of each 16, and two
// columns of each 8 (PTX ISA, "Matrix Fragments for mma.m16n8k16").
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"
#include "SharedTile.h"

using namespace mlir;
using namespace flashnorm::kernel;
using Values = DeviceBuilder::Values;

namespace {

class MmaSync : public MmaFamily {
public:
  LogicalResult check(FuncOp func, PipelineOp pipeline) override;
  int64_t numThreads(ConfigAttr config) override {
    return 32 * config.getWarpsM() * config.getWarpsN();
  }
  bool usesTensorMaps() override { return false; }
  int64_t numEpilogueThreads(ConfigAttr config) override {
    return numThreads(config);
  }
  int64_t epilogueBarrier() override { return 0; }
  void emit(KernelEmitter &emitter) override;
  Values readSlice(KernelEmitter &emitter, ValueRange acc,
                   int64_t slice) override;
  void writeSlice(KernelEmitter &emitter, Values &acc, int64_t slice,
                  ValueRange values) override;

private:
  void setUp(KernelEmitter &emitter);
  void emitLoads(KernelEmitter &emitter, Value stageOffset, Value k);
  Values emitConsume(KernelEmitter &emitter, Value stageOffset,
                     ValueRange carried);
  /// Position of (row r of the thread, column c of the slice) in the
  /// accumulator: m16 step, n8 step, half of the rows, pair of columns.
  int64_t accIndex(int64_t slice, int64_t r, int64_t c) const {
    int64_t step = slice * 4 + c / 2;
    return ((r / 2) * columnSteps + step) * 4 + (r % 2) * 2 + c % 2;
  }

  int64_t warpRows = 0, warpColumns = 0; ///< of a warp's part of the tile
  int64_t rowSteps = 0, columnSteps = 0; ///< m16 and n8 steps of a warp
  Value thread, lane, warpM, warpN;
};

} // namespace

std::unique_ptr<MmaFamily> flashnorm::kernel::createMmaSync() {
  return std::make_unique<MmaSync>();
}

LogicalResult MmaSync::check(FuncOp func, PipelineOp pipeline) {
  ConfigAttr config = func.getConfig();
  int64_t rows = config.getTileM() / config.getWarpsM();
  int64_t columns = config.getTileN() / config.getWarpsN();
  if (config.getTileM() % config.getWarpsM() || rows % 16)
    return func.emitOpError()
           << "mma_sync needs a multiple of 16 rows a warp; the tile has "
           << config.getTileM() << " rows for " << config.getWarpsM()
           << " warps";
  if (config.getTileN() % config.getWarpsN() || columns % 32)
    return func.emitOpError()
           << "mma_sync needs a multiple of 32 columns a warp; the tile has "
           << config.getTileN() << " columns for " << config.getWarpsN()
           << " warps";
  if (rows * columns / 32 > 128)
    return func.emitOpError()
           << "mma_sync holds 128 accumulators a thread; a "
              "warp's part of "
           << rows << "x" << columns << " needs " << rows * columns / 32;
  if (numThreads(config) > 1024)
    return func.emitOpError() << "needs " << numThreads(config)
                              << " threads; a CTA has at most 1024";
  if (config.getTileK() % 16)
    return func.emitOpError()
           << "mma_sync needs a depth that is a multiple of 16, got "
           << config.getTileK();
  if (pipeline.getStages() < 2)
    return func.emitOpError()
           << "mma_sync needs at least 2 stages, got " << pipeline.getStages();
  for (Value slot : pipeline.getProduce().getArguments().drop_front())
    if (!SharedTile::isLegal(cast<SmemType>(slot.getType())))
      return func.emitOpError()
             << "mma_sync needs 16, 32 or a multiple of 64 columns in a slot, "
                "got "
             << slot.getType();
  return success();
}

void MmaSync::setUp(KernelEmitter &emitter) {
  DeviceBuilder &b = emitter.builder();
  ConfigAttr config = emitter.config();
  warpRows = config.getTileM() / config.getWarpsM();
  warpColumns = config.getTileN() / config.getWarpsN();
  rowSteps = warpRows / 16;
  columnSteps = warpColumns / 8;
  thread = b.threadId(numThreads(config));
  lane = b.bitAnd(thread, 31);
  Value warp = b.broadcastLane0(b.shr(thread, 5));
  // With one warp across, its rank is a constant that masks fold with.
  warpM = b.rem(warp, config.getWarpsM());
  warpN = config.getWarpsN() == 1 ? b.i32(0) : b.div(warp, config.getWarpsM());

  RowLayout &layout = emitter.layout;
  layout.row = b.add(b.mul(warpM, warpRows), b.shr(lane, 2));
  layout.groupColumn = b.mul(warpN, warpColumns);
  layout.column = b.add(layout.groupColumn, b.shl(b.bitAnd(lane, 3), 1));
  for (int64_t step = 0; step < rowSteps; ++step)
    layout.rows.append({16 * step, 16 * step + 8});
  for (int64_t step = 0; step < 4; ++step)
    layout.columns.append({8 * step, 8 * step + 1});
  layout.numSlices = warpColumns / layout.sliceColumns;
  layout.run = 2;
  layout.lanesPerRow = 4;
  layout.laneInRow = b.bitAnd(lane, 3);
  layout.warpsPerRow = config.getWarpsN();
  layout.warpInRow = warpN;
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

void MmaSync::emitLoads(KernelEmitter &emitter, Value stageOffset, Value k) {
  DeviceBuilder &b = emitter.builder();
  Block &body = emitter.pipeline().getProduce().front();
  emitter[body.getArgument(0)] = {k};
  int64_t threads = numThreads(emitter.config());
  for (LoadOp load : body.getOps<LoadOp>()) {
    auto slot = cast<BlockArgument>(load.getTarget());
    int64_t offset = emitter.slotOffset(KernelEmitter::slotOf(slot));
    auto type = cast<MemRefType>(load.getSource().getType());
    Type element = type.getElementType();
    SharedTile tile(cast<SmemType>(slot.getType()));
    Value base = emitter.pointer(load.getSource());
    Value row0 = emitter.index(load.getRow());
    Value column0 = emitter.index(load.getColumn());
    bool columnsFit = type.getDimSize(1) % (tile.chunks * 8) == 0;
    bool rowsFit = !type.isDynamicDim(0) && type.getDimSize(0) % tile.rows == 0;
    int64_t total = tile.rows * tile.chunks;
    for (int64_t first = 0; first < total; first += threads) {
      Value id = b.add(thread, first);
      Value active = first + threads > total ? b.less(id, total) : Value();
      b.ifThen(active, [&] {
        Value row = b.div(id, tile.chunks), chunk = b.rem(id, tile.chunks);
        Value globalRow = b.add(row0, row);
        Value globalColumn = b.add(column0, b.shl(chunk, 3));
        Value inside;
        if (!columnsFit)
          inside = b.less(globalColumn, type.getDimSize(1));
        if (!rowsFit)
          inside = b.both(inside,
                          b.less(globalRow, type.isDynamicDim(0)
                                                ? emitter.numRows()
                                                : b.i32(type.getDimSize(0))));
        Value index = arith::AddIOp::create(
            b,
            arith::MulIOp::create(
                b, arith::ExtSIOp::create(b, b.getI64Type(), globalRow),
                emitter.rowStride(load.getSource())),
            arith::ExtSIOp::create(b, b.getI64Type(), globalColumn));
        Value swizzled = b.bitXor(chunk, tile.mask(b, row));
        Value position = b.add(b.mul(row, tile.rowBytes()), b.shl(swizzled, 4));
        b.cpAsync16(emitter.shared(offset, b.add(stageOffset, position)),
                    b.elementPtr(base, element, index),
                    inside ? b.select(inside, b.i32(16), b.i32(0)) : Value());
      });
    }
  }
}

//===----------------------------------------------------------------------===//
// MMAs and row statistics
//===----------------------------------------------------------------------===//

Values MmaSync::emitConsume(KernelEmitter &emitter, Value stageOffset,
                            ValueRange carried) {
  DeviceBuilder &b = emitter.builder();
  PipelineOp ring = emitter.pipeline();
  Block &body = ring.getConsume().front();
  Type element = emitter.elementType();
  int64_t numSlots = emitter.numSlots();

  // Unpack what the loop carries: the accumulator, then rowvecs.
  size_t position = rowSteps * columnSteps * 4;
  Value accArgument = body.getArgument(1 + numSlots);
  emitter[accArgument] = Values(carried.take_front(position));
  for (Value argument : body.getArguments().drop_front(2 + numSlots)) {
    size_t count = emitter.layout.rows.size();
    emitter[argument] = Values(carried.slice(position, count));
    position += count;
  }

  Value low = b.bitAnd(lane, 15), high = b.shr(lane, 4);
  for (Operation &op : body.without_terminator()) {
    // A operand, or the tile whose rows are summed: fragments of m16k16.
    Value tileValue = isa<MmaOp>(op) ? cast<MmaOp>(op).getA()
                                     : cast<AccumulateTileOp>(op).getTile();
    SharedTile a(cast<SmemType>(tileValue.getType()));
    int64_t offsetA = emitter.slotOffset(KernelEmitter::slotOf(tileValue));
    Value rowA = b.add(b.mul(warpM, warpRows), low);
    Value baseA = b.add(stageOffset, b.mul(rowA, a.rowBytes()));
    Value maskA = a.mask(b, low);
    auto fragmentA = [&](int64_t step, int64_t kStep) {
      Value chunk = b.bitXor(b.add(high, 2 * kStep), maskA);
      return b.ldMatrix(emitter.shared(offsetA + step * 16 * a.rowBytes(),
                                       b.add(baseA, b.shl(chunk, 4))),
                        /*transpose=*/false);
    };
    int64_t kSteps = a.chunks / 2;

    if (auto statistic = dyn_cast<AccumulateTileOp>(op)) {
      Values sums = emitter[statistic.getInit()];
      for (int64_t kStep = 0; kStep < kSteps; ++kStep)
        for (int64_t step = 0; step < rowSteps; ++step)
          accumulateFragment(b, fragmentA(step, kStep),
                             MutableArrayRef<Value>(sums).slice(2 * step, 2),
                             statistic.getKind(), element);
      emitter[statistic.getResult()] = sums;
      continue;
    }

    auto mma = cast<MmaOp>(op);
    SharedTile bTile(cast<SmemType>(mma.getB().getType()));
    int64_t offsetB = emitter.slotOffset(KernelEmitter::slotOf(mma.getB()));
    Value columnB = b.mul(warpN, warpColumns);
    // Two n8 steps of B: [n][k] as it is, [k][n] through ldmatrix.trans.
    auto fragmentB = [&](int64_t pair, int64_t kStep) {
      Value at;
      if (mma.getTransposeB()) {
        Value row = b.add(columnB, low);
        Value chunk = b.bitXor(b.add(high, 2 * kStep), bTile.mask(b, low));
        at = b.add(b.mul(row, bTile.rowBytes()), b.shl(chunk, 4));
        return b.ldMatrix(emitter.shared(offsetB + pair * 16 * bTile.rowBytes(),
                                         b.add(stageOffset, at)),
                          /*transpose=*/false);
      }
      Value chunk = b.add(b.add(b.shr(columnB, 3), high), 2 * pair);
      chunk = b.bitXor(chunk, bTile.mask(b, low));
      at = b.add(b.mul(low, bTile.rowBytes()), b.shl(chunk, 4));
      return b.ldMatrix(emitter.shared(offsetB + kStep * 16 * bTile.rowBytes(),
                                       b.add(stageOffset, at)),
                        /*transpose=*/true);
    };
    Values acc = emitter[mma.getAcc()];
    for (int64_t kStep = 0; kStep < kSteps; ++kStep) {
      SmallVector<Values> fragmentsA;
      for (int64_t step = 0; step < rowSteps; ++step)
        fragmentsA.push_back(fragmentA(step, kStep));
      for (int64_t pair = 0; pair < columnSteps / 2; ++pair) {
        Values quad = fragmentB(pair, kStep);
        for (int64_t half = 0; half < 2; ++half) {
          // Matrices come as (n, k) = 00 10 01 11, transposed as 00 01 10 11.
          Values fragment = mma.getTransposeB()
                                ? Values{quad[half], quad[2 + half]}
                                : Values{quad[2 * half], quad[2 * half + 1]};
          for (int64_t step = 0; step < rowSteps; ++step)
            b.mmaSync(fragmentsA[step], fragment,
                      MutableArrayRef<Value>(acc).slice(
                          (step * columnSteps + 2 * pair + half) * 4, 4),
                      element);
        }
      }
    }
    emitter[mma.getResult()] = acc;
  }

  Values results;
  for (Value value : cast<YieldOp>(body.getTerminator()).getValues())
    results.append(emitter[value]);
  return results;
}

void MmaSync::emit(KernelEmitter &emitter) {
  DeviceBuilder &b = emitter.builder();
  PipelineOp ring = emitter.pipeline();
  setUp(emitter);
  emitter.emitBefore();

  int64_t stages = ring.getStages(), numKTiles = emitter.numKTiles();
  int64_t stageBytes = emitter.stageBytes();
  for (int64_t stage = 0; stage < stages - 1; ++stage) {
    if (stage < numKTiles)
      emitLoads(emitter, b.i32(stage * stageBytes),
                b.i32(stage * ring.getStep()));
    // A group per stage, also an empty one, keeps the wait count constant.
    b.cpAsyncCommit();
  }

  // Carried: stage to read, accumulators, rowvecs.
  Values inits{b.i32(0)};
  Value zero = b.f32(0);
  inits.append(rowSteps * columnSteps * 4, zero);
  for (Value init : ring.getInits().drop_front())
    inits.append(emitter[init]);
  Values results =
      b.loop(numKTiles, inits, [&](Value kTile, ValueRange carried) {
        b.cpAsyncWait(stages - 2);
        // The stage has arrived for all threads, and all are done with the one
        // that the next loads overwrite.
        b.barrier(0, 0);
        Value stage = carried.front();
        Value ahead = b.add(kTile, stages - 1);
        b.ifThen(b.less(ahead, numKTiles), [&] {
          Value free = b.add(stage, stages - 1);
          free = b.select(b.less(free, stages), free, b.sub(free, stages));
          emitLoads(emitter, b.mul(free, stageBytes),
                    b.mul(ahead, ring.getStep()));
        });
        b.cpAsyncCommit();
        Values next = emitConsume(emitter, b.mul(stage, stageBytes),
                                  carried.drop_front());
        Value following = b.add(stage, 1);
        next.insert(next.begin(),
                    b.select(b.equal(following, stages), b.i32(0), following));
        return next;
      });
  b.cpAsyncWait(0);

  ArrayRef<Value> rest = ArrayRef<Value>(results).drop_front();
  for (auto [i, result] : llvm::enumerate(ring.getResults())) {
    size_t count =
        i == 0 ? rowSteps * columnSteps * 4 : emitter.layout.rows.size();
    emitter[result] = Values(rest.take_front(count));
    rest = rest.drop_front(count);
  }
  emitter.emitAfter();
}

//===----------------------------------------------------------------------===//
// Slices of the accumulator
//===----------------------------------------------------------------------===//

Values MmaSync::readSlice(KernelEmitter &emitter, ValueRange acc,
                          int64_t slice) {
  Values values;
  for (size_t r = 0; r < emitter.layout.rows.size(); ++r)
    for (size_t c = 0; c < emitter.layout.columns.size(); ++c)
      values.push_back(acc[accIndex(slice, r, c)]);
  return values;
}

void MmaSync::writeSlice(KernelEmitter &emitter, Values &acc, int64_t slice,
                         ValueRange values) {
  size_t columns = emitter.layout.columns.size();
  for (size_t r = 0; r < emitter.layout.rows.size(); ++r)
    for (size_t c = 0; c < columns; ++c)
      acc[accIndex(slice, r, c)] = values[r * columns + c];
}
