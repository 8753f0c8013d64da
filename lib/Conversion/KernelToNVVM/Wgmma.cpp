//===- Wgmma.cpp - TMA and wgmma: sm_90a ----------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One producer warpgroup, of which one thread issues TMA loads, and one or two
// consumer warpgroups that multiply and run the epilogue. A consumer holds 64
// rows: warp w rows 16w to 16w + 15, spread over lanes as for mma.sync (PTX
// ISA, "Register Fragments and Shared Memory Matrix Layouts for wgmma").
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"
#include "SharedTile.h"
#include "TmaRing.h"

using namespace mlir;
using namespace flashnorm::kernel;
using Values = DeviceBuilder::Values;

namespace {
class Wgmma : public MmaFamily {
public:
  LogicalResult check(FuncOp func, PipelineOp pipeline) override;
  int64_t numThreads(ConfigAttr config) override {
    return 128 + numEpilogueThreads(config);
  }
  bool usesTensorMaps() override { return true; }
  int64_t numEpilogueThreads(ConfigAttr config) override {
    return 128 * config.getWarpsM() * config.getWarpsN();
  }
  int64_t epilogueBarrier() override { return 1; }
  void emit(KernelEmitter &emitter) override;
  Values readSlice(KernelEmitter &emitter, ValueRange acc,
                   int64_t slice) override;
  void writeSlice(KernelEmitter &emitter, Values &acc, int64_t slice,
                  ValueRange values) override;

private:
  void setUp(KernelEmitter &emitter);
  void emitConsumer(KernelEmitter &emitter, TmaRing &ring);
  Values emitMma(KernelEmitter &emitter, MmaOp mma, Value stageOffset,
                 ValueRange acc, Value accumulate);
  void emitStatistic(KernelEmitter &emitter, AccumulateTileOp op,
                     Value stageOffset);
  /// Position of (row r of the thread, column c of the slice).
  static int64_t accIndex(int64_t slice, int64_t r, int64_t c) {
    return (slice * 4 + c / 2) * 4 + r * 2 + c % 2;
  }

  int64_t groupColumns = 0; ///< of a consumer warpgroup
  Value thread, lane, warp, groupM, groupN;
};
} // namespace

std::unique_ptr<MmaFamily> flashnorm::kernel::createWgmma() {
  return std::make_unique<Wgmma>();
}

LogicalResult Wgmma::check(FuncOp func, PipelineOp pipeline) {
  ConfigAttr config = func.getConfig();
  int64_t groups = config.getWarpsM() * config.getWarpsN();
  if (config.getChip() != "sm_90a")
    return func.emitOpError()
           << "wgmma exists on sm_90a only, not on " << config.getChip();
  if (groups > 2)
    return func.emitOpError()
           << "has registers for 2 consumer warpgroups, got " << groups;
  if (config.getTileM() != 64 * config.getWarpsM())
    return func.emitOpError()
           << "wgmma needs 64 rows a warpgroup; the tile has "
           << config.getTileM() << " rows for " << config.getWarpsM()
           << " warpgroups";
  int64_t columns = config.getTileN() / config.getWarpsN();
  if (config.getTileN() % config.getWarpsN() || columns % 32 || columns > 256)
    return func.emitOpError()
           << "wgmma needs a multiple of 32 columns a warpgroup, at most 256; "
              "the tile has "
           << config.getTileN() << " columns for " << config.getWarpsN()
           << " warpgroups";
  // A warpgroup's columns start at a block of 64 when B is [k][n].
  for (MmaOp mma : pipeline.getConsume().front().getOps<MmaOp>())
    if (!mma.getTransposeB() && columns % 64)
      return mma.emitOpError()
             << "wgmma needs a multiple of 64 columns a warpgroup for B [k][n],"
                " got "
             << columns;
  return TmaRing::check(func, pipeline);
}

void Wgmma::setUp(KernelEmitter &emitter) {
  DeviceBuilder &b = emitter.builder();
  ConfigAttr config = emitter.config();
  groupColumns = config.getTileN() / config.getWarpsN();
  thread = b.threadId(numThreads(config));
  lane = b.bitAnd(thread, 31);
  warp = b.broadcastLane0(b.shr(thread, 5));
  Value consumer = b.sub(b.shr(warp, 2), 1);
  // With one warpgroup across, its rank is a constant that masks fold with.
  groupM = b.rem(consumer, config.getWarpsM());
  groupN =
      config.getWarpsN() == 1 ? b.i32(0) : b.div(consumer, config.getWarpsM());

  RowLayout &layout = emitter.layout;
  layout.row = b.add(b.add(b.mul(groupM, 64), b.mul(b.bitAnd(warp, 3), 16)),
                     b.shr(lane, 2));
  layout.groupColumn = b.mul(groupN, groupColumns);
  layout.column = b.add(layout.groupColumn, b.shl(b.bitAnd(lane, 3), 1));
  layout.rows = {0, 8};
  for (int64_t step = 0; step < 4; ++step)
    layout.columns.append({8 * step, 8 * step + 1});
  layout.numSlices = groupColumns / layout.sliceColumns;
  layout.run = 2;
  layout.lanesPerRow = 4;
  layout.warpsPerRow = config.getWarpsN();
  layout.warpInRow = groupN;
}

