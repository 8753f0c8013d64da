//===- Register.cpp - Everything FlashNorm adds to MLIR -------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Register.h"
#include "flashnorm/Conversion/Passes.h"
#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "flashnorm/Dialect/Kernel/IR/Kernel.h"
#include "flashnorm/Pipelines/Pipelines.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

void flashnorm::printVersion(llvm::raw_ostream &os) {
  os << "FlashNorm version " << FLASHNORM_VERSION << ", LLVM version "
     << LLVM_VERSION_STRING << '\n';
}

void flashnorm::registerDialects(DialectRegistry &registry) {
  registry.insert<FlashNormDialect, kernel::KernelDialect>();
  registerBufferizableOpInterfaceExternalModels(registry);
  // What --flashnorm-serialize-kernels prints PTX with.
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  NVVM::registerNVVMTargetInterfaceExternalModels(registry);
}

void flashnorm::registerPasses() {
  registerFlashNormTransformsPasses();
  registerFlashNormConversionPasses();
  registerPipelines();
}
