//===- Atomics.cpp - atom, red, st.async, red.async -----------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Isa/OpcodeTable.h"
#include "Machine/Async.h"
#include "Machine/MBarrier.h"
#include "Machine/Machine.h"
#include "Machine/Memory.h"
#include "Tensor/BulkOp.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cstring>

using namespace flashnorm;
using namespace flashnorm::emulator;

namespace {
/// What an instruction's modifiers say. They are told apart by name, not by
/// place: ptxas takes them in many orders, and compilers use several.
struct Modifiers {
  enum class Operation { Reduce, Exchange, CompareAndSwap, Store };
  Operation operation = Operation::Store;
  ReduceOperation reduce = ReduceOperation::Add;
  ptx::Type type = ptx::Type::B32;
  unsigned width = 1; ///< elements of a vector
  Order order = Order::Relaxed;
  Scope scope = Scope::Gpu;
  Space space = Space::Generic;

  /// Bytes of an element.
  unsigned elementBytes() const { return ptx::sizeInBits(type) / 8; }
  unsigned bytes() const { return elementBytes() * width; }
};
} // namespace

static Modifiers decode(llvm::StringRef text) {
  Modifiers result;
  llvm::SmallVector<llvm::StringRef> words;
  text.take_until(llvm::isSpace).split(words, '.');
  for (llvm::StringRef word : llvm::drop_begin(words)) {
    if (auto reduce = llvm::StringSwitch<std::optional<ReduceOperation>>(word)
                          .Case("and", ReduceOperation::And)
                          .Case("or", ReduceOperation::Or)
                          .Case("xor", ReduceOperation::Xor)
                          .Case("add", ReduceOperation::Add)
                          .Case("inc", ReduceOperation::Inc)
                          .Case("dec", ReduceOperation::Dec)
                          .Case("min", ReduceOperation::Min)
                          .Case("max", ReduceOperation::Max)
                          .Default(std::nullopt)) {
      result.operation = Modifiers::Operation::Reduce;
      result.reduce = *reduce;
    } else if (word == "exch") {
      result.operation = Modifiers::Operation::Exchange;
    } else if (word == "cas") {
      result.operation = Modifiers::Operation::CompareAndSwap;
    } else if (auto order = llvm::StringSwitch<std::optional<Order>>(word)
                                .Case("relaxed", Order::Relaxed)
                                .Case("acquire", Order::Acquire)
                                .Case("release", Order::Release)
                                .Case("acq_rel", Order::AcqRel)
                                .Default(std::nullopt)) {
      result.order = *order;
    } else if (auto scope = llvm::StringSwitch<std::optional<Scope>>(word)
                                .Case("cta", Scope::Cta)
                                .Case("cluster", Scope::Cluster)
                                .Case("gpu", Scope::Gpu)
                                .Case("sys", Scope::Sys)
                                .Default(std::nullopt)) {
      result.scope = *scope;
    } else if (auto space = llvm::StringSwitch<std::optional<Space>>(word)
                                .Case("global", Space::Global)
                                .Cases({"shared", "shared::cta"}, Space::Shared)
                                .Case("shared::cluster", Space::SharedCluster)
                                .Default(std::nullopt)) {
      result.space = *space;
    } else if (word == "v2" || word == "v4" || word == "v8") {
      result.width = word[1] - '0';
    } else if (auto type = ptx::parseType(word)) {
      result.type = *type;
    }
  }
  return result;
}

static const Modifiers &getModifiers(const Site &site) {
  if (!site.decoded)
    site.decoded = std::make_shared<const Modifiers>(decode(site.text));
  return *static_cast<const Modifiers *>(site.decoded.get());
}

