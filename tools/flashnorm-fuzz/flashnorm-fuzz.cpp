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

#include "Executor.h"
#include "Mutator.h"
#include "Passes.h"
#include "Reducer.h"
#include "flashnorm/Register.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
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
namespace cl = llvm::cl;

static cl::OptionCategory category("flashnorm-fuzz options");
static cl::opt<uint64_t> seed("seed", cl::desc("seed of the run (default: 0)"),
                              cl::cat(category));
static cl::opt<uint64_t> cases("cases",
                               cl::desc("how many cases (default: 1000)"),
                               cl::init(1000), cl::cat(category));
static cl::opt<uint64_t> first("first",
                               cl::desc("index of the first one (default: 0)"),
                               cl::cat(category));
static cl::opt<unsigned>
    execute("execute",
            cl::desc("of how many cases in 1000 the result is computed and "
                     "compared, if they can be run (default: 10)"),
            cl::init(10), cl::cat(category));
static cl::opt<unsigned>
    mutants("mutants",
            cl::desc("how many of 100 cases are mutants of the corpus "
                     "(default: 30, without a corpus 0)"),
            cl::init(30), cl::cat(category));
static cl::list<std::string> corpusFolders("corpus",
                                           cl::desc("folder with .mlir files"),
                                           cl::cat(category));
static cl::opt<unsigned> caseLimit("case-limit",
                                   cl::desc("seconds after which a case counts "
                                            "as a hang (default: 20)"),
                                   cl::init(20), cl::cat(category));
static cl::opt<unsigned> seconds("seconds",
                                 cl::desc("start no worker after that"),
                                 cl::init(0), cl::cat(category));
static cl::opt<uint64_t> maxFindings("max-findings",
                                     cl::desc("stop after so many "
                                              "(default: 0, no limit)"),
                                     cl::cat(category));
static cl::opt<std::string>
    output("output", cl::desc("folder for the programs of findings"),
           cl::cat(category));
static cl::opt<bool> reduceFindings(
    "reduce",
    cl::desc("with --output: a smaller program, too, for each one whose "
             "execution shows the finding"),
    cl::cat(category));
static cl::opt<std::string>
    replay("replay", cl::desc("this program in place of made ones"),
           cl::cat(category));
static cl::opt<WrongRaise> wrongRaise(
    "wrong-raise",
    cl::desc("test of the fuzzer: norms of executed programs are raised with "
             "this mistake, which it has to find"),
    cl::init(WrongRaise::None),
    cl::values(clEnumValN(WrongRaise::DropsEpsilon, "drops-epsilon",
                          "without epsilon"),
               clEnumValN(WrongRaise::EpsilonOutside, "epsilon-outside",
                          "epsilon is added to the root"),
               clEnumValN(WrongRaise::WrongLength, "wrong-length",
                          "the sum is divided by N - 1"),
               clEnumValN(WrongRaise::DropsMean, "drops-mean",
                          "LayerNorm as RMSNorm"),
               clEnumValN(WrongRaise::SwapsAffine, "swaps-affine",
                          "weight and bias in each other's place"),
               clEnumValN(WrongRaise::SwapsStatistics, "swaps-statistics",
                          "mean and reciprocal root in each other's place")),
    cl::cat(category));
static cl::opt<bool> print("print",
                           cl::desc("print the programs, and run nothing"),
                           cl::cat(category));
static cl::opt<bool>
    inProcess("in-process",
              cl::desc("no workers: a crash ends the run, for a debugger"),
              cl::cat(category));

static constexpr uint64_t casesPerWorker = 2000;
static constexpr size_t programsPerBatch = 16;

static void limitTime(unsigned limit) {
  itimerval timer = {};
  timer.it_value.tv_sec = limit;
  setitimer(ITIMER_VIRTUAL, &timer, nullptr);
}

/// Enough has been found.
static bool isDone(const Progress &progress) {
  return maxFindings && progress.findings >= maxFindings;
}

namespace {
class Fuzzer {
public:
  Fuzzer(mlir::MLIRContext &context, const Corpus &corpus, Progress &progress)
      : context(context), corpus(corpus), progress(progress),
        passes(context, progress),
        executor(context, progress, seed, wrongRaise) {}

