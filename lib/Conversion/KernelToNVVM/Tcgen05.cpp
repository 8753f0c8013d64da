//===- Tcgen05.cpp - TMA, tcgen05 and TMEM: sm_100a, sm_103a --------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Six warps: warp 0 issues TMA loads, warp 1 issues MMAs (one thread each) and
// owns the TMEM allocation, warps 2 to 5 run the epilogue. The accumulator has
// 128 lanes in TMEM; a thread of the epilogue owns the lane, and so the row, of
// (warp mod 4) * 32 + lane, as tcgen05.ld and st prescribe.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"
#include "SharedTile.h"
#include "TmaRing.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace flashnorm::kernel;
using Values = DeviceBuilder::Values;

namespace {
class Tcgen05 : public MmaFamily {
public:
  LogicalResult check(FuncOp func, PipelineOp pipeline) override;
  int64_t numThreads(ConfigAttr config) override { return 192; }
  bool usesTensorMaps() override { return true; }
  int64_t numEpilogueThreads(ConfigAttr config) override { return 128; }
  int64_t epilogueBarrier() override { return 1; }
  void emit(KernelEmitter &emitter) override;
  bool hasDynamicSlices() override { return true; }
  Values dropSlices(KernelEmitter &emitter, ValueRange acc,
                    Value slice) override;
  Values readSlice(KernelEmitter &emitter, ValueRange acc,
                   int64_t slice) override;
  void writeSlice(KernelEmitter &emitter, Values &acc, int64_t slice,
                  ValueRange values) override;

private:
  void setUp(KernelEmitter &emitter);
  void emitMmaWarp(KernelEmitter &emitter, TmaRing &ring);
  void emitMma(KernelEmitter &emitter, MmaOp mma, Value stageOffset,
               Value accumulate);
  void emitEpilogueWarps(KernelEmitter &emitter, TmaRing &ring);
  Values emitStatistic(KernelEmitter &emitter, AccumulateTileOp op,
                       Value stageOffset);

  int64_t done = 0; ///< offset of the mbarrier that says: all MMAs are done
  Value thread, lane, warp, tmem;
};

bool hasStatistics(PipelineOp pipeline) {
  return !pipeline.getConsume().front().getOps<AccumulateTileOp>().empty();
}

/// TMEM columns are allocated in powers of two, 32 at least.
int64_t allocatedColumns(ConfigAttr config) {
  return std::max<int64_t>(32, llvm::PowerOf2Ceil(config.getTileN()));
}
} // namespace

std::unique_ptr<MmaFamily> flashnorm::kernel::createTcgen05() {
  return std::make_unique<Tcgen05>();
}

LogicalResult Tcgen05::check(FuncOp func, PipelineOp pipeline) {
  ConfigAttr config = func.getConfig();
  if (config.getChip() != "sm_100a" && config.getChip() != "sm_103a")
    return func.emitOpError()
           << "tcgen05 exists on sm_100a and sm_103a, not on "
           << config.getChip();
  if (config.getTileM() != 128)
    return func.emitOpError()
           << "tcgen05 needs a tile of 128 rows, got " << config.getTileM();
  if (config.getWarpsM() != 1 || config.getWarpsN() != 1)
    return func.emitOpError()
           << "tcgen05 does not split its tile over warps, "
              "got "
           << config.getWarpsM() << "x" << config.getWarpsN();
  int64_t columns = config.getTileN();
  if (columns % 32 || columns > 512)
    return func.emitOpError()
           << "tcgen05 needs a multiple of 32 columns, at most 512, got "
           << columns;
  return TmaRing::check(func, pipeline);
}

void Tcgen05::setUp(KernelEmitter &emitter) {
  DeviceBuilder &b = emitter.builder();
  thread = b.threadId(192);
  lane = b.bitAnd(thread, 31);
  warp = b.broadcastLane0(b.shr(thread, 5));
  RowLayout &layout = emitter.layout;
  layout.row = b.add(b.shl(b.bitAnd(warp, 3), 5), lane);
  layout.column = b.i32(0);
  layout.groupColumn = layout.column;
  layout.rows = {0};
  for (int64_t column = 0; column < layout.sliceColumns; ++column)
    layout.columns.push_back(column);
  layout.numSlices = emitter.config().getTileN() / layout.sliceColumns;
  layout.run = layout.sliceColumns;
}