/// Table 34 of the ISA: which operations go with which types.
static bool isLegal(const Modifiers &modifiers) {
  using ptx::Type;
  Type type = modifiers.type;
  auto isOneOf = [type](std::initializer_list<Type> types) {
    return llvm::is_contained(types, type);
  };
  switch (modifiers.operation) {
  case Modifiers::Operation::Store:
    return true;
  case Modifiers::Operation::Exchange:
    return isOneOf({Type::B32, Type::B64, Type::B128, Type::U32, Type::S32,
                    Type::F32, Type::U64});
  case Modifiers::Operation::CompareAndSwap:
    return isOneOf({Type::B16, Type::B32, Type::B64, Type::B128, Type::U32,
                    Type::S32, Type::U64});
  case Modifiers::Operation::Reduce:
    break;
  }
  bool isHalf = isOneOf({Type::F16, Type::BF16, Type::F16x2, Type::BF16x2});
  switch (modifiers.reduce) {
  case ReduceOperation::And:
  case ReduceOperation::Or:
  case ReduceOperation::Xor:
    return isOneOf({Type::B32, Type::B64});
  case ReduceOperation::Inc:
  case ReduceOperation::Dec:
    return type == Type::U32;
  case ReduceOperation::Add:
    return isHalf || isOneOf({Type::U32, Type::S32, Type::U64, Type::S64,
                              Type::F32, Type::F64});
  case ReduceOperation::Min:
  case ReduceOperation::Max:
    return isHalf || isOneOf({Type::U32, Type::S32, Type::U64, Type::S64});
  }
  llvm_unreachable("unknown operation");
}

/// The elements of an operand, packed as they lie in memory.
static llvm::SmallVector<char, 32> pack(const Modifiers &modifiers,
                                        const Site &site, unsigned operand,
                                        const uint64_t *words) {
  llvm::SmallVector<char, 32> data(modifiers.bytes());
  const uint64_t *from = words + site.operands[operand].first;
  unsigned bytes = modifiers.elementBytes(), slots = (bytes + 7) / 8;
  for (unsigned i = 0; i != modifiers.width; ++i)
    std::memcpy(data.data() + i * bytes, from + i * slots, bytes);
  return data;
}

static void unpack(const Modifiers &modifiers, const Site &site,
                   unsigned operand, const char *data, uint64_t *words) {
  uint64_t *to = words + site.operands[operand].first;
  unsigned bytes = modifiers.elementBytes(), slots = (bytes + 7) / 8;
  for (unsigned i = 0; i != modifiers.width; ++i) {
    to[i * slots] = 0;
    std::memcpy(to + i * slots, data + i * bytes, bytes);
  }
}

/// x2 types are two elements.
static ptx::Type getElementType(ptx::Type type) {
  if (type == ptx::Type::F16x2)
    return ptx::Type::F16;
  return type == ptx::Type::BF16x2 ? ptx::Type::BF16 : type;
}

static bool isSharedAddress(const Thread &thread, Space space,
                            uint64_t address) {
  return space == Space::Shared || space == Space::SharedCluster ||
         (space == Space::Generic &&
          address >> 32 ==
              reinterpret_cast<uint64_t>(thread.cta.cluster.window) >> 32);
}

