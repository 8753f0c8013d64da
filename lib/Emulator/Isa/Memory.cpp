//===- Memory.cpp - Loads, stores and addresses ---------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9. Hints to caches say nothing about results; they are read and
// forgotten.
//
//===----------------------------------------------------------------------===//

#include "Isa/Emitter.h"
#include "Isa/FunctionTranslator.h"

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::Value;

namespace {
// Groups of the patterns of ld and st.
enum Groups { Semantics, InScope, InSpace };
enum Semantic { Weak, Volatile, Relaxed, AcquireOrRelease, Mmio };
} // namespace

#define SCOPES "{.cta|.cluster|.gpu|.sys}"
#define SPACES                                                                 \
  "{.const|.global|.local|.param|.param::entry|.param::func|.shared|.shared::" \
  "cta|.shared::cluster}"
#define EVICTION                                                               \
  "{.L1::evict_normal|.L1::evict_unchanged|.L1::evict_first|.L1::evict_last|"  \
  ".L1::no_allocate}{.L2::evict_normal|.L2::evict_first|.L2::evict_last}"
#define VECTORS "{.v2|.v4|.v8}"
#define TYPES                                                                  \
  ".(b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f16|f16x2|bf16|f32|"    \
  "f64)"

static Space getSpace(int choice) {
  static constexpr Space spaces[] = {
      Space::Const,  Space::Global, Space::Local,
      Space::Param,  Space::Param,  Space::Param,
      Space::Shared, Space::Shared, Space::SharedCluster};
  return choice < 0 ? Space::Generic : spaces[choice];
}

static unsigned getVectorSize(const InstructionEmitter &e) {
  for (const std::string &modifier : e.instruction->modifiers)
    if (modifier.size() == 2 && modifier[0] == 'v')
      return modifier[1] - '0';
  return 1;
}

/// The registers of a vector operand, or the operand itself.
static llvm::ArrayRef<ptx::Operand> getElements(const ptx::Operand &operand) {
  if (operand.kind == ptx::Operand::Kind::Vector)
    return operand.elements;
  return operand;
}

static bool isSignedType(ptx::Type type) {
  return type == ptx::Type::S8 || type == ptx::Type::S16 ||
         type == ptx::Type::S32 || type == ptx::Type::S64;
}

/// Parameters by name need no check, other than that the access lies within.
static Value *emitTrustedAddress(InstructionEmitter &e, unsigned address,
                                 unsigned bytes, bool isStore) {
  const ptx::Operand &operand = *e.operands[address];
  const ptx::Operand &base = operand.elements[0];
  if (base.kind != ptx::Operand::Kind::Symbol)
    return nullptr;
  auto symbol = e.translator.findSymbol(base.name);
  if (!symbol || !symbol->isTrusted)
    return nullptr;
  if (operand.offset < 0 || symbol->size < bytes ||
      static_cast<uint64_t>(operand.offset) > symbol->size - bytes) {
    e.fail("an access outside of '" + base.name + "'");
    return nullptr;
  }
  if (isStore && e.translator.function.isEntry &&
      llvm::any_of(e.translator.function.params,
                   [&](const ptx::Variable &param) {
                     return param.name == base.name;
                   })) {
    e.fail("the parameters of an entry are read-only");
    return nullptr;
  }
  Value *sum = e.b.CreateAdd(symbol->address, e.b.getInt64(operand.offset));
  return e.b.CreateIntToPtr(sum, e.b.getPtrTy());
}

static Scope getScope(const InstructionEmitter &e) {
  int choice = e.site.get(InScope);
  return choice < 0 ? Scope::Sys : static_cast<Scope>(choice);
}

