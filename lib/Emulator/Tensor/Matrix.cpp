//===- Matrix.cpp - Matrix instructions of a warp -------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ldmatrix, stmatrix, movmatrix and mma (PTX ISA 9.7.14). Each lane reads or
// writes the row that its address names, as that lane, and the warp exchanges
// values when its lanes have come together.
//
// Fragments (9.7.14.5): with g = lane / 4, t = lane % 4, and e elements to a
// register, register r of A holds row g + 8 · (r mod M/8) and the columns from
// 4e · (r div M/8) + e · t; register r of B holds column g and the rows from
// 4e · r + e · t; pair r of C and D holds row g + 8r, columns 2t and 2t + 1.
//
//===----------------------------------------------------------------------===//

#include "Isa/OpcodeTable.h"
#include "Machine/Memory.h"
#include "Tensor/Numerics.h"
#include "Tensor/Products.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstring>

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::formatv;

namespace {

constexpr unsigned warpSize = 32;
constexpr unsigned rowBytes = 16; ///< of an 8x8 matrix of 16-bit elements

/// What a lane of ldmatrix and stmatrix brings to the others.
struct Lane {
  uint64_t *words;
  alignas(16) uint16_t row[8];
};

Lane &getLane(const Arrival &arrival) {
  return *reinterpret_cast<Lane *>(arrival.words);
}

/// Groups of ldmatrix and stmatrix: number of matrices, .trans, state space.
unsigned getNumMatrices(const Site &site) { return 1u << site.get(0); }
Space getSpace(const Site &site) {
  return site.has(2) ? Space::Shared : Space::Generic;
}

void requireWholeWarp(Thread &thread, llvm::ArrayRef<Arrival> arrivals) {
  for (const Arrival &arrival : arrivals)
    if (!arrival.thread)
      thread.fault(FaultKind::Divergence,
                   "a lane of the warp has exited or never was; matrix "
                   "instructions need all 32");
}

// Element (row, column) of matrix i is in lane 4 · row + column / 2, register
// i; with .trans, that lane gets element (column, row).

void executeLdmatrix(Thread &thread, const Site &site, uint64_t *words) {
  Lane lane{words, {}};
  unsigned numMatrices = getNumMatrices(site);
  if (thread.lane < 8 * numMatrices)
    std::memcpy(lane.row,
                access(thread, getSpace(site), word(words, site, 1), rowBytes,
                       rowBytes, Access::Read),
                rowBytes);
  convergeAligned(
      thread, site, reinterpret_cast<uint64_t *>(&lane),
      [&](llvm::ArrayRef<Arrival> arrivals) {
        requireWholeWarp(thread, arrivals);
        bool transposed = site.has(1);
        for (unsigned to = 0; to < warpSize; ++to)
          for (unsigned matrix = 0; matrix < numMatrices; ++matrix) {
            uint32_t value = 0;
            for (unsigned half = 0; half < 2; ++half) {
              unsigned row = to / 4, column = to % 4 * 2 + half;
              if (transposed)
                std::swap(row, column);
              value |= static_cast<uint32_t>(
                           getLane(arrivals[8 * matrix + row]).row[column])
                       << (16 * half);
            }
            (&word(getLane(arrivals[to]).words, site, 0))[matrix] = value;
          }
      });
}

void executeStmatrix(Thread &thread, const Site &site, uint64_t *words) {
  Lane lane{words, {}};
  unsigned numMatrices = getNumMatrices(site);
  convergeAligned(
      thread, site, reinterpret_cast<uint64_t *>(&lane),
      [&](llvm::ArrayRef<Arrival> arrivals) {
        requireWholeWarp(thread, arrivals);
        bool transposed = site.has(1);
        for (unsigned from = 0; from < warpSize; ++from)
          for (unsigned matrix = 0; matrix < numMatrices; ++matrix)
            for (unsigned half = 0; half < 2; ++half) {
              unsigned row = from / 4, column = from % 4 * 2 + half;
              if (transposed)
                std::swap(row, column);
              getLane(arrivals[8 * matrix + row]).row[column] =
                  static_cast<uint16_t>(
                      (&word(getLane(arrivals[from]).words, site, 1))[matrix] >>
                      (16 * half));
            }
      });
  if (thread.lane < 8 * numMatrices)
    std::memcpy(access(thread, getSpace(site), word(words, site, 0), rowBytes,
                       rowBytes, Access::Write),
                lane.row, rowBytes);
}

void executeMovmatrix(Thread &thread, const Site &site, uint64_t *words) {
  convergeAligned(thread, site, words, [&](llvm::ArrayRef<Arrival> arrivals) {
    requireWholeWarp(thread, arrivals);
    uint32_t values[warpSize];
    for (unsigned lane = 0; lane < warpSize; ++lane)
      values[lane] = static_cast<uint32_t>(word(arrivals[lane].words, site, 1));
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      uint32_t value = 0;
      for (unsigned half = 0; half < 2; ++half) {
        unsigned row = lane % 4 * 2 + half, column = lane / 4;
        uint32_t element =
            values[4 * row + column / 2] >> (column % 2 * 16) & 0xffff;
        value |= element << (16 * half);
      }
      word(arrivals[lane].words, site, 0) = value;
    }
  });
}

