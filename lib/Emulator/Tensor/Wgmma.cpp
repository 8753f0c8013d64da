//===- Wgmma.cpp - Matrix products of a warpgroup -------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.15. The four warps of a warpgroup must execute wgmma.mma_async
// together, but each is an operation of its own, on 16 rows of A and D and all
// of B: it knows only what its own warp knows, so that a barrier missing
// between the warps is found. The operations of a warp complete in order.
//
// Accumulators of products under way are kept here, in rows, and go to the
// registers when they are waited for; until then the registers count as being
// written, and those of A as being read.
//
//===----------------------------------------------------------------------===//

#include "Isa/OpcodeTable.h"
#include "Machine/Machine.h"
#include "Tensor/Descriptor.h"
#include "Tensor/Numerics.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::formatv;
using llvm::IntrusiveRefCntPtr;

namespace {

constexpr unsigned warpSize = 32, numWarps = 4;
constexpr unsigned warpRows = 16; ///< of A and D, per warp
constexpr unsigned maxK = 32;
constexpr unsigned numARegisters = 4;

/// Operands by position: D, A, B, scale-d and up to four immediates.
enum Operand { OpD, OpA, OpB, OpScaleD, OpImmediates };

/// Decoded once per site.
struct Shape {
  unsigned n = 0, k = 0;
  ptx::Type accumulator = ptx::Type::F32;
  ElementType a = ElementType::F16, b = ElementType::F16;
  bool saturate = false;
  bool aInRegisters = false;
  bool negateA = false, negateB = false;
  bool aIsMNMajor = false, bIsMNMajor = false;

  bool isInteger() const { return emulator::isInteger(a); }
  unsigned countDRegisters() const {
    return accumulator == ptx::Type::F16 ? n / 4 : n / 2;
  }
};

class Product;

} // namespace

namespace flashnorm::emulator {

/// The accumulators that the products under way of a warp work on.
struct Accumulator : llvm::RefCountedBase<Accumulator> {
  /// In all lanes: the numbers of their registers.
  llvm::SmallVector<uint32_t, 128> registers;
  unsigned n = 0;
  ptx::Type type = ptx::Type::F32;
  /// 16 rows of n; the integers are used for s32.
  std::vector<float> floats;
  std::vector<int32_t> integers;
  AsyncOpRef first; ///< which the registers name as their writer
  AsyncOp *last = nullptr;
};

struct WarpAccumulators {
  /// An accumulator and its first product refer to each other.
  ~WarpAccumulators() {
    for (const IntrusiveRefCntPtr<Accumulator> &accumulator : live)
      accumulator->first = nullptr;
  }

  llvm::SmallVector<IntrusiveRefCntPtr<Accumulator>> live;
  AsyncOpRef lastProduct;
};

} // namespace flashnorm::emulator

namespace {

using AccumulatorRef = IntrusiveRefCntPtr<Accumulator>;

/// B, which the four warps share: the first to need it reads it, the others
/// check only that they may.
struct FactorB : llvm::RefCountedBase<FactorB> {
  FactorB(SharedMatrix matrix) : matrix(std::move(matrix)) {}
  SharedMatrix matrix;
  std::vector<float> floats; ///< k rows of n
  std::vector<int32_t> integers;
};

class Product : public AsyncOp {
public:
  Product(Thread &issuer, const Site &site, const Shape &shape, bool clears,
          AccumulatorRef accumulator, IntrusiveRefCntPtr<FactorB> b)
      : AsyncOp(issuer, site, Proxy::Async), shape(shape), clears(clears),
        accumulator(std::move(accumulator)), b(std::move(b)) {}

  bool step() override {
    if (shape.isInteger())
      multiplyIntegers();
    else
      multiplyFloats();
    readsDone = true;
    return true;
  }

  template <typename Element> void readB(std::vector<Element> &values) {
    if (!values.empty()) {
      b->matrix.check(*this);
      return;
    }
    values.resize(shape.k * shape.n);
    b->matrix.read(*this, values.data(), 1, shape.n);
  }