  /// Goes through the cases from `begin` to before `end`.
  void run(uint64_t begin, uint64_t end);
  void printCase(uint64_t index, llvm::raw_ostream &os);
  void report(uint64_t index, const Finding &finding);

private:
  Program make(uint64_t index, Random &random);
  void writeReduced(uint64_t index, const Finding &finding,
                    const std::string &path);
  void runBatch();

  mlir::MLIRContext &context;
  const Corpus &corpus;
  Progress &progress;
  PassRunner passes;
  Executor executor;
};
} // namespace

Program Fuzzer::make(uint64_t index, Random &random) {
  Random kind(~seed, index);
  if (!replay.empty()) {
    Program program;
    program.module = mlir::parseSourceFile<mlir::ModuleOp>(replay, &context);
    if (!program.module) // Said by the parser.
      _exit(1);
    program.mayFail = true;
    program.roundedConstants = hasRoundedConstants(*program.module);
    program.executable =
        !program.module->getOps<mlir::FunctionOpInterface>().empty();
    return program;
  }
  if (!corpus.empty() && kind.chance(mutants))
    return corpus.mutate(random);
  Program program = generateProgram(context, random);
  passes.prepare(*program.module, kind);
  return program;
}

void Fuzzer::printCase(uint64_t index, llvm::raw_ostream &os) {
  Random random(seed, index);
  Program program = make(index, random);
  os << "// flashnorm-fuzz --seed=" << seed << ", case " << index << '\n';
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
    return;
  file << "// reduced from case " << index << " of seed " << seed << ": "
       << finding.kind << '\n';
  reduced->print(file);
}

void Fuzzer::report(uint64_t index, const Finding &finding) {
  const bool upstream = finding.kind == "upstream-crash";
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
    return;
  file << "// " << finding.kind << " in " << finding.where << ": "
       << finding.message << '\n';
  // Making a case can crash, too: it is made in a process of its own.
  file.flush();
  if (pid_t child = fork()) {
    waitpid(child, nullptr, 0);
    return;
  }
  printCase(index, file);
  file.flush();
  _exit(0);
}

void Fuzzer::runBatch() {
  for (const Executor::Result &result : executor.run())
    if (!isDone(progress))
      report(result.index, result.finding);
}

void Fuzzer::run(uint64_t begin, uint64_t end) {
  for (uint64_t index = begin; index < end && !isDone(progress); ++index) {
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
  if (isDone(progress))
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
  return finding.kind == "crash" &&
         (finding.where == "generate" ||
          progress.crashFrames <= progress.ownFrames);
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
  if (!output.empty())
    llvm::sys::fs::create_directories(output);

  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  Corpus corpus;
  for (const std::string &folder : corpusFolders)
    corpus.read(context, folder);

  void *memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    llvm::errs() << "flashnorm-fuzz: error: no shared memory\n";
    return 1;
  }
  Progress &progress = *new (memory) Progress();
  Fuzzer fuzzer(context, corpus, progress);
  if (print) {
    for (uint64_t i = first; i < first + cases; ++i)
      fuzzer.printCase(i, llvm::outs());
    return 0;
  }

  const auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  };
  const uint64_t end = first + cases;
  for (uint64_t begin = first; begin < end;) {
    if ((seconds && elapsed() > seconds) || isDone(progress))
      break;
    const uint64_t stop = std::min<uint64_t>(begin + casesPerWorker, end);
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
    if (worker < 0 || waitpid(worker, &status, 0) != worker) {
      llvm::errs() << "flashnorm-fuzz: error: no worker\n";
      return 1;
    }
    begin = stop;
    if (auto finding = explain(status, progress)) {
      // Programs that wait to be run are lost with the worker.
      begin = std::min(progress.index + 1, stop);
      if (isUpstream(*finding, progress))
        finding->kind = "upstream-crash";
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
  llvm::errs() << llvm::format("%.1f s\n", elapsed());
  return progress.findings ? 1 : 0;
}
