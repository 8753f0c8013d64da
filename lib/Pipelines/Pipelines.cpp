//===- Pipelines.cpp - FlashNorm's passes in order ------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Pipelines/Pipelines.h"
#include "flashnorm/Conversion/Passes.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/TosaToLinalg/TosaToLinalg.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace flashnorm;

/// Removes what the pass before left dead or double.
static void addCleanup(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

/// Tosa has no f64, and no form on buffers.
static void addTosaToLinalg(OpPassManager &pm) {
  // Not held against the specification's levels, which know no dynamic sizes.
  tosa::addTosaToLinalgPasses(pm, TosaToLinalgOptions(),
                              TosaToLinalgNamedOptions(),
                              /*validationOptions=*/std::nullopt);
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(createTosaToArithPass());
  functions.addPass(createTosaToTensorPass());
  functions.addPass(createTosaToSCFPass());
}

/// Recognises norms.
static void addRaise(OpPassManager &pm, bool preserveRounding) {
  RaiseNormsPassOptions raiseNorms;
  raiseNorms.preserveRounding = preserveRounding;
  pm.addNestedPass<func::FuncOp>(createRaiseNormsPass(raiseNorms));
  addCleanup(pm);
}

void flashnorm::buildRaisePipeline(OpPassManager &pm,
                                   const RaiseOptions &options) {
  pm.addPass(createCheckModulePass());
  addRaise(pm, options.preserveRounding);
}

void flashnorm::buildFusePipeline(OpPassManager &pm,
                                  const FuseOptions &options) {
  CheckModulePassOptions check;
  check.chip = options.chip;
  check.family = options.family;
  pm.addPass(createCheckModulePass(check));

  // Recognise.
  addRaise(pm, options.preserveRounding);
  RaiseMatmulsPassOptions raiseMatmuls;
  raiseMatmuls.preserveRounding = options.preserveRounding;
  pm.addNestedPass<func::FuncOp>(createRaiseMatmulsPass(raiseMatmuls));
  addCleanup(pm);

  // Fuse.
  FuseEpiloguesPassOptions fuseEpilogues;
  fuseEpilogues.preserveRounding = options.preserveRounding;
  pm.addNestedPass<func::FuncOp>(createFuseEpiloguesPass(fuseEpilogues));
  addCleanup(pm);
  FuseNormsPassOptions fuseNorms;
  fuseNorms.chip = options.chip;
  fuseNorms.family = options.family;
  fuseNorms.preserveRounding = options.preserveRounding;
  pm.addPass(createFuseNormsPass(fuseNorms));
  addCleanup(pm);

  // Plan.
  PlanPassOptions plan;
  plan.chip = options.chip;
  plan.family = options.family;
  pm.addNestedPass<func::FuncOp>(createPlanPass(plan));
  pm.addNestedPass<func::FuncOp>(createVerifyPlanPass());
}

void flashnorm::buildCompilePipeline(OpPassManager &pm,
                                     const CompileOptions &options) {
  static constexpr StringLiteral formats[] = {"kernel", "nvvm", "ptx", "cubin"};
  if (!llvm::is_contained(formats, options.format.getValue())) {
    // The pass that would stop there knows how to complain.
    SerializeKernelsPassOptions serialize;
    serialize.format = options.format;
    pm.addPass(createSerializeKernelsPass(serialize));
    return;
  }
  pm.addNestedPass<func::FuncOp>(createVerifyPlanPass());
  pm.addPass(createConvertFlashNormToKernelPass());
  if (options.format == "kernel")
    return;
  OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>();
  kernels.addPass(createConvertKernelToNVVMPass());
  addCleanup(kernels);
  kernels.addPass(createSCFToControlFlowPass());
  kernels.addPass(createConvertToLLVMPass());
  addCleanup(kernels);
  if (options.format == "nvvm")
    return;
  // NVVM ops that have no LLVM intrinsic become inline PTX.
  kernels.addPass(createConvertNVVMToLLVMPass());
  SerializeKernelsPassOptions serialize;
  serialize.chip = options.chip;
  serialize.format = options.format;
  serialize.ptxVersion = options.ptxVersion;
  serialize.ptxas = options.ptxas;
  pm.addPass(createSerializeKernelsPass(serialize));
}

void flashnorm::buildLowerToReferencePipeline(
    OpPassManager &pm, const LowerToReferenceOptions &options) {
  addTosaToLinalg(pm);
  // Promoted first, the ops' own constants (eps, those of GELU) never see f32.
  if (options.f64)
    pm.addPass(createPromoteToF64Pass());
  ConvertFlashNormToLinalgPassOptions toLinalg;
  toLinalg.keepLaunches = options.keepLaunches;
  pm.addNestedPass<func::FuncOp>(createConvertFlashNormToLinalgPass(toLinalg));
  addCleanup(pm);
}

void flashnorm::buildLowerToCPUPipeline(OpPassManager &pm,
                                        const LowerToCPUOptions &options) {
  // Tensors to buffers. Without layout maps at the boundaries a caller needs to
  // know one memref descriptor only.
  pm.addNestedPass<func::FuncOp>(LLVM::createLLVMRequestCWrappersPass());
  // Buffers are freed in structured loops only.
  pm.addPass(createLiftControlFlowToSCFPass());
  pm.addNestedPass<func::FuncOp>(createOrderLoopsPass());
  pm.addNestedPass<func::FuncOp>(createDecomposeForHostPass());
  pm.addNestedPass<func::FuncOp>(createConvertElementwiseToLinalgPass());
  addCleanup(pm);
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  // A loop may carry a tensor that is new in each iteration.
  bufferize.allowReturnAllocsFromLoops = true;
  bufferize.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  bufferization::buildBufferDeallocationPipeline(pm, {});
  // A returned argument was cloned, as results are the caller's.
  pm.addPass(createConvertBufferizationToMemRefPass());
  pm.addPass(createConvertLaunchToRuntimePass());

  // Loops to blocks.
  pm.addNestedPass<func::FuncOp>(createConvertVectorToSCFPass());
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());

  // Arithmetic. fp8 becomes bits. x^2 becomes x*x instead of a call of pow;
  // what LLVM has no intrinsic for (erf, tanh) calls the C library.
  pm.addNestedPass<func::FuncOp>(createExpandFp8CastsPass());
  math::MathExpandOpsPassOptions expandMath;
  expandMath.opMnemonics = {"fpowi"};
  pm.addNestedPass<func::FuncOp>(math::createMathExpandOpsPass(expandMath));
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  arith::ArithExpandOpsPassOptions expandArith;
  expandArith.includeBf16 = true;
  pm.addNestedPass<func::FuncOp>(arith::createArithExpandOpsPass(expandArith));

  // Everything to the LLVM dialect.
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  addCleanup(pm);
  pm.addPass(createVerifyHostCodePass());
}

void flashnorm::registerPipelines() {
  PassPipelineRegistration<RaiseOptions>(
      "flashnorm-raise",
      "recognises norms: linalg, tosa, arith and math to "
      "flashnorm.rms_norm and flashnorm.layer_norm",
      buildRaisePipeline);
  PassPipelineRegistration<FuseOptions>(
      "flashnorm-fuse",
      "raises, fuses norms with the matmuls beside them, and plans the result",
      buildFusePipeline);
  PassPipelineRegistration<CompileOptions>(
      "flashnorm-compile",
      "lowers planned ops to device code, stopping at the level that format "
      "names",
      buildCompilePipeline);
  PassPipelineRegistration<LowerToReferenceOptions>(
      "flashnorm-lower-to-reference",
      "lowers every flashnorm op to linalg: the truth path",
      buildLowerToReferencePipeline);
  PassPipelineRegistration<LowerToCPUOptions>(
      "flashnorm-lower-to-cpu",
      "lowers linalg on tensors to the LLVM dialect for the host",
      buildLowerToCPUPipeline);
}