  void multiplyFloats() {
    float *sums = accumulator->floats.data();
    unsigned count = warpRows * shape.n;
    if (aMatrix)
      aMatrix->read(*this, aFloats, shape.k, 1);
    readB(b->floats);
    // (-a) · b is a · (-b).
    if (shape.negateA != shape.negateB)
      for (float &value : aFloats)
        value = -value;
    if (clears)
      std::fill(sums, sums + count, 0.0f);
    multiplyAccumulate(aFloats, b->floats.data(), sums, warpRows, shape.n,
                       shape.k);
    if (shape.accumulator == ptx::Type::F16)
      for (unsigned i = 0; i < count; ++i)
        sums[i] = floatFromF16(static_cast<uint16_t>(encodeFloat(
            sums[i], FloatFormat::F16, Rounding::NearestEven, NoFlags)));
  }

  void multiplyIntegers() {
    std::vector<int32_t> &sums = accumulator->integers;
    if (aMatrix)
      aMatrix->read(*this, aIntegers, shape.k, 1);
    readB(b->integers);
    if (clears)
      std::fill(sums.begin(), sums.end(), 0);
    multiplyAccumulate(aIntegers, b->integers.data(), sums.data(), warpRows,
                       shape.n, shape.k, shape.saturate);
  }

  Shape shape;
  bool clears; ///< scale-d is false: D is not added
  AccumulatorRef accumulator;
  IntrusiveRefCntPtr<FactorB> b;
  /// A: in shared memory, or fetched from registers at the issue.
  std::optional<SharedMatrix> aMatrix;
  llvm::SmallVector<uint32_t, numARegisters> aRegisters;
  float aFloats[warpRows * maxK] = {};
  int32_t aIntegers[warpRows * maxK] = {};
};

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

using Lanes = llvm::ArrayRef<Arrival>; ///< of a warp

/// Calls visit(row, column, register, element) for what a lane holds of D.
template <typename Visitor>
void visitD(unsigned n, bool packed, unsigned lane, Visitor visit) {
  unsigned g = lane / 4, t = lane % 4;
  for (unsigned block = 0; block < n / 8; ++block)
    for (unsigned half = 0; half < 2; ++half)
      for (unsigned i = 0; i < 2; ++i) {
        unsigned pair = 2 * block + half;
        visit(g + 8 * half, 8 * block + 2 * t + i, packed ? pair : 2 * pair + i,
              packed ? i : 0);
      }
}

void addPending(Thread &thread, AsyncRegister &reg, int change) {
  if (!reg.writer && !reg.reader)
    thread.numPendingRegisters += change;
}

const char *describeUse(bool isD) { return isD ? "accumulator" : "A"; }

/// What wgmma.fence must order (9.7.15.7.1): accesses of the same registers, be
/// they reads or writes.
void checkFence(Thread &thread, const AsyncRegister &reg, unsigned position,
                bool isD) {
  if (reg.accessedIn == thread.fenceEpoch)
    thread.fault(FaultKind::MissingWgmmaFence,
                 formatv("register {0} of {1} was accessed since the last "
                         "wgmma.fence",
                         position, describeUse(isD)));
}

void loadAccumulator(Accumulator &accumulator, Lanes lanes, bool reads) {
  bool packed = accumulator.type == ptx::Type::F16;
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    Thread &thread = *lanes[lane].thread;
    for (auto [position, index] : llvm::enumerate(accumulator.registers)) {
      AsyncRegister &reg = thread.asyncRegisters[index];
      if (reg.writer || reg.reader)
        thread.fault(
            FaultKind::OverwriteInFlight,
            formatv(
                "accumulator register {0} is {1} by '{2}' of line {3}, "
                "which has not been waited for; only wgmma of the same "
                "shape on the same accumulators may follow each other",
                position, reg.writer ? "written" : "read",
                (reg.writer ? reg.writer : reg.reader)->site.text,
                (reg.writer ? reg.writer : reg.reader)->site.location.ptxLine));
      checkFence(thread, reg, position, true);
      if (reads && !reg.initialized)
        thread.fault(FaultKind::Uninitialized,
                     formatv("accumulator register {0} was never written, and "
                             "scale-d is true",
                             position));
    }
    if (!reads)
      continue;
    visitD(accumulator.n, packed, lane,
           [&](unsigned row, unsigned column, unsigned r, unsigned element) {
             uint32_t bits =
                 thread.asyncRegisters[accumulator.registers[r]].value;
             unsigned at = row * accumulator.n + column;
             if (accumulator.type == ptx::Type::S32)
               accumulator.integers[at] = static_cast<int32_t>(bits);
             else
               accumulator.floats[at] =
                   packed ? floatFromF16(
                                static_cast<uint16_t>(bits >> (16 * element)))
                          : llvm::bit_cast<float>(bits);
           });
  }
}

