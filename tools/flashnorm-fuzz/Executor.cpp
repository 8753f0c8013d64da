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
// Differences this small beside the largest number of a case are rounding of
// f64, which is all that there is of a value that should be 0, as the mean of a
// normalised row.
static constexpr double noise = 0x1p-40;
// The same for means, whose factor 1/N the program has in f32.
static constexpr double factorNoise = 0x1p-20;
// In their own types: by so much may a fused form of few elements be further
// off than the original, and so many of the type's usual errors are always
// allowed.
static constexpr double maxRatio = 3;
static constexpr double toleranceFactor = 4;
// Forms in f64 tell more, so that only one batch in four has the others, too.
static constexpr uint64_t ownTypesPeriod = 4;

Executor::Case Executor::makeCase(const Program &program, uint64_t index) {
  return {index, program.module.get().clone(), program.roundedConstants,
          program.nearMiss, program.mutant};
}

void Executor::add(const Program &program, uint64_t index) {
  batch.push_back(makeCase(program, index));
}

std::vector<Executor::Result> Executor::run() {
  std::vector<Result> results;
  run(batch, numBatches++ % ownTypesPeriod == 0, results);
  batch.clear();
  return results;
}

std::optional<Finding> Executor::check(const Program &program, uint64_t index,
                                       bool ownTypes) {
  std::vector<Result> results;
  Case only = makeCase(program, index);
  counts = false;
  run(only, ownTypes, results);
  counts = true;
  if (results.empty())
    return std::nullopt;
  return std::move(results.front().finding);
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

struct Executor::Forms {
  std::vector<std::string> names;
  std::vector<std::vector<run::ArgumentInfo>> arguments;
  std::vector<run::Preparation> preparations;
  std::vector<bool> areFused;
  Form original64, fused64;
  Form original, fused; ///< in their own types, if at all
};

static bool isFused(FuncOp function) {
  bool fused = false;
  function.walk([&](mlir::Operation *op) {
    fused |= op->getName().getDialectNamespace() == "flashnorm";
  });
  return fused;
}

Error Executor::compile(Forms &forms, bool ownTypes) {
  if (mistake != WrongRaise::None) {
    if (Error error = run::runPipeline(
            *forms.fused.module, "raising",
            [&](mlir::OpPassManager &pm) { buildRaisePipeline(pm, {}); }))
      return error;
    raiseWrongly(*forms.fused.module, mistake);
  }
  if (Error error = run::runPipeline(
          *forms.fused.module, "fusing",
          [&](mlir::OpPassManager &pm) { buildFusePipeline(pm, {}); }))
    return error;
  std::vector<StringRef> functions(forms.names.begin(), forms.names.end());
  std::vector<StringRef> fusedFunctions = functions;
  for (auto [name, arguments] : llvm::zip_equal(forms.names, forms.arguments)) {
    auto entry = forms.fused.module->lookupSymbol<FuncOp>(name);
    auto preparation =
        run::getPreparation(*forms.fused.module, entry, arguments.size());
    if (!preparation)
      return preparation.takeError();
    forms.preparations.push_back(std::move(*preparation));
    forms.areFused.push_back(isFused(entry));
  }
  for (const run::Preparation &preparation : forms.preparations)
    if (!preparation.function.empty())
      fusedFunctions.push_back(preparation.function);
  forms.fused64.module = forms.fused.module->clone();
  if (Error error = forms.original64.compile(true, functions))
    return error;
  if (Error error = forms.fused64.compile(true, fusedFunctions))
    return error;
  if (!ownTypes)
    return Error::success();
  if (Error error = forms.original.compile(false, functions))
    return error;
  return forms.fused.compile(false, fusedFunctions);
}

static double getLargest(llvm::ArrayRef<Array> arrays) {
  double largest = 0;
  for (const Array &array : arrays)
    for (int64_t i = 0, e = array.size(); i < e; ++i)
      if (double value = std::fabs(array.get(i)); std::isfinite(value))
        largest = std::max(largest, value);
  return largest;
}

/// No element differs by more than `limit`.
static bool isNear(const Array &a, const Array &b, double limit) {
  for (int64_t i = 0, e = a.size(); i < e; ++i)
    if (!(std::fabs(a.get(i) - b.get(i)) <= limit))
      return false;
  return true;
}

Error Executor::compare(const Case &each, const Forms &forms, size_t i,
                        std::vector<Result> &results) {
  const std::string &name = forms.names[i];
  const run::Preparation &preparation = forms.preparations[i];
  // Of a mutant, no more is asked than that it means the same.
  const bool ownTypes = forms.fused.program && !each.mutant;
  Random random(seed ^ 0x5eed, each.index);
  run::Options options;
  options.seed = random.next();
  options.rows = random.pick<int64_t>({1, 2, 4, 5});
  options.values =
      random.pick({"normal", "normal", "uniform", "heavy-tail", "small"});
  auto inputs = run::makeInputs(forms.arguments[i], options);
  if (!inputs)
    return inputs.takeError();
  auto f64 = callPrepared(*forms.fused64.program, name, preparation, *inputs);
  if (!f64)
    return f64.takeError();
  auto o64 = forms.original64.program->call(name, *inputs);
  if (!o64)
    return o64.takeError();
  std::vector<Array> f, o;
  if (ownTypes) {
    auto fusedResults =
        callPrepared(*forms.fused.program, name, preparation, *inputs);
    if (!fusedResults)
      return fusedResults.takeError();
    auto originalResults = forms.original.program->call(name, *inputs);
    if (!originalResults)
      return originalResults.takeError();
    f = std::move(*fusedResults);
    o = std::move(*originalResults);
  }
  auto report = [&](const char *kind, std::string message) {
    results.push_back({each.index, {kind, "execute", std::move(message)}});
    return Error::success();
  };
  const double largest = std::max(getLargest(*inputs), getLargest(*o64));
  size_t rank = 0;
  for (const Array &array : *o64)
    rank = std::max(rank, array.shape.size());
  for (size_t result = 0; result < o64->size(); ++result) {
    auto describe = [&](double error, double limit) {
      std::string message;
      llvm::raw_string_ostream(message)
          << "result " << result << ": error " << llvm::format("%.2e", error)
          << " exceeds " << llvm::format("%.2e", limit) << "; seed "
          << options.seed << ", rows " << *options.rows << ", "
          << options.values;
      return message;
    };
    if ((*f64)[result].shape != (*o64)[result].shape)
      return report("mismatch", "shapes differ");
    const double exact = run::getError((*f64)[result], (*o64)[result]);
    double exactLimit =
        preparation.function.empty() ? exactTolerance : preparedTolerance;
    // Where numbers cancel, the rounding of a factor of their mean counts for
    // more, as all roundings of the original do.
    if (each.roundedConstants)
      exactLimit =
          std::max(roundedConstantTolerance,
                   ownTypes ? run::getError(o[result], (*o64)[result]) : 0.0);
    // The error of a mean goes with the numbers that it is the mean of.
    const bool isStatistic = (*o64)[result].shape.size() < rank;
    const double allowed = largest * (!isStatistic            ? noise
                                      : each.roundedConstants ? exactLimit
                                                              : factorNoise);
    if (!(exact <= exactLimit) &&
        !isNear((*f64)[result], (*o64)[result], allowed))
      return report("mismatch", describe(exact, exactLimit));
    if (!ownTypes)
      continue;
    llvm::SmallVector<DataType> types = {o[result].type};
    for (const run::ArgumentInfo &argument : forms.arguments[i])
      types.push_back(argument.type);
    const double error = run::getError(f[result], (*o64)[result]);
    const double limit =
        std::max(maxRatio * run::getError(o[result], (*o64)[result]),
                 toleranceFactor * run::getDefaultTolerance(types));
    if (!(error <= limit))
      return report("inaccurate", describe(error, limit));
  }
  return Error::success();
}

void Executor::run(llvm::MutableArrayRef<Case> cases, bool ownTypes,
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

  Forms forms;
  OwningOpRef<ModuleOp> all = ModuleOp::create(mlir::UnknownLoc::get(&context));
  for (Case &each : cases) {
    FuncOp function = *each.module->getOps<FuncOp>().begin();
    auto info = run::getArguments(function);
    if (!info) {
      results.push_back(
          {each.index,
           {"execution", "signature", llvm::toString(info.takeError())}});
      return;
    }
    forms.arguments.push_back(std::move(*info));
    forms.names.push_back(getName(each.index));
    FuncOp copy = function.clone();
    copy.setName(forms.names.back());
    all->push_back(copy);
  }
  for (Form *form : {&forms.original64, &forms.original, &forms.fused})
    form->module = all->clone();
  if (Error error = compile(forms, ownTypes)) {
    std::string message = llvm::toString(std::move(error));
    if (cases.size() > 1) {
      // Which one was it?
      for (Case &each : cases)
        run(each, ownTypes, results);
      return;
    }
    // What mutation leaves need not lower; that the fused form does is checked
    // pass by pass.
    if (!cases.front().mutant)
      results.push_back({cases.front().index,
                         {"execution", "compile for the CPU",
                          message + ": " + lastError.substr(0, 200)}});
    return;
  }

  for (auto [i, each] : llvm::enumerate(cases)) {
    progress.index = each.index;
    progress.setWhere("execute");
    if (Error error = compare(each, forms, i, results))
      results.push_back(
          {each.index,
           {"execution", "execute", llvm::toString(std::move(error))}});
    if (!counts)
      continue;
    ++progress.executed;
    progress.executedFused += forms.areFused[i];
    progress.executedNearMisses += each.nearMiss;
    progress.executedMutants += each.mutant;
  }
}
