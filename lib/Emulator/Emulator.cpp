//===- Emulator.cpp - Runs PTX on the CPU ---------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Emulator/Emulator.h"
#include "Isa/Jit.h"
#include "Isa/Translator.h"
#include "Machine/Machine.h"
#include "Ptx/Parser.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <cstring>

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

char EmulatorFaultError::ID;

Error flashnorm::parseSchedule(StringRef text, EmulatorOptions &options) {
  using Schedule = EmulatorOptions::Schedule;
  auto [name, seed] = text.split(':');
  if (name == "random")
    options.schedule = Schedule::Random;
  else if (name == "eager" && seed.empty())
    options.schedule = Schedule::Eager;
  else if (name == "lazy" && seed.empty())
    options.schedule = Schedule::Lazy;
  else
    return createStringError("--schedule=" + text +
                             ": legal are eager, lazy and random[:SEED]");
  if (text.contains(':') && seed.getAsInteger(0, options.seed))
    return createStringError("--schedule=" + text + ": the seed is no number");
  return Error::success();
}

std::string EmulatorFault::format() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!source.empty())
    os << source << ": ";
  os << "fault: " << kind << ": " << message << "\n";
  os << llvm::formatv(
      "  kernel {0}, CTA ({1},{2},{3}), thread ({4},{5},{6}): warp {7} lane "
      "{8}\n",
      kernel, cta[0], cta[1], cta[2], thread[0], thread[1], thread[2], warp,
      lane);
  if (ptxLine)
    os << "  PTX line " << ptxLine << ": " << instruction << "\n";
  for (const std::string &note : notes)
    os << "  note: " << note << "\n";
  return text;
}

void EmulatorFaultError::log(llvm::raw_ostream &os) const {
  os << StringRef(fault.format()).rtrim();
}

std::error_code EmulatorFaultError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

namespace {
struct LoadedModule {
  ptx::Module module;
  std::string name; ///< of the text, for messages
  llvm::StringMap<uint64_t> globals;
};

struct LoadedEntry {
  const LoadedModule *module = nullptr;
  const ptx::Function *function = nullptr;
  std::unique_ptr<TranslatedKernel> translated; ///< at the first launch
};

/// Seconds since its construction.
class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         begin)
        .count();
  }

private:
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
};
} // namespace

struct Emulator::Impl {
  explicit Impl(const EmulatorOptions &options) : machine(options) {}

  Error placeVariables(LoadedModule &loaded);
  Error relocate(const LoadedModule &loaded);
  Expected<LoadedEntry *> findEntry(StringRef name);
  Error compile(LoadedEntry &entry);
  Expected<Grid> makeGrid(StringRef entry, const EmulatorLaunch &shape,
                          llvm::ArrayRef<const void *> parameters);

  Machine machine;
  std::unique_ptr<Jit> jit;
  std::vector<std::unique_ptr<LoadedModule>> modules;
  llvm::StringMap<LoadedEntry> entries;
  std::vector<std::string> entryNames; ///< in order
  unsigned numSites = 0;               ///< of all translated entries
};

/// Global and constant variables; PTX zeroes what has no initializer.
Error Emulator::Impl::placeVariables(LoadedModule &loaded) {
  for (const ptx::Function &function : loaded.module.functions)
    for (const ptx::Variable &variable : function.variables)
      if (variable.space == ptx::StateSpace::Global ||
          variable.space == ptx::StateSpace::Const)
        return createStringError(
            loaded.name + ": the variable '" + variable.name + "' of '" +
            function.name +
            "' must stand outside of functions for the emulator");
  for (const ptx::Variable &variable : loaded.module.variables) {
    if (variable.space == ptx::StateSpace::Shared || variable.isExtern)
      continue;
    constexpr uint64_t limit = UINT64_C(1) << 34;
    if (variable.size > limit)
      return createStringError(loaded.name + ": the variable '" +
                               variable.name + "' has " + Twine(variable.size) +
                               " bytes; the limit is " + Twine(limit));
    if (loaded.globals.contains(variable.name))
      return createStringError(loaded.name + ": the variable '" +
                               variable.name + "' is defined twice");
    Expected<MemoryBlock *> block = machine.allocations.allocate(
        std::max<uint64_t>(variable.size, 1), variable.alignment);
    if (!block)
      return block.takeError();
    (*block)->name = variable.name;
    (*block)->readOnly = variable.space == ptx::StateSpace::Const;
    std::memset((*block)->base, 0, variable.size);
    std::memcpy((*block)->base, variable.initializer.data(),
                variable.initializer.size());
    (*block)->initialized.set(0, variable.size, true);
    loaded.globals[variable.name] = reinterpret_cast<uintptr_t>((*block)->base);
  }
  return Error::success();
}

