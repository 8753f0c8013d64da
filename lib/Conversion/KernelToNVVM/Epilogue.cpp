//===- Epilogue.cpp - The epilogue, written once for all families ---------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slices of registers are unrolled: those cannot be indexed at run time.
// Everything here knows of a family only its RowLayout.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace flashnorm::kernel;
using Values = DeviceBuilder::Values;

/// Whether an element takes many steps, as activations do.
static bool isLong(ForSlicesOp op) {
  constexpr size_t few = 8;
  return llvm::any_of(op.getBody().front().getOps<MapOp>(), [](MapOp map) {
    return map.getBody().front().getOperations().size() > few;
  });
}

void KernelEmitter::emitForSlices(ForSlicesOp op) {
  Values acc = values[op.getAcc()];
  Block &body = op.getBody().front();
  // One slice of `from`, which is slice `number` of the accumulator; returns
  // what is carried on.
  auto emitSlice = [&](Values &from, int64_t slice, Value number,
                       ArrayRef<Values> carried) {
    Value columns = b.mul(number, layout.sliceColumns);
    values[body.getArgument(0)] = family.readSlice(*this, from, slice);
    values[body.getArgument(1)] = {b.add(layout.column, columns),
                                   b.add(layout.groupColumn, columns)};
    for (auto [i, value] : llvm::enumerate(carried))
      values[body.getArgument(2 + i)] = value;
    for (Operation &inner : body.without_terminator())
      emitOp(&inner);
    ValueRange yielded = cast<YieldOp>(body.getTerminator()).getValues();
    if (op.writesBack()) {
      family.writeSlice(*this, from, slice, values[yielded.front()]);
      yielded = yielded.drop_front();
    }
    SmallVector<Values> next;
    for (Value value : yielded)
      next.push_back(values[value]);
    return next;
  };

  SmallVector<Values> carried;
  for (Value init : op.getInits())
    carried.push_back(values[init]);
  if (family.hasDynamicSlices()) {
    // A loop carries single values: rowvecs side by side.
    size_t numRows = layout.rows.size();
    Values inits;
    for (const Values &value : carried)
      inits.append(value);
    auto split = [&](ValueRange flat) {
      SmallVector<Values> parts;
      for (; !flat.empty(); flat = flat.drop_front(numRows))
        parts.emplace_back(flat.take_front(numRows));
      return parts;
    };
    carried = split(
        b.loop(layout.numSlices, inits, [&](Value slice, ValueRange flat) {
          Values from = family.dropSlices(*this, acc, slice), next;
          for (const Values &value : emitSlice(from, 0, slice, split(flat)))
            next.append(value);
          return next;
        }));
  } else {
    bool separates = isLong(op);
    for (int64_t slice = 0; slice < layout.numSlices; ++slice) {
      sliceNumber = slice;
      if (separates && slice > 0)
        family.separateSlices(*this);
      carried = emitSlice(acc, slice, b.i32(slice), carried);
    }
  }

  if (LoadFragOp frag = ringFrag(); frag && frag->getParentOp() == op)
    family.endFrag(*this);
  ValueRange results = op.getResults();
  if (op.writesBack()) {
    values[results.front()] = acc;
    results = results.drop_front();
  }
  for (auto [result, value] : llvm::zip_equal(results, carried))
    values[result] = value;
}

/// e^x and the like by the special-function unit: the errors that PTX documents
/// (2 ulp, tanh aside) are far below those of the storage types.
static Value emitMath(DeviceBuilder &b, Operation *op, ValueRange operands) {
  auto intrinsic = [&](StringRef name, Value operand) -> Value {
    return LLVM::CallIntrinsicOp::create(b, b.getF32Type(),
                                         b.getStringAttr(name), operand)
        .getResult(0);
  };
  auto exp2 = [&](Value x) -> Value { return LLVM::Exp2Op::create(b, x); };
  auto mul = [&](Value x, double y) -> Value {
    return arith::MulFOp::create(b, x, b.f32(y));
  };
  constexpr double log2e = 1.4426950408889634;
  if (isa<math::RsqrtOp>(op))
    return intrinsic("llvm.nvvm.rsqrt.approx.f", operands[0]);
  if (isa<math::ExpOp>(op))
    return exp2(mul(operands[0], log2e));
  if (isa<math::TanhOp>(op)) {
    // 1 - 2 / (e^2x + 1): right at both ends, where e^2x is 0 or infinite.
    Value e = exp2(mul(operands[0], 2 * log2e));
    Value q = arith::DivFOp::create(b, b.f32(2), b.addF(e, b.f32(1)));
    return arith::SubFOp::create(b, b.f32(1), q);
  }
  if (isa<math::FmaOp>(op))
    return b.fma(operands[0], operands[1], operands[2]);
  return Value();
}