//===----------------------------------------------------------------------===//
// mma
//===----------------------------------------------------------------------===//

/// The shapes by their position in the pattern.
struct Shape {
  unsigned m, n, k;
};
constexpr Shape shapes[] = {{8, 8, 4},  {8, 8, 16},  {16, 8, 4},
                            {16, 8, 8}, {16, 8, 16}, {16, 8, 32}};

/// Decoded once per site.
struct Mma {
  Shape shape{};
  ptx::Type accumulator = ptx::Type::F32; ///< of C
  ptx::Type result = ptx::Type::F32;      ///< of D
  bool isDouble = false;
  ElementType a = ElementType::F16, b = ElementType::F16;
  bool saturate = false;
  /// Elements in a register of A and B.
  unsigned perRegister = 1;

  unsigned rowBlocks() const { return shape.m / 8; }
};

/// Registers of C or D of a type.
unsigned countRegisters(const Mma &mma, ptx::Type type) {
  unsigned elements = mma.shape.m * mma.shape.n / warpSize;
  return type == ptx::Type::F16 ? elements / 2 : elements;
}

[[noreturn]] void rejectMma(Thread &thread, const Site &site) {
  thread.fault(FaultKind::IllegalInstruction,
               llvm::Twine("no such shape with such types: ") + site.text);
}

std::shared_ptr<Mma> decodeMma(Thread &thread, const Site &site) {
  auto mma = std::make_shared<Mma>();
  mma->shape = shapes[site.get(0)];
  mma->saturate = site.has(1);
  mma->result = site.types[0];
  mma->accumulator = site.types[3];
  mma->isDouble = site.types[1] == ptx::Type::F64;
  Shape shape = mma->shape;
  bool legal;
  if (mma->isDouble) {
    legal = llvm::all_of(site.types,
                         [](ptx::Type type) { return type == ptx::Type::F64; });
    legal &= shape.m == 8 ? shape.k == 4 : shape.k <= 16;
    legal &= !mma->saturate;
  } else {
    auto a = getElementType(site.types[1]), b = getElementType(site.types[2]);
    if (!a || !b)
      rejectMma(thread, site);
    mma->a = *a;
    mma->b = *b;
    unsigned bytes = getElementBytes(*a);
    mma->perRegister = 4 / bytes;
    bool toHalf = mma->result == ptx::Type::F16;
    if (isInteger(*a)) {
      legal = isInteger(*b) && mma->result == ptx::Type::S32;
    } else {
      bool isByte = bytes == 1;
      legal = isByte ? getElementBytes(*b) == 1 && !isInteger(*b) : *a == *b;
      legal &= !mma->saturate;
      legal &= mma->result == ptx::Type::F32 ||
               (toHalf && (*a == ElementType::F16 || isByte));
      legal &= shape.m == 16;
    }
    legal &= mma->accumulator == mma->result ||
             (*a == ElementType::F16 && mma->accumulator != ptx::Type::S32);
    // One or two registers of B; only integers have the square shape.
    unsigned columns = 4 * mma->perRegister;
    legal &= shape.k == columns || (shape.m == 16 && shape.k == 2 * columns);
  }
  unsigned elements = mma->isDouble ? 1 : mma->perRegister;
  legal = legal && site.count(0) == countRegisters(*mma, mma->result) &&
          site.count(1) == shape.m * shape.k / warpSize / elements &&
          site.count(2) == shape.n * shape.k / warpSize / elements &&
          site.count(3) == countRegisters(*mma, mma->accumulator);
  if (!legal)
    rejectMma(thread, site);
  return mma;
}

