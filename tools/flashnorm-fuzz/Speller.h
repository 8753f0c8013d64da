//===- Speller.h - One meaning, many spellings ------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds elementwise operations, broadcasts, sums and casts on tensors, each in
// one of the ways in which exporters write it, chosen at random:
// linalg.generic, named linalg ops, linalg.map, arith and math on tensors,
// tosa.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_FUZZ_SPELLER_H
#define FLASHNORM_FUZZ_SPELLER_H

#include "Random.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <optional>

namespace flashnorm::fuzz {

/// Scalar functions. Arguments and result have one float type.
enum class Scalar {
  Add,
  Sub,
  Mul,
  Div,
  Max,
  Pow,
  Rsqrt,
  Sqrt,
  Exp,
  Tanh,
  Erf,
  Abs,
  Neg,
  Copy
};

/// What an elementwise operation reads.
struct Operand {
  mlir::Value tensor;              ///< null: a constant
  llvm::SmallVector<int64_t> dims; ///< dimensions of the result, increasing
  double constant = 0;

  Operand(double constant) : constant(constant) {}
  /// Dimension i of the tensor is dimension dims[i] of the result.
  Operand(mlir::Value tensor, llvm::ArrayRef<int64_t> dims)
      : tensor(tensor), dims(dims) {}
  /// A tensor of the result's shape.
  Operand(mlir::Value tensor);
};

class Speller {
public:
  Speller(mlir::ImplicitLocOpBuilder &builder, Random &random)
      : b(builder), random(random) {}

  /// How often tosa is used where it can be, in percent.
  unsigned tosaPercent = 0;
  /// A constant was rounded to 16 bits: results are known to 2 digits only.
  bool roundedConstants = false;

  /// function(operands...), of the shape of `like` and the operands' type.
  mlir::Value apply(Scalar function, mlir::Value like,
                    llvm::ArrayRef<Operand> operands);
  /// Rounds or widens; the same value if the type is the same.
  mlir::Value cast(mlir::Value value, mlir::FloatType type);
  /// A scalar constant, rounded to the type.
  mlir::Value constant(double value, mlir::FloatType type);
  /// Sum over one dimension of x, or of its squares. Starts at `start`.
  mlir::Value sum(mlir::Value x, int64_t dim, bool squares, double start = 0);
  /// `value` in the shape of `like`.
  mlir::Value broadcast(const Operand &operand, mlir::Value like);

  /// An uninitialised tensor of some dimensions of `like`.
  mlir::Value empty(mlir::Value like, llvm::ArrayRef<int64_t> dims,
                    mlir::Type element);
  /// ... of all of them.
  mlir::Value empty(mlir::Value like, mlir::Type element);
  /// A tensor of `value`, of some dimensions of `like`.
  mlir::Value filled(double value, mlir::Value like,
                     llvm::ArrayRef<int64_t> dims, mlir::FloatType element);

private:
  /// Where the operand has no dimension, one of size 1.
  mlir::Value withUnitDims(const Operand &operand, mlir::Value like);
  mlir::Value applyTosa(Scalar function, mlir::Value like,
                        llvm::ArrayRef<Operand> operands);
  mlir::Value applyGeneric(Scalar function, mlir::Value like,
                           llvm::ArrayRef<Operand> operands);
  mlir::Value applyNamed(Scalar function, mlir::Value like,
                         mlir::ValueRange operands);

  mlir::ImplicitLocOpBuilder &b;
  Random &random;
};

mlir::FloatType getFloatType(mlir::Value tensor);
int64_t getRank(mlir::Value tensor);
llvm::ArrayRef<int64_t> getShape(mlir::Value tensor);

} // namespace flashnorm::fuzz

#endif // FLASHNORM_FUZZ_SPELLER_H