Error Emulator::Impl::relocate(const LoadedModule &loaded) {
  for (const ptx::Variable &variable : loaded.module.variables)
    for (const ptx::Variable::Relocation &relocation : variable.relocations) {
      auto target = loaded.globals.find(relocation.symbol);
      auto holder = loaded.globals.find(variable.name);
      if (holder == loaded.globals.end())
        continue;
      if (target == loaded.globals.end())
        return createStringError(
            loaded.name + ": the initializer of '" + variable.name +
            "' needs the address of '" + relocation.symbol +
            "', which is no global or constant variable of this module");
      if (relocation.bytes != 8)
        return createStringError(loaded.name + ": the initializer of '" +
                                 variable.name + "' holds an address in " +
                                 Twine(relocation.bytes) + " bytes, not 8");
      uint64_t address = target->second + relocation.addend;
      std::memcpy(reinterpret_cast<char *>(holder->second) + relocation.offset,
                  &address, sizeof(address));
    }
  return Error::success();
}

Expected<LoadedEntry *> Emulator::Impl::findEntry(StringRef name) {
  auto found = entries.find(name);
  if (found != entries.end())
    return &found->second;
  std::string known;
  for (const std::string &entry : entryNames)
    (known += known.empty() ? "" : ", ") += entry;
  return createStringError("there is no entry '" + name + "'" +
                           (known.empty() ? Twine("; no module is loaded")
                                          : "; there are " + Twine(known)));
}

