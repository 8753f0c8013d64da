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

using namespace mlir;

void flashnorm::registerDialects(DialectRegistry &registry) {
  registry.insert<FlashNormDialect, kernel::KernelDialect>();
}

void flashnorm::registerPasses() {
  registerFlashNormTransformsPasses();
  registerFlashNormConversionPasses();
  registerPipelines();
}