Values KernelEmitter::cloneScalars(Block &body, ValueRange arguments) {
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator()) {
    // Values from outside are scalars, too.
    SmallVector<Value> operands;
    for (Value operand : op.getOperands()) {
      if (!mapping.contains(operand))
        mapping.map(operand, values[operand].front());
      operands.push_back(mapping.lookup(operand));
    }
    if (Value result = emitMath(b, &op, operands))
      mapping.map(op.getResult(0), result);
    else
      b.clone(op, mapping);
  }
  Values results;
  for (Value value : cast<YieldOp>(body.getTerminator()).getValues())
    results.push_back(mapping.contains(value) ? mapping.lookup(value)
                                              : values[value].front());
  return results;
}

void KernelEmitter::emitMap(MapOp op) {
  bool isFrag = isa<FragType>(op.getResult().getType());
  int64_t numRows = layout.rows.size();
  int64_t numColumns = isFrag ? layout.columns.size() : 1;
  Values result;
  for (int64_t row = 0; row < numRows; ++row)
    for (int64_t column = 0; column < numColumns; ++column) {
      Values arguments;
      for (Value input : op.getInputs()) {
        int64_t i = isa<FragType>(input.getType()) ? row * numColumns + column
                    : isa<RowvecType>(input.getType()) ? row
                                                       : column;
        arguments.push_back(values[input][i]);
      }
      result.append(cloneScalars(op.getBody().front(), arguments));
    }
  values[op.getResult()] = result;
}

void KernelEmitter::emitAccumulate(AccumulateOp op) {
  Values sums = values[op.getInit()];
  const Values &frag = values[op.getFrag()];
  int64_t numColumns = layout.columns.size();
  int64_t limit = op.getLimit();
  bool masked = limit < config().getTileN() * config().getClusterN();
  SmallVector<Value> inside(numColumns);
  for (int64_t c = 0; masked && c < numColumns; ++c)
    inside[c] =
        b.less(b.add(group(op.getColumn()), layout.columns[c] / 8 * 8), limit);
  for (auto [r, sum] : llvm::enumerate(sums)) {
    // Pairwise: the error grows with the logarithm of the columns.
    Values terms;
    for (int64_t c = 0; c < numColumns; ++c) {
      Value x = frag[r * numColumns + c];
      if (masked)
        x = b.select(inside[c], x, b.f32(0));
      terms.push_back(x);
    }
    if (op.getKind() == Reduction::SumSq) {
      Values squares;
      for (size_t i = 0; i + 1 < terms.size(); i += 2)
        squares.push_back(
            b.fma(terms[i], terms[i],
                  arith::MulFOp::create(b, terms[i + 1], terms[i + 1])));
      if (terms.size() % 2)
        squares.push_back(arith::MulFOp::create(b, terms.back(), terms.back()));
      terms = squares;
    }
    while (terms.size() > 1) {
      Values next;
      for (size_t i = 0; i + 1 < terms.size(); i += 2)
        next.push_back(b.addF(terms[i], terms[i + 1]));
      if (terms.size() % 2)
        next.push_back(terms.back());
      terms = next;
    }
    sum = b.addF(sum, terms.front());
  }
  values[op.getResult()] = sums;
}

void KernelEmitter::allocateExchanges() {
  if (layout.ctasPerRow == 1)
    return;
  kernel.walk([&](RowCombineOp op) {
    if (op.getWithinWarp())
      return;
    Exchange &exchange = exchanges[op];
    exchange.slots = allocateShared(
        numExchangeRounds() * numSenders() * layout.rowsPerTeam * 4, 16);
    exchange.barriers = allocateShared(numExchangeRounds() * 8, 8);
  });
}

