//===- TmaRing.cpp - Stages filled by TMA, guarded by mbarriers -----------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TmaRing.h"
#include "SharedTile.h"

using namespace mlir;
using namespace flashnorm::kernel;
using Values = DeviceBuilder::Values;

TmaRing::TmaRing(KernelEmitter &emitter, Value lane, int64_t consumers)
    : emitter(emitter), lane(lane), stages(emitter.pipeline().getStages()),
      consumers(consumers), full(emitter.allocateShared(8 * stages, 8)),
      empty(emitter.allocateShared(8 * stages, 8)),
      untouched(emitter.allocateShared(8, 8)) {}

void TmaRing::initialize() {
  DeviceBuilder &b = emitter.builder();
  for (int64_t stage = 0; stage < stages; ++stage) {
    b.mbarrierInit(emitter.shared(full + 8 * stage), 1);
    b.mbarrierInit(emitter.shared(empty + 8 * stage),
                   consumers * emitter.config().getClusterM());
  }
  b.mbarrierInit(emitter.shared(untouched), 1);
}

void TmaRing::waitFull(Value stage, Value parity) {
  DeviceBuilder &b = emitter.builder();
  b.mbarrierWait(emitter.shared(full, b.shl(stage, 3)), parity);
}

Value TmaRing::emptyBarrier(Value stage) {
  return emitter.shared(empty, emitter.builder().shl(stage, 3));
}

void TmaRing::waitEmpty(Value stage, Value parity) {
  emitter.builder().mbarrierWait(emptyBarrier(stage), parity);
}

void TmaRing::release(Value stage) {
  DeviceBuilder &b = emitter.builder();
  int64_t ctas = emitter.config().getClusterM();
  b.syncWarp();
  if (ctas == 1)
    return b.ifThen(b.equal(lane, 0),
                    [&] { b.mbarrierArrive(emptyBarrier(stage)); });
  b.ifThen(b.less(lane, ctas), [&] {
    // The MMAs that read the stage are complete: there is nothing to fence.
    b.mbarrierArriveRemote(b.mapToRank(emptyBarrier(stage), lane),
                           /*releases=*/false);
  });
}

void TmaRing::schedulingBoundary() {
  emitter.builder().schedulingBoundary(emitter.shared(untouched));
}

std::pair<Value, Value> TmaRing::advance(Value stage, Value parity) {
  DeviceBuilder &b = emitter.builder();
  Value next = b.add(stage, 1);
  Value wraps = b.equal(next, stages);
  return {b.select(wraps, b.i32(0), next),
          b.select(wraps, b.bitXor(parity, 1), parity)};
}

std::pair<Value, Value> TmaRing::skip(Value stage, Value parity) {
  DeviceBuilder &b = emitter.builder();
  int64_t count = emitter.stagesPerTile();
  Value next = b.add(stage, count % stages);
  Value wraps = b.less(b.i32(stages - 1), next);
  Value turned = b.bitXor(parity, count / stages % 2);
  return {b.select(wraps, b.sub(next, stages), next),
          b.select(wraps, b.bitXor(turned, 1), turned)};
}

void TmaRing::prefetchTensorMaps() {
  DeviceBuilder &b = emitter.builder();
  for (LoadOp load : emitter.pipeline().getProduce().front().getOps<LoadOp>())
    b.prefetchTensorMap(emitter.tensorMap(load.getSource()));
  if (LoadFragOp frag = emitter.ringFrag())
    b.prefetchTensorMap(emitter.tensorMap(frag.getSource()));
}

/// The tile that the epilogue reads: boxes side by side in one stage.
Values TmaRing::produceFrag(ValueRange position) {
  DeviceBuilder &b = emitter.builder();
  LoadFragOp frag = emitter.ringFrag();
  MmaFamily::TmaBox box = emitter.ringFragBox();
  int64_t boxBytes = box.rows * box.swizzle;
  int64_t boxes = llvm::divideCeil(emitter.config().getTileN(), box.columns);
  Value stage = position[0], parity = position[1];
  waitEmpty(stage, parity);
  Value arrived = emitter.shared(full, b.shl(stage, 3));
  b.mbarrierExpectTx(arrived, b.i32(boxes * boxBytes));
  Value stageOffset = b.mul(stage, emitter.stageBytes());
  TileOriginOp origin = emitter.origin();
  for (int64_t i = 0; i < boxes; ++i)
    b.tmaLoad(emitter.shared(i * boxBytes, stageOffset),
              emitter.tensorMap(frag.getSource()),
              b.add(emitter.index(origin.getColumn()), i * box.columns),
              emitter.index(origin.getRow()), arrived);
  auto [nextStage, nextParity] = advance(stage, parity);
  return {nextStage, nextParity};
}

