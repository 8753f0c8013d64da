//===- Options.cpp - Command line of flashnorm-run ------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "Inputs.h"
#include "flashnorm/Planning/Target.h"
#include "flashnorm/Register.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/TosaToLinalg/TosaToLinalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace flashnorm;
using namespace flashnorm::run;
using llvm::createStringError;
using llvm::Expected;
using llvm::StringRef;

namespace cl = llvm::cl;

static constexpr const char *overview =
    "Runs a function as it was written and as FlashNorm compiles it, and "
    "compares both with f64.\n";

namespace {
/// The options as the command line library wants them.
struct CommandLine {
  cl::OptionCategory category{"flashnorm-run options"};
  std::string chipHelp = "chip to compile for: " + describeLegalChips() +
                         " (default: the device's; sm_90a on the CPU)";
  cl::opt<std::string> input{cl::Positional, cl::desc("<input file>"),
                             cl::init("-"), cl::cat(category)};
  cl::opt<std::string> entry{
      "entry", cl::desc("function to run (default: the only public one)"),
      cl::cat(category)};
  cl::opt<std::string> device{
      "device",
      cl::desc("where fused ops run: cuda or emulator (compiled kernels, on a "
               "GPU or without one), cpu (through the reference lowering), or "
               "auto (cuda where there is a GPU, else emulator); the rest runs "
               "on the CPU (default: auto)"),
      cl::init("auto"), cl::cat(category)};
  cl::opt<std::string> compare{
      "compare",
      cl::desc("reference: compare with the original and with f64; none: only "
               "run the compiled form (default: reference)"),
      cl::init("reference"), cl::cat(category)};
  cl::opt<uint64_t> seed{"seed",
                         cl::desc("seed of random arguments (default: 0)"),
                         cl::init(0), cl::cat(category)};
  std::string valuesHelp =
      "values of arguments that are not flashnorm.frozen: " +
      llvm::join(getInputKindNames(), ", ") +
      "; or an .npy file for the only one (default: normal)";
  cl::opt<std::string> values{"input", cl::desc(valuesHelp), cl::init("normal"),
                              cl::cat(category)};
  cl::list<std::string> arguments{
      "arg", cl::desc("values of one argument: N:FILE.npy or N:KIND"),
      cl::cat(category)};
  cl::opt<int64_t> rows{
      "rows",
      cl::desc("size of dynamic dimensions (default: that of an .npy file, "
               "else 128)"),
      cl::init(0), cl::cat(category)};
  cl::opt<double> tolerance{
      "tolerance",
      cl::desc("largest relative RMS error against f64 (default: by the least "
               "precise type of result and arguments, bf16 3e-3, f16 5e-4, f32 "
               "1e-5, f64 1e-12; or the original's own error where that is "
               "larger)"),
      cl::init(0), cl::cat(category)};
  cl::opt<std::string> chip{"chip", cl::desc(chipHelp), cl::cat(category)};
  cl::opt<std::string> family{
      "family",
      cl::desc("MMA family: auto, mma_sync, wgmma or tcgen05 (default: auto)"),
      cl::init("auto"), cl::cat(category)};
  cl::opt<std::string> passes{
      "passes",
      cl::desc("passes and pipelines that make the compiled form, with commas "
               "between them, options in braces, as flashnorm-fuse{chip=sm_80} "
               "(default: flashnorm-fuse for --chip and --family)"),
      cl::cat(category)};
  cl::opt<std::string> schedule{
      "schedule",
      cl::desc("emulator: when asynchronous work completes and who runs next: "
               "lazy (default), eager or random[:SEED]"),
      cl::init("lazy"), cl::cat(category)};
  cl::opt<std::string> output{
      "output", cl::desc("directory for the results, as .npy files"),
      cl::cat(category)};
  cl::opt<bool> checkGuards{
      "check-guards",
      cl::desc("make a kernel that writes outside its arrays an error"),
      cl::cat(category)};
  cl::opt<int64_t> time{
      "time",
      cl::desc("cuda: time each kernel this often, 1 to 100000, without "
               "copies, and print the median (default: not at all)"),
      cl::init(0), cl::cat(category)};
};
} // namespace

static std::string listOptions(const cl::OptionCategory &category) {
  llvm::SmallVector<StringRef> names;
  for (const auto &entry : cl::getRegisteredOptions())
    if (llvm::is_contained(entry.second->Categories, &category))
      names.push_back(entry.first);
  llvm::sort(names);
  return "--" + llvm::join(names, ", --");
}

/// The command line library begins what it says with the program's name, as the
/// caller does.
static std::string dropProgramName(StringRef complaints, StringRef program) {
  std::string text;
  llvm::SmallVector<StringRef> lines;
  complaints.rtrim().split(lines, '\n');
  std::string prefix = (llvm::sys::path::filename(program) + ": ").str();
  for (StringRef line : lines) {
    line.consume_front(prefix);
    text += (text.empty() ? "" : "\n") + line.str();
  }
  return text;
}