void Wgmma::emit(KernelEmitter &emitter) {
  DeviceBuilder &b = emitter.builder();
  setUp(emitter);
  emitter.emitBefore();
  // One arrival per consumer warp: each has read its part of the stage.
  TmaRing ring(emitter, numEpilogueThreads(emitter.config()) / 32);
  b.ifThen(b.equal(thread, 0), [&] {
    ring.initialize();
    b.fenceBarrierInit();
  });
  b.barrier(0, 0);
  // With two consumers the launch bound leaves 168 registers a thread; the
  // producer gives its own up.
  bool moveRegisters = numThreads(emitter.config()) > 256;
  b.ifThenElse(
      b.less(warp, 4),
      [&] {
        if (moveRegisters)
          b.setMaxRegisters(40, /*increase=*/false);
        b.ifThen(b.equal(warp, 0),
                 [&] { b.ifThen(b.elect(), [&] { ring.produce(); }); });
      },
      [&] {
        if (moveRegisters)
          b.setMaxRegisters(232, /*increase=*/true);
        emitConsumer(emitter, ring);
      });
}

/// Shared-memory matrix descriptor (PTX ISA, "Matrix descriptor format" of
/// wgmma): address, strides in units of 16 bytes, 128-byte swizzle.
static int64_t descriptorBits(int64_t leadingBytes, int64_t strideBytes) {
  return ((leadingBytes >> 4) << 16) | ((strideBytes >> 4) << 32) |
         (int64_t(1) << 62);
}

Values Wgmma::emitMma(KernelEmitter &emitter, MmaOp mma, Value stageOffset,
                      ValueRange acc, Value accumulate) {
  DeviceBuilder &b = emitter.builder();
  auto slotOffset = [&](Value slot) {
    return emitter.slotOffset(cast<BlockArgument>(slot).getArgNumber() - 1);
  };
  auto descriptor = [&](Value address, int64_t bits) -> Value {
    Value units = arith::ExtUIOp::create(b, b.getI64Type(), b.shr(address, 4));
    return arith::OrIOp::create(b, units, b.i64(bits));
  };
  // A and B [n][k]: rows of 128 bytes, 8 of them 1024 bytes apart. B [k][n]:
  // blocks of 64 columns a box apart, 8 rows 1024 bytes apart.
  Value addressA = emitter.sharedAddress(
      slotOffset(mma.getA()), b.add(stageOffset, b.mul(groupM, 64 * 128)));
  Value baseA = descriptor(addressA, descriptorBits(16, 1024));
  bool isColumnsByDepth = mma.getTransposeB();
  TmaBoxes boxes(cast<SmemType>(mma.getB().getType()));
  int64_t groupBytes = isColumnsByDepth
                           ? groupColumns * 128
                           : groupColumns / 64 * boxes.columnBlockStride();
  Value addressB = emitter.sharedAddress(
      slotOffset(mma.getB()), b.add(stageOffset, b.mul(groupN, groupBytes)));
  Value baseB = descriptor(
      addressB, isColumnsByDepth
                    ? descriptorBits(16, 1024)
                    : descriptorBits(boxes.columnBlockStride(), 1024));
  // 16 deeper: 32 bytes along a row, or 16 rows of 128 bytes.
  int64_t stepB = isColumnsByDepth ? 2 : 16 * 128 / 16;
  Values descriptorsA, descriptorsB;
  int64_t steps = emitter.config().getTileK() / 16;
  for (int64_t step = 0; step < steps; ++step) {
    descriptorsA.push_back(
        b.createOrFold<arith::AddIOp>(baseA, b.i64(2 * step)));
    descriptorsB.push_back(
        b.createOrFold<arith::AddIOp>(baseB, b.i64(stepB * step)));
  }
  return b.wgmma(acc, descriptorsA, descriptorsB, accumulate,
                 emitter.elementType(), /*transposeB=*/!isColumnsByDepth);
}

