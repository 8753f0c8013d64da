//===- flashnorm-fuzz.cpp - Random programs through all passes ------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Case i of a seed is always the same program. Cases run in worker processes,
// some thousand in each, so that a crash costs one case; what a worker is at it
// notes in shared memory.
//
//===----------------------------------------------------------------------===//

#include "Determinism.h"
#include "Executor.h"
#include "Forms.h"
#include "Mutator.h"
#include "Options.h"
#include "Passes.h"
#include "Reducer.h"
#include "flashnorm/Register.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <csignal>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace flashnorm::fuzz;
using llvm::StringRef;
using mlir::ModuleOp;
using mlir::OwningOpRef;
using mlir::func::FuncOp;
namespace cl = llvm::cl;

static constexpr uint64_t casesPerWorker = 2000;
static constexpr size_t programsPerBatch = 16;

static void limitTime(unsigned limit) {
  itimerval timer = {};
  timer.it_value.tv_sec = limit;
  setitimer(ITIMER_VIRTUAL, &timer, nullptr);
}

namespace {
class Fuzzer {
public:
  Fuzzer(mlir::MLIRContext &context, const Corpus &corpus, Progress &progress,
         std::optional<Program> replayed)
      : context(context), corpus(corpus), progress(progress),
        replayed(std::move(replayed)), passes(context, progress),
        executor(context, progress, seed, wrongRaise) {}

  /// Goes through the cases from `begin` to before `end`.
  void run(uint64_t begin, uint64_t end);
  /// With the command that replays it once it is in the file of this path.
  void printCase(uint64_t index, llvm::raw_ostream &os, StringRef path = "");
  void report(uint64_t index, const Finding &finding);

  double getElapsed() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  /// No further case is begun.
  bool isDone() const {
    return hasFoundEnough() || (seconds && getElapsed() >= seconds);
  }

private:
  using Clock = std::chrono::steady_clock;

  bool hasFoundEnough() const {
    return maxFindings && progress.findings >= maxFindings;
  }
  Program make(uint64_t index, Random &random);
  void writeReduced(uint64_t index, const Finding &finding,
                    const std::string &path);
  void noteUnwritten(StringRef path, std::error_code code);
  bool isWritten(llvm::raw_fd_ostream &file, StringRef path);
  void runBatch();

  mlir::MLIRContext &context;
  const Corpus &corpus;
  Progress &progress;
  std::optional<Program> replayed;
  PassRunner passes;
  Executor executor;
  const Clock::time_point start = Clock::now();
};
} // namespace

Program Fuzzer::make(uint64_t index, Random &random) {
  Random kind(~seed, index);
  if (replayed) {
    Program program;
    program.module = replayed->module.get().clone();
    program.mayFail = program.mutant = replayed->mutant;
    program.executable = replayed->executable;
    program.roundedConstants = replayed->roundedConstants;
    return program;
  }
  if (!corpus.empty() && kind.chance(mutants))
    return corpus.mutate(random);
  Program program = generateProgram(context, random);
  passes.prepare(*program.module, kind);
  return program;
}

/// The comment of a file that holds `program`.
static void printReplay(const Program &program, uint64_t index, StringRef path,
                        llvm::raw_ostream &os) {
  os << "// replay: flashnorm-fuzz --seed=" << seed << " --first=" << index
     << " --replay=" << path;
  if (program.mayFail)
    os << " --replay-mutant";
  if (wrongRaise != WrongRaise::None)
    os << " --wrong-raise=" << wrongRaiseName;
  os << '\n';
}

void Fuzzer::printCase(uint64_t index, llvm::raw_ostream &os, StringRef path) {
  Random random(seed, index);
  Program program = make(index, random);
  if (path.empty())
    os << "// flashnorm-fuzz --seed=" << seed << ", case " << index << '\n';
  else
    printReplay(program, index, path, os);
  program.module->print(os);
  os << '\n';
}

/// One write, so that lines of several processes do not mix.
static void say(const std::string &line) {
  ssize_t written = ::write(STDOUT_FILENO, line.data(), line.size());
  (void)written;
}

