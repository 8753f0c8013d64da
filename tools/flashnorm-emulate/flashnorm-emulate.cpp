//===- flashnorm-emulate.cpp - Runs PTX on the CPU ------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Isa/OpcodeTable.h"
#include "ManifestLaunch.h"
#include "Ptx/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace flashnorm;
using namespace flashnorm::emulate;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
namespace cl = llvm::cl;

static constexpr const char *overview =
    "Runs kernels of PTX on the CPU, and reports races, hazards and "
    "deadlocks.\n\n"
    "  flashnorm-emulate kernels.ptx --manifest=manifest.json [--rows=N]\n"
    "  flashnorm-emulate kernel.ptx --grid=X,Y,Z --block=X,Y,Z --arg=…\n\n"
    "Arguments, one per kernel parameter:\n"
    "  in:FILE.npy               pointer to the contents of a file\n"
    "  out:TYPE:SHAPE:FILE.npy   pointer to uninitialised memory, written to\n"
    "                            a file afterwards: out:f32:16x256:C.npy\n"
    "  inout:FILE.npy:FILE.npy   both\n"
    "  scratch:TYPE:SHAPE        pointer to uninitialised memory\n"
    "  TYPE:VALUE                scalar: i32:7, f32:0.5\n"
    "  ptr:ARRAY[+BYTES]         pointer to an array\n"
    "  tensormap:ARRAY,KEY=VALUE,…  CUtensorMap by value; keys: type, sizes,\n"
    "                            box (innermost first: 64x128), strides\n"
    "                            (bytes, of dimensions 1 and up; default:\n"
    "                            packed), element-strides, swizzle (0, 32, 64\n"
    "                            or 128), interleave (16 or 32), fill (zero "
    "or\n"
    "                            nan), offset (bytes)\n"
    "The file of an output may be -: it is printed.\n"
    "ARRAY is the name of an --array, or the number of an earlier argument.\n"
    "TYPE is one of u8 i8 u16 i16 u32 i32 u64 i64 bf16 f16 f32 f64.\n";