/// A pointer to what a load reads or a store writes.
static Value *emitPointerTo(InstructionEmitter &e, unsigned address,
                            unsigned bytes, bool isStore, bool &isStrong,
                            bool &isTrusted) {
  int semantics = e.site.get(Semantics);
  Space space = getSpace(e.site.get(InSpace));
  isStrong = semantics > Weak;
  isTrusted = false;
  if (space == Space::Param) {
    if (Value *pointer = emitTrustedAddress(e, address, bytes, isStore)) {
      isStrong = false;
      isTrusted = true;
      return pointer;
    }
    if (e.translator.kernel.hasFailed())
      return nullptr;
  }
  Value *where = e.readAddress(address);
  if (!isStrong)
    return e.access(space, where, bytes, bytes,
                    isStore ? Access::Write : Access::Read);
  Order order = semantics == AcquireOrRelease
                    ? (isStore ? Order::Release : Order::Acquire)
                    : Order::Relaxed;
  auto constant = [&](auto value) {
    return e.constant(sizeof(value) * 8, static_cast<uint64_t>(value));
  };
  return e.call(
      jitStrongAccess, e.thread(), e.sitePointer(), where, e.b.getInt32(bytes),
      e.b.getInt32(packAccess(
          space, isStore ? Access::StrongWrite : Access::StrongRead, bytes)),
      constant(order), constant(getScope(e)));
}

static void emitLd(InstructionEmitter &e) {
  ptx::Type type = e.site.types[0];
  unsigned size = ptx::sizeInBits(type) / 8, count = getVectorSize(e);
  llvm::ArrayRef<ptx::Operand> elements = getElements(*e.operands[0]);
  if (elements.size() != count)
    return e.fail(llvm::Twine(elements.size()) + " registers for " +
                  llvm::Twine(count) + " values");
  bool isStrong = false, isTrusted = false;
  Value *pointer =
      emitPointerTo(e, 1, size * count, false, isStrong, isTrusted);
  if (!pointer)
    return;
  llvm::SmallVector<Value *, 8> values;
  for (unsigned i = 0; i < count; ++i) {
    Value *at =
        e.b.CreateConstInBoundsGEP1_64(e.b.getInt8Ty(), pointer, i * size);
    values.push_back(e.b.CreateAlignedLoad(e.intType(size * 8), at,
                                           llvm::Align(isTrusted ? 1 : size)));
  }
  if (isStrong) {
    Order order = e.site.get(Semantics) == AcquireOrRelease ? Order::Acquire
                                                            : Order::Relaxed;
    e.call(jitAcquire, e.thread(), pointer,
           e.constant(8, static_cast<uint64_t>(order)),
           e.constant(8, static_cast<uint64_t>(getScope(e))));
  }
  for (unsigned i = 0; i < count; ++i)
    e.writeOperand(elements[i], values[i], true, isSignedType(type));
}

static void emitSt(InstructionEmitter &e) {
  ptx::Type type = e.site.types[0];
  unsigned size = ptx::sizeInBits(type) / 8, count = getVectorSize(e);
  llvm::ArrayRef<ptx::Operand> elements = getElements(*e.operands[1]);
  if (elements.size() != count)
    return e.fail(llvm::Twine(elements.size()) + " registers for " +
                  llvm::Twine(count) + " values");
  // Values first: nothing may come between the check and the store.
  llvm::SmallVector<Value *, 8> values;
  bool isFloat = type == ptx::Type::F32 || type == ptx::Type::F64;
  for (const ptx::Operand &element : elements)
    values.push_back(e.readOperand(element, size * 8, true, isFloat));
  bool isStrong = false, isTrusted = false;
  Value *pointer = emitPointerTo(e, 0, size * count, true, isStrong, isTrusted);
  if (!pointer)
    return;
  for (unsigned i = 0; i < count; ++i) {
    Value *at =
        e.b.CreateConstInBoundsGEP1_64(e.b.getInt8Ty(), pointer, i * size);
    e.b.CreateAlignedStore(values[i], at, llvm::Align(isTrusted ? 1 : size));
  }
}

//===----------------------------------------------------------------------===//
// mov
//===----------------------------------------------------------------------===//