/// The accumulator that a product of a warp adds to: that of the products
/// before it, or a new one. Its registers are not yet marked as pending.
AccumulatorRef getAccumulator(WarpAccumulators &warp, const Site &site,
                              const Shape &shape, Lanes lanes, bool clears) {
  const uint64_t *numbers = &word(lanes[0].words, site, OpD);
  auto isSame = [&](const AccumulatorRef &accumulator) {
    return accumulator->n == shape.n &&
           accumulator->type == shape.accumulator &&
           std::equal(accumulator->registers.begin(),
                      accumulator->registers.end(), numbers);
  };
  auto found = llvm::find_if(warp.live, isSame);
  if (found != warp.live.end())
    return *found;
  AccumulatorRef accumulator(new Accumulator());
  accumulator->registers.assign(numbers, numbers + site.count(OpD));
  accumulator->n = shape.n;
  accumulator->type = shape.accumulator;
  if (shape.isInteger())
    accumulator->integers.resize(warpRows * shape.n);
  else
    accumulator->floats.resize(warpRows * shape.n);
  loadAccumulator(*accumulator, lanes, !clears);
  warp.live.push_back(accumulator);
  return accumulator;
}

void markWritten(Accumulator &accumulator, Lanes lanes, AsyncOpRef op) {
  for (const Arrival &lane : lanes)
    for (uint32_t index : accumulator.registers) {
      AsyncRegister &reg = lane.thread->asyncRegisters[index];
      addPending(*lane.thread, reg, 1);
      reg.writer = op.get();
    }
  accumulator.first = std::move(op);
}

/// What has been waited for is delivered.
void deliver(Accumulator &accumulator, Lanes lanes) {
  bool packed = accumulator.type == ptx::Type::F16;
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    Thread &thread = *lanes[lane].thread;
    visitD(accumulator.n, packed, lane,
           [&](unsigned row, unsigned column, unsigned r, unsigned element) {
             AsyncRegister &reg =
                 thread.asyncRegisters[accumulator.registers[r]];
             unsigned at = row * accumulator.n + column;
             uint32_t bits;
             if (accumulator.type == ptx::Type::S32)
               bits = static_cast<uint32_t>(accumulator.integers[at]);
             else if (packed)
               bits = encodeFloat(accumulator.floats[at], FloatFormat::F16,
                                  Rounding::NearestEven, NoFlags);
             else if (std::isnan(accumulator.floats[at]))
               bits = canonicalNaN(FloatFormat::F32);
             else
               bits = llvm::bit_cast<uint32_t>(accumulator.floats[at]);
             reg.value = element ? reg.value | bits << 16 : bits;
           });
    for (uint32_t index : accumulator.registers) {
      AsyncRegister &reg = thread.asyncRegisters[index];
      reg.writer = nullptr;
      addPending(thread, reg, -1);
      reg.initialized = true;
      reg.accessedIn = 0;
    }
  }
}

/// A from registers: checked and fetched now; nothing may change them before
/// the wait.
void fetchA(Product &product, const Site &site, Lanes lanes) {
  const Shape &shape = product.shape;
  const uint64_t *numbers = &word(lanes[0].words, site, OpA);
  product.aRegisters.assign(numbers, numbers + numARegisters);
  unsigned perRegister = 4 / getElementBytes(shape.a);
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    Thread &thread = *lanes[lane].thread;
    unsigned g = lane / 4, t = lane % 4;
    for (auto [position, index] : llvm::enumerate(product.aRegisters)) {
      AsyncRegister &reg = thread.asyncRegisters[index];
      if (reg.writer)
        thread.fault(FaultKind::ReadBeforeWait,
                     formatv("register {0} of A is written by '{1}' of line "
                             "{2}, which has not been waited for",
                             position, reg.writer->site.text,
                             reg.writer->site.location.ptxLine));
      if (!reg.initialized)
        thread.fault(FaultKind::Uninitialized,
                     formatv("register {0} of A was never written", position));
      checkFence(thread, reg, position, false);
      unsigned row = g + 8 * (position % 2);
      unsigned column = 4 * perRegister * (position / 2) + perRegister * t;
      unsigned at = row * shape.k + column;
      const char *bytes = reinterpret_cast<const char *>(&reg.value);
      if (shape.isInteger())
        widenElements(bytes, shape.a, perRegister, product.aIntegers + at);
      else
        widenElements(bytes, shape.a, perRegister, product.aFloats + at);
    }
  }
}

