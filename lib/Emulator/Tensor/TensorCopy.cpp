//===- TensorCopy.cpp - cp.async.bulk.tensor ------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 5.5 and 9.7.9.25.5, tiled mode. A box lies densely in shared memory,
// dimension 0 innermost, its 16-byte chunks permuted by the bits of their
// addresses (swizzle). Elements outside the tensor are filled in by loads, all
// of which count as transferred, and skipped by stores.
//
//===----------------------------------------------------------------------===//

#include "Isa/OpcodeTable.h"
#include "Machine/MBarrier.h"
#include "Tensor/BulkOp.h"
#include "Tensor/Groups.h"
#include "Tensor/Numerics.h"
#include "Tensor/TensorMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::formatv;

namespace {

using ElementType = EmulatorTensorMap::Type;

constexpr unsigned chunkBytes = 16;
/// Of the box in shared memory (5.5.6), and of a tensor map.
constexpr unsigned boxAlignment = 128, mapAlignment = 64;

/// A box of a tensor, row by row: a row is what lies along dimension 0.
struct Box {
  TensorMap map;
  std::array<int64_t, TensorMap::maxRank> corner{};
  uint32_t shared = 0; ///< shared::cluster address

  unsigned rowBytes() const { return map.countAlong(0) * map.elementBytes; }
  uint64_t numRows() const { return map.boxBytes() / rowBytes(); }

  /// The part of a row that is inside the tensor: bytes [begin, end) of the
  /// row, the first of them at a global address.
  struct Part {
    uint64_t address = 0;
    unsigned begin = 0, end = 0;
    bool isWhole(unsigned bytes) const { return begin == 0 && end == bytes; }
  };
  Part getPart(uint64_t row, bool isStore = false) const;

  /// Calls visit(shared address, offset in the row, bytes) for the pieces of
  /// [begin, end) of a row that are contiguous in shared memory.
  template <typename Visitor>
  void visitShared(uint64_t row, unsigned begin, unsigned end,
                   Visitor visit) const {
    uint32_t address = shared + static_cast<uint32_t>(row * rowBytes());
    unsigned span = map.swizzleBytes();
    if (!span) {
      visit(address + begin, begin, end - begin);
      return;
    }
    while (begin < end) {
      unsigned stop = std::min<unsigned>(
          end, llvm::alignDown(begin, chunkBytes) + chunkBytes);
      visit(static_cast<uint32_t>(swizzleAddress(address + begin, span)), begin,
            stop - begin);
      begin = stop;
    }
  }
};

Box::Part Box::getPart(uint64_t row, bool isStore) const {
  Part part;
  uint64_t address = map.address;
  for (unsigned i = 1; i < map.rank; ++i) {
    uint32_t count = map.countAlong(i);
    int64_t coordinate =
        corner[i] + static_cast<int64_t>(row % count * map.elementStrides[i]);
    row /= count;
    if (coordinate < 0 || coordinate >= static_cast<int64_t>(map.sizes[i]))
      return part;
    address += static_cast<uint64_t>(coordinate) * map.strides[i];
  }
  int64_t first = std::max<int64_t>(corner[0], 0);
  // An H200 stores whole chunks, also where a row of the tensor ends inside of
  // one: strides are multiples of 16, so that they hit padding.
  uint64_t columns = map.sizes[0];
  if (isStore && map.rank > 1)
    columns = llvm::alignTo(columns * map.elementBytes, chunkBytes) /
              map.elementBytes;
  int64_t last = std::min<int64_t>(corner[0] + map.countAlong(0),
                                   static_cast<int64_t>(columns));
  if (first >= last)
    return part;
  part.begin = static_cast<unsigned>(first - corner[0]) * map.elementBytes;
  part.end = static_cast<unsigned>(last - corner[0]) * map.elementBytes;
  part.address = address + static_cast<uint64_t>(first) * map.elementBytes;
  return part;
}

/// What the types that say so change about elements on their way into shared
/// memory.
void convertElements(ElementType type, char *data, unsigned bytes) {
  bool flush = type == ElementType::F32Ftz || type == ElementType::TF32Ftz;
  bool round = type == ElementType::TF32 || type == ElementType::TF32Ftz;
  if (!flush && !round)
    return;
  for (unsigned at = 0; at < bytes; at += 4) {
    uint32_t bits;
    std::memcpy(&bits, data + at, 4);
    if (flush)
      bits = flushSubnormal(bits, FloatFormat::F32);
    if (round)
      bits = convertFloat(bits, FloatFormat::F32, FloatFormat::TF32,
                          Rounding::NearestEven, NoFlags);
    std::memcpy(data + at, &bits, 4);
  }
}

void fillElements(const TensorMap &map, char *data, unsigned bytes) {
  std::memset(data, 0, bytes);
  if (!map.fillNan)
    return;
  // What an H200 fills with, in every format.
  constexpr uint64_t nan = UINT64_C(0x7ff77ff77ff77ff7);
  for (unsigned at = 0; at < bytes; at += map.elementBytes)
    std::memcpy(data + at, &nan, map.elementBytes);
}

/// A row has 256 elements of 8 bytes at most.
using Row = std::array<char, 256 * 8>;

class TensorLoad : public AsyncOp {
public:
  TensorLoad(Thread &issuer, const Site &site, const Box &box,
             SharedDestination destination)
      : AsyncOp(issuer, site, Proxy::Async), box(box),
        destination(std::move(destination)) {}