/// Runs `question` in a process of its own, as it may crash.
static bool holdsInChild(llvm::function_ref<bool()> question) {
  const pid_t child = fork();
  if (child == 0)
    _exit(question() ? 0 : 1);
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child &&
         WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void Fuzzer::noteUnwritten(StringRef path, std::error_code code) {
  ++progress.unwritten;
  fail("--output: " + path + ": " + code.message());
}

/// Whether all went into a finding's file; if not, that is said. An error that
/// stayed in the stream would end the process.
bool Fuzzer::isWritten(llvm::raw_fd_ostream &file, StringRef path) {
  const std::error_code code = file.error();
  if (!code)
    return true;
  file.clear_error();
  noteUnwritten(path, code);
  return false;
}

void Fuzzer::writeReduced(uint64_t index, const Finding &finding,
                          const std::string &path) {
  Random random(seed, index);
  Program program = make(index, random);
  Program part;
  part.roundedConstants = program.roundedConstants;
  part.mutant = program.mutant;
  OwningOpRef<ModuleOp> reduced = reduce(*program.module, [&](ModuleOp module) {
    part.module = module.clone();
    return holdsInChild([&] {
      std::signal(SIGSEGV, SIG_DFL);
      limitTime(caseLimit);
      auto found = executor.check(part, index, finding.kind == "inaccurate");
      return found && found->kind == finding.kind;
    });
  });
  std::error_code code;
  llvm::raw_fd_ostream file(path, code);
  if (code)
    return noteUnwritten(path, code);
  file << "// reduced from case " << index << " of seed " << seed << ": "
       << finding.kind << '\n';
  printReplay(program, index, path, file);
  reduced->print(file);
  file << '\n';
  file.close();
  isWritten(file, path);
}

void Fuzzer::report(uint64_t index, const Finding &finding) {
  const bool upstream = llvm::StringRef(finding.kind).starts_with("upstream-");
  ++(upstream ? progress.upstream : progress.findings);
  say((upstream ? "not ours: " : "finding: ") + finding.kind + " in " +
      finding.where + ", case " + std::to_string(index) + ": " +
      finding.message + "\n");
  if (output.empty())
    return;
  const std::string stem = output + "/" + finding.kind + "-" +
                           std::to_string(seed) + "-" + std::to_string(index);
  if (reduceFindings &&
      (finding.kind == "mismatch" || finding.kind == "inaccurate"))
    writeReduced(index, finding, stem + "-reduced.mlir");
  const std::string path = stem + ".mlir";
  std::error_code code;
  llvm::raw_fd_ostream file(path, code);
  if (code)
    return noteUnwritten(path, code);
  file << "// " << finding.kind << " in " << finding.where << ": "
       << finding.message << '\n';
  file.flush();
  if (!isWritten(file, path))
    return;
  // Making a case can crash and hang, too: it is made in a process of its own.
  const pid_t child = fork();
  if (child == 0) {
    limitTime(caseLimit);
    printCase(index, file, path);
    file.close();
    isWritten(file, path);
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child)
    return noteUnwritten(path, std::error_code(errno, std::generic_category()));
  if (status != 0)
    file << "// no program: making case " << index << " of seed " << seed
         << " ends the process\n";
  file.flush();
  isWritten(file, path);
}

void Fuzzer::runBatch() {
  for (const Executor::Result &result : executor.run())
    if (!hasFoundEnough())
      report(result.index, result.finding);
}

void Fuzzer::run(uint64_t begin, uint64_t end) {
  for (uint64_t index = begin; index < end && !isDone(); ++index) {
    progress.index = index;
    progress.setWhere("generate");
    limitTime(caseLimit);
    Random random(seed, index);
    ++progress.cases;
    Program program = make(index, random);
    progress.mutated += program.mutant;
    Random choices(seed + 1, index);
    std::optional<Finding> finding = passes.check(program, choices);
    if (finding)
      report(index, *finding);
    if (!finding && program.executable && choices.below(1000) < execute)
      executor.add(program, index);
    if (executor.size() == programsPerBatch) {
      limitTime(programsPerBatch * caseLimit);
      runBatch();
    }
  }
  if (hasFoundEnough())
    return;
  limitTime(programsPerBatch * caseLimit);
  runBatch();
}

static Progress *crashProgress;

/// Looks at the stack before the worker dies of the signal.
static void noteCrash(int signal) {
  // Without this function's own frame.
  crashProgress->crashFrames = countOwnFrames() - 1;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

static void noteCrashes(Progress &progress) {
  crashProgress = &progress;
  countOwnFrames(); // loads what a signal handler may not load
  static char stack[1 << 16];
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof(stack);
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_handler = noteCrash;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    sigaction(signal, &action, nullptr);
}

/// Whether the bug is of the library below us, or a mutant's that the verifier
/// does not survive.
static bool isUpstream(const Finding &finding, const Progress &progress) {
  if (finding.where == "generate")
    return finding.kind == "crash" || finding.kind == "hang";
  return finding.kind == "crash" && progress.crashFrames <= progress.ownFrames;
}

/// What ended a worker, if it was not its end.
static std::optional<Finding> explain(int status, const Progress &progress) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return std::nullopt;
  if (WIFEXITED(status))
    return Finding{"exit", progress.where,
                   "code " + std::to_string(WEXITSTATUS(status))};
  if (WTERMSIG(status) == SIGVTALRM)
    return Finding{"hang", progress.where,
                   "more than " + std::to_string(caseLimit) + " s"};
  return Finding{"crash", progress.where,
                 std::string(strsignal(WTERMSIG(status)))};
}

/// Why a program cannot be executed, or nothing.
static std::string explainNotExecuted(ModuleOp module) {
  if (!llvm::hasSingleElement(*module.getBody()))
    return "it has more than one function";
  auto function = mlir::dyn_cast<FuncOp>(module.getBody()->front());
  if (!function || !function.getBody().hasOneBlock())
    return "it is no func.func with a body of one block";
  if (function.getNumResults() == 0)
    return "it has no result";
  if (auto arguments = flashnorm::run::getArguments(function); !arguments)
    return llvm::toString(arguments.takeError());
  return "";
}

/// The program of --replay. What is wrong with the file the parser has said.
static std::optional<Program> readReplayed(mlir::MLIRContext &context) {
  llvm::SourceMgr sources;
  std::string message;
  auto file = mlir::openInputFile(replay, &message);
  if (!file) {
    fail("--replay: " + message);
    return std::nullopt;
  }
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  Program program;
  program.module = mlir::parseSourceFile<ModuleOp>(sources, &context);
  if (!program.module) {
    fail("--replay: " + replay + " cannot be read");
    return std::nullopt;
  }
  program.mayFail = program.mutant = replayMutant;
  program.roundedConstants = hasRoundedConstants(*program.module);
  std::string reason = explainNotExecuted(*program.module);
  // Of a mutant the result need not be defined.
  if (reason.empty() && replayMutant && !makeDeterministic(*program.module))
    reason = "its result is not known to be defined";
  program.executable = reason.empty();
  if (!program.executable)
    llvm::errs() << "flashnorm-fuzz: note: " << replay
                 << " is not executed: " << reason << '\n';
  return program;
}

int main(int argc, char **argv) {
  // What the corpus and upstream's passes need besides our own.
  mlir::DialectRegistry registry;
  flashnorm::registerProgramDialects(registry);
  flashnorm::registerDialects(registry);
  flashnorm::registerPasses();
  mlir::registerTransformsPasses();
  mlir::registerLinalgPasses();
  mlir::registerConversionPasses();
  mlir::registerPassManagerCLOptions();
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Puts random programs with norms, and mutants of a corpus, through "
      "FlashNorm's passes.\nExits with 1 if one crashes, hangs, leaves invalid "
      "IR, fails without an error,\nchanges what it fused before, or changes "
      "results.\n");
  if (!checkOptions())
    return 1;

  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::optional<Program> replayed;
  if (!replay.empty() && !(replayed = readReplayed(context)))
    return 1;
  Corpus corpus;
  for (const std::string &folder : corpusFolders)
    if (std::string reason = corpus.read(context, folder); !reason.empty())
      return fail("--corpus=" + folder + ": " + reason);
  if (!makeOutput())
    return 1;

  void *memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return fail("no shared memory");
  Progress &progress = *new (memory) Progress();
  Fuzzer fuzzer(context, corpus, progress, std::move(replayed));
  if (print) {
    for (uint64_t i = first; i < first + cases; ++i)
      fuzzer.printCase(i, llvm::outs());
    return 0;
  }

  const uint64_t end = first + cases;
  for (uint64_t begin = first; begin < end && !fuzzer.isDone();) {
    const uint64_t stop = begin + std::min(casesPerWorker, end - begin);
    if (inProcess) {
      fuzzer.run(begin, stop);
      begin = stop;
      continue;
    }
    llvm::outs().flush();
    const pid_t worker = fork();
    if (worker == 0) {
      // A case that eats the machine's memory is a finding as well.
      rlimit memoryLimit = {rlim_t(6) << 30, rlim_t(6) << 30};
      setrlimit(RLIMIT_AS, &memoryLimit);
      rlimit noCore = {0, 0};
      setrlimit(RLIMIT_CORE, &noCore);
      noteCrashes(progress);
      fuzzer.run(begin, stop);
      _exit(0);
    }
    int status = 0;
    if (worker < 0 || waitpid(worker, &status, 0) != worker)
      return fail("no worker");
    begin = stop;
    if (auto finding = explain(status, progress)) {
      // Programs that wait to be run are lost with the worker.
      begin = std::min(progress.index + 1, stop);
      if (isUpstream(*finding, progress))
        finding->kind = "upstream-" + finding->kind;
      fuzzer.report(progress.index, *finding);
    }
  }

  llvm::outs() << progress.cases << " cases, " << progress.mutated
               << " of them mutants of " << corpus.size() << " functions\n"
               << progress.norms << " norms raised, " << progress.planned
               << " matmuls planned, " << progress.fused
               << " of them fused with a norm; " << progress.kernels
               << " programs compiled to device code\n"
               << progress.rejected << " rejected with an error\n"
               << progress.executed << " executed and compared, "
               << progress.executedFused << " of them with fused ops, "
               << progress.executedNearMisses << " near misses, "
               << progress.executedMutants << " mutants\n"
               << progress.upstream
               << " times MLIR crashed or made invalid IR by itself\n"
               << progress.findings << " findings\n";
  llvm::outs().flush();
  llvm::errs() << llvm::format("%.1f s\n", fuzzer.getElapsed());
  if (progress.unwritten)
    return fail(
        llvm::Twine(progress.unwritten) +
        " files of findings could not be written to --output=" + output);
  return progress.findings ? 1 : 0;
}