void Wgmma::emitStatistic(KernelEmitter &emitter, AccumulateTileOp op,
                          Value stageOffset) {
  DeviceBuilder &b = emitter.builder();
  auto slot = cast<BlockArgument>(op.getTile());
  SharedTile tile(cast<SmemType>(slot.getType()));
  int64_t offset = emitter.slotOffset(slot.getArgNumber() - 1);
  Value low = b.bitAnd(lane, 15), high = b.shr(lane, 4);
  Value row =
      b.add(b.add(b.mul(groupM, 64), b.mul(b.bitAnd(warp, 3), 16)), low);
  Value base = b.add(stageOffset, b.mul(row, tile.rowBytes()));
  Value mask = tile.mask(b, low);
  Values sums = emitter[op.getInit()];
  for (int64_t step = 0; step < tile.chunks / 2; ++step) {
    Value chunk = b.bitXor(b.add(high, 2 * step), mask);
    Values fragment =
        b.ldMatrix(emitter.shared(offset, b.add(base, b.shl(chunk, 4))), false);
    accumulateFragment(b, fragment, sums, op.getKind(), emitter.elementType());
  }
  emitter[op.getResult()] = sums;
}

void Wgmma::emitConsumer(KernelEmitter &emitter, TmaRing &ring) {
  DeviceBuilder &b = emitter.builder();
  PipelineOp pipeline = emitter.pipeline();
  Block &body = pipeline.getConsume().front();
  int64_t numSlots = pipeline.getProduce().getNumArguments() - 1;
  size_t accCount = groupColumns / 2, rowCount = emitter.layout.rows.size();
  Value isSignalling = b.equal(lane, 0);
  auto release = [&](Value stage) {
    b.syncWarp();
    b.ifThen(isSignalling, [&] { ring.release(stage); });
  };

  // Carried: stage, parity, the stage before, accumulators, rowvecs.
  Values inits{b.i32(0), b.i32(0), b.i32(0)};
  Value poison = LLVM::PoisonOp::create(b, b.getF32Type());
  inits.append(accCount, poison);
  for (Value init : pipeline.getInits().drop_front())
    inits.append(emitter[init]);
  Values results =
      b.loop(emitter.numKTiles(), inits, [&](Value kTile, ValueRange carried) {
        Value stage = carried[0], parity = carried[1], previous = carried[2];
        Values acc(carried.slice(3, accCount));
        size_t position = 3 + accCount;
        for (Value argument : body.getArguments().drop_front(2 + numSlots)) {
          emitter[argument] = Values(carried.slice(position, rowCount));
          position += rowCount;
        }
        ring.waitFull(stage, parity);
        Value stageOffset = b.mul(stage, emitter.stageBytes());
        Value accumulate = arith::ExtUIOp::create(
            b, b.getI32Type(),
            arith::CmpIOp::create(b, arith::CmpIPredicate::ne, kTile,
                                  b.i32(0)));
        // MMAs first: the statistics run under them.
        for (MmaOp mma : body.getOps<MmaOp>())
          acc = emitMma(emitter, mma, stageOffset, acc, accumulate);
        for (AccumulateTileOp op : body.getOps<AccumulateTileOp>())
          emitStatistic(emitter, op, stageOffset);
        // The stage before is free once its MMAs are done.
        acc = b.wgmmaWait(acc, 1);
        b.ifThen(b.less(b.i32(0), kTile), [&] { release(previous); });
        auto [nextStage, nextParity] = ring.advance(stage, parity);
        Values next{nextStage, nextParity, stage};
        next.append(acc);
        for (Value value :
             cast<YieldOp>(body.getTerminator()).getValues().drop_front())
          next.append(emitter[value]);
        return next;
      });
  Values acc(ArrayRef<Value>(results).slice(3, accCount));
  emitter[pipeline.getResults().front()] = b.wgmmaWait(acc, 0);
  ArrayRef<Value> rest = ArrayRef<Value>(results).drop_front(3 + accCount);
  for (Value result : pipeline.getResults().drop_front()) {
    emitter[result] = Values(rest.take_front(rowCount));
    rest = rest.drop_front(rowCount);
  }
  emitter.emitAfter();
}

Values Wgmma::readSlice(KernelEmitter &emitter, ValueRange acc, int64_t slice) {
  Values values;
  for (int64_t r = 0; r < 2; ++r)
    for (int64_t c = 0; c < 8; ++c)
      values.push_back(acc[accIndex(slice, r, c)]);
  return values;
}

void Wgmma::writeSlice(KernelEmitter &emitter, Values &acc, int64_t slice,
                       ValueRange values) {
  for (int64_t r = 0; r < 2; ++r)
    for (int64_t c = 0; c < 8; ++c)
      acc[accIndex(slice, r, c)] = values[r * 8 + c];
}
