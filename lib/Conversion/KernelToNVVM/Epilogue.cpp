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
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

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

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

Value KernelEmitter::convertFloat(Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (type.isF32())
    return LLVM::FPExtOp::create(b, type, value);
  return LLVM::FPTruncOp::create(b, type, value);
}

Value KernelEmitter::columnsInside(int64_t size, Value column, int64_t c) {
  if (size % config().getTileN() == 0)
    return Value();
  return b.less(b.add(group(column), layout.columns[c] / 8 * 8), size);
}

SmallVector<KernelEmitter::Run> KernelEmitter::runs(Type elementType) {
  int64_t most =
      std::min<int64_t>(8, 16 / (elementType.getIntOrFloatBitWidth() / 8));
  int64_t count = std::min(most, layout.run);
  SmallVector<Run> result;
  for (int64_t c = 0, e = layout.columns.size(); c < e; c += count)
    result.push_back({c, count});
  return result;
}

/// Type of `count` elements in one access.
static Type accessType(Type elementType, int64_t count) {
  return count == 1 ? elementType : Type(VectorType::get(count, elementType));
}

static Value vectorElement(DeviceBuilder &b, Value access, int64_t i) {
  if (!isa<VectorType>(access.getType()))
    return access;
  return LLVM::ExtractElementOp::create(b, access, b.i32(i));
}

/// The column where an access starts, moved inside of the array: what padding
/// columns read is never used, and a clamp is cheaper than a branch.
Value KernelEmitter::clampedColumn(Value column, Value group, int64_t c,
                                   int64_t size) {
  Value at = b.add(column, layout.columns[c]);
  if (size % config().getTileN() == 0)
    return at;
  Value start = b.add(group, layout.columns[c] / 8 * 8);
  Value last = b.i32(size - 8);
  Value beyond = b.createOrFold<arith::SubIOp>(
      start, b.select(b.less(start, last), start, last));
  return b.createOrFold<arith::SubIOp>(at, beyond);
}

Values KernelEmitter::loadColumns(Value source, Value column, Value group) {
  auto type = cast<MemRefType>(source.getType());
  Type element = type.getElementType();
  Values result;
  for (Run run : runs(element)) {
    Value at = arith::ExtSIOp::create(
        b, b.getI64Type(),
        clampedColumn(column, group, run.first, type.getDimSize(0)));
    Value access = b.load(accessType(element, run.count),
                          b.elementPtr(pointer(source), element, at),
                          run.count * element.getIntOrFloatBitWidth() / 8);
    for (int64_t i = 0; i < run.count; ++i)
      result.push_back(
          convertFloat(vectorElement(b, access, i), b.getF32Type()));
  }
  return result;
}

/// Values of a copy in one access.
static constexpr int64_t copyAccess = 4;

Value KernelEmitter::copiedColumns(int64_t copy, Value slice) {
  // [slice of the tile][lane of the row][its columns]: 16-byte accesses of the
  // lanes of a row hit different banks, other rows read the same addresses.
  int64_t bytes = layout.columns.size() * 4;
  Value first = b.div(layout.groupColumn, layout.sliceColumns);
  Value offset = b.add(b.mul(first, layout.lanesPerRow * bytes),
                       b.mul(layout.laneInRow, bytes));
  return shared(copy, b.add(offset, b.mul(slice, layout.lanesPerRow * bytes)));
}

bool KernelEmitter::copyColvecs() {
  if (!layout.columnRank || numColumnTiles() > config().getClusterN())
    return false;
  SetVector<Value> sources;
  kernel.walk([&](LoadColvecOp op) {
    auto isLoad = [](Operation *user) { return isa<LoadColvecOp>(user); };
    if (llvm::all_of(op.getSource().getUsers(), isLoad))
      sources.insert(op.getSource());
  });
  for (Value source : sources)
    colvecCopies[source] = allocateShared(config().getTileN() * 4, 16);
  TileOriginOp tile = origin();
  for (int64_t first = 0; first < layout.numSlices;
       first += layout.numColumnRanks) {
    Value slice = b.add(layout.columnRank, first);
    b.ifThen(b.less(slice, layout.numSlices), [&] {
      Value columns = b.mul(slice, layout.sliceColumns);
      SmallVector<Values> loaded;
      for (Value source : sources)
        loaded.push_back(loadColumns(
            source,
            b.add(index(tile.getColumn()), b.add(layout.column, columns)),
            b.add(index(tile.getColumn()),
                  b.add(layout.groupColumn, columns))));
      for (auto [source, from] : llvm::zip_equal(sources, loaded)) {
        Value to = copiedColumns(colvecCopies[source], slice);
        for (size_t c = 0; c < from.size(); c += copyAccess) {
          Value access = LLVM::PoisonOp::create(
              b, VectorType::get(copyAccess, b.getF32Type()));
          for (int64_t i = 0; i < copyAccess; ++i)
            access =
                LLVM::InsertElementOp::create(b, access, from[c + i], b.i32(i));
          b.store(access, b.gep(to, c * 4), 16);
        }
      }
    });
  }
  return !sources.empty();
}