namespace {
/// Made in main, after LLVM's own options have made room for ours.
struct CommandLine {
  cl::OptionCategory category{"flashnorm-emulate options"};
  cl::list<std::string> inputs{cl::Positional, cl::desc("<PTX files>"),
                               cl::cat(category)};
  cl::opt<std::string> entry{
      "entry",
      cl::desc("kernel to run (default: the only one, or all of "
               "the manifest)"),
      cl::cat(category)};
  cl::opt<std::string> manifest{
      "manifest",
      cl::desc("manifest.json with the launch of each "
               "kernel; inputs are normal numbers"),
      cl::cat(category)};
  cl::opt<int64_t> rows{"rows",
                        cl::desc("rows of the operands of a manifest "
                                 "(default: those of files, else 128)"),
                        cl::init(0), cl::cat(category)};
  cl::opt<uint64_t> inputSeed{"input-seed",
                              cl::desc("seed of a manifest's inputs"),
                              cl::init(0), cl::cat(category)};
  cl::list<std::string> operands{
      "operand",
      cl::desc("N:FILE.npy: an operand of a manifest, read "
               "for inputs and written for outputs"),
      cl::cat(category)};
  cl::opt<std::string> grid{"grid", cl::desc("CTAs: X[,Y[,Z]]"), cl::init("1"),
                            cl::cat(category)};
  cl::opt<std::string> block{"block", cl::desc("threads of a CTA: X[,Y[,Z]]"),
                             cl::init("1"), cl::cat(category)};
  cl::opt<std::string> cluster{"cluster",
                               cl::desc("CTAs of a cluster: X[,Y[,Z]]"),
                               cl::init("1"), cl::cat(category)};
  cl::opt<uint32_t> sharedMemory{"smem",
                                 cl::desc("bytes of dynamic shared "
                                          "memory"),
                                 cl::init(0), cl::cat(category)};
  cl::list<std::string> arrays{"array",
                               cl::desc("NAME=in:…, out:…, inout:… or "
                                        "scratch:…: an array that is no "
                                        "parameter by itself"),
                               cl::cat(category)};
  cl::list<std::string> arguments{
      "arg", cl::desc("value of the next parameter"), cl::cat(category)};
  cl::opt<std::string> schedule{
      "schedule",
      cl::desc("eager, lazy (default) or random[:SEED]: when "
               "asynchronous work completes and who runs next; several, "
               "separated by commas, run one after the other"),
      cl::init("lazy"), cl::cat(category)};
  cl::opt<uint32_t> seeds{"seeds", cl::desc("so many random schedules more"),
                          cl::init(0), cl::cat(category)};
  cl::opt<bool> sameResults{
      "same-results",
      cl::desc("outputs that depend on the schedule are an error"),
      cl::cat(category)};
  cl::opt<bool> race{"race",
                     cl::desc("find data races (default; --no-race: do "
                              "not)"),
                     cl::init(true), cl::cat(category)};
  cl::opt<bool> noRace{"no-race", cl::desc("do not find data races"),
                       cl::init(false), cl::cat(category)};
  cl::opt<uint32_t> resident{
      "resident", cl::desc("clusters that run interleaved"),
      cl::init(EmulatorOptions().residentClusters), cl::cat(category)};
  cl::opt<uint32_t> repeat{
      "repeat",
      cl::desc("launch so many times in a row, the next one as soon as "
               "griddepcontrol.launch_dependents lets it start"),
      cl::init(1), cl::cat(category)};
  cl::opt<uint32_t> numSMs{
      "sms",
      cl::desc("multiprocessors that the persistent kernels of a manifest "
               "are launched for"),
      cl::init(EmulatorOptions().numSMs), cl::cat(category)};
  cl::opt<uint64_t> maxSteps{
      "max-steps", cl::desc("end a launch after so many steps"),
      cl::init(EmulatorOptions().maxSteps), cl::cat(category)};
  cl::opt<bool> stats{"stats", cl::desc("print times and counts"),
                      cl::cat(category)};
  cl::opt<bool> listOpcodes{
      "list-opcodes",
      cl::desc("print the instructions known, with the sections of "
               "the PTX ISA that define them"),
      cl::cat(category)};
  cl::opt<bool> checkOpcodes{
      "check-opcodes",
      cl::desc("only parse, and name the instructions not known"),
      cl::cat(category)};
};
} // namespace

static CommandLine *line;

//===----------------------------------------------------------------------===//
// The opcode table
//===----------------------------------------------------------------------===//

static Error printOpcodes() {
  for (const emulator::OpcodeEntry *known : emulator::getOpcodes())
    llvm::outs() << llvm::left_justify(known->section, 11) << known->pattern
                 << "\n";
  std::string problems;
  for (const std::string &problem : emulator::checkOpcodeTable())
    problems += "\n  " + problem;
  if (!problems.empty())
    return createStringError("the opcode table is wrong:" + problems);
  return Error::success();
}

