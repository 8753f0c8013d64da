//===- flashnorm-run.cpp - Compares compiled with original programs -------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three forms of one function on the same arguments: the original in its own
// types and in f64, both on the CPU, and what FlashNorm makes of it.
//
//===----------------------------------------------------------------------===//

#include "Compare.h"
#include "Forms.h"
#include "HostProgram.h"
#include "Inputs.h"
#include "Options.h"
#include "flashnorm/Emulator/EmulatedDevice.h"
#include "flashnorm/Pipelines/Artifacts.h"
#include "flashnorm/Pipelines/Pipelines.h"
#include "flashnorm/Register.h"
#include "flashnorm/Runtime/CRuntime.h"
#include "flashnorm/Runtime/CudaDriver.h"
#include "flashnorm/Runtime/Npy.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace flashnorm;
using namespace flashnorm::run;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
using mlir::ModuleOp;
using mlir::OwningOpRef;
using mlir::func::FuncOp;

//===----------------------------------------------------------------------===//
// The entry
//===----------------------------------------------------------------------===//

static Expected<FuncOp> findEntry(ModuleOp module, StringRef name) {
  std::string names;
  FuncOp found;
  int64_t candidates = 0;
  StringRef hidden = "unknown";
  for (auto function : module.getOps<FuncOp>()) {
    if (function.isDeclaration() || !function.isPublic()) {
      if (function.getName() == name)
        hidden = function.isDeclaration() ? "a declaration, without a body"
                                          : "private, and only public "
                                            "functions can be called";
      continue;
    }
    ++candidates;
    names += (names.empty() ? "@" : ", @") + function.getName().str();
    if (name.empty() || function.getName() == name)
      found = function;
  }
  if (candidates == 0)
    return createStringError("the module has no public function with a body");
  if (name.empty() && candidates > 1)
    return createStringError("--entry is missing; the module has " + names);
  if (!found)
    return createStringError("entry @" + name + " is " + hidden +
                             "; the module has " + names);
  return found;
}

/// Names become symbols of a compiled program, which end at a NUL.
static Error checkNames(ModuleOp module) {
  for (auto function : module.getOps<FuncOp>())
    if (function.getName().contains('\0'))
      return createStringError(
          "the name of function @" +
          function.getName().take_until([](char c) { return c == '\0'; }) +
          "... contains a NUL character");
  return Error::success();
}

/// Bufferization has to see a function's callees before it.
static Error checkRecursion(FuncOp entry) {
  bool callsItself = false;
  entry.walk([&](mlir::func::CallOp call) {
    callsItself |= call.getCallee() == entry.getName();
  });
  if (callsItself)
    return createStringError("@" + entry.getName() +
                             " calls itself; only programs without recursion "
                             "can be run");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The forms
//===----------------------------------------------------------------------===//

/// The parts between the commas that are in no brackets.
static llvm::SmallVector<StringRef> splitPasses(StringRef passes) {
  llvm::SmallVector<StringRef> parts;
  int64_t depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < passes.size(); ++i) {
    depth += StringRef("({").contains(passes[i]);
    depth -= StringRef(")}").contains(passes[i]);
    if (passes[i] != ',' || depth != 0)
      continue;
    parts.push_back(passes.slice(begin, i));
    begin = i + 1;
  }
  parts.push_back(passes.drop_front(begin));
  return parts;
}

/// Adds passes by name. One on functions need not stand in func.func(...), as
/// with the flags of an mlir-opt; the parser of pipelines insists on it.
static mlir::LogicalResult addPasses(StringRef passes,
                                     mlir::OpPassManager &manager) {
  for (StringRef part : splitPasses(passes)) {
    mlir::OpPassManager probe;
    if (part.trim().empty() || failed(mlir::parsePassPipeline(part, probe)))
      return mlir::failure();
    const bool onFunctions = !probe.empty() && probe.begin()->getOpName() ==
                                                   FuncOp::getOperationName();
    if (failed(mlir::parsePassPipeline(
            part, onFunctions ? manager.nest<FuncOp>() : manager)))
      return mlir::failure();
  }
  return mlir::success();
}

