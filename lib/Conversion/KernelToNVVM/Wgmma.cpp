//===- Wgmma.cpp - TMA and wgmma: sm_90a ----------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One producer warpgroup, of which one thread issues TMA loads, and one or two
// consumer warpgroups that multiply and run the epilogue. A consumer holds one
// or two blocks of 64 rows: warp w rows 16w to 16w + 15 of each, spread over
// lanes as for mma.sync (PTX ISA, "Register Fragments and Shared Memory Matrix
// Layouts for wgmma").
//
// CTAs are persistent: they take tile after tile, and the ring runs on from one
// to the next, so that loads of a tile run under the epilogue of the one
// before. With the schedule ping_pong also the MMAs do: the consumers take
// turns.
//
//===----------------------------------------------------------------------===//

#include "Wgmma.h"
#include "SharedTile.h"

using namespace mlir;
using namespace flashnorm;
using namespace flashnorm::kernel;
using Values = DeviceBuilder::Values;

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
  if (config.isPingPong() && groups != 1)
    return func.emitOpError()
           << "ping_pong gives each of 2 warpgroups a tile; "
              "warps must be 1x1, got "
           << config.getWarpsM() << "x" << config.getWarpsN();
  int64_t rows = config.getTileM() / config.getWarpsM();
  if (config.getTileM() % config.getWarpsM() || (rows != 64 && rows != 128))
    return func.emitOpError()
           << "wgmma needs 64 or 128 rows a warpgroup; the tile has "
           << config.getTileM() << " rows for " << config.getWarpsM()
           << " warpgroups";
  if (rows == 128 && config.getWarpsN() > 1)
    return func.emitOpError()
           << "wgmma has tiles of 64 rows for warpgroups side by side, not of "
              "128";
  if (rows == 128 && config.getClusterK() > 1)
    return func.emitOpError() << "wgmma shares tiles of 64 rows a warpgroup "
                                 "over a cluster, not of 128";
  int64_t columns = config.getTileN() / config.getWarpsN();
  if (config.getTileN() % config.getWarpsN() || columns % 32 || columns > 256)
    return func.emitOpError()
           << "wgmma needs a multiple of 32 columns a warpgroup, at most 256; "
              "the tile has "
           << config.getTileN() << " columns for " << config.getWarpsN()
           << " warpgroups";
  if (rows * columns > 128 * 160)
    return func.emitOpError()
           << "wgmma holds 160 accumulators a thread; the tile has " << rows
           << "x" << columns << " for a warpgroup, " << rows * columns / 128
           << " a thread";
  // A warpgroup's columns start at a block of 64 when B is [k][n].
  for (MmaOp mma : pipeline.getConsume().front().getOps<MmaOp>())
    if (!mma.getTransposeB() && columns % 64 && config.getWarpsN() > 1)
      return mma.emitOpError()
             << "wgmma needs a multiple of 64 columns for each of "
             << config.getWarpsN()
             << " warpgroups side by side with B [k][n], got " << columns;
  // A tensor map has one box.
  for (LoadOp load : pipeline.getProduce().front().getOps<LoadOp>())
    for (Operation *user : load.getSource().getUsers())
      if (isa<StoreFragOp>(user))
        return user->emitOpError() << "stores to an array that the pipeline "
                                      "loads";
  return TmaRing::check(func, pipeline);
}