/// mov d, a; d or a may be a vector, whose first element is the lowest part.
static void emitMov(InstructionEmitter &e) {
  ptx::Type type = e.site.types[0];
  unsigned bits = ptx::sizeInBits(type);
  const ptx::Operand &from = *e.operands[1], &to = *e.operands[0];
  bool isFloat = type == ptx::Type::F32 || type == ptx::Type::F64;
  llvm::ArrayRef<ptx::Operand> parts = getElements(from);
  Value *value = nullptr;
  if (from.kind == ptx::Operand::Kind::Vector) {
    if (parts.empty() || bits % parts.size())
      return e.fail(llvm::Twine(parts.size()) + " parts of " +
                    llvm::Twine(bits) + " bits");
    unsigned part = bits / parts.size();
    value = e.constant(bits, 0);
    for (size_t i = 0; i != parts.size(); ++i)
      value = e.b.CreateOr(
          value, e.b.CreateShl(e.resize(e.readOperand(parts[i], part), bits),
                               i * part));
  } else {
    value = e.readOperand(from, bits, false, isFloat);
  }
  if (to.kind != ptx::Operand::Kind::Vector)
    return e.writeOperand(to, value);
  if (to.elements.empty() || bits % to.elements.size())
    return e.fail(llvm::Twine(to.elements.size()) + " parts of " +
                  llvm::Twine(bits) + " bits");
  unsigned part = bits / to.elements.size();
  for (size_t i = 0; i != to.elements.size(); ++i)
    e.writeOperand(to.elements[i],
                   e.resize(e.b.CreateLShr(value, i * part), part));
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// Group 0: .to; group 1: the space. Addresses of all spaces but .shared are
/// generic ones, or the low halves of such.
static void emitCvta(InstructionEmitter &e) {
  unsigned bits = ptx::sizeInBits(e.site.types[0]);
  if (bits != 64)
    return e.fail("generic addresses have 64 bits");
  const ptx::Operand &source = *e.operands[1];
  unsigned given = e.getRegisterBits(source);
  Value *address = e.resize(e.readOperand(source, given ? given : 64), 64);
  llvm::StringRef space = e.instruction->modifiers[e.site.has(0)];
  if (!e.site.has(0) && space.starts_with("param"))
    address = e.extendAddress(address, e.translator.paramBase);
  if (!e.site.has(0) && space == "local")
    address = e.extendAddress(address, e.translator.localBase);
  if (space.starts_with("shared")) {
    Value *low = e.b.CreateAnd(address, e.b.getInt64(UINT32_MAX));
    address =
        e.site.has(0) ? low : e.b.CreateAdd(low, e.translator.sharedWindow);
  }
  e.write(0, address);
}

static void emitIsSpace(InstructionEmitter &e) {
  static constexpr Space spaces[] = {
      Space::Const,  Space::Global,        Space::Local, Space::Shared,
      Space::Shared, Space::SharedCluster, Space::Param, Space::Param};
  Value *is =
      e.call(jitIsSpace, e.thread(), e.read(1, 64),
             e.constant(32, static_cast<uint64_t>(spaces[e.site.get(0)])));
  e.write(0, e.b.CreateICmpNE(is, e.constant(32, 0)));
}

/// mapa d, a, b: the address of a, in shared memory of the CTA with rank b.
static void emitMapa(InstructionEmitter &e) {
  unsigned bits = ptx::sizeInBits(e.site.types[0]);
  const ptx::Operand &source = *e.operands[1];
  unsigned given = e.getRegisterBits(source);
  Value *address = e.resize(e.readOperand(source, given ? given : 64), 64);
  Value *rank = e.resize(e.read(2, 32), 64);
  Value *offset = e.b.CreateAnd(address, e.b.getInt64(0xffffff));
  Value *result = e.b.CreateOr(offset, e.b.CreateShl(rank, 24));
  if (!e.site.has(0)) {
    if (bits != 64)
      return e.fail("generic addresses have 64 bits");
    result = e.b.CreateAdd(result, e.translator.sharedWindow);
  }
  e.write(0, e.resize(result, bits));
}

static void emitGetRank(InstructionEmitter &e) {
  const ptx::Operand &source = *e.operands[1];
  unsigned given = e.getRegisterBits(source);
  Value *address = e.resize(e.readOperand(source, given ? given : 64), 64);
  Value *rank = e.b.CreateAnd(e.b.CreateLShr(address, 24), e.b.getInt64(0xff));
  e.write(0, e.resize(rank, 32));
}

//===----------------------------------------------------------------------===//
// Hints
//===----------------------------------------------------------------------===//

/// The address is read, so that an uninitialised register is noticed.
static void emitHint(InstructionEmitter &e) { e.readAddress(0); }

/// A policy is opaque: all are 0.
static void emitPolicy(InstructionEmitter &e) { e.write(0, e.constant(64, 0)); }

static const OpcodeEntry entries[] = {
    {"mov.(pred|b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f16|f16x2|bf16|bf16x2|"
     "f32|f64)",
     "d s", "9.7.9.3", emitMov},
    {"ld{.weak|.volatile|.relaxed|.acquire|.mmio.relaxed}" SCOPES SPACES
     "{.nc|.ca.nc|.cg.nc|.cs.nc|.ca|.cg|.cs|.lu|.cv}" EVICTION
     "{.L2::cache_hint}{.L2::64B|.L2::128B|.L2::256B}{.unified}" VECTORS TYPES,
     "d m s?", "9.7.9.8", emitLd},
    // Groups as those of ld.
    {"ldu{.weak}{.cta}{.const|.global}" VECTORS TYPES, "d m", "9.7.9.10",
     emitLd},
    {"st{.weak|.volatile|.relaxed|.release|.mmio.relaxed}" SCOPES SPACES
     "{.wb|.cg|.cs|.wt}" EVICTION "{.L2::cache_hint}" VECTORS TYPES,
     "m s s?", "9.7.9.11", emitSt},
    {"prefetch{.global|.local}.(L1|L2)", "m", "9.7.9.15", emitHint},
    {"prefetch.global.(L2::evict_last|L2::evict_normal)", "m", "9.7.9.15",
     emitHint},
    {"prefetchu.L1", "m", "9.7.9.15", emitHint},
    {"applypriority{.global}.L2::evict_normal", "m c", "9.7.9.16", emitHint},
    {"discard{.global}.L2", "m c", "9.7.9.17", emitHint},
    {"createpolicy.fractional.(L2::evict_last|L2::evict_normal|"
     "L2::evict_first|L2::evict_unchanged){.L2::evict_first|.L2::evict_"
     "unchanged}.b64",
     "d s?", "9.7.9.18", emitPolicy},
    {"createpolicy.range{.global}.(L2::evict_last|L2::evict_normal|"
     "L2::evict_first|L2::evict_unchanged){.L2::evict_first|.L2::evict_"
     "unchanged}.b64",
     "d m s s", "9.7.9.18", emitPolicy},
    {"createpolicy.cvt.L2.b64", "d s", "9.7.9.18", emitPolicy},
    {"isspacep.(const|global|local|shared|shared::cta|shared::cluster|param|"
     "param::entry)",
     "d s", "9.7.9.19", emitIsSpace},
    {"cvta{.to}.(const|global|local|shared|shared::cta|shared::cluster|param|"
     "param::entry).(u32|u64)",
     "d s", "9.7.9.20", emitCvta},
    {"mapa{.shared::cluster}.(u32|u64)", "d s s", "9.7.9.23", emitMapa},
    {"getctarank{.shared::cluster}.(u32|u64)", "d s", "9.7.9.24", emitGetRank},
};

llvm::ArrayRef<OpcodeEntry> emulator::getMemoryOpcodes() { return entries; }
