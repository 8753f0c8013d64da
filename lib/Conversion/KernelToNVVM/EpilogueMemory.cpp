//===- EpilogueMemory.cpp - What the epilogue loads and stores ------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Global memory of the epilogue, through pointers, by any RowLayout. Loads
// beyond the last row or column are moved inside of the array, stores are left
// out.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace flashnorm::kernel;
using Values = DeviceBuilder::Values;

Value KernelEmitter::convertFloat(Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (type.isF32())
    return LLVM::FPExtOp::create(b, type, value);
  return LLVM::FPTruncOp::create(b, type, value);
}

/// Whether the last tile reaches beyond `size` columns.
bool KernelEmitter::hasPadding(int64_t size) {
  return size % config().getTileN() != 0;
}

Value KernelEmitter::columnsInside(int64_t size, Value column, int64_t c) {
  if (!hasPadding(size))
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
  if (!hasPadding(size))
    return at;
  Value start = b.add(group, layout.columns[c] / 8 * 8);
  Value beyond = b.sub(start, b.min(start, b.i32(size - 8)));
  return b.sub(at, beyond);
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
          auto access = ValueRange(from).slice(c, copyAccess);
          b.store(b.vectorOf(access), b.gep(to, c * 4), 16);
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

//===----------------------------------------------------------------------===//
// Groups of eight columns
//===----------------------------------------------------------------------===//

bool KernelEmitter::sharesGroups(Type elementType) {
  return layout.lanesPerRow == numGroups && layout.run == 2 &&
         elementType.getIntOrFloatBitWidth() == 16;
}

/// Two steps of a butterfly, each of which swaps a bit of the lane with one of
/// the word: its own inverse.
void KernelEmitter::exchangeGroups(MutableArrayRef<Value> words) {
  for (int64_t bit = 1; bit < numGroups; bit *= 2) {
    Value isLower = b.equal(b.bitAnd(layout.laneInRow, bit), 0);
    for (int64_t i = 0; i < numGroups; ++i) {
      if (i & bit)
        continue;
      Value &low = words[i], &high = words[i | bit];
      Value received = b.shuffleXor(b.select(isLower, high, low), bit);
      low = b.select(isLower, low, received);
      high = b.select(isLower, received, high);
    }
  }
}

/// All columns of the slice are padding, as is known from constants. Unlike
/// loads, shuffles stay where nobody needs what they bring.
bool KernelEmitter::isPadding(int64_t size, Value column) {
  Value inside = columnsInside(size, column, 0);
  return inside && matchPattern(inside, m_Zero());
}

/// Where this lane's group of a row starts.
Value KernelEmitter::groupPtr(Value memref, Value row, Value column) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  Value start = rowStart(b, row, rowStride(memref));
  return b.elementPtr(pointer(memref), element, elementIndex(b, start, column));
}

Values KernelEmitter::loadGroups(LoadFragOp op) {
  auto type = cast<MemRefType>(op.getSource().getType());
  int64_t size = type.getDimSize(1);
  if (isPadding(size, op.getColumn()))
    return Values(layout.rows.size() * layout.columns.size(), b.f32(0));
  Value column = b.add(group(op.getColumn()), b.shl(layout.laneInRow, 3));
  if (hasPadding(size))
    column = b.min(column, b.i32(size - 8));
  Value lastRow = b.sub(numRows(), 1);
  Values result;
  for (int64_t offset : layout.rows) {
    Value row = b.add(b.add(index(op.getRow()), layout.row), offset);
    Value access =
        b.load(VectorType::get(numGroups, b.getI32Type()),
               groupPtr(op.getSource(), b.min(row, lastRow), column), 16);
    Values words;
    for (int64_t i = 0; i < numGroups; ++i)
      words.push_back(vectorElement(b, access, i));
    exchangeGroups(words);
    for (Value word : words) {
      auto [low, high] = b.unpack(word, type.getElementType());
      result.append({low, high});
    }
  }
  return result;
}

void KernelEmitter::storeGroups(StoreFragOp op, ValueRange frag) {
  auto type = cast<MemRefType>(op.getTarget().getType());
  int64_t size = type.getDimSize(1), numColumns = layout.columns.size();
  if (isPadding(size, op.getColumn()))
    return;
  Value column = b.add(group(op.getColumn()), b.shl(layout.laneInRow, 3));
  Value inside = hasPadding(size) ? b.less(column, size) : Value();
  for (auto [r, offset] : llvm::enumerate(layout.rows)) {
    Value row = b.add(b.add(index(op.getRow()), layout.row), offset);
    Values words;
    for (int64_t c = 0; c < numColumns; c += 2)
      words.push_back(b.pack(frag[r * numColumns + c],
                             frag[r * numColumns + c + 1],
                             type.getElementType()));
    exchangeGroups(words);
    // Addresses outside of the branch are computed once for all slices.
    Value to = groupPtr(op.getTarget(), row, column);
    b.ifThen(b.both(b.less(row, numRows()), inside),
             [&] { b.store(b.vectorOf(words), to, 16); });
  }
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

void KernelEmitter::emitLoadFrag(LoadFragOp op) {
  if (op == ringFrag()) {
    values[op.getResult()] = family.loadFrag(*this, op, sliceNumber);
    return;
  }
  auto type = cast<MemRefType>(op.getSource().getType());
  Type element = type.getElementType();
  if (sharesGroups(element)) {
    values[op.getResult()] = loadGroups(op);
    return;
  }
  Value lastRow = b.sub(numRows(), 1);
  Values result;
  for (int64_t offset : layout.rows) {
    Value row = b.add(b.add(index(op.getRow()), layout.row), offset);
    Value start = rowStart(b, b.min(row, lastRow), rowStride(op.getSource()));
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
  int64_t numColumns = layout.columns.size();
  // Padding that is known as such must not keep what it was computed from
  // alive.
  for (size_t i = 0; i < frag.size(); ++i) {
    Value inside =
        columnsInside(type.getDimSize(1), op.getColumn(), i % numColumns);
    if (inside && matchPattern(inside, m_Zero()))
      frag[i] = b.f32(0);
  }
  if (family.storeBox(config(), element))
    return family.storeFrag(*this, op, sliceNumber, frag);
  if (sharesGroups(element))
    return storeGroups(op, frag);
  Value base = pointer(op.getTarget());
  for (int64_t r = 0, e = layout.rows.size(); r < e; ++r) {
    Value row = b.add(b.add(index(op.getRow()), layout.row), layout.rows[r]);
    b.ifThen(b.less(row, numRows()), [&] {
      Value start = rowStart(b, row, rowStride(op.getTarget()));
      for (Run run : runs(element)) {
        Value column = b.add(index(op.getColumn()), layout.columns[run.first]);
        b.ifThen(
            columnsInside(type.getDimSize(1), op.getColumn(), run.first), [&] {
              Values rounded;
              for (int64_t i = 0; i < run.count; ++i)
                rounded.push_back(convertFloat(
                    frag[r * numColumns + run.first + i], element));
              b.store(
                  run.count == 1 ? rounded.front() : b.vectorOf(rounded),
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