static Error checkFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!buffer)
    return createStringError(path + ": " + buffer.getError().message());
  Expected<ptx::Module> module = ptx::parseModule(**buffer);
  if (!module)
    return module.takeError();
  struct Unknown {
    unsigned count = 0;
    uint32_t line = 0;
  };
  std::map<std::string, Unknown> unknown;
  for (const ptx::Function &function : module->functions)
    for (const ptx::Statement &statement : function.body) {
      if (statement.kind != ptx::Statement::Kind::Instruction)
        continue;
      const ptx::Instruction &instruction = statement.instruction;
      emulator::Site site;
      if (emulator::matchOpcode(instruction.opcode, instruction.modifiers,
                                site))
        continue;
      Unknown &entry = unknown[instruction.mnemonic()];
      if (!entry.count++)
        entry.line = instruction.location.ptxLine;
    }
  if (unknown.empty())
    return Error::success();
  for (auto &[mnemonic, entry] : unknown)
    llvm::outs() << path << ":" << entry.line << ": '" << mnemonic
                 << "' is not known (" << entry.count
                 << (entry.count == 1 ? " time)\n" : " times)\n");
  llvm::outs().flush();
  return createStringError(
      path + ": " + llvm::Twine(unknown.size()) +
      (unknown.size() == 1 ? " instruction is" : " instructions are") +
      " not known");
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// One for each schedule to run in.
static Expected<std::vector<EmulatorOptions>> readOptions() {
  EmulatorOptions options;
  options.numSMs = line->numSMs;
  options.detectRaces = line->race && !line->noRace;
  options.residentClusters = line->resident;
  options.maxSteps = line->maxSteps;
  if (!line->resident)
    return createStringError("--resident=0: at least one cluster must run");
  if (!line->repeat || !line->numSMs)
    return createStringError(line->repeat ? "--sms=0: no multiprocessor is left"
                                          : "--repeat=0: nothing is launched");
  // Launches and schedules are listed before the first one runs.
  constexpr uint32_t most = 65536;
  if (line->repeat > most || line->seeds > most)
    return createStringError(
        "--" + Twine(line->repeat > most ? "repeat" : "seeds") + "=" +
        Twine(line->repeat > most ? line->repeat : line->seeds) + ": at most " +
        Twine(most));
  std::vector<EmulatorOptions> schedules;
  llvm::SmallVector<StringRef> names;
  StringRef(line->schedule).split(names, ',');
  for (StringRef name : names) {
    schedules.push_back(options);
    if (Error error = parseSchedule(name, schedules.back()))
      return error;
  }
  uint64_t seed = schedules.front().seed;
  for (uint32_t i = 0; i != line->seeds; ++i) {
    options.schedule = EmulatorOptions::Schedule::Random;
    options.seed = ++seed;
    schedules.push_back(options);
  }
  return schedules;
}

static std::string describe(const EmulatorOptions &options) {
  switch (options.schedule) {
  case EmulatorOptions::Schedule::Eager:
    return "eager";
  case EmulatorOptions::Schedule::Lazy:
    return "lazy";
  case EmulatorOptions::Schedule::Random:
    return "random:" + std::to_string(options.seed);
  }
  return "";
}

static Expected<std::vector<LaunchRequest>>
readRequests(const Emulator &emulator, const EmulatorOptions &emulatorOptions) {
  if (!line->manifest.empty()) {
    if (!line->arguments.empty() || !line->arrays.empty() ||
        line->grid.getNumOccurrences() || line->block.getNumOccurrences() ||
        line->cluster.getNumOccurrences() ||
        line->sharedMemory.getNumOccurrences())
      return createStringError("--arg, --array, --grid, --block, --cluster and "
                               "--smem do not go with --manifest, which has "
                               "them");
    ManifestOptions options;
    options.file = line->manifest;
    options.entry = line->entry;
    options.rows = line->rows;
    options.seed = line->inputSeed;
    options.emulator = emulatorOptions;
    options.operands.assign(line->operands.begin(), line->operands.end());
    if (line->rows < 0)
      return createStringError("--rows=" + llvm::Twine(line->rows) +
                               " is negative");
    return readManifest(options);
  }
  if (!line->operands.empty() || line->rows.getNumOccurrences() ||
      line->inputSeed.getNumOccurrences())
    return createStringError("--operand, --rows and --input-seed need a "
                             "--manifest");
  LaunchRequest request;
  request.entry = line->entry;
  std::vector<std::string> entries = emulator.getEntries();
  if (line->entry.empty()) {
    if (entries.size() != 1) {
      std::string list;
      for (const std::string &name : entries)
        list += " " + name;
      return createStringError(
          entries.empty() ? "there is no .entry in the PTX"
                          : "choose a kernel with --entry; there are" + list);
    }
    request.entry = entries[0];
  }
  auto readExtents = [](StringRef name, const std::string &text,
                        std::array<uint32_t, 3> &extents) -> Error {
    auto parsed = parseExtents(name, text);
    if (!parsed)
      return parsed.takeError();
    extents = *parsed;
    return Error::success();
  };
  if (Error error = readExtents("grid", line->grid, request.shape.grid))
    return error;
  if (Error error = readExtents("block", line->block, request.shape.block))
    return error;
  if (Error error =
          readExtents("cluster", line->cluster, request.shape.cluster))
    return error;
  request.shape.dynamicSharedMemory = line->sharedMemory;
  if (Error error = parseArguments(line->arrays, line->arguments, request))
    return error;
  std::vector<LaunchRequest> requests;
  requests.push_back(std::move(request));
  return requests;
}