Error Emulator::Impl::compile(LoadedEntry &entry) {
  Stopwatch watch;
  auto translated = translateKernel(entry.module->module, *entry.function,
                                    entry.module->globals, entry.module->name);
  if (!translated)
    return translated.takeError();
  // Kernels of different entries may run at the same time.
  for (const std::unique_ptr<Site> &site : (*translated)->sites)
    site->index += numSites;
  numSites += (*translated)->sites.size();
  if (Error error = jit->compile(**translated))
    return error;
  entry.translated = std::move(*translated);
  machine.statistics.compileSeconds += watch.seconds();
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

Emulator::Emulator(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Emulator::~Emulator() = default;

Expected<std::unique_ptr<Emulator>>
Emulator::create(const EmulatorOptions &options) {
  Expected<std::unique_ptr<Jit>> jit = Jit::create();
  if (!jit)
    return jit.takeError();
  auto impl = std::make_unique<Impl>(options);
  impl->jit = std::move(*jit);
  return std::unique_ptr<Emulator>(new Emulator(std::move(impl)));
}

void Emulator::setOptions(const EmulatorOptions &options) {
  impl->machine.options = options;
}

Error Emulator::loadModule(llvm::MemoryBufferRef ptx) {
  Stopwatch watch;
  auto loaded = std::make_unique<LoadedModule>();
  Expected<ptx::Module> module = ptx::parseModule(ptx);
  if (!module)
    return module.takeError();
  loaded->module = std::move(*module);
  loaded->name = ptx.getBufferIdentifier().str();
  llvm::StringMap<const ptx::Function *> found;
  for (const ptx::Function &function : loaded->module.functions) {
    if (!function.isEntry || function.isDeclaration)
      continue;
    if (impl->entries.contains(function.name) ||
        !found.try_emplace(function.name, &function).second)
      return createStringError(loaded->name + ": the entry '" + function.name +
                               "' exists already");
  }
  if (Error error = impl->placeVariables(*loaded))
    return error;
  if (Error error = impl->relocate(*loaded))
    return error;
  for (const ptx::Function &function : loaded->module.functions) {
    if (!function.isEntry || function.isDeclaration)
      continue;
    LoadedEntry &entry = impl->entries[function.name];
    entry.module = loaded.get();
    entry.function = &function;
    impl->entryNames.push_back(function.name);
  }
  impl->modules.push_back(std::move(loaded));
  impl->machine.statistics.parseSeconds += watch.seconds();
  return Error::success();
}

std::vector<std::string> Emulator::getEntries() const {
  return impl->entryNames;
}

Expected<std::vector<EmulatorParameter>>
Emulator::getParameters(StringRef entry) const {
  Expected<LoadedEntry *> found = impl->findEntry(entry);
  if (!found)
    return found.takeError();
  std::vector<EmulatorParameter> result;
  for (const ptx::Variable &param : (*found)->function->params)
    result.push_back({param.name, param.size, param.alignment});
  return result;
}

Expected<uint64_t> Emulator::allocate(uint64_t bytes) {
  Expected<MemoryBlock *> block = impl->machine.allocations.allocate(bytes);
  if (!block)
    return block.takeError();
  // What nobody has written is the same each time, and looks wrong.
  std::memset((*block)->base, 0xcd, bytes);
  return reinterpret_cast<uintptr_t>((*block)->base);
}

Error Emulator::free(uint64_t pointer) {
  return impl->machine.allocations.free(pointer);
}

static Expected<MemoryBlock *> findBlock(Machine &machine, uint64_t address,
                                         uint64_t bytes) {
  const char *begin = reinterpret_cast<const char *>(address);
  MemoryBlock *block = machine.allocations.find(begin);
  if (!block || !block->contains(begin, bytes))
    return createStringError(Twine(bytes) + " bytes at 0x" +
                             Twine::utohexstr(address) +
                             " do not lie within an allocation");
  return block;
}

Error Emulator::copyToDevice(uint64_t to, const void *from, uint64_t bytes) {
  if (!bytes)
    return Error::success();
  Expected<MemoryBlock *> block = findBlock(impl->machine, to, bytes);
  if (!block)
    return block.takeError();
  char *begin = reinterpret_cast<char *>(to);
  std::memcpy(begin, from, bytes);
  (*block)->initialized.set(begin - (*block)->base, bytes, true);
  return Error::success();
}

Error Emulator::copyToHost(void *to, uint64_t from, uint64_t bytes) {
  if (!bytes)
    return Error::success();
  Expected<MemoryBlock *> block = findBlock(impl->machine, from, bytes);
  if (!block)
    return block.takeError();
  std::memcpy(to, reinterpret_cast<const char *>(from), bytes);
  return Error::success();
}

/// What the machine runs for a launch.
Expected<Grid>
Emulator::Impl::makeGrid(StringRef entry, const EmulatorLaunch &shape,
                         llvm::ArrayRef<const void *> parameters) {
  Expected<LoadedEntry *> found = findEntry(entry);
  if (!found)
    return found.takeError();
  const ptx::Function &function = *(*found)->function;
  if (parameters.size() != function.params.size())
    return createStringError("cannot launch " + entry + ": " +
                             Twine(parameters.size()) + " arguments for its " +
                             Twine(function.params.size()) + " parameters");
  if (!(*found)->translated)
    if (Error error = compile(**found))
      return std::move(error);
  uint64_t size = 0;
  llvm::SmallVector<uint64_t> offsets = layOutParameters(function, size);
  Grid grid((*found)->translated->kernel, shape);
  grid.params.resize(size);
  for (size_t i = 0; i != offsets.size(); ++i)
    std::memcpy(grid.params.data() + offsets[i], parameters[i],
                function.params[i].size);
  return grid;
}

Error Emulator::launch(StringRef entry, const EmulatorLaunch &shape,
                       llvm::ArrayRef<const void *> parameters) {
  return launch(EmulatorGrid{entry.str(), shape, parameters});
}

Error Emulator::launch(llvm::ArrayRef<EmulatorGrid> stream) {
  std::vector<Grid> grids;
  for (const EmulatorGrid &launch : stream) {
    Expected<Grid> grid =
        impl->makeGrid(launch.entry, launch.shape, launch.parameters);
    if (!grid)
      return grid.takeError();
    grids.push_back(std::move(*grid));
  }
  return grids.empty() ? Error::success()
                       : impl->machine.runStream(std::move(grids));
}

const EmulatorStatistics &Emulator::getStatistics() const {
  return impl->machine.statistics;
}
