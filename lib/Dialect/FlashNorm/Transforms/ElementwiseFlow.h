//===- ElementwiseFlow.h - Where the elements of a tensor go ----*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The elements of a matmul's result pass through linalg ops, casts between
// floats and reshapes before somebody computes with them. All of these keep the
// position of an element in row-major order, so that one "flow" of scalars
// describes them, whether the exporter wrote one op or ten.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_ELEMENTWISEFLOW_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_ELEMENTWISEFLOW_H

#include "ValueFlow.h"
#include "llvm/ADT/SetVector.h"

namespace flashnorm {

/// A value (tensor, or scalar in the body of a linalg op) and everything that
/// is the same but for casts, reshapes and the borders of ops.
struct ElementwiseFlow {
  llvm::SetVector<mlir::Value> members;
  /// Scalar ops that compute with a member.
  llvm::SetVector<mlir::Operation *> consumers;
  /// A use that is none of these: a return, a reduction, a call.
  mlir::Operation *escape = nullptr;
};

/// Follows `value` forwards.
ElementwiseFlow followUses(mlir::Value value);

/// extf or truncf between bf16, f16 and f32, rounding to nearest.
bool isTransparentCast(mlir::Operation *op);

/// What `value` is made from, one step backwards over a border of a linalg op,
/// a transparent cast or a reshape; null when an op computes it or it comes
/// from elsewhere.
mlir::Value stepBack(mlir::Value value);

/// Collects the reshapes between `source` and `value`, nearest to `source`
/// first, going back through the scalar ops `through`. False when `value` does
/// not come from `source`.
bool traceReshapes(mlir::Value value, mlir::Value source,
                   const llvm::SetVector<mlir::Operation *> &through,
                   llvm::SmallVectorImpl<mlir::Operation *> &reshapes);

/// Starting from `value`, the scalar that rounds it to bf16 or f16 when nothing
/// else uses it; else null.
mlir::Value findRounding(mlir::Value value);

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_ELEMENTWISEFLOW_H