/// Asks for what `load` needs `prefetch` steps from here. CTAs side by side
/// need the same rows, and take turns.
void TmaRing::prefetch(LoadOp load, Value kTile, Value nextRow) {
  DeviceBuilder &b = emitter.builder();
  int64_t ctas = emitter.config().getClusterN();
  Value ahead = b.add(kTile, int64_t(*load.getPrefetch()));
  Value isHere = b.less(ahead, emitter.numKTiles());
  auto ask = [&] {
    Value row = b.select(isHere, emitter.index(load.getRow()), nextRow);
    Value step = b.select(isHere, ahead, b.sub(ahead, emitter.numKTiles()));
    b.ifThen(b.less(b.i32(-1), row), [&] {
      b.tmaPrefetch(emitter.tensorMap(load.getSource()), emitter.depthOf(step),
                    row);
    });
  };
  if (ctas == 1)
    return ask();
  Value turn = b.bitAnd(b.sub(kTile, b.rankInCluster()), ctas - 1);
  b.ifThen(b.equal(turn, 0), ask);
}

Values TmaRing::produce(Value isFirst, Value nextRow, ValueRange position) {
  DeviceBuilder &b = emitter.builder();
  PipelineOp ring = emitter.pipeline();
  Block &body = ring.getProduce().front();
  int64_t clusterM = emitter.config().getClusterM();
  int64_t bytes = 0, residentBytes = 0;
  for (LoadOp load : body.getOps<LoadOp>())
    (load.getResident() ? residentBytes : bytes) +=
        TmaBoxes(cast<SmemType>(load.getTarget().getType())).totalBytes();
  Value expected = b.i32(bytes);
  if (residentBytes)
    expected = b.select(isFirst, b.i32(bytes + residentBytes), expected);
  Values end = b.loop(
      emitter.numKTiles(), position, [&](Value kTile, ValueRange carried) {
        Value stage = carried[0], parity = carried[1];
        waitEmpty(stage, parity);
        Value arrived = emitter.shared(full, b.shl(stage, 3));
        b.mbarrierExpectTx(arrived, expected);
        emitter[body.getArgument(0)] = {emitter.depthOf(kTile)};
        Value stageOffset = b.mul(stage, emitter.stageBytes());
        auto emitLoad = [&](LoadOp load) {
          int64_t slot = KernelEmitter::slotOf(load.getTarget());
          TmaBoxes boxes = emitter.loadBoxes(load);
          int64_t offset = emitter.slotOffset(slot);
          // Of what others need, too, this CTA loads its part of the rows.
          int64_t parts = emitter.isMulticast(load) ? clusterM : 1;
          Value part = parts > 1 ? b.rankInCluster() : b.i32(0);
          Value base = b.add(emitter.slotAdvance(slot, stageOffset, kTile),
                             b.mul(part, boxes.bytes()));
          Value firstRow =
              b.add(emitter.index(load.getRow()), b.mul(part, boxes.rows));
          for (int64_t column = 0; column < boxes.columnBlocks; ++column)
            for (int64_t row = 0; row < boxes.rowBlocks; row += parts)
              b.tmaLoad(emitter.shared(offset +
                                           column * boxes.columnBlockStride() +
                                           row * boxes.bytes(),
                                       base),
                        emitter.tensorMap(load.getSource()),
                        b.add(emitter.index(load.getColumn()),
                              column * boxes.columns),
                        b.add(firstRow, row * boxes.rows), arrived, parts);
        };
        for (LoadOp load : body.getOps<LoadOp>()) {
          if (load.getResident())
            b.ifThen(isFirst, [&] { emitLoad(load); });
          else
            emitLoad(load);
          if (load.getPrefetch())
            prefetch(load, kTile, nextRow);
        }
        auto [nextStage, nextParity] = advance(stage, parity);
        return Values{nextStage, nextParity};
      });
  return emitter.ringFrag() ? produceFrag(end) : end;
}

LogicalResult TmaRing::check(FuncOp func, PipelineOp pipeline) {
  int64_t parts = func.getConfig().getClusterM();
  for (Value slot : pipeline.getProduce().getArguments().drop_front())
    if (!TmaBoxes::isLegal(cast<SmemType>(slot.getType()), parts))
      return func.emitOpError()
             << "TMA needs slots of a multiple of " << 8 * parts
             << " rows and 64 columns, got " << slot.getType();
  if (func.getConfig().getTileK() != 64)
    return func.emitOpError()
           << "TMA stages are 64 deep, got " << func.getConfig().getTileK();
  if (pipeline.getStages() < 2)
    return func.emitOpError()
           << "needs at least 2 stages, got " << pipeline.getStages();
  return success();
}