void KernelEmitter::emitLoadColvec(LoadColvecOp op) {
  auto copy = colvecCopies.find(op.getSource());
  if (copy == colvecCopies.end()) {
    values[op.getResult()] = loadColumns(op.getSource(), index(op.getColumn()),
                                         group(op.getColumn()));
    return;
  }
  Value from = copiedColumns(copy->second, b.i32(sliceNumber));
  Values result;
  for (size_t c = 0; c < layout.columns.size(); c += copyAccess) {
    Value access = b.load(VectorType::get(copyAccess, b.getF32Type()),
                          b.gep(from, c * 4), 16);
    for (int64_t i = 0; i < copyAccess; ++i)
      result.push_back(vectorElement(b, access, i));
  }
  values[op.getResult()] = result;
}

/// Element index of (row, column), as i64: M * N may pass 2^31.
static Value rowStart(DeviceBuilder &b, Value row, Value stride) {
  Value row64 = arith::ExtSIOp::create(b, b.getI64Type(), row);
  return arith::MulIOp::create(b, row64, stride);
}
static Value elementIndex(DeviceBuilder &b, Value start, Value column) {
  Value column64 = arith::ExtSIOp::create(b, b.getI64Type(), column);
  return arith::AddIOp::create(b, start, column64);
}

void KernelEmitter::emitLoadFrag(LoadFragOp op) {
  if (op == ringFrag()) {
    values[op.getResult()] = family.loadFrag(*this, op, sliceNumber);
    return;
  }
  auto type = cast<MemRefType>(op.getSource().getType());
  Type element = type.getElementType();
  Value lastRow = b.sub(numRows(), 1);
  Values result;
  for (int64_t offset : layout.rows) {
    Value row = b.add(b.add(index(op.getRow()), layout.row), offset);
    row = b.select(b.less(row, numRows()), row, lastRow);
    Value start = rowStart(b, row, rowStride(op.getSource()));
    for (Run run : runs(element)) {
      Value column = clampedColumn(index(op.getColumn()), group(op.getColumn()),
                                   run.first, type.getDimSize(1));
      Value access = b.load(accessType(element, run.count),
                            b.elementPtr(pointer(op.getSource()), element,
                                         elementIndex(b, start, column)),
                            run.count * element.getIntOrFloatBitWidth() / 8);
      for (int64_t i = 0; i < run.count; ++i)
        result.push_back(
            convertFloat(vectorElement(b, access, i), b.getF32Type()));
    }
  }
  values[op.getResult()] = result;
}

void KernelEmitter::emitStoreFrag(StoreFragOp op) {
  auto type = cast<MemRefType>(op.getTarget().getType());
  Type element = type.getElementType();
  Values frag = values[op.getValue()];
  // Padding that is known as such must not keep what it was computed from
  // alive.
  for (size_t i = 0; i < frag.size(); ++i) {
    Value inside = columnsInside(type.getDimSize(1), op.getColumn(),
                                 i % layout.columns.size());
    if (inside && matchPattern(inside, m_Zero()))
      frag[i] = b.f32(0);
  }
  if (family.storeBox(config(), element))
    return family.storeFrag(*this, op, sliceNumber, frag);
  Value base = pointer(op.getTarget());
  int64_t numColumns = layout.columns.size();
  for (int64_t r = 0, e = layout.rows.size(); r < e; ++r) {
    Value row = b.add(b.add(index(op.getRow()), layout.row), layout.rows[r]);
    b.ifThen(b.less(row, numRows()), [&] {
      Value start = rowStart(b, row, rowStride(op.getTarget()));
      for (Run run : runs(element)) {
        Value column = b.add(index(op.getColumn()), layout.columns[run.first]);
        b.ifThen(
            columnsInside(type.getDimSize(1), op.getColumn(), run.first), [&] {
              Type access = accessType(element, run.count);
              Value value = LLVM::PoisonOp::create(b, access);
              for (int64_t i = 0; i < run.count; ++i) {
                Value rounded =
                    convertFloat(frag[r * numColumns + run.first + i], element);
                value = run.count == 1 ? rounded
                                       : Value(LLVM::InsertElementOp::create(
                                             b, value, rounded, b.i32(i)));
              }
              b.store(
                  value,
                  b.elementPtr(base, element, elementIndex(b, start, column)),
                  run.count * element.getIntOrFloatBitWidth() / 8);
            });
      }
    });
  }
}

void KernelEmitter::emitStoreRowvec(StoreRowvecOp op) {
  auto type = cast<MemRefType>(op.getTarget().getType());
  Type element = type.getElementType();
  // One thread of each row writes.
  Value first = b.equal(layout.column, 0);
  for (auto [r, offset] : llvm::enumerate(layout.rows)) {
    Value row = b.add(b.add(index(op.getRow()), layout.row), offset);
    Value value = values[op.getValue()][r];
    b.ifThen(b.both(first, b.less(row, numRows())), [&] {
      Value at = arith::ExtSIOp::create(b, b.getI64Type(), row);
      b.store(convertFloat(value, element),
              b.elementPtr(pointer(op.getTarget()), element, at),
              element.getIntOrFloatBitWidth() / 8);
    });
  }
}
