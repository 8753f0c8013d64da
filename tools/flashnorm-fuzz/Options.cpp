//===- Options.cpp - Options of flashnorm-fuzz ----------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>

using namespace flashnorm::fuzz;
using llvm::StringRef;
using llvm::Twine;
namespace cl = llvm::cl;

cl::OptionCategory flashnorm::fuzz::category("flashnorm-fuzz options");
cl::opt<uint64_t>
    flashnorm::fuzz::seed("seed", cl::desc("seed of the run (default: 0)"),
                          cl::cat(category));
cl::opt<uint64_t> flashnorm::fuzz::cases(
    "cases", cl::desc("how many cases (default: 1000, with --replay 1)"),
    cl::init(1000), cl::cat(category));
cl::opt<uint64_t>
    flashnorm::fuzz::first("first",
                           cl::desc("index of the first one (default: 0)"),
                           cl::cat(category));
cl::opt<unsigned> flashnorm::fuzz::execute(
    "execute",
    cl::desc("of how many cases in 1000 the result is computed and "
             "compared, if they can be run (default: 10, with "
             "--replay or --wrong-raise 1000)"),
    cl::init(10), cl::cat(category));
cl::opt<unsigned> flashnorm::fuzz::mutants(
    "mutants",
    cl::desc("how many of 100 cases are mutants of the corpus "
             "(default: 30, without a corpus 0)"),
    cl::init(30), cl::cat(category));
cl::list<std::string> flashnorm::fuzz::corpusFolders(
    "corpus", cl::desc("folder with .mlir files"), cl::cat(category));
cl::opt<unsigned> flashnorm::fuzz::caseLimit(
    "case-limit",
    cl::desc("seconds after which a case counts "
             "as a hang, at most a day (default: 20)"),
    cl::init(20), cl::cat(category));
cl::opt<unsigned> flashnorm::fuzz::seconds(
    "seconds",
    cl::desc("start no case after that, and end with those that "
             "wait to be executed (default: 0, no limit)"),
    cl::init(0), cl::cat(category));
cl::opt<uint64_t>
    flashnorm::fuzz::maxFindings("max-findings",
                                 cl::desc("stop after so many "
                                          "(default: 0, no limit)"),
                                 cl::cat(category));
cl::opt<std::string>
    flashnorm::fuzz::output("output",
                            cl::desc("folder for the programs of findings"),
                            cl::cat(category));
cl::opt<bool> flashnorm::fuzz::reduceFindings(
    "reduce",
    cl::desc("with --output: a smaller program, too, for each one whose "
             "execution shows the finding"),
    cl::cat(category));
cl::opt<std::string> flashnorm::fuzz::replay(
    "replay",
    cl::desc("this program in place of made ones, with the data of the "
             "case that --seed and --first name"),
    cl::value_desc("file"), cl::cat(category));
cl::opt<bool> flashnorm::fuzz::replayMutant(
    "replay-mutant",
    cl::desc("the program of --replay is a mutant: it may be rejected, and is "
             "compared in f64 only"),
    cl::cat(category));

namespace {
struct Mistake {
  StringRef name;
  WrongRaise kind;
  const char *help;
};
} // namespace

static const Mistake mistakes[] = {
    {"drops-epsilon", WrongRaise::DropsEpsilon, "no epsilon"},
    {"epsilon-outside", WrongRaise::EpsilonOutside,
     "epsilon is added to the root"},
    {"wrong-length", WrongRaise::WrongLength, "the sum is divided by N - 1"},
    {"drops-mean", WrongRaise::DropsMean, "LayerNorm as RMSNorm"},
    {"swaps-affine", WrongRaise::SwapsAffine,
     "weight and bias in each other's place"},
    {"swaps-statistics", WrongRaise::SwapsStatistics,
     "mean and reciprocal root in each other's place"},
};

static const std::string mistakesHelp = [] {
  std::string text =
      "test of the fuzzer: norms of executed programs are raised "
      "with this mistake, which it has to find:";
  for (const Mistake &mistake : mistakes)
    text += "\n  " + mistake.name.str() + ": " + mistake.help;
  return text;
}();
cl::opt<std::string> flashnorm::fuzz::wrongRaiseName("wrong-raise",
                                                     cl::desc(mistakesHelp),
                                                     cl::value_desc("mistake"),
                                                     cl::cat(category));
WrongRaise flashnorm::fuzz::wrongRaise = WrongRaise::None;

