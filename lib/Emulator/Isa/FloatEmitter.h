//===- FloatEmitter.h - Floating-point in kernels ---------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f32 and f64 rounded to nearest are computed inline; all else is that of
// Tensor/Numerics.h. Values are integers with the bits of one lane.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_ISA_FLOATEMITTER_H
#define FLASHNORM_LIB_EMULATOR_ISA_FLOATEMITTER_H

#include "Isa/Emitter.h"
#include "Tensor/Numerics.h"

namespace flashnorm::emulator {

class FloatEmitter {
public:
  /// Of a type, packed or not, of operands; `isFtz`: they are flushed when they
  /// are read.
  FloatEmitter(InstructionEmitter &e, ptx::Type type, bool isFtz);

  static bool isFloat(ptx::Type type);
  unsigned numLanes() const { return lanes; }
  unsigned laneBits() const { return bits; }
  ptx::Type laneType() const { return lane; }
  FloatFormat format() const;

  llvm::SmallVector<llvm::Value *, 2> readLanes(unsigned operand);
  void writeLanes(unsigned operand, llvm::ArrayRef<llvm::Value *> values);

  /// As float or double, exactly.
  llvm::Value *widen(llvm::Value *laneBits);
  /// The bits of a float or double, every NaN the device's.
  llvm::Value *canonical(llvm::Value *value);
  /// Zero for subnormal f32.
  llvm::Value *flush(llvm::Value *bits);
  llvm::Value *toFloat(llvm::Value *bits);

  enum class Operation { Add, Subtract, Multiply, FuseMultiplyAdd, Divide };
  /// In the lane's type. `flags` are FloatFlags.
  llvm::Value *compute(Operation operation, llvm::Value *a, llvm::Value *b,
                       llvm::Value *c, Rounding rounding, uint32_t flags);

private:
  llvm::Value *computeNative(Operation operation, llvm::Value *a,
                             llvm::Value *b, llvm::Value *c, uint32_t flags);

  InstructionEmitter &e;
  ptx::Type lane;
  unsigned lanes, bits;
  bool isFtz;
};

/// The bits of an f16 or bf16 as float.
llvm::Value *emitFloatFromHalf(InstructionEmitter &e, llvm::Value *bits,
                               bool isBF16);

/// Clamps a float to [0, 1]; NaN becomes 0.
llvm::Value *emitSaturate(InstructionEmitter &e, llvm::Value *value);

/// ".rn" and so on; NearestEven when absent (choice -1).
inline Rounding getRounding(int choice) {
  return choice < 0 ? Rounding::NearestEven : static_cast<Rounding>(choice);
}

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_ISA_FLOATEMITTER_H