  bool step() override {
    uint64_t numRows = box.numRows();
    uint64_t end =
        std::min(numRows, nextRow + llvm::divideCeil(numRows, numPieces));
    uint64_t bytes = (end - nextRow) * box.rowBytes();
    for (; nextRow < end; ++nextRow)
      loadRow(nextRow);
    readsDone = nextRow == numRows;
    destination.complete(*this, bytes);
    return readsDone;
  }

  void loadRow(uint64_t row) {
    unsigned bytes = box.rowBytes();
    alignas(chunkBytes) Row data;
    Box::Part part = box.getPart(row);
    if (!part.isWhole(bytes))
      fillElements(box.map, data.data(), bytes);
    if (part.begin < part.end) {
      unsigned count = part.end - part.begin;
      std::memcpy(
          data.data() + part.begin,
          access(*this, Space::Global, part.address, count, Access::Read),
          count);
      convertElements(box.map.type, data.data() + part.begin, count);
    }
    // A row that fills its swizzle's span is permuted in place.
    if (box.map.swizzleBytes() == bytes) {
      alignas(chunkBytes) Row permuted;
      uint32_t address = box.shared + static_cast<uint32_t>(row * bytes);
      box.visitShared(row, 0, bytes,
                      [&](uint32_t to, unsigned from, unsigned count) {
                        std::memcpy(permuted.data() + (to - address),
                                    data.data() + from, count);
                      });
      destination.write(*this, address, permuted.data(), bytes);
      return;
    }
    box.visitShared(row, 0, bytes,
                    [&](uint32_t to, unsigned from, unsigned count) {
                      destination.write(*this, to, data.data() + from, count);
                    });
  }

  Box box;
  SharedDestination destination;
  uint64_t nextRow = 0;
};

/// Reads the whole box before it writes any of it (see BulkCopy.cpp).
class TensorStore : public AsyncOp {
public:
  TensorStore(Thread &issuer, const Site &site, const Box &box)
      : AsyncOp(issuer, site, Proxy::Async), box(box),
        data(box.map.boxBytes()) {
    readsShared = true;
  }

  bool step() override {
    uint64_t numRows = box.numRows();
    uint64_t end =
        std::min(numRows, nextRow + llvm::divideCeil(numRows, numPieces));
    for (; nextRow < end; ++nextRow)
      readsDone ? writeRow(nextRow) : readRow(nextRow);
    if (nextRow < numRows)
      return false;
    nextRow = 0;
    bool done = readsDone;
    readsDone = true;
    return done;
  }

  void readRow(uint64_t row) {
    Box::Part part = box.getPart(row, /*isStore=*/true);
    if (part.begin == part.end)
      return;
    char *to = data.data() + row * box.rowBytes();
    // A whole span is contiguous, whatever the order of its chunks.
    unsigned bytes = box.rowBytes();
    if (part.isWhole(bytes) && box.map.swizzleBytes() == bytes) {
      uint32_t address = box.shared + static_cast<uint32_t>(row * bytes);
      const char *from =
          access(*this, Space::Shared, address, bytes, Access::Read);
      box.visitShared(row, 0, bytes,
                      [&](uint32_t at, unsigned offset, unsigned count) {
                        std::memcpy(to + offset, from + (at - address), count);
                      });
      return;
    }
    box.visitShared(
        row, part.begin, part.end,
        [&](uint32_t from, unsigned offset, unsigned count) {
          std::memcpy(to + offset,
                      access(*this, Space::Shared, from, count, Access::Read),
                      count);
        });
  }