void markRead(Product &product, Lanes lanes) {
  for (const Arrival &lane : lanes)
    for (uint32_t index : product.aRegisters) {
      AsyncRegister &reg = lane.thread->asyncRegisters[index];
      addPending(*lane.thread, reg, 1);
      reg.reader = &product;
    }
}

void releaseA(Product &product, Lanes lanes) {
  for (const Arrival &lane : lanes)
    for (uint32_t index : product.aRegisters) {
      AsyncRegister &reg = lane.thread->asyncRegisters[index];
      if (reg.reader != &product)
        continue;
      reg.reader = nullptr;
      addPending(*lane.thread, reg, -1);
    }
}

//===----------------------------------------------------------------------===//
// Handlers
//===----------------------------------------------------------------------===//

void requireAll(Thread &thread, llvm::ArrayRef<Arrival> arrivals) {
  for (const Arrival &arrival : arrivals)
    if (!arrival.thread)
      thread.fault(FaultKind::Divergence,
                   "a thread of the warpgroup has exited or never was; wgmma "
                   "needs all of them");
}

std::shared_ptr<Shape> decodeShape(Thread &thread, const Site &site,
                                   uint64_t *words) {
  auto shape = std::make_shared<Shape>();
  shape->n = 8 * (static_cast<unsigned>(site.get(0)) + 1);
  // Of the instruction: D, A, B.
  shape->accumulator = site.types[0];
  shape->a = *getElementType(site.types[1]);
  shape->b = *getElementType(site.types[2]);
  shape->k = 32 / getElementBytes(shape->a);
  shape->saturate = shape->isInteger() && (site.has(1) || site.has(4));
  shape->aInRegisters = site.count(OpA) != 1;
  unsigned numImmediates = 0;
  auto getImmediate = [&](unsigned i) {
    return static_cast<int64_t>(word(words, site, OpImmediates + i));
  };
  while (numImmediates < 4 && site.count(OpImmediates + numImmediates))
    ++numImmediates;
  unsigned numScales = shape->isInteger() ? 0 : 2;
  unsigned numMajors = getElementBytes(shape->a) != 2 ? 0
                       : shape->aInRegisters          ? 1
                                                      : 2;
  bool mixes = getElementBytes(shape->a) > 1 && shape->a != shape->b;
  bool narrow =
      shape->accumulator == ptx::Type::F16 && (shape->a == ElementType::BF16);
  if (site.count(OpD) != shape->countDRegisters() ||
      (shape->aInRegisters && site.count(OpA) != numARegisters) ||
      numImmediates != numScales + numMajors || mixes || narrow)
    thread.fault(FaultKind::IllegalInstruction,
                 formatv("no such types, or {0} registers of D, {1} of A and "
                         "{2} immediates, which do not fit",
                         site.count(OpD), site.count(OpA), numImmediates));
  for (unsigned i = 0; i < numScales; ++i)
    if (getImmediate(i) != 1 && getImmediate(i) != -1)
      thread.fault(FaultKind::IllegalInstruction,
                   formatv("scale {0} is neither 1 nor -1", getImmediate(i)));
  if (numScales) {
    shape->negateA = getImmediate(0) == -1;
    shape->negateB = getImmediate(1) == -1;
  }
  if (numMajors == 2)
    shape->aIsMNMajor = getImmediate(2) != 0;
  if (numMajors)
    shape->bIsMNMajor = getImmediate(1 + numMajors) != 0;
  return shape;
}