void Wgmma::setUp(KernelEmitter &emitter) {
  DeviceBuilder &b = emitter.builder();
  ConfigAttr config = emitter.config();
  groupColumns = config.getTileN() / config.getWarpsN();
  blocks = config.getTileM() / config.getWarpsM() / 64;
  thread = b.threadId(numThreads(config));
  lane = b.bitAnd(thread, 31);
  warp = b.broadcastLane0(b.shr(thread, 5));
  consumer = b.sub(b.shr(warp, 2), 1);
  // With one warpgroup down or across, its rank is a constant that masks fold
  // with.
  groupM =
      config.getWarpsM() == 1 ? b.i32(0) : b.rem(consumer, config.getWarpsM());
  groupN =
      config.getWarpsN() == 1 ? b.i32(0) : b.div(consumer, config.getWarpsM());
  warpRow = b.add(b.mul(groupM, 64 * blocks), b.mul(b.bitAnd(warp, 3), 16));

  RowLayout &layout = emitter.layout;
  layout.row = b.add(warpRow, b.shr(lane, 2));
  layout.groupColumn = b.mul(groupN, groupColumns);
  layout.column = b.add(layout.groupColumn, b.shl(b.bitAnd(lane, 3), 1));
  for (int64_t block = 0; block < blocks; ++block)
    layout.rows.append({64 * block, 64 * block + 8});
  for (int64_t step = 0; step < 4; ++step)
    layout.columns.append({8 * step, 8 * step + 1});
  layout.numSlices = groupColumns / layout.sliceColumns;
  if (int64_t ctas = config.getClusterK(); ctas > 1) {
    // This CTA's slices; those that own none are not asked for any.
    deal = dealSlices(layout.numSlices, ctas);
    Value owner = b.min(b.rankInCluster(), b.i32(deal.owners - 1));
    Value columns = b.mul(owner, deal.slices * layout.sliceColumns);
    layout.groupColumn = b.add(layout.groupColumn, columns);
    layout.column = b.add(layout.column, columns);
    layout.numSlices = deal.slices;
    layout.ctasPerRow = deal.owners;
  }
  layout.run = 2;
  layout.lanesPerRow = 4;
  layout.warpsPerRow = config.getWarpsN();
  layout.warpInRow = groupN;
  if (config.getClusterN() > 1)
    layout.ctasPerRow = config.getClusterN();
  layout.laneInRow = b.bitAnd(lane, 3);
  layout.team = consumer;
  layout.teamRow = b.add(b.mul(b.bitAnd(warp, 3), 16), b.shr(lane, 2));
  layout.rowsPerTeam = 64 * blocks;
  layout.numTeams = numConsumers(config);
  // With ping_pong all consumers have the same columns.
  Value sharer = config.isPingPong() ? consumer : groupM;
  layout.columnRank = b.add(b.mul(sharer, 32), b.shr(b.bitAnd(thread, 127), 2));
  layout.numColumnRanks = 32 * (config.isPingPong() ? 2 : config.getWarpsM());
}

void Wgmma::emit(KernelEmitter &emitter) {
  DeviceBuilder &b = emitter.builder();
  ConfigAttr config = emitter.config();
  setUp(emitter);
  // One arrival per warp that multiplies: each has read its part of the stage.
  TmaRing ring(emitter, lane, config.getWarpsM() * config.getWarpsN() * 4);
  this->ring = &ring;
  emitter.allocateExchanges();
  if (config.getClusterK() > 1)
    splitK.emplace(emitter, deal, b.bitAnd(thread, 127), /*teamThreads=*/128);
  b.ifThen(b.equal(thread, 0), [&] {
    ring.initialize();
    emitter.initializeExchanges();
    if (splitK)
      splitK->initialize();
    b.fenceBarrierInit();
  });
  if (config.getClusterSize() > 1)
    b.clusterBarrier(/*releases=*/false);
  else
    b.barrier(0, 0);
  // With two consumers the launch bound leaves 168 registers a thread; the
  // producer gives its own up.
  bool moveRegisters = numThreads(config) > 256;
  b.ifThenElse(
      b.less(warp, 4),
      [&] {
        if (moveRegisters)
          b.setMaxRegisters(40, /*increase=*/false);
        b.ifThen(b.equal(warp, 0), [&] {
          b.ifThen(b.elect(), [&] { emitProducer(emitter, ring); });
        });
      },
      [&] {
        if (moveRegisters)
          b.setMaxRegisters(232, /*increase=*/true);
        emitConsumer(emitter, ring);
      });
}

