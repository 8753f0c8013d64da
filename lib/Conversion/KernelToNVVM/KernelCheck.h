//===- KernelCheck.h - Kernels that can be emitted --------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The verifier of the kernel dialect says what is well formed; this says what
// the emitter takes, whatever the MMA family. It leaves no access whose bounds
// the emitter could get wrong: rows and columns of every array are those of the
// CTA's tile, or the depth of the pipeline.
//
//===----------------------------------------------------------------------===//
#ifndef LIB_CONVERSION_KERNELTONVVM_KERNELCHECK_H
#define LIB_CONVERSION_KERNELTONVVM_KERNELCHECK_H

#include "flashnorm/Dialect/Kernel/IR/Kernel.h"

namespace flashnorm::kernel {

/// The kernel's pipeline, or an error with values.
mlir::FailureOr<PipelineOp> checkKernel(FuncOp func);

/// A scalar op that the region of a map may hold.
bool hasDeviceForm(mlir::Operation *op);

} // namespace flashnorm::kernel

#endif // LIB_CONVERSION_KERNELTONVVM_KERNELCHECK_H