void Tcgen05::emit(KernelEmitter &emitter) {
  DeviceBuilder &b = emitter.builder();
  int64_t columns = allocatedColumns(emitter.config());
  setUp(emitter);
  emitter.emitBefore();
  // The MMA's commit empties a stage, and each epilogue warp that reads it.
  TmaRing ring(emitter, lane, hasStatistics(emitter.pipeline()) ? 5 : 1);
  done = emitter.allocateShared(8, 8);
  int64_t slot = emitter.allocateShared(4, 4);
  b.ifThen(b.equal(thread, 0), [&] {
    ring.initialize();
    b.mbarrierInit(emitter.shared(done), 1);
    b.fenceBarrierInit();
  });
  b.ifThen(b.equal(warp, 1),
           [&] { b.tmemAlloc(emitter.shared(slot), columns); });
  b.tcgen05FenceBefore();
  b.barrier(0, 0);
  b.tcgen05FenceAfter();
  tmem = b.load(b.getI32Type(), emitter.shared(slot), 4);

  b.ifThenElse(
      b.less(warp, 2),
      [&] {
        b.ifThenElse(
            b.equal(warp, 0),
            [&] {
              b.ifThen(b.elect(), [&] {
                ring.prefetchTensorMaps();
                ring.produce(/*isFirst=*/Value(), /*nextRow=*/Value(),
                             {b.i32(0), b.i32(1)});
              });
            },
            [&] { b.ifThen(b.elect(), [&] { emitMmaWarp(emitter, ring); }); });
        b.syncWarp();
      },
      [&] { emitEpilogueWarps(emitter, ring); });

  // The epilogue is done with TMEM before it is given back.
  b.tcgen05FenceBefore();
  b.barrier(0, 0);
  b.ifThen(b.equal(warp, 1), [&] {
    b.tcgen05FenceAfter();
    b.tmemDealloc(tmem, columns);
  });
}

/// Shared-memory descriptor (PTX ISA, "Shared memory descriptor" of tcgen05):
/// address, strides in units of 16 bytes, version 1, 128-byte swizzle.
static int64_t descriptorBits(int64_t leadingBytes, int64_t strideBytes) {
  return ((leadingBytes >> 4) << 16) | ((strideBytes >> 4) << 32) |
         (int64_t(1) << 46) | (int64_t(2) << 61);
}

/// Instruction descriptor of kind::f16 (PTX ISA, "Instruction descriptor"): D
/// is f32; bit 16 says that B is [k][n].
static int64_t instructionDescriptor(int64_t rows, int64_t columns,
                                     Type element, bool isDepthByColumns) {
  int64_t type = element.isBF16() ? 1 : 0;
  return (1 << 4) | (type << 7) | (type << 10) |
         (int64_t(isDepthByColumns) << 16) | ((columns >> 3) << 17) |
         ((rows >> 4) << 24);
}

void Tcgen05::emitMma(KernelEmitter &emitter, MmaOp mma, Value stageOffset,
                      Value accumulate) {
  DeviceBuilder &b = emitter.builder();
  ConfigAttr config = emitter.config();
  auto descriptor = [&](Value slot, int64_t extra, int64_t bits) -> Value {
    int64_t offset = emitter.slotOffset(KernelEmitter::slotOf(slot));
    Value address = emitter.sharedAddress(offset + extra, stageOffset);
    Value units = arith::ExtUIOp::create(b, b.getI64Type(), b.shr(address, 4));
    return arith::OrIOp::create(b, units, b.i64(bits));
  };
  // As for wgmma: rows of 128 bytes, or blocks of 64 columns when B is [k][n].
  bool isDepthByColumns = !mma.getTransposeB();
  TmaBoxes boxes(cast<SmemType>(mma.getB().getType()));
  Value always = arith::ConstantIntOp::create(b, b.getI1Type(), 1);
  // An MMA covers at most 256 columns: four whole blocks of [k][n].
  for (int64_t first = 0; first < config.getTileN(); first += 256) {
    int64_t columns = std::min<int64_t>(256, config.getTileN() - first);
    int64_t idesc = instructionDescriptor(
        config.getTileM(), columns, emitter.elementType(), isDepthByColumns);
    int64_t extra =
        isDepthByColumns ? first / 64 * boxes.columnBlockStride() : first * 128;
    Value baseA = descriptor(mma.getA(), 0, descriptorBits(16, 1024));
    Value baseB = descriptor(
        mma.getB(), extra,
        descriptorBits(isDepthByColumns ? boxes.columnBlockStride() : 16,
                       1024));
    Value accumulator = b.add(tmem, first);
    for (int64_t step = 0; step < config.getTileK() / 16; ++step) {
      Value a = b.createOrFold<arith::AddIOp>(baseA, b.i64(2 * step));
      Value bb = b.createOrFold<arith::AddIOp>(
          baseB, b.i64((isDepthByColumns ? 16 * 128 / 16 : 2) * step));
      b.tcgen05Mma(accumulator, a, bb, idesc, step == 0 ? accumulate : always);
    }
  }
}