/// A word that all threads of the warpgroup must agree on.
uint64_t getUniform(const Site &site, llvm::ArrayRef<Arrival> arrivals,
                    Operand operand, const char *name) {
  uint64_t value = word(arrivals[0].words, site, operand);
  for (const Arrival &arrival : arrivals)
    if (word(arrival.words, site, operand) != value)
      arrival.thread->fault(
          operand == OpScaleD ? FaultKind::IllegalInstruction
                              : FaultKind::BadDescriptor,
          formatv("{0} is {1:x} here and {2:x} in {3}; the warpgroup must "
                  "agree",
                  name, word(arrival.words, site, operand), value,
                  arrivals[0].thread->describe()));
  return value;
}

MatrixDescriptor getDescriptor(Thread &thread, const Site &site,
                               llvm::ArrayRef<Arrival> arrivals,
                               Operand operand, const char *name) {
  MatrixDescriptor descriptor(getUniform(site, arrivals, operand, name));
  if (std::string problem = descriptor.check(); !problem.empty())
    thread.fault(FaultKind::BadDescriptor,
                 formatv("{0} {1}: {2}", name, descriptor.describe(), problem));
  return descriptor;
}

void issueProducts(Thread &thread, const Site &site, const Shape &shape,
                   llvm::ArrayRef<Arrival> arrivals) {
  requireAll(thread, arrivals);
  uint32_t sharedBase = thread.cta.sharedBase();
  bool clears = getUniform(site, arrivals, OpScaleD, "scale-d") == 0;
  auto b = IntrusiveRefCntPtr<FactorB>(new FactorB(SharedMatrix(
      getDescriptor(thread, site, arrivals, OpB, "the descriptor of B"),
      shape.bIsMNMajor, shape.b, 0, shape.n, sharedBase)));
  b->matrix.checkBounds(thread);
  std::optional<MatrixDescriptor> a;
  if (!shape.aInRegisters)
    a = getDescriptor(thread, site, arrivals, OpA, "the descriptor of A");

  for (unsigned warp = 0; warp < numWarps; ++warp) {
    Lanes lanes = arrivals.slice(warp * warpSize, warpSize);
    Thread &leader = *lanes[0].thread;
    for (const Arrival &lane : lanes)
      if (lane.thread->fenceEpoch == 1)
        lane.thread->fault(FaultKind::MissingWgmmaFence,
                           "no wgmma.fence before the first wgmma");
    if (!leader.accumulators)
      leader.accumulators = std::make_shared<WarpAccumulators>();
    WarpAccumulators &state = *leader.accumulators;
    AccumulatorRef accumulator =
        getAccumulator(state, site, shape, lanes, clears);
    auto product =
        std::make_unique<Product>(leader, site, shape, clears, accumulator, b);
    llvm::SmallVector<Thread *, warpSize> others;
    for (const Arrival &lane : lanes.drop_front())
      others.push_back(lane.thread);
    product->addIssuers(others);
    if (a) {
      product->aMatrix.emplace(*a, shape.aIsMNMajor, shape.a, warp * warpRows,
                               warpRows, sharedBase);
      product->aMatrix->checkBounds(leader);
    } else {
      fetchA(*product, site, lanes);
    }
    if (state.lastProduct && !state.lastProduct->complete)
      product->predecessor = state.lastProduct;
    Product &issued = *product;
    AsyncOpRef op = issue(leader, std::move(product));
    markRead(issued, lanes);
    if (!accumulator->last)
      markWritten(*accumulator, lanes, op);
    accumulator->last = op.get();
    state.lastProduct = op;
    leader.groups->wgmma.add(std::move(op));
  }
}

void executeMmaAsync(Thread &thread, const Site &site, uint64_t *words) {
  if (!site.decoded)
    site.decoded = decodeShape(thread, site, words);
  const auto &shape = *static_cast<const Shape *>(site.decoded.get());
  convergeWarpgroup(thread, site, words, [&](llvm::ArrayRef<Arrival> arrivals) {
    issueProducts(thread, site, shape, arrivals);
  });
}

void executeFence(Thread &thread, const Site &site, uint64_t *words) {
  convergeAligned(thread, site, words, [&](Lanes lanes) {
    requireAll(thread, lanes);
    for (const Arrival &lane : lanes)
      ++lane.thread->fenceEpoch;
  });
}

void executeCommit(Thread &thread, const Site &site, uint64_t *words) {
  convergeAligned(thread, site, words, [&](Lanes lanes) {
    requireAll(thread, lanes);
    lanes[0].thread->groups->wgmma.commit();
  });
}

