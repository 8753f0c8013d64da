//===- NormBuilder.h - Puts raised norms into the IR ------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_NORMBUILDER_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_NORMBUILDER_H

#include "NormMatcher.h"

namespace flashnorm {

/// The normalised tensor of a match, with elements of type `type` and the shape
/// of the input; the size of its rows is known. Rows of several dimensions are
/// one dimension of the norm op. It may write to `reusableInit`, if that is not
/// null and has the right type.
mlir::Value buildNorm(mlir::OpBuilder &builder, mlir::Location loc,
                      const NormMatch &match, mlir::Type type,
                      mlir::Value reusableInit);

/// The op that computes `tensor`, in a narrower type, if it extends every
/// element from that type at last: elementwise fusion moves such casts into the
/// producer. Other users of `tensor` read it through a cast.
mlir::linalg::GenericOp narrowProducer(mlir::OpBuilder &builder,
                                       mlir::Type type, mlir::Value tensor);

/// A copy of `op` that has `norm`, read through `reader`, as an input in the
/// stead of `scalar`, a value of its body. Replaces the results of `op`.
mlir::linalg::GenericOp feedNorm(
    mlir::linalg::LinalgOp op, mlir::Value scalar, mlir::Value norm,
    mlir::AffineMap reader,
    llvm::function_ref<void(mlir::Operation *, mlir::Operation *)> onClone);

/// A tensor like the result of `op`, an op on tensors, with the elements that
/// `reader` finds in `norm`.
mlir::Value readNormAt(mlir::OpBuilder &builder, mlir::Operation *op,
                       mlir::Value norm, mlir::AffineMap reader);

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_NORMBUILDER_H