/// atom…op d, [a], b{, c}{, cache-policy} (9.7.13.5) and red…op [a], b
/// (9.7.13.6), whose operands are at one place less.
template <bool isRed>
static void atom(Thread &thread, const Site &site, uint64_t *words) {
  constexpr unsigned addressOperand = isRed ? 0 : 1, b = addressOperand + 1,
                     c = addressOperand + 2;
  const Modifiers &modifiers = getModifiers(site);
  if (!isLegal(modifiers))
    thread.fault(FaultKind::IllegalInstruction,
                 "the operation does not exist for ." +
                     ptx::stringify(modifiers.type).ltrim('.'));
  uint64_t address = word(words, site, addressOperand);
  unsigned bytes = modifiers.bytes();
  char *location = access(thread, modifiers.space, address, bytes, bytes,
                          Access::Atomic, modifiers.scope);
  llvm::SmallVector<char, 32> before(location, location + bytes);
  acquireLocation(thread, location, modifiers.order, modifiers.scope);
  llvm::SmallVector<char, 32> operand = pack(modifiers, site, b, words);
  bool writes = true;
  switch (modifiers.operation) {
  case Modifiers::Operation::Reduce:
    // f32 in global memory flushes subnormals, shared memory does not.
    operand.swap(before);
    reduceElements(modifiers.reduce, getElementType(modifiers.type),
                   operand.data(), before.data(), bytes,
                   !isSharedAddress(thread, modifiers.space, address));
    std::memcpy(before.data(), location, bytes);
    break;
  case Modifiers::Operation::Exchange:
    break;
  case Modifiers::Operation::CompareAndSwap:
    writes = std::memcmp(operand.data(), location, bytes) == 0;
    if constexpr (!isRed)
      operand = pack(modifiers, site, c, words);
    break;
  case Modifiers::Operation::Store:
    llvm_unreachable("no atomic operation stores");
  }
  if (writes) {
    releaseLocation(thread, location, modifiers.order, modifiers.scope,
                    /*isAtomic=*/true);
    if (std::memcmp(location, operand.data(), bytes) != 0)
      thread.machine.noteChange();
    std::memcpy(location, operand.data(), bytes);
  }
  if constexpr (!isRed)
    if (site.count(0))
      unpack(modifiers, site, 0, before.data(), words);
}

//===----------------------------------------------------------------------===//
// st.async and red.async
//===----------------------------------------------------------------------===//

namespace {
/// Writes or reduces in a CTA's shared memory and signals an mbarrier of it. In
/// the generic proxy.
class AsyncStore final : public AsyncOp {
public:
  AsyncStore(Thread &thread, const Site &site, uint32_t address,
             uint32_t barrier, llvm::SmallVector<char, 32> data)
      : AsyncOp(thread, site, Proxy::Generic), address(address),
        barrier(barrier), data(std::move(data)) {
    txBytes = this->data.size();
  }

  bool step() override {
    const Modifiers &modifiers = getModifiers(site);
    bool stores = modifiers.operation == Modifiers::Operation::Store;
    char *location = access(*this, Space::SharedCluster, address, data.size(),
                            stores ? Access::Write : Access::Atomic);
    if (stores)
      std::memcpy(location, data.data(), data.size());
    else
      reduceElements(modifiers.reduce, modifiers.type, location, data.data(),
                     data.size(), /*flush=*/false);
    completeTx(*this, barrier, data.size());
    return true;
  }

private:
  uint32_t address, barrier;
  llvm::SmallVector<char, 32> data;
};
} // namespace

/// st.async [a], b, [mbar] (9.7.9.12) and red.async.op [a], b, [mbar]
/// (9.7.13.7).
static void storeAsync(Thread &thread, const Site &site, uint64_t *words) {
  thread.preempt();
  const Modifiers &modifiers = getModifiers(site);
  uint64_t address = word(words, site, 0), barrier = word(words, site, 2);
  SharedPlace to = resolveShared(thread, Space::SharedCluster, address,
                                 modifiers.bytes(), modifiers.bytes());
  SharedPlace signals =
      resolveShared(thread, Space::SharedCluster, barrier, 8, 8);
  if (to.cta != signals.cta)
    thread.fault(
        FaultKind::IllegalInstruction,
        "the mbarrier is in CTA rank " + llvm::Twine(signals.cta->rank) +
            " of the cluster, the destination in " + llvm::Twine(to.cta->rank));
  checkMBarrier(thread, barrier, /*forAsync=*/false);
  auto op = std::make_unique<AsyncStore>(thread, site, address, barrier,
                                         pack(modifiers, site, 1, words));
  if (modifiers.operation == Modifiers::Operation::Store)
    poison(*op, Space::SharedCluster, address, modifiers.bytes());
  issue(thread, std::move(op));
}

