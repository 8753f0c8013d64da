//===- ProgramGenerator.h - How a random program is put together *- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_FUZZ_PROGRAMGENERATOR_H
#define FLASHNORM_FUZZ_PROGRAMGENERATOR_H

#include "Generator.h"
#include "Speller.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace flashnorm::fuzz {

/// Makes one program. In it, as in a model, an activation goes from part to
/// part.
class ProgramGenerator {
public:
  ProgramGenerator(mlir::MLIRContext &context, Random random)
      : random(random), b(mlir::UnknownLoc::get(&context), &context),
        speller(b, this->random) {}

  Program run();

private:
  // Arguments.
  mlir::Value argument(llvm::ArrayRef<int64_t> shape, mlir::Type type);
  mlir::Value weightArgument(llvm::ArrayRef<int64_t> shape,
                             mlir::FloatType type);
  mlir::Value vectorOperand(int64_t size, mlir::FloatType type);

  // Parts of a program. Each takes and returns an activation.
  mlir::Value makeInput();
  mlir::Value norm(mlir::Value x);
  mlir::Value spelledNorm(mlir::Value x, mlir::FloatType result);
  mlir::Value normOp(mlir::Value x);
  mlir::Value rowStatistics(mlir::Value x, bool rms);
  mlir::Value statisticOperand(mlir::Value x);
  mlir::Value matmul(mlir::Value x);
  mlir::Value matmulOp(mlir::Value x, int64_t columns);
  mlir::Value product(mlir::Value x, mlir::Value weight, bool transposed,
                      int64_t columns, mlir::FloatType accumulator);
  mlir::Value startValue(mlir::Value x, int64_t columns,
                         mlir::FloatType accumulator);
  mlir::Value bias(mlir::Value x);
  mlir::Value activation(mlir::Value x);
  mlir::Value residual(mlir::Value x);
  mlir::Value gate(mlir::Value x);
  mlir::Value reshape(mlir::Value x);
  mlir::Value stage(mlir::Value x);

  /// This time the program deviates from what is usual.
  bool deviates() {
    const bool now = nearMisses && random.chance(6);
    deviated |= now;
    return now;
  }
  int64_t width() {
    return random.chance(70) ? random.pick<int64_t>({8, 16, 24, 32, 48, 72})
                             : random.pick<int64_t>({64, 128, 256});
  }
  /// Without segments, the op has one group of each operand.
  mlir::Operation *op(llvm::StringRef name, mlir::ValueRange operands,
                      mlir::TypeRange results,
                      llvm::ArrayRef<mlir::NamedAttribute> attributes,
                      llvm::ArrayRef<int32_t> segments = {});
  /// What a row of x has one of, in the type of statistics.
  mlir::RankedTensorType statisticType(mlir::Value x);
  mlir::Value statisticInit(mlir::Value x);
  mlir::NamedAttribute normAttr(llvm::StringRef name, bool rms);
  mlir::Attribute parse(const llvm::Twine &text) {
    return mlir::parseAttribute(text.str(), b.getContext());
  }

  Random random;
  mlir::ImplicitLocOpBuilder b;
  Speller speller;
  mlir::Block *block = nullptr;
  mlir::func::FuncOp function;
  mlir::FloatType storage;
  llvm::SmallVector<mlir::Value> activations; ///< made so far
  llvm::SmallVector<mlir::Value> statistics;  ///< that the program returns
  llvm::SmallVector<mlir::DictionaryAttr> argumentAttributes;
  bool nearMisses = false, frozen = false, hasPlans = false;
  bool deviated = false; ///< at least once
  bool executable = true;
  bool rowsJoined = false; ///< dynamic sizes are no longer all the same
};

} // namespace flashnorm::fuzz

#endif // FLASHNORM_FUZZ_PROGRAMGENERATOR_H
