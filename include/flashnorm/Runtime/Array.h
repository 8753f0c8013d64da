//===- Array.h - Arrays on the host -----------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runtime and the tools move around: packed row-major arrays that own
// their bytes, and strided views of memory that a compiled program owns.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_RUNTIME_ARRAY_H
#define FLASHNORM_RUNTIME_ARRAY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flashnorm {

/// Element types that arrays hold.
enum class DataType { BF16, F16, F32, F64 };

llvm::StringRef stringify(DataType type);
std::optional<DataType> parseDataType(llvm::StringRef name);
int64_t sizeInBytes(DataType type);

/// One element at `address`, which need not be aligned. Storing rounds to
/// nearest even; a NaN stays a NaN.
double loadElement(DataType type, const void *address);
void storeElement(DataType type, void *address, double value);

/// bf16 and f16 as their bits.
float bf16ToFloat(uint16_t bits);
float f16ToFloat(uint16_t bits);
uint16_t doubleToBF16(double value);
uint16_t doubleToF16(double value);

/// The product of `sizes`, or none when it does not fit into 63 bits or a size
/// is negative.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> sizes);

/// "[4, ?]", for messages: `?` stands for MLIR's dynamic size, the least
/// int64_t.
std::string formatShape(llvm::ArrayRef<int64_t> sizes);

/// A packed row-major array.
struct Array {
  DataType type = DataType::F32;
  llvm::SmallVector<int64_t> shape;
  std::vector<char> data;

  Array() = default;
  /// Zeros. The number of elements must be representable (countElements).
  Array(DataType type, llvm::ArrayRef<int64_t> shape);

  int64_t size() const;
  double get(int64_t index) const {
    return loadElement(type, data.data() + index * sizeInBytes(type));
  }
  void set(int64_t index, double value) {
    storeElement(type, data.data() + index * sizeInBytes(type), value);
  }
};

/// Memory that somebody else owns; strides count elements.
struct StridedView {
  char *data = nullptr;
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<int64_t> strides;

  /// Row-major without gaps (dimensions of size 1 may have any stride).
  bool isPacked() const;
  /// Elements from one row to the next, a row being the last dimension: none
  /// when the leading dimensions do not collapse, or when a row has gaps.
  std::optional<int64_t> rowStride() const;
};

/// Copies a view to packed memory, and back.
void packView(const StridedView &view, int64_t elementSize, char *packed);
void unpackView(const char *packed, int64_t elementSize,
                const StridedView &view);

} // namespace flashnorm

#endif // FLASHNORM_RUNTIME_ARRAY_H
