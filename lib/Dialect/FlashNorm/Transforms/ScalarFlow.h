//===- ScalarFlow.h - What computes an element of a tensor ------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads IR as scalar dataflow: "element (d0, s0) of this tensor is the product
// of ...". Which op spells the arithmetic (linalg.generic, a named op, tosa,
// arith on tensors), how elementwise ops are grouped into bodies, broadcasts,
// degenerate reshapes and exact casts do not show. Nothing is cached or built:
// callers look one operation deep at a time, so a matcher pays only for what it
// matches.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_SCALARFLOW_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_SCALARFLOW_H

#include "IndexMaps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Value.h"
#include <optional>
#include <string>

namespace flashnorm {

/// An element of a tensor, or a scalar of a linalg body, at a symbolic place.
/// The dimensions of `index` are the loops of the op that a match starts from;
/// its only symbol, s0, runs along the normalised dimension, in the op and in
/// every sum alike. Scalars outside of linalg bodies have no index.
struct Element {
  mlir::Value value;
  mlir::AffineMap index;
  bool operator==(const Element &other) const {
    return value == other.value && index == other.index;
  }
};

/// The operation that computes an element.
struct Node {
  enum class Kind {
    Opaque, // anything else; also function arguments
    Constant,
    Add,
    Sub,
    Mul,
    Div,
    Neg,
    Recip,
    Rsqrt,
    Sqrt,
    Pow,
    Max,
    Abs,
    Round, // a cast that may lose bits
    Sum    // args: the summand, and the initial value unless it is zero
  };
  Kind kind = Kind::Opaque;
  /// Where the walk stopped. Equal for equal elements.
  Element self;
  llvm::SmallVector<Element, 2> args;
  /// The type that the operation rounds to.
  mlir::Type type;
  /// Of a constant.
  double value = 0;
  /// Of a sum: terms, and dimensions with more than one element.
  int64_t terms = 0;
  unsigned summedDims = 0;
  mlir::Operation *op = nullptr;

  bool is(Kind other) const { return kind == other; }
};

/// Looks through broadcasts, copies, degenerate reshapes and exact casts. Each
/// tensor on the way that holds the same value is added to `views`.
Node look(Element element, llvm::SmallVectorImpl<Element> *views = nullptr);

/// The value of a constant expression, rounded as the IR rounds it. Nothing for
/// expressions of more than 32 operations.
struct Constant {
  double value;
  mlir::Type type;
};
std::optional<Constant> getConstant(Element element);

/// Both elements have the same value, because they are one value or because
/// the same operations compute them.
bool isSame(Element a, Element b, unsigned depth = 6);

/// `value` as a number of type `type`.
double roundTo(double value, mlir::Type type);

/// The shortest decimal number that is `value` in f32: 1e-05 rather than
/// 9.99999974e-06.
std::string printNumber(double value);

/// Every number of type `from` is one of type `to`.
bool isExact(mlir::Type from, mlir::Type to);

/// The norm ops have this element type.
inline bool isNormType(mlir::Type type) {
  return type.isBF16() || type.isF16() || type.isF32() || type.isF64();
}

/// What arithmetic an op does, elementwise on tensors or on scalars.
Node::Kind classify(mlir::Operation *op);

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_SCALARFLOW_H
