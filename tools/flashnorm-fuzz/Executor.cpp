//===- Executor.cpp - Runs programs before and after fusion ---------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Executor.h"
#include "Compare.h"
#include "Forms.h"
#include "HostProgram.h"
#include "flashnorm/Pipelines/Pipelines.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Format.h"

using namespace flashnorm;
using namespace flashnorm::fuzz;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using mlir::ModuleOp;
using mlir::OwningOpRef;
using mlir::func::FuncOp;

// Two forms that mean the same agree in f64 to this, relative to the RMS of the
// result. The first leaves room for constants such as 1/N and epsilon, which
// the program has in f32.
static constexpr double exactTolerance = 1e-5;
static constexpr double roundedConstantTolerance = 3e-2;
// A prepared weight's rounding is shifted by less than half an ulp, in f64 too.
static constexpr double preparedTolerance = 4e-3;
// In their own types: by so much may a fused form of few elements be further
// off than the original, and so many of the type's usual errors are always
// allowed.
static constexpr double maxRatio = 3;
static constexpr double toleranceFactor = 4;
// Forms in f64 tell more, so that only one batch in four has the others, too.
static constexpr uint64_t ownTypesPeriod = 4;

void Executor::add(const Program &program, uint64_t index) {
  batch.push_back(
      {index, program.module.get().clone(), program.roundedConstants});
}

std::vector<Executor::Result> Executor::run() {
  std::vector<Result> results;
  run(batch, results);
  batch.clear();
  return results;
}

static std::string getName(uint64_t index) {
  return "f" + std::to_string(index);
}

namespace {
/// One form of all programs of a batch.
struct Form {
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<run::HostProgram> program;

  Error compile(bool f64, llvm::ArrayRef<StringRef> functions) {
    LowerToReferenceOptions options;
    options.f64 = f64;
    if (Error error =
            run::runPipeline(*module, "lowering", [&](mlir::OpPassManager &pm) {
              buildLowerToReferencePipeline(pm, options);
            }))
      return error;
    run::HostOptions host;
    host.optimize = false;
    auto compiled = run::HostProgram::create(*module, functions, host);
    if (!compiled)
      return compiled.takeError();
    program = std::move(*compiled);
    return Error::success();
  }
};
} // namespace

static bool isFused(FuncOp function) {
  bool fused = false;
  function.walk([&](mlir::Operation *op) {
    fused |= op->getName().getDialectNamespace() == "flashnorm";
  });
  return fused;
}

