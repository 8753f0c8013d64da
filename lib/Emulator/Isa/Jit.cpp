//===- Jit.cpp - LLVM IR to code ------------------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are thousands of instructions that run a few times each, most of them
// calls of the runtime. Passes on the IR make it much smaller; those on machine
// code cost five times as much and gain little.
//
//===----------------------------------------------------------------------===//

#include "Isa/Jit.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::Error;
using llvm::Expected;
namespace orc = llvm::orc;

Jit::Jit() = default;
Jit::~Jit() = default;

Expected<std::unique_ptr<Jit>> Jit::create() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto host = orc::JITTargetMachineBuilder::detectHost();
  if (!host)
    return host.takeError();
  host->setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
  auto created =
      orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*host)).create();
  if (!created)
    return created.takeError();
  std::unique_ptr<Jit> result(new Jit);
  result->jit = std::move(*created);
  return result;
}

static void optimize(llvm::Module &module) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass(
      llvm::InstCombineOptions().setMaxIterations(1).setVerifyFixpoint(false)));
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      passes.run(function, functions);
}

Error Jit::compile(TranslatedKernel &kernel) {
  kernel.module->setDataLayout(jit->getDataLayout());
  kernel.module->setTargetTriple(jit->getTargetTriple());
  optimize(*kernel.module);
  auto dylib = jit->createJITDylib("kernel" + std::to_string(numKernels++));
  if (!dylib)
    return dylib.takeError();
  if (Error error = jit->addIRModule(
          *dylib, orc::ThreadSafeModule(std::move(kernel.module),
                                        std::move(kernel.context))))
    return error;
  auto symbol = jit->lookup(*dylib, TranslatedKernel::symbol);
  if (!symbol)
    return symbol.takeError();
  kernel.kernel.code = symbol->toPtr<void (*)(Thread *)>();
  return Error::success();
}