/// "device 'x' is unknown; legal are cpu, cuda", or success.
static llvm::Error checkChoice(StringRef what, StringRef value,
                               llvm::ArrayRef<StringRef> legal) {
  if (llvm::is_contained(legal, value))
    return llvm::Error::success();
  return createStringError(what + " '" + value + "' is unknown; legal are " +
                           llvm::join(legal, ", "));
}

/// What --passes, --mlir-print-ir-after and its like may name: of upstream what
/// brings programs into a form to fuse.
static void registerNamedPasses() {
  registerPasses();
  mlir::registerTransformsPasses();
  mlir::registerLinalgPasses();
  mlir::registerTosaToArithPass();
  mlir::registerTosaToLinalg();
  mlir::registerTosaToLinalgNamed();
  mlir::registerTosaToTensorPass();
  mlir::tosa::registerTosaToLinalgPipelines();
}

Expected<Options> run::parseOptions(int argc, char **argv) {
  CommandLine line;
  registerNamedPasses();
  mlir::registerPassManagerCLOptions();
  cl::SetVersionPrinter(printVersion);
  cl::HideUnrelatedOptions(line.category);
  std::string complaints;
  llvm::raw_string_ostream stream(complaints);
  if (!cl::ParseCommandLineOptions(argc, argv, overview, &stream))
    // About a value the library has complained already.
    return createStringError(
        (complaints.empty() ? "a value is not legal, see above"
                            : dropProgramName(complaints, argv[0])) +
        "\nlegal options are " + listOptions(line.category));

  if (llvm::Error error = llvm::joinErrors(
          llvm::joinErrors(
              checkChoice("device", line.device,
                          {"auto", "cpu", "emulator", "cuda"}),
              checkChoice("comparison", line.compare, {"reference", "none"})),
          checkChoice("family", line.family,
                      {"auto", "mma_sync", "wgmma", "tcgen05"})))
    return error;
  if (!line.chip.empty() && !lookupTarget(line.chip))
    return createStringError("chip '" + line.chip + "' is unknown; legal are " +
                             describeLegalChips());
  if (line.rows.getNumOccurrences() && line.rows < 0)
    return createStringError("--rows=" + llvm::Twine(line.rows) +
                             " is negative");
  if ((line.time.getNumOccurrences() && line.time <= 0) || line.time > 100000)
    return createStringError("--time=" + llvm::Twine(line.time) +
                             " is not between 1 and 100000");
  // Only kernels on a device are timed, have guards and are scheduled.
  for (const cl::Option *option : {static_cast<cl::Option *>(&line.time),
                                   static_cast<cl::Option *>(&line.checkGuards),
                                   static_cast<cl::Option *>(&line.schedule)})
    if (option->getNumOccurrences() && line.device == "cpu")
      return createStringError(
          "--" + option->ArgStr +
          " needs kernels; --device=cpu has none, emulator "
          "and cuda have");
  if (line.tolerance.getNumOccurrences() &&
      !(line.tolerance > 0 && std::isfinite(line.tolerance)))
    return createStringError("--tolerance must be positive and finite");

  Options options;
  options.input = line.input;
  options.entry = line.entry;
  options.device = line.device == "cuda"       ? DeviceKind::CUDA
                   : line.device == "emulator" ? DeviceKind::Emulator
                   : line.device == "cpu"      ? DeviceKind::CPU
                                               : DeviceKind::Auto;
  if (llvm::Error error = parseSchedule(line.schedule, options.emulator))
    return error;
  options.compare = line.compare == "reference";
  options.seed = line.seed;
  options.values = line.values;
  if (!isNpyFile(options.values))
    if (llvm::Error error =
            checkChoice("input", options.values, getInputKindNames()))
      return error;
  for (StringRef argument : line.arguments) {
    auto [index, value] = argument.split(':');
    int64_t number;
    if (index.getAsInteger(10, number) || number < 0 || value.empty())
      return createStringError("--arg=" + argument +
                               " is not of the form N:FILE.npy or N:KIND");
    if (!isNpyFile(value))
      if (llvm::Error error = checkChoice("input", value, getInputKindNames()))
        return error;
    if (!options.arguments.try_emplace(number, value.str()).second)
      return createStringError("--arg=" + argument + ": argument " +
                               llvm::Twine(number) + " was given before");
  }
  if (line.rows.getNumOccurrences())
    options.rows = line.rows;
  if (line.tolerance.getNumOccurrences())
    options.tolerance = line.tolerance;
  options.chip = line.chip;
  options.family = line.family;
  options.passes = line.passes;
  options.output = line.output;
  options.checkGuards = line.checkGuards;
  options.timeRepetitions = line.time;
  return options;
}
