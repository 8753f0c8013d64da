//===- flashnorm-compile.cpp - From a model's IR to GPU code --------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// flashnorm-compile in.mlir --chip=sm_100a -o dir
//
// Writes dir/kernels.ptx, dir/kernels.cubin where ptxas is found,
// dir/manifest.json and dir/host.mlir (the module with a flashnorm.launch for
// each kernel), removes what an earlier run left there, and prints what became
// of each norm and matmul.
//
//===----------------------------------------------------------------------===//

#include "OutputDirectory.h"
#include "flashnorm/Pipelines/Artifacts.h"
#include "flashnorm/Pipelines/Pipelines.h"
#include "flashnorm/Pipelines/Remarks.h"
#include "flashnorm/Pipelines/Summary.h"
#include "flashnorm/Planning/Target.h"
#include "flashnorm/Register.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace flashnorm;

namespace {
struct Options {
  llvm::cl::OptionCategory category{"flashnorm-compile options"};
  std::string chipHelp =
      "target chip: " + describeLegalChips() + " (default: sm_90a)";
  llvm::cl::opt<std::string> input{
      llvm::cl::Positional, llvm::cl::desc("<input file>"), llvm::cl::init("-"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> output{
      "o", llvm::cl::desc("directory for the artifacts, made if missing"),
      llvm::cl::value_desc("directory"), llvm::cl::init(""),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> chip{"chip", llvm::cl::desc(chipHelp),
                                  llvm::cl::init("sm_90a"),
                                  llvm::cl::cat(category)};
  llvm::cl::opt<std::string> family{
      "family",
      llvm::cl::desc("MMA family: auto, mma_sync, wgmma or tcgen05 (default: "
                     "auto, which is wgmma on sm_90a, else mma_sync)"),
      llvm::cl::init("auto"), llvm::cl::cat(category)};
  llvm::cl::opt<bool> preserveRounding{
      "preserve-rounding",
      llvm::cl::desc("round where the program does; what cannot is left "
                     "unfused"),
      llvm::cl::cat(category)};
  llvm::cl::opt<int64_t> ptxVersion{
      "ptx-version",
      llvm::cl::desc(
          "PTX ISA version, 86 for 8.6 (default: 0, the chip's own)"),
      llvm::cl::init(0), llvm::cl::cat(category)};
  llvm::cl::opt<std::string> ptxas{
      "ptxas",
      llvm::cl::desc("path of ptxas (default: $FLASHNORM_PTXAS, the search "
                     "path, $CUDA_HOME/bin, /usr/local/cuda/bin)"),
      llvm::cl::init(""), llvm::cl::cat(category)};
  llvm::cl::opt<bool> noCubin{"no-cubin", llvm::cl::desc("do not run ptxas"),
                              llvm::cl::cat(category)};
  llvm::cl::opt<bool> quiet{"quiet", llvm::cl::desc("print no summary"),
                            llvm::cl::cat(category)};
};
} // namespace

static LogicalResult compile(ModuleOp module, const Options &options,
                             CompileSummary &summary) {
  auto run = [&](llvm::function_ref<void(OpPassManager &)> build) {
    PassManager pm(module.getContext());
    if (failed(applyPassManagerCLOptions(pm)))
      return failure();
    build(pm);
    return pm.run(module);
  };
  FuseOptions fuse;
  fuse.chip = options.chip.getValue();
  fuse.family = options.family.getValue();
  fuse.preserveRounding = options.preserveRounding.getValue();
  CompileOptions compile;
  compile.chip = options.chip.getValue();
  compile.ptxVersion = options.ptxVersion.getValue();
  compile.format = "ptx";
  summary.addInput(module);
  if (failed(run([&](OpPassManager &pm) { buildFusePipeline(pm, fuse); })))
    return failure();
  summary.addPlanned(module);
  return run([&](OpPassManager &pm) { buildCompilePipeline(pm, compile); });
}

static int fail(const llvm::Twine &message) {
  llvm::errs() << "flashnorm-compile: error: " << message << '\n';
  return 1;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  Options options;
  registerPasses(); // what --mlir-print-ir-after and its like may name
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  registerPassManagerCLOptions();
  llvm::cl::SetVersionPrinter(printVersion);
  llvm::cl::HideUnrelatedOptions(options.category);
  llvm::cl::ParseCommandLineOptions(
      argc, argv, "FlashNorm: from a model's IR to GPU code\n");
  if (options.output.empty())
    return fail("no output directory; name one with -o");

  DialectRegistry registry;
  registerProgramDialects(registry);
  registerDialects(registry);
  MLIRContext context(registry);
  // An error says what is wrong; the IR around it is in the input.
  context.printOpOnDiagnostic(false);

  llvm::SourceMgr sources;
  std::string message;
  auto file = openInputFile(options.input, &message);
  if (!file)
    return fail(message);
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return 1;

  std::vector<CollectedRemark> remarks;
  if (failed(collectRemarks(context, remarks)))
    return fail("cannot set up remarks");
  CompileSummary summary;
  if (failed(compile(*module, options, summary)))
    return 1;
  FailureOr<std::vector<Artifact>> artifacts = collectArtifacts(*module);
  if (failed(artifacts))
    return 1;
  if (artifacts->size() > 1)
    return fail("the module has " + llvm::Twine(artifacts->size()) +
                " gpu.binary ops; one manifest describes one: compile a module "
                "that has none");
  summary.addCompiled(*module, *artifacts);

  // Everything is made before the first byte is written.
  std::vector<OutputFile> files;
  for (const Artifact &artifact : *artifacts) {
    files.push_back({artifact.name + ".ptx", artifact.object});
    if (!options.noCubin) {
      llvm::Expected<std::optional<std::string>> cubin =
          assembleArtifact(artifact, options.ptxas);
      if (!cubin)
        return fail(llvm::toString(cubin.takeError()));
      if (*cubin)
        files.push_back({artifact.name + ".cubin", std::move(**cubin)});
    }
    std::string manifest;
    llvm::raw_string_ostream(manifest)
        << llvm::formatv("{0:2}", artifact.manifest) << '\n';
    files.push_back({"manifest.json", std::move(manifest)});
  }
  // The host's part; the code is in the other files.
  for (auto binary :
       llvm::make_early_inc_range(module->getOps<gpu::BinaryOp>()))
    binary.erase();
  std::string host;
  llvm::raw_string_ostream hostStream(host);
  module->print(hostStream);
  hostStream << '\n';
  files.push_back({"host.mlir", std::move(host)});

  if (llvm::Error error = replaceOutput(options.output, files))
    return fail(llvm::toString(std::move(error)));
  if (!options.quiet) {
    summary.print(llvm::outs(), remarks);
    llvm::outs() << "wrote to " << options.output << ":";
    for (const OutputFile &file : files)
      llvm::outs() << ' ' << file.name;
    llvm::outs() << '\n';
  }
  return 0;
}