cl::opt<bool>
    flashnorm::fuzz::print("print",
                           cl::desc("print the programs, and run nothing"),
                           cl::cat(category));
cl::opt<bool> flashnorm::fuzz::inProcess(
    "in-process", cl::desc("no workers: a crash ends the run, for a debugger"),
    cl::cat(category));

/// The end of the cases, too, has to be a number.
static constexpr uint64_t lastIndex = std::numeric_limits<uint64_t>::max() - 1;
/// Times the programs of a batch it is still no overflow.
static constexpr unsigned secondsPerDay = 24 * 60 * 60;

int flashnorm::fuzz::fail(const Twine &message) {
  llvm::errs() << ("flashnorm-fuzz: error: " + message + "\n").str();
  return 1;
}

template <typename T>
static bool checkRange(const cl::opt<T> &option, uint64_t least,
                       uint64_t most) {
  if (option >= least && option <= most)
    return true;
  fail("--" + option.ArgStr + "=" + Twine(option.getValue()) +
       " is out of range; legal is " + Twine(least) + " to " + Twine(most));
  return false;
}

bool flashnorm::fuzz::checkOptions() {
  // An empty value is a variable of a script that is not set.
  for (const cl::opt<std::string> *option :
       {&output, &replay, &wrongRaiseName}) {
    if (option->getNumOccurrences() && option->empty()) {
      fail("--" + option->ArgStr +
           " has no value; give it one, or leave it out");
      return false;
    }
  }
  if (!wrongRaiseName.empty()) {
    const auto *mistake = llvm::find_if(mistakes, [](const Mistake &mistake) {
      return mistake.name == wrongRaiseName;
    });
    if (mistake == std::end(mistakes)) {
      llvm::SmallVector<StringRef> names;
      for (const Mistake &each : mistakes)
        names.push_back(each.name);
      fail("--wrong-raise=" + wrongRaiseName + " is unknown; legal are " +
           llvm::join(names, ", "));
      return false;
    }
    wrongRaise = mistake->kind;
  }
  if (reduceFindings && output.empty()) {
    fail("--reduce writes programs, and there is no folder for them; add "
         "--output=FOLDER");
    return false;
  }
  if (replayMutant && replay.empty()) {
    fail("--replay-mutant says of what kind the program of --replay is; add "
         "--replay=FILE");
    return false;
  }
  // One program is there to be looked at, and a mistake shows in results only.
  if (!replay.empty() && !cases.getNumOccurrences())
    cases = 1;
  if ((!replay.empty() || wrongRaise != WrongRaise::None) &&
      !execute.getNumOccurrences())
    execute = 1000;
  if (!checkRange(mutants, 0, 100) || !checkRange(execute, 0, 1000) ||
      !checkRange(caseLimit, 1, secondsPerDay) ||
      !checkRange(cases, 1, lastIndex + 1))
    return false;
  if (mutants.getNumOccurrences() && mutants && corpusFolders.empty()) {
    fail("--mutants=" + Twine(mutants) +
         " needs programs to mutate; add --corpus=FOLDER");
    return false;
  }
  if (first > lastIndex || cases - 1 > lastIndex - first) {
    fail("--first=" + Twine(first) + " with --cases=" + Twine(cases) +
         " goes beyond the last case, " + Twine(lastIndex) +
         "; lower one of them");
    return false;
  }
  return true;
}

bool flashnorm::fuzz::makeOutput() {
  if (output.empty())
    return true;
  auto explain = [](std::error_code code) {
    fail("--output=" + output + ": " + code.message() +
         "; name a folder that can be made and written");
    return false;
  };
  if (std::error_code code = llvm::sys::fs::create_directories(output))
    return explain(code);
  if (!llvm::sys::fs::is_directory(output)) {
    fail("--output=" + output + " is no folder");
    return false;
  }
  // Permissions do not tell all: a file system may be full, or take no files.
  int descriptor = -1;
  llvm::SmallString<128> path;
  if (std::error_code code = llvm::sys::fs::createUniqueFile(
          output + "/flashnorm-fuzz-%%%%%%.tmp", descriptor, path))
    return explain(code);
  llvm::raw_fd_ostream probe(descriptor, /*shouldClose=*/true);
  probe << "can be written\n";
  probe.close();
  std::error_code code = probe.error();
  probe.clear_error();
  llvm::sys::fs::remove(path);
  return code ? explain(code) : true;
}