void Wgmma::emitProducer(KernelEmitter &emitter, TmaRing &ring) {
  DeviceBuilder &b = emitter.builder();
  ring.prefetchTensorMaps();
  Block &body = emitter.pipeline().getProduce().front();
  bool isPrefetched = llvm::any_of(body.getOps<LoadOp>(), [](LoadOp load) {
    return load.getPrefetch().has_value();
  });
  b.loop(emitter.firstTile(), emitter.numTiles(), emitter.tileStep(),
         {b.i32(0), b.i32(1)}, [&](Value tile, ValueRange position) {
           Value nextRow;
           if (isPrefetched) {
             Value next = b.add(tile, emitter.tileStep());
             // Of a tile that there is: origins divide by what is left.
             emitter.setTile(b.min(next, b.sub(emitter.numTiles(), 1)));
             emitter.emitBefore();
             nextRow =
                 b.select(b.less(next, emitter.numTiles()),
                          emitter.index(emitter.origin().getRow()), b.i32(-1));
           }
           emitter.setTile(tile);
           emitter.emitBefore();
           Value isFirst = b.equal(b.sub(tile, emitter.firstTile()), 0);
           return ring.produce(isFirst, nextRow, position);
         });
}

/// Shared-memory matrix descriptor (PTX ISA, "Matrix descriptor format" of
/// wgmma): address, strides in units of 16 bytes, 128-byte swizzle.
static int64_t descriptorBits(int64_t leadingBytes, int64_t strideBytes) {
  return ((leadingBytes >> 4) << 16) | ((strideBytes >> 4) << 32) |
         (int64_t(1) << 62);
}

Values Wgmma::emitMma(KernelEmitter &emitter, MmaOp mma, Value stageOffset,
                      Value kTile, ValueRange acc) {
  DeviceBuilder &b = emitter.builder();
  auto slotAddress = [&](Value value, Value inSlot) {
    int64_t slot = KernelEmitter::slotOf(value);
    return emitter.sharedAddress(
        emitter.slotOffset(slot),
        b.add(emitter.slotAdvance(slot, stageOffset, kTile), inSlot));
  };
  auto descriptor = [&](Value address, int64_t bits) -> Value {
    // 18 bits are the offset in the CTA; in a cluster the rank is above them.
    Value units = arith::ExtUIOp::create(b, b.getI64Type(),
                                         b.shr(b.bitAnd(address, 0x3ffff), 4));
    return arith::OrIOp::create(b, units, b.i64(bits));
  };
  // A and B [n][k]: rows of 128 bytes, 8 of them 1024 bytes apart. B [k][n]:
  // blocks of 64 columns one behind the other, 8 rows 1024 bytes apart; of the
  // last one, half may be left unread.
  Value addressA = slotAddress(mma.getA(), b.mul(groupM, blocks * 64 * 128));
  Value baseA = descriptor(addressA, descriptorBits(16, 1024));
  bool isColumnsByDepth = mma.getTransposeB();
  TmaBoxes boxes(cast<SmemType>(mma.getB().getType()));
  int64_t groupBytes = isColumnsByDepth
                           ? groupColumns * 128
                           : groupColumns / 64 * boxes.columnBlockStride();
  Value addressB = slotAddress(mma.getB(), b.mul(groupN, groupBytes));
  Value baseB = descriptor(
      addressB, isColumnsByDepth
                    ? descriptorBits(16, 1024)
                    : descriptorBits(boxes.columnBlockStride(), 1024));
  // 16 deeper: 32 bytes along a row, or 16 rows of 128 bytes.
  int64_t stepB = isColumnsByDepth ? 2 : 16 * 128 / 16;
  Values descriptorsA, descriptorsB;
  int64_t steps = emitter.config().getTileK() / 16;
  for (int64_t step = 0; step < steps; ++step) {
    for (int64_t block = 0; block < blocks; ++block)
      descriptorsA.push_back(b.createOrFold<arith::AddIOp>(
          baseA, b.i64(block * (64 * 128 / 16) + 2 * step)));
    descriptorsB.push_back(
        b.createOrFold<arith::AddIOp>(baseB, b.i64(stepB * step)));
  }
  return b.wgmma(acc, groupColumns, descriptorsA, descriptorsB,
                 emitter.elementType(), /*transposeB=*/!isColumnsByDepth);
}

