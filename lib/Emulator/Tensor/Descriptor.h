//===- Descriptor.h - Matrices in shared memory -----------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrix descriptors of wgmma (PTX ISA 9.7.15.5.1). A matrix lies in chunks of
// 16 bytes, contiguous along K (K-major) or along M or N (MN-major); an operand
// of one instruction has 32 bytes along K. With a swizzle of S bytes, chunks
// form lines of S bytes:
//
//   K-major, none   row r, chunk c of k at (r mod 8) · 16 + (r div 8) · stride
//                                          + c · leading
//   K-major, S      (r mod 8) · S + (r div 8) · stride + c · 16
//   MN-major, none  row k, chunk m of mn at m · stride + (k mod 8) · 16
//                                          + (k div 8) · leading
//   MN-major, S     (m mod S/16) · 16 + (m div S/16) · leading
//                                          + (k mod 8) · S + (k div 8) · stride
//
// from the start address; then bits 4 and up are swizzled by bits 7 and up of
// the address, less the base offset.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_TENSOR_DESCRIPTOR_H
#define FLASHNORM_LIB_EMULATOR_TENSOR_DESCRIPTOR_H

#include "Machine/Async.h"
#include "Tensor/Products.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace flashnorm::emulator {

struct MatrixDescriptor {
  uint64_t bits = 0;
  uint32_t start = 0;               ///< address, of 18 bits
  uint32_t leading = 0, stride = 0; ///< bytes
  uint32_t baseOffset = 0;          ///< of 128 bytes
  unsigned span = 0; ///< of the swizzle: 32, 64, 128 bytes; 0: none

  explicit MatrixDescriptor(uint64_t bits);
  /// What is wrong with bits that must be 0, or empty.
  std::string check() const;
  /// "0x…: start 0x400, leading 16, stride 1024, base offset 0, swizzle 128"
  std::string describe() const;
};

/// An operand of an instruction: `extent` rows along M or N from `first` on,
/// and 32 bytes along K.
class SharedMatrix {
public:
  SharedMatrix(const MatrixDescriptor &descriptor, bool mnMajor,
               ElementType type, unsigned first, unsigned extent,
               uint32_t sharedBase);

  /// Faults (BadDescriptor) when some of it is not in the CTA's shared memory.
  void checkBounds(Thread &thread) const;

  /// Whether `op` may read it: faults if not. Returns where address 0 is.
  const char *check(AsyncOp &op) const;

  /// Reads it through the proxy of `op`: element (mn, k) goes to
  /// to[mn · mnStride + k · kStride].
  void read(AsyncOp &op, float *to, unsigned mnStride, unsigned kStride) const;
  void read(AsyncOp &op, int32_t *to, unsigned mnStride,
            unsigned kStride) const;

private:
  struct Chunk {
    uint32_t address;
    uint16_t mn, k; ///< of its first element
  };
  struct Range {
    uint32_t begin, end; ///< addresses
  };
  void addChunks(unsigned first, unsigned extent);
  uint32_t place(uint32_t offset) const;
  void mergeRanges();
  template <typename Element>
  void readAs(AsyncOp &op, Element *to, unsigned mnStride,
              unsigned kStride) const;

  MatrixDescriptor descriptor;
  bool mnMajor;
  ElementType type;
  uint32_t sharedBase;
  std::vector<Chunk> chunks;
  std::vector<Range> ranges;
};

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_TENSOR_DESCRIPTOR_H
