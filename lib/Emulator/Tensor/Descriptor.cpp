//===- Descriptor.cpp - Matrices in shared memory -------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tensor/Descriptor.h"
#include "Machine/Memory.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::formatv;

static constexpr unsigned chunkBytes = 16;
static constexpr unsigned kBytes = 32; ///< of an instruction, all types

MatrixDescriptor::MatrixDescriptor(uint64_t bits) : bits(bits) {
  // Fields of addresses hold bits 4 to 17 of them.
  auto field = [&](unsigned shift) {
    return static_cast<uint32_t>(bits >> shift & 0x3fff) << 4;
  };
  start = field(0);
  leading = field(16);
  stride = field(32);
  baseOffset = bits >> 49 & 7;
  // 1, 2, 3: 128, 64, 32 bytes.
  unsigned mode = bits >> 62;
  span = mode ? 256u >> mode : 0;
}

std::string MatrixDescriptor::check() const {
  constexpr uint64_t reserved = UINT64_C(3) << 14 | UINT64_C(3) << 30 |
                                UINT64_C(7) << 46 | UINT64_C(0x3ff) << 52;
  if (bits & reserved)
    return formatv("reserved bits {0:x} are set", bits & reserved);
  return {};
}

std::string MatrixDescriptor::describe() const {
  return formatv("{0:x}: start {1:x}, leading {2}, stride {3}, base offset "
                 "{4}, swizzle {5}",
                 bits, start, leading, stride, baseOffset, span);
}

SharedMatrix::SharedMatrix(const MatrixDescriptor &descriptor, bool mnMajor,
                           ElementType type, unsigned first, unsigned extent,
                           uint32_t sharedBase)
    : descriptor(descriptor), mnMajor(mnMajor), type(type),
      sharedBase(sharedBase) {
  addChunks(first, extent);
  mergeRanges();
}

uint32_t SharedMatrix::place(uint32_t offset) const {
  uint32_t address = descriptor.start + offset;
  if (descriptor.span) {
    uint32_t line = (address >> 7) - descriptor.baseOffset;
    address ^= line << 4 & (descriptor.span - chunkBytes);
  }
  return sharedBase + address;
}

void SharedMatrix::addChunks(unsigned first, unsigned extent) {
  unsigned elementsInChunk = chunkBytes / getElementBytes(type);
  unsigned span = descriptor.span;
  auto add = [&](uint32_t offset, unsigned mn, unsigned k) {
    chunks.push_back({place(offset), static_cast<uint16_t>(mn - first),
                      static_cast<uint16_t>(k)});
  };
  if (!mnMajor) {
    uint32_t row = span ? span : chunkBytes;
    uint32_t next = span ? chunkBytes : descriptor.leading;
    chunks.reserve(extent * (kBytes / chunkBytes));
    for (unsigned r = first; r < first + extent; ++r)
      for (unsigned c = 0; c < kBytes / chunkBytes; ++c)
        add(r % 8 * row + r / 8 * descriptor.stride + c * next, r,
            c * elementsInChunk);
    return;
  }
  unsigned perLine = span ? span / chunkBytes : 1;
  uint32_t nextLine = span ? descriptor.leading : descriptor.stride;
  uint32_t nextRows = span ? descriptor.stride : descriptor.leading;
  unsigned numRows = kBytes / getElementBytes(type);
  chunks.reserve(numRows * extent / elementsInChunk);
  for (unsigned k = 0; k < numRows; ++k)
    for (unsigned mn = first; mn < first + extent; mn += elementsInChunk) {
      unsigned m = mn / elementsInChunk;
      add(m % perLine * chunkBytes + m / perLine * nextLine +
              k % 8 * (perLine * chunkBytes) + k / 8 * nextRows,
          mn, k);
    }
}

/// Contiguous ranges, for one check each. Chunks come in an order in which
/// neighbours in memory are near each other, so sorting a few at a time does.
void SharedMatrix::mergeRanges() {
  constexpr size_t window = 16;
  for (size_t at = 0; at < chunks.size(); at += window) {
    std::array<uint32_t, window> addresses;
    size_t count = std::min(window, chunks.size() - at);
    for (size_t i = 0; i < count; ++i)
      addresses[i] = chunks[at + i].address;
    std::sort(addresses.begin(), addresses.begin() + count);
    for (size_t i = 0; i < count; ++i) {
      if (!ranges.empty() && ranges.back().end == addresses[i])
        ranges.back().end += chunkBytes;
      else
        ranges.push_back({addresses[i], addresses[i] + chunkBytes});
    }
  }
}

void SharedMatrix::checkBounds(Thread &thread) const {
  for (const Range &range : ranges)
    if (!peek(thread, Space::Shared, range.begin, range.end - range.begin))
      thread.fault(FaultKind::BadDescriptor,
                   formatv("the matrix is not within shared memory at {0:x}; "
                           "descriptor {1}, {2}",
                           range.begin, descriptor.describe(),
                           mnMajor ? "MN-major" : "K-major"));
}

const char *SharedMatrix::check(AsyncOp &op) const {
  // Shared memory is contiguous, so any range gives its place.
  const char *base = nullptr;
  for (const Range &range : ranges)
    base = access(op, Space::Shared, range.begin, range.end - range.begin,
                  Access::Read) -
           range.begin;
  return base;
}

template <typename Element>
void SharedMatrix::readAs(AsyncOp &op, Element *to, unsigned mnStride,
                          unsigned kStride) const {
  const char *base = check(op);
  unsigned elementsInChunk = chunkBytes / getElementBytes(type);
  unsigned along = mnMajor ? mnStride : kStride;
  for (const Chunk &chunk : chunks) {
    Element *target = to + chunk.mn * mnStride + chunk.k * kStride;
    if (along == 1) {
      widenElements(base + chunk.address, type, elementsInChunk, target);
      continue;
    }
    Element values[chunkBytes];
    widenElements(base + chunk.address, type, elementsInChunk, values);
    for (unsigned i = 0; i < elementsInChunk; ++i)
      target[i * along] = values[i];
  }
}

void SharedMatrix::read(AsyncOp &op, float *to, unsigned mnStride,
                        unsigned kStride) const {
  readAs(op, to, mnStride, kStride);
}
void SharedMatrix::read(AsyncOp &op, int32_t *to, unsigned mnStride,
                        unsigned kStride) const {
  readAs(op, to, mnStride, kStride);
}