  void writeRow(uint64_t row) {
    Box::Part part = box.getPart(row, /*isStore=*/true);
    if (part.begin == part.end)
      return;
    unsigned count = part.end - part.begin;
    const char *from = data.data() + row * box.rowBytes() + part.begin;
    char *to = access(*this, Space::Global, part.address, count,
                      operation ? Access::Atomic : Access::Write);
    if (operation)
      reduceElements(*operation, type, to, from, count, true);
    else
      std::memcpy(to, from, count);
  }

  Box box;
  std::vector<char> data;
  uint64_t nextRow = 0;
  std::optional<ReduceOperation> operation;
  ptx::Type type = ptx::Type::B32;
};

TensorMap readMap(Thread &thread, uint64_t address) {
  const char *bytes = resolve(thread, Space::Generic, address,
                              TensorMap::encodedBytes, mapAlignment);
  llvm::Expected<TensorMap> map = decodeTensorMap(bytes);
  if (!map)
    thread.fault(FaultKind::BadTensorMap,
                 formatv("the {0} bytes at {1:x} are no {2}",
                         TensorMap::encodedBytes, address,
                         toString(map.takeError())));
  checkTensorMapUse(thread, address, TensorMap::encodedBytes);
  return *map;
}

/// `operand` is [map, {coordinates}]; choice `mode` the load mode.
Box getBox(Thread &thread, const Site &site, uint64_t *words, unsigned operand,
           unsigned mode, uint64_t shared, bool isStore) {
  if (site.get(mode) > 0)
    thread.fault(FaultKind::Unsupported,
                 formatv("'{0}': only the .tile mode of tensor copies is "
                         "emulated",
                         llvm::StringRef(site.text).split(' ').first));
  const uint64_t *address = &word(words, site, operand);
  Box box;
  box.map = readMap(thread, *address);
  unsigned rank = static_cast<unsigned>(site.get(0)) + 1;
  if (box.map.rank != rank || site.count(operand) != rank + 1)
    thread.fault(FaultKind::BadTensorMap,
                 formatv("{0} coordinates for a copy of rank {1} with a tensor "
                         "map of rank {2}",
                         site.count(operand) - 1, rank, box.map.rank));
  if (box.map.interleave)
    thread.fault(FaultKind::Unsupported,
                 formatv("tensor map interleaved by {0} bytes; only maps "
                         "without interleaving are emulated",
                         box.map.interleave));
  unsigned span = box.map.swizzleBytes();
  if (span && span != box.rowBytes())
    thread.fault(FaultKind::Unsupported,
                 formatv("a box of {0} bytes along dimension 0 with a swizzle "
                         "of {1}; only boxes that fill the swizzle's span are "
                         "emulated",
                         box.rowBytes(), span));
  for (unsigned i = 0; i < rank; ++i)
    box.corner[i] = static_cast<int32_t>(address[i + 1]);
  // The ISA does not say so, but an H200 takes these for illegal instructions.
  int64_t start = box.corner[0] * int64_t(box.map.elementBytes);
  if (start % chunkBytes != 0)
    thread.fault(FaultKind::IllegalInstruction,
                 formatv("coordinate {0} is {1} bytes into a row; hardware "
                         "takes multiples of {2}",
                         box.corner[0], start, chunkBytes));
  for (unsigned i = 0; isStore && i < rank; ++i)
    if (box.corner[i] < 0)
      thread.fault(FaultKind::IllegalInstruction,
                   formatv("coordinate {0} of a store is {1}; hardware takes "
                           "negative ones for loads only",
                           i, box.corner[i]));
  box.shared = static_cast<uint32_t>(shared);
  return box;
}

/// [dst], [map, coordinates], [mbar] {, mask} {, policy}
void executeLoad(Thread &thread, const Site &site, uint64_t *words) {
  uint64_t to = word(words, site, 0);
  Box box = getBox(thread, site, words, 1, 2, to, /*isStore=*/false);
  uint16_t mask = 0;
  if (site.has(3)) {
    mask = site.count(3) ? static_cast<uint16_t>(word(words, site, 3))
                         : uint16_t(0);
    if (!mask)
      thread.fault(FaultKind::IllegalInstruction,
                   "the CTA mask of a multicast is empty");
  }
  SharedDestination destination(thread, to, box.map.boxBytes(), boxAlignment,
                                word(words, site, 2), mask);
  auto op = std::make_unique<TensorLoad>(thread, site, box, destination);
  destination.poison(*op);
  issue(thread, std::move(op));
}

std::unique_ptr<TensorStore> makeStore(Thread &thread, const Site &site,
                                       uint64_t *words, unsigned mode) {
  uint64_t from = word(words, site, 1);
  Box box = getBox(thread, site, words, 0, mode, from, /*isStore=*/true);
  resolve(thread, Space::Shared, from, box.map.boxBytes(), boxAlignment);
  return std::make_unique<TensorStore>(thread, site, box);
}

void issueToGroup(Thread &thread, std::unique_ptr<AsyncOp> op) {
  AsyncOpRef issued = issue(thread, std::move(op));
  thread.groups->bulk.add(std::move(issued));
}

/// [map, coordinates], [src] {, policy}
void executeStore(Thread &thread, const Site &site, uint64_t *words) {
  auto op = makeStore(thread, site, words, 1);
  for (uint64_t row = 0, end = op->box.numRows(); row < end; ++row) {
    Box::Part part = op->box.getPart(row, /*isStore=*/true);
    if (part.begin < part.end)
      poison(*op, Space::Global, part.address, part.end - part.begin);
  }
  issueToGroup(thread, std::move(op));
}

/// What a reduction takes elements of a tensor map for.
std::optional<ptx::Type> getReduceType(ElementType type, bool bitwise) {
  switch (type) {
  case ElementType::U32:
    return bitwise ? ptx::Type::B32 : ptx::Type::U32;
  case ElementType::S32:
    return bitwise ? ptx::Type::B32 : ptx::Type::S32;
  case ElementType::U64:
    return bitwise ? ptx::Type::B64 : ptx::Type::U64;
  case ElementType::S64:
    return bitwise ? ptx::Type::B64 : ptx::Type::S64;
  case ElementType::F16:
    return ptx::Type::F16;
  case ElementType::BF16:
    return ptx::Type::BF16;
  case ElementType::F32:
  case ElementType::F32Ftz:
    return ptx::Type::F32;
  default:
    return std::nullopt;
  }
}

void executeReduce(Thread &thread, const Site &site, uint64_t *words) {
  auto op = makeStore(thread, site, words, 2);
  auto operation = static_cast<ReduceOperation>(site.get(1));
  std::optional<ptx::Type> type =
      getReduceType(op->box.map.type, operation <= ReduceOperation::Xor);
  if (!type || !canReduce(operation, *type))
    thread.fault(FaultKind::BadTensorMap,
                 "no such reduction on elements of the tensor map's type");
  op->operation = operation;
  op->type = *type;
  issueToGroup(thread, std::move(op));
}

/// A hint; the map must be good.
void executePrefetch(Thread &thread, const Site &site, uint64_t *words) {
  getBox(thread, site, words, 0, 1, 0, /*isStore=*/false);
}

void executePrefetchMap(Thread &thread, const Site &site, uint64_t *words) {
  readMap(thread, word(words, site, 0));
}

#define FLASHNORM_RANKS "(.1d|.2d|.3d|.4d|.5d)"
#define FLASHNORM_REDUCE_OPS "(.and|.or|.xor|.add|.inc|.dec|.min|.max)"

const OpcodeEntry entries[] = {
    {"cp.async.bulk.tensor" FLASHNORM_RANKS
     "(.shared::cluster|.shared::cta).global{.tile|.im2col}"
     ".mbarrier::complete_tx::bytes{.multicast::cluster}{.L2::cache_hint}",
     "m m m s? s?", "9.7.9.25.5.2", nullptr, executeLoad},
    {"cp.async.bulk.tensor" FLASHNORM_RANKS
     ".global.shared::cta{.tile|.im2col_no_offs}.bulk_group{.L2::cache_hint}",
     "m m s?", "9.7.9.25.5.2", nullptr, executeStore},
    {"cp.reduce.async.bulk.tensor" FLASHNORM_RANKS
     ".global.shared::cta" FLASHNORM_REDUCE_OPS
     "{.tile|.im2col_no_offs}.bulk_group{.L2::cache_hint}",
     "m m s?", "9.7.9.25.5.3", nullptr, executeReduce},
    {"cp.async.bulk.prefetch.tensor" FLASHNORM_RANKS
     ".L2.global{.tile|.im2col}{.L2::cache_hint}",
     "m s? s?", "9.7.9.25.5.4", nullptr, executePrefetch},
    {"prefetch{.const|.param}.tensormap", "m", "9.7.9.15", nullptr,
     executePrefetchMap},
};

} // namespace

llvm::ArrayRef<OpcodeEntry> emulator::getTensorCopyOpcodes() { return entries; }
