//===- SplitK.cpp - Sums over the CTAs that share a tile ------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A team's buffer is [sender][slice][values / 4][thread][4]: accesses of 16
// bytes, side by side in a warp. A CTA sends to itself, too: who owns what is
// only known at run time, and registers cannot be indexed.
//
//===----------------------------------------------------------------------===//

#include "SplitK.h"

using namespace mlir;
using namespace flashnorm;
using namespace flashnorm::kernel;
using Values = DeviceBuilder::Values;

/// f32 in an access.
static constexpr int64_t accessValues = 4;

SplitK::SplitK(KernelEmitter &emitter, SliceDeal deal, Value threadInTeam,
               int64_t teamThreads)
    : emitter(emitter), deal(deal), threadInTeam(threadInTeam),
      teamThreads(teamThreads) {
  int64_t rows = emitter.layout.rows.size();
  sliceValues = rows * emitter.layout.columns.size();
  rowvecValues = rows * (emitter.pipeline().getNumResults() - 1);
  int64_t teams = emitter.layout.numTeams;
  buffer = emitter.allocateShared(
      teams * emitter.config().getClusterK() * bytesOfSender(), 16);
  arrived = emitter.allocateShared(8 * teams, 8);
  taken = emitter.allocateShared(8 * teams, 8);
}

void SplitK::initialize() {
  DeviceBuilder &b = emitter.builder();
  for (int64_t team = 0; team < emitter.layout.numTeams; ++team) {
    b.mbarrierInit(emitter.shared(arrived + 8 * team), 1);
    b.mbarrierInit(emitter.shared(taken + 8 * team),
                   deal.owners * teamThreads / 32);
  }
}

Value SplitK::barrier(int64_t barriers) const {
  return emitter.shared(barriers,
                        emitter.builder().shl(emitter.layout.team, 3));
}

Value SplitK::place(Value sender, int64_t offset, int64_t values) {
  DeviceBuilder &b = emitter.builder();
  int64_t teamBytes = emitter.config().getClusterK() * bytesOfSender();
  Value dynamic = b.add(b.mul(emitter.layout.team, teamBytes),
                        b.mul(sender, bytesOfSender()));
  return emitter.shared(buffer + offset,
                        b.add(dynamic, b.mul(threadInTeam, 4 * values)));
}

void SplitK::send(ValueRange slices, ValueRange rowvecs) {
  DeviceBuilder &b = emitter.builder();
  // What was sent for the tile before has been read everywhere.
  Value round = emitter.layout.round;
  b.ifThen(b.less(b.i32(0), round), [&] {
    Value parity = b.bitXor(b.bitAnd(round, 1), 1);
    b.mbarrierWait(barrier(taken), parity, /*inCluster=*/true);
  });
  Value rank = b.rankInCluster();
  int64_t accessBytes = teamThreads * 4 * accessValues;
  int64_t ownerValues = deal.slices * sliceValues;
  for (int64_t owner = 0; owner < deal.owners; ++owner) {
    Value to = b.i32(owner);
    Value barrierThere = b.mapToRank(barrier(arrived), to);
    Value there = b.mapToRank(place(rank, 0, accessValues), to);
    int64_t offset = 0;
    ValueRange values = slices.slice(owner * ownerValues, ownerValues);
    for (; !values.empty(); values = values.drop_front(accessValues)) {
      b.storeAsync(values.take_front(accessValues), b.add(there, offset),
                   barrierThere);
      offset += accessBytes;
    }
    if (rowvecs.empty())
      continue;
    there = b.mapToRank(place(rank, offset, rowvecValues), to);
    for (int64_t i = 0; i < rowvecValues; i += 2)
      b.storeAsync(rowvecs.slice(i, 2), b.add(there, 4 * i), barrierThere);
  }
}

Value SplitK::isOwner() {
  DeviceBuilder &b = emitter.builder();
  return b.less(b.rankInCluster(), deal.owners);
}

Values SplitK::receive(Value hasNext) {
  DeviceBuilder &b = emitter.builder();
  int64_t ctas = emitter.config().getClusterK();
  b.ifThen(b.equal(threadInTeam, 0), [&] {
    b.mbarrierExpectTx(barrier(arrived), b.i32(ctas * bytesOfSender()));
  });
  b.mbarrierWait(barrier(arrived), b.bitAnd(emitter.layout.round, 1),
                 /*inCluster=*/true);
  Values sums;
  // One access of each CTA, added up.
  auto add = [&](int64_t offset, int64_t placeValues, int64_t within,
                 int64_t count) {
    Values total;
    for (int64_t sender = 0; sender < ctas; ++sender) {
      Value from = b.gep(place(b.i32(sender), offset, placeValues), within);
      Value access =
          b.load(VectorType::get(count, b.getF32Type()), from, 4 * count);
      for (int64_t i = 0; i < count; ++i) {
        Value part = LLVM::ExtractElementOp::create(b, access, b.i32(i));
        if (sender == 0)
          total.push_back(part);
        else
          total[i] = b.addF(total[i], part);
      }
    }
    sums.append(total);
  };
  int64_t accessBytes = teamThreads * 4 * accessValues, offset = 0;
  for (int64_t i = 0; i < deal.slices * sliceValues; i += accessValues) {
    add(offset, accessValues, 0, accessValues);
    offset += accessBytes;
  }
  for (int64_t i = 0; i < rowvecValues; i += 2)
    add(offset, rowvecValues, 4 * i, 2);
  // Lane i of each warp tells the CTA of rank i, if it will send again.
  Value lane = b.bitAnd(threadInTeam, 31);
  b.syncWarp();
  b.ifThen(b.both(hasNext, b.less(lane, ctas)), [&] {
    b.mbarrierArriveRemote(b.mapToRank(barrier(taken), lane),
                           /*releases=*/true);
  });
  return sums;
}