void Tcgen05::emitMmaWarp(KernelEmitter &emitter, TmaRing &ring) {
  DeviceBuilder &b = emitter.builder();
  Block &body = emitter.pipeline().getConsume().front();
  b.loop(
      emitter.numKTiles(), {b.i32(0), b.i32(0)},
      [&](Value kTile, ValueRange carried) {
        Value stage = carried[0], parity = carried[1];
        ring.waitFull(stage, parity);
        b.tcgen05FenceAfter();
        Value accumulate =
            arith::CmpIOp::create(b, arith::CmpIPredicate::ne, kTile, b.i32(0));
        for (MmaOp mma : body.getOps<MmaOp>())
          emitMma(emitter, mma, b.mul(stage, emitter.stageBytes()), accumulate);
        b.tcgen05Commit(ring.emptyBarrier(stage));
        auto [nextStage, nextParity] = ring.advance(stage, parity);
        return Values{nextStage, nextParity};
      });
  b.tcgen05Commit(emitter.shared(done));
}

Values Tcgen05::emitStatistic(KernelEmitter &emitter, AccumulateTileOp op,
                              Value stageOffset) {
  // The thread reads its own row, 16 bytes at a time.
  DeviceBuilder &b = emitter.builder();
  auto slot = cast<BlockArgument>(op.getTile());
  SharedTile tile(cast<SmemType>(slot.getType()));
  int64_t offset = emitter.slotOffset(KernelEmitter::slotOf(slot));
  Value row = emitter.layout.row;
  Value base = b.add(stageOffset, b.mul(row, tile.rowBytes()));
  Value mask = tile.mask(b, row);
  Value sum = emitter[op.getInit()].front();
  for (int64_t chunk = 0; chunk < tile.chunks; ++chunk) {
    Value at = b.add(base, b.shl(b.bitXor(b.i32(chunk), mask), 4));
    Value words = b.load(VectorType::get(4, b.getI32Type()),
                         emitter.shared(offset, at), 16);
    for (int64_t word = 0; word < 4; ++word) {
      auto [low, high] =
          b.unpack(LLVM::ExtractElementOp::create(b, words, b.i32(word)),
                   emitter.elementType());
      sum = op.getKind() == Reduction::SumSq
                ? b.fma(high, high, b.fma(low, low, sum))
                : b.addF(sum, b.addF(low, high));
    }
  }
  return {sum};
}

void Tcgen05::emitEpilogueWarps(KernelEmitter &emitter, TmaRing &ring) {
  DeviceBuilder &b = emitter.builder();
  PipelineOp pipeline = emitter.pipeline();
  Block &body = pipeline.getConsume().front();
  if (hasStatistics(pipeline)) {
    int64_t numSlots = emitter.numSlots();
    Values inits{b.i32(0), b.i32(0)};
    for (Value init : pipeline.getInits().drop_front())
      inits.append(emitter[init]);
    Values results =
        b.loop(emitter.numKTiles(), inits, [&](Value, ValueRange carried) {
          Value stage = carried[0], parity = carried[1];
          for (auto [argument, value] :
               llvm::zip_equal(body.getArguments().drop_front(2 + numSlots),
                               carried.drop_front(2)))
            emitter[argument] = {value};
          ring.waitFull(stage, parity);
          for (AccumulateTileOp op : body.getOps<AccumulateTileOp>())
            emitter[op.getResult()] =
                emitStatistic(emitter, op, b.mul(stage, emitter.stageBytes()));
          ring.release(stage);
          auto [nextStage, nextParity] = ring.advance(stage, parity);
          Values next{nextStage, nextParity};
          for (Value value :
               cast<YieldOp>(body.getTerminator()).getValues().drop_front())
            next.append(emitter[value]);
          return next;
        });
    for (auto [i, result] : llvm::enumerate(pipeline.getResults().drop_front()))
      emitter[result] = {results[2 + i]};
  }
  b.mbarrierWait(emitter.shared(done), b.i32(0));
  b.tcgen05FenceAfter();
  // TMEM addresses have the lane in the upper half.
  Value lanes = b.shl(b.shl(b.bitAnd(warp, 3), 5), 16);
  emitter[pipeline.getResults().front()] = {b.add(tmem, lanes)};
  emitter.emitAfter();
}

Values Tcgen05::dropSlices(KernelEmitter &emitter, ValueRange acc,
                           Value slice) {
  DeviceBuilder &b = emitter.builder();
  return {b.add(acc.front(), b.shl(slice, 5))};
}

Values Tcgen05::readSlice(KernelEmitter &emitter, ValueRange acc,
                          int64_t slice) {
  DeviceBuilder &b = emitter.builder();
  return b.tmemLoad32(b.add(acc.front(), slice * 32));
}

void Tcgen05::writeSlice(KernelEmitter &emitter, Values &acc, int64_t slice,
                         ValueRange values) {
  DeviceBuilder &b = emitter.builder();
  b.tmemStore32(b.add(acc.front(), slice * 32), values);
}