void Wgmma::emitStatistic(KernelEmitter &emitter, AccumulateTileOp op,
                          Value stageOffset, Value kTile) {
  DeviceBuilder &b = emitter.builder();
  SharedTile tile(cast<SmemType>(op.getTile().getType()));
  int64_t slot = KernelEmitter::slotOf(op.getTile());
  int64_t offset = emitter.slotOffset(slot);
  Value low = b.bitAnd(lane, 15), high = b.shr(lane, 4);
  Value row = b.add(warpRow, low);
  Value base = b.add(emitter.slotAdvance(slot, stageOffset, kTile),
                     b.mul(row, tile.rowBytes()));
  Value mask = tile.mask(b, low);
  Values sums = emitter[op.getInit()];
  for (int64_t step = 0; step < tile.chunks / 2; ++step) {
    Value chunk = b.bitXor(b.add(high, 2 * step), mask);
    Value inTile = b.add(base, b.shl(chunk, 4));
    for (int64_t block = 0; block < blocks; ++block) {
      Values fragment = b.ldMatrix(
          emitter.shared(offset + block * 64 * tile.rowBytes(), inTile), false);
      accumulateFragment(b, fragment,
                         MutableArrayRef<Value>(sums).slice(2 * block, 2),
                         op.getKind(), emitter.elementType());
    }
  }
  emitter[op.getResult()] = sums;
}

/// Named barriers of the consumers that take turns: turnBarrier + consumer; and
/// the one that joins all of them.
static constexpr int64_t turnBarrier = 2, consumersBarrier = 4;

void Wgmma::emitConsumer(KernelEmitter &emitter, TmaRing &ring) {
  DeviceBuilder &b = emitter.builder();
  Value first = emitter.firstTile(), step = emitter.tileStep();
  // Under the first loads of the pipeline.
  emitter.setTile(first);
  emitter.emitBefore();
  if (emitter.copyColvecs())
    b.barrier(consumersBarrier, 128 * numConsumers(emitter.config()));
  // Stage, parity, number of the tile.
  Values position{b.i32(0), b.i32(0), b.i32(0)};
  if (emitter.config().isPingPong()) {
    // The ring's stages belong to the tiles in turn.
    auto [stage, parity] = ring.skip(position[0], position[1]);
    Value isSecond = b.equal(consumer, 1);
    position = {b.select(isSecond, stage, position[0]),
                b.select(isSecond, parity, position[1]), position[2]};
    first = b.add(first, b.mul(consumer, step));
    step = b.shl(step, 1);
  }
  b.loop(first, emitter.numTiles(), step, position,
         [&](Value tile, ValueRange position) {
           return emitTile(emitter, ring, tile, position);
         });
  // Shared memory must not go before it was stored.
  if (!staging.empty())
    b.ifThen(b.equal(lane, 0), [&] { b.bulkWaitRead(); });
  // Nor while other CTAs send to it.
  if (emitter.config().getClusterSize() > 1)
    b.clusterBarrier(/*releases=*/true);
}