void KernelEmitter::initializeExchanges() {
  kernel.walk([&](RowCombineOp op) {
    if (auto it = exchanges.find(op); it != exchanges.end())
      for (int64_t i = 0; i < numExchangeRounds(); ++i)
        b.mbarrierInit(shared(it->second.barriers + 8 * i), 1);
  });
}

/// Adds the sums of the other CTAs' columns, which they send while this one
/// sends its own. Who has waited for a round has sent its own before: no CTA is
/// more than a round ahead, and slots for two rounds are enough.
void KernelEmitter::exchangeInCluster(RowCombineOp op, Values &sums) {
  const Exchange &exchange = exchanges[op];
  int64_t slotBytes = layout.rowsPerTeam * 4, senders = numSenders();
  Value slot = b.add(b.shl(layout.team, 1), b.bitAnd(layout.round, 1));
  Value parity = b.bitAnd(b.shr(layout.round, 1), 1);
  Value barrier = shared(exchange.barriers, b.shl(slot, 3));
  Value base =
      b.add(b.mul(slot, slotBytes * senders), b.shl(layout.teamRow, 2));
  auto received = [&](int64_t sender, int64_t r) {
    return shared(exchange.slots + sender * slotBytes + layout.rows[r] * 4,
                  base);
  };
  Value isFirstOfRow = b.equal(layout.laneInRow, 0);
  b.ifThen(b.both(isFirstOfRow, b.equal(layout.teamRow, 0)),
           [&] { b.mbarrierExpectTx(barrier, b.i32(slotBytes * senders)); });
  // All lanes of a row have its sum; the first one sends it.
  b.ifThen(isFirstOfRow, [&] {
    Value rank = b.rankInCluster();
    auto send = [&](Value to, Value slotOfSender) {
      Value barrierThere = b.mapToRank(barrier, to);
      for (auto [r, sum] : llvm::enumerate(sums))
        b.storeAsync(sum, b.mapToRank(b.gep(received(0, r), slotOfSender), to),
                     barrierThere);
    };
    if (senders == 1)
      return send(b.bitXor(rank, 1), b.i32(0));
    Value mine = b.mul(rank, slotBytes);
    for (int64_t to = 0; to < layout.ctasPerRow; ++to)
      send(b.i32(to), mine);
  });
  b.mbarrierWait(barrier, parity, /*inCluster=*/true);
  // The same bits in all CTAs: two terms commute, more are added in one order.
  for (auto [r, sum] : llvm::enumerate(sums))
    for (int64_t sender = 0; sender < senders; ++sender) {
      Value part = b.load(b.getF32Type(), received(sender, r), 4);
      sum = sender == 0 && senders > 1 ? part : b.addF(sum, part);
    }
}

void KernelEmitter::emitRowCombine(RowCombineOp op) {
  Values sums = values[op.getPartial()];
  for (int64_t lanes = 1; lanes < layout.lanesPerRow; lanes *= 2)
    for (Value &sum : sums)
      sum = b.addF(sum, b.shuffleXor(sum, lanes));
  if (layout.ctasPerRow > 1 && !op.getWithinWarp())
    exchangeInCluster(op, sums);
  if (layout.warpsPerRow == 1 || op.getWithinWarp()) {
    values[op.getResult()] = sums;
    return;
  }
  // scratch[warp in row][row of the tile]
  int64_t tileM = config().getTileM(),
          threads = family.numEpilogueThreads(config());
  int64_t scratch = allocateShared(tileM * layout.warpsPerRow * 4, 16);
  Value rowOffset = b.shl(layout.row, 2);
  // What the tile before left there has been read.
  if (family.numPersistentCTAs())
    b.barrier(family.epilogueBarrier(), threads);
  Value mine = b.add(b.mul(layout.warpInRow, tileM * 4), rowOffset);
  for (auto [r, sum] : llvm::enumerate(sums))
    b.store(sum, shared(scratch + layout.rows[r] * 4, mine), 4);
  b.barrier(family.epilogueBarrier(), threads);
  for (auto [r, sum] : llvm::enumerate(sums)) {
    sum = Value();
    for (int64_t warp = 0; warp < layout.warpsPerRow; ++warp) {
      Value part = b.load(
          b.getF32Type(),
          shared(scratch + warp * tileM * 4 + layout.rows[r] * 4, rowOffset),
          4);
      sum = sum ? b.addF(sum, part) : part;
    }
  }
  values[op.getResult()] = sums;
}