void executeWait(Thread &thread, const Site &site, uint64_t *words) {
  convergeAligned(thread, site, words, [&](Lanes lanes) {
    requireAll(thread, lanes);
    Thread &leader = *lanes[0].thread;
    auto allowed = static_cast<unsigned>(word(words, site, 0));
    // All lanes gain the same: one clock for them to share.
    View gained;
    for (const AsyncOpRef &op : leader.groups->wgmma.wait(allowed)) {
      if (thread.machine.options.detectRaces)
        op->announce(gained);
      auto &product = static_cast<Product &>(*op);
      releaseA(product, lanes);
      Accumulator &accumulator = *product.accumulator;
      if (accumulator.last != op.get())
        continue;
      deliver(accumulator, lanes);
      accumulator.first = nullptr;
      llvm::erase_if(leader.accumulators->live, [&](const AccumulatorRef &ref) {
        return ref.get() == &accumulator;
      });
    }
    if (thread.machine.options.detectRaces)
      for (const Arrival &lane : lanes)
        lane.thread->acquire(gained);
  });
}

constexpr auto warpWide = OpcodeEntry::Warp;
constexpr auto groupWide = OpcodeEntry::Warpgroup;

// n is a multiple of 8 up to 256; the group's choice is n / 8 - 1.
#define FLASHNORM_WGMMA_SHAPES(k)                                              \
  "(.m64n8" k "|.m64n16" k "|.m64n24" k "|.m64n32" k "|.m64n40" k "|.m64n48" k \
  "|.m64n56" k "|.m64n64" k "|.m64n72" k "|.m64n80" k "|.m64n88" k             \
  "|.m64n96" k "|.m64n104" k "|.m64n112" k "|.m64n120" k "|.m64n128" k         \
  "|.m64n136" k "|.m64n144" k "|.m64n152" k "|.m64n160" k "|.m64n168" k        \
  "|.m64n176" k "|.m64n184" k "|.m64n192" k "|.m64n200" k "|.m64n208" k        \
  "|.m64n216" k "|.m64n224" k "|.m64n232" k "|.m64n240" k "|.m64n248" k        \
  "|.m64n256" k ")"
#define FLASHNORM_WGMMA "wgmma.mma_async.sync.aligned"
#define FLASHNORM_WGMMA_OPERANDS "D A s s c? c? c? c?"

const OpcodeEntry entries[] = {
    {FLASHNORM_WGMMA FLASHNORM_WGMMA_SHAPES("k16") "(.f16|.f32)(.f16|.bf16)"
                                                   "(.f16|.bf16)",
     FLASHNORM_WGMMA_OPERANDS, "9.7.15.5.2", nullptr, executeMmaAsync,
     groupWide},
    {FLASHNORM_WGMMA FLASHNORM_WGMMA_SHAPES("k8") ".f32.tf32.tf32",
     FLASHNORM_WGMMA_OPERANDS, "9.7.15.5.2", nullptr, executeMmaAsync,
     groupWide},
    {FLASHNORM_WGMMA FLASHNORM_WGMMA_SHAPES("k32") "(.f16|.f32)(.e4m3|.e5m2)"
                                                   "(.e4m3|.e5m2)",
     FLASHNORM_WGMMA_OPERANDS, "9.7.15.5.2", nullptr, executeMmaAsync,
     groupWide},
    {FLASHNORM_WGMMA FLASHNORM_WGMMA_SHAPES("k32") "{.satfinite}.s32(.s8|.u8)"
                                                   "(.s8|.u8){.satfinite}",
     FLASHNORM_WGMMA_OPERANDS, "9.7.15.5.2", nullptr, executeMmaAsync,
     groupWide},
    {"wgmma.fence.sync.aligned", "", "9.7.15.7.1", nullptr, executeFence,
     warpWide},
    {"wgmma.commit_group.sync.aligned", "", "9.7.15.7.2", nullptr,
     executeCommit, warpWide},
    {"wgmma.wait_group.sync.aligned", "c", "9.7.15.7.3", nullptr, executeWait,
     warpWide},
};

} // namespace

llvm::ArrayRef<OpcodeEntry> emulator::getWgmmaOpcodes() { return entries; }