/// The passes that a user names; what is wrong with them is said on the way.
static Error runPasses(ModuleOp module, StringRef passes) {
  bool isLegal = true;
  Error error =
      runPipeline(module, "--passes", [&](mlir::OpPassManager &manager) {
        isLegal = succeeded(addPasses(passes, manager));
      });
  if (!isLegal)
    return llvm::joinErrors(
        std::move(error),
        createStringError("--passes='" + passes + "' is not a list of passes"));
  return error;
}

/// Leaves what the functions need: other parts of a module may be something
/// that cannot be run.
static Error dropUnused(ModuleOp module, llvm::ArrayRef<StringRef> functions) {
  for (auto function : module.getOps<FuncOp>())
    if (!llvm::is_contained(functions, function.getName()))
      function.setPrivate();
  return runPipeline(
      module, "removing unused functions",
      [](mlir::OpPassManager &pm) { pm.addPass(mlir::createSymbolDCEPass()); });
}

/// The program as it was written, in its own types or in f64.
static Expected<std::vector<Array>> runOriginal(ModuleOp module,
                                                StringRef entry,
                                                llvm::ArrayRef<Array> inputs,
                                                bool f64) {
  OwningOpRef<ModuleOp> copy = module.clone();
  if (Error error = dropUnused(*copy, {entry}))
    return error;
  LowerToReferenceOptions options;
  options.f64 = f64;
  if (Error error = runPipeline(
          *copy, f64 ? "lowering the f64 form" : "lowering the original",
          [&](mlir::OpPassManager &pm) {
            buildLowerToReferencePipeline(pm, options);
          }))
    return error;
  auto program = HostProgram::create(*copy, {entry});
  if (!program)
    return program.takeError();
  return (*program)->call(entry, inputs);
}

/// Loads the kernels of a compiled module into the launcher, and removes them.
static Error loadKernels(ModuleOp module, Launcher &launcher) {
  auto artifacts = collectArtifacts(module);
  if (failed(artifacts))
    return createStringError("reading the compiled kernels failed");
  for (const Artifact &artifact : *artifacts) {
    std::string json;
    llvm::raw_string_ostream(json) << artifact.manifest;
    Expected<Manifest> manifest = Manifest::parse(json);
    if (!manifest)
      return manifest.takeError();
    if (Error error = launcher.load(*manifest, artifact.object))
      return error;
  }
  for (auto binary :
       llvm::make_early_inc_range(module.getOps<mlir::gpu::BinaryOp>()))
    binary.erase();
  module->removeAttr(mlir::gpu::GPUDialect::getContainerModuleAttrName());
  return Error::success();
}

/// Whether statistics of a norm that is computed elsewhere scale the rows.
static bool hasRowScale(mlir::Operation *matmul) {
  // Operands: input, weight, row_scale.
  auto segments = matmul->getInherentAttr("operandSegmentSizes");
  auto sizes = mlir::dyn_cast_or_null<mlir::DenseI32ArrayAttr>(
      segments.value_or(nullptr));
  return sizes && sizes.size() > 2 && sizes[2] != 0;
}

/// Fused ops of a module and what is left of norms and matmuls, in words.
static std::string describeFusion(ModuleOp module) {
  int64_t fused = 0, matmuls = 0, norms = 0;
  module.walk([&](mlir::Operation *op) {
    StringRef name = op->getName().getStringRef();
    norms += name == "flashnorm.rms_norm" || name == "flashnorm.layer_norm";
    if (name != "flashnorm.matmul")
      return;
    ++matmuls;
    fused +=
        op->hasAttr("pre_norm") || op->hasAttr("post_norm") || hasRowScale(op);
  });
  return (Twine(fused) + " of " + Twine(matmuls) +
          " matmuls fused with norms, " + Twine(norms) + " norms left")
      .str();
}