void Executor::run(llvm::MutableArrayRef<Case> cases,
                   std::vector<Result> &results) {
  if (cases.empty())
    return;
  progress.index = cases.front().index;
  progress.setWhere("compile for the CPU");
  std::string lastError;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error &&
            lastError.empty())
          lastError = diagnostic.str();
      });

  OwningOpRef<ModuleOp> all = ModuleOp::create(mlir::UnknownLoc::get(&context));
  std::vector<std::string> names;
  std::vector<std::vector<run::ArgumentInfo>> arguments;
  for (Case &each : cases) {
    ModuleOp module = *each.module;
    FuncOp function = *module.getOps<FuncOp>().begin();
    auto info = run::getArguments(function);
    if (!info) {
      results.push_back(
          {each.index,
           {"execution", "signature", llvm::toString(info.takeError())}});
      return;
    }
    arguments.push_back(std::move(*info));
    names.push_back(getName(each.index));
    FuncOp copy = function.clone();
    copy.setName(names.back());
    all->push_back(copy);
  }
  std::vector<StringRef> functions(names.begin(), names.end());
  const bool ownTypes = numBatches++ % ownTypesPeriod == 0;

  Form original{all->clone(), nullptr}, original64{all->clone(), nullptr};
  Form fused{all->clone(), nullptr}, fused64;
  std::vector<run::Preparation> preparations(cases.size());
  std::vector<bool> areFused;
  auto compile = [&]() -> Error {
    FuseOptions fuse;
    if (Error error = run::runPipeline(
            *fused.module, "fusing",
            [&](mlir::OpPassManager &pm) { buildFusePipeline(pm, fuse); }))
      return error;
    std::vector<StringRef> fusedFunctions = functions;
    for (size_t i = 0; i < cases.size(); ++i) {
      auto entry = fused.module->lookupSymbol<FuncOp>(names[i]);
      auto preparation =
          run::getPreparation(*fused.module, entry, arguments[i].size());
      if (!preparation)
        return preparation.takeError();
      preparations[i] = std::move(*preparation);
      if (!preparations[i].function.empty())
        fusedFunctions.push_back(preparations[i].function);
      areFused.push_back(isFused(entry));
    }
    fused64.module = fused.module->clone();
    if (Error error = original64.compile(true, functions))
      return error;
    if (Error error = fused64.compile(true, fusedFunctions))
      return error;
    if (!ownTypes)
      return Error::success();
    if (Error error = original.compile(false, functions))
      return error;
    return fused.compile(false, fusedFunctions);
  };
  if (Error error = compile()) {
    std::string message = llvm::toString(std::move(error));
    if (cases.size() == 1) {
      results.push_back({cases.front().index,
                         {"execution", "compile for the CPU",
                          message + ": " + lastError.substr(0, 200)}});
      return;
    }
    // Which one was it?
    for (Case &each : cases)
      run(each, results);
    return;
  }

  for (size_t i = 0; i < cases.size(); ++i) {
    progress.index = cases[i].index;
    progress.setWhere("execute");
    Random random(seed ^ 0x5eed, cases[i].index);
    run::Options options;
    options.seed = random.next();
    options.rows = random.pick<int64_t>({1, 2, 4, 5});
    options.values = random.pick({"normal", "normal", "uniform", "heavy-tail"});
    auto inputs = run::makeInputs(arguments[i], options);
    auto check = [&]() -> Error {
      if (!inputs)
        return inputs.takeError();
      auto f64 =
          callPrepared(*fused64.program, names[i], preparations[i], *inputs);
      if (!f64)
        return f64.takeError();
      auto o64 = original64.program->call(names[i], *inputs);
      if (!o64)
        return o64.takeError();
      std::vector<Array> f, o;
      if (ownTypes) {
        auto fusedResults =
            callPrepared(*fused.program, names[i], preparations[i], *inputs);
        if (!fusedResults)
          return fusedResults.takeError();
        auto originalResults = original.program->call(names[i], *inputs);
        if (!originalResults)
          return originalResults.takeError();
        f = std::move(*fusedResults);
        o = std::move(*originalResults);
      }
      for (size_t result = 0; result < o64->size(); ++result) {
        auto report = [&](const char *kind, double error, double limit) {
          std::string message;
          llvm::raw_string_ostream(message)
              << "result " << result << ": error "
              << llvm::format("%.2e", error) << " exceeds "
              << llvm::format("%.2e", limit) << "; seed " << options.seed
              << ", rows " << *options.rows << ", " << options.values;
          results.push_back({cases[i].index, {kind, "execute", message}});
        };
        if ((*f64)[result].shape != (*o64)[result].shape) {
          results.push_back(
              {cases[i].index, {"mismatch", "execute", "shapes differ"}});
          break;
        }
        const double exact = run::getError((*f64)[result], (*o64)[result]);
        const double exactLimit =
            cases[i].roundedConstants          ? roundedConstantTolerance
            : preparations[i].function.empty() ? exactTolerance
                                               : preparedTolerance;
        if (!(exact <= exactLimit)) {
          report("mismatch", exact, exactLimit);
          break;
        }
        if (!ownTypes)
          continue;
        llvm::SmallVector<DataType> types = {o[result].type};
        for (const run::ArgumentInfo &argument : arguments[i])
          types.push_back(argument.type);
        const double error = run::getError(f[result], (*o64)[result]);
        const double limit =
            std::max(maxRatio * run::getError(o[result], (*o64)[result]),
                     toleranceFactor * run::getDefaultTolerance(types));
        if (!(error <= limit)) {
          report("inaccurate", error, limit);
          break;
        }
      }
      return Error::success();
    };
    if (Error error = check())
      results.push_back(
          {cases[i].index,
           {"execution", "execute", llvm::toString(std::move(error))}});
    ++progress.executed;
    progress.executedFused += areFused[i];
  }
}
