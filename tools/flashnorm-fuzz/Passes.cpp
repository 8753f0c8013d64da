//===- Passes.cpp - Puts a program through the passes ---------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Passes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cstring>
#include <execinfo.h>

using namespace mlir;
using namespace flashnorm;
using namespace flashnorm::fuzz;

// The linker puts them around the program's code.
extern "C" char __executable_start, etext;

static constexpr StringRef chips[] = {"sm_80", "sm_90a", "sm_100a", "sm_120"};

// What people run before us.
static constexpr StringRef preludes[] = {
    "canonicalize",
    "cse",
    "func.func(linalg-generalize-named-ops)",
    "linalg-fuse-elementwise-ops",
    "func.func(convert-elementwise-to-linalg)",
    "func.func(linalg-fold-unit-extent-dims)",
    "func.func(tosa-to-linalg-named,tosa-to-linalg,tosa-to-tensor,tosa-to-"
    "arith)"};

// Ours by themselves, in any order.
static constexpr StringRef singlePasses[] = {
    "func.func(flashnorm-raise-norms)",
    "func.func(flashnorm-raise-norms{preserve-rounding=true})",
    "func.func(flashnorm-raise-matmuls)",
    "func.func(flashnorm-raise-matmuls{preserve-rounding=true})",
    "func.func(flashnorm-fuse-epilogues)",
    "func.func(flashnorm-fuse-epilogues{preserve-rounding=true})",
    "func.func(flashnorm-fuse-glu)",
    "func.func(flashnorm-fuse-glu{layout=interleaved preserve-rounding=true})",
    "func.func(flashnorm-fuse-quantization)",
    "func.func(flashnorm-cancel-norms)",
    "func.func(flashnorm-concat-matmuls)",
    "func.func(flashnorm-share-statistics)",
    "flashnorm-fold-norm-weight",
    "flashnorm-defer-norms",
    "flashnorm-prepare-weights",
    "flashnorm-fuse-norms",
    "flashnorm-fuse-norms{preserve-rounding=true}",
    "func.func(flashnorm-plan)",
    "func.func(flashnorm-decompose-for-host)",
    "func.func(flashnorm-order-loops)",
    "canonicalize",
    "cse"};

void Progress::setWhere(StringRef name) {
  const size_t size = std::min(name.size(), sizeof(where) - 1);
  std::memcpy(where, name.data(), size);
  where[size] = 0;
}

LLVM_ATTRIBUTE_NOINLINE int64_t fuzz::countOwnFrames() {
  void *frames[256];
  const int count = backtrace(frames, 256);
  return std::count_if(frames, frames + count, [](void *frame) {
    return frame >= &__executable_start && frame < &etext;
  });
}

static std::string onOneLine(StringRef text) {
  std::string line = text.str();
  for (char &c : line)
    if (c == '\n' || c == '\t')
      c = ' ';
  if (line.size() > 300)
    line.resize(300);
  return line;
}

/// Notes the pass and, in place of the pass manager, which would tell less of
/// it, verifies what the pass leaves.
class PassRunner::Watch : public PassInstrumentation {
public:
  Watch(PassRunner &runner) : runner(runner) {}

  void runBeforePass(Pass *pass, Operation *) override {
    if (!isAdaptor(pass))
      runner.progress.setWhere(getName(pass));
  }
  void runAfterPass(Pass *pass, Operation *op) override {
    if (runner.invalid || isAdaptor(pass))
      return;
    if (failed(verify(op)))
      runner.invalid =
          Finding{"verifier", getName(pass).str(), onOneLine(runner.lastError)};
  }
  void runAfterPassFailed(Pass *pass, Operation *) override {
    if (!isAdaptor(pass))
      runner.lastPass = getName(pass).str();
  }

private:
  static bool isAdaptor(Pass *pass) { return pass->getArgument().empty(); }
  static StringRef getName(Pass *pass) { return pass->getArgument(); }

  PassRunner &runner;
};

PassRunner::PassRunner(MLIRContext &context, Progress &progress)
    : context(context), progress(progress) {}
PassRunner::~PassRunner() = default;

PassManager &PassRunner::get(StringRef pipeline) {
  std::unique_ptr<PassManager> &manager = managers[pipeline];
  if (manager)
    return *manager;
  manager = std::make_unique<PassManager>(&context);
  if (failed(parsePassPipeline(pipeline, *manager)))
    llvm::report_fatal_error("pipeline cannot be parsed: " + Twine(pipeline));
  manager->enableVerifier(false);
  manager->addInstrumentation(std::make_unique<Watch>(*this));
  return *manager;
}

