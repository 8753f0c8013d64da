//===- Translator.cpp - PTX to LLVM IR ------------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Isa/Translator.h"
#include "Isa/FunctionTranslator.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/MathExtras.h"

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::StringRef;
using llvm::Twine;

llvm::SmallVector<uint64_t>
emulator::layOutParameters(const ptx::Function &function, uint64_t &size) {
  llvm::SmallVector<uint64_t> offsets;
  size = 0;
  for (const ptx::Variable &param : function.params) {
    size = llvm::alignTo(size, param.alignment);
    offsets.push_back(size);
    size += param.size;
  }
  return offsets;
}

KernelTranslator::KernelTranslator(const ptx::Module &module,
                                   const llvm::StringMap<uint64_t> &globals,
                                   StringRef name)
    : module(module), globals(globals), name(name) {
  for (const ptx::Variable &variable : module.variables)
    moduleVariables[variable.name] = &variable;
  // A definition hides its declarations.
  for (const ptx::Function &function : module.functions) {
    const ptx::Function *&known = functionsByName[function.name];
    if (!known || known->isDeclaration)
      known = &function;
  }
  result = std::make_unique<TranslatedKernel>();
  result->context = std::make_unique<llvm::LLVMContext>();
  result->module = std::make_unique<llvm::Module>("ptx", *result->context);
}

void KernelTranslator::fail(const ptx::Location &location,
                            const Twine &message) {
  if (error.empty())
    error = (name + ":" + Twine(location.ptxLine) + ": " + message).str();
}

const ptx::Function *KernelTranslator::findFunction(StringRef name) const {
  return functionsByName.lookup(name);
}

const char *KernelTranslator::keepName(StringRef name) {
  // What makes names unique within a function is not the user's.
  result->names.push_back(std::make_unique<std::string>(
      name.take_until([](char c) { return c == '#'; })));
  return result->names.back()->c_str();
}

uint32_t KernelTranslator::reserveLocal(uint64_t size, uint64_t alignment) {
  constexpr uint64_t limit = 512 * 1024;
  uint64_t offset = llvm::alignTo(result->kernel.localBytes, alignment);
  if (size > limit || offset + size > limit) {
    fail({}, "more than " + Twine(limit) + " bytes of local memory");
    return 0;
  }
  localAlignment = std::max(localAlignment, alignment);
  result->kernel.localBytes = offset + size;
  return offset;
}

uint32_t KernelTranslator::getShared(const ptx::Variable &variable) {
  auto [position, isNew] = shared.try_emplace(&variable, 0);
  if (!isNew)
    return position->second;
  uint64_t offset = llvm::alignTo(
      Kernel::sharedStart + result->kernel.sharedBytes, variable.alignment);
  constexpr uint64_t limit = UINT64_C(1) << 24;
  if (variable.size > limit || offset + variable.size > limit) {
    fail({}, "the shared variable '" + variable.name + "' of " +
                 Twine(variable.size) + " bytes");
    return Kernel::sharedStart;
  }
  result->kernel.sharedBytes =
      static_cast<uint32_t>(offset + variable.size - Kernel::sharedStart);
  return position->second = static_cast<uint32_t>(offset);
}

std::unique_ptr<Site>
KernelTranslator::makeSite(const ptx::Instruction &instruction) {
  std::string mnemonic = instruction.mnemonic();
  auto [known, isNew] = matched.try_emplace(mnemonic);
  if (isNew &&
      !matchOpcode(instruction.opcode, instruction.modifiers, known->second))
    known->second.entry = nullptr;
  if (!known->second.entry) {
    fail(instruction.location,
         "the emulator does not know '" + mnemonic +
             "'; flashnorm-emulate --list-opcodes has what it knows");
    return nullptr;
  }
  auto site = std::make_unique<Site>(known->second);
  site->index = result->sites.size();
  site->location = instruction.location;
  // A wgmma names up to 128 registers.
  constexpr size_t maxText = 120;
  site->text = instruction.text;
  if (site->text.size() > maxText)
    site->text.replace(maxText, std::string::npos, "…");
  return site;
}

llvm::Function *KernelTranslator::translate(const ptx::Function &function) {
  llvm::LLVMContext &context = *result->context;
  llvm::Type *word = llvm::Type::getInt64Ty(context);
  llvm::SmallVector<llvm::Type *> params = {
      llvm::PointerType::getUnqual(context)};
  if (!function.isEntry)
    params.append(function.results.size() + function.params.size(), word);
  // A device function returns whether its thread has exited.
  llvm::Type *returned = function.isEntry ? llvm::Type::getVoidTy(context)
                                          : llvm::Type::getInt1Ty(context);
  auto *type = llvm::FunctionType::get(returned, params, false);
  auto *llvmFunction = llvm::Function::Create(
      type,
      function.isEntry ? llvm::Function::ExternalLinkage
                       : llvm::Function::InternalLinkage,
      function.isEntry ? TranslatedKernel::symbol : function.name,
      *result->module);
  llvmFunction->addFnAttr(llvm::Attribute::NoUnwind);
  active.insert(&function);
  FunctionTranslator(*this, function, llvmFunction).run();
  active.erase(&function);
  done[&function] = llvmFunction;
  return hasFailed() ? nullptr : llvmFunction;
}

llvm::Function *KernelTranslator::getFunction(const ptx::Function &function,
                                              const Site &site) {
  if (active.contains(&function)) {
    fail(site.location, "'" + function.name +
                            "' calls itself: the emulator does no recursion");
    return nullptr;
  }
  auto found = done.find(&function);
  return found != done.end() ? found->second : translate(function);
}

llvm::Error KernelTranslator::run(const ptx::Function &entry) {
  Kernel &kernel = result->kernel;
  kernel.name = entry.name;
  kernel.function = &entry;
  kernel.files = module.files;
  kernel.maxRegisters = entry.maxnreg;
  kernel.minCtasPerSm = entry.minnctapersm;
  kernel.explicitCluster =
      entry.explicitCluster || entry.reqnctapercluster.has_value();
  uint64_t paramBytes = 0;
  layOutParameters(entry, paramBytes);
  if (paramBytes > 32764)
    fail(entry.location, "'" + entry.name + "' has " + Twine(paramBytes) +
                             " bytes of parameters; the limit is 32764");
  kernel.paramBytes = static_cast<uint32_t>(paramBytes);
  for (const ptx::Variable &variable : module.variables)
    if (variable.space == ptx::StateSpace::Shared && !variable.size)
      kernel.dynamicSharedAlign =
          std::max<uint32_t>(kernel.dynamicSharedAlign, variable.alignment);
  translate(entry);
  if (hasFailed())
    return llvm::createStringError(error);
  // The base of local memory is aligned at run time, within a surplus.
  if (kernel.localBytes && localAlignment > 16)
    kernel.localBytes += localAlignment;
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*result->module, &stream))
    return llvm::createStringError(
        name + ": '" + entry.name +
        "' became invalid LLVM IR; this is a bug of the emulator: " + problem);
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<TranslatedKernel>>
emulator::translateKernel(const ptx::Module &module, const ptx::Function &entry,
                          const llvm::StringMap<uint64_t> &globals,
                          StringRef name) {
  KernelTranslator translator(module, globals, name);
  if (llvm::Error error = translator.run(entry))
    return std::move(error);
  return std::move(translator.result);
}
