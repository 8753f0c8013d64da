//===- Scalars.h - Arithmetic on scalars ------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of the truth path's equations.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_CONVERSION_FLASHNORMTOLINALG_SCALARS_H
#define FLASHNORM_LIB_CONVERSION_FLASHNORMTOLINALG_SCALARS_H

#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"

namespace flashnorm {

/// Arithmetic on scalars of one type.
struct Scalars {
  mlir::ImplicitLocOpBuilder &b;

  mlir::Value constant(double value, mlir::Type type) {
    return mlir::arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return mlir::arith::AddFOp::create(b, x, y);
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return mlir::arith::SubFOp::create(b, x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    return mlir::arith::MulFOp::create(b, x, y);
  }
  mlir::Value div(mlir::Value x, mlir::Value y) {
    return mlir::arith::DivFOp::create(b, x, y);
  }

  /// `x` rounded to `to`, which may be null, in its own type.
  mlir::Value round(mlir::Value x, mlir::FloatType to) {
    return to ? convert(convert(x, to), x.getType()) : x;
  }

  /// `x` in `type`, rounded at most once: f16 and bf16 meet in f32.
  mlir::Value convert(mlir::Value x, mlir::Type type) {
    unsigned from = x.getType().getIntOrFloatBitWidth();
    unsigned to = type.getIntOrFloatBitWidth();
    if (x.getType() == type)
      return x;
    if (from == to)
      return convert(convert(x, b.getF32Type()), type);
    if (from < to)
      return mlir::arith::ExtFOp::create(b, type, x);
    return mlir::arith::TruncFOp::create(b, type, x);
  }

  /// `x` between -bound and bound; a NaN stays one.
  mlir::Value clamp(mlir::Value x, const llvm::APFloat &bound) {
    double value = bound.convertToDouble();
    mlir::Value low = constant(-value, x.getType()),
                high = constant(value, x.getType());
    return mlir::arith::MinimumFOp::create(
        b, mlir::arith::MaximumFOp::create(b, x, low), high);
  }

  mlir::Value activate(Activation activation, mlir::Value x) {
    mlir::Type type = x.getType();
    auto half = [&] { return constant(0.5, type); };
    auto one = [&] { return constant(1.0, type); };
    switch (activation) {
    case Activation::None:
      return x;
    case Activation::ReLU: // max(x, 0); a NaN stays one
      return mlir::arith::MaximumFOp::create(b, x, constant(0.0, type));
    case Activation::GELU: { // x/2 * (1 + erf(x / sqrt(2)))
      mlir::Value scaled = mul(x, constant(llvm::numbers::inv_sqrt2, type));
      mlir::Value erf = mlir::math::ErfOp::create(b, scaled);
      return mul(mul(x, half()), add(one(), erf));
    }
    case Activation::GELUTanh: { // x/2 * (1 + tanh(sqrt(2/pi) (x + c x^3)))
      mlir::Value cube = mul(mul(x, x), x);
      mlir::Value inner = add(x, mul(cube, constant(0.044715, type)));
      mlir::Value scale =
          constant(llvm::numbers::sqrt2 * llvm::numbers::inv_sqrtpi, type);
      mlir::Value tanh = mlir::math::TanhOp::create(b, mul(scale, inner));
      return mul(mul(x, half()), add(one(), tanh));
    }
    case Activation::SiLU: { // x / (1 + exp(-x))
      mlir::Value negated = mlir::arith::NegFOp::create(b, x);
      mlir::Value exp = mlir::math::ExpOp::create(b, negated);
      return div(x, add(one(), exp));
    }
    }
    llvm_unreachable("all activations are handled");
  }
};

} // namespace flashnorm

#endif // FLASHNORM_LIB_CONVERSION_FLASHNORMTOLINALG_SCALARS_H