bool PassRunner::run(StringRef pipeline, ModuleOp module, bool mayReject,
                     std::optional<Finding> &finding) {
  invalid.reset();
  lastError.clear();
  lastPass.clear();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
        lastError.empty())
      lastError = diagnostic.str();
  });
  PassManager &manager = get(pipeline);
  progress.ownFrames = countOwnFrames();
  const bool succeeded = mlir::succeeded(manager.run(module));
  if (invalid) {
    // What upstream's passes make of upstream's ops is not ours; nor is it when
    // they fold casts between sizes that contradict each other into our ops.
    const StringRef where = invalid->where, message = invalid->message;
    const bool ours =
        where.contains("flashnorm") || where.contains("kernel") ||
        ((message.contains("'flashnorm.") || message.contains("'kernel.")) &&
         !message.contains("does not have the shape of") &&
         !message.contains("operands disagree in dimension"));
    if (ours)
      finding = std::move(invalid);
    else
      ++progress.upstream;
    invalid.reset();
    return false;
  }
  if (succeeded)
    return true;
  ++progress.rejected;
  if (lastError.empty())
    finding = Finding{"silent-failure", lastPass, "failed without an error"};
  else if (!mayReject)
    finding = Finding{"rejected", lastPass, onOneLine(lastError)};
  return false;
}

void PassRunner::prepare(ModuleOp module, Random &random) {
  if (!random.chance(30))
    return;
  OwningOpRef<ModuleOp> before = module.clone();
  std::optional<Finding> ignored;
  for (int64_t i = 0, e = 1 + random.below(3); i < e; ++i)
    if (!run(random.pickFrom(preludes), module, true, ignored)) {
      // Upstream's business; go on with what there was.
      module.getBodyRegion().takeBody(before->getBodyRegion());
      return;
    }
}

static void count(ModuleOp module, uint64_t &norms, uint64_t &fused,
                  uint64_t &planned) {
  module.walk([&](Operation *op) {
    StringRef name = op->getName().getStringRef();
    norms += name == "flashnorm.rms_norm" || name == "flashnorm.layer_norm";
    if (name != "flashnorm.matmul")
      return;
    fused += bool(op->getInherentAttr("pre_norm").value_or(nullptr)) ||
             bool(op->getInherentAttr("post_norm").value_or(nullptr));
    planned += bool(op->getInherentAttr("plan").value_or(nullptr));
  });
}

static std::string firstDifference(ModuleOp before, ModuleOp after) {
  std::string old, fresh;
  llvm::raw_string_ostream(old) << before;
  llvm::raw_string_ostream(fresh) << after;
  SmallVector<StringRef> oldLines, freshLines;
  StringRef(old).split(oldLines, '\n');
  StringRef(fresh).split(freshLines, '\n');
  for (auto [a, b] : llvm::zip(oldLines, freshLines))
    if (a != b)
      return onOneLine(("was " + a.trim().take_front(140) + " and became " +
                        b.trim().take_front(140))
                           .str());
  return "one is longer";
}

std::optional<Finding> PassRunner::check(const Program &program,
                                         Random &random) {
  std::optional<Finding> finding;
  const bool mayFail = program.mayFail;
  uint64_t ignored = 0;

  if (random.chance(10)) {
    OwningOpRef<ModuleOp> raised = program.module.get().clone();
    if (run("flashnorm-raise", *raised, mayFail, finding)) {
      count(*raised, progress.norms, ignored, ignored);
      run("flashnorm-lower-to-reference", *raised, mayFail, finding);
    }
    if (finding)
      return finding;
  }

  OwningOpRef<ModuleOp> fused = program.module.get().clone();
  // What a simplification makes recognisable is recognised the second time.
  const bool twice = random.chance(20);
  if (twice && !run("canonicalize,cse", *fused, true, finding))
    return finding;
  const StringRef chip = random.pickFrom(chips);
  const StringRef rounding = random.chance(20) ? " preserve-rounding=true" : "";
  const std::string fuse =
      ("flashnorm-fuse{chip=" + chip + rounding + "}").str();
  if (run(fuse, *fused, mayFail, finding)) {
    count(*fused, progress.norms, progress.fused, progress.planned);
    // What is fused stays as it is.
    if (twice) {
      OwningOpRef<ModuleOp> again = fused->clone();
      if (run(fuse, *again, mayFail, finding) &&
          !OperationEquivalence::isEquivalentTo(
              *fused, *again, OperationEquivalence::IgnoreLocations))
        return Finding{"not-idempotent", fuse, firstDifference(*fused, *again)};
      if (finding)
        return finding;
    }
    if (random.chance(mayFail ? 5 : 2)) {
      OwningOpRef<ModuleOp> compiled = fused->clone();
      progress.kernels +=
          run(random.chance(30) ? "flashnorm-compile{format=ptx}"
                                : "flashnorm-compile{format=nvvm}",
              *compiled, mayFail, finding);
      if (finding)
        return finding;
    }
    const bool f64 = random.chance(10);
    if (run(f64 ? "flashnorm-lower-to-reference{f64=true}"
                : "flashnorm-lower-to-reference",
            *fused, mayFail, finding)) {
      if (random.chance(3))
        run("func.func(convert-elementwise-to-linalg),flashnorm-lower-to-cpu",
            *fused, mayFail, finding);
    }
  }
  if (finding)
    return finding;

  if (random.chance(10)) {
    OwningOpRef<ModuleOp> single = program.module.get().clone();
    for (int64_t i = 0, e = 2 + random.below(6); i < e; ++i)
      // Some of them reject what only a pipeline would have lowered before.
      if (!run(random.pickFrom(singlePasses), *single, /*mayReject=*/true,
               finding))
        return finding;
    run("flashnorm-lower-to-reference", *single, mayFail, finding);
  }
  return finding;
}