/// Calls visit(row, column, register, element) for what a lane holds of C or D.
template <typename Visitor>
void visitAccumulator(const Mma &mma, ptx::Type type, unsigned lane,
                      Visitor visit) {
  unsigned g = lane / 4, t = lane % 4;
  for (unsigned block = 0; block < mma.rowBlocks(); ++block)
    for (unsigned i = 0; i < 2; ++i) {
      bool packed = type == ptx::Type::F16;
      visit(g + 8 * block, 2 * t + i, packed ? block : 2 * block + i,
            packed ? i : 0);
    }
}

/// A as m rows of k, B as k rows of n.
template <typename Element>
void gatherFactors(const Mma &mma, const Site &site,
                   llvm::ArrayRef<Arrival> arrivals, Element *a, Element *b) {
  Shape shape = mma.shape;
  unsigned e = mma.perRegister;
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    unsigned g = lane / 4, t = lane % 4;
    const uint64_t *left = &word(arrivals[lane].words, site, 1);
    for (unsigned r = 0; r < site.count(1); ++r) {
      unsigned row = g + 8 * (r % mma.rowBlocks());
      unsigned column = 4 * e * (r / mma.rowBlocks()) + e * t;
      widenElements(reinterpret_cast<const char *>(left + r), mma.a, e,
                    a + row * shape.k + column);
    }
    const uint64_t *right = &word(arrivals[lane].words, site, 2);
    for (unsigned r = 0; r < site.count(2); ++r) {
      Element values[4];
      widenElements(reinterpret_cast<const char *>(right + r), mma.b, e,
                    values);
      for (unsigned i = 0; i < e; ++i)
        b[(4 * e * r + e * t + i) * shape.n + g] = values[i];
    }
  }
}

constexpr unsigned maxM = 16, maxN = 8, maxK = 32;

void multiplyFloats(const Mma &mma, const Site &site,
                    llvm::ArrayRef<Arrival> arrivals) {
  float a[maxM * maxK], b[maxK * maxN], d[maxM * maxN];
  Shape shape = mma.shape;
  gatherFactors(mma, site, arrivals, a, b);
  for (unsigned lane = 0; lane < warpSize; ++lane)
    visitAccumulator(
        mma, mma.accumulator, lane,
        [&](unsigned row, unsigned column, unsigned r, unsigned element) {
          auto bits =
              static_cast<uint32_t>((&word(arrivals[lane].words, site, 3))[r]);
          d[row * shape.n + column] =
              mma.accumulator == ptx::Type::F16
                  ? floatFromF16(static_cast<uint16_t>(bits >> (16 * element)))
                  : llvm::bit_cast<float>(bits);
        });
  multiplyAccumulate(a, b, d, shape.m, shape.n, shape.k);
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    uint64_t *result = &word(arrivals[lane].words, site, 0);
    visitAccumulator(
        mma, mma.result, lane,
        [&](unsigned row, unsigned column, unsigned r, unsigned element) {
          float value = d[row * shape.n + column];
          uint32_t bits = mma.result == ptx::Type::F16
                              ? encodeFloat(value, FloatFormat::F16,
                                            Rounding::NearestEven, NoFlags)
                          : std::isnan(value) ? canonicalNaN(FloatFormat::F32)
                                              : llvm::bit_cast<uint32_t>(value);
          result[r] = element ? result[r] | bits << 16 : bits;
        });
  }
}

void multiplyIntegers(const Mma &mma, const Site &site,
                      llvm::ArrayRef<Arrival> arrivals) {
  int32_t a[maxM * maxK], b[maxK * maxN], d[maxM * maxN];
  Shape shape = mma.shape;
  gatherFactors(mma, site, arrivals, a, b);
  for (unsigned lane = 0; lane < warpSize; ++lane)
    visitAccumulator(mma, mma.accumulator, lane,
                     [&](unsigned row, unsigned column, unsigned r, unsigned) {
                       d[row * shape.n + column] = static_cast<int32_t>(
                           (&word(arrivals[lane].words, site, 3))[r]);
                     });
  multiplyAccumulate(a, b, d, shape.m, shape.n, shape.k, mma.saturate);
  for (unsigned lane = 0; lane < warpSize; ++lane)
    visitAccumulator(mma, mma.result, lane,
                     [&](unsigned row, unsigned column, unsigned r, unsigned) {
                       (&word(arrivals[lane].words, site, 0))[r] =
                           static_cast<uint32_t>(d[row * shape.n + column]);
                     });
}