/// That a run gave what the one before it gave.
static Error compareResults(llvm::ArrayRef<Buffer> before,
                            const LaunchRequest &request) {
  for (size_t i = 0; i != before.size(); ++i)
    if (before[i].result != request.buffers[i].result)
      return createStringError(request.entry + ": the array for " +
                               before[i].output +
                               " differs from that of the schedule before");
  return Error::success();
}

static void printStatistics(const Emulator &emulator) {
  const EmulatorStatistics &statistics = emulator.getStatistics();
  llvm::outs() << llvm::format("parse      %8.3f s\n", statistics.parseSeconds)
               << llvm::format("compile    %8.3f s\n",
                               statistics.compileSeconds)
               << llvm::format("run        %8.3f s\n", statistics.runSeconds)
               << "threads    " << statistics.threads << "\n"
               << "steps      " << statistics.steps << "\n"
               << "async ops  " << statistics.asyncOperations << "\n"
               << "clocks     " << statistics.clockBytes << " bytes\n";
}

static Error run() {
  Expected<std::vector<EmulatorOptions>> schedules = readOptions();
  if (!schedules)
    return schedules.takeError();
  auto emulator = Emulator::create(schedules->front());
  if (!emulator)
    return emulator.takeError();
  if (line->inputs.empty())
    return createStringError("no PTX file is given");
  for (const std::string &input : line->inputs) {
    auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(input);
    if (!buffer)
      return createStringError(input + ": " + buffer.getError().message());
    if (Error error = (*emulator)->loadModule(**buffer))
      return error;
  }
  auto requests = readRequests(**emulator, schedules->front());
  if (!requests)
    return requests.takeError();
  for (LaunchRequest &request : *requests) {
    request.repeat = line->repeat;
    for (const EmulatorOptions &options : *schedules) {
      std::vector<Buffer> before;
      if (line->sameResults && &options != &schedules->front())
        before = request.buffers;
      (*emulator)->setOptions(options);
      Error error = runOnce(**emulator, request);
      if (!error)
        error = compareResults(before, request);
      if (error)
        return llvm::joinErrors(
            std::move(error),
            createStringError("in the schedule " + describe(options)));
    }
  }
  // Only now: no output of a run that failed.
  for (const LaunchRequest &request : *requests)
    if (Error error = writeOutputs(request))
      return error;
  if (line->stats)
    printStatistics(**emulator);
  return Error::success();
}

int main(int argc, char **argv) {
  // LLVM's statistics are none of ours.
  auto known = cl::getRegisteredOptions().find("stats");
  if (known != cl::getRegisteredOptions().end())
    known->second->removeArgument();
  CommandLine commandLine;
  line = &commandLine;
  cl::HideUnrelatedOptions(commandLine.category);
  cl::ParseCommandLineOptions(argc, argv, overview);
  auto main = []() -> Error {
    if (line->listOpcodes)
      return printOpcodes();
    if (!line->checkOpcodes)
      return run();
    if (line->inputs.empty())
      return createStringError("no PTX file is given");
    Error result = Error::success();
    for (const std::string &input : line->inputs)
      result = llvm::joinErrors(std::move(result), checkFile(input));
    return result;
  };
  Error error = main();
  if (!error)
    return 0;
  llvm::handleAllErrors(
      std::move(error),
      [](const EmulatorFaultError &fault) {
        llvm::errs() << fault.getFault().format();
      },
      [](const llvm::ErrorInfoBase &other) {
        llvm::WithColor::error(llvm::errs(), "flashnorm-emulate")
            << other.message() << "\n";
      });
  return 1;
}