Values Wgmma::emitTile(KernelEmitter &emitter, TmaRing &ring, Value tile,
                       ValueRange position) {
  DeviceBuilder &b = emitter.builder();
  PipelineOp pipeline = emitter.pipeline();
  Block &body = pipeline.getConsume().front();
  size_t accCount = blocks * groupColumns / 2, rowCount = numRows();
  bool isPingPong = emitter.config().isPingPong();
  emitter.setTile(tile);
  emitter.emitBefore();

  // Wait for this warpgroup's turn to multiply: all but the CTA's first tile
  // have one before.
  constexpr int64_t turnThreads = 256;
  if (isPingPong)
    b.ifThen(b.less(emitter.firstTile(), tile),
             [&] { b.barrierSync(b.add(consumer, turnBarrier), turnThreads); });

  // One stage: its MMAs, and under them its statistics. `rowvecs` side by side.
  auto multiply = [&](Value stage, Value parity, Value kTile, ValueRange acc,
                      ValueRange rowvecs) {
    for (Value argument :
         body.getArguments().drop_front(2 + emitter.numSlots())) {
      emitter[argument] = Values(rowvecs.take_front(rowCount));
      rowvecs = rowvecs.drop_front(rowCount);
    }
    ring.waitFull(stage, parity);
    Value stageOffset = b.mul(stage, emitter.stageBytes());
    Values results;
    for (MmaOp mma : body.getOps<MmaOp>())
      results = emitMma(emitter, mma, stageOffset, kTile, acc);
    for (AccumulateTileOp op : body.getOps<AccumulateTileOp>())
      emitStatistic(emitter, op, stageOffset, kTile);
    for (Value value :
         cast<YieldOp>(body.getTerminator()).getValues().drop_front())
      results.append(emitter[value]);
    return results;
  };
  Values rowvecs;
  for (Value init : pipeline.getInits().drop_front())
    rowvecs.append(emitter[init]);

  // Carried: stage, parity, the stage before, accumulators, rowvecs.
  auto [second, secondParity] = ring.advance(position[0], position[1]);
  Values results{second, secondParity, position[0]};
  results.append(multiply(position[0], position[1], b.i32(0), {}, rowvecs));
  if (emitter.numKTiles() > 1)
    results = b.loop(
        emitter.numKTiles() - 1, results, [&](Value i, ValueRange carried) {
          Value stage = carried[0];
          Values values = multiply(stage, carried[1], b.add(i, 1),
                                   carried.slice(3, accCount),
                                   carried.drop_front(3 + accCount));
          // The stage before is free once its MMAs are done.
          Values acc =
              b.wgmmaWait(ArrayRef<Value>(values).take_front(accCount), 1);
          ring.release(carried[2]);
          auto [nextStage, nextParity] = ring.advance(stage, carried[1]);
          Values next{nextStage, nextParity, stage};
          next.append(acc);
          next.append(values.begin() + accCount, values.end());
          return next;
        });
  Value stage = results[0], parity = results[1];
  if (emitter.ringFrag()) {
    // Before the other one's turn: a wait tells a phase from the next one, but
    // not from the one after that, so that nobody may be a phase ahead.
    ring.waitFull(stage, parity);
    fragStage = stage;
    std::tie(stage, parity) = ring.advance(stage, parity);
  }
  hasNext = b.less(b.add(tile, emitter.tileStep()), emitter.numTiles());
  // The other one's turn, if it has a tile after this one.
  if (isPingPong)
    b.ifThen(hasNext, [&] {
      b.barrierArrive(b.sub(b.i32(turnBarrier + 1), consumer), turnThreads);
    });
  Values acc(ArrayRef<Value>(results).slice(3, accCount));
  emitter[pipeline.getResults().front()] = b.wgmmaWait(acc, 0);
  ring.release(results[2]);
  ring.schedulingBoundary();
  auto setRowvecs = [&](ArrayRef<Value> rest) {
    for (Value result : pipeline.getResults().drop_front()) {
      emitter[result] = Values(rest.take_front(rowCount));
      rest = rest.drop_front(rowCount);
    }
  };
  ArrayRef<Value> rest = ArrayRef<Value>(results).drop_front(3 + accCount);
  emitter.layout.round = position[2];
  if (splitK) {
    splitK->send(emitter[pipeline.getResults().front()], rest);
    b.ifThen(splitK->isOwner(), [&] {
      Values sums = splitK->receive(hasNext);
      size_t count = sums.size() - rest.size();
      emitter[pipeline.getResults().front()] =
          Values(ArrayRef<Value>(sums).take_front(count));
      setRowvecs(ArrayRef<Value>(sums).drop_front(count));
      emitter.emitAfter();
    });
  } else {
    setRowvecs(rest);
    emitter.emitAfter();
  }
  Value round = b.add(position[2], 1);
  if (isPingPong)
    std::tie(stage, parity) = ring.skip(stage, parity);
  return {stage, parity, round};
}
