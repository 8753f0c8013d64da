//===- Pipelines.h - FlashNorm's passes in order ----------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pipelines behind the tools' flags. Each takes a module and keeps the
// contract that its one sentence states; tools and tests use these and never
// spell a list of passes of their own.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_PIPELINES_PIPELINES_H
#define FLASHNORM_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassOptions.h"
#include <string>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace flashnorm {

struct RaiseOptions : mlir::PassPipelineOptions<RaiseOptions> {
  Option<bool> preserveRounding{
      *this, "preserve-rounding",
      llvm::cl::desc("leave alone what rounds to bf16 or f16 on the way"),
      llvm::cl::init(false)};
};

struct FuseOptions : mlir::PassPipelineOptions<FuseOptions> {
  Option<std::string> chip{*this, "chip",
                           llvm::cl::desc("target chip; sm_90a by default"),
                           llvm::cl::init("sm_90a")};
  Option<std::string> family{
      *this, "family",
      llvm::cl::desc(
          "MMA family: auto (the default), mma_sync, wgmma or tcgen05"),
      llvm::cl::init("auto")};
  Option<bool> preserveRounding{
      *this, "preserve-rounding",
      llvm::cl::desc("round where the program does, or leave it alone"),
      llvm::cl::init(false)};
};

struct CompileOptions : mlir::PassPipelineOptions<CompileOptions> {
  Option<std::string> chip{
      *this, "chip",
      llvm::cl::desc("target chip; empty: the one that the plans name"),
      llvm::cl::init("")};
  Option<std::string> format{
      *this, "format",
      llvm::cl::desc(
          "level to stop at: kernel, nvvm, ptx (the default) or cubin"),
      llvm::cl::init("ptx")};
  Option<int64_t> ptxVersion{
      *this, "ptx-version",
      llvm::cl::desc("PTX ISA version, 86 for 8.6; 0: the chip's default"),
      llvm::cl::init(0)};
  Option<std::string> ptxas{*this, "ptxas",
                            llvm::cl::desc("path of ptxas, for cubin"),
                            llvm::cl::init("")};
};

struct LowerToReferenceOptions
    : mlir::PassPipelineOptions<LowerToReferenceOptions> {
  Option<bool> f64{*this, "f64",
                   llvm::cl::desc("compute everything in f64; arguments and "
                                  "results of functions become f64 too"),
                   llvm::cl::init(false)};
  Option<bool> keepLaunches{
      *this, "keep-launches",
      llvm::cl::desc("leave flashnorm.launch, for the host half of a program "
                     "whose kernels are compiled"),
      llvm::cl::init(false)};
};

struct LowerToCPUOptions : mlir::PassPipelineOptions<LowerToCPUOptions> {};

/// Input IR in, the same IR with each recognised norm as one flashnorm op out.
void buildRaisePipeline(mlir::OpPassManager &pm, const RaiseOptions &options);

/// Input IR in, tensor-level IR out in which every fused op that the chip can
/// run carries a verified #flashnorm.plan; the rest is left as it was.
void buildFusePipeline(mlir::OpPassManager &pm, const FuseOptions &options);

/// Fused IR with plans in, the same IR out with a flashnorm.launch in place of
/// each planned op, and its kernel at the level that the format names.
void buildCompilePipeline(mlir::OpPassManager &pm,
                          const CompileOptions &options);

/// IR with flashnorm ops on tensors in, the same computation out in linalg,
/// arith, math and tensor only (flashnorm.launch is an error, unless kept).
void buildLowerToReferencePipeline(mlir::OpPassManager &pm,
                                   const LowerToReferenceOptions &options);

/// Linalg on tensors in, LLVM dialect for the host out: a function @f is called
/// through its C wrapper _mlir_ciface_f, and a tensor result is a memref that
/// the caller frees.
void buildLowerToCPUPipeline(mlir::OpPassManager &pm,
                             const LowerToCPUOptions &options);

/// Adds the pipelines to the global registry: flashnorm-raise, flashnorm-fuse,
/// flashnorm-compile, flashnorm-lower-to-reference, flashnorm-lower-to-cpu.
void registerPipelines();

} // namespace flashnorm

#endif // FLASHNORM_PIPELINES_PIPELINES_H
