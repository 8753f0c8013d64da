//===- Plugin.cpp - FlashNorm for a stock mlir-opt ------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-opt --load-dialect-plugin=FlashNormPlugin.so
//          --load-pass-plugin=FlashNormPlugin.so
//
// The first adds the dialects, the second the passes and pipelines.
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Register.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Support/Compiler.h"

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "FlashNorm", FLASHNORM_VERSION,
          [](mlir::DialectRegistry *registry) {
            flashnorm::registerDialects(*registry);
          }};
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "FlashNorm", FLASHNORM_VERSION,
          [] { flashnorm::registerPasses(); }};
}
