//===- Passes.td - Conversions between levels --------------*- tablegen -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_CONVERSION_PASSES_TD
#define FLASHNORM_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertFlashNormToLinalgPass
    : Pass<"convert-flashnorm-to-linalg", "::mlir::func::FuncOp"> {
  let summary = "lowers every flashnorm op to linalg: the truth path";
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def PromoteToF64Pass : Pass<"flashnorm-promote-to-f64", "::mlir::ModuleOp"> {
  let summary = "computes everything in f64: the yardstick of flashnorm-run";
}

def ConvertFlashNormToKernelPass
    : Pass<"convert-flashnorm-to-kernel", "::mlir::ModuleOp"> {
  let summary = "outlines planned flashnorm.matmul ops as kernels";
  let dependentDialects = ["::flashnorm::FlashNormDialect",
                           "::flashnorm::kernel::KernelDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::NVVM::NVVMDialect"];
}

def ConvertKernelToNVVMPass
    : Pass<"convert-kernel-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "prints kernels for their MMA family, as NVVM and LLVM dialect";
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect"];
}

def ConvertLaunchToRuntimePass
    : Pass<"convert-flashnorm-launch-to-runtime", "::mlir::ModuleOp"> {
  let summary = "turns flashnorm.launch on memrefs into calls of the runtime";
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // FLASHNORM_CONVERSION_PASSES_TD