#define FLASHNORM_SEM ".relaxed|.acquire|.release|.acq_rel"
#define FLASHNORM_RED_SEM ".relaxed|.release"
#define FLASHNORM_SCOPE ".cta|.cluster|.gpu|.sys"
#define FLASHNORM_SPACE ".global|.shared|.shared::cta|.shared::cluster"
#define FLASHNORM_OP ".add|.min|.max|.inc|.dec|.and|.or|.xor"
#define FLASHNORM_TAIL                                                         \
  "{.noftz}{.L2::cache_hint}{.v2|.v4|.v8}"                                     \
  "(.b32|.b64|.b128|.u32|.u64|.s32|.s64|.f16|.f16x2|.bf16|.bf16x2|.f32|.f64)"
#define FLASHNORM_CAS "{.L2::cache_hint}(.b16|.b32|.b64|.b128|.u32|.s32|.u64)"
/// The orders of modifiers that compilers use; no two of them match the same
/// instruction: the ISA's; space, then semantics; operation, then semantics;
/// vector and type before the operation.
#define FLASHNORM_ORDERS(opcode, sem, op, tail, operands, section, handler)    \
  {opcode "{" sem "}{" FLASHNORM_SCOPE "}{" FLASHNORM_SPACE "}(" op ")" tail,  \
   operands, section, nullptr, handler},                                       \
      {opcode "(" FLASHNORM_SPACE ")(" sem "){" FLASHNORM_SCOPE "}(" op        \
              ")" tail,                                                        \
       operands, section, nullptr, handler},                                   \
      {opcode "(" FLASHNORM_SPACE ")(" FLASHNORM_SCOPE ")(" op ")" tail,       \
       operands, section, nullptr, handler},                                   \
  {                                                                            \
    opcode "(" op ")(" sem "){" FLASHNORM_SCOPE "}{" FLASHNORM_SPACE "}" tail, \
        operands, section, nullptr, handler                                    \
  }

llvm::ArrayRef<OpcodeEntry> flashnorm::emulator::getAtomicOpcodes() {
  static const OpcodeEntry entries[] = {
      FLASHNORM_ORDERS("atom", FLASHNORM_SEM, FLASHNORM_OP "|.exch",
                       FLASHNORM_TAIL, "d m s s?", "9.7.13.5", atom<false>),
      FLASHNORM_ORDERS("atom", FLASHNORM_SEM, ".cas", FLASHNORM_CAS,
                       "d m s s s?", "9.7.13.5", atom<false>),
      FLASHNORM_ORDERS("red", FLASHNORM_RED_SEM, FLASHNORM_OP, FLASHNORM_TAIL,
                       "m s s?", "9.7.13.6", atom<true>),
      {"atom{" FLASHNORM_SEM "}{" FLASHNORM_SCOPE "}{.global}(.v2|.v4|.v8)"
       "(.f16|.f16x2|.bf16|.bf16x2|.f32)(.add|.min|.max){.noftz}"
       "{.L2::cache_hint}",
       "d m s s?", "9.7.13.5", nullptr, atom<false>},
      {"red{" FLASHNORM_RED_SEM "}{" FLASHNORM_SCOPE "}{.global}(.v2|.v4|.v8)"
       "(.f16|.f16x2|.bf16|.bf16x2|.f32)(.add|.min|.max){.noftz}"
       "{.L2::cache_hint}",
       "m s s?", "9.7.13.6", nullptr, atom<true>},
      {"st.async{.weak}.shared::cluster.mbarrier::complete_tx::bytes{.v2|.v4}"
       "(.b32|.b64|.u32|.u64|.s32|.s64|.f32|.f64)",
       "m s m", "9.7.9.12", nullptr, storeAsync},
      {"red.async.relaxed.cluster{.shared::cluster}"
       ".mbarrier::complete_tx::bytes(.inc|.dec|.min|.max|.add|.and|.or|.xor)"
       "(.u32|.s32|.u64|.b32)",
       "m s m", "9.7.13.7", nullptr, storeAsync},
  };
  return entries;
}