/// f64 (9.7.14.5.15): one fused multiply-add after the other.
void multiplyDoubles(const Mma &mma, const Site &site,
                     llvm::ArrayRef<Arrival> arrivals) {
  double a[maxM * 16], b[16 * maxN], d[maxM * maxN];
  Shape shape = mma.shape;
  auto read = [&](unsigned lane, unsigned operand, unsigned r) {
    return llvm::bit_cast<double>(
        (&word(arrivals[lane].words, site, operand))[r]);
  };
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    unsigned g = lane / 4, t = lane % 4;
    for (unsigned r = 0; r < site.count(1); ++r)
      a[(g + 8 * (r % mma.rowBlocks())) * shape.k + 4 * (r / mma.rowBlocks()) +
        t] = read(lane, 1, r);
    for (unsigned r = 0; r < site.count(2); ++r)
      b[(4 * r + t) * shape.n + g] = read(lane, 2, r);
    visitAccumulator(mma, ptx::Type::F64, lane,
                     [&](unsigned row, unsigned column, unsigned r, unsigned) {
                       d[row * shape.n + column] = read(lane, 3, r);
                     });
  }
  for (unsigned i = 0; i < shape.m; ++i)
    for (unsigned j = 0; j < shape.n; ++j) {
      double &sum = d[i * shape.n + j];
      for (unsigned p = 0; p < shape.k; ++p)
        sum = std::fma(a[i * shape.k + p], b[p * shape.n + j], sum);
      if (std::isnan(sum))
        sum = llvm::bit_cast<double>(UINT64_C(0x7fffffffffffffff));
    }
  for (unsigned lane = 0; lane < warpSize; ++lane)
    visitAccumulator(mma, ptx::Type::F64, lane,
                     [&](unsigned row, unsigned column, unsigned r, unsigned) {
                       (&word(arrivals[lane].words, site, 0))[r] =
                           llvm::bit_cast<uint64_t>(d[row * shape.n + column]);
                     });
}

void executeMma(Thread &thread, const Site &site, uint64_t *words) {
  if (!site.decoded)
    site.decoded = decodeMma(thread, site);
  const auto &mma = *static_cast<const Mma *>(site.decoded.get());
  convergeAligned(thread, site, words, [&](llvm::ArrayRef<Arrival> arrivals) {
    requireWholeWarp(thread, arrivals);
    if (mma.isDouble)
      multiplyDoubles(mma, site, arrivals);
    else if (isInteger(mma.a))
      multiplyIntegers(mma, site, arrivals);
    else
      multiplyFloats(mma, site, arrivals);
  });
}

constexpr auto warpWide = OpcodeEntry::Warp;

const OpcodeEntry entries[] = {
    {"ldmatrix.sync.aligned.m8n8(.x1|.x2|.x4){.trans}{.shared|.shared::cta}"
     ".b16",
     "d m", "9.7.14.5.15", nullptr, executeLdmatrix, warpWide},
    {"stmatrix.sync.aligned.m8n8(.x1|.x2|.x4){.trans}{.shared|.shared::cta}"
     ".b16",
     "m s", "9.7.14.5.16", nullptr, executeStmatrix, warpWide},
    {"movmatrix.sync.aligned.m8n8.trans.b16", "d s", "9.7.14.5.17", nullptr,
     executeMovmatrix, warpWide},
    {"mma.sync.aligned(.m8n8k4|.m8n8k16|.m16n8k4|.m16n8k8|.m16n8k16|.m16n8k32)"
     ".row.col{.satfinite}(.f16|.f32|.s32|.f64)"
     "(.f16|.bf16|.tf32|.e4m3|.e5m2|.s8|.u8|.f64)"
     "(.f16|.bf16|.tf32|.e4m3|.e5m2|.s8|.u8|.f64)(.f16|.f32|.s32|.f64)",
     "d s s s", "9.7.14.5.14", nullptr, executeMma, warpWide},
};

} // namespace

llvm::ArrayRef<OpcodeEntry> emulator::getMatrixOpcodes() { return entries; }
