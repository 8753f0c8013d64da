//===- Products.h - Matrix products and their elements ----------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of mma and wgmma. PTX leaves order and rounding of the sums
// open. Here, products of floating-point elements are exact (unless they leave
// the range of f32) and are added one by one, k upwards, in f32 with rounding
// to nearest; the device adds groups of aligned products and truncates. Both
// are within K · 2^-23 · Σ|a·b| of the exact sum, and kernels must not depend
// on more.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_EMULATOR_TENSOR_PRODUCTS_H
#define FLASHNORM_LIB_EMULATOR_TENSOR_PRODUCTS_H

#include "Ptx/AST.h"
#include <cstdint>
#include <optional>

namespace flashnorm::emulator {

/// Of A and B.
enum class ElementType : uint8_t { F16, BF16, TF32, E4M3, E5M2, S8, U8 };

std::optional<ElementType> getElementType(ptx::Type type);
unsigned getElementBytes(ElementType type);
inline bool isInteger(ElementType type) { return type >= ElementType::S8; }

/// Values of `count` elements in a row. tf32: the low 13 bits do not count.
void widenElements(const char *from, ElementType type, unsigned count,
                   float *to);
void widenElements(const char *from, ElementType type, unsigned count,
                   int32_t *to);

/// d[m][n] += Σ a[m][k] · b[k][n], all of them rows of contiguous elements.
void multiplyAccumulate(const float *a, const float *b, float *d, unsigned m,
                        unsigned n, unsigned k);
/// Wraps around, or saturates the sum over k with d.
void multiplyAccumulate(const int32_t *a, const int32_t *b, int32_t *d,
                        unsigned m, unsigned n, unsigned k, bool saturate);

} // namespace flashnorm::emulator

#endif // FLASHNORM_LIB_EMULATOR_TENSOR_PRODUCTS_H