/// What FlashNorm makes of the program; `fusion` says what was fused.
static Expected<std::vector<Array>>
runFused(ModuleOp module, StringRef name, llvm::ArrayRef<Array> inputs,
         const Options &options, Launcher *launcher, std::string &fusion) {
  OwningOpRef<ModuleOp> copy = module.clone();
  std::string chip = options.chip;
  if (chip.empty())
    chip = launcher ? launcher->getDevice().properties().chip() : "sm_90a";
  FuseOptions fuse;
  fuse.chip = chip;
  fuse.family = options.family;
  if (!options.passes.empty()) {
    if (Error error = runPasses(*copy, options.passes))
      return error;
  } else if (Error error = runPipeline(*copy, "fusing for " + chip,
                                       [&](mlir::OpPassManager &pm) {
                                         buildFusePipeline(pm, fuse);
                                       })) {
    return error;
  }
  auto entry = copy->lookupSymbol<FuncOp>(name);
  if (!entry)
    return createStringError("fusion removed @" + name);
  Expected<Preparation> preparation =
      getPreparation(*copy, entry, inputs.size());
  if (!preparation)
    return preparation.takeError();
  llvm::SmallVector<StringRef> functions = {name};
  if (!preparation->function.empty())
    functions.push_back(preparation->function);
  if (Error error = dropUnused(*copy, functions))
    return error;
  fusion = describeFusion(*copy);

  if (launcher) {
    CompileOptions compile;
    compile.chip = chip;
    if (Error error = runPipeline(*copy, "compiling for " + chip,
                                  [&](mlir::OpPassManager &pm) {
                                    buildCompilePipeline(pm, compile);
                                  })) {
      const std::string named = "chip=" + chip;
      if (options.passes.empty() || StringRef(options.passes).contains(named))
        return error;
      return createStringError(llvm::toString(std::move(error)) +
                               "; passes that plan have a chip of their own: "
                               "name it in --passes, as flashnorm-fuse{" +
                               named + "}, and in --chip");
    }
    if (Error error = loadKernels(*copy, *launcher))
      return error;
  }
  LowerToReferenceOptions lower;
  lower.keepLaunches = launcher != nullptr;
  if (Error error = runPipeline(*copy, "lowering the fused form",
                                [&](mlir::OpPassManager &pm) {
                                  buildLowerToReferencePipeline(pm, lower);
                                }))
    return error;

  auto program = HostProgram::create(*copy, functions);
  if (!program)
    return program.takeError();
  setCurrentLauncher(launcher);
  auto results = callPrepared(**program, name, *preparation, inputs);
  setCurrentLauncher(nullptr);
  return results;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

static Error writeResults(llvm::ArrayRef<Array> results, StringRef form,
                          StringRef directory) {
  if (directory.empty())
    return Error::success();
  if (std::error_code code = llvm::sys::fs::create_directories(directory))
    return createStringError(directory + ": " + code.message());
  for (auto [i, result] : llvm::enumerate(results))
    if (Error error = writeNpy(
            result, (directory + "/" + form + "_" + Twine(i) + ".npy").str()))
      return error;
  return Error::success();
}

static Expected<std::unique_ptr<Device>> openDevice(const Options &options) {
  if (options.device != DeviceKind::Emulator) {
    Expected<std::unique_ptr<CudaDevice>> device = CudaDevice::open();
    if (device)
      return std::unique_ptr<Device>(std::move(*device));
    if (options.device == DeviceKind::CUDA)
      return device.takeError();
    llvm::consumeError(device.takeError());
  }
  auto device = EmulatedDevice::create(
      options.chip.empty() ? "sm_90a" : options.chip, options.emulator);
  if (!device)
    return device.takeError();
  return std::unique_ptr<Device>(std::move(*device));
}

/// Runs everything; true if the comparison passed.
static Expected<bool> flashnormRun(const Options &options,
                                   mlir::MLIRContext &context) {
  std::string message;
  auto file = mlir::openInputFile(options.input, &message);
  if (!file)
    return createStringError(message);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  auto module = mlir::parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return createStringError(options.input + " cannot be read");
  Expected<FuncOp> entry = findEntry(*module, options.entry);
  if (!entry)
    return entry.takeError();
  const std::string name = entry->getName().str();
  if (Error error = checkNames(*module))
    return error;
  if (Error error = checkRecursion(*entry))
    return error;
  Expected<std::vector<ArgumentInfo>> arguments = getArguments(*entry);
  if (!arguments)
    return arguments.takeError();
  if (options.compare && entry->getNumResults() == 0)
    return createStringError("@" + name +
                             " has no results, so that there is nothing to "
                             "compare; use --compare=none to run it");
  Expected<std::vector<Array>> inputs = makeInputs(*arguments, options);
  if (!inputs)
    return inputs.takeError();

  llvm::raw_ostream &os = llvm::outs();
  std::unique_ptr<Launcher> launcher;
  if (options.device != DeviceKind::CPU) {
    LauncherOptions launch;
    launch.checkGuards = options.checkGuards;
    launch.timeRepetitions = options.timeRepetitions;
    auto device = openDevice(options);
    if (!device)
      return device.takeError();
    launcher = std::make_unique<Launcher>(std::move(*device), launch);
  }
  std::string fusion;
  auto fused =
      runFused(*module, name, *inputs, options, launcher.get(), fusion);
  if (!fused)
    return fused.takeError();
  if (Error error = writeResults(*fused, "fused", options.output))
    return error;
  os << "@" << name << ", seed " << options.seed;
  if (launcher)
    os << ", " << launcher->getNumLaunches() << " launches on "
       << launcher->getDevice().properties().name;
  os << "; " << fusion << '\n';
  if (launcher)
    for (const LaunchFallback &fallback : launcher->getFallbacks())
      llvm::errs() << "flashnorm-run: note: " << fallback.kernel << ": operand "
                   << fallback.operand << ": " << fallback.reason
                   << "; it was copied\n";
  if (launcher)
    for (const LaunchTime &time : launcher->getTimes())
      os << "  " << time.kernel << ", " << time.rows
         << " rows: " << llvm::format("%.4f", time.milliseconds) << " ms\n";
  if (!options.compare) {
    if (options.output.empty())
      for (auto [i, result] : llvm::enumerate(*fused))
        describeResult(result, i, os);
    return true;
  }

  auto original = runOriginal(*module, name, *inputs, /*f64=*/false);
  if (!original)
    return original.takeError();
  auto reference = runOriginal(*module, name, *inputs, /*f64=*/true);
  if (!reference)
    return reference.takeError();
  if (Error error = llvm::joinErrors(
          writeResults(*original, "original", options.output),
          writeResults(*reference, "reference", options.output)))
    return error;
  bool passed = true;
  for (size_t i = 0, e = fused->size(); i < e; ++i) {
    const ComparedResult result = {(*fused)[i], (*original)[i],
                                   (*reference)[i]};
    if (result.fused.shape != result.original.shape ||
        result.fused.shape != result.reference.shape)
      return createStringError("result " + Twine(i) + " has shape " +
                               formatShape(result.fused.shape) +
                               ", the original's " +
                               formatShape(result.original.shape));
    llvm::SmallVector<DataType> types = {result.fused.type};
    for (const ArgumentInfo &argument : *arguments)
      types.push_back(argument.type);
    passed &= compareResult(result, i, options.tolerance, types, os);
  }
  // Without an element there is nothing that could differ.
  if (passed && llvm::all_of(*fused, [](const Array &result) {
        return result.size() == 0;
      }))
    os << "nothing compared: no result has an element\n";
  else
    os << (passed ? "PASS" : "FAIL") << '\n';
  return passed;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  auto fail = [](Error error) {
    llvm::errs() << "flashnorm-run: error: " << llvm::toString(std::move(error))
                 << '\n';
    return 1;
  };
  Expected<Options> options = parseOptions(argc, argv);
  if (!options)
    return fail(options.takeError());
  mlir::DialectRegistry registry;
  registerProgramDialects(registry);
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  // An error says what is wrong; the IR around it is in the input.
  context.printOpOnDiagnostic(false);
  Expected<bool> passed = flashnormRun(*options, context);
  if (!passed)
    return fail(passed.takeError());
  return *passed ? 0 : 1;
}
